"""What is found before a run begins: by the checks, and by scripts/check.py as a user runs it."""

import json

import pytest
from datasets import Dataset
from transformers import AutoTokenizer

from helpers.outside_data import read_outside_data
from trl_grpo_rewards import (
    FilteredGRPOConfig,
    answer,
    boxed,
    choice,
    citations,
    demo,
    exact,
    gate,
    judge,
    keywords,
    length,
    parse,
    reward,
    route,
    tags,
)
from trl_grpo_rewards.checks import Form, Reading, as_text, assert_not_gameable, attacks, check, honest


def problems(*solutions, prompts=None):
    prompts = prompts or [f"Ann has {place} apples. How many?" for place in range(len(solutions))]
    return Dataset.from_dict({"prompt": prompts, "solution": [*solutions]})


def faults(rewards, dataset, **options) -> list[str]:
    return [fault for one in check(rewards, dataset, **options) for fault in one.faults]


def section(title, rewards, dataset, **options):
    return next(one for one in check(rewards, dataset, **options) if one.title.startswith(title))


# --- rewards, dataset and configuration ------------------------------------------------------------------------------


@reward
def shouted(completion: str, solution: str) -> float:
    return float(completion.endswith(solution.upper()))


def test_a_healthy_job_has_no_fault(config):
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    rewards = boxed(evaluated=True) + 0.5 * tags("think")
    found = check(rewards, demo.arithmetic(size=64), config(FilteredGRPOConfig), tokenizer)
    assert as_text(found).endswith("No fault found.") and len(found) == 5
    header, boxes, form, total, batch, _ = found[-1].lines
    assert header.split()[-2:] == ["ms", "each"] and batch.startswith("a batch of 8 takes ")
    assert float(total.split()[-1]) == pytest.approx(float(boxes.split()[-1]) + float(form.split()[-1]), abs=0.0015)


def test_columns_must_be_there_and_of_the_type_that_is_read():
    data = problems("1", "2")
    (fault,) = faults(boxed(), data.rename_column("solution", "answer"))
    assert "Reward 'boxed' needs the column 'solution'; found 'answer', 'prompt'. Rename it" in fault
    (fault,) = faults(gate(length(3, unit="words"), by=shouted()), problems(1, 2))
    assert fault.startswith(
        "Reward 'shouted' reads the column 'solution' as str, but the dataset contains int64, such as 1."
    )
    assert not faults(boxed(), problems(1, 2)) and not faults(boxed(), problems(0.5, 2.5))


def test_lengths_must_be_in_reach(config):
    data, args = problems("1", "2"), config(FilteredGRPOConfig, max_completion_length=16)
    (fault,) = faults(boxed() + 0.1 * length(17), data, config=args)
    assert "has target=17, but completions end at max_completion_length=16. Set target to at most 16" in fault
    assert not faults(boxed() + 0.1 * length(17, unit="chars"), data, config=args)


def test_rewards_must_reach_another_process():
    @reward
    def local(completion: str, solution: str) -> float:
        return float(solution in completion)

    (fault,) = faults(boxed() + local(), problems("1", "2"))
    assert "but they cannot be pickled:" in fault and "Define reward functions at the top level of a module." in fault


# --- solutions -------------------------------------------------------------------------------------------------------


def test_every_solution_is_read():
    good = ["7", 0.5, "\\frac{1}{2}", "3\\sqrt{5}", "x = 5", "18 dollars", "50\\%", "5^\\circ", "2 + 3 = 5\n#### 5"]
    assert not section("values of 'solution'", boxed(), problems(*map(str, good))).warnings
    odd = ["it is seven of them, I think", "", "3 and 5", "1, 2, 3"]
    found = section("values of 'solution'", boxed(), problems(*map(str, good * 5), *odd, "6", "7", prompts=["Which?"] * 2 + [
        f"Ann has {place} apples. How many?" for place in range(49)]))  # fmt: skip
    text = "\n".join(found.lines)
    assert (
        " 3.92% unreadable" in text
        and " 3.92% with several answers" in text
        and "that differ for the same prompt" in text
    )
    assert "'it is seven of them, I think'" in text and not found.faults
    assert found.warnings[0].startswith("2 values of 'solution' cannot be read") and found.warnings[1].startswith(
        "2 rows have"
    )


