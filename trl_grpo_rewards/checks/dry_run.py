"""A dry run: right and wrong answers from the dataset are scored and timed, and some are scored again."""

import math
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import numpy as np

from ..errors import shorten_repr
from ..expressions import Reward, leave_out_witnesses
from ..function_rewards import FunctionReward, find_functions, has_own_code
from ..scores import Score
from ..traits import WORKING, Findings
from .completions import NO_ANSWER, ROUNDING, Tokenize, score_groups, split_words, write_pairs
from .search import FoundForm
from .trials import ANSWERS, Trials


STABILITY = "the same completions scored again"  # title of the check of scores that depend on something else
AGAIN_ROWS = 4  # number of rows that are scored again: the last ones, which no other check has scored before
TOLERANCE = 1e-4  # largest difference that counts as equal, since models compute other numbers in another batch
SLOW_SECONDS = 5.0  # time for the completions of one step from which on a reward is slow
STEP_SIZE = 64  # number of completions of a step if no configuration says it
DRY_RUN = "a dry run on the dataset's own solutions"  # title of the check of right answers
SHOWN_ROWS = 3  # largest number of rows that a warning shows
LEAST_MEAN = 0.9  # smallest mean that outcome rewards must give the dataset's own solutions


# What was done differently when the same completions were scored again, and what to do if that gave other scores
CHANGES = {
    "again": "Remove what is random in it and what remembers earlier calls",
    "in another order": "It must not depend on other completions",
    "alone": "If it compares the completions of a prompt, declare it with @reward(grouped=True)",
    "without other prompts": "It must not depend on them",
}


def check_stability(rewards: Reward, found: FoundForm, tokens: Tokenize = split_words, config: Any = None) -> Findings:
    """Score completions twice, in another order and alone. Each difference is a warning, and so is a slow reward."""
    findings = Findings(STABILITY)
    rows = [*found.rows[-AGAIN_ROWS:]]
    groups = [[*pair, NO_ANSWER] for pair in write_pairs(rewards, rows, tokens, found.form)]
    size = getattr(config, "generation_batch_size", None) or STEP_SIZE
    for term in filter(has_own_code, leave_out_witnesses(rewards).rewards):
        scores, milliseconds = score_groups(term, rows, groups, tokens)
        findings.lines.append(f"{milliseconds[0]:8.3f} ms each: {term}")
        if size * milliseconds[0] > 1000 * SLOW_SECONDS:
            findings.warnings.append(
                f"{term} takes {size * milliseconds[0] / 1000:.0f} s for the {size} completions of a step on this machine, while the "
                f"model waits. Make it faster, or declare it with 'async def' if it waits for something."
            )
        earned = iter(scores)
        examples = [(row, group, [next(earned)[-1] for _ in group]) for row, group in zip(rows, groups, strict=True)]
        findings.warnings += islice(find_changes(term, examples, tokens), 1)
    return findings


def find_changes(term: Reward, examples: list[tuple[Any, list[str], list[Score]]], tokens: Tokenize) -> Iterator[str]:
    """Yield what changes if the completions of rows, whose scores are known, are scored in other calls."""
    repeated = {"again": [examples], "in another order": [examples[::-1]]}
    if term.is_grouped:
        repeated["without other prompts"] = [[example] for example in examples]
    else:
        repeated["alone"] = [
            [(row, [text], [score])] for row, *pair in examples for text, score in zip(*pair, strict=True)
        ]
    for change, call in [(change, call) for change, calls in repeated.items() for call in calls]:
        rows, groups, before = zip(*call, strict=True)
        scored, _ = score_groups(term, rows, groups, tokens)
        after = (scores[-1] for scores in scored)
        for old, new in zip(chain(*before), after, strict=True):
            if old != new and (None in (old, new) or abs(old - new) > TOLERANCE):
                written = " and then ".join("None" if score is None else f"{score:.4g}" for score in (old, new))
                yield (
                    f"A score must depend on the completion and its row alone, but {term} gave other scores, such as "
                    f"{written}, when the same completions were scored {change}. {CHANGES[change]}."
                )


