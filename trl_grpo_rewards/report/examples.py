"""What the model wrote before and after: a typical completion of the first step and one of the last."""

import statistics
from collections.abc import Sequence
from typing import Any

from .excerpts import to_turns
from .trends import keep_finite


class Examples:
    """The groups of the first and of the last step, and the latest groups with the prompts of the first step."""

    def __init__(self) -> None:
        self.first: list[dict[str, Any]] = []
        self.last: list[dict[str, Any]] = []
        self.latest: dict[str, dict[str, Any]] = {}

    def add(self, record: dict[str, Any]) -> None:
        prompt_id = record.get("prompt_id")
        if not self.first or record["step"] == self.first[0]["step"]:
            self.first.append(record)
            self.latest |= {prompt_id: record} if prompt_id else {}
        elif prompt_id in self.latest:
            self.latest[prompt_id] = record
        if self.last and record["step"] > self.last[0]["step"]:
            self.last = []
        self.last.append(record)

    def describe(self) -> list[dict[str, Any]]:
        """Return both completions, or an empty list. If a prompt of the first step was sampled again, both answer it."""
        if not self.first or self.first[0]["step"] == self.last[0]["step"]:
            return []
        middle = (self.first[0]["step"] + self.last[0]["step"]) / 2
        again = max(self.latest.values(), key=lambda record: record["step"], default={"step": 0})
        ends = [self.first, self.last]
        if again["step"] > middle:
            ends = [[one for one in self.first if one.get("prompt_id") == again["prompt_id"]], [again]]
        found = [example for records in ends if (example := describe_typical(records))]
        return found if len(found) == 2 else []


def describe_typical(records: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the completion whose total is closest to the mean of its group, of the group closest to the mean of all."""
    told = [one for one in records if one.get("completions") and keep_finite(one.get("total"))]
    if not told:
        return None
    group = told[find_typical([statistics.fmean(keep_finite(one["total"])) for one in told])]
    place = find_typical(group["total"])
    return {
        "step": group["step"],
        "group": group.get("group", 0),
        "prompt": to_turns(group.get("prompt")),
        "completion": to_turns(group["completions"][place]),
        "scores": [[name, scores[place]] for name, scores in group["rewards"].items()],
        "total": group["total"][place],
    }


def find_typical(values: Sequence[float | None]) -> int:
    """Return the place of the finite number that is closest to the mean."""
    known = {place: value for place, value in enumerate(values) if value is not None and keep_finite([value])}
    mean = statistics.fmean(known.values())
    return min(known, key=lambda place: abs(known[place] - mean))
