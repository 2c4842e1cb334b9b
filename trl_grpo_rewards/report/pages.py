"""One page about a training run, from its group records: a single file that needs nothing else and asks no network.

The records are read once, one at a time. What charts show is summed up on the way; of the groups with their texts, as
many are kept as a page can carry.
"""

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..records.files import FOLDER, read_records, record_files
from .anomalies import tenths, troubles
from .excerpts import TEXT, Excerpts, embedded
from .pass_rates import Prompts, group_sizes, heatmap
from .trends import OUTCOMES, Run, Stretch


PAGE = Path(__file__).with_name("page")
"""What the page is made of."""

SCRIPTS = ("common.js", "charts.js", "groups.js", "start.js")
"""Its scripts, in their order."""

POLICY = "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What the page may do beside running its own scripts; plotly draws with inline styles and with images it makes."""


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
        `ImportError`: plotly is not installed.
        `FileNotFoundError`: there are no records, or no folder to write to.
        `ValueError`: the records hold no group.
    """
    out = Path(out)
    check_plotly()
    record_files(source)
    check_folder(out)
    out.write_text(page(*summarized(source)), encoding="utf-8", newline="\n")
    return out


def check_plotly() -> None:
    if find_spec("plotly") is None:
        raise ImportError(
            "A report draws its charts with plotly, which is not installed. "
            "Install it: pip install 'trl_grpo_rewards[report]'."
        )


def check_folder(out: Path) -> None:
    if out.is_dir():
        raise IsADirectoryError(f"The report is to be written to '{out}', which is a folder. Name a file in it.")
    if not out.parent.is_dir():
        raise FileNotFoundError(
            f"The report is to be written to '{out}', and there is no folder '{out.parent}'. Make it, or name another."
        )


def summarized(source: str | Path) -> tuple[dict[str, Any], list[str]]:
    """What the charts show, and the groups that are on the page, as JSON each."""
    run, prompts, excerpts = Run(), Prompts(), Excerpts()
    for record in read_records(source):
        for part in (run, prompts, excerpts):
            part.add(record)
    run.end_step()
    if run.whole is None:
        raise ValueError(
            f"A report of '{source}' was asked for, and its files hold no whole record of a group. Train for a step "
            f"with group_records=True, or name another run."
        )
    groups = excerpts.kept()
    data = {
        "name": run_name(source),
        "size": run.size,
        "groups": excerpts.count,
        "shown": len(groups),
        "prompts": len(prompts.ids),
        "text": TEXT,
        "steps": [run.whole.first, run.whole.last],
        "outcome": run.outcome,
        "weights": [[name, run.weights.get(name, 1.0)] for name in run.rewards],
        "judged": bool(tenths(run)),
        "troubles": [asdict(trouble) for trouble in troubles(run)],
        "changes": changes(run),
        "points": points(run),
        "heat": heatmap(prompts),
        "sizes": group_sizes(prompts),
    }
    return data, groups


def run_name(source: str | Path) -> str:
    source = Path(source).resolve()
    return source.parent.name if source.name == FOLDER else source.name


def points(run: Run) -> dict[str, Any]:
    """The columns of the charts over steps: of each stretch a value, None where there is none."""
    stretches = list(run.points)

    def column(value: Callable[[Stretch], float | None]) -> list[float | None]:
        return [value(stretch) for stretch in stretches]

    return {
        "steps": [[stretch.first, stretch.last] for stretch in stretches],
        "kinds": [[kind, column(lambda stretch, kind=kind: share(stretch, kind))] for kind in OUTCOMES],
        "mean": column(lambda stretch: stretch.mean("mean")),
        "spread": column(lambda stretch: stretch.mean("spread")),
        "rewards": [[name, column(lambda stretch, name=name: stretch.mean(("reward", name)))] for name in run.rewards],
        "signal": [[name, column(lambda stretch, name=name: stretch.signal(name))] for name in run.rewards],
        "length": column(lambda stretch: stretch.mean("length")),
        "shortest": column(lambda stretch: stretch.lowest.get("length")),
        "longest": column(lambda stretch: stretch.highest.get("length")),
        "truncated": column(lambda stretch: stretch.mean("truncated")),
    }


def share(stretch: Stretch, kind: str) -> float:
    """Share of the groups that are of a kind."""
    return stretch.sums["outcome", kind] / stretch.sums["groups"]


def changes(run: Run) -> list[dict[str, Any]]:
    """What a run comes to: values at its beginning and at its end, which are tenths of it, or steps if it is short."""
    parts = tenths(run) or list(run.points)
    both = [parts[0], parts[-1]]
    rows = [
        ("Live groups", True, [share(part, "live") for part in both]),
        (f"Mean of {run.outcome}", False, [part.mean(("reward", run.outcome)) for part in both]),
        ("Total reward", False, [part.mean("mean") for part in both]),
        ("Tokens in a completion", False, [part.mean("length") for part in both]),
        ("Truncated", True, [part.mean("truncated") for part in both]),
    ]
    return [
        {"what": what, "share": is_share, "values": values if len(parts) > 1 else values[1:]}
        for what, is_share, values in rows
        if None not in values
    ]


def page(data: dict[str, Any], groups: list[str]) -> str:
    """The page as text. Its scripts are named by their hashes, so that no other can run."""
    from plotly.offline import get_plotlyjs

    scripts = {"plotly": get_plotlyjs(), "script": "\n".join(map(part, SCRIPTS))}
    parts = {
        **scripts,
        "policy": f"{POLICY}; script-src {' '.join(map(hashed, scripts.values()))}",
        "style": part("page.css"),
        "data": embedded(data),
        "groups": f"[{','.join(groups)}]",
    }
    return re.sub(r"\{\{ (\w+) \}\}", lambda place: parts[place[1]], part("page.html"))


def part(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def hashed(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"
