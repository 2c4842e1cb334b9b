"""One call of TRL, seen as a batch: its rows, its columns, and the text in them."""

import pickle
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


HOOKS = ("trainer_state", "log_extra", "log_metric")
"""What TRL passes beside the columns; AsyncGRPO passes none of them."""


def content_text(content: Any) -> str:
    """Text of a message's content: a string, a list of parts of which only the text counts, or nothing."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(part if isinstance(part, str) else part.get("text") or "" for part in content)


def completion_text(completion: Any) -> str:
    """Text of a completion in either of TRL's formats: of several messages (tools), the last one by the assistant."""
    if completion is None or isinstance(completion, str):
        return completion or ""
    completion = [completion] if isinstance(completion, Mapping) else completion
    said = [message for message in completion if message.get("role", "assistant") == "assistant"]
    return content_text(said[-1].get("content")) if said else ""


def prompt_text(prompt: Any) -> str:
    """Text of a prompt in either of TRL's formats: of several messages, the last one by the user."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    asked = [message for message in prompt if message.get("role") == "user"] or prompt[-1:]
    return content_text(asked[-1].get("content")) if asked else ""


def completion_messages(completion: Any) -> list:
    return completion if isinstance(completion, list) else [{"role": "assistant", "content": completion or ""}]


PER_COMPLETION: dict[str, tuple[str, Callable]] = {
    "prompt": ("prompts", prompt_text),
    "completion": ("completions", completion_text),
    "messages": ("completions", completion_messages),
}
"""What a function of one completion may ask for beside columns: name -> (column it comes from, how)."""

PER_GROUP: dict[str, tuple[str, Callable]] = {
    "prompt": ("prompts", lambda prompts: prompt_text(prompts[0])),
    "completions": ("completions", lambda completions: [completion_text(one) for one in completions]),
    "messages": ("completions", lambda completions: [completion_messages(one) for one in completions]),
    "completion_ids": ("completion_ids", list),
    "environments": ("environments", list),
}
"""What a function of one group may ask for beside columns, of which it gets the one value that they have."""

GIVEN = frozenset({*PER_COMPLETION, *PER_GROUP, *HOOKS, "prompts"})
"""Data that the trainer provides; every other name is a column of the dataset."""

OF_A_ROW = frozenset({"completions", "completion_ids", "environments"})
"""What differs between the rows of a group."""


def spread(size: int, parts: Iterable[tuple[Sequence[int], Sequence]]) -> list:
    """A value for each of `size` rows, from rows and their values; None where a row has none."""
    spread: list[Any] = [None] * size
    for rows, values in parts:
        for row, value in zip(rows, values, strict=True):
            spread[row] = value
    return spread


def same(one: Any, other: Any) -> bool:
    """Whether two values of a column are equal; NaN is, and arrays are where all of them is."""
    try:
        equal = one == other
    except (ValueError, RuntimeError):  # arrays of several shapes, or within lists
        equal = None
    return equal is True or one is other or (equal is not True and pickle.dumps(one) == pickle.dumps(other))


class Log:
    """Columns that rewards log during one call: a value for every row of it, None where none was logged."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.columns: dict[str, list] = defaultdict(lambda: [None] * size)

    def write(self, column: str, rows: Sequence[int], values: Sequence) -> None:
        for row, value in zip(rows, values, strict=True):
            self.columns[column][row] = value


@dataclass(frozen=True)
class Batch:
    """
    Rows of one call.

    Args:
        columns (`dict[str, list]`):
            A value per row in each: `prompts`, `completions`, `completion_ids`, those of the dataset.
        hooks (`dict[str, Any]`):
            Those of [`HOOKS`] that the trainer passed.
        rows (`list[int]`):
            Which rows of the call these are.
        log ([`Log`]):
            Where the rewards of the call log columns.
        groups (`list[int]`, *optional*):
            Group of each row, where a reward asks for whole groups.
        path (`tuple[str]`):
            Names of the rewards on the way here, with which the names of what is logged begin.
        scored (`dict`):
            Scores of the rewards that were computed on these rows.
    """

    columns: Mapping[str, list]
    hooks: Mapping[str, Any]
    rows: Sequence[int]
    log: Log
    groups: Sequence[int] | None = None
    path: tuple[str, ...] = ()
    scored: dict = field(default_factory=dict)

    @classmethod
    def from_call(cls, arguments: Mapping[str, Any]) -> "Batch":
        size = len(arguments["completions"])
        columns = {name: value for name, value in arguments.items() if name not in HOOKS and value is not None}
        for name, values in columns.items():
            listed = hasattr(values, "__len__") and not isinstance(values, (str, Mapping))
            if not listed or len(values) != size:
                found = f"{len(values)} values" if listed else f"a {type(values).__name__}"
                raise ValueError(
                    f"A call with {size} completions has {found} in '{name}'. Pass one list entry per completion."
                )
        hooks = {name: arguments[name] for name in HOOKS if arguments.get(name) is not None}
        return cls(columns, hooks, range(size), Log(size))

    @property
    def size(self) -> int:
        return len(self.rows)

    def take(self, rows: Sequence[int]) -> "Batch":
        """The batch of these rows only; what they log is logged as None for the others."""
        columns = {name: [values[row] for row in rows] for name, values in self.columns.items()}
        groups = self.groups and [self.groups[row] for row in rows]
        return replace(self, columns=columns, rows=[self.rows[row] for row in rows], groups=groups, scored={})

    def under(self, name: str) -> "Batch":
        """The same batch on the way through a reward of this name."""
        return self if self.path[-1:] == (name,) else replace(self, path=(*self.path, name))

    def grouped(self) -> "Batch":
        """
        The batch with its groups found: runs of consecutive rows of equal prompt and columns.

        A run longer than the shortest one is a prompt that was drawn twice in a row, and is cut to that length.

        Raises:
            `ValueError`: a column differs between the completions of one prompt, so that no group can be told.
        """
        shared = {name: values for name, values in self.columns.items() if name not in OF_A_ROW}
        changed = {row: [n for n, v in shared.items() if not same(v[row], v[row - 1])] for row in range(1, self.size)}
        changes = [row for row, names in changed.items() if names]
        runs = list(zip([0, *changes], [*changes, self.size], strict=True))
        for bounds in (run for run in runs if run[1] - run[0] == 1 and "prompts" in shared):
            for names in (changed.get(bound, ["prompts"]) for bound in bounds):
                if "prompts" not in names:
                    raise ValueError(
                        f"A grouped reward was called with the column '{names[0]}', which differs between completions "
                        f"of one prompt; a group is a run of equal prompt and columns. Leave that column out."
                    )
        shortest = min(end - start for start, end in runs) or 1
        starts = [cut for start, end in runs for cut in range(start, end, shortest)]
        return replace(self, groups=[bisect_right(starts, row) - 1 for row in range(self.size)])

    def log_extra(self, column: str, values: Sequence) -> None:
        self.log.write("/".join((*self.path, column)), self.rows, values)

    def log_metric(self, metric: str, value: float) -> None:
        if "log_metric" in self.hooks:
            self.hooks["log_metric"]("/".join((*self.path, metric)), value)
