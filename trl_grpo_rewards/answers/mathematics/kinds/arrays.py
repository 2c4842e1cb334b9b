"""Matrices and vectors, with their sums and multiples, which are worked out."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ..matching import Kind, Same, Verdict
from ..reader import Reader
from ..tokens import Unreadable
from ..values import EMPTY_SET, Number, Operation, Symbol, Value, find_names, is_expression, is_operation, make_number
from .lists import Collection, find_places, is_finite_set, is_tuple
from .quantities import Quantity


SET_OPERATIONS = {"\\cup", "\\cap", "\\setminus"}
CHAINED = {"+", "*", "\\cup", "\\cap"}
TRANSPOSES = {*r"T t \top \intercal tr".split()}
MAX_NODES = 5000
MAX_EXPANDED = 4
VECTOR_MARKS = ("\\vec", "\\overrightarrow")


@dataclass(frozen=True, slots=True)
class Matrix(Value):
    """A matrix, a column or a row of values."""

    rows: tuple[tuple[Value, ...], ...]


MatrixRows = Sequence[Sequence[Value]]


# --- operations
def combine_values(name: str, left: Value, right: Value) -> Value:
    left = use_product(left)
    right = use_product(right)
    if name in SET_OPERATIONS:
        return chain(name, left, right)
    if name == "-" and isinstance(left, Symbol) and is_finite_set(right):
        return Operation("\\setminus", (left, right))
    if isinstance(left, Matrix | Collection) or isinstance(right, Matrix | Collection):
        return combine_arrays("*" if name == "\\times" else name, left, right)
    return combine_expressions(name, left, right)


def use_product(value: Value) -> Value:
    """Return a quantity as the product that it may also be, and any other value unchanged."""
    if isinstance(value, Quantity):
        return value.product or value
    return value


def combine_expressions(name: str, left: Value, right: Value) -> Value:
    for operand in (left, right):
        if not isinstance(operand, Number | Symbol | Operation) or operand == EMPTY_SET:
            raise Unreadable("an operation on what is no expression")
    if name == "-":
        return chain("+", left, negate(right))
    if name == "\\times":
        name = "cross" if has_vector(left) and has_vector(right) else "*"
    return chain(name, left, right)


def chain(name: str, left: Value, right: Value) -> Operation:
    if name in CHAINED and is_operation(left, name):
        return Operation(name, (*left.operands, right))
    return Operation(name, (left, right))


def has_vector(value: Value) -> bool:
    return any(name.startswith(VECTOR_MARKS) for name in find_names(value))


def combine_arrays(name: str, left: Value, right: Value) -> Value:
    """Return the vector or matrix that a sum or a multiple of one is. Products and powers are not worked out."""
    left_cells = list_cells(left)
    right_cells = list_cells(right)
    if name in ("+", "-") and have_same_shape(left, right):
        return change_cells(left, [*map(partial(combine_values, name), left_cells, right_cells)])
    if name == "*" and is_expression(left) and right_cells:
        return change_cells(right, [combine_values("*", left, cell) for cell in right_cells])
    if name in ("*", "/") and is_expression(right) and left_cells:
        return change_cells(left, [combine_values(name, cell, right) for cell in left_cells])
    if Matrix in (type(left), type(right)):
        return Operation(name, (left, right))
    raise Unreadable("an operation on lists")


def list_cells(value: Value) -> tuple[Value, ...]:
    """Return the values in a matrix or a vector, or none of other values."""
    if isinstance(value, Matrix):
        return sum(value.rows, ())
    return value.items if is_tuple(value) else ()


def have_same_shape(one: Value, other: Value) -> bool:
    """Whether two matrices, or vectors, have the same number of rows and of cells in each."""
    if list_cells(one) == ():
        return False
    return find_shape(one) == find_shape(other)


def find_shape(value: Value) -> list[int]:
    if isinstance(value, Matrix):
        return [len(row) for row in value.rows]
    return [len(list_cells(value))]


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


def make_matrix(rows: MatrixRows) -> Matrix:
    check_size([cell for row in rows for cell in row])
    return Matrix(tuple(map(tuple, rows)))


def check_size(values: Sequence[Value]) -> None:
    """Raise [`Unreadable`] if expressions have too many parts. Parts that are worked out more than once count each time."""
    nodes = list(values)
    for node in nodes:
        if isinstance(node, Operation):
            nodes.extend(node.operands)
        if len(nodes) > MAX_NODES:
            raise Unreadable("a matrix that is too large")


def transpose(value: Value) -> Value:
    """Return a matrix with its rows as columns. A tuple becomes a vector, which has no orientation."""
    if isinstance(value, Matrix):
        return make_matrix(list(zip(*value.rows, strict=True)))
    if is_tuple(value):
        return Collection("<>", value.items)
    raise Unreadable("a transpose of what is no vector")


def find_determinant(rows: MatrixRows) -> Value:
    if not 1 < len(rows) <= MAX_EXPANDED or any(len(row) != len(rows) for row in rows):
        raise Unreadable("no determinant that can be worked out")
    if len(rows) == 2:
        minors = [rows[1][1], rows[1][0]]
    else:
        places = range(len(rows))
        below = [[[*row[:place], *row[place + 1 :]] for row in rows[1:]] for place in places]
        minors = [*map(find_determinant, below)]
    terms = [combine_values("*", cell, minor) for cell, minor in zip(rows[0], minors, strict=True)]
    signed = [negate(term) if place % 2 else term for place, term in enumerate(terms)]
    value = Operation("+", tuple(signed))
    check_size([value])
    return value


# --- reading
def split_rows(reader: Reader, skips_empty: bool = False) -> list[list[tuple[int, int]]]:
    """Return the ranges of the cells of each row of the environment that starts here."""
    start = reader.place + 1
    if reader.ahead(2) == ["\\array", "{"]:
        start = reader.match[start] + 1  # the alignment of the columns
    rows = []
    for row in split_range(reader, start, reader.match[reader.place], "\\\\"):
        cells = split_range(reader, *row, "&")
        if not skips_empty and any(first == end for first, end in cells[:-1]):
            raise Unreadable("an empty cell")
        rows.append([(first, end) for first, end in cells if first < end])
    return [*filter(None, rows)]


def split_range(reader: Reader, start: int, end: int, sign: str) -> list[tuple[int, int]]:
    """Return the ranges between the places of a sign outside of brackets."""
    places = find_places(reader, start, end, sign)
    starts = [start, *(place + 1 for place in places)]
    return [*zip(starts, [*places, end], strict=True)]


def read_matrix(reader: Reader) -> Value:
    rows = [tuple(reader.statement(*cell) for cell in row) for row in split_rows(reader)]
    if not rows or len({len(row) for row in rows}) > 1:
        raise Unreadable("rows of different lengths")
    if reader.tokens[reader.place].text == "\\vmatrix":
        return find_determinant(rows)
    return make_matrix(rows)


# --- comparison
def as_matrix(value: Value, other: Value) -> Value:
    """Return a tuple of rows, or the name of an identity matrix, as a matrix if the other value is one of this size."""
    if not isinstance(other, Matrix):
        return value
    size = len(other.rows)
    if isinstance(value, Symbol) and value.name.removesuffix(f"_{size}") in ("I", "E") and size == len(other.rows[0]):
        return make_matrix([[make_number(row == column) for column in range(size)] for row in range(size)])
    if isinstance(value, Collection) and value.brackets in ("[]", "()"):
        return stack_rows(value)
    return value


def stack_rows(value: Collection) -> Value:
    """Return a tuple of tuples of the same kind and length as a matrix, or another tuple unchanged."""
    rows = [item.items for item in value.items if isinstance(item, Collection) and item.brackets == value.brackets]
    if len(rows) < len(value.items) or len({*map(len, rows)}) != 1:
        return value
    return make_matrix(rows)


def as_vector(value: Value) -> Value:
    if isinstance(value, Matrix) and 1 in (len(value.rows), len(value.rows[0])):
        return Collection("<>", list_cells(value))
    return value


def match_matrices(gold: Value, answer: Value, same: Same) -> Verdict:
    one = as_matrix(gold, answer)
    other = as_matrix(answer, gold)
    if isinstance(one, Matrix) and isinstance(other, Matrix):
        return find_shape(one) == find_shape(other) and same.in_order(list_cells(one), list_cells(other))
    one = as_vector(one)
    other = as_vector(other)
    if isinstance(one, Matrix) or isinstance(other, Matrix):
        return False
    return same(one, other)


MATRICES = Kind(lambda value: isinstance(value, Matrix), match_matrices)
