"""
TRL's GRPO trainer without forward and backward passes for groups whose rewards are all equal.

The order of events of a step, where TRL calls what this class overrides or replaces for a while:

1. `_prepare_inputs`: TRL asks for a new generation if the last one is used up, and gets it from `_fill`.
2. `_fill` > `_sample` > `_generate_and_score_completions`: TRL samples, scores and builds the batch. In it,
   - `_generate_and_score` takes the place of `_generate`: TRL generates, and `_score` scores the completions at once, so
     that dead groups are known before the passes without gradient. The trial of shared rows follows;
   - `_get_per_token_logps_and_entropies` runs these passes for live rows only;
   - `_recall_rewards` takes the place of `_calculate_rewards`, and TRL computes advantages from known rewards.
3. `_sample` logs and records the groups, and `_fill` samples prompts in the place of dead groups and marks live rows. TRL
   shuffles the rows and splits them into micro-batches.
4. `_prepare_inputs`: the packer forms the micro-batches of each optimizer step anew.
5. `compute_loss`: TRL computes the loss of a micro-batch, whose rows `_get_per_token_logps_and_entropies` passes through the
   model as the packer has arranged them. The loss is scaled to TRL's denominator, and metrics to means over live rows.
6. `_run_backward` leaves out micro-batches that have no live row on any rank.

A `Sampling` carries the rows and the generation from 2 to 3.
"""

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor, nn
from torch.utils.data import DataLoader, Sampler
from trl import GRPOConfig, GRPOTrainer

from ..batch import GROUP_SIZE
from ..diagnosis.alarms import Alarm
from ..expressions import Reward, is_outcome
from ..faults import find_unused_template
from ..prompt_templates import fill_template
from ..scores import check_rollout
from .attention import avoid_cudnn
from .checkpoints import agree_on_checkpoint, name_metric, resume_order
from .config import FilteredGRPOConfig, build_rule, convert_args, make_plan
from .groups import (
    Generation,
    ScoredGroups,
    add_columns,
    agree_on_images,
    align_columns,
    build_groups,
    clear_dead_rows,
    list_completions,
    mark_text,
)
from .means import MetricMeans, pad_gathered
from .packing import build_packer
from .passes import LOGPS_ARGUMENTS, Logps, cut_columns, score_packed, score_padded, setting
from .positions import Positioned
from .prompts import PLACE_COLUMN, PlacedRows, PromptStream, resample
from .recording import PlacePrinter, Recorder, describe_run
from .rows import DataRow, TensorBatch, TokenIds
from .trial import Trial
from .trl_members import check_attributes, check_trl, find_changes, has_fused_head, replace_members, warn_of_newer_trl
from .validation import check_arguments, check_functions, find_outcome, unpack_rewards


logger = logging.getLogger(__name__)


@dataclass
class Sampling:
    """A generation that TRL is sampling."""

    rows: list[DataRow]  # of the dataset, that completions are sampled of
    generation: Generation | None = None  # once completions are scored


