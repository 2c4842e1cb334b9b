"""Operations on values of every kind: expressions, sets, vectors and matrices. Those on vectors and matrices are worked out."""

import functools
from collections.abc import Sequence
from fractions import Fraction

from .operations import MINUS_ONE, combine_expressions, is_vector, negate
from .tokens import Unreadable
from .values import ONE, ZERO, Collection, Matrix, Number, Operation, Quantity, Relation, Symbol, Value, find_symbols


FORMAL_OPERATIONS = {"\\cup", "\\cap", "\\setminus", "\\lor", "\\land", "\\to", "\\leftrightarrow", "\\iff", ":"}
TRANSPOSES = {"T", "t", "\\top", "\\intercal", "tr"}
MAX_PRODUCTS = 125
"""Largest number of products of cells in a product of matrices."""

MAX_PARTS = 5000
"""Largest number of parts of the expressions in a matrix."""

MAX_INVERTED = 3
"""Largest size of a matrix whose inverse is worked out."""

MAX_EXPANDED = 4
"""Largest size of a matrix whose determinant is worked out."""

NEGATED_ONE = Operation("-", (ONE,))
Rows = Sequence[Sequence[Value]]


def combine(name: str, left: Value, right: Value) -> Value:
    """Return an operation on two values. Chains of sums, products, ratios and unions are one operation."""
    left, right = (value.product or value if isinstance(value, Quantity) else value for value in (left, right))
    if name in FORMAL_OPERATIONS:
        chained = name not in ("\\setminus", "\\to") and isinstance(left, Operation) and left.name == name
        return Operation(name, (*left.operands, right) if chained and isinstance(left, Operation) else (left, right))
    if isinstance(left, Matrix) or isinstance(right, Matrix):
        return combine_matrices(name, left, right)
    if isinstance(left, Symbol) and isinstance(right, Collection):
        if name == "*" and right.brackets in ("(]", "[)"):
            return Relation((left, right), ("\\in",))  # t(0,4] lacks its sign
        if name == "-" and right.brackets == "{}":
            return Operation("\\setminus", (left, right))
    if isinstance(left, Collection) or isinstance(right, Collection):
        return combine_vectors(name, left, right)
    return combine_expressions(name, left, right)


def combine_vectors(name: str, left: Value, right: Value) -> Value:
    """Return the vector that a sum of vectors or a multiple is, or the point that a capital letter names."""
    if name == "*" and isinstance(left, Symbol) and isinstance(right, Collection) and right.brackets in ("(]", "[)"):
        return Relation((left, right), ("\\in",))  # t(0,4] lacks its sign
    if isinstance(left, Collection) and isinstance(right, Collection):
        if name not in ("+", "-") or len(left.items) != len(right.items) or not (is_vector(left) and is_vector(right)):
            raise Unreadable("an operation on lists")
        pairs = zip(left.items, right.items, strict=True)
        return Collection("<>", tuple(combine_expressions(name, one, other) for one, other in pairs))
    if name == "*" and isinstance(left, Symbol) and isinstance(right, Collection) and is_point_name(left.name):
        return Relation((left, right), ("=",))
    if name == "*" and isinstance(right, Collection) and is_vector(right):
        return Collection("<>", tuple(combine_expressions(name, left, item) for item in right.items))
    if name in ("*", "/") and isinstance(left, Collection) and is_vector(left) and not isinstance(right, Collection):
        return Collection("<>", tuple(combine_expressions(name, item, right) for item in left.items))
    raise Unreadable("an operation on what is no expression")


def is_point_name(name: str) -> bool:
    """Whether a name is a capital letter, perhaps with a mark, as in `A(1, 2)` or `P_1(1, 2)`."""
    return name[:1].isupper() and (len(name) == 1 or name[1] in "_'")


def combine_matrices(name: str, left: Value, right: Value) -> Value:
    r"""Return the matrix that `2\begin{pmatrix}...` or a sum or product of matrices is."""
    if isinstance(left, Matrix) and isinstance(right, Matrix):
        if name in ("+", "-") and [len(row) for row in left.rows] == [len(row) for row in right.rows]:
            pairs = [zip(row, others, strict=True) for row, others in zip(left.rows, right.rows, strict=True)]
            return make_matrix([[combine(name, one, other) for one, other in row] for row in pairs])
        size = len(left.rows) * len(right.rows) * len(right.rows[0])
        if name == "*" and len(left.rows[0]) == len(right.rows) and size <= MAX_PRODUCTS:
            return multiply(left, right)
        return Operation(name, (left, right))
    if name == "*" and isinstance(right, Matrix):
        return make_matrix([[combine("*", left, cell) for cell in row] for row in right.rows])
    if name in ("*", "/") and isinstance(left, Matrix):
        return make_matrix([[combine(name, cell, right) for cell in row] for row in left.rows])
    if name == "^" and isinstance(left, Matrix):
        return raise_matrix(left, right)
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


