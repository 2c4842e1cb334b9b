"""What a set of labelled rows is, and the helpers with which all sets are read."""

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """A completion with its label."""

    id: str
    completion: Any
    """A text, or a list of messages."""
    right: bool
    """What the source says."""
    gold: str
    answer: str
    """The answer of the completion, as the source gives it. It is shown on the page and compared by the baselines."""
    columns: dict[str, Any] = field(default_factory=dict)
    """The columns that our reward reads."""
    script: str = ""
    """The program and its tests as one source."""


@dataclass(frozen=True)
class LabelledSet:
    """A public set, with what is needed to find, read and judge it."""

    name: str
    title: str
    kind: str
    """`answers`, `programs`, `tools` or `instructions`."""
    repository: str
    commit: str
    files: list[str]
    """Patterns of the files inside the repository. A folder that has a file for the first one has the set."""
    labels: str
    """Who or what gave the labels."""
    reward: str
    read: Callable[[Path], Iterator[Row]]
    made: bool = False
    """Whether we derived the rows from the source's."""
    remark: str = ""
    """What a reader of the figures should know, for example why our reward is behind."""


def read_lines(file: Path) -> list[Any]:
    """Return the objects of a file of JSON lines, which may be gzipped."""
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return [json.loads(line) for line in data.decode("utf-8").split("\n") if line.strip()]


def make_answer(id: str, completion: str, right: bool, gold: Any, answer: Any) -> Row:
    return Row(id, completion, bool(right), str(gold), str(answer), {"solution": str(gold)})


def box(text: Any) -> str:
    return f"\\boxed{{{text}}}"


def fence(program: str) -> str:
    return f"```python\n{program}\n```"
