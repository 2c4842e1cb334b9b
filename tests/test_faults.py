"""What is wrong with a job: the check and the trainer say the same, with what to do, before the model loads."""

import pytest
from datasets import Dataset, DatasetDict, IterableDataset
from trl import GRPOConfig

from helpers.checks import find_faults, make_problems
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, gate, keywords, length, parse, reward, tags
from trl_grpo_rewards.checks import check
from trl_grpo_rewards.faults import describe_bad_prompt, find_column_faults, find_doubts, find_size_faults
from trl_grpo_rewards.function_rewards import find_functions


USER, ANSWER = {"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "It is easy."}
DATA = Dataset.from_dict({"prompt": ["2 + 2?"] * 2, "solution": ["4", "4"]})


def refuses_with(config, rewards, data, said):
    """Whether the trainer raises what the check finds, which is one sentence."""
    (fault,) = find_faults(rewards, data)
    with pytest.raises(ValueError, match=said) as caught:
        FilteredGRPOTrainer("no/model", rewards, config(), data)
    return str(caught.value) == fault


@pytest.mark.parametrize(
    "prompt, said",
    [
        ("  ", "A prompt must not be empty, but 1 of 2 rows of the column 'prompt' contain no text, such as row 2: '  '. Remove"),
        (None, "must be a text or a list of messages, but 1 of 2 rows of the column 'prompt' contain nothing, such as row 2: None"),
        ([], "a message of the user, but 1 of 2 rows .* have none, such as row 2: \\[\\]. Put the question .*, or remove such rows"),
        ([{"role": "bot", "content": "?"}], "must be system, .* have the role 'bot', such as row 2: .* Rename it"),
        ([{"role": "system", "content": "?"}], "must have a message of the user, .* Put the question into a message with the role"),
        ([{"role": "user", "content": " "}], "A prompt must not be empty"),
        ([USER, ANSWER], r"must end before the answer, .* end with a message of the assistant, .* Leave out .*row\['prompt'\]\[:-1\]"),
        ([USER, {"role": "assistant", "content": ""}], "must end before the answer"),  # TRL opens another message after it
        ([{"role": "user", "text": "?"}], "with 'role' and 'content', .* have a message with 'role', 'text'.* Rename the keys"),
        ([{"from": "human", "value": "?"}], "have a message with 'from', 'value', .* Rename the keys, such as 'from' to 'role'"),
    ],
)  # fmt: skip
def test_a_prompt_that_cannot_be_asked_is_refused(config, prompt, said):
    good = [USER] if isinstance(prompt, list) else "2 + 2?"
    assert refuses_with(config, boxed(), Dataset.from_dict({"prompt": [good, prompt], "solution": ["4", "4"]}), said)


@pytest.mark.parametrize(
    "columns, said",
    [
        ({"prompt": [["2 + 2?"]] * 2}, "2 of 2 rows .* have a list with a value of the type str"),
        ({"prompt": [7] * 2}, "contain a value of the type int"),
        *(
            ({name: ["x", "y"]}, f"dataset has the column '{name}'. Rename it: dataset.rename_column..{name}', 'my_{name}'.")
            for name in ("completions", "completion_ids", "prompts", "trainer_state", "log_extra", "log_metric")
        ),
        ({"prompt": None, "messages": [[USER]] * 2}, r"needs the column 'prompt'; .*rename_column\('messages', 'prompt'\)"),
        ({"solution": None, "answer": ["4", "5"]}, r"'boxed' needs the column 'solution'; found 'answer', 'prompt'. Name it: boxed\("),
        ({"prompt": [], "solution": []}, "must have at least one row; it is empty. Check how it was loaded or filtered"),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_used_are_refused(config, columns, said):
    given = {name: values for name, values in {**DATA[:], **columns}.items() if values is not None}
    assert refuses_with(config, boxed(), Dataset.from_dict(given), said)


@pytest.mark.parametrize("prompt", [
    "2 + 2?", [{"role": "system", "content": ""}, USER],
    [{"role": "user", "content": [{"type": "image", "text": None}, {"type": "text", "text": "What is it?"}]}],
    [USER, {"role": "assistant", "content": None, "tool_calls": [{}]}, {"role": "tool", "content": "4"}],
    [USER, {"role": "assistant", "content": "4"}, USER],
])  # fmt: skip
def test_texts_conversations_and_parts_are_prompts(prompt):
    assert describe_bad_prompt(prompt) is None


def test_columns_that_appear_only_in_the_first_step_are_not_missed():
    assert not find_faults(boxed(), Dataset.from_dict({"id": [1, 2], "solution": ["4", "5"]}))  # of an environment
    functions = [*find_functions(boxed() + keywords(all=("so",)))]
    asked, solved = DATA.remove_columns("solution"), DATA.remove_columns("prompt")
    for data, options, faults in (
        (DATA, {}, 0), (None, {}, 0), (asked, {}, 1), (asked, {"is_complete": False}, 0), (solved, {}, 0),
        (solved, {"needs_prompts": True}, 1), (solved, {"needs_prompts": True, "is_complete": False}, 1),
        (solved, {"needs_prompts": False}, 0), (asked.to_iterable_dataset(), {}, 1),
        (IterableDataset.from_generator(lambda: iter([{"prompt": "?"}])), {}, 0),
    ):  # fmt: skip
        assert len([*find_column_faults(data, functions, **options)]) == faults, (data, options)


@pytest.mark.parametrize("rows, steps, size", [(8, 1, 4), (8, 3, 4), (4, 4, 8), (2, 4, 2)])
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_dataset_fills_a_generation_batch_of_all_ranks(config, rows, steps, size, ranks):
    args = config(per_device_train_batch_size=rows, steps_per_generation=steps, num_generations=size)
    args.generation_batch_size *= ranks  # as transformers knows the ranks
    prompts = rows * steps * ranks // size
    enough = Dataset.from_dict({"prompt": ["?"] * prompts})
    fewer = enough.select(range(prompts - 1))
    for dataset in (enough, None, fewer.to_iterable_dataset()):
        assert not [*find_size_faults(dataset, args)]
    (fault,) = find_size_faults(fewer, args)
    assert str(fault) == (
        f"train_dataset must have at least the {prompts} prompts of one generation batch (generation_batch_size="
        f"{rows * steps * ranks} / num_generations={size}, on all ranks together); it has {prompts - 1}, so no step "
        f"would be trained. Add prompts, or lower per_device_train_batch_size ({rows}) or steps_per_generation "
        f"({steps}), which is gradient_accumulation_steps by default."
    )


@pytest.mark.parametrize(
    "given, said",
    [
        (DatasetDict(train=DATA), r"is a DatasetDict. Choose a split, such as dataset\['train'\]\.$"),
        ("problems.jsonl", r"but is a str. Load the file: load_dataset\('json', data_files=..., split='train'\)\.$"),
        ([{"prompt": "a"}], r"but is a list. Convert it: Dataset.from_list\(rows\)\.$"),
        ({"prompt": ["a"]}, r"but is a dict. Convert its columns: Dataset.from_dict\(columns\)\.$"),
        (DATA.to_pandas(), r"but is a DataFrame. Convert it: Dataset.from_pandas\(frame\)\.$"),
    ],
)  # fmt: skip
def test_what_is_no_dataset_is_said(config, given, said):
    for reject in (check, lambda rewards, data: FilteredGRPOTrainer("no/model", rewards, config(), data)):
        with pytest.raises(TypeError, match=said):
            reject(boxed(), given)


# --- faults that only a check looks for -------------------------------------------------------------------------------


@reward
def shouted(completion: str, solution: str) -> float:
    return float(completion.endswith(solution.upper()))


@reward(batched=True)
def rhyming(completions: list, solution: list[str], hint: list) -> list[float]:
    return [0.0] * len(completions)


@reward(lengths=lambda budget: {"budget": budget})
def budgeted(completion: str, *, budget: int = 8, max_tokens: int = 100_000, target: str = "de") -> float:
    return float("plan" in completion)


HINTED = make_problems(None, 2).add_column("hint", [3, 4])
LARGE = Dataset.from_dict({"prompt": ["a", "b"], "solution": ["1", "1" * 1_000_001]})


@pytest.mark.parametrize(
    "rewards, data, said",
    [
        (shouted(), make_problems(1, 2), "Reward 'shouted' reads the column 'solution' as str, but the dataset contains int64, such as 1."),
        (gate(length(3, unit="words"), by=shouted()), make_problems(1, 2), "Convert the column with dataset.map"),
        (rhyming(), HINTED, "Reward 'rhyming' reads the column 'solution' as str"),  # any list will do for the hints
        (boxed() + 0.1 * length(17), DATA, "has target=17, but completions end at max_completion_length=16. Set target to at most 16"),
        (boxed() + 0.1 * budgeted(budget=17), DATA, "Reward 'budgeted' has budget=17, but completions end at"),
        (boxed(), LARGE, "row 2 of the column 'solution' has 1,000,001"),
        (tags("a"), DATA.select([0]), "at least the 2 prompts of one generation batch"),
        (boxed(), make_problems(1, 2), None),
        (boxed(), make_problems(0.5, 2.5), None),
        (rhyming(), make_problems(None, "2").add_column("hint", [3, 4]), None),
        (boxed() + 0.1 * length(17, unit="chars"), DATA, None),
        (boxed() + 0.1 * budgeted(), DATA, None),
    ],
)  # fmt: skip
def test_columns_have_the_type_that_is_read_and_lengths_are_in_reach(config, rewards, data, said):
    first, *others = check(rewards, data, config(max_completion_length=16, generation_batch_size=8))
    assert len(first.faults) == (said is not None) and (said is None or said in first.faults[0])
    assert said is None or not any(one.is_run for one in others)


def test_a_column_that_two_rewards_miss_is_said_of_each():
    faults = find_faults(boxed() + gate(tags("a"), by=shouted()), DATA.remove_columns("solution"))
    assert [fault.split("'")[1] for fault in faults] == ["boxed", "shouted"]


# --- doubts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ungated",
    [
        "boxed() + 0.3 * length(9)", "boxed() - 0.3 * length(9)", "boxed() + 0.3 * clip(length(9), high=0.5)",
        "boxed() + 0.3 * gate(length(9), by=tags('a'))", "boxed() + 0.3 * tags('a') * length(9)",
        "boxed() + 0.3 * shortest(tags('a'))", "boxed() + 0.3 * cosine(tags('a'), max_tokens=9)",
        "boxed() + schedule(length(9, unit='words'), steps={0: 0, 9: 1})", "gate(boxed(), by=tags('a')) + length(9)",
        "clip(boxed() + length(9), high=1)",
    ],
)  # fmt: skip
def test_a_length_term_that_no_outcome_gates_is_warned_of(ungated):
    (doubt,) = find_doubts(make_problems("1", "2"), parse(ungated))
    assert "pays for length, and no outcome gates it" in doubt and doubt.endswith(").")
    repaired = doubt.rpartition("only: ")[2][:-1]
    assert not [*find_doubts(make_problems("1", "2"), boxed() + parse(repaired))]


@pytest.mark.parametrize(
    "gated",
    [
        "boxed() + 0.3 * gate(length(9), by=boxed())", "boxed() * length(9)", "(boxed() + tags('a')) * length(9)",
        "boxed() + 0.3 * shortest(boxed())", "boxed() + cosine(answer(), max_tokens=9)", "boxed() + tags('a')",
        "boxed() + gate(length(9), by=share(boxed()), at_least=0.5)", "boxed() + gate(clip(length(9), high=1), by=boxed())",
        "boxed() + gate(shortest(boxed()), by=share(boxed()), at_least=0.5)", "boxed() + 0.1 * overlong(9, cache=2)",
        "boxed() + truncated(9)", "length(9) + tags('a')", "boxed() + gate(tags('a') + length(9), by=boxed())",
    ],
)  # fmt: skip
def test_a_length_term_that_an_outcome_gates_is_not(gated):
    assert not [*find_doubts(make_problems("1", "2"), parse(gated))]


@reward
def reads_if_there(completion: str, solutoin=None, theme="") -> float:
    return float(completion.endswith(f"{{{solutoin}}}"))


SYSTEM = {"role": "system", "content": "Be brief."}
LATE = make_problems("4", "5", prompts=[[USER, SYSTEM], [SYSTEM, USER]])
MISSPELT = "'reads_if_there' reads the column 'solutoin' if there is one, but there is none. Did you mean 'solution'?"
TWO = "boxed() + 0.2 * tags('a')"


FEW = "A model can learn the answers of a few prompts by heart"


def test_prompts_of_which_none_can_be_held_out_are_few(config):
    answers = [str(number) for number in range(10)]
    prompts = [f"What is {answer}?" for answer in answers]
    for size, args, are_few in ((9, config(), True), (10, config(), False), (3, None, False)):
        data = make_problems(*answers[:size], prompts=prompts[:size])
        doubts = [*find_doubts(data, boxed(), args)]
        assert len(doubts) == are_few and all(f"{FEW}, and the dataset has {size}, too few" in text for text in doubts)


@pytest.mark.parametrize(
    "rewards, data, weights, said",
    [
        (boxed(), LATE, None, "but 1 of 2 end with a message of the system, such as 'Be brief.'"),
        (reads_if_there(), make_problems("1", "2"), None, MISSPELT),
        (reads_if_there(solutoin="solution"), make_problems("1", "2"), None, None),
        (reads_if_there() + boxed(), make_problems("1", "2"), [1, 1], None),
        (boxed(), make_problems(*["4", "5"] * 10, prompts=["a", "b"] * 10), None, "18 of 20 rows repeat the prompt and the solution of"),
        (boxed(), make_problems("4", "5", prompts=["a", "a"]), None, None),  # they contradict each other
        (parse(TWO), make_problems("1", "2"), None, "[1.0, 0.2], but args have no reward_weights"),
        (parse(TWO), make_problems("1", "2"), [1.0, 2.0], "[1.0, 0.2], but args have reward_weights=[1.0, 2.0]"),
        (parse(TWO), make_problems("1", "2"), [1.0, 0.2], None),
        (boxed() + tags("a"), make_problems("1", "2"), None, None),
    ],
)  # fmt: skip
def test_what_is_seldom_intended_is_a_doubt(config, rewards, data, weights, said):
    both = config(GRPOConfig, reward_weights=weights), config()
    doubts, ours = ([text for text in find_doubts(data, rewards, args) if FEW not in text] for args in both)
    assert len(doubts) == (said is not None) and (said is None or said in doubts[0])
    assert (doubts == ours) == ("[1.0, 0.2]" not in (said or ""))
