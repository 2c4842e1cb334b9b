"""`zero_variance="skip"` gives TRL's gradient with the advantages of dead groups at 0, optimizer step by step."""

import pytest
import torch
from peft import LoraConfig
from transformers import AutoModelForCausalLM, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, demo


def first_summand(prompt) -> int:
    return int(prompt[0]["content"].split()[2])


def form(completion) -> float:
    text = completion[0]["content"]
    return 0.6 * ("<" in text) + 0.3 * ("1" in text)


def half_dead(prompts, completions, **kwargs):
    """Groups of even problems are worth 0.7 throughout, which float32 does not represent; others depend on the text."""
    return [
        0.7 if first_summand(prompt) % 2 == 0 else form(completion)
        for prompt, completion in zip(prompts, completions, strict=True)
    ]


def half_dead_dyadic(prompts, completions, **kwargs):
    return [
        0.5 if first_summand(prompt) % 2 == 0 else form(completion)
        for prompt, completion in zip(prompts, completions, strict=True)
    ]


def sometimes_none(prompts, completions, **kwargs):
    scores = half_dead(prompts, completions)
    return [None if first_summand(prompt) % 3 == 0 or i % 5 == 0 else scores[i] for i, prompt in enumerate(prompts)]


def all_dead(prompts, **kwargs):
    return [0.3] * len(prompts)


def shortness(completions, **kwargs):
    return [1 / (1 + len(completion[0]["content"])) for completion in completions]


class Gradients(TrainerCallback):
    def __init__(self):
        self.steps = []

    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        self.steps.append({name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})


class Reference(GRPOTrainer):
    """TRL with the advantages of dead groups set to 0."""

    def _calculate_rewards(self, *args):
        self.seen = super()._calculate_rewards(*args)
        return self.seen

    def _generate_and_score_completions(self, inputs):
        output = super()._generate_and_score_completions(inputs)
        groups = self.seen.view(-1, self.num_generations, self.seen.size(1))
        dead = torch.tensor([self.is_dead(group) for group in groups]).repeat_interleave(self.num_generations)
        first = self.accelerator.process_index * len(inputs)
        output["advantages"][dead[first : first + len(inputs)]] = 0.0
        return output

    def is_dead(self, group):
        apart = self.multi_objective_aggregation == "normalize_then_sum"
        total = group.nansum(1).masked_fill(group.isnan().all(1), torch.nan)
        columns = [column[~column.isnan()] for column in (group.unbind(1) if apart else [total])]
        return all(len(column) < 2 or column.max() - column.min() <= 1e-6 for column in columns)


def run(trainer_class, config, problems, reward_funcs, dtype="float32", **options):
    gradients = Gradients()
    config_class = FilteredGRPOConfig if issubclass(trainer_class, FilteredGRPOTrainer) else GRPOConfig
    peft_config = options.pop("peft_config", None)
    torch.manual_seed(0)
    args = config(cls=config_class, **{"max_steps": 3, "gradient_accumulation_steps": 2, **options})
    model = AutoModelForCausalLM.from_pretrained(demo.MODEL, dtype=getattr(torch, dtype))
    trainer = trainer_class(
        model, list(reward_funcs), args=args, train_dataset=problems, callbacks=[gradients], peft_config=peft_config
    )
    trainer.train()
    assert len(gradients.steps) == args.max_steps
    return gradients.steps, trainer


def difference(one, other):
    """Largest relative difference between the gradients of a step, over all steps."""
    norms = []
    for left, right in zip(one, other, strict=True):
        gap = torch.cat([(left[name] - right[name]).flatten() for name in right]).norm()
        norms.append(
            (gap / torch.cat([gradient.flatten() for gradient in right.values()]).norm().clamp(min=1e-12)).item()
        )
    return max(norms)


def skip_against_reference(config, problems, reward_funcs=(half_dead,), **options):
    expected, reference = run(Reference, config, problems, reward_funcs, **options)
    got, trainer = run(FilteredGRPOTrainer, config, problems, reward_funcs, **options)
    assert list(trainer._logs["completion"]) == list(reference._logs["completion"])  # the same random stream
    dead = [entry["groups/dead"] for entry in trainer.state.log_history if "groups/dead" in entry]
    assert dead and max(dead) > 0
    return difference(got, expected)


@pytest.mark.parametrize("loss_type", ["dapo", "grpo", "dr_grpo", "cispo", "vespo", "sapo", "luspo"])
def test_gradient_of_skip_equals_trl_with_dead_advantages_at_zero(config, problems, loss_type):
    assert skip_against_reference(config, problems, loss_type=loss_type) <= 1e-6


@pytest.mark.parametrize("loss_type", ["dapo", "grpo", "dr_grpo"])
def test_gradient_of_skip_equals_trl_as_it_is_where_floats_represent_the_reward(config, problems, loss_type):
    expected, _ = run(GRPOTrainer, config, problems, [half_dead_dyadic], loss_type=loss_type)
    got, _ = run(FilteredGRPOTrainer, config, problems, [half_dead_dyadic], loss_type=loss_type)
    assert difference(got, expected) <= 1e-6


