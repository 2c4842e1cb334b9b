"""Groups of equal completions with a single other one, for rewards that compare the completions of a group."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..expressions import Reward, leave_out_witnesses
from .attack_completions import WORDS
from .completions import Rows, Tokenize, score_groups


MIXED_ROWS = 4  # largest number of rows for which mixed groups are made
SAMPLED = 8  # the default of num_generations in TRL
WORTHLESS = {"nothing": "", "random words": WORDS}  # in addition to wrong answers
MIXTURES = [(one, others) for others in ("right", "wrong") for one in ("right", "wrong", *WORTHLESS) if one != others]


class MixedGroup(NamedTuple):
    """A single completion and the equal others of its group by their names, and the scores of these two in each row."""

    single: str
    others: str
    scores: NDArray[np.float64]  # by row, single and others, and term with the total at the end

    def average(self) -> NDArray[np.float64]:
        """Return what both earn from each term and in total. None counts as 0, as nothing is learned from it."""
        mean: NDArray[np.float64] = np.nan_to_num(self.scores).mean(axis=0)
        return mean


def score_mixed_groups(rewards: Reward, rows: Rows, texts: list[dict[str, str]], tokens: Tokenize) -> list[MixedGroup]:
    """Score mixed groups of some rows, if a reward that is paid compares the completions of a group."""
    if not leave_out_witnesses(rewards).is_grouped:
        return []
    rows = rows[:MIXED_ROWS]
    made = [{**completions, **WORTHLESS} for completions in texts[:MIXED_ROWS]]
    mixed = []
    for single, others in MIXTURES:
        groups = [[one[single], *[one[others]] * (SAMPLED - 1)] for one in made]
        scored, _ = score_groups(rewards, rows, groups, tokens)
        scores = np.array(scored, dtype=float).reshape(len(rows), SAMPLED, -1)
        mixed.append(MixedGroup(single, others, scores[:, [0, -1]]))
    return mixed
