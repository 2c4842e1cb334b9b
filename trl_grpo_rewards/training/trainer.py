"""TRL's GRPO trainer without forward and backward passes for groups whose rewards are all equal."""

import logging
import math
from collections.abc import Callable
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor, nn
from torch.utils.data import DataLoader, Sampler
from trl import GRPOTrainer
from trl.trainer import utils

from ..batch import GROUP_SIZE
from ..expressions import Reward
from ..records.fields import describe_groups
from ..records.kinds import Rule
from .config import FilteredGRPOConfig, check_config, explain_keep, find_obstacle, resolve_zero_variance
from .drawing import PLACE_COLUMN, PlacedRows, SelectiveSampler, SelectiveStream, build_prompts, draw_rows, read_prior
from .exchange import balance_rows
from .forward_passes import Logps, score_rows
from .group_table import GroupTable
from .micro_batches import pack_live_rows, set_loss_scales
from .placement import compute_pack_span
from .recorder import Recorder
from .rows import TensorBatch, TensorRow, count_rows, stack, unstack
from .run_description import RunDescription, complete_card, describe_run
from .run_log import RunLog
from .scored_groups import ScoredGroups
from .trl_members import ATTRIBUTES, METHODS, UTILITIES, check_members
from .validation import (
    check_dataset,
    check_outcome,
    check_prompts,
    check_rewards,
    find_outcome,
    unpack_rewards,
    warn_of_judges,
    warn_without_outcome,
)


logger = logging.getLogger(__name__)


