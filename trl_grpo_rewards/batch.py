"""The rows of one call by TRL, with their columns and the text in them."""

import functools
import pickle
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

from .texts import completion_messages, completion_text, prompt_text


HOOKS = ("trainer_state", "log_extra", "log_metric")  # what GRPOTrainer passes in addition, and AsyncGRPO does not


@dataclass(frozen=True)
class FunctionKind:
    """What the functions of one kind score, and how they get the data of the rows of one call."""

    scores: str  # what one call scores, in the words of an error
    own: tuple[str, str]  # its usual parameters; no other kind can have both
    # Parameters that are not columns: the column of each, and how one value of it is read
    readers: Mapping[str, tuple[str, Callable[[Any], Any]]] = field(default_factory=dict)
    lists: frozenset[str] | None = frozenset()  # parameters that have a value of each row; None if all have
    rest: tuple[str, ...] = ()  # what `**kwargs` gets in addition to columns

    @property
    def is_single(self) -> bool:
        return "completion" in self.own

    @property
    def foreign(self) -> set[str]:
        return {"prompt", "prompts", "completion", "completions"}.difference(self.own)


PROMPT = ("prompts", prompt_text)
COMPLETION = ("completions", completion_text)
MESSAGES = ("completions", completion_messages)

FUNCTION_KINDS = {  # the kinds of functions that get data. Those of a batch get columns as TRL passes them.
    "completion": FunctionKind(
        "one completion at a time",
        ("prompt", "completion"),
        {"prompt": PROMPT, "completion": COMPLETION, "messages": MESSAGES},
    ),
    "batch": FunctionKind("a whole batch", ("prompts", "completions"), lists=None, rest=HOOKS),
    "group": FunctionKind(
        "a whole group",
        ("prompt", "completions"),
        {"prompt": PROMPT, "completions": COMPLETION, "messages": MESSAGES},
        frozenset({"completions", "messages", "completion_ids", "environments"}),
        ("prompt", "messages", *HOOKS),
    ),
}

TRAINER_DATA = frozenset(  # names of data that the trainer provides. Every other name is a column of the dataset.
    {*HOOKS, "prompt", "prompts", "completion", "completions", "messages", "completion_ids", "environments"}
)

ROW_COLUMNS = frozenset({"completions", "completion_ids", "environments"})  # they differ between the rows of a group
GROUP_SIZE: ContextVar[int | None] = ContextVar("GROUP_SIZE", default=None)  # while a trainer knows it


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