def test_too_many_unreadable_solutions_are_a_fault():
    data = problems("7", "it is seven of them, I think", "8")
    (fault,) = section("values of 'solution'", answer(), data).faults
    assert "1 of 3 values cannot be read as a whole, such as 'it is seven of them, I think' in row 1." in fault
    assert not section("values of 'solution'", answer(), data, threshold=0.5).faults
    assert "values" not in [one.title.split()[0] for one in check(exact(), data)]


# --- chat template ---------------------------------------------------------------------------------------------------


def thinking(tokenizer):
    tokenizer.chat_template = tokenizer.chat_template + "{% if add_generation_prompt %}{{ '<think>\\n' }}{% endif %}"
    return tokenizer


def test_a_tag_that_the_template_opens_is_not_the_models():
    tokenizer, data = AutoTokenizer.from_pretrained(demo.MODEL), demo.arithmetic(size=32)
    open_already, asked = boxed(evaluated=True) + tags("think", prefilled=True), boxed(evaluated=True) + tags("think")
    (fault,) = faults(open_already, data, tokenizer=tokenizer)
    assert "expects the chat template to end the prompt with <think>, but it ends with" in fault
    (fault,) = faults(gate(asked, by=boxed(evaluated=True)), data, tokenizer=thinking(tokenizer))
    assert "The reward would stay at 0. Write tags('think', prefilled=True)." in fault
    assert not faults(open_already, data, tokenizer=tokenizer)
    tokenizer.chat_template = None
    assert "has no chat template" in faults(asked, data, tokenizer=tokenizer)[0]
    texts = data.map(lambda row: {"prompt": row["prompt"][0]["content"]})
    assert not faults(asked, texts, tokenizer=tokenizer)


# --- attacks and the dry run -----------------------------------------------------------------------------------------


@reward
def contains(completion: str, solution: str) -> float:
    """Paid for the right answer anywhere: many boxes will do."""
    return float(solution in completion)


@reward
def worthless(completion: str, solution: str) -> float:
    return 0.0


@reward
def lengthy(completion: str) -> float:
    """Paid for every character."""
    return len(completion) / 1000


OURS = [
    "boxed()", "boxed(partial=0.5)", "boxed(box='only')", "answer()", "exact()", "tags('think')",
    "tags('think', 'answer', partial=True)", "length(60)", "length(200, unit='chars')", "keywords(all=('because',))",
    "boxed() + 0.2 * tags('think') + 0.1 * length(60)", "gate(tags('think'), by=boxed())", "clip(2 * boxed(), 0.0, 1.0)",
    "shortest(boxed())", "xml_text()", "truncated(10)", "gate(distinct(), by=boxed())", "boxed() + 0.1 * overlong(500, cache=100)",
    "cosine(boxed(), max_tokens=500)", "boxed() + 0.2 * repetition()", "boxed() + 0.1 * citations()",
    "boxed() + schedule(0.5 * tags('think'), [(0, 1.0), (10, 0.0)])", "cosine(boxed(), max_tokens=60)",
    "boxed() + 0.2 * shortest(boxed()) + 0.1 * overlong(60, cache=20) + 0.1 * truncated(60)", "overlap()",
    "boxed() + 0.2 * equations() + 0.2 * citations() + 0.1 * gate(distinct(), by=boxed(), name='distinct')",
    "boxed() + 0.2 * repetition(unit='words') + 0.1 * script('Latin')", "json_text()", "xml_text(root='svg')",
]  # fmt: skip


@pytest.mark.parametrize("expression", OURS)
def test_ours_cannot_be_gamed(expression):
    assert_not_gameable(parse(expression))


def test_choices_cannot_be_gamed():
    rows = [{"prompt": f"Which? A) 1 B) 2 C) 3 ({place})", "solution": letter} for place, letter in enumerate("ABC")]
    assert_not_gameable(choice("ABC") + 0.1 * tags("think"), rows)


