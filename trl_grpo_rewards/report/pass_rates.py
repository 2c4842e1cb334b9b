"""Pass rates of prompts: the shares of right completions over time. Of many prompts, those with the smallest hashes are kept."""

import hashlib
import json
import math
from collections import Counter
from typing import Any

from ..texts import prompt_text
from .trends import StepBin, Timeline, read_passes


SAMPLE_SIZE = 1000
"""Minimum number of prompts in the sample of a long run. At twice this number the sample is cut down to it."""

MAX_PROMPT_BINS = 32
"""Maximum number of bins in the history of one prompt."""

MAX_PROMPTS_SHOWN = 160
"""Maximum number of prompts in the heatmap."""

MAX_COLUMNS = 48
"""Maximum number of columns in the heatmap, each a range of steps."""

MIN_REPEATED = 0.1
"""Share of prompts that must be sampled in several steps. Below it, there is no history of prompts to show."""

GROUP_SIZES = (4, 8, 16, 32)
"""Group sizes that are compared with the size of the run."""


class PromptHistory:
    """The pass rate of one prompt over time, and the first step in which all its completions were right."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.solved: int | None = None
        self.first, self.last = 0, 0
        self.timeline = Timeline(MAX_PROMPT_BINS)

    def add(self, step: int, passes: list[bool]) -> None:
        self.first, self.last = self.first or step, step
        if self.solved is None and all(passes):
            self.solved = step
        group = StepBin(step, step)
        group.add("pass", passes)
        self.timeline.add(group)

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
        prompt_id, passes = identify_prompt(record), read_passes(record)
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
        """Return the prompts of the heatmap in the order of `solved`. Most prompts of a short run have no history."""
        prompts = [prompt for _, prompt in sorted(self.prompts.items())]
        repeated = [prompt for prompt in prompts if prompt.first < prompt.last]  # in several steps
        if len(repeated) < max(MIN_REPEATED * len(prompts), 2):
            return []
        return sorted(
            repeated[:MAX_PROMPTS_SHOWN],
            key=lambda one: (one.solved or math.inf, -([*one.timeline][-1].mean("pass") or 0.0)),
        )


def identify_prompt(record: dict[str, Any]) -> str | None:
    """Return a hash of the prompt and its columns. The prompts of an environment may differ only in their columns."""
    prompt_id, columns = record.get("prompt_id"), record.get("columns")
    if prompt_id is None or not columns:
        return prompt_id
    return hashlib.sha256(f"{prompt_id}{json.dumps(columns, sort_keys=True)}".encode()).hexdigest()[:16]


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


def compare_group_sizes(sample: PromptSample, own: int = 0) -> dict[str, Any]:
    """Return the expected share of dead groups of each size, from the groups in the last quarter of the steps."""
    start = sample.last - (sample.last - sample.first + 1) / 4
    counts = [count for prompt in sample.prompts.values() if (count := prompt.count_since(start))[1]]
    prior = fit_prior(counts)
    sizes = sorted({*GROUP_SIZES, own} - {0, 1}) if counts else []
    return {
        "dead": [[size, sum(estimate_dead(*one, size, prior) for one in counts) / len(counts)] for size in sizes],
        "observed": [size for size in sizes if sum(total >= size for _, total in counts) >= len(counts) / 2],
        "prompts": len(counts),
        "since": math.floor(start) + 1,
    }


def estimate_dead(passed: int, total: int, size: int, prior: tuple[float, float]) -> float:
    """Return the probability that a group of this size is all right or all wrong, for a prompt with these completions."""
    failed = total - passed
    if size <= total:
        return (math.comb(passed, size) + math.comb(failed, size)) / math.comb(total, size)
    # Larger groups are judged by all prompts, too: eight wrong answers do not imply that thirty-two would be wrong.
    alike = [prior[0] + passed, prior[1] + failed]
    return sum(math.prod((part + drawn) / (sum(alike) + drawn) for drawn in range(size)) for part in alike)


def fit_prior(counts: list[tuple[int, int]]) -> tuple[float, float]:
    """Return the beta distribution of pass rates over prompts, from unbiased estimates of its first two moments."""
    pairs = [pair for pair in counts if pair[1] > 1] or [(1, 2)]
    mean = sum(passed / total for passed, total in pairs) / len(pairs)
    mean_square = sum(passed * (passed - 1) / (total * (total - 1)) for passed, total in pairs) / len(pairs)
    mean = min(max(mean, 1e-4), 1 - 1e-4)
    share = (mean_square - mean**2) / (mean * (1 - mean))  # of the largest possible variance
    strength = 1 / min(max(share, 1e-3), 1 - 1e-3) - 1
    return mean * strength, (1 - mean) * strength
