"""What a run says when no group is live for several steps."""

import logging

import pytest

from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOTrainer, demo, reward
from trl_grpo_rewards.training.dead_stretch import MIN_GROUPS, MIN_STEPS, REMEDIES, DeadStretch


@reward(outcome=True)
def given_score(completion: str, *, score: float | None = 0.0) -> float | None:
    return score


@reward
def letters(completion: str) -> float:
    return len(completion) / 100


@pytest.fixture
def observe(tmp_path, caplog):
    """Observe the kinds of groups, step by step, and return the warnings."""

    def observe(*steps: str) -> list[str]:
        kinds = {"l": "live", "f": "failed", "s": "solved", "F": "live"}  # F: failed, and live by another reward
        stretch = DeadStretch("given_score", small_config(tmp_path))
        for step, letters in enumerate(steps, 1):
            by_outcome = [kinds[letter.lower()] for letter in letters]
            stretch.observe(step, [kinds[letter] for letter in letters], by_outcome)
        return [record.getMessage() for record in caplog.records]

    return observe


@pytest.mark.parametrize("score, kind", [(0.0, "failed"), (1.0, "solved"), (0.5, "flat"), (None, "unscored")])
@pytest.mark.filterwarnings("ignore:All reward functions returned None")
def test_a_run_without_a_live_group_says_what_to_look_at(tmp_path, caplog, score, kind):
    args = small_config(tmp_path, per_device_train_batch_size=16, max_steps=MIN_STEPS + 1)
    with caplog.at_level(logging.WARNING):
        FilteredGRPOTrainer(
            demo.MODEL, given_score(score=score), args=args, train_dataset=demo.arithmetic(size=64)
        ).train()
    (said,) = (record.getMessage() for record in caplog.records if "No group was live" in record.getMessage())
    assert said.startswith(
        f"No group was live in steps 1 to {MIN_STEPS}, so nothing was learned: 20 of 20 groups were {kind!r}."
    )
    assert REMEDIES[kind].format(outcome="'given_score'") in said and said.endswith(f"report {args.output_dir}.")


def test_steps_with_a_live_group_begin_a_new_stretch(observe):
    assert not observe(*["ffff"] * 4, "fffl", *["ffff"] * 4)
    (said,) = observe(*["ffff"] * 4, "fffl", *["fffs"] * 5)
    assert "steps 6 to 10" in said and "15 of 20 groups were 'failed'" in said


def test_few_groups_may_be_dead_by_chance(observe):
    assert not observe(*["f"] * (MIN_GROUPS - 1))
    assert "steps 1 to 20" in observe(*["f"] * MIN_GROUPS)[0]


def test_it_is_said_once(observe):
    assert len(observe(*["ffff"] * 20, "llll", *["ffff"] * 20)) == 1


def test_groups_that_only_another_reward_makes_live_are_told_apart(tmp_path, caplog):
    args = small_config(tmp_path, per_device_train_batch_size=16, max_steps=MIN_STEPS + 1)
    rewards = given_score(score=0.0, name="right") + 0.2 * letters()
    with caplog.at_level(logging.WARNING):
        FilteredGRPOTrainer(demo.MODEL, rewards, args=args, train_dataset=demo.arithmetic(size=64)).train()
    (said,) = (record.getMessage() for record in caplog.records if "were learned" in record.getMessage())
    assert said.startswith(
        "'right' was the same for all completions of each prompt in steps 1 to 5, so only other rewards were learned: "
        "20 of 20 groups were 'failed'. Read some completions"
    )


def test_one_group_that_the_outcome_makes_live_begins_a_new_stretch(observe):
    (said,) = observe("ffFF", "FFFF", "lfff", *["FFff"] * 4, "FFFs")
    assert "in steps 4 to 8" in said and "19 of 20 groups were 'failed'" in said
