"""Right and wrong answers of the dataset as the rewards score them: once, again, and with the time."""

import re
import time
from types import SimpleNamespace

import pytest

from helpers.checks import find_faults, get_section, make_problems
from helpers.labelled_rewards import MADE
from trl_grpo_rewards import boxed, choice, demo, judge, length, reward, shortest, tags
from trl_grpo_rewards.checks import Form, check
from trl_grpo_rewards.checks.dry_run import STABILITY, check_dry_run, check_stability
from trl_grpo_rewards.checks.search import FoundForm
from trl_grpo_rewards.checks.trials import make_trials


NUMBERS = [f"{number}" for number in range(40, 60)]
TWICE = [f"So it is \\boxed{{{n}}}.\n#### {n}" if n % 2 else f"{n}" for n in range(20)]


@reward(outcome=True)
def right_target(completion: str, target: str) -> float:
    return float(completion.endswith(f"\\boxed{{{target}}}"))


@reward(outcome=True, form=Form)
def unsure_of_wrong(completion: str, solution: str) -> float | None:
    return 0.0 if completion.endswith(f"{{{solution}}}") else None


@reward
def grateful(completion: str) -> float:
    return float("thank you" in completion)


@reward
def forgot(completion: str) -> float | None:
    len(completion)


@pytest.mark.parametrize(
    "rewards, column, values, said",
    [
        (MADE["stops_at_a_brace"] + 0.2 * tags("a"), "final_answer", [*NUMBERS, r"\frac{5}{7}", "", None, r"\sqrt{2}"],
         "warning: The dataset's own solution earns nothing from stops_at_a_brace() on 3 of the 24 rows that were tried, such as "
         r"'\\frac{5}{7}' in row 20, None in row 22, '\\sqrt{2}' in row 23 (counted from 0). Correct the reward, or remove such rows."),
        (MADE["stops_at_a_brace"], "final_answer", NUMBERS, ""),
        (boxed(box="only"), "solution", TWICE, "fault: Reward 'boxed' gives the dataset's own solutions 0.500 on average, although "
         "they are right. Compare how they are written, such as 'So it is \\\\boxed{1}.\\n#### 1', with"),
        (boxed(box="only"), "solution", [*NUMBERS, TWICE[1]], "warning: The dataset's own solution earns nothing from boxed(box='only') on 1 of"),
        (choice(), "solution", [1, 2], "fault: Under choice(), a right answer cannot be judged. Check that the column 'solution', such as 1,"),
        (unsure_of_wrong(), "solution", ["71", "82"], "fault: Under unsure_of_wrong(), a right answer earns 0.000, which is no more "
         "than a wrong one earns (nothing, because it cannot be judged)."),
        (right_target(), "target", ["7", "8", "9"], ""),
        (right_target(), "target", ["7 apples", "8 apples"], ""),  # the honest completion has the apples too
        (right_target(), "target", [None, None], "fault: Under right_target(), a right answer earns 0.000, .*the column 'target', such as None"),
        (boxed(evaluated=True) + 0.2 * grateful(), "solution", ["7", "8"],
         "warning: Reward 'grateful' gave 0 to every completion that was tried, so these checks cannot tell whether it works. Call it on a "
         "completion that should earn more than 0; check --details shows how."),
        (boxed(evaluated=True) + 0.2 * forgot(), "solution", ["7", "8"], "warning: Reward 'forgot' gave None for every completion"),
        (forgot(), "solution", ["7", "8"], "fault: Reward 'forgot' gave None for every completion that was tried, so it never scores anything. If "
         "it is a function of your own, check that it ends with return."),
        (shortest(boxed(evaluated=True)), "solution", ["7", "8"], ""),  # it has a group to compare
        (tags("think"), "solution", ["7", "8"], ""),
    ],
    ids=str,
)  # fmt: skip
def test_what_right_answers_earn_is_said(rewards, column, values, said):
    trials = make_trials(rewards, [{"prompt": f"({row})", column: value} for row, value in enumerate(values)])
    found = check_dry_run(trials)
    texts = [f"fault: {text}" for text in found.faults] + [f"warning: {text}" for text in found.warnings]
    pattern = ".*".join(map(re.escape, said.split(".*")))
    assert bool(texts) == bool(said) and re.match(pattern, "".join(texts[:1])), texts


