"""Check that scores depend on the completion and its row alone, and how long functions of the user's own take."""

import time
from itertools import chain
from typing import TYPE_CHECKING

from ..expressions import Reward, leave_out_witnesses
from ..function_rewards import find_functions
from ..scores import Score
from .answer_forms import FoundForm
from .findings import Findings
from .honest_completions import NO_ANSWER, Rows, Tokenize, score_totals, split_words, write_pairs


if TYPE_CHECKING:
    from trl import GRPOConfig

STABILITY = "the same completions scored again"  # title of this check
AGAIN_ROWS = 4  # number of rows that are scored again: the last ones, which no other check has scored before
TOLERANCE = (
    1e-4  # largest difference that counts as equal, since models compute slightly other numbers in another batch
)
SLOW_SECONDS = 5.0  # time for the completions of one step from which on a reward is slow
STEP_SIZE = 64  # number of completions of a step if no configuration says it


def list_own_terms(rewards: Reward) -> list[Reward]:
    """Return the terms that train and have a function of the user's own."""
    terms = leave_out_witnesses(rewards).rewards
    return [term for term in terms if any(one.factory.is_foreign for one in find_functions(term))]


def check_stability(
    rewards: Reward, found: FoundForm, tokens: Tokenize = split_words, config: "GRPOConfig | None" = None
) -> Findings:
    """Score completions twice, in another order and alone. Each difference is a warning, and so is a slow reward."""
    findings = Findings(STABILITY)
    rows = [*found.rows[-AGAIN_ROWS:]]
    groups = [[*pair, NO_ANSWER] for pair in write_pairs(rewards, rows, tokens, found.form)]
    for term in list_own_terms(rewards):
        start = time.perf_counter()
        first = score_totals(term, rows, groups, tokens)
        seconds = (time.perf_counter() - start) / sum(map(len, groups))
        size = getattr(config, "generation_batch_size", None) or STEP_SIZE
        findings.lines.append(f"{1000 * seconds:8.3f} ms each: {term}")
        if size * seconds > SLOW_SECONDS:
            findings.warnings.append(
                f"{term} takes {size * seconds:.0f} s for the {size} completions of a step on this machine, while the "
                f"model waits. Make it faster, or declare it with 'async def' if it waits for something."
            )
        findings.warnings += find_change(term, rows, groups, first, tokens)
    return findings


def find_change(
    term: Reward, rows: Rows, groups: list[list[str]], first: list[list[Score]], tokens: Tokenize
) -> list[str]:
    """Return a warning about the first way of scoring again that changes a score, if there is one."""
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
        again = (chain(*score_totals(term, rows, groups, tokens)) for rows, groups, _ in calls)
        for old, new in zip(chain(*(chain(*scores) for *_, scores in calls)), chain(*again), strict=True):
            if old != new and (old is None or new is None or abs(old - new) > TOLERANCE):
                return [
                    f"A score must depend on the completion and its row alone, but {term} gave other scores, such as "
                    f"{write_score(old)} and then {write_score(new)}, when the same completions were scored {what}."
                ]
    return []


def write_score(score: Score) -> str:
    return "None" if score is None else f"{score:.4g}"
