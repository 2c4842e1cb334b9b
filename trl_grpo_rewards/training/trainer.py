"""TRL's GRPO trainer without forward and backward passes for groups whose rewards are all equal."""

import logging
import math
from collections.abc import Callable
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import DistributedType, gather_object
from torch import Tensor
from trl import GRPOTrainer
from trl.trainer import utils

from ..expressions import Reward
from ..records.fields import Rule, describe_groups
from .config import FilteredGRPOConfig, check_config, check_drop, explained, obstacle, resolved
from .exchange import spread_evenly
from .micro_batches import pack, weigh
from .placement import window
from .prompt_sampling import PLACE, PlacedRows, PromptStream, SelectiveSampler, SelectiveStream
from .recorder import Recorder
from .rows import Row, select, size, stack, unstack
from .scored_groups import ScoredGroups
from .trl_members import ATTRIBUTES, METHODS, UTILITIES, check_members
from .validation import (
    check_dataset,
    check_prompts,
    check_rewards,
    find_outcome,
    unpacked,
    warn_of_judges,
    warn_without_outcome,
)


REPLICATED = {DistributedType.NO, DistributedType.MULTI_CPU, DistributedType.MULTI_GPU}
"""Setups in which one rank can run a forward pass without the others."""

logger = logging.getLogger(__name__)


