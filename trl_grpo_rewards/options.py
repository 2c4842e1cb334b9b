"""Options of rewards: the values they may have, how these compare, and the rewards among them."""

import functools
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from inspect import Parameter
from itertools import chain
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt

from .batch import TRAINER_DATA
from .expressions import Reward, read_operand
from .scores import to_float


PositiveInt: TypeAlias = Annotated[int, Ge(1)]
PositiveFloat: TypeAlias = Annotated[float, Gt(0)]
Share: TypeAlias = Annotated[float, Ge(0), Le(1)]

# The bounds that the annotation of an option may have: how each is said, and the comparison.
BOUNDS: dict[type, tuple[str, Callable[[Any, Any], bool]]] = {
    Ge: ("at least", operator.ge),
    Gt: ("more than", operator.gt),
    Le: ("at most", operator.le),
    Lt: ("less than", operator.lt),
}


@dataclass(frozen=True, repr=False)
class Column:
    """
    Say that an option is read from a dataset column, so that each row has its own value.

    A reward accepts a column for an option if the type of the option includes `Column`, such as the rubric of [`judge`].
    It is written as `column("name")`.

    Args:
        name (`str`):
            Name of the dataset column.

    Raises:
        `TypeError`: this is not the name of a dataset column.

    Example:

    ```python
    >>> from trl_grpo_rewards import column, judge

    >>> judge(model="Qwen/Qwen3-8B", rubric=column("rubric"))
    judge(model='Qwen/Qwen3-8B', rubric=column('rubric'))

    ```
    """

    name: str

    def __post_init__(self) -> None:
        check_column_name(self.name, "The argument of column()", "Name the column: column('rubric').")

    def __repr__(self) -> str:
        return f"column({self.name!r})"


column = Column


def check_column_name(name: Any, what: str, remedy: str) -> str:
    """Return what should be the name of a dataset column, if it is."""
    if isinstance(name, str) and name and name not in TRAINER_DATA:
        return name
    passed = ", which the trainer passes" if isinstance(name, str) and name else ""
    raise TypeError(f"{what} must be the name of a dataset column; got {name!r}{passed}. {remedy}")


def change_inside(value: Any, change: Callable[[Any], Any], sequence: type = tuple) -> Any:
    """Return a frozen option with each value in it changed. Its tuples become this type."""
    if isinstance(value, tuple):
        return sequence(change_inside(item, change, sequence) for item in value)
    if isinstance(value, Mapping):
        return {change(key): change_inside(item, change, sequence) for key, item in value.items()}
    return change(value)


def is_same_option(one: Any, other: Any) -> bool:
    """Return whether two options have equal values of equal types. With `==` alone, True, 1 and 1.0 would be equal."""
    typed_one = change_inside(one, add_type)
    typed_other = change_inside(other, add_type)
    return bool(typed_one == typed_other)


def add_type(value: Any) -> tuple[type, Any]:
    return type(value), value


