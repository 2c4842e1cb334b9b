"""Counts the errors of judges, with intervals, against the labels as published and as adjudicated."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .judges import BASELINES, EQUALITY, OURS, Verdict
from .rows import LabelledSet, Row


ADJUDICATED = Path(__file__).with_name("adjudicated.jsonl")
"""Labels that we found wrong: set, row, label and reason. A label of null takes the row out."""


@dataclass(frozen=True)
class Ruling:
    """What we say of a row whose published label we found wrong."""

    label: bool | None
    reason: str


def read_rulings(file: Path) -> dict[tuple[str, str], Ruling]:
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    return {(one["set"], one["row"]): Ruling(one["label"], one["reason"]) for one in lines}


def find_interval(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share by Wilson's formula."""
    if not total:
        return 0.0, 1.0
    z = 1.959964
    middle = (count + z * z / 2) / (total + z * z)
    half = z * (count * (total - count) / total + z * z / 4) ** 0.5 / (total + z * z)
    return max(0.0, middle - half), min(1.0, middle + half)


def describe_share(count: int, total: int) -> dict[str, Any]:
    low, high = find_interval(count, total)
    return {"count": count, "of": total, "low": round(low, 6), "high": round(high, 6)}


def count_errors(labels: Sequence[bool | None], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the wrong answers that are paid, the right ones that are refused, and the rows that are not judged."""
    pairs = [*zip(labels, verdicts, strict=True)]
    return {
        "false_pays": describe_share(pairs.count((False, True)), sum(label is False for label in labels)),
        "false_refusals": describe_share(pairs.count((True, False)), sum(label is True for label in labels)),
        "unjudged": sum(label is not None and verdict is None for label, verdict in pairs),
        "right_unjudged": pairs.count((True, None)),
    }


def summarize(
    one: LabelledSet, rows: list[Row], runs: dict[str, dict[str, Any]], rulings: dict[tuple[str, str], Ruling]
) -> dict[str, Any]:
    """Return the figures of a set. A judge has `verdicts`, a sign for each row, with its `seconds`, or is `not_run`."""
    ruled = [rulings.get((one.name, row.id)) for row in rows]
    raw = [row.right for row in rows]
    adjudicated = [row.right if ruling is None else ruling.label for row, ruling in zip(rows, ruled, strict=True)]
    verdicts = {name: read_signs(run["verdicts"]) for name, run in runs.items() if "verdicts" in run}
    judges = {
        name: {
            "raw": count_errors(raw, given),
            "adjudicated": count_errors(adjudicated, given),
            "rows_per_second": round(len(rows) / max(runs[name]["seconds"], 1e-9), 1),
            **runs[name],
        }
        for name, given in verdicts.items()
    }
    disagreements = [
        {
            "row": row.id,
            "gold": row.gold,
            "answer": row.answer,
            "label": row.right,
            **({"adjudicated": ruling.label, "reason": ruling.reason} if ruling else {}),
            "verdicts": {name: given[index] for name, given in verdicts.items()},
        }
        for index, (row, ruling) in enumerate(zip(rows, ruled, strict=True))
        if ruling or any(given[index] != row.right for given in verdicts.values())
    ]
    return {
        "name": one.name,
        "title": one.title,
        "kind": one.kind,
        "made": one.made,
        "repository": one.repository,
        "pinned": one.commit,
        "files": list(one.files),
        "labels": one.labels,
        "reward": one.reward,
        "remark": one.remark,
        "rows": len(rows),
        "wrong": raw.count(False),
        "right": raw.count(True),
        "ruled": sum(ruling is not None for ruling in ruled),
        "judges": judges,
        "not_run": {name: run["not_run"] for name, run in runs.items() if "not_run" in run},
        "standing": compare(judges),
        "disagreements": disagreements,
    }


def write_signs(verdicts: Sequence[Verdict]) -> str:
    return "".join({True: "1", False: "0", None: "-"}[verdict] for verdict in verdicts)


def read_signs(signs: str) -> list[Verdict]:
    return [{"1": True, "0": False, "-": None}[sign] for sign in signs]


def compare(judges: dict[str, Any]) -> str:
    """Return how our reward stands against the others by the adjudicated labels: where it makes more errors than one."""
    ours = judges.get(OURS)
    others = {name: figures for name, figures in judges.items() if name not in (OURS, *EQUALITY)}
    if ours is None or not others:
        return "alone"
    behind = [
        f"{count_of(ours, error)} {words}, {name} {count_of(figures, error)}"
        for error, words in (("false_pays", "wrong paid"), ("false_refusals", "right refused"))
        for name, figures in others.items()
        if count_of(figures, error) < count_of(ours, error)
    ]
    if behind:
        return f"behind: {'; '.join(behind)}"
    ahead = any(
        count_of(figures, error) > count_of(ours, error)
        for error in ("false_pays", "false_refusals")
        for figures in others.values()
    )
    return "ahead" if ahead else "equal"


def count_of(figures: dict[str, Any], error: str) -> int:
    """Return the number of errors of one kind. A right answer that is not judged counts as refused."""
    found = figures["adjudicated"]
    return found[error]["count"] + (found["right_unjudged"] if error == "false_refusals" else 0)


def is_listed(disagreement: dict[str, Any]) -> bool:
    """Return whether the page lists a row: a reward or library differs from the label, not only a plain baseline."""
    return "reason" in disagreement or any(
        verdict != disagreement["label"] for name, verdict in disagreement["verdicts"].items() if name not in BASELINES
    )
