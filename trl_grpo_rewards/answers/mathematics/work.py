"""How much work a verdict may cost, as a whole. Texts that ask for more are not evaluated, so none can hold a run."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .values import Operation, Value, list_parts


MOST_WORK = 24_000  # units of about 2 µs. Of 14,554 verdicts on data, one costs more.
COSTS = {  # of operations that take less or more time than a function such as a sine
    **{"+": 1, "*": 1, "-": 1, "/": 1, "mixed": 1, "abs": 1, "norm": 1, "floor": 1, "ceil": 1, "max": 1, "min": 1, "mod": 2},
    **{"^": 30, "root": 20, "factorial": 60, "gamma": 60, "binom": 90, "zeta": 500},
}  # fmt: skip
COST_OF_FUNCTIONS = 8
SERIES = ("sum", "prod")  # operations whose work is not that of their parts
COST_OF_COMPARISONS = 20  # of two values of a kind, without the work of evaluating them
BITS = 128  # bits of exact numbers that cost a unit
LEFT: ContextVar[list[int] | None] = ContextVar("LEFT", default=None)


class OutOfWork(Exception):
    """Raised when a verdict has cost [`MOST_WORK`]."""


def estimate_work(value: Value) -> float:
    """Return the work of evaluating the expressions in a value once, or infinity if it contains a series."""
    if isinstance(value, Operation) and value.name in SERIES:
        return math.inf
    cost = COSTS.get(value.name, COST_OF_FUNCTIONS) if isinstance(value, Operation) else 1
    return cost + sum(map(estimate_work, list_parts(value)))


@contextmanager
def limit_work(units: int = MOST_WORK) -> Iterator[None]:
    """Let everything inside cost at most this, or raise [`OutOfWork`]."""
    outside = LEFT.set([units])
    try:
        yield
    finally:
        LEFT.reset(outside)


def count_left() -> int:
    left = LEFT.get()
    return MOST_WORK if left is None else left[0]


def spend_on(node: Value) -> None:
    """Spend what it costs to evaluate a node of an expression, without its parts. Most of the time goes into such calls."""
    left = LEFT.get()
    if left is None:
        return
    left[0] -= COSTS.get(node.name, COST_OF_FUNCTIONS) if isinstance(node, Operation) else 1
    if left[0] < 0:
        raise OutOfWork


def spend(units: int) -> None:
    left = LEFT.get()
    if left is None:
        return
    left[0] -= units
    if left[0] < 0:
        raise OutOfWork
