"""Matrices and vectors, with their sums and multiples, which are worked out."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..matching import Kind, Same, Verdict
from ..reader import Reader
from ..tokens import Unreadable
from ..values import Number, Operation, Symbol, Value, find_names, is_expression, make_number
from .lists import Collection, is_tuple
from .quantities import Quantity


FORMAL = {"\\cup", "\\cap", "\\setminus"}
"""Operations on sets."""

TRANSPOSES = {"T", "t", "\\top", "\\intercal", "tr"}
MAX_PARTS = 5000
"""Largest number of parts of the expressions in a matrix."""

MAX_EXPANDED = 4
"""Largest size of a matrix whose determinant is worked out."""

VECTOR_MARKS = ("\\vec", "\\overrightarrow")
"""Commands that make a name a vector."""


@dataclass(frozen=True, slots=True)
class Matrix(Value):
    """A matrix, a column or a row of values."""

    rows: tuple[tuple[Value, ...], ...]


Rows = Sequence[Sequence[Value]]


# --- operations


def combine(name: str, left: Value, right: Value) -> Value:
    """Return an operation on two values. Chains of sums, products, ratios and unions are one operation."""
    left, right = (value.product or value if isinstance(value, Quantity) else value for value in (left, right))
    if name in FORMAL:
        chained = name != "\\setminus" and isinstance(left, Operation) and left.name == name
        return Operation(name, (*left.operands, right) if chained and isinstance(left, Operation) else (left, right))
    if isinstance(left, Matrix) or isinstance(right, Matrix):
        return combine_matrices(name, left, right)
    if name == "-" and isinstance(left, Symbol) and isinstance(right, Collection) and right.brackets == "{}":
        return Operation("\\setminus", (left, right))
    if isinstance(left, Collection) or isinstance(right, Collection):
        return combine_vectors(name, left, right)
    return combine_expressions(name, left, right)


def combine_expressions(name: str, left: Value, right: Value) -> Value:
    """Return an operation on two expressions. Chains of sums and products are one operation."""
    for operand in (left, right):
        if not isinstance(operand, Number | Symbol | Operation):
            raise Unreadable("an operation on what is no expression")
    if name == "-":
        name, right = "+", negate(right)
    if name == "\\times":
        name = "cross" if has_vector(left) and has_vector(right) else "*"
    if name in ("+", "*") and isinstance(left, Operation) and left.name == name:
        return Operation(name, (*left.operands, right))
    return Operation(name, (left, right))


def has_vector(value: Value) -> bool:
    return any(name.startswith(VECTOR_MARKS) for name in find_names(value))


def negate(value: Value) -> Value:
    if isinstance(value, Number):
        return Number(-value.value)
    if isinstance(value, Quantity):
        return Quantity(negate(value.value), value.unit, value.product and negate(value.product))
    if isinstance(value, Matrix):
        return Matrix(tuple(tuple(map(negate, row)) for row in value.rows))
    if isinstance(value, Collection):
        if not is_tuple(value):
            raise Unreadable("a negative list")
        return Collection("<>", tuple(map(negate, value.items)))
    return Operation("-", (value,))


def combine_vectors(name: str, left: Value, right: Value) -> Value:
    """Return the vector that a sum of vectors or a multiple of one is."""
    if isinstance(left, Collection) and isinstance(right, Collection):
        if name not in ("+", "-") or len(left.items) != len(right.items) or not (is_tuple(left) and is_tuple(right)):
            raise Unreadable("an operation on lists")
        pairs = zip(left.items, right.items, strict=True)
        return Collection("<>", tuple(combine_expressions(name, one, other) for one, other in pairs))
    if name in ("*", "\\times") and isinstance(right, Collection) and is_tuple(right):
        return Collection("<>", tuple(combine_expressions("*", left, item) for item in right.items))
    if name in ("*", "/") and isinstance(left, Collection) and is_tuple(left):
        return Collection("<>", tuple(combine_expressions(name, item, right) for item in left.items))
    raise Unreadable("an operation on what is no expression")


def combine_matrices(name: str, left: Value, right: Value) -> Value:
    """Return the matrix that a multiple or a sum of matrices is. Products and powers are not worked out."""
    name = "*" if name == "\\times" else name
    if isinstance(left, Matrix) and isinstance(right, Matrix):
        if name in ("+", "-") and [len(row) for row in left.rows] == [len(row) for row in right.rows]:
            pairs = [zip(row, others, strict=True) for row, others in zip(left.rows, right.rows, strict=True)]
            return make_matrix([[combine(name, one, other) for one, other in row] for row in pairs])
    elif name == "*" and isinstance(right, Matrix) and is_expression(left):
        return make_matrix([[combine("*", left, cell) for cell in row] for row in right.rows])
    elif name in ("*", "/") and isinstance(left, Matrix) and is_expression(right):
        return make_matrix([[combine(name, cell, right) for cell in row] for row in left.rows])
    return Operation(name, (left, right))


def make_matrix(rows: Rows) -> Matrix:
    check_size([cell for row in rows for cell in row])
    return Matrix(tuple(map(tuple, rows)))


def check_size(values: Sequence[Value]) -> None:
    """Raise [`Unreadable`] if expressions have too many parts. Parts that are worked out more than once count each time."""
    nodes = list(values)
    for node in nodes:
        if isinstance(node, Operation):
            nodes.extend(node.operands)
        if len(nodes) > MAX_PARTS:
            raise Unreadable("a matrix that is too large")


def transpose(value: Value) -> Value:
    """Return a matrix with its rows as columns. A tuple becomes a vector, which has no orientation."""
    if isinstance(value, Matrix):
        return make_matrix(list(zip(*value.rows, strict=True)))
    if is_tuple(value) and isinstance(value, Collection):
        return Collection("<>", value.items)
    raise Unreadable("a transpose of what is no vector")


def find_determinant(rows: Rows) -> Value:
    """Return the determinant of a small square matrix as an expression, by the minors of the first row."""
    if not 1 < len(rows) <= MAX_EXPANDED or any(len(row) != len(rows) for row in rows):
        raise Unreadable("no determinant that can be worked out")
    if len(rows) == 2:
        minors = [rows[1][1], rows[1][0]]
    else:
        minors = [
            find_determinant([[*row[:place], *row[place + 1 :]] for row in rows[1:]]) for place in range(len(rows))
        ]
    terms = [combine("*", cell, minor) for cell, minor in zip(rows[0], minors, strict=True)]
    value = Operation("+", tuple(negate(term) if place % 2 else term for place, term in enumerate(terms)))
    check_size([value])
    return value


# --- reading


def split_rows(reader: Reader, skips_empty: bool = False) -> list[list[tuple[int, int]]]:
    """Return the ranges of the cells of each row of the environment that starts here."""
    start, end = reader.place + 1, reader.match[reader.place]
    if reader.tokens[start - 1].text == "\\array" and reader.tokens[start].text == "{":
        start = reader.match[start] + 1  # the alignment of the columns
    rows: list[list[tuple[int, int]]] = []
    cells: list[tuple[int, int]] = []
    place = start
    for here in [*reader.outermost(start, end), end]:
        text = reader.tokens[here].text if here < end else "\\\\"
        if text in ("&", "\\\\"):
            if here > place:
                cells.append((place, here))
            elif text == "&" and not skips_empty:
                raise Unreadable("an empty cell")
            place = here + 1
        if text == "\\\\" and cells:
            rows.append(cells)
            cells = []
    return rows


def read_matrix(reader: Reader) -> Value:
    """Return the matrix, or the value of the determinant, in the environment that starts here."""
    rows = [tuple(reader.statement(*cell) for cell in row) for row in split_rows(reader)]
    if not rows or len({len(row) for row in rows}) > 1:
        raise Unreadable("rows of different lengths")
    return find_determinant(rows) if reader.tokens[reader.place].text == "\\vmatrix" else make_matrix(rows)


# --- comparison


def as_matrix(value: Value, other: Matrix) -> Value:
    """Return a tuple of rows, or the name of an identity matrix, as a matrix if the other value is one of this size."""
    size = len(other.rows)
    if isinstance(value, Symbol) and value.name in ("I", f"I_{size}", "E", f"E_{size}") and size == len(other.rows[0]):
        return make_matrix([[make_number(row == column) for column in range(size)] for row in range(size)])
    if isinstance(value, Collection) and value.brackets in ("[]", "()"):
        rows = [item.items for item in value.items if isinstance(item, Collection) and item.brackets == value.brackets]
        if len(rows) == len(value.items) and len({*map(len, rows)}) == 1:
            return make_matrix(rows)
    return value


def as_vector(value: Value) -> Value:
    """Return a column or a row as a vector."""
    is_vector = isinstance(value, Matrix) and 1 in (len(value.rows), len(value.rows[0]))
    return Collection("<>", sum(value.rows, ())) if is_vector and isinstance(value, Matrix) else value


def match_matrices(gold: Value, answer: Value, same: Same) -> Verdict:
    one = as_matrix(gold, answer) if isinstance(answer, Matrix) else gold
    other = as_matrix(answer, gold) if isinstance(gold, Matrix) else answer
    if isinstance(one, Matrix) and isinstance(other, Matrix):
        if [len(row) for row in one.rows] != [len(row) for row in other.rows]:
            return False
        return same.in_order(sum(one.rows, ()), sum(other.rows, ()))
    one, other = as_vector(one), as_vector(other)
    return False if isinstance(one, Matrix) or isinstance(other, Matrix) else same(one, other)


MATRICES = Kind(lambda value: isinstance(value, Matrix), match_matrices)
