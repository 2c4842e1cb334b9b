"""`zero_variance="skip"` gives TRL's gradient with the advantages of dead groups at 0, optimizer step by step."""

import pytest
from peft import LoraConfig
from trl import GRPOTrainer

from helpers.gradients import FLOAT32, Reference, compare_drop, compare_skip, difference, train_for_gradients
from helpers.marks import slow_except
from helpers.reward_functions import all_dead, first_summand, form, half_dead
from trl_grpo_rewards import FilteredGRPOTrainer, demo


def half_dead_dyadic(prompts, completions, **kwargs):
    return [
        0.5 if first_summand(prompt) % 2 == 0 else form(completion)
        for prompt, completion in zip(prompts, completions, strict=True)
    ]


def sometimes_none(prompts, completions, **kwargs):
    scores = half_dead(prompts, completions)
    return [None if first_summand(prompt) % 3 == 0 or i % 5 == 0 else scores[i] for i, prompt in enumerate(prompts)]


def shortness(completions, **kwargs):
    return [1 / (1 + len(completion[0]["content"])) for completion in completions]


LOSSES = ["dapo", "grpo", "dr_grpo", "cispo", "vespo", "sapo", "luspo"]


@pytest.mark.parametrize("loss_type", slow_except(["dapo", "grpo"], LOSSES))
def test_gradient_of_skip_equals_trl_with_dead_advantages_at_zero(config, problems, loss_type):
    assert compare_skip(config, problems, loss_type=loss_type) <= FLOAT32


@pytest.mark.parametrize("loss_type", slow_except(["dapo"], ["dapo", "grpo", "dr_grpo"]))
def test_gradient_of_skip_equals_trl_as_it_is_where_floats_represent_the_reward(config, problems, loss_type):
    expected, _ = train_for_gradients(GRPOTrainer, config, problems, [half_dead_dyadic], loss_type=loss_type)
    got, _ = train_for_gradients(FilteredGRPOTrainer, config, problems, [half_dead_dyadic], loss_type=loss_type)
    assert difference(got, expected) <= FLOAT32


QUICK = [
    {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 8},
    {"num_iterations": 2},
    {"mask_truncated_completions": True},
]
SLOW = [
    {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4},
    {"steps_per_generation": 8, "gradient_accumulation_steps": 4},
    {"steps_per_generation": 2, "gradient_accumulation_steps": 4},
    {"steps_per_generation": 4, "gradient_accumulation_steps": 3},
    {"scale_rewards": "batch"},
    {"scale_rewards": "none"},
    {"gradient_checkpointing": True},
]


@pytest.mark.parametrize("loss_type", slow_except(["grpo"], ["dapo", "grpo"]))
@pytest.mark.parametrize(
    "options",
    slow_except(QUICK, QUICK + SLOW),
    ids=lambda options: ",".join(f"{name}={value}" for name, value in options.items()),
)
def test_gradient_of_skip_is_exact_in_every_step(config, problems, options, loss_type):
    # float64, since a batch of few rows can cancel to a gradient that float32 knows no better than to 1e-6
    assert compare_skip(config, problems, **options, loss_type=loss_type, dtype="float64") <= 2e-7


@pytest.mark.slow
@pytest.mark.parametrize("aggregation", ["sum_then_normalize", "normalize_then_sum"])
@pytest.mark.parametrize("reward_funcs", [(sometimes_none,), (half_dead, sometimes_none)])
def test_gradient_of_skip_with_none(config, problems, reward_funcs, aggregation):
    options = {"multi_objective_aggregation": aggregation, "per_device_train_batch_size": 16}
    assert compare_skip(config, problems, reward_funcs, **options, dtype="float64") <= 2e-7


def test_gradient_is_zero_where_every_group_is_dead(config, problems):
    got, _ = train_for_gradients(FilteredGRPOTrainer, config, problems, [all_dead])
    assert all(gradient.norm() == 0 for step in got for gradient in step.values())


@pytest.mark.slow
def test_gradient_of_keep_is_trl_as_it_is(config, problems):
    expected, _ = train_for_gradients(GRPOTrainer, config, problems, [half_dead, shortness], beta=0.1)
    got, _ = train_for_gradients(
        FilteredGRPOTrainer, config, problems, [half_dead, shortness], beta=0.1, zero_variance="keep"
    )
    assert difference(got, expected) == 0.0


@pytest.mark.slow
def test_gradient_steps_lead_to_the_same_model(config, problems):
    options = {"learning_rate": 0.05, "optim": "sgd", "weight_decay": 0.0, "max_steps": 5}
    _, reference = train_for_gradients(Reference, config, problems, [half_dead], **options)
    _, trainer = train_for_gradients(FilteredGRPOTrainer, config, problems, [half_dead], **options)
    expected, got = reference.model.state_dict(), trainer.model.state_dict()
    assert difference([got], [expected]) <= FLOAT32
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
def test_gradient_of_skip_with_lora(config, problems):
    options = {"peft_config": LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)}
    assert compare_skip(config, problems, **options, loss_type="grpo", dtype="float64") <= 2e-7


@pytest.mark.slow
def test_gradient_of_skip_on_a_stream(config, problems):
    stream = problems.to_iterable_dataset()
    assert compare_skip(config, stream, loss_type="dapo", dtype="float64") <= 2e-7


@pytest.mark.parametrize("options", slow_except([{}], [{}, QUICK[0]]))
@pytest.mark.parametrize("loss_type", slow_except(["grpo"], ["dapo", "grpo", "dr_grpo", "luspo"]))
def test_gradient_of_drop_is_that_of_the_live_groups_alone(config, problems, loss_type, options):
    assert compare_drop(config, problems, loss_type=loss_type, **options) <= FLOAT32


@pytest.mark.slow
def test_gradient_of_drop_leaves_an_entropy_bonus_to_live_tokens(config, problems):
    options = {"entropy_coef": 0.01, "gradient_accumulation_steps": 1, "per_device_train_batch_size": 16}
    assert compare_drop(config, problems, loss_type="dapo", **options) <= FLOAT32
