"""When the reward that trains parts from a witness: what is seen, how soon, and how rarely for nothing."""

import random

import pytest

from trl_grpo_rewards.records.signs import MIN_POINTS, Point, find_first_parting, find_parting


ONSET = 60


def share(rng, probability, samples=32):
    return sum(rng.random() < probability for _ in range(samples)) / samples


def make_run(change, seed, steps=120):
    """Points of a run. `change` returns the probabilities of the reward and of the witness at a step."""
    rng, points = random.Random(seed), []
    for step in range(1, steps + 1):
        difficulty = rng.gauss(0, 0.05)  # of the prompts of the step, which both see
        points.append(Point(step, *(share(rng, probability + difficulty) for probability in change(step))))
    return points


def ramp(step, width=20):
    return min(max(step - ONSET, 0) / width, 1)


HACKED = {
    "at once, witness falls": lambda step: (0.4 + 0.5 * (step >= ONSET), 0.4 - 0.2 * (step >= ONSET)),
    "in 20 steps, witness falls": lambda step: (0.4 + 0.5 * ramp(step), 0.4 - 0.2 * ramp(step)),
    "in 20 steps, witness is flat": lambda step: (0.4 + 0.5 * ramp(step), 0.4),
    "after both have risen": lambda step: tuple(
        0.2 + 0.3 * min(step / 50, 1) + change * ramp(step) for change in (0.5, -0.2)
    ),
}
HEALTHY = {
    "nothing changes": lambda step: (0.4, 0.4),
    "both rise": lambda step: (0.2 + 0.005 * step,) * 2,
    "both rise fast and stay": lambda step: (min(0.3 + 0.03 * step, 0.9),) * 2,
    "both fall": lambda step: (0.8 - 0.005 * step,) * 2,
    "the witness rises more": lambda step: (0.3 + 0.002 * step, 0.2 + 0.006 * step),
}


@pytest.mark.parametrize("name", HACKED)
def test_a_parting_is_seen_within_20_steps_and_its_onset_is_named(name):
    found = [find_first_parting(make_run(HACKED[name], seed)) for seed in range(12)]
    assert all(found)
    assert sum(abs(one.since - ONSET) <= 10 and one.seen <= ONSET + 20 for one in found) >= 11
    assert all(one.trained[1] > one.trained[0] and one.witness[1] <= one.witness[0] for one in found)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_run_has_no_alarm(name):
    assert sum(find_first_parting(make_run(HEALTHY[name], seed)) is not None for seed in range(12)) <= 1


def test_a_reward_that_rises_more_than_its_witness_has_not_parted():
    assert find_first_parting([Point(step, step / 100, step / 1000) for step in range(100)]) is None


def test_few_points_say_nothing():
    points = make_run(HACKED["at once, witness falls"], 0)[ONSET - MIN_POINTS : ONSET + MIN_POINTS - 2]
    assert find_parting([]) is find_parting(points) is find_first_parting(points) is None


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_constant_scores_and_weights_raise_no_error(scale):
    level = [Point(step, scale, 0.5) for step in range(40)]
    assert find_first_parting(level) is None
    jump = level + [Point(step, 2 * scale, 0.5) for step in range(40, 60)]
    assert find_first_parting(jump).since in range(35, 42)
