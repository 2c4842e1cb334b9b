"""What selective drawing expected of the groups, against what was observed."""

from collections import defaultdict
from typing import Any

from .trends import read_passes


RANGES = 10
"""Number of ranges of the predicted share of live groups."""


class Count:
    """A number of groups, with how many were expected to be live, how many were, and how many had a new prompt."""

    def __init__(self) -> None:
        self.groups, self.live, self.new = 0, 0, 0
        self.predicted = 0.0

    def add(self, predicted: float, is_live: bool, is_new: bool) -> None:
        self.groups += 1
        self.predicted += predicted
        self.live += is_live
        self.new += is_new

    def describe(self, label: str) -> list[Any]:
        shares = (self.predicted / self.groups, self.live / self.groups, self.new / self.groups)
        return [label, self.groups, *(round(share, 4) for share in shares)]


class Predictions:
    """
    The predictions of a run. A group counts as live if it has right and wrong completions, which is what is predicted,
    whatever other rewards say.
    """

    def __init__(self) -> None:
        self.epochs: defaultdict[int, Count] = defaultdict(Count)
        self.ranges: defaultdict[int, Count] = defaultdict(Count)
        self.explained = self.foreseen = 0  # groups whose prediction has reasons, and those of new prompts
        self.columns: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])  # sums of parts and squares

    def add(self, record: dict[str, Any]) -> None:
        predicted, passes = record.get("predicted_live"), read_passes(record)
        if predicted is None or not passes:
            return
        group = (predicted, any(passes) and not all(passes), record.get("is_new_prompt", False))
        self.epochs[record.get("epoch", 1)].add(*group)
        self.ranges[min(int(RANGES * predicted), RANGES - 1)].add(*group)
        parts = record.get("predicted_from")
        if parts:
            self.explained += 1
            self.foreseen += group[2]
            for column, part in parts.items():
                self.columns[column][0] += part
                self.columns[column][1] += part**2

    def describe(self) -> dict[str, Any] | None:
        """Return the tables: by epoch, by predicted share, and what each column explains. None without predictions."""
        if not self.epochs:
            return None
        ranges = [
            count.describe(f"{100 * place // RANGES}–{100 * (place + 1) // RANGES}%")
            for place, count in sorted(self.ranges.items())
        ]
        return {
            "epochs": [count.describe(str(epoch)) for epoch, count in sorted(self.epochs.items())],
            "ranges": ranges,
            "columns": self.explain(),
            "foreseen": self.foreseen,
        }

    def explain(self) -> list[list[Any]]:
        """Return the share of each column in the variance of the predicted log-odds, the largest first."""
        variances = {
            column: max(squares / self.explained - (total / self.explained) ** 2, 0.0)
            for column, (total, squares) in self.columns.items()
        }
        whole = sum(variances.values())
        shares = ((variance / whole if whole else 0.0, column) for column, variance in variances.items())
        return [[column, round(share, 4)] for share, column in sorted(shares, reverse=True)]
