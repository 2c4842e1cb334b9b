"""What tests of mathematics ask: whether two texts are equal by their values alone."""

from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds import compare_values
from trl_grpo_rewards.mathematics.matching import AnswerRules


def is_equal(one, other, **rules):
    return compare_values(read(one), read(other), AnswerRules(**rules))
