"""Numbers, signs and operations on expressions as reading makes them."""

from fractions import Fraction

from .tokens import MAX_DIGITS, Unreadable
from .values import Collection, Matrix, Number, Operation, Quantity, Relation, Symbol, Value, walk


def make_number(text: str) -> Number:
    """Return the exact number that digits are. Raises [`Unreadable`] if there are too many."""
    if text.isdecimal() and len(text) <= MAX_DIGITS:
        return Number(Fraction(int(text)))
    digits, _, exponent = text.replace("E", "e").partition("e")
    digits = digits.replace(",", "")
    if len(digits) > MAX_DIGITS or len(exponent) > 4:
        raise Unreadable("a number that is too long")
    return Number(Fraction(digits) * Fraction(10) ** int(exponent or 0))


MINUS_ONE = Number(Fraction(-1))
ENDLESS = (Symbol("\\infty"), Operation("-", (Symbol("\\infty"),)))


def negate(value: Value) -> Value:
    if isinstance(value, Number):
        return Number(-value.value)
    if isinstance(value, Matrix):
        return Matrix(tuple(tuple(negate(cell) for cell in row) for row in value.rows))
    if isinstance(value, Collection):
        if not is_vector(value):
            raise Unreadable("a negative list")
        return Collection("<>", tuple(negate(item) for item in value.items))
    return Operation("-", (value,))


def is_vector(value: Value) -> bool:
    """Whether a value is a tuple that can be multiplied or added, and not a list, a set or an unbounded interval."""
    return (
        isinstance(value, Collection)
        and value.brackets in ("()", "[]", "<>")
        and all(isinstance(item, Number | Symbol | Operation) and item not in ENDLESS for item in value.items)
    )


def combine_expressions(name: str, left: Value, right: Value) -> Value:
    """Return an operation on two expressions. Chains of sums and products are one operation."""
    for operand in (left, right):
        if not isinstance(operand, Number | Symbol | Operation):
            raise Unreadable("an operation on what is no expression")
    if name == "-":
        name, right = "+", negate(right)
    if name in ("+", "*") and isinstance(left, Operation) and left.name == name:
        return Operation(name, (*left.operands, right))
    return Operation(name, (left, right))


def expand_plus_minus(value: Value) -> Value:
    r"""Return the two values that `\pm` stands for as a list."""
    if isinstance(value, Relation):
        last = expand_plus_minus(value.sides[-1])
        if isinstance(last, Collection) and last.word == "pm" and value.signs[-1] in ("=", "\\approx", "\\ne"):
            return Collection("", tuple(Relation((*value.sides[:-1], one), value.signs) for one in last.items), "pm")
        return value
    if isinstance(value, Collection) and value.brackets == "":
        return expand_list(value)
    if isinstance(value, Collection) and value.brackets in ("()", "<>"):
        return expand_tuple(value)
    inner = value.value if isinstance(value, Quantity) else value
    if not any(isinstance(node, Operation) and node.name in ("pm", "mp") for node in walk(inner)):
        return value
    both = [choose_sign(inner, sign) for sign in (1, -1)]
    values = [Quantity(one, value.unit) if isinstance(value, Quantity) else one for one in both]
    return Collection("", tuple(values), "pm")


def expand_list(value: Collection) -> Value:
    items: list[Value] = []
    for item in map(expand_plus_minus, value.items):
        items.extend(item.items if isinstance(item, Collection) and item.word == "pm" else [item])
    return Collection("", tuple(items), value.word, value.decimal)


def expand_tuple(value: Collection) -> Value:
    r"""Return the two tuples that `(\pm 1, 2)` stands for as a list."""
    expanded = [expand_plus_minus(item) for item in value.items]
    if not any(isinstance(item, Collection) and item.word == "pm" for item in expanded):
        return value
    both = [
        tuple(item.items[place] if isinstance(item, Collection) and item.word == "pm" else item for item in expanded)
        for place in (0, 1)
    ]
    return Collection("", tuple(Collection(value.brackets, items) for items in both), "pm")


def choose_sign(value: Value, sign: int) -> Value:
    if not isinstance(value, Operation):
        return value
    operands = tuple(choose_sign(operand, sign) for operand in value.operands)
    if value.name in ("pm", "mp"):
        plus = (value.name == "pm") == (sign == 1)
        if len(operands) == 1:
            return operands[0] if plus else Operation("-", operands)
        return Operation("+" if plus else "-", operands)
    return Operation(value.name, operands)
