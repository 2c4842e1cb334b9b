"""One page about a training run or several, from their records or logs: a single file that loads nothing else."""

import base64
import gzip
import hashlib
import json
import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..files import replace_file
from ..records.runs import find_run, list_differences, list_seeds
from .comparison import compare_runs
from .excerpts import MAX_TEXT, encode_json
from .summaries import Summary


PAGE = Path(__file__).with_name("page")  # folder of the page's template, style and scripts
SCRIPTS = (
    "common.js",
    "tables.js",
    "charts.js",
    "sizes.js",
    "sections.js",
    "groups.js",
    "start.js",
)  # in the order they run
# What the page may do in addition to running its own scripts. Plotly needs inline styles and generated images.
POLICY = "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def write_report(source: str | Path | Sequence[str | Path], out: str | Path) -> Path:
    """
    Write the page about a run, or one page about several runs.

    Args:
        source (`str`, `Path` or a list of them):
            Output directory of the run, its folder of groups, or one file; for a run without group records, also a
            checkpoint or its `trainer_state.json`. With a list, the runs are compared.
        out (`str` or `Path`):
            File to write.

    Returns:
        `Path`: the file.

    Raises:
        `FileNotFoundError`: there are no records and no log, or the folder of `out` does not exist.
        `ValueError`: the records contain no group, or the log is not one of GRPO.
    """
    write_page(source, Path(out))
    return Path(out)


def write_page(source: str | Path | Sequence[str | Path], out: Path) -> list[dict[str, Any]]:
    """Write the page and return the data of each run on it. The arguments and errors are those of `write_report`."""
    sources = [find_run(Path(one)) for one in ([source] if isinstance(source, (str, Path)) else source)]
    check_folder(out)
    data, groups = describe_page([Summary(one, len(sources)) for one in sources])
    with replace_file(out) as file:
        file.write(render_page(data, groups))
    runs: list[dict[str, Any]] = json.loads(data)["runs"]
    return runs


def check_folder(out: Path) -> None:
    if out.is_dir():
        raise IsADirectoryError(f"The report cannot be written to '{out}', which is a folder. Choose a file in it.")
    if not out.parent.is_dir():
        raise FileNotFoundError(
            f"The report cannot be written to '{out}', because the folder '{out.parent}' does not exist. Create it "
            f"or choose another one."
        )


def describe_page(summaries: list[Summary]) -> tuple[str, str]:
    runs = [summary.describe() for summary in summaries]
    samples = [summary.excerpts.to_json() for summary in summaries]
    for run, name, sample in zip(runs, name_runs(summaries), samples, strict=True):
        run |= {"name": name, "shown": len(sample)}
    for run, comparison in zip(runs, compare_runs(summaries, runs), strict=True):
        run["comparison"] = comparison
    descriptions = [summary.description for summary in summaries]
    data = {
        "runs": runs,
        "text": MAX_TEXT,
        "differences": list_differences(descriptions),
        "seeds": list_seeds(descriptions),
    }
    return encode_json(data), f"[{','.join(f'[{text}]' for text in map(','.join, samples))}]"


def name_runs(summaries: Sequence[Summary]) -> list[str]:
    """Return the name of each run: its folder, or for folders of the same name the part of the path that differs."""
    alike: dict[str, list[tuple[str, ...]]] = {}
    for summary in summaries:
        alike.setdefault(summary.name, []).append(summary.source.resolve().parts)
    names = [name_path(summary.source.resolve().parts, alike[summary.name]) or summary.name for summary in summaries]
    return names if len({*names}) == len(names) else [str(summary.source) for summary in summaries]


def name_path(path: tuple[str, ...], others: Sequence[tuple[str, ...]]) -> str:
    """Return what is left of a path without the beginning and the end that all the others share."""
    start = len(os.path.commonprefix(others))
    end = len(os.path.commonprefix([other[start:][::-1] for other in others]))
    return "/".join(path[start : len(path) - end])


def render_page(data: str, groups: str) -> str:
    """Return the page as text. Its policy names its scripts by their hashes, so that no other script can run."""
    unpack = read_part("unpack.js")
    script = "\n".join(map(read_part, SCRIPTS))
    plotly = read_plotly()
    parts = {
        "unpack": unpack,
        "script": compress(script),
        "plotly": plotly.packed,
        "policy": f"{POLICY}; script-src {hash_script(unpack)} {hash_script(script)} {plotly.digest}",
        "style": read_part("page.css"),
        "data": data,
        "groups": compress(groups),
    }
    return re.sub(r"\{\{ (\w+) \}\}", lambda match: parts[match[1]], read_part("page.html"))


def read_part(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


class PackedScript(NamedTuple):
    packed: str
    digest: str


@cache
def read_plotly() -> PackedScript:
    from plotly.offline import get_plotlyjs

    script = get_plotlyjs()
    return PackedScript(compress(script), hash_script(script))


def compress(text: str) -> str:
    """Return the text as `page/unpack.js` reads it: compressed, and in letters that mean nothing to a page."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def hash_script(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"
