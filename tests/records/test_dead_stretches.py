"""A stretch of steps in which the outcome reward teaches nothing."""

from trl_grpo_rewards.records.dead_stretches import MIN_GROUPS, DeadStretch


KINDS = {"l": "live", "f": "failed", "s": "solved", "F": "live"}  # F: failed, and live by another reward


def tell(*steps: str) -> str:
    """Observe the kinds of groups, step by step, and return what is told at the end."""
    stretch = DeadStretch()
    for step, letters in enumerate(steps, 1):
        stretch.observe(step, [KINDS[one] for one in letters], [KINDS[one.lower()] for one in letters])
    return stretch.describe("boxed") if stretch.is_long else ""


def test_steps_with_a_live_group_begin_a_new_stretch():
    assert not tell(*["ffff"] * 4, "fffl", *["ffff"] * 4)
    told = tell(*["ffff"] * 4, "fffl", *["fffs"] * 5)
    assert "steps 6 to 10" in told and "15 of 20 groups were 'failed'" in told
    assert not tell(*["ffff"] * 20, "lfff")


def test_few_groups_may_be_dead_by_chance():
    assert not tell(*["f"] * (MIN_GROUPS - 1))
    assert "steps 1 to 20" in tell(*["f"] * MIN_GROUPS)


def test_one_group_that_the_outcome_makes_live_begins_a_new_stretch():
    told = tell("ffFF", "FFFF", "lfff", *["FFff"] * 4, "FFFs")
    assert "in steps 4 to 8, so only other rewards were learned: 19 of 20 groups were 'failed'" in told