def test_a_right_answer_must_fit_into_a_completion(config):
    trials = make_trials(boxed() + 0.2 * tags("think"), [*make_problems("1", "2")], attacked=0)
    for most, tokens, unit in ((8, lambda text: [*text], "tokens"), (1, str.split, "words")):
        (fault,) = check_dry_run(trials, config(max_completion_length=most), tokens, unit).faults
        assert f"{unit} without any working" in fault and f"max_completion_length={most}. Raise" in fault
    assert not check_dry_run(trials, config(max_completion_length=8), str.split).faults


@reward(asks=False, batched=True)
async def from_a_file(completions: list) -> list[float]:
    return [float(len(text) > 100) for text in completions]


@reward(outcome=True)
def mistaken(completion: str) -> float:
    return float("do not know" in completion)


def test_a_term_of_weight_0_pays_nothing_in_any_check():
    """It neither makes form alone pay, nor length, nor says what is right while another term does."""
    data = make_problems("71", "82", "93")
    watched = boxed(evaluated=True) + 0 * length(9, unit="words") + 0 * right_target(target="solution")
    plain, found = check(boxed(evaluated=True), data), check(watched, data)
    assert [one.warnings for one in found] == [one.warnings for one in plain]
    watched += 0 * mistaken() + 0 * from_a_file()
    assert not watched.asks and not find_faults(watched, data) and not find_faults(tags("think") + 0 * boxed(), data)
    (fault,) = find_faults(boxed() + 0 * boxed(evaluated=True, name="strict"), demo.arithmetic(size=8))
    assert fault.endswith("Require an answer that is worked out, for example with boxed(evaluated=True).")
    assert not [
        fault
        for fault in find_faults(judge(model="none", rubric="Is it right?") + 0 * boxed(), data)
        if "right answer" in fault
    ]


# --- the same completions again: what depends on something else is among the labelled rewards -------------------------


@reward
def steady(completion: str, solution: str) -> float | None:
    return MADE["in_box"].factory.function(completion, solution) if completion else None


@reward
def sleepy(completion: str, solution: str) -> float:
    time.sleep(0.02)
    return MADE["in_box"].factory.function(completion, solution)


CALLS: list[str] = []
PROBLEMS = make_problems(*map(str, range(100, 124)))


@reward
def fails_every_second_time(completion: str, solution: str) -> float:
    CALLS.append(completion)
    if len(CALLS) % 2:
        raise OSError("the disk is full")
    return 0.0


@pytest.mark.parametrize("rewards", [steady(), MADE["above_group"], boxed(evaluated=True) + 0.2 * steady()], ids=str)
def test_a_score_that_depends_on_nothing_else_is_none(rewards):
    found = get_section(STABILITY, rewards, PROBLEMS)
    assert not found.warnings and len(found.lines) == 1 and found.lines[0].endswith(("steady()", "above_group()"))


def test_a_slow_reward_is_named_with_the_time_of_a_step():
    for size, count in ((512, 1), (8, 0)):
        found = check_stability(sleepy(), FoundForm([*PROBLEMS]), config=SimpleNamespace(generation_batch_size=size))
        said = [
            re.match(rf"sleepy\(\) takes \d+ s for the {size} completions of a step", text) for text in found.warnings
        ]
        assert all(said) and len(said) == count


def test_a_reward_that_raises_now_and_then_is_one_fault():
    (fault,) = find_faults(fails_every_second_time(), PROBLEMS)
    assert "fails_every_second_time() raised OSError: the disk is full" in fault