@pytest.mark.parametrize(
    "expression, attack",
    [
        ("contains()", "many boxes on 3 of 3 rows"),
        ("0.1 * boxed() + lengthy()", "unclosed tags on 3 of 3 rows"),
        ("0.2 * boxed() - boxed(partial=0.5, name='other')", "nothing on 3 of 3 rows"),
        ("exact() + 2 * keywords(all=('do', 'know'))", None),
    ],
)
def test_what_pays_is_named(expression, attack):
    if attack is None:
        return assert_not_gameable(parse(expression))
    with pytest.raises(
        AssertionError, match=f"Under .* these attacks earn as much as an honest, correct completion: .*{attack}"
    ):
        assert_not_gameable(parse(expression))


def test_an_expression_in_the_question_is_no_answer():
    data = demo.arithmetic(size=64)
    (fault,) = faults(boxed() + 0.2 * tags("think"), data)
    assert "The attack 'question restated' earns at least as much under boxed() + 0.2 * tags('think')" in fault
    assert fault.endswith(
        "on 16 of 16 rows. Require an answer that is worked out, for example with boxed(evaluated=True)."
    )
    assert not faults(boxed(evaluated=True) + 0.2 * tags("think"), data)


def test_form_alone_is_a_warning_and_judges_are_not_asked():
    data = problems("1", "2")
    found = section("attacks", tags("think"), data)
    assert (
        found.warnings == ["No reward reads a dataset column, so form alone earns the full reward."]
        and not found.faults
    )
    asked = judge(model="none", rubric="Is it right?", base_url="http://localhost:9/v1")
    assert section("rewards that were not tried", asked, data).lines == [
        "judge: checks never ask a server or a person"
    ]
    assert not faults(boxed() + 0.5 * asked, data)


def test_attacks_are_of_the_form_that_the_rewards_want():
    rewards = boxed() + tags("think", "answer") + keywords(all=["because"]) + length(50, unit="words")
    row = {"prompt": "Ann has 3 apples and buys 4. How many?", "solution": "7"}
    right = honest(rewards, row)
    assert right.startswith("<think>First") and right.endswith("<answer>\\boxed{7}</answer>") and "because" in right
    made = attacks(rewards, row)
    assert rewards(completions=[right, *made.values()], prompts=[row["prompt"]] * (len(made) + 1),
                   solution=["7"] * (len(made) + 1))[0] == pytest.approx(4.0, abs=0.1)  # fmt: skip
    assert len(made["unclosed tags"]) > 60_000 and made["empty tags"] == "<think></think><answer></answer>"
    assert {name for name, text in made.items() if "\\boxed{7}" in text} == {"many boxes"}


def test_solutions_in_the_wrong_column_are_seen():
    data = problems("yes", "no", "yes", "no")

    found = section("a dry run", worthless(), data)
    assert "the dataset's own solutions earn 0.000, and the solutions of other rows earn 0.000." in found.faults[0]


def test_what_cannot_be_judged_is_one_fault_and_no_attack():
    golds = ["it is seven of them, I think", None, "7", "8"]
    data = problems(*golds)
    assert len(faults(boxed() + 0.2 * tags("think"), data)) == 1
    assert not faults(boxed() + 0.2 * tags("think"), data, threshold=0.6)
    (fault,) = faults(choice(), problems(1, 2))
    assert "solutions earn nothing, because they cannot be judged," in fault and "such as 1, contains what" in fault


def test_solutions_that_do_not_pass_for_right_are_seen():
    twice = [f"So it is \\boxed{{{n}}}.\n#### {n}" if n % 2 else f"{n}" for n in range(20)]
    (fault,) = section("a dry run", boxed(box="only"), problems(*twice)).faults
    assert fault.startswith(
        "Reward 'boxed' gives the dataset's own solutions 0.500 on average, although they are right."
    )
    lines = section("a dry run", boxed(), problems(*twice)).lines
    assert lines[-1] == "a right answer earns 1.000 more than a wrong one"


def test_a_column_of_completions_and_sources_are_the_datasets_own():
    data = problems("1", "2").add_column("completion", [None, [{"role": "assistant", "content": "1"}]])
    assert not faults(boxed() + tags("think"), data)
    cited = problems("1", "2").add_column("sources", [["one"], ["two"]])
    assert not faults(boxed() + 0.1 * citations(sources="sources"), cited) and not faults(
        citations(sources="sources"), cited
    )


