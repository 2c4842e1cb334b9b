"""TRL's GRPO trainer, less the compute of groups that teach nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from accelerate.utils import gather_object
from trl import GRPOConfig, GRPOTrainer

from . import groups
from .batches import compact
from .registry import Maker, uncalled
from .values import Reward, check_names, missing_column


ROW_MEANS = ("grpo", "sapo", "dr_grpo", "luspo")
"""Losses that divide by the number of rows in the micro-batch."""

TOKEN_MEANS = ("dapo", "cispo", "vespo")
"""Losses that divide by the number of tokens in the generation batch, which leaving rows out does not change."""


@dataclass
class FilteredGRPOConfig(GRPOConfig):
    """
    Configuration of [`FilteredGRPOTrainer`]: that of TRL's [`~trl.GRPOConfig`], and the following.

    Args:
        zero_variance (`str`, *optional*, defaults to `"skip"`):
            What happens to dead groups, those whose rewards are all equal. `"skip"`: they are not forwarded, and the
            gradient is TRL's with their advantages at exactly 0. `"keep"`: they are trained on as in TRL.
        zero_variance_tolerance (`float`, *optional*, defaults to `1e-6`):
            Largest difference between the rewards of a dead group.
        unscored (`str`, *optional*, defaults to `"term"`):
            What a None beside a score means. `"term"`: it counts as 0 in the total, as in TRL. `"row"`: a None in any
            reward of non-zero weight leaves the completion out, as TRL does where every reward is None.
    """

    zero_variance: str = field(
        default="skip",
        metadata={"choices": ["skip", "keep"], "help": "What happens to groups whose rewards are all equal."},
    )
    zero_variance_tolerance: float = field(
        default=1e-6, metadata={"help": "Largest difference between the rewards of a group that counts as equal."}
    )
    unscored: str = field(
        default="term",
        metadata={
            "choices": ["term", "row"],
            "help": "Whether a None beside a score counts as 0 ('term') or leaves the completion out ('row').",
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, choices in (("zero_variance", ("skip", "keep")), ("unscored", ("term", "row"))):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is not known; there are {' and '.join(map(repr, choices))}. "
                    f"Choose one of them."
                )
        if not 0 <= self.zero_variance_tolerance < float("inf"):
            raise ValueError(
                f"zero_variance_tolerance={self.zero_variance_tolerance} is no distance. Choose a number from 0."
            )


class FilteredGRPOTrainer(GRPOTrainer):
    """
    [`~trl.GRPOTrainer`] that spends no forward or backward on groups whose rewards are all equal.

    The only changes with respect to [`~trl.GRPOTrainer`] are: `__init__` takes a [`Reward`] apart into functions and
    weights and checks what it can before the model loads; `_calculate_rewards` keeps the rewards of all ranks, and
    leaves rows out under `unscored="row"`; `_generate_and_score_completions` logs `groups/...` and marks dead rows;
    `_prepare_inputs` takes those out of the micro-batches that TRL has made.

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
            the dataset is empty, or `zero_variance="skip"` would change the objective.
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
        for dataset in (train_dataset, kwargs.get("eval_dataset")):
            for part in dataset.values() if isinstance(dataset, dict) else [dataset]:
                check_dataset(part, reward_funcs)
        super().__init__(model, reward_funcs, args=args, train_dataset=train_dataset, **kwargs)
        if weights is not None:  # TRL appends the rewards of environments, with weight 1
            self.reward_weights[: len(weights)] = torch.tensor(weights)
        if args.zero_variance == "skip" and self.aux_loss_enabled:
            raise ValueError(inexact("the load-balancing loss of a mixture of experts", "router_aux_loss_coef=0.0"))

    def _calculate_rewards(self, inputs, prompts, completions, completion_ids_list):
        rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        missing = rewards.isnan() & (self.reward_weights.to(rewards.device) != 0)
        partly = missing.any(1) & ~rewards.isnan().all(1)
        if self.args.unscored == "row":
            rewards = rewards.masked_fill(missing.any(1, keepdim=True), torch.nan)
        self._rewards, self._partly_scored = rewards, partly.float().mean().item()
        self._completion_ids = gather_object(completion_ids_list)
        return rewards

    def _generate_and_score_completions(self, inputs):
        output = super()._generate_and_score_completions(inputs)
        for column in self._logs["extra"].values():  # one logged late is shorter, and TRL's table wants all alike
            column.extendleft([None] * (len(self._logs["prompt"]) - len(column)))
        size = self.num_generations if self.model.training else self.num_generations_eval
        if size == 1:
            return output
        dead = self._dead_groups(self._rewards.view(-1, size, self._rewards.size(1)))
        if self.model.training and self.args.zero_variance == "keep":
            self._log_groups(rows_computed=self._rewards.size(0))
        elif self.model.training:
            rows = len(inputs)
            first = self.accelerator.process_index * rows
            live = ~dead.repeat_interleave(size)[first : first + rows]
            output["advantages"] = output["advantages"].masked_fill(~live, 0.0)
            for row in dead.repeat_interleave(size).nonzero().flatten().tolist():
                self._logs["advantages"][row] = 0.0  # in TRL's table of completions, too
            output["live"] = live  # TRL shuffles and splits it with the rest
        return output

    def _dead_groups(self, rewards: torch.Tensor) -> torch.Tensor:
        """Find the dead groups among all ranks' rewards, of shape (groups, G, functions), and log what they are."""
        weights, tolerance = self.reward_weights.to(rewards.device), self.args.zero_variance_tolerance
        totals = groups.total(rewards, weights)
        apart = self.multi_objective_aggregation == "normalize_then_sum"  # then each reward has a spread of its own
        dead = groups.dead(rewards[:, :, weights != 0] if apart else totals, tolerance)
        shares = groups.signal(rewards[~dead], weights)
        self._log_groups(
            dead=dead.float().mean(),
            **{kind: mask.float().mean() for kind, mask in groups.kinds(dead, totals, rewards[:, :, 0]).items()},
            spread=groups.spread(totals).mean(),
            duplicates=groups.duplicates(self._completion_ids, rewards.size(1)),
            partly_scored=self._partly_scored,
            rows_kept=(~dead).sum() * rewards.size(1),
            **{f"signal/{name}": share for name, share in zip(self.reward_func_names, shares, strict=True)}
            if shares is not None
            else {},
        )
        return dead

    def _prepare_inputs(self, generation_batch):
        batch = super()._prepare_inputs(generation_batch)
        if "live" not in batch:
            return batch
        live = [micro_batch.pop("live") for micro_batch in self._buffered_inputs]
        sizes = torch.stack([mask.sum() for mask in live])
        sizes = self.accelerator.gather(sizes).view(-1, len(live)).amax(0).clamp(min=1).tolist()  # alike on all ranks
        for index, (mask, size) in enumerate(zip(live, sizes, strict=True)):
            whole = self._buffered_inputs[index]
            self._buffered_inputs[index] = compact(whole, mask, size, shorten=not self.args.pad_to_multiple_of)
            if self.loss_type in ROW_MEANS:  # it will divide by fewer rows
                self._buffered_inputs[index]["advantages"] *= size / mask.numel()
        self._log_groups(rows_computed=sum(sizes) * self.accelerator.num_processes)
        return self._buffered_inputs[self._step % self.args.steps_per_generation]

    def _log_groups(self, **values: Any) -> None:
        metrics = self._metrics["train" if self.model.training else "eval"]
        for name, value in values.items():
            metrics[f"groups/{name}"].append(float(value))


