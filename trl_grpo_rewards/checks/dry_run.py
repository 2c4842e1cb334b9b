"""A dry run: right and wrong answers from the dataset are scored and timed, and some are scored again."""

import math
import time
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from ..expressions import Reward, leave_out_witnesses
from ..faults import shorten_repr
from ..function_rewards import FunctionReward, find_functions
from ..scores import Score
from ..traits import Findings
from .completions import NO_ANSWER, ROUNDING, WORKING, Rows, Tokenize, score_totals, split_words, write_pairs
from .search import FoundForm
from .trials import ANSWERS, Trials, average


STABILITY = "the same completions scored again"  # title of the check of scores that depend on something else
AGAIN_ROWS = 4  # number of rows that are scored again: the last ones, which no other check has scored before
TOLERANCE = 1e-4  # largest difference that counts as equal, since models compute other numbers in another batch
SLOW_SECONDS = 5.0  # time for the completions of one step from which on a reward is slow
STEP_SIZE = 64  # number of completions of a step if no configuration says it
DRY_RUN = "a dry run on the dataset's own solutions"  # title of the check of right answers
SHOWN_ROWS = 3  # largest number of rows that a warning shows
LEAST_MEAN = 0.9  # smallest mean that outcome rewards must give the dataset's own solutions


def list_own_terms(rewards: Reward) -> list[Reward]:
    terms = leave_out_witnesses(rewards).rewards
    return [term for term in terms if any(one.factory.is_foreign for one in find_functions(term))]


def check_stability(rewards: Reward, found: FoundForm, tokens: Tokenize = split_words, config: Any = None) -> Findings:
    """Score completions twice, in another order and alone. Each difference is a warning, and so is a slow reward."""
    findings = Findings(STABILITY)
    rows = [*found.rows[-AGAIN_ROWS:]]
    groups = [[*pair, NO_ANSWER] for pair in write_pairs(rewards, rows, tokens, found.form)]
    size = getattr(config, "generation_batch_size", None) or STEP_SIZE
    for term in list_own_terms(rewards):
        start = time.perf_counter()
        first = score_totals(term, rows, groups, tokens)
        seconds = (time.perf_counter() - start) / sum(map(len, groups))
        findings.lines.append(f"{1000 * seconds:8.3f} ms each: {term}")
        if size * seconds > SLOW_SECONDS:
            findings.warnings.append(
                f"{term} takes {size * seconds:.0f} s for the {size} completions of a step on this machine, while the "
                f"model waits. Make it faster, or declare it with 'async def' if it waits for something."
            )
        findings.warnings += [*find_changes(term, rows, groups, first, tokens)][:1]
    return findings


def find_changes(
    term: Reward, rows: Rows, groups: list[list[str]], first: list[list[Score]], tokens: Tokenize
) -> Iterator[str]:
    each = [*zip(rows, groups, first, strict=True)]
    if term.is_grouped:
        apart = "without those of other prompts. It must not look at these"
        parts = [([row], [group], [scores]) for row, group, scores in each]
    else:
        apart = "alone. If it compares the completions of a prompt, declare it with @reward(grouped=True)"
        parts = [([row], [[text]], [[one]]) for row, *pair in each for text, one in zip(*pair, strict=True)]
    for what, calls in (
        ("again. Remove what is random in it and what remembers earlier calls", [(rows, groups, first)]),
        ("in another order. It must not look at others", [(rows[::-1], groups[::-1], first[::-1])]),
        (apart, parts),
    ):
        again = chain(*(chain(*score_totals(term, rows, groups, tokens)) for rows, groups, _ in calls))
        before = chain(*(chain(*scores) for *_, scores in calls))
        for old, new in zip(before, again, strict=True):
            if old != new and (old is None or new is None or abs(old - new) > TOLERANCE):
                written = " and then ".join("None" if score is None else f"{score:.4g}" for score in (old, new))
                yield (
                    f"A score must depend on the completion and its row alone, but {term} gave other scores, such as "
                    f"{written}, when the same completions were scored {what}."
                )


