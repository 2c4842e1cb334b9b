"""A dry run: right and wrong answers from the dataset are scored, and the time is measured."""

import math
from typing import TYPE_CHECKING

from ..expressions import Reward
from ..faults import shorten_repr
from ..function_rewards import FunctionReward, find_functions
from .findings import Findings
from .honest_completions import ROUNDING, WORKING, Tokenize, find_answer_column, list_read_columns, split_words
from .trials import Trials, average_scores


if TYPE_CHECKING:
    from trl import GRPOConfig

DRY_RUN = "a dry run on the dataset's own solutions"  # title of this check
SHOWN_ROWS = 3  # largest number of rows that a warning shows
LEAST_MEAN = 0.9  # smallest mean that outcome rewards must give the dataset's own solutions


def check_dry_run(
    trials: Trials, config: "GRPOConfig | None" = None, tokens: Tokenize = split_words, unit: str = "words"
) -> Findings:
    """Check that right answers earn more than wrong ones and fit into a completion, and tell the time of each reward."""
    found = Findings(DRY_RUN)
    rewards, each = trials.rewards, trials.milliseconds
    means = {
        kind: average_scores(getattr(trial, kind) for trial in trials.trials)
        for kind in ("right", "wrong", "helpless")
    }
    terms = [*((reward.name, weight) for weight, reward in rewards.terms), ("total", None)]
    found.lines.append(f"{'':30} {'right':>8} {'wrong':>8} {'helpless':>8} {'ms each':>8}")
    found.data["dry_run"] = []
    for index, ((name, weight), milliseconds) in enumerate(zip(terms, [*each, sum(each)], strict=True)):
        label = name if weight is None else f"{weight:g} * {name}"
        columns = " ".join(f"{means[kind][index]:8.3f}" for kind in means)
        found.lines.append(f"{label:30} {columns} {milliseconds:8.3f}")
        known = {kind: None if math.isnan(mean[index]) else mean[index] for kind, mean in means.items()}
        found.data["dry_run"].append({"name": name, "weight": weight, **known, "mean_milliseconds": milliseconds})
    if size := getattr(config, "generation_batch_size", None):
        found.lines.append(f"a batch of {size} takes {sum(each) * size / 1000:.2g} s to score on this machine")
    right, wrong = means["right"][-1], means["wrong"][-1]
    column = find_answer_column(rewards, trials.trials[0].row)
    example = trials.trials[0].row.get(column)
    found.lines.append(f"a right answer earns {right - wrong:.3f} more than a wrong one")
    found.warnings += list_unpaid_warnings(trials, column)
    for place, reward in enumerate(rewards.rewards):
        scores = {example.scores[place] for trial in trials.trials for example in trial}
        if scores == {None}:
            is_all = len(rewards.rewards) == 1 and not trials.has_solution  # else another fault says it
            (found.faults if is_all else found.warnings).append(
                f"Reward '{reward.name}' gave None for every completion that was tried, so it scores nothing. If it is a "
                f"function of your own, check that it ends with return."
            )
        is_own = isinstance(reward, FunctionReward) and reward.factory.is_foreign  # a penalty of ours may well be 0
        if len(scores) == 1 and None not in scores and is_own and reward not in trials.found.unpaid:
            score, row = scores.pop(), trials.trials[0].row
            values = {"prompts": row.get("prompt"), **{name: row.get(name) for name in sorted(reward.columns)}}
            call = ", ".join(f"{name}=[{shorten_repr(value)}]" for name, value in values.items())
            found.warnings.append(
                f"Reward '{reward.name}' gave {score:g} to every completion that was tried, so these checks cannot "
                f"tell whether it works. Call it on a completion that should earn {'something else' if score else 'more than 0'}: "
                f"{reward}(completions=['...'], {call})."
            )
    examples = [example for trial in trials.trials for example in trial]
    if any(one.total is None and any(score is not None for score in one.scores) for one in examples):
        found.warnings += list_witness_warnings(rewards, config)
    for place, ((weight, reward), mean) in enumerate(zip(rewards.terms, means["right"], strict=False)):
        unpaid = list_unpaid_rows(trials, place, column)
        if weight and reward.is_outcome and wrong < right and mean < LEAST_MEAN:
            value = trials.trials[unpaid[0]].row.get(column) if unpaid else example
            found.faults.append(
                f"Reward '{reward.name}' gives the dataset's own solutions {mean:.3f} on average, although they are "
                f"right. Compare how they are written, such as {value!r}, with the answers that {reward} expects."
            )
        elif unpaid:
            shown = [f"{shorten_repr(trials.trials[row].row.get(column))} in row {row}" for row in unpaid[:SHOWN_ROWS]]
            found.warnings.append(
                f"The dataset's own solution earns nothing from {reward} on {len(unpaid)} of the {len(trials.trials)} rows "
                f"that were tried, such as {', '.join(shown)} (counted from 0). Correct the reward, or remove such rows."
            )
    if trials.has_solution and not right > wrong + ROUNDING:
        worth = "nothing, because it cannot be judged" if math.isnan(wrong) else f"{wrong:.3f}"
        earned = f"earns {right:.3f}, which is no more than a wrong one earns ({worth})"
        found.faults.append(
            f"Under {rewards}, a right answer {'cannot be judged' if math.isnan(right) else earned}. Check that the "
            f"column '{column}', such as {example!r}, contains what the rewards look for."
        )
    longest = getattr(config, "max_completion_length", None)
    if longest is not None:
        bare = [trial.right.text.replace(WORKING.strip(), "") for trial in trials.trials]
        shortest = min(bare, key=lambda text: len(tokens(text)))
        if (count := len(tokens(shortest))) > longest:
            found.faults.append(
                f"The shortest right answer in the form that the rewards ask for has {count} {unit} "
                f"without any working ({shortest!r}), but completions end at max_completion_length={longest}. Raise "
                f"max_completion_length."
            )
    return found