def test_rows_that_cannot_be_judged_are_asked_for():
    with pytest.raises(
        AssertionError,
        match="must earn more .* got nan and .* Pass rows that the reward can judge, with a correct 'completion'",
    ):
        assert_not_gameable(choice())
    row = {"prompt": "Hello", "completion": "please"}
    assert_not_gameable(keywords(all=("please",)), [row])


# --- traits of rewards -----------------------------------------------------------------------------------------------


CALLS = []


@reward(batched=True)
async def opinion(prompts: list, completions: list) -> list[float]:
    """A judge of the user's own, whose every call costs money."""
    CALLS.extend(completions)
    return [0.5] * len(completions)


@reward(asks=True)
def asked_by_hand(completion: str) -> float:
    CALLS.append(completion)
    return 0.5


@reward(asks=False, batched=True)
async def from_a_file(completions: list) -> list[float]:
    return [float(len(text) > 100) for text in completions]


def test_no_reward_that_asks_is_called_by_a_check(caplog):
    data = demo.arithmetic(size=64)
    for rewards in (
        boxed(evaluated=True) + 0.3 * opinion(),
        boxed(evaluated=True) + 0.3 * gate(asked_by_hand(), by=boxed()),
        opinion() + asked_by_hand(),
    ):
        assert rewards.asks and not faults(rewards, data)
        assert_not_gameable(rewards)
    assert CALLS == []
    lines = section("rewards that were not tried", boxed(evaluated=True) + 0.3 * opinion(), data).lines
    assert lines == ["opinion: checks never ask a server or a person"]


def test_an_async_reward_that_asks_nobody_is_tried():
    assert not from_a_file().asks
    found = section("a dry run", boxed(evaluated=True) + from_a_file(), demo.arithmetic(size=8))
    assert any("from_a_file" in line for line in found.lines)


def test_the_name_of_a_module_says_nothing_about_a_reward(monkeypatch):
    monkeypatch.setattr(contains, "__module__", "team.judges")
    with pytest.raises(AssertionError, match="many boxes on 3 of 3 rows"):
        assert_not_gameable(contains())


@pytest.mark.parametrize(
    "expression",
    [
        "boxed(evaluated=True) - 2 * keywords(any=('sorry',))",
        "boxed(evaluated=True) - keywords(any=('sorry',))",
        "boxed(evaluated=True) + 0.5 * tags('think', 'answer') + 0.5 * tags('think', name='t')",
        "boxed(evaluated=True) + 0.5 * tags('think') + 0.5 * tags('think', 'answer', name='t')",
        "boxed(evaluated=True) + 0.2 * keywords(all=('because',)) + 0.2 * keywords(all=('therefore',), name='k')",
        "boxed(evaluated=True) + 0.2 * keywords(none=('step',))",
    ],
)
def test_negative_and_repeated_terms_are_no_faults(expression):
    rewards, data = parse(expression), demo.arithmetic(size=64)
    assert not faults(rewards, data)
    text = honest(rewards, data[0])
    best = sum(weight for weight, _ in rewards.terms if weight > 0)
    assert rewards(prompts=[data[0]["prompt"]], completions=[text], solution=[data[0]["solution"]]) == [best]


def test_forms_that_contradict_each_other_are_said_and_nothing_is_tried():
    rewards = boxed(evaluated=True) + keywords(all=("so",)) + keywords(none=("so",), name="plain")
    found = check(rewards, demo.arithmetic(size=8))
    (warning,) = [warning for one in found for warning in one.warnings]
    assert "one needs the text 'so', and another forbids it" in warning and not found[-1].faults
    with pytest.raises(
        ValueError, match="No completion can earn both 'keywords' and 'plain': .* Change or remove one"
    ):
        assert_not_gameable(rewards)


def hash_form() -> Form:
    return Form(answer="#### {}")


def read_numbers(values: list) -> list[Reading]:
    return [Reading("whole", value) if value.isdigit() else Reading("not at all") for value in values]


@reward(outcome=True, form=hash_form, reads={"result": read_numbers}, worthless=lambda: {"every answer": "#### any"})
def hashed(completion: str, result: str, solution: str) -> float:
    """Paid for the answer after four hashes, or, which is a hole, for any."""
    return float(completion.endswith(f"#### {result}") or completion.endswith("any"))


