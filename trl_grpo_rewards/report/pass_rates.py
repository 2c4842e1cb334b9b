"""Pass rates of prompts over time, and what they predict for other group sizes.

A prompt's pass rate is the share of its completions that are right. Only the prompts with the smallest ids are kept.
Ids are hashes, so these prompts are a random sample, and the sample has all groups of each of them.
"""

import math
from collections import Counter
from typing import Any

from ..batch import prompt_text
from ..records.beta import beta_moment, fit_beta
from .trends import StepBin, Timeline, read_passes


SAMPLE_SIZE = 1000
"""Minimum number of prompts in the sample of a long run. At twice this number the sample is cut down to it."""

MAX_PROMPT_BINS = 32
"""Maximum number of bins in the history of one prompt."""

MAX_PROMPTS_SHOWN = 160
"""Maximum number of prompts in the heatmap."""

MAX_COLUMNS = 48
"""Maximum number of columns in the heatmap, each a range of steps."""

GROUP_SIZES = (2, 4, 8, 16, 32, 64)
"""Group sizes to compare."""


class PromptHistory:
    """The pass rate of one prompt over time, and the first step in which all its completions were right."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.solved: int | None = None
        self.groups = 0
        self.timeline = Timeline(MAX_PROMPT_BINS)

    def add(self, step: int, passes: list[bool]) -> None:
        self.groups += 1
        if self.solved is None and all(passes):
            self.solved = step
        group = StepBin(step, step)
        group.add("pass", passes)
        self.timeline.add(group)

    @property
    def last_rate(self) -> float:
        return [*self.timeline][-1].mean("pass") or 0.0

    def count_since(self, step: float) -> tuple[int, int]:
        """Return the number of right completions and of all completions, in bins that end after the step."""
        bins = [one for one in self.timeline if one.last > step]
        return int(sum(one.sums["pass", "sum"] for one in bins)), sum(one.count("pass") for one in bins)


class PromptSample:
    """The prompts of a run, or a sample of them. `ids` has the ids of all prompts."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.prompts: dict[str, PromptHistory] = {}
        self.largest_id: str | None = None
        self.first, self.last = 0, 0

    def add(self, record: dict[str, Any]) -> None:
        prompt_id, passes = record.get("prompt_id"), read_passes(record)
        self.first, self.last = self.first or record["step"], record["step"]
        if prompt_id is None or not passes:
            return
        self.ids.add(prompt_id)
        if self.largest_id is not None and prompt_id > self.largest_id:
            return
        if prompt_id not in self.prompts:
            self.prompts[prompt_id] = PromptHistory(label_prompt(record))
        self.prompts[prompt_id].add(record["step"], passes)
        if len(self.prompts) > 2 * SAMPLE_SIZE:
            self._shrink()

    def _shrink(self) -> None:
        self.prompts = {prompt_id: self.prompts[prompt_id] for prompt_id in sorted(self.prompts)[:SAMPLE_SIZE]}
        self.largest_id = max(self.prompts)

    def select_rows(self) -> list[PromptHistory]:
        """Return the prompts of the heatmap, those with several groups if there are any, in the order of `solved`."""
        prompts = [prompt for _, prompt in sorted(self.prompts.items())]
        repeated = [prompt for prompt in prompts if prompt.groups > 1]
        return sorted(
            (repeated or prompts)[:MAX_PROMPTS_SHOWN],
            key=lambda prompt: (prompt.solved or math.inf, -prompt.last_rate),
        )


def label_prompt(record: dict[str, Any]) -> str:
    """Return the beginning of the prompt, or its id if the record has no text."""
    text = " ".join(prompt_text(record.get("prompt")).split())
    return (text[:80] + "…" if len(text) > 80 else text) or record["prompt_id"]


def build_heatmap(sample: PromptSample) -> dict[str, Any]:
    """Return the heatmap: a row for each selected prompt, with its latest pass rate in each range of steps."""
    rows = sample.select_rows()
    width = max((prompt.timeline.width for prompt in rows), default=1)
    while (sample.last - 1) // width - (sample.first - 1) // width >= MAX_COLUMNS:
        width *= 2
    columns = range((sample.first - 1) // width, (sample.last - 1) // width + 1)
    return {
        "steps": [[max(at * width + 1, sample.first), min((at + 1) * width, sample.last)] for at in columns],
        "prompts": [[prompt.label, prompt.solved] for prompt in rows],
        "rates": [fill_rates(prompt.timeline, width, columns) for prompt in rows],
        "total": len(sample.ids),
        "repeated": max((prompt.groups for prompt in rows), default=0) > 1,
    }


def fill_rates(timeline: Timeline, width: int, columns: range) -> list[float | None]:
    """Return the pass rate in each column. A column without a group of the prompt repeats the rate before it."""
    passed: Counter[int] = Counter()
    total: Counter[int] = Counter()
    for one in timeline:
        column = (one.first - 1) // width
        passed[column] += int(one.sums["pass", "sum"])
        total[column] += one.count("pass")
    rates: list[float | None] = []
    for column in columns:
        rates.append(round(passed[column] / total[column], 3) if total[column] else rates[-1] if rates else None)
    return rates


def estimate_dead_share(passed: int, total: int, size: int, prior: tuple[float, float]) -> float:
    """
    Return an estimate of p^k + (1 - p)^k, the share of dead groups for pass rate p and group size k.

    Up to the number of observed completions, this is the share of dead groups among all groups that can be drawn from
    them, which is unbiased. For larger groups, the prior says which rates are likely. The observed rate alone is not
    enough, since eight wrong answers do not imply that sixty-four would all be wrong.
    """
    if size <= total:
        return (math.comb(passed, size) + math.comb(total - passed, size)) / math.comb(total, size)
    right, wrong = prior[0] + passed, prior[1] + total - passed
    return beta_moment(right, wrong, size) + beta_moment(wrong, right, size)


def fit_prior(counts: list[tuple[int, int]]) -> tuple[float, float]:
    """Return the beta distribution of pass rates over prompts, from unbiased estimates of its first two moments."""
    pairs = [pair for pair in counts if pair[1] > 1] or [(1, 2)]
    mean = sum(passed / total for passed, total in pairs) / len(pairs)
    mean_square = sum(passed * (passed - 1) / (total * (total - 1)) for passed, total in pairs) / len(pairs)
    return fit_beta(mean, mean_square)


def compare_group_sizes(sample: PromptSample) -> dict[str, Any]:
    """Return the expected dead and live groups of each group size, from the last quarter of the steps."""
    start = sample.last - (sample.last - sample.first + 1) / 4
    counts = [count for count in (prompt.count_since(start) for prompt in sample.prompts.values()) if count[1]]
    if not counts:
        return {"sizes": [], "most": None, "prompts": 0, "since": 0}
    sizes = [{"size": size, **evaluate_size(counts, size)} for size in GROUP_SIZES]
    highest = max(one["live"] for one in sizes)
    most = max(one["size"] for one in sizes if one["live"] >= highest - 1e-9)
    return {
        "sizes": sizes,
        "most": most if highest > 1e-9 else None,
        "prompts": len(counts),
        "since": math.floor(start) + 1,
    }


def evaluate_size(counts: list[tuple[int, int]], size: int) -> dict[str, Any]:
    """Return the share of dead groups, the live groups per completion, and whether most shares are extrapolated."""
    prior = fit_prior(counts)
    dead = sum(estimate_dead_share(*count, size, prior) for count in counts) / len(counts)
    is_extrapolated = sum(total < size for _, total in counts) > len(counts) / 2
    return {"dead": dead, "live": (1 - dead) / size, "extrapolated": is_extrapolated}
