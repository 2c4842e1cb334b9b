"""One page about a training run, from its group records: a single file that loads nothing else.

The records are read once, one at a time. Statistics for the charts are computed on the way, and a sample of the groups
is kept with their texts.
"""

import base64
import hashlib
import re
from collections.abc import Hashable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..records.files import FOLDER, find_record_files, read_records
from ..records.runs import list_facts, read_run
from .anomalies import find_anomalies, split_into_tenths
from .excerpts import MAX_TEXT, Excerpts, encode_json
from .pass_rates import PromptSample, build_heatmap, compare_group_sizes
from .trends import GROUP_OUTCOMES, Run, StepBin


PAGE = Path(__file__).with_name("page")
"""Folder of the page's template, style and scripts."""

SCRIPTS = ("common.js", "charts.js", "groups.js", "start.js")
"""The page's scripts, in the order in which they run."""

POLICY = "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What the page may do in addition to running its own scripts. Plotly needs inline styles and generated images."""


def write_report(source: str | Path, out: str | Path) -> Path:
    """
    Write the page about a run.

    Args:
        source (`str` or `Path`):
            Output directory of the run, its folder of groups, or one file.
        out (`str` or `Path`):
            File to write.

    Returns:
        `Path`: the file.

    Raises:
        `FileNotFoundError`: there are no records, or the folder of `out` does not exist.
        `ValueError`: the records contain no group.
    """
    write_page(source, Path(out))
    return Path(out)


def write_page(source: str | Path, out: Path) -> list[dict[str, Any]]:
    """Write the page and return the data of each run on it. The arguments and errors are those of `write_report`."""
    find_record_files(source)
    check_folder(out)
    data, groups = summarize_run(source)
    out.write_text(render_page(data, groups), encoding="utf-8", newline="\n")
    return [data]


def check_folder(out: Path) -> None:
    if out.is_dir():
        raise IsADirectoryError(f"The report cannot be written to '{out}', which is a folder. Choose a file in it.")
    if not out.parent.is_dir():
        raise FileNotFoundError(
            f"The report cannot be written to '{out}', because the folder '{out.parent}' does not exist. Create it "
            f"or choose another one."
        )


def summarize_run(source: str | Path) -> tuple[dict[str, Any], list[str]]:
    """Return the data of the charts, and the sampled groups as JSON."""
    run, prompts, excerpts = Run(), PromptSample(), Excerpts()
    for record in read_records(source):
        for part in (run, prompts, excerpts):
            part.add(record)
    run.end_step()
    if not excerpts.count:
        raise ValueError(
            f"A report needs at least one group, but the files of '{source}' contain no complete record. Train for a "
            f"step with group_records=True, or choose another run."
        )
    groups = excerpts.to_json()
    data = {
        "name": run_name(source),
        "facts": list(list_facts(read_run(source) or {}).items()),
        "size": run.size,
        "groups": excerpts.count,
        "shown": len(groups),
        "prompts": len(prompts.ids),
        "text": MAX_TEXT,
        "steps": [run.whole.first, run.whole.last],
        "outcome": run.outcome,
        "weights": [[name, run.weights.get(name, 1.0)] for name in run.rewards],
        "checked": bool(split_into_tenths(run)),
        "anomalies": [asdict(anomaly) for anomaly in find_anomalies(run)],
        "changes": compare_ends(run),
        "points": chart_columns(run),
        "heat": build_heatmap(prompts),
        "sizes": compare_group_sizes(prompts),
    }
    return data, groups


def run_name(source: str | Path) -> str:
    source = Path(source).resolve()
    return source.parent.name if source.name == FOLDER else source.name


def chart_columns(run: Run) -> dict[str, Any]:
    """Return the columns of the charts over steps: a value for each bin, None if the bin has none."""
    bins = list(run.points)

    def means(series: Hashable) -> list[float | None]:
        return [one.mean(series) for one in bins]

    return {
        "steps": [[one.first, one.last] for one in bins],
        "kinds": [[outcome, [outcome_share(one, outcome) for one in bins]] for outcome in GROUP_OUTCOMES],
        "mean": means("mean"),
        "spread": means("spread"),
        "rewards": [[name, means(("reward", name))] for name in run.rewards],
        "signal": [[name, [one.signal(name) for one in bins]] for name in run.rewards],
        "length": means("length"),
        "shortest": [one.lowest.get("length") for one in bins],
        "longest": [one.highest.get("length") for one in bins],
        "truncated": means("truncated"),
    }


def outcome_share(one: StepBin, outcome: str) -> float:
    """Return the share of groups with this outcome."""
    return one.sums["outcome", outcome] / one.sums["groups"]


def compare_ends(run: Run) -> list[dict[str, Any]]:
    """Return values at the beginning and at the end of a run: of its tenths, or of single steps if it is short."""
    parts = split_into_tenths(run) or list(run.points)
    ends = [parts[0], parts[-1]]
    rows: list[tuple[str, bool, list[float | None]]] = [
        ("Live groups", True, [outcome_share(part, "live") for part in ends]),
        (f"Mean of {run.outcome}", False, [part.mean(("reward", run.outcome)) for part in ends]),
        ("Total reward", False, [part.mean("mean") for part in ends]),
        ("Tokens per completion", False, [part.mean("length") for part in ends]),
        ("Truncated", True, [part.mean("truncated") for part in ends]),
    ]
    return [
        {"what": what, "share": is_share, "values": values if len(parts) > 1 else values[1:]}
        for what, is_share, values in rows
        if None not in values
    ]


def render_page(data: dict[str, Any], groups: list[str]) -> str:
    """Return the page as text. Its policy names its scripts by their hashes, so that no other script can run."""
    from plotly.offline import get_plotlyjs

    scripts = {"plotly": get_plotlyjs(), "script": "\n".join(map(read_part, SCRIPTS))}
    parts = {
        **scripts,
        "policy": f"{POLICY}; script-src {' '.join(map(hash_script, scripts.values()))}",
        "style": read_part("page.css"),
        "data": encode_json(data),
        "groups": f"[{','.join(groups)}]",
    }
    return re.sub(r"\{\{ (\w+) \}\}", lambda match: parts[match[1]], read_part("page.html"))


def read_part(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def hash_script(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"
