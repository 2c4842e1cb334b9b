"""Pass rates of prompts: the shares of right completions over time, and what other sizes of groups would give."""

import hashlib
import json
import math
from typing import Any

import pandas as pd

from ..texts import prompt_text
from .trends import choose_width, read_passes


MAX_PROMPTS_SHOWN = 160  # maximum number of prompts in the heatmap. Those with the smallest hashes are shown.
MAX_COLUMNS = 48  # maximum number of columns in the heatmap, each a range of steps
MIN_REPEATED = 0.1  # share of prompts sampled in several steps; below it, there is no history to show
GROUP_SIZES = (4, 8, 16, 32)  # group sizes that are compared with the size of the run


class PromptHistories:
    """The groups of each prompt: their steps, right completions, and completions that are known to be right or wrong."""

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self.rows: list[tuple[str, int, int, int]] = []
        self.first, self.last = 0, 0

    def add(self, record: dict[str, Any]) -> None:
        prompt_id, passes = identify_prompt(record), read_passes(record)
        self.first, self.last = self.first or record["step"], record["step"]
        if prompt_id is not None and passes:
            self.rows.append((prompt_id, record["step"], sum(passes), len(passes)))
            if prompt_id not in self.labels:
                self.labels[prompt_id] = label_prompt(record)

    def build_table(self) -> pd.DataFrame:
        """Return the sums of each prompt and step."""
        table = pd.DataFrame(self.rows, columns=["prompt", "step", "passed", "total"])
        return table.groupby(["prompt", "step"], as_index=False).sum()


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


def build_heatmap(prompts: PromptHistories) -> dict[str, Any]:
    """Return the heatmap: a row for each prompt with the latest pass rate in each range of steps, in the order of `solved`."""
    table, ranges = prompts.build_table(), range(prompts.first, prompts.last + 1)
    width = choose_width(pd.Series(ranges), MAX_COLUMNS)
    columns = range((prompts.first - 1) // width, (prompts.last - 1) // width + 1)
    known = table.groupby("prompt").step.count()  # most prompts of a short run have no history
    shown = known.index[known > 1][: MAX_PROMPTS_SHOWN * ((known > 1).sum() >= max(MIN_REPEATED * len(known), 2))]
    table = table[table.prompt.isin(shown)]
    solved = table[table.passed == table.total].groupby("prompt").step.min().to_dict()
    latest = table.groupby("prompt").last()
    order = sorted(shown, key=lambda one: (solved.get(one, math.inf), -latest.passed[one] / latest.total[one]))
    cells = table.groupby(["prompt", (table.step - 1) // width])[["passed", "total"]].sum()
    rates = (cells.passed / cells.total).unstack().reindex(index=order, columns=columns).ffill(axis=1).round(3)
    return {
        "steps": [[max(at * width + 1, prompts.first), min((at + 1) * width, prompts.last)] for at in columns],
        "prompts": [[prompts.labels[one], solved.get(one)] for one in order],
        "rates": rates.to_numpy().tolist(),
        "total": len(known),
    }


def compare_group_sizes(prompts: PromptHistories, own: int = 0) -> dict[str, Any]:
    """Return the expected share of dead groups of each size, from the groups in the last quarter of the steps."""
    start, table = prompts.last - (prompts.last - prompts.first + 1) / 4, prompts.build_table()
    sums = table[table.step > start].groupby("prompt")[["passed", "total"]].sum()
    counts: list[tuple[int, int]] = [*sums.itertuples(index=False, name=None)]
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
