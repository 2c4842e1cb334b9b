"""How often a judge is wrong by the labels of people: agreement, false pay and false refusal, with intervals."""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trl_grpo_rewards.expressions import Reward, leave_out_witnesses
from trl_grpo_rewards.function_rewards import FunctionReward, find_functions


LEAST_PAID = 0.5
"""The lowest score, from 0 to 1, that counts as paid."""

QUANTILE = 1.959964
"""Of the normal distribution, for intervals of 95 %."""

WIDTH = 0.05
"""Half of the width of the interval for which labels are counted."""


class Rate(NamedTuple):
    """How many of some labels are judged in one way."""

    hits: int
    count: int

    @property
    def share(self) -> float:
        return self.hits / self.count if self.count else math.nan

    def find_interval(self) -> tuple[float, float]:
        """Return Wilson's interval of 95 % for the share."""
        if not self.count:
            return (0.0, 1.0)
        shrunk = 1 + QUANTILE**2 / self.count
        middle = (self.share + QUANTILE**2 / (2 * self.count)) / shrunk
        half = find_half_width(self.share, self.count)
        return (max(0.0, middle - half), min(1.0, middle + half))

    def count_needed(self) -> int:
        """Return how many labels give the interval half of the width, if the share stays the same. Without labels, it is 0.5."""
        share = self.share if self.count else 0.5
        return next(count for count in range(1, 10_000) if find_half_width(share, count) <= WIDTH)

    def __str__(self) -> str:
        low, high = self.find_interval()
        return f"{self.share:.2f} ({low:.2f} to {high:.2f}) of {self.count}"


def find_half_width(share: float, count: int) -> float:
    """Return half of the width of Wilson's interval."""
    spread = math.sqrt(share * (1 - share) / count + QUANTILE**2 / (4 * count**2))
    return QUANTILE * spread / (1 + QUANTILE**2 / count)


class JudgeErrors(NamedTuple):
    """The errors of a judge on one criterion."""

    agreement: Rate
    false_pay: Rate  # of the completions that people refuse
    false_refusal: Rate  # of the completions that people accept
    unjudged: int


def read_rows(file: Path) -> list[dict[str, Any]]:
    """Return the labelled rows of a file of JSON Lines."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    for number, row in enumerate(rows, start=1):
        missing = [name for name in ("completion", "label") if name not in row]
        if missing:
            raise ValueError(
                f"Each line of '{file}' must have a 'completion' and a 'label'; line {number} has {', '.join(map(repr, row))}. "
                f"Add {' and '.join(map(repr, missing))}."
            )
    if not rows:
        raise ValueError(
            f"A file of labels must have at least one line, but '{file}' is empty. Label some completions."
        )
    return rows


def find_judge(rewards: Reward) -> FunctionReward:
    """Return the only judge among the rewards."""
    functions = dict.fromkeys(find_functions(leave_out_witnesses(rewards)))
    judges = [one for one in functions if one.factory.traits.get("asks") and not one.is_grouped]
    if len(judges) != 1:
        found = ", ".join(str(one) for one in judges) or "none"
        raise ValueError(
            f'--labels needs exactly one judge of single completions; found {found}. Pass it alone: --rewards "judge(...)".'
        )
    return judges[0]


async def judge_row(judge: FunctionReward, row: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the score of a completion by criterion: by the judge's rubric, by that of the row, or the only one."""
    logged = dict[str, float]()
    lists = dict[str, list[Any]]()
    columns = {name: [value] for name, value in row.items() if name not in ("prompt", "completion", "label")}
    (score,) = await judge(
        prompts=[row.get("prompt", "")],
        completions=[row["completion"]],
        log_metric=logged.__setitem__,
        log_extra=lists.__setitem__,
        **columns,
    )
    named = {name.partition("/criteria/")[2]: value for name, value in logged.items() if "/criteria/" in name}
    (verdicts,) = lists.get(f"{judge.name}/verdicts", [None])
    if score is None or not isinstance(row["label"], (dict, list)):
        return dict.fromkeys(name_labels(judge, row), score)
    if verdicts:
        return {str(place): float(line.startswith("met")) for place, line in enumerate(verdicts.splitlines(), start=1)}
    return {name: named.get(name, score) for name in name_labels(judge, row)}


def name_labels(judge: FunctionReward, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the labels of a row by criterion: a label for each name, for each criterion of the row, or a single one."""
    label = row["label"]
    if isinstance(label, list):
        return {str(place): value for place, value in enumerate(label, start=1)}
    return label if isinstance(label, dict) else {judge.name: label}


async def judge_rows(judge: FunctionReward, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, float | None]]:
    return await asyncio.gather(*(judge_row(judge, row) for row in rows))


def measure_errors(judge: FunctionReward, rows: Sequence[Mapping[str, Any]]) -> dict[str, JudgeErrors]:
    """Ask the judge about each row, and return its errors by criterion."""
    pairs: dict[str, list[tuple[bool, float | None]]] = {}
    for row, scores in zip(rows, asyncio.run(judge_rows(judge, rows)), strict=True):
        for name, label in name_labels(judge, row).items():
            pairs.setdefault(name, []).append((float(label) >= LEAST_PAID, scores.get(name)))
    return {name: count_errors(found) for name, found in pairs.items()}


def count_errors(pairs: Sequence[tuple[bool, float | None]]) -> JudgeErrors:
    """Return the errors of a criterion from its labels and the judge's scores."""
    judged = [(label, score >= LEAST_PAID) for label, score in pairs if score is not None]
    paid = [is_paid for label, is_paid in judged if not label]
    refused = [not is_paid for label, is_paid in judged if label]
    return JudgeErrors(
        Rate(sum(label == is_paid for label, is_paid in judged), len(judged)),
        Rate(sum(paid), len(paid)),
        Rate(sum(refused), len(refused)),
        len(pairs) - len(judged),
    )


def describe_errors(errors: Mapping[str, JudgeErrors]) -> str:
    """Return the errors in words, with 95 % intervals and the numbers of labels that narrow them."""
    lines = list[str]()
    for name, found in errors.items():
        lines.append(f"{name}:")
        lines.append(f"  agreement      {found.agreement}")
        lines.append(f"  false pay      {found.false_pay} that people refuse")
        lines.append(f"  false refusal  {found.false_refusal} that people accept")
        lines.append(
            f"  ±{100 * WIDTH:.0f} points need {found.agreement.count_needed()} labels for the agreement, "
            f"{found.false_pay.count_needed()} refused ones and {found.false_refusal.count_needed()} accepted ones."
        )
        if found.unjudged:
            lines.append(f"  {found.unjudged} rows got no score and are left out.")
    return "\n".join(lines)
