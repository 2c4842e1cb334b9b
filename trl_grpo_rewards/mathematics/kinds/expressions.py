"""Expressions: numbers, symbols and operations, which are compared by their values, and operations that are not on numbers."""

from collections.abc import Callable

from ..equivalence import are_equal_expressions, are_same_up_to_constants
from ..evaluation import SAME, evaluate_constant, evaluate_exactly, is_real
from ..functions import CONTEXT, Numeric
from ..matching import Kind, Same, Verdict
from ..values import (
    INFINITY,
    MINUS_INFINITY,
    MINUS_ONE,
    TEN,
    WITH_INDEX,
    Number,
    Operation,
    Symbol,
    Value,
    find_symbols,
    is_expression,
    walk,
)
from .names import is_constant


FORMAL = {
    **dict.fromkeys(("\\cup", "\\cap", "\\lor", "\\land", "\\oplus", "\\leftrightarrow", "\\iff", "cycles"), True),
    **dict.fromkeys(("\\setminus", "\\to", "\\neg", "\\otimes"), False),
}
"""Operations that are not on numbers, and whether their operands have no order."""


def match_formal(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare operations on sets and statements by their operands."""
    if not isinstance(gold, Operation) or not isinstance(answer, Operation) or gold.name != answer.name:
        return False
    return (same.in_any_order if FORMAL[gold.name] else same.in_order)(gold.operands, answer.operands)


def match_expressions(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare expressions by their values, within the tolerance if there is one."""
    if not is_expression(gold) or not is_expression(answer):
        if not isinstance(gold, Operation) or not isinstance(answer, Operation) or gold.name != answer.name:
            return False
        return same.in_order(gold.operands, answer.operands)
    tolerance = same.rules.tolerance
    if tolerance is not None and (close := are_within(gold, answer, tolerance)) is not None:
        return close
    if isinstance(gold, Symbol) and isinstance(answer, Symbol):
        return False
    infinite = [value in (INFINITY, MINUS_INFINITY) for value in (gold, answer)]
    if any(infinite):
        return False if all(infinite) or is_constant(answer if infinite[0] else gold) else None
    verdict = are_equal_expressions(gold, answer)
    return verdict or (not same.is_part and are_same_up_to_constants([gold], [answer])) or verdict


def are_within(gold: Value, answer: Value, tolerance: float) -> bool | None:
    """Return whether two constants differ by at most the tolerance, or None if they are not real numbers."""
    numbers = evaluate_constant(gold), evaluate_constant(answer)
    if numbers[0] is None or numbers[1] is None or not (is_finite(numbers[0]) and is_finite(numbers[1])):
        return None
    largest = CONTEXT.mpf(str(tolerance)) + SAME  # the numbers are rounded
    return bool(abs(numbers[0] - numbers[1]) <= largest * max(1, abs(numbers[0]), abs(numbers[1])))


def is_finite(number: Numeric) -> bool:
    return is_real(number) and abs(number) < CONTEXT.inf


# --- working


MAX_WORKED_OUT = 10**9
"""Largest value of a function that may count as a number which could be worked out."""


def is_open(value: Value, is_part_open: Callable[[Value], bool]) -> bool:
    """Whether an expression contains an operation on numbers that could be worked out, such as `12 \\times 6`."""
    return any(isinstance(node, Operation) and is_computable(node) for node in walk(value))


def is_computable(node: Operation) -> bool:
    name, operands = node.name, node.operands
    if name == "+":
        return sum(map(is_numeral, operands)) > 1
    if name == "*":
        numbers = [operand for operand in operands if is_numeral(operand) and operand != MINUS_ONE]
        powers = sum(map(is_power_of_ten, numbers))
        return len(numbers) - (powers == 1) > 1 or powers > 1
    if name in ("-", "mixed", "degree"):
        return False
    if name == "/":
        value = evaluate_exactly(node)
        return value is not None and value.denominator == 1 and all(map(is_numeral, operands))
    if name == "^" and is_power_of_ten(node):
        return False
    if evaluate_exactly(node) is not None or name in WITH_INDEX or name == "derivative":
        return True
    if find_symbols(node) or name in ("sqrt", "root", "^"):
        return False
    number = evaluate_constant(node)
    return (
        number is not None
        and is_real(number)
        and abs(number) < MAX_WORKED_OUT
        and any(abs(number * k - round(number.real * k)) < 1e-30 for k in (1, 2, 3, 4, 6))
    )


def is_numeral(value: Value) -> bool:
    """Return whether an expression is a number as people write it, which includes multiples of powers of ten."""
    if isinstance(value, Number) or is_power_of_ten(value):
        return True
    return (
        isinstance(value, Operation)
        and value.name in ("-", "/", "mixed", "*")
        and all(map(is_numeral, value.operands))
    )


def is_power_of_ten(value: Value) -> bool:
    return (
        isinstance(value, Operation)
        and value.name == "^"
        and value.operands[0] == TEN
        and evaluate_exactly(value.operands[1]) is not None
    )


FORMAL_OPERATIONS = Kind(lambda value: isinstance(value, Operation) and value.name in FORMAL, match_formal)
EXPRESSIONS = Kind(lambda value: isinstance(value, Number | Symbol | Operation), match_expressions, is_open)
