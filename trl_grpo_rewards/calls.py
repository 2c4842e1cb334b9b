"""One call of TRL, seen as a batch: its rows, its columns, and the text in them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
"""What a per-completion function may ask for beside columns: name -> (column it comes from, how)."""

GIVEN = frozenset({*PER_COMPLETION, *HOOKS, "prompts", "completions", "completion_ids", "environments"})
"""Data that the trainer provides; every other name is a column of the dataset."""


@dataclass(frozen=True)
class Batch:
    """
    The rows of one call.

    Args:
        size (`int`):
            Number of rows.
        columns (`dict[str, list]`):
            One list of `size` values per column: `prompts`, `completions`, `completion_ids`, those of the dataset.
        hooks (`dict[str, Any]`):
            Those of [`HOOKS`] that the trainer passed.
    """

    size: int
    columns: Mapping[str, list]
    hooks: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_call(cls, arguments: Mapping[str, Any]) -> "Batch":
        size = len(arguments["completions"])
        columns = {name: value for name, value in arguments.items() if name not in HOOKS and value is not None}
        for name, values in columns.items():
            if isinstance(values, (str, Mapping)) or not hasattr(values, "__getitem__") or len(values) != size:
                found = f"a {type(values).__name__}" if isinstance(values, str) else f"{len(values)} values"
                raise ValueError(
                    f"A call with {size} completions has {found} in '{name}'. Pass one list entry per completion."
                )
        hooks = {name: arguments[name] for name in HOOKS if arguments.get(name) is not None}
        return cls(size, columns, hooks)

    def take(self, rows: Sequence[int]) -> "Batch":
        """The batch of these rows only; what they log is logged as None for the others."""
        columns = {name: [values[row] for row in rows] for name, values in self.columns.items()}
        hooks = dict(self.hooks)
        if "log_extra" in hooks:
            hooks["log_extra"] = lambda column, values: self.hooks["log_extra"](column, self.spread(values, rows))
        return Batch(len(rows), columns, hooks)

    def spread(self, values: Sequence, rows: Sequence[int], otherwise: Any = None) -> list:
        """The inverse of `take`: one value a row of this batch, `otherwise` where the row was not taken."""
        spread = [otherwise] * self.size
        for row, value in zip(rows, values, strict=True):
            spread[row] = value
        return spread

    def log_extra(self, column: str, values: list) -> None:
        if "log_extra" in self.hooks:
            self.hooks["log_extra"](column, values)

    def log_metric(self, name: str, value: float) -> None:
        if "log_metric" in self.hooks:
            self.hooks["log_metric"](name, value)
