"""The table of public sets, which is in `sets.toml`: where each is, who labelled it, and which of our rewards judges it."""

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from . import answer_sets, program_sets, row_sets
from .rows import LabelledSet, Row


READERS = {**vars(answer_sets), **vars(program_sets), **vars(row_sets)}


def make_reader(name: str, *arguments: str) -> Callable[[Path], Iterator[Row]]:
    """Return a function by its name, with the arguments that come after the folder."""
    return lambda folder: READERS[name](folder, *arguments)


SETS = tuple(
    LabelledSet(**row | {"read": make_reader(*row["read"])})
    for row in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["sets"]
)


def find_sets(folders: list[Path]) -> list[tuple[LabelledSet, Path]]:
    """Return the sets that the folders have, each with its folder, in the order of the table."""
    return [(one, folder) for one in SETS for folder in folders if any(folder.glob(one.files[0]))]
