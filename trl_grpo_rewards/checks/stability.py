"""Check that scores depend on the completion and its row alone, and how long functions of the user's own take."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..expressions import Reward, leave_out_witnesses
from ..function_rewards import find_functions
from ..scores import Score
from .answer_forms import FoundForm, ScoreGroups
from .completion_forms import NO_ANSWER
from .findings import Findings
from .honest_completions import honest, swap_completions


if TYPE_CHECKING:
    from trl import GRPOConfig

STABILITY = "the same completions scored again"
"""Title of this check."""

AGAIN_ROWS = 4
"""Number of rows whose completions are scored again. They are the last ones, which no other check has scored before."""

TOLERANCE = 1e-4
"""Largest difference between scores that counts as equal. Models compute slightly other numbers in another batch."""

SLOW_SECONDS = 5.0
"""Time for the completions of one step from which on a reward is slow."""

STEP_SIZE = 64
"""Number of completions of a step if no configuration says it."""

Groups: TypeAlias = list[list[str]]


def list_own_terms(rewards: Reward) -> list[Reward]:
    """Return the terms that train and have a function of the user's own."""
    terms = leave_out_witnesses(rewards).rewards
    return [term for term in terms if any(one.factory.is_foreign for one in find_functions(term))]


def check_stability(
    rewards: Reward,
    found: FoundForm,
    count: Callable[[str], int],
    score: ScoreGroups,
    config: "GRPOConfig | None" = None,
) -> Findings:
    """Score completions twice, in another order and alone. Each difference is a warning, and so is a slow reward."""
    findings = Findings(STABILITY)
    rows = [*found.rows[-AGAIN_ROWS:]]
    right = [honest(rewards, row, count, found.form) for row in rows]
    groups = [[*texts, NO_ANSWER] for texts in zip(right, swap_completions(rewards, rows, right), strict=True)]
    for term in list_own_terms(rewards):
        start = time.perf_counter()
        first = score(term, rows, groups)
        seconds = (time.perf_counter() - start) / sum(map(len, groups))
        size = getattr(config, "generation_batch_size", None) or STEP_SIZE
        findings.lines.append(f"{1000 * seconds:8.3f} ms each: {term}")
        if size * seconds > SLOW_SECONDS:
            findings.warnings.append(
                f"{term} takes {size * seconds:.0f} s for the {size} completions of a step on this machine, while the "
                f"model waits. Make it faster, or declare it with 'async def' if it waits for something."
            )
        findings.warnings += find_change(term, rows, groups, first, score)[:1]
    return findings


def find_change(
    term: Reward, rows: Sequence[Mapping[str, Any]], groups: Groups, first: list[list[Score]], score: ScoreGroups
) -> list[str]:
    """Return a warning about the first way of scoring again that changes a score, if there is one."""
    apart = "alone. If it compares the completions of a prompt, declare it with @reward(grouped=True)"
    if term.is_grouped:
        apart = "without those of other prompts. It must not look at these"
    ways: list[tuple[str, Callable[[], list[list[Score]]]]] = [
        ("again. Remove what is random in it and what remembers earlier calls", lambda: score(term, rows, groups)),
        ("in another order. It must not look at others", lambda: score(term, rows[::-1], groups[::-1])[::-1]),
        (apart, lambda: score_apart(term, rows, groups, score)),
    ]
    for what, rescore in ways:
        pairs = [pair for old, new in zip(first, rescore(), strict=True) for pair in zip(old, new, strict=True)]
        changed = next((pair for pair in pairs if not is_same(*pair)), None)
        if changed is not None:
            return [
                f"A score must depend on the completion and its row alone, but {term} gave other scores, such as "
                f"{write_score(changed[0])} and then {write_score(changed[1])}, when the same completions were scored {what}."
            ]
    return []


def score_apart(
    term: Reward, rows: Sequence[Mapping[str, Any]], groups: Groups, score: ScoreGroups
) -> list[list[Score]]:
    """Score each completion alone, or each group if the reward compares a group."""
    if term.is_grouped:
        return [score(term, [row], [group])[0] for row, group in zip(rows, groups, strict=True)]
    return [[score(term, [row], [[text]])[0][0] for text in group] for row, group in zip(rows, groups, strict=True)]


def write_score(score: Score) -> str:
    return "None" if score is None else f"{score:.4g}"


def is_same(one: Score, other: Score) -> bool:
    return one == other or (one is not None and other is not None and abs(one - other) <= TOLERANCE)
