"""What a run logs of its micro-batches, and the same computed again over the tokens and the sequences of live rows."""

from collections import defaultdict

import torch
from transformers import TrainerCallback

from helpers.models import load_layer
from helpers.reward_functions import half_dead
from trl_grpo_rewards import FilteredGRPOTrainer


class Recomputed(FilteredGRPOTrainer):
    """Adds up in 64 bits what each pass with a gradient gives."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.sums, self.differences, self.names = defaultdict(lambda: torch.zeros(2, dtype=torch.float64)), [], set()
        self.add_callback(Compare(self))

    def _get_per_token_logps_and_entropies(self, *args, **kwargs):
        found = super()._get_per_token_logps_and_entropies(*args, **kwargs)
        if torch.is_grad_enabled():
            self.add(*(one.detach().double() for one in found[:2]))
        return found

    def add(self, logps, entropies):
        own = self._buffered_inputs[self._step % self.args.steps_per_generation]
        mask = (own["completion_mask"] * own.get("tool_mask", 1)).double()
        old, advantages = own.get("old_per_token_logps"), own["advantages"].unsqueeze(1)
        ratio, weights = logps - (logps if old is None else old), mask
        if self.importance_sampling_level == "sequence":
            weights = mask.any(1, keepdim=True).double()  # a filler has no tokens
            ratio = (ratio * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
        low = (ratio.exp() < 1 - self.epsilon_low) & (advantages < 0)
        high = (ratio.exp() > 1 + self.epsilon_high) & (advantages > 0)
        values = {"entropy": (entropies, mask)}
        if self.loss_type == "cispo":
            values["cispo_clip_ratio"] = (ratio.exp() > self.epsilon_high) & (advantages > 0), weights
        elif self.loss_type != "sapo":
            clipped = {"low_mean": low, "high_mean": high, "region_mean": low | high}
            values |= {f"clip_ratio/{name}": (one, weights) for name, one in clipped.items()}
        if self.beta:
            change = own["ref_per_token_logps"] - logps
            values["kl"] = (change.exp() - change - 1) * ratio.exp(), mask
        for name, (value, weight) in values.items():
            self.sums[name] += torch.stack([(value * weight).sum(), weight.sum()])


class Compare(TrainerCallback):
    def __init__(self, trainer):
        self.trainer = trainer

    def on_log(self, args, state, control, logs, **kwargs):
        trainer = self.trainer
        for name in [*trainer.sums] if "reward" in logs or "entropy" in logs else []:
            total, count = trainer.accelerator.reduce(trainer.sums.pop(name)).tolist()
            trainer.differences.append(abs(logs[name] - total / count) / max(1.0, total / count) if count else 0.0)
            trainer.names |= {name} if total else set()


def compare_means(config, problems, rewards=(half_dead,), **options):
    """Return the largest difference of a run, relative above 1, and the names of what was not 0."""
    defaults = {"max_steps": 4, "gradient_accumulation_steps": 4, "per_device_train_batch_size": 4}
    changing = {"num_iterations": 2, "learning_rate": 0.3, "optim": "sgd", "max_grad_norm": 1.0, "logging_steps": 2}
    args = config(**{**defaults, **changing, **options})
    trainer = Recomputed(load_layer("float64"), [*rewards], args=args, train_dataset=problems)
    trainer.train()
    return max(trainer.differences), trainer.names