def test_a_reward_of_the_user_takes_part_in_all_checks():
    data = problems("7", "8", "9").add_column("result", ["7", "8", "nine"])
    assert honest(hashed(), data[0]).endswith("#### 7")
    found = check(hashed(), data)
    assert any(
        "1 of 3 values cannot be read as a whole, such as 'nine' in row 2." in one for f in found for one in f.faults
    )
    assert any("hashed: every answer" in fault for one in found for fault in one.faults)
    healthy = problems("7", "8", "9").add_column("result", ["1", "2", "3"])
    assert all("hashed: every answer" in fault for fault in faults(hashed(), healthy))
    assert honest(hashed(), healthy[0]).endswith("#### 1")  # the column that the outcome reads, not the solution


@reward(outcome=True)
def right_target(completion: str, target: str) -> float:
    return float(completion.endswith(f"\\boxed{{{target}}}"))


def test_the_right_answer_may_be_in_another_column():
    data = problems("7", "8", "9").rename_column("solution", "target")
    found = check(right_target() + 0.2 * tags("think"), data)
    lines = [line for one in found for line in one.lines]
    assert "a right answer earns 1.000 more than a wrong one" in lines and not faults(right_target(), data)
    wrong = data.map(lambda row: {"target": f"{row['target']} apples"})
    assert not faults(right_target(), wrong)  # the honest completion has the apples too
    assert "the column 'target', such as None" in faults(right_target(), data.map(lambda row: {"target": None}))[0]


@reward
def in_language(completion: str, *, target: str = "de") -> float:
    return float("ist" in completion)


def test_an_option_that_happens_to_be_called_target_is_no_length(config):
    assert not faults(boxed(evaluated=True) + 0.1 * in_language(), demo.arithmetic(size=8), config=config())


@reward(lengths=lambda budget: {"budget": budget}, form=lambda opened: Form(tags=("plan",), prefilled=opened))
def planned(completion: str, *, budget: int = 8, max_tokens: int = 100_000, opened: bool = False) -> float:
    return float("</plan>" in completion)


def test_lengths_and_opened_tags_are_declared_by_the_users_reward(config):
    args = config(max_completion_length=16)
    assert not faults(boxed(evaluated=True) + 0.1 * planned(), demo.arithmetic(size=8), config=args)
    (fault,) = faults(boxed(evaluated=True) + 0.1 * planned(budget=17), demo.arithmetic(size=8), config=args)
    assert "Reward 'planned' has budget=17, but completions end at max_completion_length=16." in fault
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    found = check(boxed(evaluated=True) + planned(opened=True), demo.arithmetic(size=8), args, tokenizer)
    assert any(fault.endswith("Write planned().") for one in found for fault in one.faults)


def test_each_branch_of_a_route_has_its_own_form():
    data = problems("7", "8").add_column("kind", ["a", "b"])
    rewards = route("kind", {"a": boxed() + 0.1 * tags("think"), "b": boxed() + 0.1 * tags("answer")})
    assert not faults(rewards, data) and not [warning for one in check(rewards, data) for warning in one.warnings]
    assert honest(rewards, data[0]).startswith("<think>") and honest(rewards, data[1]).startswith("<answer>")


def test_an_empty_dataset_is_a_fault():
    (fault,) = faults(boxed(), problems("7").select([]))
    assert "must have at least one row; it is empty" in fault


def test_equal_solutions_of_one_prompt_do_not_contradict_each_other():
    found = section("values of 'solution'", boxed(), problems("0.5", "1/2", "\\frac{1}{2}", prompts=["Which?"] * 3))
    assert not found.warnings


def misdeclared(completion: str, solution: str) -> float:
    return 1.0


