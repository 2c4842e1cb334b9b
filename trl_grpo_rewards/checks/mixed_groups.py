"""Groups of equal completions with a single other one, for rewards that compare the completions of a group."""

from typing import NamedTuple

import numpy as np

from ..expressions import Reward, leave_out_witnesses
from .attack_completions import WORDS
from .completions import Rows, Tokenize, score_groups
from .search import Scores


MIXED_ROWS = 2  # largest number of rows for which mixed groups are made
COMPLETIONS = 8  # of a group, which is the default of num_generations in TRL
WORTHLESS = {"nothing": "", "one word": "Yes.", "random words": WORDS}  # in addition to wrong answers
MIXTURES = [(one, others) for others in ("right", "wrong") for one in ("right", "wrong", *WORTHLESS) if one != others]


class MixedGroup(NamedTuple):
    """A group of one completion and equal other ones, with what these two earn from each term, and in total at the end."""

    single: str
    others: str
    earned: dict[str, Scores]  # by these names, for each row

    def average(self, name: str) -> Scores:
        """Return the means over the rows. None counts as 0, as nothing is learned from it."""
        mean: Scores = np.nan_to_num(self.earned[name]).mean(axis=0)
        return mean

    def compare(self, name: str) -> Scores:
        """Return how much more than the completion of this name the other one earns."""
        other = self.others if name == self.single else self.single
        return self.average(other) - self.average(name)


def score_mixed_groups(rewards: Reward, rows: Rows, texts: list[dict[str, str]], tokens: Tokenize) -> list[MixedGroup]:
    """Score mixed groups of some rows, if a reward that is paid compares the completions of a group."""
    if not leave_out_witnesses(rewards).is_grouped:
        return []
    rows = rows[:MIXED_ROWS]
    made = [{**completions, **WORTHLESS} for completions in texts[:MIXED_ROWS]]
    mixed = []
    for single, others in MIXTURES:
        groups = [[one[single], *[one[others]] * (COMPLETIONS - 1)] for one in made]
        scored, _ = score_groups(rewards, rows, groups, tokens)
        scores = np.array(scored, dtype=float).reshape(len(rows), COMPLETIONS, -1)
        mixed.append(MixedGroup(single, others, {single: scores[:, 0], others: scores[:, -1]}))
    return mixed
