"""Traits: facts about a reward function that checks and the trainer need. They are declared when it is registered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from .forms import Form


Kind: TypeAlias = Literal["whole", "any of several", "several", "in part", "not at all"]
"""How much of a value was read."""


class Reading(NamedTuple):
    """
    How a reward reads one value of a dataset column.

    Args:
        kind (`str`):
            How much was read: `"whole"`, `"any of several"` (several solutions, any of which is right), `"several"`
            (several answers in one solution), `"in part"` or `"not at all"`.
        value (`str`, *optional*):
            What was read. Equivalent values have the same reading.
        note (`str`, *optional*):
            What a user should know about this reading. [`check`] counts the values with the same note and shows the
            number in front of it, as in `"3.00% that only math-verify can read"`.
    """

    kind: Kind
    value: str | None = None
    note: str | None = None


class Examination(NamedTuple):
    """
    What a reward finds in the rows of a dataset.

    Args:
        lines (`list[str]`):
            Results to read.
        warnings (`list[str]`):
            Problems that may be intended.
        faults (`list[str]`):
            Problems that cannot be intended. Each says what was expected, what was found and what to do.
    """

    lines: list[str]
    warnings: list[str]
    faults: list[str]


ReadColumn: TypeAlias = Callable[[list[Any]], list[Reading]]
"""Returns how a reward reads each value of a dataset column."""


@dataclass(frozen=True)
class Traits:
    """
    The traits of a reward function, as passed to [`reward`].

    Args:
        outcome (`bool` or `tuple[str]`):
            Whether the function says which completions are right. A combinator has a tuple of options instead, and is an
            outcome if all rewards in these options are.
        asks (`bool`):
            Whether it asks a server or a person.
        form (`Callable`, *optional*):
            Returns the [`Form`] that earns the reward in full. Called with the options that it declares as parameters.
        worthless (`Callable`, *optional*):
            Returns completions that must earn less than an honest one, by the name of the attempt. Called with the
            options that it declares as parameters.
        lengths (`Callable`, *optional*):
            Returns the lengths in tokens that the reward depends on, by the name of the option. Called with the options
            that it declares as parameters.
        ready (`Callable`, *optional*):
            Raises an error if the reward cannot work on this machine, and may return what a user should know about how it
            works there. Called with the options that it declares as parameters.
        chooses (`Callable`, *optional*):
            For a combinator that scores each row with some of its rewards only: returns those for a dataset row. Called
            with `row` and the options that it declares as parameters.
        solves (`Callable`, *optional*):
            Returns the final part of a right completion for a dataset row, or None if the row does not have it. Called
            with `row` and the options that it declares as parameters.
        examines (`Callable`, *optional*):
            Returns an [`Examination`] of dataset rows. Called with `rows` and the options that it declares as parameters.
        unasked (`str`, *optional*):
            For a combinator that asks only about what a reward leaves open: the option with this reward. Checks before
            training, which ask nobody, try this reward instead.
    """

    outcome: bool | tuple[str, ...] = False
    asks: bool = False
    form: Callable[..., Form] | None = None
    worthless: Callable[..., dict[str, str]] | None = None
    lengths: Callable[..., dict[str, int]] | None = None
    ready: Callable[..., str | None] | None = None
    chooses: Callable[..., list[Any]] | None = None
    reads: Mapping[str, ReadColumn] = field(default_factory=dict)
    solves: Callable[..., str | None] | None = None
    examines: Callable[..., Examination] | None = None
    unasked: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.outcome, (bool, tuple)) or not isinstance(self.asks, bool):
            raise TypeError(
                f"The traits 'outcome' and 'asks' must be True or False; got outcome={self.outcome!r} and "
                f"asks={self.asks!r}. Write, for example, @reward(outcome=True)."
            )
        for name in ("form", "worthless", "lengths", "ready", "chooses", "solves", "examines"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise TypeError(
                    f"The trait {name!r} must be a function of the reward's options; got {value!r}. Write {name}=lambda: ..."
                )
        if not isinstance(self.reads, Mapping) or not all(map(callable, self.reads.values())):
            raise TypeError(
                f"The trait 'reads' must be a dict from a dataset column to a function of its values; got {self.reads!r}. "
                f"Write, for example, reads={{'solution': read_solutions}}."
            )
