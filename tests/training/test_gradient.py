"""`zero_variance="skip"` gives TRL's gradient with the advantages of dead groups at 0, optimizer step by step."""

import pytest

from helpers.gradients import Reference, compare_drop, compare_skip, difference, train_for_gradients
from helpers.marks import slow_except
from helpers.models import load_layer
from helpers.reward_functions import first_summand, half_dead
from trl_grpo_rewards import FilteredGRPOTrainer


pytestmark = pytest.mark.compared


def sometimes_none(prompts, completions, **kwargs):
    scores = half_dead(prompts, completions)
    return [None if first_summand(prompt) % 3 == 0 or i % 5 == 0 else scores[i] for i, prompt in enumerate(prompts)]


def test_gradient_of_skip_equals_trl_with_dead_advantages_at_zero(config, problems):
    assert compare_skip(config, problems, loss_type="grpo") <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    "reward_funcs, aggregation",
    [
        ((sometimes_none,), "sum_then_normalize"),
        ((half_dead, sometimes_none), "sum_then_normalize"),
        ((half_dead, sometimes_none), "normalize_then_sum"),
    ],
)
def test_gradient_of_skip_with_none(config, problems, reward_funcs, aggregation):
    options = {"multi_objective_aggregation": aggregation, "per_device_train_batch_size": 16}
    assert compare_skip(config, problems, reward_funcs, **options, dtype="float64") <= 2e-7


@pytest.mark.slow
def test_gradient_steps_lead_to_the_same_model(config, problems):
    options = {"learning_rate": 0.05, "optim": "sgd", "weight_decay": 0.0, "max_steps": 5}
    _, reference = train_for_gradients(Reference, config, problems, [half_dead], **options)
    _, trainer = train_for_gradients(FilteredGRPOTrainer, config, problems, [half_dead], **options)
    expected, got = reference.model.state_dict(), trainer.model.state_dict()
    assert difference([got], [expected]) <= 1e-6
    assert difference([got], [load_layer().state_dict()]) > 1e-4


@pytest.mark.slow
def test_gradient_of_skip_on_a_stream(config, problems):
    stream = problems.to_iterable_dataset()
    assert compare_skip(config, stream, loss_type="dapo", dtype="float64") <= 2e-7


ROW_BY_ROW = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 8}
SPLIT = [("grpo", {}), ("dapo", {}), *((loss, ROW_BY_ROW) for loss in ("dapo", "grpo", "dr_grpo", "luspo"))]


@pytest.mark.parametrize("case", slow_except(SPLIT[:1], SPLIT), ids=str)
def test_gradient_of_drop_is_that_of_the_live_groups_alone(config, problems, case):
    loss_type, options = case
    assert compare_drop(config, problems, loss_type=loss_type, **options) <= 1e-6


@pytest.mark.slow
def test_gradient_of_drop_leaves_an_entropy_bonus_to_live_tokens(config, problems):
    options = {"entropy_coef": 0.01, "gradient_accumulation_steps": 1, "per_device_train_batch_size": 16}
    assert compare_drop(config, problems, loss_type="dapo", **options) <= 1e-6
