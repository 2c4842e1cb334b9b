"""What tests of mathematics ask: whether two texts are equal, and what value a text is."""

from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds import compare
from trl_grpo_rewards.mathematics.kinds.arrays import Matrix
from trl_grpo_rewards.mathematics.kinds.bases import Based
from trl_grpo_rewards.mathematics.kinds.families import Residue
from trl_grpo_rewards.mathematics.kinds.lists import Collection
from trl_grpo_rewards.mathematics.kinds.quantities import Quantity
from trl_grpo_rewards.mathematics.kinds.relations import Relation
from trl_grpo_rewards.mathematics.kinds.sets import Builder
from trl_grpo_rewards.mathematics.matching import AnswerRules
from trl_grpo_rewards.mathematics.values import Call, Number, Operation, Symbol


def is_equal(one, other, **rules):
    return compare(read(one), read(other), AnswerRules(**rules))


def write(value):
    """Return a value as nested lists, which are short to write."""
    match value:
        case Number():
            return int(value.value) if value.value.denominator == 1 else value.value
        case Symbol():
            return value.name
        case Operation():
            name = f"call {value.name}" if isinstance(value, Call) else value.name
            return [name, *map(write, value.operands)]
        case Collection():
            return [value.brackets, *map(write, value.items)]
        case Relation():
            return [*value.signs, *map(write, value.sides)]
        case Matrix():
            return [[write(cell) for cell in row] for row in value.rows]
        case Builder():
            return ["|", write(value.condition)]
        case Based():
            return ["base", value.digits, value.base]
        case Residue():
            return ["pmod", write(value.value), write(value.modulus)]
        case Quantity():
            return ["unit", write(value.value), *value.unit]
        case _:
            return value