def inexact(what: str, remedy: str) -> str:
    return (
        f"zero_variance='skip' leaves groups of equal rewards out of the update, but {what} gives them a gradient, so "
        f"that the objective would change. Set zero_variance='keep' to train on them as TRL does, or {remedy}."
    )


def check_config(args: FilteredGRPOConfig) -> None:
    """Refuse what cannot keep its promise, before anything loads."""
    if not isinstance(args, FilteredGRPOConfig):
        raise TypeError(
            f"FilteredGRPOTrainer was given a {type(args).__name__}; it needs the options of FilteredGRPOConfig. "
            f"Write FilteredGRPOConfig(...) with the same arguments."
        )
    if args.zero_variance == "keep":
        return
    if args.loss_type not in ROW_MEANS + TOKEN_MEANS:
        remedy = f"loss_type to one of {', '.join(map(repr, ROW_MEANS + TOKEN_MEANS))}"
        raise ValueError(inexact(f"the denominator of loss_type={args.loss_type!r}", remedy))
    if args.beta != 0:
        raise ValueError(inexact(f"the KL term (beta={args.beta})", "beta=0.0"))
    if args.entropy_coef != 0 or args.use_adaptive_entropy:
        raise ValueError(inexact("the entropy bonus", "entropy_coef=0.0 and use_adaptive_entropy=False"))
    if args.top_entropy_quantile < 1:
        what = f"the threshold over all tokens of top_entropy_quantile={args.top_entropy_quantile}"
        raise ValueError(inexact(what, "top_entropy_quantile=1.0"))


def unpacked(reward_funcs: Any, args: FilteredGRPOConfig) -> tuple[Any, list[float] | None]:
    """What TRL takes as `reward_funcs`, and the weights where the rewards bring their own."""
    if isinstance(reward_funcs, Reward):
        if args.reward_weights is not None:
            raise ValueError(
                f"The rewards {reward_funcs} have weights, and reward_weights={args.reward_weights} are others. "
                f"Leave out reward_weights, or pass a list of rewards."
            )
        return reward_funcs.rewards, reward_funcs.weights
    if isinstance(reward_funcs, str) and "(" in reward_funcs:
        raise ValueError(
            f"reward_funcs is the text {reward_funcs!r}, and TRL takes text for the id of a reward model. "
            f"Write parse({reward_funcs!r})."
        )
    return list(reward_funcs) if isinstance(reward_funcs, tuple) else reward_funcs, None


def check_rewards(reward_funcs: Any) -> None:
    reward_funcs = reward_funcs if isinstance(reward_funcs, list) else [reward_funcs]
    for function in reward_funcs:
        if isinstance(function, Maker):
            raise TypeError(f"reward_funcs has {uncalled(function)}")
    check_names([function.__name__ for function in reward_funcs if hasattr(function, "__name__")])


def check_dataset(dataset: Any, reward_funcs: Any) -> None:
    if hasattr(dataset, "__len__") and len(dataset) == 0:
        raise ValueError("The dataset is empty, and training needs prompts. Check how it was loaded or filtered.")
    available = getattr(dataset, "column_names", None)
    if not available:  # a stream may not know them
        return
    if "prompt" not in available:
        raise ValueError(
            f"GRPOTrainer needs the column 'prompt'; the dataset has {', '.join(map(repr, sorted(available)))}. "
            f"Rename the column with the questions: dataset.rename_column(..., 'prompt')."
        )
    for function in reward_funcs if isinstance(reward_funcs, list) else []:
        for column in sorted(function.columns - {*available}) if isinstance(function, Reward) else []:
            raise missing_column(function.name, column, available)
