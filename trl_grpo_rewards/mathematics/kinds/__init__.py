"""The kinds of values. Each has a module: what a value of this kind is, how it is read, and how it is compared."""

from .arrays import MATRICES
from .bases import BASED
from .cases import CASES
from .choices import CHOICES
from .expressions import EXPRESSIONS, FORMAL_OPERATIONS
from .families import FAMILIES
from .lists import COLLECTIONS
from .quantities import QUANTITIES, QUANTITIES_IN_PARTS
from .ratios import DASHES, RATIOS
from .relations import NAMED_ITEMS, RELATIONS
from .sets import BUILDERS, INTERVALS, SETS
from .texts import TEXTS
from .times import TIMES


KINDS = (
    FAMILIES,
    CHOICES,
    DASHES,
    SETS,
    INTERVALS,
    BUILDERS,
    RELATIONS,
    QUANTITIES,
    QUANTITIES_IN_PARTS,
    MATRICES,
    NAMED_ITEMS,
    COLLECTIONS,
    CASES,
    RATIOS,
    TIMES,
    BASED,
    TEXTS,
    FORMAL_OPERATIONS,
    EXPRESSIONS,
)
"""
The kinds, in the order in which they decide whether two values are equal: kinds that hold values of others come first.
"""
