r"""What may stand on one side of an equation without being part of the answer, such as `f(x)`, `|AB|` or `\angle A`."""

from ..evaluation import evaluate_constant
from ..values import Call, Name, Operation, Symbol, Value, find_symbols, is_expression, list_parts, operands_of, walk
from .arrays import Matrix
from .lists import Collection
from .notations import Based, Ratio
from .quantities import Quantity
from .texts import Text


UNKNOWNS = {Symbol(name) for name in "xytnmkspqr"}  # an absolute value of theirs is no length or modulus
CALLED = {*"fghFGHP"}  # letters that are functions if a bracket follows. Other letters are factors.
SET_OPERATIONS = {"\\cap", "\\cup", "\\setminus"}
TRIGONOMETRIC = {"sin", "cos", "tan", "cot", "sec", "csc"}
OF_CAPITALS = {Symbol("c"), Symbol("C"), Symbol("T"), Symbol("\\complement")}  # complement and transpose


def is_matrix_name(value: Value, values: list[Value]) -> bool:
    """Whether a side is `A^{-1}`, `A^2` or `A + B`, and the others are matrices. `2A` names no matrix."""
    matrices = operands_of(value, "^")[:1] or operands_of(value, "+")
    are_names = bool(matrices) and all(isinstance(one, Symbol) and one.name.isupper() for one in matrices)
    return are_names and all(isinstance(one, Matrix) for one in values)


def is_constant(value: Value) -> bool:
    if isinstance(value, Quantity | Based):
        return isinstance(value, Based) or is_constant(value.value)
    return not any(isinstance(node, Call) for node in walk(value)) and evaluate_constant(value) is not None


def is_name(value: Value) -> bool:
    if isinstance(value, Text | Call):
        return True
    if isinstance(value, Symbol):
        return value.name not in ("\\pi", "\\infty", "")
    if isinstance(value, Collection | Ratio):
        return all(map(is_name, list_parts(value)))
    if not isinstance(value, Operation):
        return False
    operands = value.operands
    if value.name in ("abs", "norm"):
        return (is_name(operands[0]) and operands[0] not in UNKNOWNS) or is_sum_of_vectors(operands[0])
    if value.name in TRIGONOMETRIC:
        return is_name(operands[0]) or is_angle(operands[0])
    if value.name in ("gcd", "lcm", "derivative") or is_set_name(value):
        return True
    if value.name == "/":
        return is_name(operands[0]) and is_name(operands[1]) and operands[0] != operands[1] or is_derivative(value)
    if value.name == "^":
        return operands[0] == Symbol("\\sigma") or (is_capital(operands[0]) and operands[1] in OF_CAPITALS)
    is_product = value.name in ("*", "cross")
    return is_product and (
        is_derivative(operands[0]) or is_differential(operands) or all(map(is_part_of_name, operands))
    )


def is_set_name(value: Value) -> bool:
    r"""Whether a value names a set: `A \cap B`, `\complement_U A`."""
    if factors := operands_of(value, "*"):
        return isinstance(factors[0], Symbol) and factors[0].name.startswith("\\complement")
    sets = operands_of(value, *SET_OPERATIONS)
    return bool(sets) and all(is_capital(one) or is_set_name(one) for one in sets)


def is_capital(value: Value) -> bool:
    return isinstance(value, Symbol) and len(value.name) == 1 and value.name.isupper()


def is_angle(value: Value) -> bool:
    """Whether an expression is made of capital and Greek letters, as names of angles are: `A + B`, `2\\alpha`."""
    names = find_symbols(value) if is_expression(value) else set()
    return bool(names) and all(len(name) == 1 and name.isupper() or name.startswith("\\") for name in names)


def is_sum_of_vectors(value: Value) -> bool:
    names = find_symbols(value) if is_expression(value) else set()
    return bool(names) and all(name.startswith(("\\vec", "\\overrightarrow")) for name in names)


def is_part_of_name(value: Value) -> bool:
    """Whether a factor belongs to a name of several letters: `AB`, `m\\angle A`, `\\vec a \\cdot \\vec b`."""
    return isinstance(value, Symbol) and (
        is_capital(value) or isinstance(value, Name) or value.name.startswith(("\\vec", "\\over")) or value.name == "m"
    )


def is_differential(factors: tuple[Value, ...]) -> bool:
    return factors[0] == Symbol("\\nabla") or factors in ((Symbol("d"), Symbol("y")), (Symbol("d"), Symbol("f")))


def is_derivative(value: Value) -> bool:
    parts = operands_of(value, "/")
    return bool(parts) and all(map(starts_with_d, parts)) and isinstance(parts[1], Operation)


def starts_with_d(value: Value) -> bool:
    return [*operands_of(value, "*"), value][0] in (Symbol("d"), Symbol("\\partial"))


def have_same_name(one: Value, other: Value) -> bool:
    """Return whether two names mean the same: `y` and `f(x)` do, and so do `y'`, `f'(x)` and a first derivative."""
    if one == other:
        return True
    if isinstance(one, Call | Symbol) and isinstance(other, Call | Symbol) and one.name == other.name:
        return not (isinstance(one, Call) and isinstance(other, Call))  # P(A) and P(B)
    names = find_function(one), find_function(other)
    if names[0] is None or names[1] is None or names[0][1] != names[1][1]:
        return False
    letters = {names[0][0], names[1][0]}
    return len(letters) == 1 or ("y" in letters and {letter[0] for letter in letters} <= CALLED | {"y"})


def find_function(value: Value) -> tuple[str, int] | None:
    if isinstance(value, Call):
        name = value.name
    elif isinstance(value, Symbol) and value.name.rstrip("'") in ("y", "f", "g", "h"):
        name = value.name
    elif is_derivative(value):
        factors = operands_of(operands_of(value, "/")[0], "*")[1:]
        return (factors[0].name, 1) if len(factors) == 1 and isinstance(factors[0], Symbol) else None
    else:
        return None
    return name.rstrip("'"), name.count("'")