class FilteredGRPOTrainer(GRPOTrainer):
    """
    [`~trl.GRPOTrainer`] that spends no forward or backward on groups whose rewards are all equal.

    The only changes with respect to [`~trl.GRPOTrainer`] are:

    - `__init__` takes a [`Reward`] apart into functions and weights, and checks what it can before the model loads.
    - `_generate` scores completions as soon as they are there, so that TRL's passes without gradient
      (`_get_per_token_logps_and_entropies`) see rows of live groups only.
    - `_calculate_rewards` keeps the rewards of all ranks, and leaves rows out under `unscored="row"`.
    - `_generate_and_score_completions` logs `groups/...`, marks dead rows, and resamples dead groups if
      `max_resample_rounds` allows it.
    - `_prepare_inputs` takes dead rows out of the micro-batches that TRL has made, and packs the others into as few
      micro-batches as hold them, evenly over the ranks, within their optimizer step.
    - `compute_loss` does not run a micro-batch without a live row on any rank, and weighs the others by their rows; such
      a micro-batch has no backward pass (`accelerator.backward`) either.
    - `get_train_dataloader` and `_get_train_sampler` draw prompts selectively where that is asked for.
    - `_save_rng_state` and `_load_optimizer_and_scheduler` keep the place among the prompts and what is known of them.
    - `train` returns when all records are written.

    Args:
        model (`str` or `PreTrainedModel`):
            As in [`~trl.GRPOTrainer`].
        reward_funcs ([`Reward`] or whatever TRL accepts):
            A reward or a weighted sum of them, of which TRL logs every term; or TRL's list of functions and model ids.
        args ([`FilteredGRPOConfig`], *optional*):
            Configuration; it is not changed.
        train_dataset (`Dataset` or `IterableDataset`):
            As in [`~trl.GRPOTrainer`].
        **kwargs:
            The other arguments of [`~trl.GRPOTrainer`].

    Raises:
        `ValueError`: the rewards need a column that the dataset has not, two have one name, weights are given twice,
            the dataset is empty, or an option cannot keep its promise with the others.
    """

    _tag_names = ["trl", "grpo", "trl-grpo-rewards"]

    def __init__(
        self,
        model: Any,
        reward_funcs: "Reward | Callable | str | list | None" = None,
        args: FilteredGRPOConfig | None = None,
        train_dataset: Any = None,
        **kwargs: Any,
    ) -> None:
        if args is None:
            name = model if isinstance(model, str) else model.config._name_or_path
            args = FilteredGRPOConfig(f"{name.rstrip('/').split('/')[-1]}-GRPO")
        check_config(args)
        reward_funcs, weights = unpacked(reward_funcs, args)
        check_rewards(reward_funcs)
        warn_of_judges(reward_funcs, args.unscored)
        for dataset in (train_dataset, kwargs.get("eval_dataset")):
            for part in dataset.values() if isinstance(dataset, dict) else [dataset]:
                check_dataset(part, reward_funcs, kwargs.get("environment_factory"), kwargs.get("rollout_func"))
        check_prompts(args, train_dataset, kwargs.get("environment_factory"))
        check_members(utils, UTILITIES)
        check_members(GRPOTrainer, METHODS)
        self._recorder = Recorder(args)
        callbacks = [self._recorder, *(kwargs.pop("callbacks", None) or [])]
        super().__init__(model, reward_funcs, args=args, train_dataset=train_dataset, callbacks=callbacks, **kwargs)
        check_members(self, ATTRIBUTES)
        self._is_silent = False
        self.accelerator.backward = partial(self._backward, self.accelerator.backward)
        if weights is not None:  # TRL appends the rewards of environments, with weight 1
            self.reward_weights[: len(weights)] = torch.tensor(weights)
        self.zero_variance = resolved(args, self.aux_loss_enabled)
        if self.zero_variance == "drop":
            check_drop(args, self.aux_loss_enabled)
        if args.zero_variance == "auto" and self.zero_variance == "keep":
            if self.accelerator.is_main_process:
                logger.warning(explained(obstacle(args, self.aux_loss_enabled)))
        self._outcome = find_outcome(args.outcome_reward, self.reward_func_names, self.reward_funcs)
        if args.selective and args.outcome_reward is None and self.accelerator.is_main_process:
            warn_without_outcome(self.reward_funcs, self.reward_func_names)
        self._inputs: list[dict] = []
        self._rewards_ahead: Tensor | None = None
        self._rows_to_forward: list[int] | None = None
        self._prompts = None
        if args.selective:
            prompts = len(self.train_dataset)
            self._prompts = SelectiveStream(prompts, args.seed + 1, self.shuffle_dataset, self.num_generations)
        elif args.max_resample_rounds:
            self._prompts = PromptStream(len(self.train_dataset), args.seed + 1, self.shuffle_dataset)

    def get_train_dataloader(self):
        dataset = self.train_dataset
        if self.args.selective:
            self.train_dataset = PlacedRows(dataset)
        try:
            return super().get_train_dataloader()
        finally:
            self.train_dataset = dataset

    def _set_signature_columns_if_needed(self):
        super()._set_signature_columns_if_needed()
        if PLACE not in self._signature_columns:
            self._signature_columns.append(PLACE)

    def train(self, *args, **kwargs):
        try:
            return super().train(*args, **kwargs)
        finally:
            self._recorder.flush()

    def _get_train_sampler(self, dataset=None):
        sampler = super()._get_train_sampler(dataset)
        return SelectiveSampler(sampler, self._prompts) if self.args.selective else sampler

    def _calculate_rewards(self, inputs, prompts, completions, completion_ids_list):
        if self._rewards_ahead is not None:
            rewards, self._rewards_ahead, self._rows_to_forward = self._rewards_ahead, None, None
            return rewards
        rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        missing = rewards.isnan() & (self.reward_weights.to(rewards.device) != 0)
        partly = missing.any(1) & ~rewards.isnan().all(1)
        if self.args.unscored == "row":
            rewards = rewards.masked_fill(missing.any(1, keepdim=True), torch.nan)
        keys = [hash(tuple(ids)) for ids in completion_ids_list]  # of integers, thus the same in every process
        keys = self.accelerator.gather(torch.tensor(keys, device=rewards.device))
        self._groups = self._group(rewards, keys, partly.float().mean().item())
        if self.model.training:
            last_ids = {*self.eos_token_ids, self._tokenizer.pad_token_id}
            self._recorder.collect(inputs, prompts, completions, completion_ids_list, last_ids=last_ids)
        return rewards

    def _generate(self, prompts):
        generated = super()._generate(prompts)
        self.log_multimodal = self.args.log_multimodal and self._agree_on_images(generated[6])
        if self.model.training and self.zero_variance != "keep":
            add_columns(self._inputs, next(part for part in generated if isinstance(part, dict)))
            _, ids, _, completions, *_ = generated
            self._rewards_ahead = self._calculate_rewards(self._inputs, prompts, completions, ids)
            self._rows_to_forward = self._rows(self._groups.live, len(prompts)).nonzero().flatten().tolist()
        return generated

    def _agree_on_images(self, images: list | None) -> bool:
        """Whether all ranks have images, or none: TRL gathers them for its table from those that have some."""
        has_images = images is not None or any(row.get("images") or row.get("image") for row in self._inputs)
        return len({*gather_object([has_images])}) == 1

    def _get_per_token_logps_and_entropies(
        self, model, input_ids, attention_mask, logits_to_keep, batch_size=None, **inputs
    ):
        score = super()._get_per_token_logps_and_entropies
        if self._rows_to_forward is None:
            return score(model, input_ids, attention_mask, logits_to_keep, batch_size=batch_size, **inputs)
        count = input_ids.size(0)
        inputs = {name: value for name, value in inputs.items() if value is not None}
        batch = {"input_ids": input_ids, "attention_mask": attention_mask, "logits_to_keep": logits_to_keep, **inputs}
        logps = torch.full((count, logits_to_keep), torch.nan, device=input_ids.device)  # TRL's metrics leave NaN out
        for rows in self._passes(self._rows_to_forward, batch_size):
            found, *_ = score(model, **select(batch, count, rows), batch_size=batch_size)
            logps = logps.to(found.dtype)
            logps[rows] = found
        return logps, None, None

    def _passes(self, rows: list[int], batch_size: int) -> list[list[int]]:
        """Split rows into forward passes. A sharded model needs as many on every rank, so single rows fill them up."""
        passes = [rows[start : start + batch_size] for start in range(0, len(rows), batch_size)]
        if self.accelerator.distributed_type in REPLICATED:
            return passes
        return passes + [rows[:1] or [0]] * (max(gather_object([len(passes)])) - len(passes))

    def _generate_and_score_completions(self, inputs):
        output, live = self._sampled(inputs)
        if live is None or self.zero_variance == "keep":
            return output
        rows = self._rows(live, size(output))
        if self.args.max_resample_rounds:
            output, rows = self._resampled(output, live, rows)
        if self.zero_variance == "drop":
            mask = output["completion_mask"] * output.get("tool_mask", 1)
            output["num_items_in_batch"] = self.accelerator.gather(mask[rows].sum()).sum()
        output["advantages"] = output["advantages"].masked_fill(~rows, 0.0)
        output["live"] = rows.tolist()  # TRL shuffles and splits it with the rest
        return output

    def _sampled(self, inputs: list[dict]) -> tuple[dict, Tensor | None]:
        """Return TRL's batch and a mask of the live groups of all ranks. The mask is None in evaluation."""
        places = [row.pop(PLACE, None) for row in inputs]
        self._inputs, self._rewards_ahead, self._rows_to_forward = inputs, None, None
        output = super()._generate_and_score_completions(inputs)
        self._inputs = []
        for column in self._logs["extra"].values():  # one first logged in a later round is shorter
            column.extendleft([None] * (len(self._logs["prompt"]) - len(column)))
        groups = self._groups
        size_of_group = groups.rewards.size(1)
        if size_of_group == 1:
            return output, None
        self._log_groups(**groups.metrics(self.reward_func_names))
        if not self.model.training:
            return output, None
        predicted: list[float] = []
        if self._prompts is not None:
            self._check_streams()
        if self.args.selective:
            predicted = self._learn(gather_object(places)[::size_of_group], groups.outcomes)
        if self.zero_variance == "keep":
            self._log_groups(rows_computed=groups.totals.numel())
        else:
            self._zero_dead(output, groups.live)
        self._record(groups, predicted)
        return output, groups.live.clone()

    def _zero_dead(self, output: dict, live: Tensor) -> None:
        """Dead rows have advantage 0 in TRL's table of completions, and no NaN that a filler would carry along."""
        rows = self._rows(live, size(output))
        for key in ("old_per_token_logps", "ref_per_token_logps"):
            if key in output:
                output[key] = output[key].masked_fill(~rows[:, None], 0.0)
        shown, is_dead = self._logs["advantages"], (~live).repeat_interleave(self.num_generations)
        for row in is_dead.nonzero().flatten().tolist():
            place = len(shown) - len(is_dead) + row
            if place >= 0:
                shown[place] = 0.0

    def _learn(self, prompts: list[int], outcome: Tensor) -> list[float]:
        """
        Remember how many completions of each prompt were right, by the outcome reward of shape (groups, G).

        Returns the probability that each of these groups would have right and wrong completions, as it was before.
        """
        chances = [self._prompts.live_chance(prompt) for prompt in prompts]
        self._log_groups(predicted_live=sum(chances) / len(chances), skipped_prompts=self._prompts.skipped)
        self._prompts.learn(prompts, (outcome >= 1).sum(1).tolist(), (~outcome.isnan()).sum(1).tolist())
        return chances

    def _record(self, groups: ScoredGroups, predicted: list[float]) -> None:
        """Write a record of every group that all ranks have just sampled."""
        rows = self._recorder.gather()
        if not rows:
            return
        records = describe_groups(
            rows,
            groups.rewards.flatten(0, 1).tolist(),
            dict(zip(self.reward_func_names, groups.weights.tolist(), strict=True)),
            groups.totals.flatten().tolist(),
            list(self._logs["advantages"])[-len(rows) :],
            groups.kinds,
            Rule(self.reward_func_names[self._outcome], groups.decided_by, groups.tolerance),
            groups.duplicates.sum(1).tolist(),
            predicted,
        )
        self._recorder.write(self.state.global_step + 1, records)

    def _rows(self, live: Tensor, count: int) -> Tensor:
        """Which of the `count` rows on this rank belong to live groups."""
        first = self.accelerator.process_index * count
        return live.repeat_interleave(self.num_generations)[first : first + count]

    def _resampled(self, output: dict, live: Tensor, rows: Tensor) -> tuple[dict, Tensor]:
        """Replace dead groups by groups of fresh prompts, for at most `max_resample_rounds` rounds."""
        found, wanted, rounds = int(live.sum()), len(live), 0
        first = unstack(output)
        kept = [row for row, is_live in zip(first, rows.tolist(), strict=True) if is_live]
        while found < wanted and rounds < self.args.max_resample_rounds:
            more, live = self._sampled(self._fresh(wanted - found))
            live &= live.cumsum(0) <= wanted - found  # a surplus kept for the next step would be off-policy
            fresh = zip(unstack(more), self._rows(live, size(more)).tolist(), strict=True)
            kept += [row for row, is_live in fresh if is_live]
            found, rounds = found + int(live.sum()), rounds + 1
        self._log_groups(resample_rounds=rounds)
        if not rounds:
            return output, rows
        kept = spread_evenly(kept, self.accelerator.process_index, self.accelerator.device)
        whole = self._stack(kept + first[:1] * (len(first) - len(kept)))
        return whole, torch.arange(len(first), device=rows.device) < len(kept)

    def _fresh(self, count: int) -> list[dict]:
        """Return this rank's rows for `count` fresh prompts, rounded up so that all ranks get equally many rows."""
        ranks = self.accelerator.num_processes
        count = math.ceil(count / (step := ranks // math.gcd(ranks, self.num_generations))) * step
        prompts = [prompt for prompt in self._prompts.take(count) for _ in range(self.num_generations)]
        share = len(prompts) // ranks
        first = self.accelerator.process_index * share
        mine = prompts[first : first + share]
        rows = {prompt: self.train_dataset[prompt] for prompt in dict.fromkeys(mine)}
        return [{**rows[prompt], PLACE: prompt} for prompt in mine]

    def _save_rng_state(self, output_dir):
        super()._save_rng_state(output_dir)
        if self._prompts is not None and self.args.should_save:  # as TRL's own state, on each node if it is asked to
            self._prompts.save(Path(output_dir), at_end=math.isclose(self.state.epoch, round(self.state.epoch)))

    def _load_optimizer_and_scheduler(self, checkpoint):  # the state of random numbers is loaded after the first draw
        super()._load_optimizer_and_scheduler(checkpoint)
        if self._prompts is not None and checkpoint:
            self._prompts.load(Path(checkpoint))
            self._check_streams()

    def _check_streams(self) -> None:
        """
        Compare the place among the prompts on all ranks.

        Raises:
            `RuntimeError`: the ranks would draw different prompts, and groups would mix them.
        """
        states = gather_object([self._prompts.fingerprint()])
        if len({*states}) > 1:
            raise RuntimeError(
                f"All ranks must draw the same prompts, and their places among the prompts differ: (prompts taken, "
                f"checksum) is {', '.join(f'{state} on rank {rank}' for rank, state in enumerate(states))}. If the "
                f"machines share no disk, train with save_on_each_node=True, and resume from a checkpoint that every "
                f"machine has written."
            )

    def _group(self, rewards: Tensor, keys: Tensor, partly_scored: float) -> ScoredGroups:
        """Return the groups of all ranks, from rewards of shape (rows, functions) and a key for each completion."""
        count = self.num_generations if self.model.training else self.num_generations_eval
        decided_by = self.args.zero_variance_by
        if decided_by == "total" and self.multi_objective_aggregation == "normalize_then_sum":
            decided_by = "each"  # TRL normalizes each reward by itself
        return ScoredGroups(
            rewards.view(-1, count, rewards.size(1)),
            self.reward_weights.to(rewards.device),
            self._outcome,
            decided_by,
            self.args.zero_variance_tolerance,
            keys.view(-1, count),
            partly_scored,
        )

    def _prepare_inputs(self, generation_batch):
        batch = super()._prepare_inputs(generation_batch)
        if "live" not in batch:
            return batch
        whole, self._buffered_inputs, computed = self._buffered_inputs, [], 0
        span = window(self.args.steps_per_generation, self.args.gradient_accumulation_steps)
        ranks, is_drop = self.accelerator.num_processes, self.zero_variance == "drop"
        for start in range(0, len(whole), span):
            packed = pack(whole[start : start + span], self._stack, self.accelerator)
            self._buffered_inputs += weigh(packed, self.loss_type, is_drop, ranks)
            computed += packed.computed
        self._log_groups(rows_computed=computed * ranks)
        return self._buffered_inputs[self._step % self.args.steps_per_generation]

    def _stack(self, rows: list[Row]) -> dict:
        return stack(rows, self._tokenizer.pad_token_id, self.pad_to_multiple_of)

    def compute_loss(self, model, inputs, *args, **kwargs):
        self._is_silent = "silent" in inputs and not self.accelerator.sync_gradients
        if self._is_silent:
            return torch.zeros((), device=self.accelerator.device)
        return super().compute_loss(model, inputs, *args, **kwargs) * inputs.get("loss_scale", 1.0)

    def _backward(self, backward: Callable, loss: Tensor, **kwargs: Any) -> None:
        """Do what `accelerator.backward` does, unless the loss is that of a micro-batch that was not run."""
        if not self._is_silent:
            backward(loss, **kwargs)

    def _log_groups(self, **values: Any) -> None:
        metrics = self._metrics["train" if self.model.training else "eval"]
        for name, value in values.items():
            metrics[f"groups/{name}"].append(float(value))


def add_columns(rows: list[dict], fields: dict[str, Any]) -> None:
    """Add what a rollout function has returned besides tokens to the rows, as TRL does before it scores them."""
    for name, values in fields.items():
        for row, value in zip(rows, values if isinstance(values, list) else repeat(values), strict=False):
            row[name] = value
