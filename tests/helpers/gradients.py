"""The gradients of each optimizer step, of our trainer and of TRL's with known changes."""

import torch
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from helpers.models import load_layer
from helpers.reward_functions import half_dead
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer


ARGUMENTS = ("peft_config", "processing_class", "tools", "environment_factory", "rollout_func", "eval_dataset")
SGD = {"learning_rate": 0.01, "optim": "sgd", "weight_decay": 0.0}


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
        self.dead = torch.tensor([self.is_dead(group) for group in groups]).repeat_interleave(self.num_generations)
        first = self.accelerator.process_index * len(inputs)
        self.own = self.dead[first : first + len(inputs)]
        output["advantages"][self.own] = 0.0
        return output

    def is_dead(self, group):
        apart = self.multi_objective_aggregation == "normalize_then_sum"
        total = group.nansum(1).masked_fill(group.isnan().all(1), torch.nan)
        columns = [column[~column.isnan()] for column in (group.unbind(1) if apart else [total])]
        return all(len(column) < 2 or column.max() - column.min() <= 1e-6 for column in columns)


def train_for_gradients(trainer_class, config, problems, reward_funcs, dtype="float32", model=None, **options):
    gradients = Gradients()
    config_class = FilteredGRPOConfig if issubclass(trainer_class, FilteredGRPOTrainer) else GRPOConfig
    arguments = {name: options.pop(name) for name in ARGUMENTS if name in options}
    torch.manual_seed(0)
    args = config(cls=config_class, **{"max_steps": 2, "gradient_accumulation_steps": 2, **options})
    model = model or load_layer(dtype)
    trainer = trainer_class(
        model, list(reward_funcs), args=args, train_dataset=problems, callbacks=[gradients], **arguments
    )
    trainer.train()
    assert len(gradients.steps) == trainer.state.max_steps
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


def has_gradient(steps):
    return any(gradient.any() for step in steps for gradient in step.values())


def compare_skip(config, problems, reward_funcs=(half_dead,), **options):
    expected, reference = train_for_gradients(Reference, config, problems, reward_funcs, **options)
    got, trainer = train_for_gradients(FilteredGRPOTrainer, config, problems, reward_funcs, **options)
    assert list(trainer._logs["completion"]) == list(reference._logs["completion"])  # the same random stream
    assert has_gradient(expected)
    dead = [entry["groups/dead"] for entry in trainer.state.log_history if "groups/dead" in entry]
    assert dead and max(dead) > 0
    return difference(got, expected)


class DropReference(Reference):
    """TRL with the tokens of dead groups masked, and the loss divided by what is left."""

    def _generate_and_score_completions(self, inputs):
        output = super()._generate_and_score_completions(inputs)
        output["completion_mask"][self.own] = 0
        mask = output["completion_mask"] * output.get("tool_mask", 1)
        output["num_items_in_batch"] = self.accelerator.gather(mask.sum()).sum()
        self.of_rows = (
            len(self.dead) / max(1, int((~self.dead).sum())) if self.loss_type in ("grpo", "dr_grpo", "luspo") else 1.0
        )
        return output

    def compute_loss(self, *args, **kwargs):
        return super().compute_loss(*args, **kwargs) * self.of_rows


def compare_drop(config, problems, reward_funcs=(half_dead,), **options):
    options = {"beta": 0.1, "learning_rate": 0.05, "optim": "sgd", "dtype": "float64", **options}  # KL begins at 0
    expected, _ = train_for_gradients(DropReference, config, problems, reward_funcs, **options)
    assert has_gradient(expected)
    got, trainer = train_for_gradients(
        FilteredGRPOTrainer, config, problems, reward_funcs, **options, zero_variance="drop"
    )
    assert max(entry["groups/dead"] for entry in trainer.state.log_history if "groups/dead" in entry) > 0
    return difference(got, expected)
