"""Find out whether order, length, praise, a denied answer or an empty one moves a judge, with at most 20 requests.

    python scripts/try_judge.py --rewards "judge(model='m', rubric='Is it right?', reference=True)" --dataset_name rows.jsonl
    python scripts/try_judge.py --rewards "judge(model='m', rubric='Is it clear?')" --labels rows.jsonl

With `--labels`, it asks the judge about each row instead, and compares the verdicts with the labels of people. A row has a
`prompt`, a `completion` and a `label`: true or false, a dict with one for each criterion of the rubric, or a list with one for
each criterion of the row. It takes the options of `trl-grpo-rewards check`. The judge's server must run, and may cost.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from datasets import Dataset
from pandas import DataFrame

from trl_grpo_rewards.checks import as_text
from trl_grpo_rewards.checks.attack_completions import attacks
from trl_grpo_rewards.checks.completions import (
    BOX,
    ROUNDING,
    list_known_solutions,
    score_groups,
    split_words,
    write_pairs,
)
from trl_grpo_rewards.checks.search import find_form
from trl_grpo_rewards.checks.trials import take_rows
from trl_grpo_rewards.cli.console import build_rewards, exit_on
from trl_grpo_rewards.cli.job import prepare_job
from trl_grpo_rewards.cli.job_options import read_job
from trl_grpo_rewards.errors import describe_reward_error
from trl_grpo_rewards.expressions import Reward, leave_out_witnesses
from trl_grpo_rewards.function_rewards import FunctionReward, find_functions, without_asking
from trl_grpo_rewards.traits import WORKING, Findings, count_words


JUDGES = "the judges, which were asked"
REQUESTS, JUDGED_ROWS = 20, 3  # largest numbers of requests and of rows
MOVED = 1 / 3  # share of what a right answer gains over a wrong one from which on a judge is moved by something else

MEANS = (
    "a right answer",
    "the same after much working",
    "a wrong answer",
    "flattery",
    "the answer denied",
    "an empty text",
)


def count_requests(judge: FunctionReward) -> int:
    """Return how often a judge is asked about a row: a group is graded in two orders, another completion alone."""
    rubric = judge.options.get("rubric")
    criteria = len(rubric) if judge.options.get("separate") and isinstance(rubric, dict) else 1
    return 2 * judge.options.get("swaps", 1) if judge.is_grouped else len(MEANS) * criteria


def check_judges(rewards: Reward, dataset: Dataset, say: Callable[[str], None] = print) -> Findings:
    """Ask the judges among the rewards about some completions. The number of requests is said before."""
    functions = dict.fromkeys(find_functions(leave_out_witnesses(rewards)))
    judges = [one for one in functions if one.factory.traits.get("asks")]
    rows = [row for row in take_rows(dataset) if list_known_solutions(rewards, row)]
    each = sum(map(count_requests, judges))
    rows = rows[: min(JUDGED_ROWS, REQUESTS // each)] if each else []
    if not rows:
        needed = f"a judge among the rewards, a row with a solution, and at most {REQUESTS} requests for the row"
        return Findings(JUDGES, [f"not run: this needs {needed}; a row takes {each}"], is_run=False)
    names = ", ".join(one.name for one in judges)
    say(f"{names}: {each * len(rows)} requests about {len(rows)} rows of the dataset.")
    offline = without_asking(rewards)
    form = find_form(offline, take_rows(dataset)).form if offline else BOX
    groups = []
    for row, (text, wrong) in zip(rows, write_pairs(rewards, rows, form=form), strict=True):
        made = attacks(rewards, row, count_words, form)
        groups.append([text, f"{WORKING * 20}\n{text}", wrong, *(made.get(name, "") for name in MEANS[3:-1]), ""])
    found = Findings(JUDGES)
    for judge in judges:
        try:
            add_means(found, judge, rows, groups)
        except Exception as error:  # a reward raises errors of any type
            if (fault := describe_reward_error(error)) is None:
                raise
            found.faults.append(fault)
    return found


def measure_means(judge: FunctionReward, rows: list, groups: list[list[str]]) -> np.ndarray:
    """Return the mean score of each completion of a group."""
    scores = iter([scores[-1] for scores in score_groups(judge, rows, groups, split_words)[0]])
    return DataFrame([[next(scores) for _ in group] for group in groups], dtype=float).mean().to_numpy()


def add_means(found: Findings, judge: FunctionReward, rows: list, groups: list[list[str]]) -> None:
    """Add the mean score of each kind of completions, and a warning for each one that moves the judge."""
    means = measure_means(judge, rows, groups)
    right, longer, wrong, *others = means
    found.lines += [f"{mean:8.3f} {judge.name}: {what}" for what, mean in zip(MEANS, means, strict=True)]
    gain = right - wrong
    if not gain > ROUNDING:
        found.warnings.append(
            f"{judge} gave right answers {right:.3f} and wrong ones {wrong:.3f} on average. Use a stronger judge."
        )
        return
    moved = [what for what, mean in zip(MEANS[3:], others, strict=True) if mean - wrong >= MOVED * gain - ROUNDING]
    moved += ["length"] if abs(longer - right) >= MOVED * gain - ROUNDING else []
    if judge.is_grouped:
        again = measure_means(judge, rows, [one[::-1] for one in groups])
        change = np.abs(means - again[::-1]).max()
        moved += ["order"] if change >= MOVED * gain - ROUNDING else []
    for what in moved:
        found.warnings.append(
            f"{judge} is moved by {what}, by at least {MOVED:.0%} of the gap between a right answer and a wrong one. Use a stronger "
            f"judge, or ask it only about right answers: gate(..., by=boxed())."
        )


def compare_labels(file: Path, arguments: list[str]) -> None:
    """Print how often the judge of a job is wrong by the labels in a file."""
    from judge_labels import describe_errors, find_judge, measure_errors, read_rows

    with exit_on(TypeError, ValueError, ImportError, OSError, RuntimeError):
        job, *_ = read_job(arguments, "check")
        judge = find_judge(build_rewards(job.rewards, job.import_modules))
        rows = read_rows(file)
        print(f"{judge.name}: about {len(rows)} labelled rows.")
        print(describe_errors(measure_errors(judge, rows)))


def main() -> None:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--labels", type=Path)
    options, arguments = parser.parse_known_args()
    if options.labels:
        compare_labels(options.labels, arguments)
        return
    with exit_on(TypeError, ValueError, ImportError):
        job, training, _ = read_job(arguments, "check")
        found = check_judges(*prepare_job(job, training)[:2])
    print(as_text([found]))
    sys.exit(bool(found.faults))


if __name__ == "__main__":
    main()
