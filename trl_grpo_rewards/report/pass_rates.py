"""Pass rates of prompts: the shares of right completions over time."""

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
