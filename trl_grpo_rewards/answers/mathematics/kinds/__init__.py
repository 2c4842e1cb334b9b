"""The kinds of values. Each has a module: what a value of this kind is, how it is read, and how it is compared."""

from ..matching import AnswerRules, Same
from ..values import Value, list_parts
from .arrays import MATRICES
from .expressions import EXPRESSIONS, FORMAL_OPERATIONS
from .families import FAMILIES
from .lists import COLLECTIONS
from .notations import BASED, DASHES, RATIOS
from .quantities import QUANTITIES, QUANTITIES_IN_PARTS
from .relations import NAMED_ITEMS, RELATIONS
from .sets import BUILDERS, CASES, INTERVALS, SETS
from .texts import CHOICES, TEXT_VALUES


# The kinds, in the order in which they decide whether two values are equal: kinds that hold values of others come
# first.
VALUE_KINDS = (
    FAMILIES, CHOICES, DASHES, SETS, INTERVALS, BUILDERS, RELATIONS, QUANTITIES, QUANTITIES_IN_PARTS, MATRICES, NAMED_ITEMS,
    COLLECTIONS, CASES, RATIOS, BASED, TEXT_VALUES, FORMAL_OPERATIONS, EXPRESSIONS,
)  # fmt: skip


def compare_values(gold: Value, answer: Value, rules: AnswerRules) -> bool | None:
    """Return whether two values are equal, or None if that cannot be computed."""
    return Same(VALUE_KINDS, rules)(gold, answer)


def is_open(value: Value) -> bool:
    r"""Return whether a value contains an operation on numbers that could be worked out: `12 \times 6`, and not 72."""
    kind = next((kind for kind in VALUE_KINDS if kind.holds(value)), None)
    if kind is None or kind.is_open is None:
        return any(map(is_open, list_parts(value)))
    return kind.is_open(value, is_open)