def multiply(left: Matrix, right: Matrix) -> Matrix:
    add = functools.partial(combine, "+")
    columns = list(zip(*right.rows, strict=True))
    return make_matrix(
        [
            [
                functools.reduce(add, [combine("*", a, b) for a, b in zip(row, column, strict=True)])
                for column in columns
            ]
            for row in left.rows
        ]
    )


def raise_matrix(matrix: Matrix, exponent: Value) -> Value:
    """Return the square, the cube or the inverse of a matrix. Other powers are not worked out."""
    size = len(matrix.rows)
    power = exponent.value if isinstance(exponent, Number) else MINUS_ONE.value if exponent == NEGATED_ONE else None
    if size != len(matrix.rows[0]) or size > MAX_INVERTED:
        return Operation("^", (matrix, exponent))
    if power == -1:
        return invert(matrix)
    if power in (2, 3):
        return functools.reduce(multiply, [matrix] * int(power))
    return Operation("^", (matrix, exponent))


def transpose(value: Value) -> Value:
    """Return a matrix with its rows as columns. A tuple becomes a vector, which has no orientation."""
    if isinstance(value, Matrix):
        return make_matrix(list(zip(*value.rows, strict=True)))
    if is_vector(value) and isinstance(value, Collection):
        return Collection("<>", value.items)
    raise Unreadable("a transpose of what is no vector")


def find_determinant(rows: Rows) -> Value:
    """Return the determinant of a square matrix as an expression. Raises [`Unreadable`] for other matrices."""
    if any(len(row) != len(rows) for row in rows) or len(rows) > MAX_EXPANDED:
        raise Unreadable("a determinant that is too large")
    value = expand_determinant(rows)
    check_size([value])
    return value


def expand_determinant(rows: Rows) -> Value:
    """Return the determinant by the minors of the first row."""
    total: Value = ZERO
    for column, cell in enumerate(rows[0]):
        if cell != ZERO:
            term = combine("*", cell, expand_determinant(find_minor(rows, 0, column))) if len(rows) > 1 else cell
            total = term if total == ZERO and column % 2 == 0 else combine("-" if column % 2 else "+", total, term)
    return total


def find_minor(rows: Rows, above: int, left: int) -> Rows:
    """Return a matrix without one row and one column."""
    return [[*row[:left], *row[left + 1 :]] for place, row in enumerate(rows) if place != above]


def invert(matrix: Matrix) -> Matrix:
    """Return the inverse of a small matrix by the determinants of its minors."""
    rows, determinant = matrix.rows, find_determinant(matrix.rows)
    size = range(len(rows))
    if len(rows) == 1:
        return make_matrix([[combine("/", ONE, determinant)]])
    minors = [[find_determinant(find_minor(rows, above, left)) for above in size] for left in size]
    return make_matrix(
        [
            [
                combine("/", negate(minors[row][column]) if (row + column) % 2 else minors[row][column], determinant)
                for column in size
            ]
            for row in size
        ]
    )


def make_identity(size: int) -> Matrix:
    return make_matrix([[Number(Fraction(row == column)) for column in range(size)] for row in range(size)])


def as_matrix(value: Value, other: Matrix) -> Value:
    """Return a tuple of rows, or the name of an identity matrix, as a matrix if the other value is one of this size."""
    size = len(other.rows)
    if isinstance(value, Symbol) and value.name in ("I", f"I_{size}", "E", f"E_{size}") and size == len(other.rows[0]):
        return make_identity(size)
    if isinstance(value, Collection) and value.brackets in ("[]", "()"):
        rows = [item.items for item in value.items if isinstance(item, Collection) and item.brackets == value.brackets]
        if len(rows) == len(value.items) and len({*map(len, rows)}) == 1:
            return make_matrix(rows)
    return value


def name_point(value: Value) -> Value:
    """Return `P(1, 2)`, which is read as the value of a function, as a point with its name."""
    if not isinstance(value, Operation) or len(value.operands) < 2 or not value.name.startswith("call "):
        return value
    name = value.name.removeprefix("call ")
    if not is_point_name(name) or find_symbols(Operation("+", value.operands)):
        return value
    return Relation((Symbol(name), Collection("()", value.operands)), ("=",))