@dataclass(frozen=True)
class Batch:
    columns: Mapping[str, Sequence[Any]]  # one value per row: completions, prompts, and what the dataset has
    hooks: Mapping[str, Any]  # the [`HOOKS`] that the trainer passed
    rows: Sequence[int]  # their positions in the call
    logged: dict[str, list[Any]]  # columns that rewards log, with None for other rows of the call
    groups: Sequence[int] | None = None  # the group of each row, if a reward needs whole groups
    prefix: tuple[str, ...] = ()  # names of the rewards around the current one, in front of the names of what it logs
    scored: dict[Any, Any] = field(default_factory=dict)  # the scores by each reward, or what computes them

    @classmethod
    def from_call(cls, arguments: Mapping[str, Any]) -> "Batch":
        size = len(arguments["completions"])
        columns = {name: value for name, value in arguments.items() if name not in HOOKS and value is not None}
        for name, values in columns.items():
            check_values(name, values, size)
        hooks = {name: arguments[name] for name in HOOKS if arguments.get(name) is not None}
        return cls.build(columns, hooks)

    @classmethod
    def build(cls, columns: Mapping[str, Sequence[Any]], hooks: Mapping[str, Any], **more: Any) -> "Batch":
        size = len(columns["completions"])
        return cls(columns, hooks, range(size), defaultdict(lambda: [None] * size), **more)

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def dataset_columns(self) -> set[str]:
        """Names of the columns that are from the dataset. TRL passes the column `prompt` as `prompts`."""
        return ({*self.columns} - TRAINER_DATA) | ({"prompt"} if "prompts" in self.columns else set())

    def select(self, rows: Sequence[int]) -> "Batch":
        """Return the batch of these rows only. Scores are kept unless they depend on the other rows."""
        columns = {name: take(values, rows) for name, values in self.columns.items()}
        scored = {}
        for reward, scores in self.scored.items():
            if isinstance(scores, list) and not reward.is_grouped:
                scored[reward] = take(scores, rows)
        groups = self.groups and take(self.groups, rows)
        return replace(self, columns=columns, rows=take(self.rows, rows), groups=groups, scored=scored)

    def rename_columns(self, sources: Mapping[str, str]) -> "Batch":
        """Return the batch with columns under new names, given the old name of each. They replace columns of these names."""
        kept = {name: values for name, values in self.columns.items() if name not in sources.values()}
        renamed = {name: self.columns[source] for name, source in sources.items()}
        return replace(self, columns=kept | renamed)

    def enter(self, name: str) -> "Batch":
        """Return the batch as the reward of this name gets it, with the name added to the prefix."""
        if self.prefix[-1:] == (name,):
            return self
        return replace(self, prefix=(*self.prefix, name))

    def find_groups(self) -> "Batch":
        """Return the batch with its groups. Otherwise, consecutive rows with equal prompt and columns are a group."""
        changed = self._find_changes()
        starts: Sequence[int]
        if size := GROUP_SIZE.get():
            starts = range(0, self.size, size)
            varied = find_varied(changed, size)
        else:
            starts = find_starts(changed, self.size)
            varied = find_varied_alone(changed, self.size) if "prompts" in self.columns else []
        for name in varied:
            raise ValueError(
                f"A grouped reward needs columns that are equal for all completions of a prompt. The column '{name}' differs "
                f"between completions of one prompt. Remove that column."
            )
        return replace(self, groups=[bisect_right(starts, row) - 1 for row in range(self.size)])

    def _find_changes(self) -> dict[int, list[str]]:
        """Return the columns of a group whose value differs from that of the row before, by row."""
        shared = {name: values for name, values in self.columns.items() if name not in ROW_COLUMNS}
        changed = {}
        for row in range(1, self.size):
            before = row - 1
            changed[row] = [name for name, values in shared.items() if not is_same_value(values[row], values[before])]
        return changed

    def split(self, kind: str) -> list[Sequence[int]]:
        if kind != "group":
            if kind == "batch":
                return [range(self.size)]
            return [[row] for row in range(self.size)]
        rows_of: dict[int, list[int]] = defaultdict(list)
        for row, group in enumerate(self.groups or ()):
            rows_of[group].append(row)
        return [*rows_of.values()]

    def get_data(
        self, kind: FunctionKind, names: Iterable[str], calls: Sequence[Sequence[int]], *, is_raw: bool = False
    ) -> dict[str, Sequence[Any]]:
        """Return what each call gets for each parameter. A function can log even if the trainer passed no hooks."""
        data: dict[str, Sequence[Any]] = {}
        hooks = {**self.hooks, "log_metric": self.log_metric}
        readers = {} if is_raw else kind.readers
        log = self.log_value if kind.is_single else self.log_extra
        for name in names:
            column, read = readers.get(name, (name, None))
            if name == "log_extra":
                data[name] = [functools.partial(log, rows=rows) for rows in calls]
            elif name in hooks:
                data[name] = [hooks[name]] * len(calls)
            elif column in self.columns:
                values = [*map(read, self.columns[column])] if read else self.columns[column]
                data[name] = cut_column(values, calls, kind.lists is None or name in kind.lists)
        return data

    def log_extra(self, column: str, values: Sequence[Any], rows: Sequence[int] | None = None) -> None:
        """Log the values of some rows, by default of all."""
        places = self.rows if rows is None else take(self.rows, rows)
        for row, value in zip(places, values, strict=True):
            self.logged["/".join((*self.prefix, column))][row] = value

    def log_value(self, column: str, value: Any, rows: Sequence[int]) -> None:
        self.log_extra(column, [value], rows)

    def log_metric(self, metric: str, value: float) -> None:
        if "log_metric" in self.hooks:
            self.hooks["log_metric"]("/".join((*self.prefix, metric)), value)


def list_equal_runs(changed: Mapping[int, list[str]], size: int) -> list[tuple[int, int]]:
    """Return the runs of rows without a change of a column, given the columns that change at each row."""
    return [*pairwise([0, *(row for row, names in changed.items() if names), size])]


def find_starts(changed: Mapping[int, list[str]], size: int) -> list[int]:
    """Return where groups start: at each change, and inside longer runs as often as in the shortest one."""
    runs = list_equal_runs(changed, size)
    shortest = min(end - start for start, end in runs) or 1
    return [place for start, end in runs for place in range(start, end, shortest)]


def find_varied(changed: Mapping[int, list[str]], size: int) -> list[str]:
    """Return columns that change within groups of a known size. Prompts may: a trainer can repeat them."""
    return [name for row, names in changed.items() if row % size for name in names if name != "prompts"]


def find_varied_alone(changed: Mapping[int, list[str]], size: int) -> list[str]:
    """Return columns that change next to a run of a single row, where the prompt stays the same."""
    single = [run for run in list_equal_runs(changed, size) if run[1] - run[0] == 1]
    places = chain.from_iterable(single)
    return [changed[place][0] for place in places if "prompts" not in changed.get(place, ["prompts"])]


def check_values(name: str, values: Any, size: int) -> None:
    """Raise an error if what was passed as a column is not a list with a value of each completion."""
    is_column = hasattr(values, "__len__") and not isinstance(values, (str, Mapping))
    if is_column and len(values) == size:
        return
    found = f"{len(values)} values" if is_column else f"a {type(values).__name__}"
    raise ValueError(
        f"A call with {size} completions has {found} in '{name}'. Pass a list with one entry per completion."
    )


def take(values: Sequence[Any], rows: Sequence[int]) -> Sequence[Any]:
    """Return the values of some rows in order, or the same object if it is all rows."""
    if rows == range(len(values)):
        return values
    return [values[row] for row in rows]


def cut_column(values: Sequence[Any], calls: Sequence[Sequence[int]], is_list: bool) -> list[Any]:
    """Return what each call gets of a column: the values of its rows, or the value of the first one."""
    return [take(values, rows) if is_list else values[rows[0]] for rows in calls]