def check_dry_run(trials: Trials, config: Any = None, tokens: Tokenize = split_words, unit: str = "words") -> Findings:
    """Check that right answers earn more than wrong ones and fit into a completion, and tell the time of each reward."""
    found = Findings(DRY_RUN)
    rewards, each = trials.rewards, trials.milliseconds
    means = {name: average(trials.scores[name]) for name in ANSWERS}
    terms = [*((reward.name, weight) for weight, reward in rewards.terms), ("total", None)]
    found.lines.append(f"{'':30} {'right':>8} {'wrong':>8} {'helpless':>8} {'ms each':>8}")
    found.data["dry_run"] = []
    for index, ((name, weight), milliseconds) in enumerate(zip(terms, [*each, sum(each)], strict=True)):
        label = name if weight is None else f"{weight:g} * {name}"
        columns = " ".join(f"{mean[index]:8.3f}" for mean in means.values())
        found.lines.append(f"{label:30} {columns} {milliseconds:8.3f}")
        known = {kind: None if math.isnan(mean[index]) else float(mean[index]) for kind, mean in means.items()}
        found.data["dry_run"].append({"name": name, "weight": weight, **known, "mean_milliseconds": milliseconds})
    if size := getattr(config, "generation_batch_size", None):
        found.lines.append(f"a batch of {size} takes {sum(each) * size / 1000:.2g} s to score on this machine")
    right, wrong = means["right"][-1], means["wrong"][-1]
    found.lines.append(f"a right answer earns {right - wrong:.3f} more than a wrong one")
    found.faults += trials.found.faults
    found.warnings += [*trials.found.warnings, *list_unpaid_warnings(trials)]
    found.lines += [f"tried: {text}" for text in trials.found.tried]
    for place in range(len(rewards.rewards)):
        add_silence(found, trials, place)
    for place, mean in enumerate(means["right"][:-1]):
        add_unpaid_rows(found, trials, place, mean if wrong < right else math.nan)
    if trials.has_solution and not right > wrong + ROUNDING:
        worth = "nothing, because it cannot be judged" if math.isnan(wrong) else f"{wrong:.3f}"
        earned = f"earns {right:.3f}, which is no more than a wrong one earns ({worth})"
        found.faults.append(
            f"Under {rewards}, a right answer {'cannot be judged' if math.isnan(right) else earned}. Check that the column "
            f"'{trials.column}', such as {trials.solutions[0]!r}, contains what the rewards look for."
        )
    longest = getattr(config, "max_completion_length", None) or math.inf
    bare = [texts["right"].replace(WORKING.strip(), "") for texts in trials.texts]
    count, shortest = min((len(tokens(text)), text) for text in bare)
    if count > longest:
        found.faults.append(
            f"The shortest right answer in the form that the rewards ask for has {count} {unit} without any working "
            f"({shortest!r}), but completions end at max_completion_length={longest}. Raise max_completion_length."
        )
    return found


def add_silence(found: Findings, trials: Trials, place: int) -> None:
    """Add what to say of a term that gives every completion the same score, or None."""
    reward, row = trials.rewards.rewards[place], trials.found.rows[0]
    score, *others = np.unique(trials.every[:, place])
    is_constant = not others and reward not in trials.found.unpaid
    is_own = isinstance(reward, FunctionReward) and reward.factory.is_foreign
    if np.isnan(score):
        is_batch = (
            isinstance(reward, FunctionReward) and reward.factory.kind == "batch"
        )  # which returned a list of None
        is_all = len(trials.rewards.rewards) == 1 and not (
            trials.has_solution or is_batch
        )  # else another fault says it
        remedy = (
            "If it asks a server, start that"
            if is_batch
            else "If it is a function of your own, check that it ends with return"
        )
        (found.faults if is_all else found.warnings).append(
            f"Reward '{reward.name}' gave None for every completion that was tried, so it scores nothing. {remedy}."
        )
    elif (
        isinstance(reward, FunctionReward)
        and is_own
        and is_constant
        and not trials.found.faults + trials.found.warnings
    ):  # ours may be 0
        found.warnings.append(
            f"Reward '{reward.name}' gave {score:g} to every completion that was tried, so these checks cannot tell whether "
            f"it works. Call it on a completion that should earn {'something else' if score else 'more than 0'}; --details "
            f"shows how."
        )
        prompt = row.get("prompt")
        completion = [{"role": "assistant", "content": "..."}] if isinstance(prompt, list) else "..."
        columns = {column: row.get(column) for column in sorted(reward.columns)}
        values = {"completions": completion, "prompts": prompt, **columns}
        name = str(reward) if reward.factory.has_options else f"reward({reward.name})()"
        call = ", ".join(f"{name}=[{shorten_repr(value)}]" for name, value in values.items())
        found.lines.append(f"call {name}({call})")


