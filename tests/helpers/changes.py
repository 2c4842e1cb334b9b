"""Changes of the objective: a method of TRL's trainer, and what is made of it. Each is called with the plain method."""

import torch

from helpers.gradients import SGD, difference, has_gradient, train_for_gradients
from helpers.reward_functions import half_dead
from trl_grpo_rewards import FilteredGRPOConfig


def add_to_advantages(self, plain, inputs):
    output = plain(inputs)
    return {**output, "advantages": output["advantages"] + 0.5}


def add_to_advantages_of_tokens(self, plain, inputs):
    output = plain(inputs)
    places = torch.arange(output["completion_ids"].size(1))
    return {**output, "advantages": output["advantages"][:, None] + places / 8 - 0.25}


def double_advantages(self, plain, inputs):
    output = plain(inputs)
    return {**output, "advantages": 2 * output["advantages"][:, None]}


def mask_tokens(self, plain, inputs):
    """Leave the first tokens of completions out of the loss, and some of each prompt out of sight."""
    output = plain(inputs)
    masks = {name: output[name].clone() for name in ("prompt_mask", "completion_mask")}
    masks["completion_mask"][:, :2], masks["prompt_mask"][:, -4:-2] = 0, 0
    return output | masks


def ask_model(self, plain, model, *args, **kwargs):
    assert model.config is self.model.config
    return plain(model, *args, **kwargs)


def shorten(self, plain, prompts):
    """Cut the text of completions, not their tokens."""
    prompt_ids, ids, mask, completions, *others = plain(prompts)
    completions = [[{"role": "assistant", "content": one[-1]["content"][:5]}] for one in completions]
    return prompt_ids, ids, mask, completions, *others


def score_by_place(self, plain, *args):
    rewards = plain(*args)
    return torch.arange(rewards.numel(), dtype=rewards.dtype).view(rewards.shape) % 5 / 8


def take_mean(self, plain, model, inputs):
    """The mean over all places of a micro-batch, its padding included."""
    ids, mask = (torch.cat([inputs[f"prompt_{name}"], inputs[f"completion_{name}"]], 1) for name in ("ids", "mask"))
    logps = self._get_per_token_logps_and_entropies(model, ids, mask, inputs["completion_ids"].size(1))[0]
    return -(inputs["advantages"].unsqueeze(1) * logps).mean() / self.current_gradient_accumulation_steps


def add_weight_decay(self, plain, model, inputs, *args, **kwargs):
    return plain(model, inputs, *args, **kwargs) + 0.1 * sum(one.square().sum() for one in model.parameters())


CHANGES = {
    "advantages": ("_generate_and_score_completions", add_to_advantages),
    "advantages of tokens": ("_generate_and_score_completions", add_to_advantages_of_tokens),
    "doubled advantages": ("_generate_and_score_completions", double_advantages),
    "masks": ("_generate_and_score_completions", mask_tokens),
    "log-probabilities": ("_get_per_token_logps_and_entropies", ask_model),
    "batches": ("_prepare_inputs", add_to_advantages),
    "completions": ("_generate", shorten),
    "rewards": ("_calculate_rewards", score_by_place),
    "loss": ("_compute_loss", take_mean),
    "loss around TRL's": ("compute_loss", add_weight_decay),
}


def subclass(base, method, change):
    """Return a subclass in which a method is what `change` makes of it."""

    class Changed(base):
        pass

    def changed(self, *args, **kwargs):
        return change(self, getattr(super(Changed, self), method), *args, **kwargs)

    setattr(Changed, method, changed)
    return Changed


def compare_changes(config, problems, theirs, ours, reward=half_dead, **options):
    """Return the largest difference of our gradients, our trainer, and TRL's. Options of ours alone are possible."""
    own = {name: options.pop(name) for name in FilteredGRPOConfig.__annotations__ if name in options}
    options = {
        "gradient_accumulation_steps": 4,
        "per_device_train_batch_size": 4,
        "dtype": "float64",
        **SGD,
        **options,
    }
    expected, reference = train_for_gradients(theirs, config, problems, [reward], **options)
    got, trainer = train_for_gradients(ours, config, problems, [reward], **options, **own)
    assert has_gradient(expected) and [*trainer._logs["completion"]] == [*reference._logs["completion"]]
    return difference(got, expected), trainer, reference
