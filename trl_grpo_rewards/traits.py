"""What other parts of the package need to know of a reward function, declared where it is registered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from .text.forms import Form


class Reading(NamedTuple):
    """
    How a reward reads one value of a dataset column.

    Args:
        kind (`str`):
            `"whole"`, `"several"` (several answers), `"in part"` or `"not at all"`.
        value (`str`, *optional*):
            What was read. It is the same for values that mean the same.
    """

    kind: Literal["whole", "several", "in part", "not at all"]
    value: str | None = None


ReadColumn: TypeAlias = Callable[[list[Any]], list[Reading]]
"""Returns how a reward reads each value of a dataset column."""


@dataclass(frozen=True)
class Traits:
    """
    The traits of a reward function. [`reward`] describes them to those who write one.

    Args:
        outcome (`bool` or `tuple[str]`):
            Whether the function says which completions are right. A combinator names the options that it passes on: it
            is an outcome if all rewards among them are.
        asks (`bool`):
            Whether it asks a server or a person.
        form (`Callable`, *optional*):
            Returns the [`Form`] that earns the reward in full. Called with the options that it names.
        worthless (`Callable`, *optional*):
            Returns completions that must not earn what an honest one earns, by what they try. Called with the options
            that it names.
        reads (`dict[str, Callable]`):
            For a dataset column, a function that returns the [`Reading`] of each of its values.
    """

    outcome: bool | tuple[str, ...] = False
    asks: bool = False
    form: Callable[..., Form] | None = None
    worthless: Callable[..., dict[str, str]] | None = None
    reads: Mapping[str, ReadColumn] = field(default_factory=dict)
