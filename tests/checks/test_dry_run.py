"""Right and wrong answers of the dataset, as the rewards score them."""

import re

from trl import GRPOConfig

from helpers.checks import find_faults, make_problems
from trl_grpo_rewards import FilteredGRPOConfig, boxed, demo, judge, length, reward, shortest, tags
from trl_grpo_rewards.checks import Form, check
from trl_grpo_rewards.checks.dry_run import check_dry_run
from trl_grpo_rewards.checks.trials import make_trials


def dry_run(rewards, dataset, config=None):
    return check_dry_run(make_trials(rewards, [*dataset], attacked=0), config)


@reward
def fractions_escape(completion: str, final_answer: str) -> float:
    """Stops at the first closing brace."""
    match = re.search(r"\\boxed\{(.+?)\}", completion)
    return float(match is not None and match[1] == final_answer)


def test_rows_whose_own_solution_earns_nothing_are_named():
    golds = [f"{number}" for number in range(40, 60)] + [r"\frac{5}{7}", "", None, r"\sqrt{2}"]
    data = make_problems(*golds).rename_column("solution", "final_answer")
    said = [text for one in check(fractions_escape() + 0.2 * tags("a"), data) for text in one.warnings + one.faults]
    assert said == [
        "The dataset's own solution earns nothing from fractions_escape() on 4 of the 24 rows that were tried, such as "
        r"'\\frac{5}{7}' in row 20, '' in row 21, None in row 22 (counted from 0). Correct the reward, or remove such rows."
    ]
    assert not dry_run(fractions_escape(), data.select(range(20))).warnings


def test_a_row_that_does_not_pass_for_right_is_the_example_of_the_fault():
    golds = [*map(str, range(12)), *(f"So it is \\boxed{{{n}}}.\n#### {n}" for n in range(12, 15))]
    (fault,) = dry_run(boxed(box="only"), make_problems(*golds)).faults
    assert fault.startswith("Reward 'boxed' gives the dataset's own solutions 0.800 ") and "boxed{12}" in fault


def test_a_right_answer_must_fit_into_a_completion(config):
    trials = make_trials(boxed() + 0.2 * tags("think"), [*make_problems("1", "2")], attacked=0)
    args = config(FilteredGRPOConfig, max_completion_length=8)
    (fault,) = check_dry_run(trials, args, lambda text: [*text], "tokens").faults
    assert "tokens without any working" in fault and "max_completion_length=8. Raise" in fault
    assert not check_dry_run(trials, args, str.split).faults


def test_a_right_answer_of_more_words_than_tokens_allowed_is_found_without_a_tokenizer(config):
    args = config(FilteredGRPOConfig, max_completion_length=1)
    (fault,) = find_faults(boxed() + tags("think"), make_problems("1", "2"), config=args)
    assert "words without any working" in fault and "max_completion_length=1. Raise" in fault


def test_solutions_that_do_not_pass_for_right_are_seen():
    twice = [f"So it is \\boxed{{{n}}}.\n#### {n}" if n % 2 else f"{n}" for n in range(20)]
    (fault,) = dry_run(boxed(box="only"), make_problems(*twice)).faults
    assert fault.startswith(
        "Reward 'boxed' gives the dataset's own solutions 0.500 on average, although they are right."
    )
    lines = dry_run(boxed(), make_problems(*twice)).lines
    assert lines[-1] == "a right answer earns 1.000 more than a wrong one"


@reward(outcome=True)
def right_target(completion: str, target: str) -> float:
    return float(completion.endswith(f"\\boxed{{{target}}}"))


def test_the_right_answer_may_be_in_another_column():
    data = make_problems("7", "8", "9").rename_column("solution", "target")
    found = check(right_target() + 0.2 * tags("think"), data)
    lines = [line for one in found for line in one.lines]
    assert "a right answer earns 1.000 more than a wrong one" in lines and not find_faults(right_target(), data)
    wrong = data.map(lambda row: {"target": f"{row['target']} apples"})
    assert not find_faults(right_target(), wrong)  # the honest completion has the apples too
    assert (
        "the column 'target', such as None" in find_faults(right_target(), data.map(lambda row: {"target": None}))[0]
    )


