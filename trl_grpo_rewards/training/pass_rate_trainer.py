"""Sampling of pass rates: how many completions of each prompt are right before training."""

import json
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor, nn

from ..records.fields import hash_prompt
from ..records.pass_rates import PassRate, append_pass_rates, count_right, drop_cut_line, read_pass_rates
from ..records.readable import make_readable
from .rows import TensorBatch
from .trainer import FilteredGRPOTrainer


class PassRateTrainer(FilteredGRPOTrainer):
    """
    [`FilteredGRPOTrainer`] that samples completions of every prompt and trains on none.

    `sample_pass_rates` evaluates the training prompts. `_generate_and_score_completions` writes the pass rates of each
    batch, and `compute_loss` runs no forward pass.
    """

    table: Path
    already_sampled = 0

    def sample_pass_rates(self, table: Path) -> dict[str, PassRate]:
        """
        Write the pass rate of every training prompt to a table, and return the rates by the prompt's id.

        Each prompt gets `num_generations_eval` completions. Prompts that are in the table already are left out, and
        `already_sampled` is their number.

        Args:
            table (`Path`):
                The file to append to.

        Raises:
            `ValueError`: no prompt was scored.
        """
        self.table = table
        if table.exists() and self.is_world_process_zero():
            drop_cut_line(table)
        self.accelerator.wait_for_everyone()
        known = read_pass_rates(table) if table.exists() else {}
        prompts = [hash_prompt(make_readable(prompt)) for prompt in self.train_dataset["prompt"]]
        missing = [row for row, prompt in enumerate(prompts) if prompt not in known]
        self.already_sampled = len(prompts) - len(missing)
        if missing:
            self.evaluate(self.train_dataset.select(missing))
        self.accelerator.wait_for_everyone()
        rates = read_pass_rates(table) if table.exists() else {}
        found = {prompt: rates[prompt] for prompt in prompts if prompt in rates}
        if not found:
            raise ValueError(
                f"Pass rates need prompts that the outcome reward scores, but it scored none of the {len(prompts):,} "
                f"prompts. Look at the reward '{self.reward_func_names[self._outcome]}' with "
                f"trl-grpo-rewards check, or name another one with outcome_reward."
            )
        return found

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> TensorBatch:
        prompts = [make_readable(row["prompt"]) for row in inputs]
        output = super()._generate_and_score_completions(inputs)
        size = self._groups.size
        texts = gather_object(list(map(json.dumps, prompts)))
        if self.accelerator.is_main_process:
            starts = range(0, len(texts), size)
            rates = map(count_right, self._groups.outcomes.tolist())
            rows = [
                (json.loads(texts[start]), rate) for start, rate in zip(starts, rates, strict=True) if rate.samples
            ]
            append_pass_rates(self.table, rows)
        return output

    def compute_loss(self, model: nn.Module, inputs: TensorBatch, *args: Any, **kwargs: Any) -> Tensor:
        return torch.zeros((), device=self.accelerator.device)