@pytest.mark.parametrize(
    "traits, message",
    [
        (
            {"reads": {"solution": lambda values: []}},
            "'reads' of reward 'misdeclared' must return one Reading for each",
        ),
        ({"reads": {"solution": lambda values: ["7"] * 3}}, "must return Readings of the kinds 'whole', .* got '7'"),
        ({"reads": {"solution": lambda values: [Reading("most")] * 3}}, "got Reading.kind='most'"),
        ({"reads": {"result": lambda values: []}}, "Reward 'misdeclared' needs the column 'result'"),
        ({"reads": ["solution"]}, "The trait 'reads' must be a dict from a dataset column to a function"),
        ({"form": Form(tags=("think",))}, "The trait 'form' must be a function of the reward's options"),
        ({"form": lambda: {"tags": ("think",)}}, "The trait 'form' must return a Form; got .* Return Form"),
        ({"form": lambda: Form(tags="think")}, "Form needs tags as a tuple of texts; got 'think'. Write tags="),
        (
            {"form": lambda: Form(length=100)},
            "Form needs length as a number and 'tokens', 'words' or 'chars'; got 100",
        ),
        ({"form": lambda: Form(answer="Answer:")}, "Form needs an answer that contains {} in the place of the answer"),
        ({"worthless": lambda: ["nothing"]}, "The trait 'worthless' must return a dict from what a completion tries"),
        ({"lengths": lambda: 100}, "The trait 'lengths' must return a dict from the name of an option"),
        ({"lengths": 100}, "The trait 'lengths' must be a function of the reward's options"),
        ({"outcome": "yes"}, "The traits 'outcome' and 'asks' must be True or False; got outcome='yes'"),
    ],
)
def test_a_trait_that_is_declared_wrongly_is_said_in_a_sentence(monkeypatch, traits, message):
    with pytest.raises((TypeError, ValueError), match=message):
        monkeypatch.setitem(globals(), "misdeclared", reward(**traits)(misdeclared))  # it is pickled by its name
        check(misdeclared(), problems("7", "8", "9"))


@pytest.mark.parametrize(
    "expression, is_outcome",
    [
        ("boxed()", True), ("answer()", True), ("exact()", True), ("choice()", True), ("tags('think')", False),
        ("gate(boxed(), by=tags('think'))", True), ("gate(tags('think'), by=boxed())", False),
        ("route('kind', {'math': boxed(), 'text': exact()})", True),
        ("route('kind', {'math': boxed()}, default=tags('think'))", False),
        ("clip(boxed(), high=0.5)", False), ("cosine(boxed(), max_tokens=9)", False), ("boxed() + exact()", False),
    ],
)  # fmt: skip
def test_which_expressions_say_what_is_right(expression, is_outcome):
    assert parse(expression).is_outcome is is_outcome


# --- the script ------------------------------------------------------------------------------------------------------


ENDINGS = """
from trl_grpo_rewards import reward

@reward
def ends(completion: str, solution: str) -> float:
    return float(completion.endswith(solution))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "column, arguments, fault",
    [
        ("answer", [], None),
        ("integers", [], None),
        (
            "integers",
            ["--import", "endings", "--rewards", "ends()"],
            "Reward 'ends' reads the column 'solution' as str, but the dataset contains int64, such as 19.",
        ),
        ("response", ["--solution_column", "solution"], "Reward 'boxed' needs the column 'solution'; found"),
        ("answer", ["--model_name_or_path", "thinking"], "Write tags('think', prefilled=True)."),
        (
            "answer",
            ["--rewards", "boxed() + 0.1 * length(300)"],
            "fault: Reward 'length' has target=300, but completions",
        ),
    ],
    ids=["sound", "integers", "integers as text", "renamed", "prefilled", "too long"],
)
def test_gsm8k_is_checked(tmp_path, script, column, arguments, fault):
    with (tmp_path / "p.jsonl").open("w") as file:
        for row in read_outside_data("gsm8k_train.jsonl.gz"):
            integer = int(row["answer"].rpartition("####")[2].replace(",", ""))
            file.write(
                json.dumps({"question": row["question"], column: integer if column == "integers" else row["answer"]})
                + "\n"
            )
    (tmp_path / "endings.py").write_text(ENDINGS)
    thinking(AutoTokenizer.from_pretrained(demo.MODEL)).save_pretrained(tmp_path / "thinking")
    given = ["--dataset_name", "json", "--data_files", "p.jsonl", "--prompt_column", "question"]
    given += ["--solution_column", column, "--model_name_or_path", demo.MODEL, "--output_dir", "out"]
    run = script("check.py", *given, "--max_completion_length", "256", *arguments)
    assert run.returncode == (fault is not None), run.stdout + run.stderr
    assert (fault or "7,409 read") in run.stdout + run.stderr
    assert (fault is not None) or run.stdout.endswith("No fault found.\n")
    assert not (tmp_path / "out").exists()
