"""Matrices and vectors, with their sums and multiples, which are worked out."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..matching import Kind, Same, Verdict
from ..reader import Reader
from ..tokens import Unreadable
from ..values import Number, Operation, Symbol, Value, find_names, is_expression, make_number, operands_of
from .lists import Collection, is_finite_set, is_tuple
from .quantities import Quantity


SET_OPERATIONS = {"\\cup", "\\cap", "\\setminus"}
CHAINED = {"+", "*", "\\cup", "\\cap"}
TRANSPOSES = {"T", "t", "\\top", "\\intercal", "tr"}
MAX_PARTS = 5000
MAX_EXPANDED = 4
VECTOR_MARKS = ("\\vec", "\\overrightarrow")


@dataclass(frozen=True, slots=True)
class Matrix(Value):
    """A matrix, a column or a row of values."""

    rows: tuple[tuple[Value, ...], ...]


Rows = Sequence[Sequence[Value]]


# --- operations
def combine(name: str, left: Value, right: Value) -> Value:
    left, right = (value.product or value if isinstance(value, Quantity) else value for value in (left, right))
    if name in SET_OPERATIONS:
        return chain(name, left, right)
    if name == "-" and isinstance(left, Symbol) and is_finite_set(right):
        return Operation("\\setminus", (left, right))
    if any(isinstance(value, Matrix | Collection) for value in (left, right)):
        return combine_arrays("*" if name == "\\times" else name, left, right)
    return combine_expressions(name, left, right)


def combine_expressions(name: str, left: Value, right: Value) -> Value:
    for operand in (left, right):
        if not isinstance(operand, Number | Symbol | Operation):
            raise Unreadable("an operation on what is no expression")
    if name == "-":
        name, right = "+", negate(right)
    if name == "\\times":
        name = "cross" if has_vector(left) and has_vector(right) else "*"
    return chain(name, left, right)


def chain(name: str, left: Value, right: Value) -> Operation:
    first = operands_of(left, name) if name in CHAINED else ()
    return Operation(name, (*(first or (left,)), right))


def has_vector(value: Value) -> bool:
    return any(name.startswith(VECTOR_MARKS) for name in find_names(value))


def combine_arrays(name: str, left: Value, right: Value) -> Value:
    """Return the vector or matrix that a sum or a multiple of one is. Products and powers are not worked out."""
    cells, others = list_cells(left), list_cells(right)
    if cells and others and name in ("+", "-") and find_shape(left) == find_shape(right):
        return change_cells(left, [combine(name, *pair) for pair in zip(cells, others, strict=True)])
    if others and name == "*" and is_expression(left):
        return change_cells(right, [combine("*", left, cell) for cell in others])
    if cells and name in ("*", "/") and is_expression(right):
        return change_cells(left, [combine(name, cell, right) for cell in cells])
    if isinstance(left, Matrix) or isinstance(right, Matrix):
        return Operation(name, (left, right))
    raise Unreadable("an operation on lists")


def list_cells(value: Value) -> tuple[Value, ...]:
    """Return the values in a matrix or a vector, or none of other values."""
    return sum(value.rows, ()) if isinstance(value, Matrix) else value.items if is_tuple(value) else ()


def find_shape(value: Value) -> list[int]:
    return [len(row) for row in value.rows] if isinstance(value, Matrix) else [len(list_cells(value))]


def change_cells(value: Value, cells: Sequence[Value]) -> Value:
    """Return a matrix or a vector of the same shape with other values in it."""
    if not isinstance(value, Matrix):
        return Collection("<>", tuple(cells))
    width = len(value.rows[0])
    return make_matrix([cells[start : start + width] for start in range(0, len(cells), width)])


def negate(value: Value) -> Value:
    if isinstance(value, Number):
        return Number(-value.value)
    if isinstance(value, Quantity):
        return Quantity(negate(value.value), value.unit, value.product and negate(value.product))
    if cells := list_cells(value):
        return change_cells(value, [*map(negate, cells)])
    if isinstance(value, Collection):
        raise Unreadable("a negative list")
    return Operation("-", (value,))


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
    if is_tuple(value):
        return Collection("<>", value.items)
    raise Unreadable("a transpose of what is no vector")


def find_determinant(rows: Rows) -> Value:
    if not 1 < len(rows) <= MAX_EXPANDED or any(len(row) != len(rows) for row in rows):
        raise Unreadable("no determinant that can be worked out")
    if len(rows) == 2:
        minors = [rows[1][1], rows[1][0]]
    else:
        below = [[[*row[:place], *row[place + 1 :]] for row in rows[1:]] for place in range(len(rows))]
        minors = [*map(find_determinant, below)]
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
    is_vector = isinstance(value, Matrix) and 1 in (len(value.rows), len(value.rows[0]))
    return Collection("<>", list_cells(value)) if is_vector else value


def match_matrices(gold: Value, answer: Value, same: Same) -> Verdict:
    one = as_matrix(gold, answer) if isinstance(answer, Matrix) else gold
    other = as_matrix(answer, gold) if isinstance(gold, Matrix) else answer
    if isinstance(one, Matrix) and isinstance(other, Matrix):
        return find_shape(one) == find_shape(other) and same.in_order(list_cells(one), list_cells(other))
    one, other = as_vector(one), as_vector(other)
    return False if isinstance(one, Matrix) or isinstance(other, Matrix) else same(one, other)


MATRICES = Kind(lambda value: isinstance(value, Matrix), match_matrices)
