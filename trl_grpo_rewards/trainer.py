"""TRL's GRPO trainer, less the compute of groups that teach nothing."""

import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor
from trl import GRPOTrainer

from . import groups
from .arguments import check_dataset, check_prompts, check_rewards, unpacked, warn_of_judges
from .batches import even, even_share, joined, longest_first, micro_batches, size, take, window
from .config import ROW_MEANS, FilteredGRPOConfig, check_config, inexact
from .prompts import PromptStream, SelectiveSampler, SelectiveStream
from .record_fields import describe_groups
from .recording import Recorder
from .values import Reward


PLACE = "place_in_dataset"
"""Column that selective drawing adds to the dataset; no reward and no record sees it."""

logger = logging.getLogger(__name__)


class FilteredGRPOTrainer(GRPOTrainer):
    """
    [`~trl.GRPOTrainer`] that spends no forward or backward on groups whose rewards are all equal.

    The only changes with respect to [`~trl.GRPOTrainer`] are: `__init__` takes a [`Reward`] apart into functions and
    weights and checks what it can before the model loads; `_calculate_rewards` keeps the rewards of all ranks, and
    leaves rows out under `unscored="row"`; `_generate_and_score_completions` logs `groups/...`, marks dead rows, and
    samples again where it may; `_prepare_inputs` takes dead rows out of the micro-batches that TRL has made and spreads
    the others evenly over micro-batches and ranks, within their optimizer step; `compute_loss` weighs a micro-batch by
    its rows where TRL divides by their number; `_get_train_sampler` draws prompts selectively where that is asked for;
    `_save_rng_state` and `_load_optimizer_and_scheduler` keep the place among the prompts and what is known of them;
    `train` returns when all records are written.

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
                check_dataset(part, reward_funcs)
        check_prompts(args, train_dataset)
        if args.selective:
            train_dataset = train_dataset.add_column(PLACE, range(len(train_dataset)))
        self._recorder = Recorder(args)
        callbacks = [self._recorder, *(kwargs.pop("callbacks", None) or [])]
        super().__init__(model, reward_funcs, args=args, train_dataset=train_dataset, callbacks=callbacks, **kwargs)
        if weights is not None:  # TRL appends the rewards of environments, with weight 1
            self.reward_weights[: len(weights)] = torch.tensor(weights)
        if args.zero_variance == "skip" and self.aux_loss_enabled:
            raise ValueError(inexact("the load-balancing loss of a mixture of experts", "router_aux_loss_coef=0.0"))
        if args.zero_variance_by is not None and args.zero_variance_by not in self.reward_func_names:
            raise ValueError(
                f"zero_variance_by={args.zero_variance_by!r} is none of the rewards, which are "
                f"{', '.join(map(repr, self.reward_func_names))}. Name one of them."
            )
        self._signals = [f"signal/{name}" for name in self.reward_func_names]
        self._said: set[str] = set()
        self._outcome = self.reward_func_names.index(args.zero_variance_by) if args.zero_variance_by else 0
        self._prompts = None
        if args.selective:
            size = len(train_dataset)
            self._prompts = SelectiveStream(size, args.seed + 1, self.shuffle_dataset, self.num_generations)
        elif args.max_resample_rounds:
            self._prompts = PromptStream(len(train_dataset), args.seed + 1, self.shuffle_dataset)

    def train(self, *args, **kwargs):
        try:
            return super().train(*args, **kwargs)
        finally:
            self._recorder.flush()

    def _get_train_sampler(self, dataset=None):
        sampler = super()._get_train_sampler(dataset)
        return SelectiveSampler(sampler, self._prompts) if self.args.selective else sampler

    def _calculate_rewards(self, inputs, prompts, completions, completion_ids_list):
        rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        missing = rewards.isnan() & (self.reward_weights.to(rewards.device) != 0)
        partly = missing.any(1) & ~rewards.isnan().all(1)
        if self.args.unscored == "row":
            rewards = rewards.masked_fill(missing.any(1, keepdim=True), torch.nan)
        self._rewards, self._partly_scored = rewards, partly.float().mean().item()
        keys = [hash(tuple(ids)) for ids in completion_ids_list]  # integers have the same hash in every process
        self._keys = self.accelerator.gather(torch.tensor(keys, device=rewards.device))
        if self.model.training:
            last_ids = {*self.eos_token_ids, self._tokenizer.pad_token_id}
            self._recorder.collect(inputs, prompts, completions, completion_ids_list, last_ids=last_ids)
        return rewards

    def _generate_and_score_completions(self, inputs):
        output, live = self._sampled(inputs)
        if live is None or self.args.zero_variance == "keep":
            return output
        rows = self._rows(live, size(output))
        if self.args.max_resample_rounds:
            output, rows = self._resampled(output, live, rows)
        if self.args.zero_variance == "drop":
            mask = output["completion_mask"] * output.get("tool_mask", 1)
            output["num_items_in_batch"] = self.accelerator.gather(mask[rows].sum()).sum()
        output["advantages"] = output["advantages"].masked_fill(~rows, 0.0)
        output["live"] = rows  # TRL shuffles and splits it with the rest
        return output

    def _sampled(self, inputs: list[dict]) -> tuple[dict, Tensor | None]:
        """What TRL generates and scores, and which groups of all ranks are live; None in evaluation."""
        places = [row.pop(PLACE, None) for row in inputs]
        output = super()._generate_and_score_completions(inputs)
        for column in self._logs["extra"].values():  # one logged late is shorter, and TRL's table wants all alike
            column.extendleft([None] * (len(self._logs["prompt"]) - len(column)))
        count = self.num_generations if self.model.training else self.num_generations_eval
        if count == 1:
            return output, None
        kinds = self._kinds(self._rewards.view(-1, count, self._rewards.size(1)))
        if not self.model.training:
            return output, None
        live, predicted = kinds["live"], []
        if self.args.selective:
            predicted = self._learn(gather_object(places)[::count], self._rewards[:, self._outcome].view(-1, count))
        if self.args.zero_variance == "keep":
            self._log_groups(rows_computed=self._rewards.size(0))
        else:
            shown = self._logs["advantages"]  # in TRL's table of completions
            for row in (~live).repeat_interleave(count).nonzero().flatten().tolist():
                place = len(shown) - self._rewards.size(0) + row
                if place >= 0:
                    shown[place] = 0.0
        self._record(kinds, predicted)
        return output, live

    def _learn(self, prompts: list[int], outcome: Tensor) -> list[float]:
        """
        Remember how many completions of each prompt were right, by the outcome reward of shape (groups, G).

        Returns the probability that each of these groups would have right and wrong completions, as it was before.
        """
        chances = [self._prompts.live_chance(prompt) for prompt in prompts]
        self._log_groups(predicted_live=sum(chances) / len(chances), skipped_prompts=self._prompts.skipped)
        self._prompts.learn(prompts, (outcome >= 1).sum(1).tolist(), (~outcome.isnan()).sum(1).tolist())
        return chances

    def _record(self, kinds: dict[str, Tensor], predicted: list[float]) -> None:
        """Write a record of every group that all ranks have just sampled."""
        rows, count = self._recorder.gather(), len(kinds["live"])
        if not rows:
            return
        records = describe_groups(
            rows,
            self._rewards.tolist(),
            dict(zip(self.reward_func_names, self.reward_weights.tolist(), strict=True)),
            groups.total(self._rewards, self.reward_weights.to(self._rewards.device)).tolist(),
            list(self._logs["advantages"])[-len(rows) :],
            [next(kind for kind, mask in kinds.items() if mask[group]) for group in range(count)],
            self.reward_func_names[self._outcome],
            groups.duplicates(self._keys.view(count, -1)).sum(1).tolist(),
            predicted,
        )
        self._recorder.write(self.state.global_step + 1, records)

    def _rows(self, live: Tensor, count: int) -> Tensor:
        """Which of the `count` rows on this rank belong to live groups."""
        first = self.accelerator.process_index * count
        return live.repeat_interleave(self.num_generations)[first : first + count]

    def _resampled(self, output: dict, live: Tensor, rows: Tensor) -> tuple[dict, Tensor]:
        """The batch with groups of fresh prompts in the place of dead ones, as far as the rounds reach."""
        found, wanted, rounds = int(live.sum()), len(live), 0
        parts = [take(output, rows.nonzero().flatten())]
        while found < wanted and rounds < self.args.max_resample_rounds:
            more, live = self._sampled(self._fresh(wanted - found))
            live &= live.cumsum(0) <= wanted - found  # no more than have room: a surplus kept would be off-policy
            parts.append(take(more, self._rows(live, size(more)).nonzero().flatten()))
            found, rounds = found + int(live.sum()), rounds + 1
        self._log_groups(resample_rounds=rounds)
        if not rounds:
            return output, rows
        mine = joined(parts)
        if self.accelerator.num_processes > 1 and "num_images" in mine:
            raise ValueError(
                f"max_resample_rounds={self.args.max_resample_rounds} moves completions between the "
                f"{self.accelerator.num_processes} ranks, and these have images, which stay on their rank. Set it to 0."
            )
        if self.accelerator.num_processes > 1:
            mine = even_share(mine, self.accelerator.process_index, self.accelerator.num_processes)
        dead = size(output) - size(mine)
        whole = joined([mine, take(output, torch.zeros(dead, dtype=torch.long))])
        return whole, torch.arange(size(whole), device=rows.device) < size(mine)

    def _fresh(self, count: int) -> list[dict]:
        """This rank's rows for so many more prompts, or a few more where the ranks need it to have the same number."""
        ranks = self.accelerator.num_processes
        count = math.ceil(count / (step := ranks // math.gcd(ranks, self.num_generations))) * step
        prompts = [prompt for prompt in self._prompts.take(count) for _ in range(self.num_generations)]
        share = len(prompts) // ranks
        first = self.accelerator.process_index * share
        return [dict(self.train_dataset[prompt]) for prompt in prompts[first : first + share]]

    def _save_rng_state(self, output_dir):
        super()._save_rng_state(output_dir)
        if self._prompts is not None and self.accelerator.is_main_process:
            self._prompts.save(Path(output_dir), at_end=math.isclose(self.state.epoch, round(self.state.epoch)))

    def _load_optimizer_and_scheduler(self, checkpoint):  # the state of random numbers is loaded after the first draw
        super()._load_optimizer_and_scheduler(checkpoint)
        if self._prompts is not None and checkpoint:
            self._prompts.load(Path(checkpoint))

    def _kinds(self, rewards: Tensor) -> dict[str, Tensor]:
        """Which groups of all ranks are live, and what the dead are, by rewards of shape (groups, G, functions)."""
        weights, tolerance = self.reward_weights.to(rewards.device), self.args.zero_variance_tolerance
        totals = groups.total(rewards, weights)
        outcome, deciding = rewards[:, :, self._outcome], totals
        if self.args.zero_variance_by is not None:
            deciding = outcome
        elif self.multi_objective_aggregation == "normalize_then_sum":  # then each reward has a spread of its own
            deciding = rewards[:, :, weights != 0]
        dead = groups.dead(deciding, tolerance)
        kinds = {"live": ~dead, **groups.kinds(dead, totals, outcome)}
        shares = groups.signal(rewards[~dead], weights)
        self._log_groups(
            **{kind: mask.float().mean() for kind, mask in {**kinds, "dead": dead}.items() if kind != "live"},
            spread=groups.spread(totals).mean(),
            duplicates=groups.duplicates(self._keys.view(-1, rewards.size(1))).float().mean(),
            partly_scored=self._partly_scored,
            rows_kept=(~dead).sum() * rewards.size(1),
            **{} if shares is None else dict(zip(self._signals, shares, strict=True)),
        )
        return kinds

    def _prepare_inputs(self, generation_batch):
        batch = super()._prepare_inputs(generation_batch)
        if "live" not in batch:
            return batch
        whole, self._buffered_inputs = self._buffered_inputs, []
        span = window(self.args.steps_per_generation, self.args.gradient_accumulation_steps)
        span = 1 if "num_images" in batch else span
        for start in range(0, len(whole), span):
            self._buffered_inputs += self._spread(whole[start : start + span])
        rows = sum(map(size, self._buffered_inputs))
        self._log_groups(rows_computed=rows * self.accelerator.num_processes)
        return self._buffered_inputs[self._step % self.args.steps_per_generation]

    def _spread(self, parts: list[dict]) -> list[dict]:
        """Micro-batches of one optimizer step with their live rows only, as many on each rank and in each of them."""
        whole, ranks = joined(parts), self.accelerator.num_processes
        live = whole.pop("live")
        rows = longest_first(take(whole, live.nonzero().flatten()))
        counts = self.accelerator.gather(live.sum())
        total, most = int(counts.sum()), int(counts.max())
        share = math.ceil(total / ranks)
        if most > share and "num_images" in whole:
            share = most
            self._say_once(
                "Live completions with images stay on their rank, and so the ranks may wait for the fullest."
            )
        elif most > share:
            rows = even_share(rows, self.accelerator.process_index, ranks)
        planned = even(share, len(parts))
        spread = micro_batches(
            rows, [max(1, count) for count in planned], whole, shorten=not self.args.pad_to_multiple_of
        )
        drop = self.args.zero_variance == "drop"
        for part in spread:
            if self.loss_type in ROW_MEANS:  # TRL divides by the rows that are there
                part["loss_scale"] = size(part) * len(parts) * ranks / max(1, total if drop else live.numel() * ranks)
            elif self.loss_type == "bnpo":  # and averages over micro-batches
                part["loss_scale"] = len(parts) / max(1, len(planned) - planned.count(0))
        return spread

    def compute_loss(self, model, inputs, *args, **kwargs):
        return super().compute_loss(model, inputs, *args, **kwargs) * inputs.get("loss_scale", 1.0)

    def _say_once(self, text: str) -> None:
        if text not in self._said and self.accelerator.is_main_process:
            logger.warning(text)
        self._said.add(text)

    def _log_groups(self, **values: Any) -> None:
        metrics = self._metrics["train" if self.model.training else "eval"]
        for name, value in values.items():
            metrics[f"groups/{name}"].append(float(value))
