"""Comparison of values: the `kinds` are asked in their order. The rules are theirs."""

from .kinds import KINDS
from .matching import AnswerRules, Same
from .values import Value, list_parts


def compare(gold: Value, answer: Value, rules: AnswerRules) -> bool | None:
    """Return whether two values are equal, or None if that cannot be computed."""
    return Same(KINDS, rules)(gold, answer)


def is_open(value: Value) -> bool:
    r"""Return whether a value contains an operation on numbers that could be worked out: `12 \times 6`, and not 72."""
    kind = next(kind for kind in KINDS if kind.holds(value))
    return any(map(is_open, list_parts(value))) if kind.is_open is None else kind.is_open(value, is_open)