class FilteredGRPOTrainer(GRPOTrainer):
    """
    [`~trl.GRPOTrainer`] that computes few tokens beyond those that its gradient needs: no dead groups, little padding.

    With respect to [`~trl.GRPOTrainer`]:

    - It takes a [`Reward`], or a weighted sum of rewards, and checks all arguments before the model loads.
    - Its gradient is TRL's. The model is not run on dead groups, and rows of similar lengths go through it together. The
      options of [`FilteredGRPOConfig`] can also drop dead groups, or replace them by fresh prompts.
    - A run that resumes continues exactly where its checkpoint was saved, in every epoch.
    - It logs `groups/...` and writes a record of every group. `run`, the description of the run, is written to
      `output_dir/run.json`, and the log to `output_dir/log.jsonl`.

    Args:
        reward_funcs ([`Reward`] or any type that TRL accepts):
            A reward, a weighted sum of rewards (TRL logs every term), or TRL's list of functions and model ids.
        args ([`FilteredGRPOConfig`], *optional*):
            Configuration. It is not changed. A [`~trl.GRPOConfig`] has the defaults of the options that it lacks.
        model, train_dataset, eval_dataset, **kwargs:
            As in [`~trl.GRPOTrainer`].

    Raises:
        `TypeError`: `args` is neither a [`FilteredGRPOConfig`] nor a [`~trl.GRPOConfig`], or a reward was passed without calling it.
        `ValueError`: the dataset is empty or lacks a column that a reward needs, two rewards have the same name, weights
            are given twice, or options contradict each other.
    """

    _tag_names = ["trl", "grpo", "trl-grpo-rewards"]

    args: FilteredGRPOConfig
    train_dataset: Any
    reward_funcs: list[Any]
    _buffered_inputs: list[TensorBatch]
    _sampler: Any = ()
    _is_silent = False  # whether the last loss is a constant in the place of a micro-batch without live rows

    def __init__(
        self,
        model: Any,
        reward_funcs: "Reward | Callable | str | list | None" = None,
        args: GRPOConfig | None = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        **kwargs: Any,
    ) -> None:
        args = convert_args(args, model)
        changes = find_changes(self, FilteredGRPOTrainer, GRPOTrainer)
        make_plan(args, changes)
        reward_funcs, weights = unpack_rewards(reward_funcs, args)
        datasets = {"train_dataset": train_dataset, "eval_dataset": eval_dataset}
        calls_as_trl = "rewards" not in changes
        check_arguments(args, reward_funcs, weights, model, calls_as_trl=calls_as_trl, **datasets, **kwargs)
        kwargs |= fill_template(datasets, args.prompt_template)
        check_trl(FilteredGRPOTrainer, GRPOTrainer)
        if args.process_index == 0:
            warn_of_newer_trl()
        if kwargs.get("rollout_func") is not None:
            kwargs["rollout_func"] = partial(check_rollout, kwargs["rollout_func"])
        given = len(reward_funcs)
        self._recorder = Recorder(args)
        kwargs["callbacks"] = [self._recorder, PlacePrinter(), *(kwargs.get("callbacks") or [])]
        super().__init__(model=model, reward_funcs=reward_funcs, args=args, **kwargs)
        check_attributes(self)
        if self.accelerator.is_main_process:
            for doubt in find_unused_template(kwargs["train_dataset"], self.processing_class):
                logger.warning(doubt)
        self.accelerator.backward = partial(self._run_backward, self.accelerator.backward)
        if weights is not None:  # TRL appends the rewards of environments, with weight 1
            self.reward_weights[: len(weights)] = torch.tensor(weights)
        self._resolve(changes)
        self._describe(weights or args.reward_weights, given)
        self._prompts = None  # without resampling, TRL alone draws prompts
        if args.max_resample_rounds:
            order = len(self.train_dataset), args.seed + 1, args.shuffle_dataset
            self._prompts = PromptStream(*order, has_prompts=train_dataset is not None)
        self._prepare_passes()

    def _prepare_passes(self) -> None:
        self._sampling = Sampling([])
        self._packer = build_packer(self)
        self._sharing_trial = Trial(self._packer)
        self._means = MetricMeans(self.args.importance_sampling_level == "sequence")
        if self._plan.packs and has_fused_head():
            for model in filter(None, (self.model, self.ref_model)):
                cut_columns(model)

    def _describe(self, weights: Sequence[float] | None, given: int) -> None:
        """Find the outcome, set up what watches it, and describe the run. TRL appends to the `given` rewards."""
        args = self.args
        names = self.reward_func_names
        rounded = self.reward_weights.tolist()  # to float32, unlike `weights`
        outcome = find_outcome(args.outcome_reward, names, self.reward_funcs, given, rounded)
        self._rule = build_rule(args, names[outcome])
        self._alarm = Alarm(args, self._metrics["train"], self._rule, dict(zip(names, rounded, strict=True)))
        self.add_callback(self._alarm)
        is_known = args.outcome_reward or outcome >= given or is_outcome(self.reward_funcs[outcome])
        self._best_metric = f"eval_rewards/{names[outcome]}/mean" if is_known else "eval_reward"
        self.run = describe_run(self, weights)
        self._recorder.run = self.run
        self._recorder.rewards = self.reward_funcs

    def _resolve(self, changes: dict[str, str]) -> None:
        """Decide what happens to dead groups and whether rows are packed."""
        self._changes = changes
        self._plan = make_plan(self.args, changes, self.aux_loss_enabled)
        if self._plan.reason and self.accelerator.is_main_process:
            logger.warning(self._plan.reason)

    @property
    def zero_variance(self) -> str:
        """What happens to dead groups: `"skip"`, `"drop"` or `"keep"`, as the options say or `"auto"` has decided."""
        return self._plan.zero_variance

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        self.args = name_metric(self, self._best_metric)
        self.run["options"]["metric_for_best_model"] = self.args.metric_for_best_model
        checkpoint = agree_on_checkpoint(resume_from_checkpoint, self.args, self.run, self.accelerator)
        changes = find_changes(self, FilteredGRPOTrainer, GRPOTrainer)
        if changes != self._changes:  # a method was set on this trainer
            self._resolve(changes)
            self._packer.sharing = None if "passes" in changes else self._packer.sharing
        with avoid_cudnn(self.args):
            return super().train(checkpoint, *args, **kwargs)

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        self.args = name_metric(self, self._best_metric)  # early stopping asks for it before training, too
        with avoid_cudnn(self.args):
            metrics = super().evaluate(*args, **kwargs)
        best = f"eval_{(self.args.metric_for_best_model or '').removeprefix('eval_')}"
        if metrics.get(best, 0) is None:  # nothing was scored
            metrics[best] = math.nan  # the comparison with the best value raises an error for None
        return metrics

    def get_batch_samples(self, *args: Any, **kwargs: Any) -> tuple:
        if self.state.global_step < self.state.max_steps:
            return super().get_batch_samples(*args, **kwargs)
        self.control.should_training_stop = True  # transformers would train a finished run for one more step
        return [], None

    def get_train_dataloader(self) -> DataLoader:
        dataset = self.train_dataset if self._prompts is None else PlacedRows(self.train_dataset)
        with replace_members(self, train_dataset=dataset):
            return super().get_train_dataloader()

    def _set_signature_columns_if_needed(self) -> None:
        super()._set_signature_columns_if_needed()
        if PLACE_COLUMN not in self._signature_columns:
            self._signature_columns.append(PLACE_COLUMN)

    def _get_train_sampler(self, dataset: Any = None) -> Sampler:
        self._sampler = super()._get_train_sampler(dataset)
        return self._sampler

    def _generate_and_score(
        self, generate: Callable[[list], tuple], calculate: Callable[..., Tensor], prompts: list
    ) -> tuple:
        """Return what TRL generates, and score it at once: TRL asks for rewards only after the passes without gradient."""
        sampling = self._sampling
        rows = sampling.rows
        sampling.generation = None
        start = time.perf_counter()
        generated = generate(prompts)
        sampled = time.perf_counter()
        prompt_ids, ids, mask, contents, *_ = generated
        add_columns(rows, next(part for part in generated if isinstance(part, dict)))
        self.log_multimodal = self.args.log_multimodal and agree_on_images(rows, generated[6])
        groups = self._score(calculate, prompts, contents, ids)
        self._log_groups(seconds_generation=sampled - start, seconds_scoring=time.perf_counter() - sampled)
        if self._plan.packs:
            self._sharing_trial.run(
                super()._get_per_token_logps_and_entropies, self.model, prompt_ids, ids, self.num_generations
            )
        completions = list_completions(
            rows,
            prompts,
            contents,
            ids,
            mask,
            {*self.eos_token_ids, self._tokenizer.pad_token_id},
            self._pending_extra_logs,
            self._tokenizer.batch_decode(prompt_ids),
        )
        sampling.generation = Generation(completions, groups, self.accelerator.process_index)
        return generated

    def _score(self, calculate: Callable[..., Tensor], prompts: list, contents: list, ids: TokenIds) -> ScoredGroups:
        """Return the groups of all ranks, scored by the method of TRL or of a subclass."""
        size = self.num_generations if self.model.training else self.num_generations_eval
        functions = self.reward_funcs
        if "rewards" not in self._changes:  # an own method may compare functions, or pass arguments by position
            functions = check_functions(functions, self.reward_func_names)
        with setting(GROUP_SIZE, size), replace_members(self, reward_funcs=functions):
            rewards = calculate(self._sampling.rows, prompts, contents, ids)
        if len(rewards) % size:
            raise ValueError(
                f"num_generations_eval={size} must divide the {len(rewards)} completions of an evaluation batch. Set "
                f"per_device_eval_batch_size so that it does."
            )
        hashes = [hash(tuple(one)) for one in ids]  # hashes of integers are the same in every process
        keys = self.accelerator.gather(torch.tensor(hashes, device=rewards.device))
        weights = self.reward_weights.cpu()  # all that is said of groups needs no other copy from a GPU
        return build_groups(rewards.cpu(), keys.cpu(), size, self.reward_func_names, weights, self._rule)

    def _recall_rewards(self, *args: Any, **kwargs: Any) -> Tensor:
        """Return the rewards of the completions, which are scored already."""
        known: Any = self._sampling.generation
        return known.groups.rewards.flatten(0, 1).to(self.accelerator.device)

    def _get_per_token_logps_and_entropies(self, model: nn.Module, *args: Any, **kwargs: Any) -> Logps:
        plain = super()._get_per_token_logps_and_entropies
        batch = dict(zip(LOGPS_ARGUMENTS, args, strict=False)) | kwargs
        count = len(batch["input_ids"])
        others = args[len(LOGPS_ARGUMENTS) :]
        packed = model.packed if isinstance(model, Positioned) else None
        if packed is not None and packed.shape == (count, batch["logits_to_keep"]):
            return score_packed(plain, model.func, packed, batch.get("compute_entropy", False))
        if torch.is_grad_enabled() or not self._plan.packs or any(others) or kwargs.get("compute_aux_loss"):
            return score_padded(plain, model, batch["logits_to_keep"], *args, **kwargs)
        rows = [*range(count)]
        generation = self._sampling.generation
        if generation is not None and self._removes_dead_rows and "advantages" not in self._changes:
            rows = generation.live.nonzero().flatten().tolist()
        packer = self._packer if self.model.training else replace(self._packer)  # which counts nothing
        return packer.score(plain, model, batch, rows)

    def _generate_and_score_completions(self, inputs: list[DataRow]) -> TensorBatch:
        mark_text(inputs)
        self._sampling = Sampling(inputs)
        self._pending_extra_logs.clear()  # an error may have left some
        generate = partial(self._generate_and_score, self._generate, self._calculate_rewards)
        aligned = align_columns(self._logs, len(inputs) * self.accelerator.num_processes)
        with aligned, replace_members(self, _generate=generate, _calculate_rewards=self._recall_rewards):
            output = super()._generate_and_score_completions(inputs)
        if self._removes_dead_rows and self._sampling.generation is not None:
            clear_dead_rows(output, self._sampling.generation, self._logs["advantages"])
        return output

    def _fill(self, make_batch: Callable[..., TensorBatch], inputs: list[DataRow]) -> TensorBatch:
        """Return a batch with the list `live`, which says which rows are trained on."""
        output, generation, prompts = self._sample(make_batch, inputs)
        if not self._removes_dead_rows:
            return {**output, "live": [True] * len(inputs)} if self.model.training and self._plan.packs else output
        rows = generation.live
        if self._prompts is not None:
            sample = partial(self._sample, make_batch)
            output, rows, rounds = resample(self, sample, output, generation, {*prompts})
            self._log_groups(resample_rounds=rounds)
        if self.zero_variance == "drop":
            mask = output["completion_mask"] * output.get("tool_mask", 1)
            output["num_items_in_batch"] = self.accelerator.gather(mask[rows].sum()).sum()
        output["live"] = rows.tolist()  # TRL shuffles and splits it with the rest
        return output

    def _sample(
        self, make_batch: Callable[..., TensorBatch], inputs: list[DataRow]
    ) -> tuple[TensorBatch, Generation, list[int]]:
        """Return TRL's batch, its generation, and its prompts, if this run draws them. In training, all is remembered."""
        places = [row.pop(PLACE_COLUMN, None) for row in inputs]
        output = make_batch(inputs)
        generation = self._sampling.generation
        self._sampling = Sampling([])
        if generation is None or len(output["advantages"]) != len(inputs):
            raise ValueError(
                f"{self._changes.get('advantages')} must call the method that it overrides, and return a row for each of its "
                f"{len(inputs)} completions. Change the rows instead, or use trl.GRPOTrainer."
            )
        if generation.groups.size > 1:
            self._log_groups(**generation.groups.metrics())
        prompts = gather_object(places)[:: generation.groups.size] if self._prompts is not None else []
        if self.model.training:
            generation = self._remember(output, generation)
        else:
            self._recorder.record(self.state.global_step, generation)
        return output, generation, prompts

    @property
    def _removes_dead_rows(self) -> bool:
        return self.model.training and self.zero_variance != "keep"

    def _remember(self, output: TensorBatch, generation: Generation) -> Generation:
        """Log and record the groups of a step. Return them with those that a subclass has revived."""
        advantages = self._logs["advantages"]
        groups = generation.groups
        completions = groups.totals.numel()
        if "advantages" in self._changes:
            generation = generation.revive(output, advantages, self.accelerator.gather)
        if not self._plan.packs:
            self._log_groups(rows_computed=completions)
        if self._prompts is not None:
            self._prompts.check_ranks()
        step = self.state.global_step + 1
        self._alarm.observe(step, groups.kinds, groups.kinds_by_outcome, completions)
        self._recorder.record(step, generation, advantages)
        return generation

    def _save_rng_state(self, output_dir: str) -> None:
        super()._save_rng_state(output_dir)
        if self._prompts is not None and self.args.should_save:  # like TRL's own state, on each node if that is set
            self._prompts.save(Path(output_dir))

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        self._step = resume_order(self._sampler, self.state.epoch, self.args.generation_batch_size)
        super()._load_optimizer_and_scheduler(checkpoint)
        if self._prompts is not None and checkpoint:  # `_load_rng_state` runs only after the first draw
            self._prompts.load(Path(checkpoint))
            self._prompts.check_ranks()

    def _prepare_inputs(self, generation_batch: Any) -> TensorBatch:
        # What is called in the end is the method with what a subclass or a caller makes of it.
        fill = partial(self._fill, self._generate_and_score_completions)
        with replace_members(self, _generate_and_score_completions=fill):
            batch = super()._prepare_inputs(generation_batch)
        if "live" in batch:
            self._buffered_inputs, counted = self._packer.pack(self._buffered_inputs)
            self._log_groups(**counted)
            batch = self._buffered_inputs[self._step % self.args.steps_per_generation]
        return batch

    def compute_loss(self, model: nn.Module, inputs: TensorBatch, *args: Any, **kwargs: Any) -> Tensor:
        self._is_silent = "silent" in inputs and not self.accelerator.sync_gradients
        if self._is_silent:
            return torch.zeros((), device=self.accelerator.device)
        if "weights" not in inputs:
            return super().compute_loss(model, inputs, *args, **kwargs)
        if "position_ids" in inputs:
            positioned: Any = Positioned(model, position_ids=inputs["position_ids"])
            positioned.packed = inputs.get("packed")
            model = positioned
        scale = inputs.get("loss_scale", 1.0)
        weights = inputs["weights"]
        means = self._means.weigh(self._metrics["train"], weights)
        with means, pad_gathered(self.accelerator, weights.most_rows, scale):
            return super().compute_loss(model, inputs, *args, **kwargs) * scale

    def _run_backward(self, backward: Callable[..., None], loss: Tensor, **kwargs: Any) -> None:
        """Skip the constants of `compute_loss`, which DeepSpeed refuses. Any other loss without a gradient is an error."""
        if not self._is_silent:
            backward(loss, **kwargs)

    def create_optimizer(self, *args: Any, **kwargs: Any) -> torch.optim.Optimizer:
        optimizer = super().create_optimizer(*args, **kwargs)
        if not any(group["params"] for group in optimizer.param_groups):
            raise ValueError(
                "A run needs weights to train, but the optimizer has no parameter, since none of the model requires a gradient. "
                "Unfreeze some weights; PeftModel.from_pretrained(..., is_trainable=True) does so for an adapter."
            )
        return optimizer

    def _log_groups(self, **values: float) -> None:
        metrics = self._metrics["train" if self.model.training else "eval"]
        for name, value in values.items():
            metrics[f"groups/{name}"].append(float(value))
