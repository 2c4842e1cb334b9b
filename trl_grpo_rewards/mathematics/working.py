"""Whether a value is worked out: `12 \\times 6` is not, and `72` is."""

from fractions import Fraction

from .evaluation import evaluate_constant, is_real
from .rationals import evaluate_exactly
from .values import (
    Collection,
    Dashed,
    Family,
    Labelled,
    Matrix,
    Number,
    Operation,
    Quantity,
    Relation,
    Value,
    find_symbols,
    is_expression,
    walk,
)


def is_open(value: Value) -> bool:
    """
    Return whether a value still contains an operation on numbers that could be worked out.

    Fractions, powers of ten and their multiples count as numbers.
    """
    if isinstance(value, Relation):
        return is_open(value.sides[-1])
    if isinstance(value, Quantity | Family):
        return is_open(value.value)
    if isinstance(value, Collection):
        return any(map(is_open, value.items))
    if isinstance(value, Matrix):
        return any(is_open(cell) for row in value.rows for cell in row)
    if isinstance(value, Labelled):
        return is_open(value.value)
    if isinstance(value, Dashed):
        return True
    return is_expression(value) and any(isinstance(node, Operation) and is_computable(node) for node in walk(value))


def is_computable(node: Operation) -> bool:
    name, operands = node.name, node.operands
    if name == "+":
        return sum(map(is_numeral, operands)) > 1
    if name == "*":
        numbers = [operand for operand in operands if is_numeral(operand) and operand != Number(Fraction(-1))]
        powers = sum(map(is_power_of_ten, numbers))
        return len(numbers) - (powers == 1) > 1 or powers > 1
    if name in ("-", "mixed", "degree", "base", "digits"):
        return False
    if name == "/":
        value = evaluate_exactly(node)
        return value is not None and value.denominator == 1 and all(map(is_numeral, operands))
    if name == "^" and is_power_of_ten(node):
        return False
    if evaluate_exactly(node) is not None or name in ("sum", "prod", "int", "derivative"):
        return True
    if find_symbols(node) or name in ("sqrt", "root", "^"):
        return False
    number = evaluate_constant(node)
    return (
        number is not None
        and is_real(number)
        and any(abs(number * k - round(number.real * k)) < 1e-30 for k in (1, 2, 3, 4, 6))
    )


def is_numeral(value: Value) -> bool:
    """Return whether an expression is a number as people write it, which includes multiples of powers of ten."""
    if isinstance(value, Number) or is_power_of_ten(value):
        return True
    if isinstance(value, Operation) and value.name in ("-", "/", "mixed"):
        return all(map(is_numeral, value.operands))
    return isinstance(value, Operation) and value.name == "*" and all(map(is_numeral, value.operands))


def is_power_of_ten(value: Value) -> bool:
    return (
        isinstance(value, Operation)
        and value.name == "^"
        and value.operands[0] == Number(Fraction(10))
        and evaluate_exactly(value.operands[1]) is not None
    )
