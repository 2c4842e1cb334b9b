r"""What may stand on one side of an equation without being part of the answer, such as `f(x)`, `|AB|` or `\angle A`."""

from collections.abc import Callable

from ..evaluation import evaluate_constant
from ..values import Call, Name, Operation, Symbol, Value, find_symbols, is_expression, list_parts, operands_of, walk
from .arrays import SET_OPERATIONS, Matrix
from .lists import Collection
from .notations import Based, Ratio
from .quantities import Quantity
from .texts import Text


UNKNOWNS = {Symbol(name) for name in "xytnmkspqr"}  # an absolute value of theirs is no length or modulus
FUNCTION_LETTERS = {*"fghFGHP"}  # letters that are functions if a bracket follows. Other letters are factors.
FUNCTION_NAMES = {*"yfgh"}  # these name functions also without their arguments
OF_CAPITALS = {Symbol("c"), Symbol("C"), Symbol("T"), Symbol("\\complement")}  # complement and transpose


def is_matrix_name(value: Value, values: list[Value]) -> bool:
    """Whether a side is `A^{-1}`, `A^2` or `A + B`, and the others are matrices. `2A` names no matrix."""
    matrices = operands_of(value, "^")[:1] or operands_of(value, "+")
    are_names = bool(matrices) and all(isinstance(name, Symbol) and name.name.isupper() for name in matrices)
    if not are_names:
        return False
    return all(isinstance(side, Matrix) for side in values)


def is_constant(value: Value) -> bool:
    if isinstance(value, Quantity):
        return is_constant(value.value)
    if isinstance(value, Based):
        return True
    if any(isinstance(node, Call) for node in walk(value)):
        return False
    return evaluate_constant(value) is not None


def is_name(value: Value) -> bool:
    if isinstance(value, Text | Call):
        return True
    if isinstance(value, Symbol):
        return value.name not in ("\\pi", "\\infty", "")
    if isinstance(value, Collection | Ratio):
        return all(map(is_name, list_parts(value)))
    if not isinstance(value, Operation):
        return False
    if value.name not in ARE_NAMES:
        return False
    return ARE_NAMES[value.name](value)


def is_named_length(value: Operation) -> bool:
    inside = value.operands[0]
    return (is_name(inside) and inside not in UNKNOWNS) or is_sum_of_vectors(inside)


def is_named_ratio(value: Operation) -> bool:
    return is_name(value.operands[0]) or is_angle(value.operands[0])


def is_named_quotient(value: Operation) -> bool:
    above, below = value.operands
    return is_derivative(value) or (is_name(above) and is_name(below) and above != below)


def is_named_power(value: Operation) -> bool:
    r"""Whether a power is `\sigma^2`, a complement or a transpose."""
    base, exponent = value.operands
    return base == Symbol("\\sigma") or (is_capital(base) and exponent in OF_CAPITALS)


def is_named_product(value: Operation) -> bool:
    if is_set_name(value) or is_derivative(value.operands[0]) or is_differential(value.operands):
        return True
    return all(map(is_part_of_name, value.operands))


def is_set_name(value: Value) -> bool:
    r"""Whether a value names a set: `A \cap B`, `\complement_U A`."""
    if factors := operands_of(value, "*"):
        if not isinstance(factors[0], Symbol):
            return False
        return factors[0].name.startswith("\\complement")
    sets = operands_of(value, *SET_OPERATIONS)
    if not sets:
        return False
    return all(is_capital(operand) or is_set_name(operand) for operand in sets)


# Whether an operation may be a name.
ARE_NAMES: dict[str, Callable[[Operation], bool]] = {
    **dict.fromkeys(("abs", "norm"), is_named_length),
    **dict.fromkeys("sin cos tan cot sec csc".split(), is_named_ratio),
    **dict.fromkeys(("gcd", "lcm", "derivative"), lambda value: True),
    **dict.fromkeys(SET_OPERATIONS, is_set_name),
    **dict.fromkeys(("*", "cross"), is_named_product),
    "/": is_named_quotient,
    "^": is_named_power,
}


def is_capital(value: Value) -> bool:
    if not isinstance(value, Symbol):
        return False
    if len(value.name) != 1:
        return False
    return value.name.isupper()


def is_angle(value: Value) -> bool:
    """Whether an expression is made of capital and Greek letters, as names of angles are: `A + B`, `2\\alpha`."""
    names = find_symbols(value) if is_expression(value) else set()
    if not names:
        return False
    return all(len(name) == 1 and name.isupper() or name.startswith("\\") for name in names)


def is_sum_of_vectors(value: Value) -> bool:
    names = find_symbols(value) if is_expression(value) else set()
    if not names:
        return False
    return all(name.startswith(("\\vec", "\\overrightarrow")) for name in names)


def is_part_of_name(value: Value) -> bool:
    """Whether a factor belongs to a name of several letters: `AB`, `m\\angle A`, `\\vec a \\cdot \\vec b`."""
    if not isinstance(value, Symbol):
        return False
    if isinstance(value, Name) or is_capital(value):
        return True
    return value.name == "m" or value.name.startswith(("\\vec", "\\over"))


def is_differential(factors: tuple[Value, ...]) -> bool:
    if factors[0] == Symbol("\\nabla"):
        return True
    return factors in ((Symbol("d"), Symbol("y")), (Symbol("d"), Symbol("f")))


def is_derivative(value: Value) -> bool:
    parts = operands_of(value, "/")
    if not parts:
        return False
    if not all(map(starts_with_d, parts)):
        return False
    return isinstance(parts[1], Operation)


def starts_with_d(value: Value) -> bool:
    return [*operands_of(value, "*"), value][0] in (Symbol("d"), Symbol("\\partial"))


def have_same_name(one: Value, other: Value) -> bool:
    """Return whether two names mean the same: `y` and `f(x)` do, and so do `y'`, `f'(x)` and a first derivative."""
    if one == other:
        return True
    if isinstance(one, Call | Symbol) and isinstance(other, Call | Symbol) and one.name == other.name:
        return not (isinstance(one, Call) and isinstance(other, Call))  # P(A) and P(B)
    function = find_function(one)
    its_function = find_function(other)
    if function is None or its_function is None or function[1] != its_function[1]:
        return False
    return may_be_same({function[0], its_function[0]})


def may_be_same(letters: set[str]) -> bool:
    """Whether the letters of two functions are the same, or one of them is the `y` of a formula."""
    if len(letters) == 1:
        return True
    if "y" not in letters:
        return False
    return {letter[0] for letter in letters} <= FUNCTION_LETTERS | {"y"}


def find_function(value: Value) -> tuple[str, int] | None:
    """Return the letter of a function and the order of its derivative, or None for what is no function."""
    if isinstance(value, Call) or (isinstance(value, Symbol) and value.name.rstrip("'") in FUNCTION_NAMES):
        return value.name.rstrip("'"), value.name.count("'")
    if not is_derivative(value):
        return None
    factors = operands_of(operands_of(value, "/")[0], "*")[1:]
    if len(factors) != 1 or not isinstance(factors[0], Symbol):
        return None
    return factors[0].name, 1