@reward(asks=False, batched=True)
async def from_a_file(completions: list) -> list[float]:
    return [float(len(text) > 100) for text in completions]


def test_an_async_reward_that_asks_nobody_is_tried():
    assert not from_a_file().asks
    found = dry_run(boxed(evaluated=True) + from_a_file(), demo.arithmetic(size=8))
    assert any("from_a_file" in line for line in found.lines)


@reward(outcome=True)
def mistaken(completion: str) -> float:
    return float("do not know" in completion)


ASKED = judge(model="none", rubric="Is it right?")


@reward
def unsure(completion: str, solution: str) -> float | None:
    return 1.0 if solution in completion else None


def test_a_none_beside_a_weight_of_0_is_a_warning_for_the_trainer_of_trl(config):
    data = make_problems("71", "82", "93")

    def warn(rewards, args):
        return [text for one in check(rewards, data, args) for text in one.warnings if "a total of 0" in text]

    for rewards in (unsure() + 0 * tags("think"), 0 * tags("think") + ASKED, 0 * tags("think") + ASKED + unsure()):
        assert warn(rewards, config(GRPOConfig)) == [
            "TRL's own trainer gives a total of 0 to completions that only 'tags' with weight 0 can score. "
            "FilteredGRPOTrainer leaves them out."
        ]
        assert not warn(rewards, config()) and not warn(rewards, None)
    for rewards in (unsure() + 0.1 * tags("think"), boxed() + 0 * tags("think"), boxed() + 0 * ASKED, 0 * unsure()):
        assert not warn(rewards, config(GRPOConfig))


def test_a_term_of_weight_0_pays_nothing_in_any_check():
    """It neither makes form alone pay, nor length, nor says what is right while another term does."""
    data = make_problems("71", "82", "93")
    watched = boxed(evaluated=True) + 0 * length(9, unit="words") + 0 * right_target(target="solution")
    plain, found = check(boxed(evaluated=True), data), check(watched, data)
    assert [one.warnings for one in found] == [one.warnings for one in plain]
    watched += 0 * mistaken()
    assert not find_faults(watched, data) and not find_faults(tags("think") + 0 * boxed(), data)
    (fault,) = find_faults(boxed() + 0 * boxed(evaluated=True, name="strict"), demo.arithmetic(size=8))
    assert fault.endswith("Require an answer that is worked out, for example with boxed(evaluated=True).")
    assert not [fault for fault in find_faults(ASKED + 0 * boxed(), data) if "right answer" in fault]


def test_the_table_has_a_line_for_each_term_and_the_total(config):
    rewards = boxed(partial=0.5) + 0.2 * tags("think") - 0.1 * tags("think", name="again")
    found = dry_run(rewards, make_problems("7", "8", "9"), config(FilteredGRPOConfig))
    assert [line[:30].strip() for line in found.lines[1:5]] == [
        "1 * boxed", "0.2 * tags", "-0.1 * again", "total",
    ]  # fmt: skip
    values = [[float(value) for value in line[30:].split()] for line in found.lines[1:5]]
    assert [row[:3] for row in values] == [[1, 0.5, 0], [1, 1, 0], [1, 1, 0], [1.1, 0.6, 0]]
    assert found.lines[5].startswith("a batch of 8 takes ") and not found.faults
    assert found.lines[6] == "a right answer earns 0.500 more than a wrong one"


def test_a_reward_that_reads_no_solution_need_not_tell_right_from_wrong():
    assert not dry_run(tags("think"), make_problems("7", "8")).faults


@reward(outcome=True, form=Form)
def unsure_of_wrong(completion: str, solution: str) -> float | None:
    return 0.0 if completion.endswith(f"{{{solution}}}") else None


def test_a_mean_of_nothing_is_said_in_words():
    (fault,) = dry_run(unsure_of_wrong(), make_problems("71", "82")).faults
    assert "earns 0.000, which is no more than a wrong one earns (nothing, because it cannot be judged)." in fault


def test_a_reward_that_compares_the_group_has_one_to_compare():
    assert not find_faults(shortest(boxed(evaluated=True)), demo.arithmetic(size=32))