def list_unpaid_rows(trials: Trials, place: int, column: str) -> list[int]:
    """Return the rows whose right answer earns no more than a wrong one from a term that pays for other rows."""
    reward, right = trials.rewards.rewards[place], [trial.right.scores[place] for trial in trials.trials]
    functions = [one for one in find_functions(reward) if column in list_read_columns(one, trials.trials[0].row)]
    if not trials.found.is_solved or reward.is_grouped or trials.rewards.weights[place] <= 0 or not functions:
        return []
    is_own = any(one.factory.is_foreign for one in functions)
    highest = max((score for score in right if score is not None), default=0.0)
    unpaid = []
    for row, (trial, score) in enumerate(zip(trials.trials, right, strict=True)):
        others = max(one.scores[place] or 0 for one in (trial.wrong, trial.helpless))
        is_unpaid = score <= others and score < highest - ROUNDING if score is not None else is_own
        unpaid += [row] if is_unpaid else []
    return unpaid if len(unpaid) < len(right) else []


def list_unpaid_warnings(trials: Trials, column: str) -> list[str]:
    """Return a warning for each function of the user's own that paid no right answer in any form that was tried."""
    example = shorten_repr(next((row[column] for row in trials.found.rows if row.get(column) is not None), None))
    return [
        f"No right answer that was tried earned more than a wrong one from {one}, so these checks cannot tell whether it "
        f"works. The value {example} of '{column}' was written as {trials.found.written}. If the reward wants it in another "
        f"form, say so, as in @reward(form=lambda: Form(answer='Answer: {{}}')) with Form from trl_grpo_rewards.checks, or "
        f"add a column 'completion' with right completions."
        for one in trials.found.unpaid
    ]


def list_witness_warnings(rewards: Reward, config: "GRPOConfig | None") -> list[str]:
    """Return a warning about completions that only rewards of weight 0 score, if the trainer is TRL's own."""
    names = [repr(reward.name) for weight, reward in rewards.terms if not weight]
    if config is None or hasattr(config, "unscored") or not names:  # an option of our trainer
        return []
    return [
        f"TRL's own trainer gives a total of 0 to completions that only {' and '.join(names)} with weight 0 can score. "
        f"FilteredGRPOTrainer leaves them out."
    ]
