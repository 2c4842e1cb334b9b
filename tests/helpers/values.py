"""What tests of mathematics ask: whether two texts are equal by their values alone."""

from trl_grpo_rewards.answers.mathematics.grammar import read
from trl_grpo_rewards.answers.mathematics.kinds import compare_values
from trl_grpo_rewards.answers.mathematics.matching import AnswerRules


def is_equal(one, other, **rules):
    return compare_values(read(one), read(other), AnswerRules(**rules))