def add_unpaid_rows(found: Findings, trials: Trials, place: int, mean: float) -> None:
    """Add the rows whose right answer earns no more than a wrong one. It is a fault if an outcome's mean is too low."""
    weight, reward = trials.rewards.terms[place]
    unpaid, free = list_unpaid_rows(trials, place), list_free_rows(trials, place)
    if weight and reward.is_outcome and mean < LEAST_MEAN:
        value = trials.solutions[unpaid[0] if unpaid else 0]
        found.faults.append(
            f"Reward '{reward.name}' gives the dataset's own solutions {mean:.3f} on average, although they are right. "
            f"Compare how they are written, such as {value!r}, with the answers that {reward} expects."
        )
    elif unpaid:
        shown = [f"{shorten_repr(trials.solutions[row])} in row {row}" for row in unpaid[:SHOWN_ROWS]]
        found.warnings.append(
            f"The dataset's own solution earns nothing from {reward} on {len(unpaid)} of the {len(trials.texts)} rows "
            f"that were tried, such as {', '.join(shown)} (counted from 0). Correct the reward, or remove such rows."
        )
    if free:
        found.warnings.append(
            f"On {len(free)} of {len(trials.texts)} rows, any answer earns from {reward} what a right one does, such as in row "
            f"{free[0]} with {shorten_repr(trials.solutions[free[0]])} (counted from 0). Return None for such rows, or remove them."
        )


def list_unpaid_rows(trials: Trials, place: int) -> list[int]:
    """Return the rows whose right answer earns no more than a wrong one from a term that pays for other rows."""
    readers = trials.list_readers(trials.rewards.rewards[place])
    if not is_compared(trials, place):
        return []
    right, *others = (trials.scores[name][:, place] for name in ANSWERS)
    highest = np.nan_to_num(right, nan=-np.inf).max()
    is_unpaid = (right <= np.nan_to_num(others).max(axis=0)) & (right < highest - ROUNDING)  # not where it is None
    places = [
        other for other in range(len(trials.rewards.rewards)) if trials.list_readers(trials.rewards.rewards[other])
    ]
    is_scored = ~np.isnan(trials.scores["right"][:, places]).all(
        axis=1
    )  # by the reward of this task, if there are several
    is_unpaid |= ~is_scored & any(one.factory.is_foreign for one in readers)
    return [] if is_unpaid.all() else np.flatnonzero(is_unpaid).tolist()


def list_free_rows(trials: Trials, place: int) -> list[int]:
    """Return the rows on which a term pays anything like a right answer, while it does not on others."""
    if not is_compared(trials, place):
        return []
    right, *others = (trials.scores[name][:, place] for name in ANSWERS)
    is_free = (np.min(others, axis=0) >= right - ROUNDING) & (
        right >= np.nan_to_num(right, nan=-np.inf).max() - ROUNDING
    )
    return [] if is_free.all() else np.flatnonzero(is_free).tolist()


def is_compared(trials: Trials, place: int) -> bool:
    """Whether a term decides by the answer, and right ones are known."""
    weight, reward = trials.rewards.terms[place]
    return trials.found.is_solved and not reward.is_grouped and weight > 0 and bool(trials.list_readers(reward))


def list_unpaid_warnings(trials: Trials) -> list[str]:
    """Return a warning for each function of the user's own that paid no right answer in any form that was tried."""
    silent = [one for one in trials.found.unpaid if not np.isnan(trials.every[:, find_terms(trials, one)]).all()]
    return [
        f"No right answer that was tried earned more than a wrong one from {one}, so these checks cannot tell whether it "
        f"works. Add a column 'completion' with right completions, or declare the form of the answer, as in "
        f"@reward(form=lambda: Form(answer='Answer: {{}}'))."
        for one in silent
    ]


def find_terms(trials: Trials, function: FunctionReward) -> list[int]:
    """Return the places of the terms that a function is part of."""
    return [place for place, reward in enumerate(trials.rewards.rewards) if function in find_functions(reward)]