def check_dry_run(trials: Trials, config: Any = None, tokens: Tokenize = split_words, unit: str = "words") -> Findings:
    """Check that right answers earn more than wrong ones and fit into a completion, and tell the time of each reward."""
    found = Findings(DRY_RUN, faults=[*trials.found.faults])
    means = {name: trials.average(name) for name in ANSWERS}
    right, wrong = (float(means[name][-1]) for name in ANSWERS[:2])
    add_table(found, trials, means)
    if size := getattr(config, "generation_batch_size", None):
        seconds = sum(trials.milliseconds) * size / 1000
        found.lines.append(f"a batch of {size} takes {seconds:.2g} s to score on this machine")
    found.lines.append(f"a right answer earns {right - wrong:.3f} more than a wrong one")
    found.lines += [f"tried: {text}" for text in trials.found.tried]
    found.warnings += [*trials.found.warnings, *list_unpaid_warnings(trials)]
    for place, reward in enumerate(trials.rewards.rewards):
        add_silence(found, trials, place, reward)
    for place in range(len(trials.rewards.rewards)):
        add_unpaid_rows(found, trials, place, means["right"][place] if wrong < right else math.nan)
    if trials.has_solution and not right > wrong + ROUNDING:
        worth = "nothing, because it cannot be judged" if math.isnan(wrong) else f"{wrong:.3f}"
        earned = f"earns {right:.3f}, which is no more than a wrong one earns ({worth})"
        found.faults.append(
            f"Under {trials.rewards}, a right answer {'cannot be judged' if math.isnan(right) else earned}. Check that the column "
            f"'{trials.found.column}', such as {trials.solutions[0]!r}, contains what the rewards look for."
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


def add_table(found: Findings, trials: Trials, means: dict[str, Any]) -> None:
    """Add what the kinds of answers earn from each term and in total, and the time of each term."""
    found.lines.append(f"{'':30} {'right':>8} {'wrong':>8} {'helpless':>8} {'ms each':>8}")
    names = [*(reward.name for reward in trials.rewards.rewards), "total"]
    weights = [*trials.rewards.weights, None]
    times = [*trials.milliseconds, sum(trials.milliseconds)]
    found.data["dry_run"] = []
    for name, weight, milliseconds, *earned in zip(names, weights, times, *means.values(), strict=True):
        label = name if weight is None else f"{weight:g} * {name}"
        columns = " ".join(f"{mean:8.3f}" for mean in earned)
        found.lines.append(f"{label:30} {columns} {milliseconds:8.3f}")
        known = {kind: None if math.isnan(mean) else float(mean) for kind, mean in zip(means, earned, strict=True)}
        found.data["dry_run"].append({"name": name, "weight": weight, **known, "mean_milliseconds": milliseconds})


def add_silence(found: Findings, trials: Trials, place: int, reward: Reward) -> None:
    """Add what to say of a term that gives every completion the same score, or None."""
    mixed = [earned[:, place] for group in trials.mixed for earned in group.earned.values()]
    score, *others = np.unique(np.concatenate([trials.every[:, place], *mixed]))
    if np.isnan(score):
        add_nothing(found, trials, reward)
    elif isinstance(reward, FunctionReward) and reward.factory.is_foreign and not others:  # ours may be 0
        if reward in trials.found.unpaid or trials.found.faults or trials.found.warnings:  # which say it
            return
        found.warnings.append(
            f"Reward '{reward.name}' gave {score:g} to every completion that was tried, so these checks cannot tell whether "
            f"it works. Call it on a completion that should earn {'something else' if score else 'more than 0'}; check "
            f"--details shows how."
        )
        row = trials.found.rows[0]
        chat = [{"role": "assistant", "content": "..."}]
        values = {"completions": chat if isinstance(row.get("prompt"), list) else "...", "prompts": row.get("prompt")}
        values |= {column: row.get(column) for column in sorted(reward.columns)}
        call = ", ".join(f"{name}=[{shorten_repr(value)}]" for name, value in values.items())
        found.lines.append(f"call {reward if reward.factory.has_options else f'reward({reward.name})()'}({call})")


def add_nothing(found: Findings, trials: Trials, reward: Reward) -> None:
    """Add that a term scores nothing, which is a fault if it is the only one and no other fault says it."""
    is_batch = isinstance(reward, FunctionReward) and reward.factory.kind == "batch"  # which returned a list of None
    own = "If it is a function of your own, check that it ends with return"
    remedy = "If it asks a server, start that" if is_batch else own
    is_all = len(trials.rewards.rewards) == 1 and not (trials.has_solution or is_batch)
    (found.faults if is_all else found.warnings).append(
        f"Reward '{reward.name}' gave None for every completion that was tried, so it never scores anything. {remedy}."
    )


def add_unpaid_rows(found: Findings, trials: Trials, place: int, mean: float) -> None:
    """Add the rows whose right answer earns no more than a wrong one. It is a fault if an outcome's mean is too low."""
    weight, reward = trials.rewards.terms[place]
    unpaid, free = compare_rows(trials, place)
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


def compare_rows(trials: Trials, place: int) -> tuple[list[int], ...]:
    """Return the rows on which a term that reads the answer pays a right one no more than another, and those on which it pays all."""
    weight, reward = trials.rewards.terms[place]
    if reward.is_grouped or weight <= 0 or not trials.found.is_solved or place not in trials.reading:
        return [], []
    right, *others = (trials.scores[name][:, place] for name in ANSWERS)
    is_highest = right >= np.nan_to_num(right, nan=-np.inf).max() - ROUNDING
    is_unpaid = (right <= np.nan_to_num(others).max(axis=0)) & ~is_highest  # not where it is None
    is_own = any(function.factory.is_foreign for function in trials.list_readers(reward))
    if is_own:  # or where no term pays a right answer, as for another task
        is_unpaid |= np.isnan(trials.scores["right"][:, trials.reading]).all(axis=1)
    is_free = (np.min(others, axis=0) >= right - ROUNDING) & is_highest & is_own
    return tuple([] if rows.all() else np.flatnonzero(rows).tolist() for rows in (is_unpaid, is_free))


def list_unpaid_warnings(trials: Trials) -> Iterator[str]:
    """Yield a warning for each function of the user's own that paid no right answer in any form that was tried."""
    for function in trials.found.unpaid:
        places = [place for place, term in enumerate(trials.rewards.rewards) if function in find_functions(term)]
        if not np.isnan(trials.every[:, places]).all():
            yield (
                f"No right answer that was tried earned more than a wrong one from {function}, so these checks cannot tell "
                f"whether it works. Add a column 'completion' with right completions, or declare the form of the answer, as in "
                f"@reward(form=lambda: Form(answer='Answer: {{}}'))."
            )