class FilteredGRPOTrainer(GRPOTrainer):
    """
    [`~trl.GRPOTrainer`] that runs no forward or backward pass for groups whose rewards are all equal.

    The only changes with respect to [`~trl.GRPOTrainer`] are:

    - `__init__` splits a [`Reward`] into functions and weights, and checks the arguments before the model loads.
    - `_generate` scores completions as soon as they are sampled. TRL's passes without gradient
      (`_get_per_token_logps_and_entropies`) then take only rows of live groups.
    - `_calculate_rewards` keeps the rewards of all ranks, and leaves rows out if `unscored="row"`.
    - `_generate_and_score_completions` logs `groups/...`, marks dead rows, and resamples dead groups if
      `max_resample_rounds` allows it.
    - `_prepare_inputs` removes dead rows from TRL's micro-batches. It packs the live rows of an optimizer step into as
      few micro-batches as possible, spread evenly over the ranks.
    - `compute_loss` skips a micro-batch without a live row on any rank, and so does `accelerator.backward`.
      `compute_loss` weights the loss of the other micro-batches by their rows.
    - `get_train_dataloader`, `_set_signature_columns_if_needed` and `_get_train_sampler` draw prompts selectively if
      `selective=True`.
    - `_save_rng_state` and `_load_optimizer_and_scheduler` save and load the position in the prompts, and what is known
      about each prompt.
    - `train` returns once all records are written.
    - `run` describes the run. It is written to `output_dir/run.json` when training begins, and `create_model_card` adds
      it to the model card. Each entry of the log is also written to `output_dir/log.jsonl`, and some groups are a table
      in Weights & Biases and in Trackio, if the run reports to them.

    Args:
        model (`str` or `PreTrainedModel`):
            As in [`~trl.GRPOTrainer`].
        reward_funcs ([`Reward`] or any type that TRL accepts):
            A reward or a weighted sum of rewards, or TRL's list of functions and model ids. TRL logs every term of a
            sum.
        args ([`FilteredGRPOConfig`], *optional*):
            Configuration. It is not changed.
        train_dataset (`Dataset` or `IterableDataset`):
            As in [`~trl.GRPOTrainer`].
        **kwargs:
            The other arguments of [`~trl.GRPOTrainer`].

    Raises:
        `TypeError`: `args` is not a [`FilteredGRPOConfig`], or a reward was passed without calling it.
        `ValueError`: the dataset is empty or lacks a column that a reward needs, two rewards have the same name, weights
            are given twice, or options contradict each other.
    """

    _tag_names = ["trl", "grpo", "trl-grpo-rewards"]

    train_dataset: Any
    _buffered_inputs: list[TensorBatch]
    _groups: ScoredGroups

    def __init__(
        self,
        model: Any,
        reward_funcs: "Reward | Callable | str | list | None" = None,
        args: FilteredGRPOConfig | None = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        **kwargs: Any,
    ) -> None:
        if args is None:
            name = model if isinstance(model, str) else model.config._name_or_path
            args = FilteredGRPOConfig(f"{name.rstrip('/').split('/')[-1]}-GRPO")
        check_config(args)
        reward_funcs, weights = unpack_rewards(reward_funcs, args)
        check_rewards(reward_funcs)
        warn_of_judges(reward_funcs, args.unscored)
        for dataset in (train_dataset, eval_dataset):
            for part in dataset.values() if isinstance(dataset, dict) else [dataset]:
                check_dataset(part, reward_funcs, kwargs.get("environment_factory"), kwargs.get("rollout_func"))
        check_prompts(args, train_dataset, kwargs.get("environment_factory"))
        prior = read_prior(args.selective_prior, train_dataset)
        check_outcome(args.outcome_reward, reward_funcs, kwargs.get("environment_factory"))
        check_members(utils, UTILITIES)
        check_members(GRPOTrainer, METHODS)
        given = len(reward_funcs) if isinstance(reward_funcs, list) else int(reward_funcs is not None)
        self._recorder = Recorder(args)
        callbacks = [self._recorder, *(kwargs.pop("callbacks", None) or [])]
        super().__init__(model, reward_funcs, args, train_dataset, eval_dataset, callbacks=callbacks, **kwargs)
        check_members(self, ATTRIBUTES)
        self._is_silent = False
        self.accelerator.backward = partial(self._backward, self.accelerator.backward)
        if weights is not None:  # TRL appends the rewards of environments, with weight 1
            self.reward_weights[: len(weights)] = torch.tensor(weights)
        self.zero_variance = resolve_zero_variance(args, self.aux_loss_enabled)
        obstacle = find_obstacle(args, self.aux_loss_enabled) if args.zero_variance == "auto" else None
        if obstacle and self.accelerator.is_main_process:
            logger.warning(explain_keep(obstacle))
        self._outcome = find_outcome(args.outcome_reward, self.reward_func_names, self.reward_funcs, given)
        if args.outcome_reward is None and self.accelerator.is_main_process:
            warn_without_outcome(args, self.reward_funcs, self.reward_func_names, self._outcome)
        exact = [*(weights or args.reward_weights or ())]  # TRL keeps them in float32
        exact += [1.0] * (len(self.reward_funcs) - len(exact))
        self.run = describe_run(self.reward_funcs, self.reward_func_names, exact, args, self.model, self.train_dataset)
        self.add_callback(RunDescription(self.run, self.reward_funcs))
        self.add_callback(RunLog())
        self._table = GroupTable(args)
        self.add_callback(self._table)
        self._inputs: list[dict[str, Any]] = []  # of the current generation
        self._lengths: list[int] = []  # number of tokens that the model wrote, without the results of tools
        self._live_rows: list[int] | None = None  # set from `_generate` until TRL asks for the rewards
        self._prompts = build_prompts(args, self.train_dataset, prior)

    def train(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().train(*args, **kwargs)
        finally:
            self._recorder.flush()

    def create_model_card(self, model_name: str | None = None, *args: Any, **kwargs: Any) -> None:
        super().create_model_card(model_name or Path(self.args.output_dir).name, *args, **kwargs)
        if self.accelerator.is_main_process:
            complete_card(Path(self.args.output_dir, "README.md"), self.run)

    def get_train_dataloader(self) -> DataLoader:
        dataset = self.train_dataset
        if self.args.selective:
            self.train_dataset = PlacedRows(dataset)
        try:
            loader: DataLoader = super().get_train_dataloader()
        finally:
            self.train_dataset = dataset
        return loader

    def _set_signature_columns_if_needed(self) -> None:
        super()._set_signature_columns_if_needed()
        if PLACE_COLUMN not in self._signature_columns:
            self._signature_columns.append(PLACE_COLUMN)

    def _get_train_sampler(self, dataset: Any = None) -> Sampler:
        sampler: Any = super()._get_train_sampler(dataset)
        return SelectiveSampler(sampler, self._prompts) if isinstance(self._prompts, SelectiveStream) else sampler

    def _calculate_rewards(
        self,
        inputs: list[dict[str, Any]],
        prompts: list,
        completions: list,
        completion_ids_list: list[list[int]],
    ) -> Tensor:
        if self._live_rows is not None:  # `_generate` has already scored the completions
            self._live_rows = None
            return self._groups.rewards.flatten(0, 1)
        known = GROUP_SIZE.set(self.num_generations if self.model.training else self.num_generations_eval)
        try:
            rewards: Tensor = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        finally:
            GROUP_SIZE.reset(known)
        missing = rewards.isnan() & (self.reward_weights.to(rewards.device) != 0)
        partly = missing.any(1) & ~rewards.isnan().all(1)
        if self.args.unscored == "row":
            rewards = rewards.masked_fill(missing.any(1, keepdim=True), torch.nan)
        hashes = [hash(tuple(ids)) for ids in completion_ids_list]  # hashes of integers are the same in every process
        keys = self.accelerator.gather(torch.tensor(hashes, device=rewards.device))
        self._groups = self._make_groups(rewards, keys, partly.float().mean().item())
        if self.model.training:
            last_ids = {*self.eos_token_ids, self._tokenizer.pad_token_id}
            logged = dict(self._pending_extra_logs)
            self._recorder.collect(inputs, prompts, completions, completion_ids_list, last_ids, logged, self._lengths)
        return rewards

    def _generate(self, prompts: list) -> tuple:
        generated: tuple = super()._generate(prompts)
        _, ids, mask, *_ = generated
        self._lengths = [sum(map(int, one)) for one in mask] if mask is not None else [len(one) for one in ids]
        self.log_multimodal = self.args.log_multimodal and self._agree_on_images(generated[6])
        if self.model.training and self.zero_variance != "keep":
            add_columns(self._inputs, next(part for part in generated if isinstance(part, dict)))
            _, ids, _, completions, *_ = generated
            self._calculate_rewards(self._inputs, prompts, completions, ids)
            self._live_rows = self._mask_live(self._groups.live, len(prompts)).nonzero().flatten().tolist()
        return generated

    def _agree_on_images(self, images: list | None) -> bool:
        """Return whether all ranks or no ranks have images. TRL gathers images for its table, so all ranks must agree."""
        has_images = images is not None or any(row.get("images") or row.get("image") for row in self._inputs)
        return len({*gather_object([has_images])}) == 1

    def _get_per_token_logps_and_entropies(
        self,
        model: nn.Module,
        input_ids: Tensor,
        attention_mask: Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        **inputs: Any,
    ) -> Logps:
        score: Callable[..., Logps] = partial(super()._get_per_token_logps_and_entropies, model)
        if self._live_rows is None:
            return score(input_ids, attention_mask, logits_to_keep, batch_size=batch_size, **inputs)
        batch = {"input_ids": input_ids, "attention_mask": attention_mask, "logits_to_keep": logits_to_keep, **inputs}
        distributed_type = self.accelerator.distributed_type
        return score_rows(score, batch, self._live_rows, batch_size or len(input_ids), distributed_type), None, None

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> TensorBatch:
        output, groups = self._sample(inputs)
        if not self.model.training or self.zero_variance == "keep":
            return output
        rows = self._mask_live(groups.live, count_rows(output))
        if self.args.max_resample_rounds:
            output, rows = self._resample(output, groups.live, rows)
        if self.zero_variance == "drop":
            mask = output["completion_mask"] * output.get("tool_mask", 1)
            output["num_items_in_batch"] = self.accelerator.gather(mask[rows].sum()).sum()
        output["advantages"] = output["advantages"].masked_fill(~rows, 0.0)
        output["live"] = rows.tolist()  # TRL shuffles and splits it with the rest
        return output

    def _sample(self, inputs: list[dict[str, Any]]) -> tuple[TensorBatch, ScoredGroups]:
        """Return TRL's batch and the groups of all ranks. Groups are logged; in training they are also remembered."""
        places = [row.pop(PLACE_COLUMN, None) for row in inputs]
        self._inputs, self._live_rows = inputs, None
        output: TensorBatch = super()._generate_and_score_completions(inputs)
        self._inputs = []
        for column in self._logs["extra"].values():  # a column that is first logged in a later round is shorter
            column.extendleft([None] * (len(self._logs["prompt"]) - len(column)))
        groups = self._groups
        if groups.size > 1:
            self._log_groups(**groups.metrics(self.reward_func_names))
        if self.model.training:
            if self.zero_variance == "keep":
                self._log_groups(rows_computed=groups.totals.numel())
            else:
                self._zero_dead(output, groups.live)
            self._remember(groups, places)
        return output, groups

    def _zero_dead(self, output: TensorBatch, live: Tensor) -> None:
        """Set the logged advantages and the log-probabilities of dead rows to 0. A filler row must not contain NaN."""
        rows = self._mask_live(live, count_rows(output))
        for key in ("old_per_token_logps", "ref_per_token_logps"):
            if key in output:
                output[key] = output[key].masked_fill(~rows[:, None], 0.0)
        logged, is_dead = self._logs["advantages"], (~live).repeat_interleave(self.num_generations)
        for row in is_dead.nonzero().flatten().tolist():
            index = len(logged) - len(is_dead) + row
            if index >= 0:  # the log may be too short for the whole generation
                logged[index] = 0.0

    def _remember(self, groups: ScoredGroups, places: list[int | None]) -> None:
        """Record the groups. A selective stream also learns how many completions of each prompt were right."""
        if self._prompts is not None:
            self._prompts.check_ranks()
        if isinstance(self._prompts, SelectiveStream):
            self._log_groups(skipped_prompts=self._prompts.skipped)
            right, scored = (groups.outcomes >= 1).sum(1), (~groups.outcomes.isnan()).sum(1)
            self._prompts.learn(gather_object(places)[:: groups.size], right.tolist(), scored.tolist())
        self._record(groups)

    def _record(self, groups: ScoredGroups) -> None:
        """Write a record of every group."""
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
            Rule(self.reward_func_names[self._outcome], groups.dead_by, groups.tolerance, self.args.unscored),
            groups.duplicates.sum(1).tolist(),
        )
        step = self.state.global_step + 1
        self._recorder.write(step, self._table.keep(step, records))

    def _mask_live(self, live: Tensor, count: int) -> Tensor:
        """Return whether each of the `count` rows of this rank belongs to a live group."""
        first = self.accelerator.process_index * count
        return live.repeat_interleave(self.num_generations)[first : first + count]

    def _resample(self, output: TensorBatch, live: Tensor, rows: Tensor) -> tuple[TensorBatch, Tensor]:
        """Replace dead groups with groups of fresh prompts, in at most `max_resample_rounds` rounds."""
        assert self._prompts is not None
        found, wanted, rounds = int(live.sum()), len(live), 0
        first = unstack(output)
        kept = [row for row, is_live in zip(first, rows.tolist(), strict=True) if is_live]
        while found < wanted and rounds < self.args.max_resample_rounds:
            missing = wanted - found
            inputs = draw_rows(self._prompts, self.train_dataset, missing, self.num_generations, self.accelerator)
            more, groups = self._sample(inputs)
            live = groups.live & (groups.live.cumsum(0) <= missing)  # more would be off-policy in the next step
            fresh = zip(unstack(more), self._mask_live(live, count_rows(more)).tolist(), strict=True)
            kept += [row for row, is_live in fresh if is_live]
            found, rounds = found + int(live.sum()), rounds + 1
        self._log_groups(resample_rounds=rounds)
        if not rounds:
            return output, rows
        kept = balance_rows(kept, self.accelerator.process_index, self.accelerator.device)
        whole = self._stack_rows(kept + first[:1] * (len(first) - len(kept)))
        return whole, torch.arange(len(first), device=rows.device) < len(kept)

    def _save_rng_state(self, output_dir: str) -> None:
        super()._save_rng_state(output_dir)
        if self._prompts is not None and self.args.should_save:  # like TRL's own state, on each node if that is set
            self._prompts.save(Path(output_dir), at_end=math.isclose(self.state.epoch, round(self.state.epoch)))

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if self._prompts is not None and checkpoint:  # `_load_rng_state` runs only after the first draw
            self._prompts.load(Path(checkpoint))
            self._prompts.check_ranks()

    def _make_groups(self, rewards: Tensor, keys: Tensor, partly_scored: float) -> ScoredGroups:
        """Return the groups of all ranks, from rewards of shape (rows, functions) and a key for each completion."""
        count = self.num_generations if self.model.training else self.num_generations_eval
        dead_by = self.args.zero_variance_by
        if dead_by == "total" and self.multi_objective_aggregation == "normalize_then_sum":
            dead_by = "each"  # TRL normalizes each reward separately
        return ScoredGroups(
            rewards.view(-1, count, rewards.size(1)),
            self.reward_weights.to(rewards.device),
            self._outcome,
            dead_by,
            self.args.zero_variance_tolerance,
            keys.view(-1, count),
            partly_scored,
        )

    def _prepare_inputs(self, generation_batch: Any) -> TensorBatch:
        batch: TensorBatch = super()._prepare_inputs(generation_batch)
        if "live" not in batch:
            return batch
        whole, self._buffered_inputs, computed = self._buffered_inputs, [], 0
        span = compute_pack_span(self.args.steps_per_generation, self.args.gradient_accumulation_steps)
        ranks, is_drop = self.accelerator.num_processes, self.zero_variance == "drop"
        for start in range(0, len(whole), span):
            packed = pack_live_rows(whole[start : start + span], self._stack_rows, self.accelerator)
            self._buffered_inputs += set_loss_scales(packed, self.loss_type, is_drop, ranks)
            computed += packed.computed
        self._log_groups(rows_computed=computed * ranks)
        part: int = self._step % self.args.steps_per_generation
        return self._buffered_inputs[part]

    def _stack_rows(self, rows: list[TensorRow]) -> TensorBatch:
        return stack(rows, self._tokenizer.pad_token_id, self.pad_to_multiple_of)

    def compute_loss(self, model: nn.Module, inputs: TensorBatch, *args: Any, **kwargs: Any) -> Tensor:
        self._is_silent = "silent" in inputs and not self.accelerator.sync_gradients
        if self._is_silent:
            return torch.zeros((), device=self.accelerator.device)
        loss: Tensor = super().compute_loss(model, inputs, *args, **kwargs) * inputs.get("loss_scale", 1.0)
        return loss

    def _backward(self, backward: Callable, loss: Tensor, **kwargs: Any) -> None:
        """Run the backward pass of accelerate, unless the micro-batch had no forward pass."""
        if not self._is_silent:
            backward(loss, **kwargs)

    def _log_groups(self, **values: float) -> None:
        metrics = self._metrics["train" if self.model.training else "eval"]
        for name, value in values.items():
            metrics[f"groups/{name}"].append(float(value))


def add_columns(rows: list[dict], fields: dict[str, Any]) -> None:
    """Add the extra fields that a rollout function returns to the rows, as TRL does before it scores them."""
    for name, values in fields.items():
        for row, value in zip(rows, values if isinstance(values, list) else repeat(values), strict=False):
            row[name] = value