class FrozenDict(dict[Any, Any]):
    """A dict that nothing changes. It can be hashed, and compares with [`is_same_option`]."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FrozenDict):
            return False
        return is_same_option({**self}, {**other})

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def freeze(value: Any, what: str) -> Any:
    """Return a value as options store it: numbers as int or float, lists as tuples, and dicts as [`FrozenDict`]."""
    if value is None or isinstance(value, (bool, str, Reward, Column)):
        return value
    if isinstance(value, Real):
        return freeze_number(value, what)
    if isinstance(value, (list, tuple)):
        return tuple(freeze(item, what) for item in value)
    if isinstance(value, Mapping):
        return FrozenDict({freeze(key, what): freeze(item, what) for key, item in value.items()})
    if callable(value):
        return read_operand(value, what)
    raise TypeError(
        f"{what} must be a number, a string, a reward, a column, or a list or dict of these, so that the reward can be printed and "
        f"sent to other processes; got a {type(value).__name__}."
    )


def freeze_number(value: Real, what: str) -> int | float:
    number = to_float(value)
    if not math.isfinite(number):
        raise ValueError(f"{what} must be a finite number; got {number}. Choose one that fits a float.")
    if isinstance(value, Integral):
        return int(value)
    return number


def thaw(value: Any) -> Any:
    """Return a frozen option with plain lists and dicts, as JSON needs them."""
    return change_inside(value, lambda item: item, list)


def find_inside(value: Any, kind: type) -> list[Any]:
    """Return the values of one type inside a frozen option, each once, in order."""
    found: dict[Any, None] = {}
    change_inside(value, lambda item: isinstance(item, kind) and found.setdefault(item))
    return [*found]


def fill_options(value: Any, data: Mapping[Any, Any]) -> Any:
    """Return a frozen option with every reward in it replaced by its score, and every column by its value."""
    return change_inside(value, lambda item: data[item] if isinstance(item, (Reward, Column)) else item)


def strip_annotation(annotation: Any) -> Any:
    """Return an annotation without bounds. `Annotated[..., Reward]` is the type of a reward."""
    if get_origin(annotation) is Annotated:
        return Reward if Reward in annotation.__metadata__ else annotation.__origin__
    return Any if annotation is Parameter.empty else annotation


def requires(expected: str, is_met: Callable[..., Any], remedy: str = "Change one of them.") -> Callable[..., None]:
    """Return a check that refuses options, unless a function of them returns something true."""

    @functools.wraps(is_met)
    def check(**options: Any) -> None:
        if not is_met(**options):
            found = ", ".join(f"{name}={value!r}" for name, value in options.items())
            raise ValueError(f"{expected}; got {found}. {remedy}")

    return check


def format_annotation(annotation: Any) -> str:
    annotation = strip_annotation(annotation)
    if get_origin(annotation) in (Union, UnionType):
        return " | ".join("None" if one is NoneType else format_annotation(one) for one in get_args(annotation))
    if isinstance(annotation, type):
        return annotation.__name__
    return re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", str(annotation))


def check_bounds(value: Any, annotation: Any, what: str) -> None:
    """Check a number against the bounds in an annotation such as `Annotated[int, Ge(1)]` or `Share | None`."""
    if not isinstance(value, Real):
        return
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    metadata = chain.from_iterable(getattr(part, "__metadata__", ()) for part in parts)
    bounds = [(*BOUNDS[type(bound)], *astuple(bound)) for bound in metadata if type(bound) in BOUNDS]
    if not all(holds(value, number) for _, holds, number in bounds):
        expected = " and ".join(f"{words} {number}" for words, _, number in bounds)
        raise ValueError(f"{what} must be {expected}; got {value}. Choose such a number.")


def has_type(value: Any, annotation: Any = Any) -> bool:
    """Return whether an option or a value of a dataset has the annotated type. Types that cannot be checked fit everything."""
    annotation = strip_annotation(annotation)
    origin = get_origin(annotation) or annotation
    inner = get_args(annotation)
    if origin is Any:
        return True
    if origin in (Union, UnionType):
        return any(has_type(value, member) for member in inner)
    if origin is Literal:
        return value in inner
    if origin in CONTAINER_TYPES:
        if not isinstance(value, CONTAINER_TYPES[origin]):
            return False
        return has_items(value, origin, inner)
    return is_instance(value, origin)


def is_instance(value: Any, kind: Any) -> bool:
    """Whether a value has a type that contains no others. An int is a float, and a bool is no number."""
    if kind is None:
        return value is None
    if kind is Callable:
        return callable(value)
    if kind in (int, float):
        if not isinstance(value, int if kind is int else Real):
            return False
        return not isinstance(value, bool)
    return not isinstance(kind, type) or isinstance(value, kind)


CONTAINER_TYPES: dict[Any, Any] = {  # types of annotations, and those of values that fit them
    **dict.fromkeys((dict, Mapping), Mapping),
    **dict.fromkeys((list, tuple), (list, tuple)),
    **dict.fromkeys((set, frozenset), (set, frozenset)),
}


def has_items(values: Any, container: Any, kinds: tuple[Any, ...]) -> bool:
    """Return whether what is in a container has the types between the brackets of its annotation, if there are any."""
    if isinstance(values, Mapping):
        key, item = kinds or (Any, Any)
        return all(has_type(name, key) and has_type(value, item) for name, value in values.items())
    if container is tuple and kinds and kinds[-1] is not ...:  # one type for each item
        if len(values) != len(kinds):
            return False
        return all(map(has_type, values, kinds))
    return all(has_type(value, *kinds[:1]) for value in values)
