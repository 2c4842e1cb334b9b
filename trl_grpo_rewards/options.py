"""Options of a reward: what they may hold, how they compare, and the rewards among them."""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from .expressions import Reward


def typed(value: Any) -> Any:
    """The value with its types, to compare: True, 1 and 1.0 are equal in Python and different as options."""
    if isinstance(value, tuple):
        return tuple(typed(item) for item in value)
    if isinstance(value, Mapping):
        return {(type(key), key): typed(item) for key, item in value.items()}
    return type(value), value


class FrozenDict(Mapping):
    """A mapping that compares (types and all), hashes, pickles, and prints as the dict it was."""

    def __init__(self, items: Mapping) -> None:
        self._items = dict(items)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenDict) and typed(self._items) == typed(other._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)


def freeze(value: Any, what: str) -> Any:
    """The value as an option holds it: numbers finite, lists as tuples, dicts as frozen mappings."""
    if value is None or isinstance(value, (bool, str, Reward)):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        if not math.isfinite(value):
            raise ValueError(f"{what} is {value}; options are finite numbers. Choose one, or leave the option out.")
        return float(value)
    if isinstance(value, (list, tuple)):
        return tuple(freeze(item, what) for item in value)
    if isinstance(value, Mapping):
        return FrozenDict({freeze(key, what): freeze(item, what) for key, item in value.items()})
    raise TypeError(
        f"{what} is a {type(value).__name__}; options are numbers, text, rewards, lists and dicts of these, so that "
        f"the reward can be printed and sent to another process. Pass one of these."
    )


def thaw(value: Any) -> Any:
    """The frozen option as JSON has it: lists and dicts."""
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    return {key: thaw(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def rewards_in(value: Any) -> list[Reward]:
    """The rewards that a frozen option holds, each once, in order."""
    if isinstance(value, Reward):
        return [value]
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple) else ()
    return list(dict.fromkeys(reward for item in items for reward in rewards_in(item)))


def replace_rewards(value: Any, scores: Mapping[Reward, Any]) -> Any:
    """The frozen option with every reward in it replaced by its score."""
    if isinstance(value, Reward):
        return scores[value]
    if isinstance(value, tuple):
        return tuple(replace_rewards(item, scores) for item in value)
    if isinstance(value, Mapping):
        return {key: replace_rewards(item, scores) for key, item in value.items()}
    return value


def named_by(function: Callable, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that the function has as parameters."""
    return {name: options[name] for name in inspect.signature(function).parameters if name in options}


def described(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")


def fits(value: Any, annotation: Any) -> bool:
    """Whether a frozen option is of the annotated type; what cannot be checked fits."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return True
    if annotation in (None, NoneType):
        return value is None
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Literal:
        return value in inner
    if annotation is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if origin is list or (origin is tuple and inner[-1] is ...):
        return isinstance(value, tuple) and all(fits(item, inner[0]) for item in value)
    if origin is tuple:
        return isinstance(value, tuple) and len(value) == len(inner) and all(map(fits, value, inner))
    if dict in (origin, annotation):
        key, item = inner or (Any, Any)
        return isinstance(value, Mapping) and all(fits(k, key) and fits(v, item) for k, v in value.items())
    return not isinstance(annotation, type) or isinstance(value, annotation)
