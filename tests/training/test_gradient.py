"""`zero_variance="skip"` gives TRL's gradient with the advantages of dead groups at 0, optimizer step by step."""

import pytest

from helpers.gradients import Reference, compare_drop, compare_skip, difference, train_for_gradients
from helpers.marks import slow_except
from helpers.reward_functions import first_summand, half_dead
from trl_grpo_rewards import FilteredGRPOTrainer, demo


pytestmark = pytest.mark.compared


def sometimes_none(prompts, completions, **kwargs):
    scores = half_dead(prompts, completions)
    return [None if first_summand(prompt) % 3 == 0 or i % 5 == 0 else scores[i] for i, prompt in enumerate(prompts)]


@pytest.mark.parametrize("loss_type", ["dapo", "grpo"])
def test_gradient_of_skip_equals_trl_with_dead_advantages_at_zero(config, problems, loss_type):
    assert compare_skip(config, problems, loss_type=loss_type) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("aggregation", ["sum_then_normalize", "normalize_then_sum"])
@pytest.mark.parametrize("reward_funcs", [(sometimes_none,), (half_dead, sometimes_none)])
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
    fresh = FilteredGRPOTrainer(demo.MODEL, [half_dead], args=config(), train_dataset=problems).model.state_dict()
    assert difference([got], [fresh]) > 1e-4


def test_gradient_of_skip_computes_only_live_rows(config, problems):
    _, trainer = train_for_gradients(
        FilteredGRPOTrainer, config, problems, [half_dead], per_device_train_batch_size=16
    )
    for entry in trainer.state.log_history[:-1]:
        assert entry["groups/rows_kept"] == round(32 * (1 - entry["groups/dead"]))
        assert entry["groups/rows_kept"] <= entry["groups/rows_computed"] <= entry["groups/rows_kept"] + 2


@pytest.mark.slow
def test_gradient_of_skip_on_a_stream(config, problems):
    stream = problems.to_iterable_dataset()
    assert compare_skip(config, stream, loss_type="dapo", dtype="float64") <= 2e-7


ROW_BY_ROW = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 8}


@pytest.mark.parametrize("options", slow_except([{}], [{}, ROW_BY_ROW]))
@pytest.mark.parametrize("loss_type", slow_except(["grpo"], ["dapo", "grpo", "dr_grpo", "luspo"]))
def test_gradient_of_drop_is_that_of_the_live_groups_alone(config, problems, loss_type, options):
    assert compare_drop(config, problems, loss_type=loss_type, **options) <= 1e-6


@pytest.mark.slow
def test_gradient_of_drop_leaves_an_entropy_bonus_to_live_tokens(config, problems):
    options = {"entropy_coef": 0.01, "gradient_accumulation_steps": 1, "per_device_train_batch_size": 16}
    assert compare_drop(config, problems, loss_type="dapo", **options) <= 1e-6
