"""The rows of one call by TRL, with their columns and the text in them."""

import functools
import pickle
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from .scores import Score
from .texts import completion_messages, completion_text, prompt_text


HOOKS = ("trainer_state", "log_extra", "log_metric")
"""Arguments that GRPOTrainer passes in addition to the columns. AsyncGRPO passes none of them."""


READERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "prompt": ("prompts", prompt_text),
    "completion": ("completions", completion_text),
    "completions": ("completions", completion_text),
    "messages": ("completions", completion_messages),
}
"""Parameters of a function of a completion or a group that are not columns: the column of each, and how it is read."""


@dataclass(frozen=True)
class Kind:
    """What the functions of one kind score, and how they get the data of the rows of one call."""

    scores: str  # what one call scores, in the words of an error
    own: str  # its usual parameters, in the words of an error
    foreign: frozenset[str]  # parameters that only other kinds can have
    # Parameters that have a value of each row; None if all do, as TRL passes them
    lists: frozenset[str] | None = frozenset()
    rest: tuple[str, ...] = ()  # what `**kwargs` gets in addition to columns
    is_single: bool = False  # whether they return one score for one row

    def find_source(self, name: str) -> str:
        """Return the column behind a parameter."""
        return READERS[name][0] if self.has_reader(name) else name

    def read(self, name: str, values: Sequence[Any]) -> Any:
        """Return what a parameter gets of the values of its column."""
        if self.lists is None:
            return values
        read = READERS[name][1] if self.has_reader(name) else lambda value: value
        return [read(value) for value in values] if name in self.lists else read(values[0])

    def has_reader(self, name: str) -> bool:
        return self.lists is not None and name in READERS and name not in self.foreign


KINDS = {
    "completion": Kind(
        "one completion at a time", "'prompt' and 'completion'", frozenset({"prompts", "completions"}), is_single=True
    ),
    "batch": Kind("a whole batch", "'prompts' and 'completions'", frozenset({"prompt", "completion"}), None, HOOKS),
    "group": Kind(
        "a whole group",
        "'prompt' and 'completions'",
        frozenset({"prompts", "completion"}),
        frozenset({"completions", "messages", "completion_ids", "environments"}),
        ("prompt", "messages", *HOOKS),
    ),
}
"""The kinds of functions that get data."""

TRAINER_DATA = frozenset({*HOOKS, *READERS, "prompts", "completion_ids", "environments"})
"""Names of data that the trainer provides. Every other name is a column of the dataset."""

ROW_COLUMNS = frozenset({"completions", "completion_ids", "environments"})
"""Columns that differ between the rows of a group."""


GROUP_SIZE: ContextVar[int | None] = ContextVar("GROUP_SIZE", default=None)
"""Number of completions in a group, while a trainer scores that knows it. Environments may make the prompts differ."""


def scatter(size: int, parts: Iterable[tuple[Sequence[int], Sequence[Any]]]) -> list[Any]:
    """Return a list of `size` values from pairs of rows and their values. Rows without a value get None."""
    scattered: list[Any] = [None] * size
    for rows, values in parts:
        for row, value in zip(rows, values, strict=True):
            scattered[row] = value
    return scattered


def is_same_value(one: Any, other: Any) -> bool:
    """Return whether two values of a column are equal. NaN equals NaN; arrays are equal if all their elements are."""
    try:
        equal = one == other
    except (ValueError, RuntimeError):  # arrays of different shapes, or inside lists
        equal = None
    return equal is True or one is other or (equal is not True and pickle.dumps(one) == pickle.dumps(other))