@pytest.mark.parametrize("loss_type", ["dapo", "grpo"])
@pytest.mark.parametrize(
    "options",
    [
        {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 8},
        {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4},
        {"steps_per_generation": 8, "gradient_accumulation_steps": 4},
        {"steps_per_generation": 2, "gradient_accumulation_steps": 4},
        {"steps_per_generation": 4, "gradient_accumulation_steps": 3},
        {"num_iterations": 2},
        {"scale_rewards": "batch"},
        {"scale_rewards": "none"},
        {"mask_truncated_completions": True},
        {"gradient_checkpointing": True},
    ],
    ids=lambda options: ",".join(f"{name}={value}" for name, value in options.items()),
)
def test_gradient_of_skip_is_exact_in_every_step(config, problems, options, loss_type):
    # float64, since a batch of few rows can cancel to a gradient that float32 knows no better than to 1e-6
    assert skip_against_reference(config, problems, **options, loss_type=loss_type, dtype="float64") <= 2e-7


@pytest.mark.parametrize("aggregation", ["sum_then_normalize", "normalize_then_sum"])
@pytest.mark.parametrize("reward_funcs", [(sometimes_none,), (half_dead, sometimes_none)])
def test_gradient_of_skip_with_none(config, problems, reward_funcs, aggregation):
    options = {"multi_objective_aggregation": aggregation, "per_device_train_batch_size": 16}
    assert skip_against_reference(config, problems, reward_funcs, **options, dtype="float64") <= 2e-7


def test_gradient_is_zero_where_every_group_is_dead(config, problems):
    got, _ = run(FilteredGRPOTrainer, config, problems, [all_dead])
    assert all(gradient.norm() == 0 for step in got for gradient in step.values())


def test_gradient_of_keep_is_trl_as_it_is(config, problems):
    expected, _ = run(GRPOTrainer, config, problems, [half_dead, shortness], beta=0.1)
    got, _ = run(FilteredGRPOTrainer, config, problems, [half_dead, shortness], beta=0.1, zero_variance="keep")
    assert difference(got, expected) == 0.0


def test_gradient_steps_lead_to_the_same_model(config, problems):
    options = {"learning_rate": 0.05, "optim": "sgd", "weight_decay": 0.0, "max_steps": 5}
    _, reference = run(Reference, config, problems, [half_dead], **options)
    _, trainer = run(FilteredGRPOTrainer, config, problems, [half_dead], **options)
    expected, got = reference.model.state_dict(), trainer.model.state_dict()
    assert difference([got], [expected]) <= 1e-6
    fresh = FilteredGRPOTrainer(demo.MODEL, [half_dead], args=config(), train_dataset=problems).model.state_dict()
    assert difference([got], [fresh]) > 1e-4


def test_gradient_of_skip_computes_only_live_rows(config, problems):
    _, trainer = run(FilteredGRPOTrainer, config, problems, [half_dead], per_device_train_batch_size=16)
    for entry in trainer.state.log_history[:-1]:
        assert entry["groups/rows_kept"] == round(32 * (1 - entry["groups/dead"]))
        assert entry["groups/rows_kept"] <= entry["groups/rows_computed"] <= entry["groups/rows_kept"] + 2


def test_gradient_of_skip_with_lora(config, problems):
    options = {"peft_config": LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)}
    assert skip_against_reference(config, problems, **options, loss_type="grpo", dtype="float64") <= 2e-7


def test_gradient_of_skip_on_a_stream(config, problems):
    stream = problems.to_iterable_dataset()
    assert skip_against_reference(config, stream, loss_type="dapo", dtype="float64") <= 2e-7


class DropReference(Reference):
    """TRL with the tokens of dead groups masked, and the loss divided by what is left."""

    def _generate_and_score_completions(self, inputs):
        output = super()._generate_and_score_completions(inputs)
        groups = self.seen.view(-1, self.num_generations, self.seen.size(1))
        dead = torch.tensor([self.is_dead(group) for group in groups]).repeat_interleave(self.num_generations)
        first = self.accelerator.process_index * len(inputs)
        output["completion_mask"][dead[first : first + len(inputs)]] = 0
        output["num_items_in_batch"] = self.accelerator.gather(output["completion_mask"].sum()).sum()
        self.of_rows = (
            len(dead) / max(1, int((~dead).sum())) if self.loss_type in ("grpo", "dr_grpo", "luspo") else 1.0
        )
        return output

    def compute_loss(self, *args, **kwargs):
        return super().compute_loss(*args, **kwargs) * self.of_rows


def drop_against_reference(config, problems, **options):
    options = {"beta": 0.1, "learning_rate": 0.05, "optim": "sgd", "dtype": "float64", **options}  # KL begins at 0
    expected, _ = run(DropReference, config, problems, (half_dead,), **options)
    got, trainer = run(FilteredGRPOTrainer, config, problems, (half_dead,), **options, zero_variance="drop")
    assert max(entry["groups/dead"] for entry in trainer.state.log_history if "groups/dead" in entry) > 0
    return difference(got, expected)


@pytest.mark.parametrize("options", [{}, {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 8}])
@pytest.mark.parametrize("loss_type", ["dapo", "grpo", "dr_grpo", "luspo"])
def test_gradient_of_drop_is_that_of_the_live_groups_alone(config, problems, loss_type, options):
    assert drop_against_reference(config, problems, loss_type=loss_type, **options) <= 1e-6


def test_gradient_of_drop_leaves_an_entropy_bonus_to_live_tokens(config, problems):
    options = {"entropy_coef": 0.01, "gradient_accumulation_steps": 1, "per_device_train_batch_size": 16}
    assert drop_against_reference(config, problems, loss_type="dapo", **options) <= 1e-6