class Log:
    """The columns that rewards log during one call. Rows that log nothing have None."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.columns: dict[str, list[Any]] = defaultdict(lambda: [None] * size)

    def write(self, column: str, rows: Sequence[int], values: Sequence[Any]) -> None:
        for row, value in zip(rows, values, strict=True):
            self.columns[column][row] = value


@dataclass(frozen=True)
class Batch:
    """Rows of one call."""

    columns: Mapping[
        str, list[Any]
    ]  # one value per row: `prompts`, `completions`, `completion_ids`, those of the dataset
    hooks: Mapping[str, Any]  # the [`HOOKS`] that the trainer passed
    rows: Sequence[int]  # their positions in the call
    log: Log  # receives the columns that rewards log
    groups: Sequence[int] | None = None  # the group of each row, if a reward needs whole groups
    path: tuple[str, ...] = ()  # names of the rewards around the current one, in front of the names of what it logs
    scored: dict[Hashable, list[Score] | Awaitable[list[Score]]] = field(default_factory=dict)  # or being scored
    # Scores that stay the same if rows are selected: of rewards that need no whole groups, or that another rank computed
    known: dict[Hashable, list[Score]] = field(default_factory=dict)

    @classmethod
    def from_call(cls, arguments: Mapping[str, Any]) -> "Batch":
        """Build the batch from the keyword arguments of a call."""
        size = len(arguments["completions"])
        columns = {name: value for name, value in arguments.items() if name not in HOOKS and value is not None}
        for name, values in columns.items():
            is_column = hasattr(values, "__len__") and not isinstance(values, (str, Mapping))
            if not is_column or len(values) != size:
                found = f"{len(values)} values" if is_column else f"a {type(values).__name__}"
                raise ValueError(
                    f"A call with {size} completions has {found} in '{name}'. Pass a list with one entry per completion."
                )
        hooks = {name: arguments[name] for name in HOOKS if arguments.get(name) is not None}
        return cls(columns, hooks, range(size), Log(size))

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def dataset_columns(self) -> set[str]:
        """Names of the columns that are from the dataset. TRL passes the column `prompt` as `prompts`."""
        return ({*self.columns} - TRAINER_DATA) | ({"prompt"} if "prompts" in self.columns else set())

    def select(self, rows: Sequence[int]) -> "Batch":
        """Return the batch of these rows only. The other rows have None in the columns that it logs."""
        columns = {name: [values[row] for row in rows] for name, values in self.columns.items()}
        groups = self.groups and [self.groups[row] for row in rows]
        known = {reward: [scores[row] for row in rows] for reward, scores in self.known.items()}
        own = [self.rows[row] for row in rows]
        return replace(self, columns=columns, rows=own, groups=groups, scored={}, known=known)

    def rename_columns(self, sources: Mapping[str, str]) -> "Batch":
        """Return the batch with columns under new names, given the old name of each. They replace columns of these names."""
        kept = {name: values for name, values in self.columns.items() if name not in sources.values()}
        return replace(self, columns=kept | {name: self.columns[source] for name, source in sources.items()})

    def enter(self, name: str) -> "Batch":
        """Return the batch as the reward of this name gets it, with the name added to the path."""
        return self if self.path[-1:] == (name,) else replace(self, path=(*self.path, name))

    def find_groups(self) -> "Batch":
        """Return the batch with its groups. Otherwise, consecutive rows with equal prompt and columns are a group."""
        shared = {name: values for name, values in self.columns.items() if name not in ROW_COLUMNS}
        changed = {
            row: [name for name, values in shared.items() if not is_same_value(values[row], values[row - 1])]
            for row in range(1, self.size)
        }
        if size := GROUP_SIZE.get():
            for row, names in changed.items():
                for name in names if row % size else ():
                    if name != "prompts":
                        raise different_column(name)
            return replace(self, groups=[row // size for row in range(self.size)])
        changes = [row for row, names in changed.items() if names]
        runs = list(zip([0, *changes], [*changes, self.size], strict=True))
        for bounds in (run for run in runs if run[1] - run[0] == 1 and "prompts" in shared):
            for names in (changed.get(bound, ["prompts"]) for bound in bounds):
                if "prompts" not in names:
                    raise different_column(names[0])
        shortest = min(end - start for start, end in runs) or 1
        starts = [cut for start, end in runs for cut in range(start, end, shortest)]
        return replace(self, groups=[bisect_right(starts, row) - 1 for row in range(self.size)])

    def split(self, kind: str) -> list[Sequence[int]]:
        """Return the rows of each call of a function of this kind."""
        if kind == "batch":
            return [range(self.size)]
        rows_of: dict[int, list[int]] = defaultdict(list)
        for row, group in enumerate(self.groups or () if kind == "group" else range(self.size)):
            rows_of[group].append(row)
        return [*rows_of.values()]

    def get_data(self, kind: Kind, rows: Sequence[int], names: Iterable[str]) -> dict[str, Any]:
        """Return the data of rows by the names of parameters. A function can log even if the trainer passed no hooks."""
        data: dict[str, Any] = {
            **self.hooks,
            "log_extra": functools.partial(self.log_value if kind.is_single else self.log_extra, rows=rows),
            "log_metric": self.log_metric,
        }
        for name in names:
            if (column := kind.find_source(name)) in self.columns:
                data[name] = kind.read(name, take(self.columns[column], rows))
        return data

    def log_extra(self, column: str, values: Sequence[Any], rows: Sequence[int] | None = None) -> None:
        """Log the values of some rows, by default of all."""
        places = self.rows if rows is None else take(self.rows, rows)
        self.log.write("/".join((*self.path, column)), places, values)

    def log_value(self, column: str, value: Any, rows: Sequence[int]) -> None:
        self.log_extra(column, [value], rows)

    def log_metric(self, metric: str, value: float) -> None:
        if "log_metric" in self.hooks:
            self.hooks["log_metric"]("/".join((*self.path, metric)), value)


def different_column(name: str) -> ValueError:
    return ValueError(
        f"A grouped reward needs columns that are equal for all completions of a prompt. The column '{name}' differs "
        f"between completions of one prompt. Remove that column."
    )


def take(values: Sequence[Any], rows: Sequence[int]) -> Sequence[Any]:
    """Return the values of some rows in order, or the same object if it is all rows."""
    return values if len(rows) == len(values) else [values[row] for row in rows]
