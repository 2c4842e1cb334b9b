"""The options of the trainer, and the checks of their combinations."""

import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from trl import GRPOConfig

from ..prompt_templates import check_prompt_template
from ..records.dead_groups import Rule


ROW_MEANS = ("grpo", "sapo", "dr_grpo", "luspo")  # losses that divide by the number of rows in the micro-batch
TOKEN_MEANS = ("dapo", "cispo", "vespo")  # divided by the tokens of the generation batch


class Unnamed(str):
    """A `metric_for_best_model` in whose place the trainer puts the mean of the outcome, when it knows all rewards."""


@dataclass
class FilteredGRPOConfig(GRPOConfig):
    """
    Configuration of [`FilteredGRPOTrainer`]: the options of TRL's [`~trl.GRPOConfig`] and the following ones.

    Args:
        prompt_template (`str`, *optional*):
            Text with `{prompt}`, which each prompt is put into, such as one with a worked example. In a conversation, it
            is the last text of the user. Other braces stay as they are.
        zero_variance (`str`, *optional*, defaults to `"auto"`):
            What happens to dead groups, whose rewards are all equal: `"skip"` does not run the model on them, `"drop"` also
            leaves them out of the objective, `"keep"` trains on them as TRL does, and `"auto"` is `"skip"` if that keeps TRL's
            gradient, otherwise `"keep"`. With `"skip"`, the gradient is the one that TRL computes if their advantages are
            exactly 0. With `"drop"`, the loss's denominator, its KL term and its entropy bonus are as if they had not been
            sampled. The log names the option that rules out `"skip"`.
        packing (`bool`, *optional*, defaults to `True`):
            Whether passes over the model compute each prompt once, and take rows of similar lengths together, so that few of
            their tokens are padding. This changes the time, and not the gradient. A micro-batch then has as many rows as fit
            into the tokens of TRL's largest one. With `False`, micro-batches are those of TRL, which requires `zero_variance="keep"` or `"auto"`.
        zero_variance_tolerance (`float`, *optional*, defaults to `1e-6`):
            Largest difference between the rewards of a dead group.
        outcome_reward (`str`, *optional*):
            Name of the reward that says which completions are right: those with a score of at least 1. `groups/solved`
            and `groups/failed` use it. The default is the first of these that exists: a reward that is
            registered as an outcome, such as `boxed`; the environment's own reward, which has the name of its class; the
            first reward. A reward of weight 0 is chosen only if no other one can be.
        zero_variance_by (`str`, *optional*, defaults to `"total"`):
            What decides which groups are dead: the weighted `"total"`, or the `"outcome"` reward alone. With
            `"outcome"`, a group whose answers are all wrong is dead even if other rewards differ. `"outcome"` requires
            `zero_variance="drop"`.
        max_resample_rounds (`int`, *optional*, defaults to `0`):
            Largest number of rounds in which fresh prompts are sampled to replace dead groups. Sampling stops as soon
            as every group of the batch is live, as in the dynamic sampling of
            [DAPO](https://huggingface.co/papers/2503.14476). Live groups beyond the batch are left
            out. Requires `zero_variance="drop"`.
        unscored (`str`, *optional*, defaults to `"term"`):
            What happens to a completion that some rewards have scored and others have not: a None counts as 0 in the total,
            as in TRL (`"term"`), or the completion is left out if any reward of non-zero weight is None (`"row"`). With
            both, it is left out if all rewards of non-zero weight are None, and in TRL only if all rewards are.
        group_records (`bool`, *optional*, defaults to `True`):
            Whether to write a line of JSON for every sampled group to files in `output_dir/groups`.
        group_records_text (`bool`, *optional*, defaults to `True`):
            Whether the records contain the texts of prompts and completions.
        group_records_ids (`bool`, *optional*, defaults to `True`):
            Whether the records contain the token ids of completions, as base64 of little-endian `int32`. They take
            about 5.3 bytes per token. Rewards that count tokens need them when the records are scored again.
    """

    prompt_template: str | None = None
    zero_variance: Literal["auto", "skip", "drop", "keep"] = "auto"
    packing: bool = True
    zero_variance_tolerance: float = 1e-6
    outcome_reward: str | None = None
    zero_variance_by: Literal["total", "outcome"] = "total"
    max_resample_rounds: int = 0
    unscored: Literal["term", "row"] = "term"
    group_records: bool = True
    group_records_text: bool = True
    group_records_ids: bool = True

    def __post_init__(self) -> None:
        falls = self.lr_scheduler_type in ("reduce_lr_on_plateau", "greedy")  # which expect of the same metric to fall
        if (self.load_best_model_at_end or self.save_strategy == "best") and not falls:
            self.metric_for_best_model = choose_metric(self)
        super().__post_init__()
        for name, annotation in FilteredGRPOConfig.__annotations__.items():
            choices = [one for one in get_args(annotation) if isinstance(one, str)]  # of a Literal
            if choices and getattr(self, name) not in choices:
                hint = " To name a reward, use outcome_reward." if name == "zero_variance_by" else ""
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, choices))}; got {getattr(self, name)!r}.{hint}"
                )
        check_prompt_template(self.prompt_template)
        if not 0 <= self.zero_variance_tolerance < float("inf"):
            raise ValueError(
                f"zero_variance_tolerance must be at least 0 and finite; got {self.zero_variance_tolerance}. Set it to the "
                f"largest difference between the rewards of a dead group, such as 1e-6."
            )
        if self.max_resample_rounds < 0:
            raise ValueError(
                f"max_resample_rounds must be at least 0; got {self.max_resample_rounds}. Set it to 0 to sample once."
            )


for name, text in re.findall(r"^ {8}(\w+) \(.*\):\n((?: {12}.*\n)+)", FilteredGRPOConfig.__doc__ or "", re.MULTILINE):
    # The command line shows the first sentence about an option.
    sentence = re.split(r"(?<=\.)\s", " ".join(text.split()).replace("`", ""))[0]
    FilteredGRPOConfig.__dataclass_fields__[name].metadata = {"help": sentence}  # type: ignore[assignment]


def choose_metric(args: FilteredGRPOConfig) -> str | None:
    """Return the metric of the best checkpoint. Where low is better, the default is TRL's, the loss."""
    is_named = args.metric_for_best_model is not None or args.greater_is_better is False
    return args.metric_for_best_model if is_named else Unnamed("eval_reward")


def convert_args(args: Any, model: Any) -> Any:
    """
    Return a [`FilteredGRPOConfig`] for no arguments, and for a [`~trl.GRPOConfig`] one with the defaults of its own options.

    The class of a copy is changed, since TRL refuses the values that it has computed from others as arguments.
    """
    if args is None:
        name = model if isinstance(model, str) else model.config._name_or_path
        return FilteredGRPOConfig(f"{name.rstrip('/').split('/')[-1]}-GRPO")
    if type(args) is not GRPOConfig:
        return args
    converted = copy(args)
    converted.__class__ = FilteredGRPOConfig
    return converted


class Plan(NamedTuple):
    """What a run does with dead groups and with rows, by its options, its model and the methods that it overrides."""

    zero_variance: str  # `"skip"`, `"drop"` or `"keep"`
    packs: bool  # whether passes take rows of similar lengths together
    keeps_rows: bool  # whether each micro-batch has TRL's rows, and only its padding is cut
    reason: str  # why `"auto"` keeps dead groups, if it does


def make_plan(args: FilteredGRPOConfig, changes: Mapping[str, str] = {}, has_aux_loss: bool = False) -> Plan:
    """
    Judge the options of a run, and raise an error if they contradict each other.

    `changes` are those of [`find_changes`]. Before the model is loaded, `has_aux_loss` is not known.
    """
    if not isinstance(args, FilteredGRPOConfig):
        raise TypeError(
            f"FilteredGRPOTrainer takes args of type FilteredGRPOConfig or GRPOConfig; got {type(args).__name__}. Write "
            f"FilteredGRPOConfig(...) with the same arguments, or derive {type(args).__name__} from it."
        )
    loss = changes.get("loss")
    check_resampling(args)
    check_dead_groups(args, loss)
    if loss and args.packing:
        reason = f"{loss} changes the loss, so TRL's micro-batches and dead groups are kept (packing=False)."
        return Plan("keep", False, False, reason)
    gradients = list_dead_gradients(args, has_aux_loss)
    mode, reason = choose_mode(args.zero_variance if args.packing else "keep", gradients)
    keeps_rows = mode == "keep" and any(gradient.is_of_micro_batch for gradient in gradients)
    return Plan(mode, args.packing, keeps_rows, reason)


def check_resampling(args: FilteredGRPOConfig) -> None:
    rounds = args.max_resample_rounds
    scale = args.scale_rewards
    way = args.multi_objective_aggregation
    if rounds and (scale == "batch" or way == "normalize_then_sum"):
        raise ValueError(
            f"max_resample_rounds={rounds} samples a batch in several rounds, but scale_rewards={scale!r} with "
            f"multi_objective_aggregation={way!r} scales rewards by the whole batch. Set scale_rewards to 'group' or "
            f"'none' and multi_objective_aggregation to 'sum_then_normalize', or max_resample_rounds=0."
        )


def check_dead_groups(args: FilteredGRPOConfig, loss: str | None) -> None:
    mode = args.zero_variance
    if (loss or not args.packing) and mode in ("skip", "drop"):
        raise ValueError(
            f"{f'The loss of {loss}' if loss else 'packing=False'} keeps TRL's micro-batches, but zero_variance={mode!r} "
            f"takes rows out of them. Set {'' if loss else 'packing=True, or '}zero_variance='keep'."
        )
    for name in ("max_resample_rounds", "zero_variance_by"):
        value = getattr(args, name)
        if value not in (0, "total") and mode != "drop":
            raise ValueError(
                f"{name}={value!r} leaves out groups that TRL would train on, but zero_variance={mode!r} keeps TRL's "
                f"objective. Set zero_variance='drop'."
            )


def build_rule(args: FilteredGRPOConfig, outcome_reward: str) -> Rule:
    is_normalized = args.multi_objective_aggregation == "normalize_then_sum"  # TRL normalizes each reward separately
    dead_by = "each" if args.zero_variance_by == "total" and is_normalized else args.zero_variance_by
    return Rule(outcome_reward, dead_by, args.zero_variance_tolerance, args.unscored)


class DeadGradient(NamedTuple):
    """A part of the objective that gives dead groups a gradient, so leaving them out would change the objective."""

    what: str
    remedy: str  # the options that switch it off
    reason: str = ""  # why "drop" cannot leave it to live rows, if it cannot
    is_of_micro_batch: bool = True  # defined over each of TRL's micro-batches, so that rows cannot change places


def list_dead_gradients(args: GRPOConfig, has_aux_loss: bool = False) -> list[DeadGradient]:
    loss = f"loss_type={args.loss_type!r}"
    quantile = args.top_entropy_quantile
    losses = ROW_MEANS + TOKEN_MEANS
    short = "micro-batches have rows of similar lengths, so a token of a short row would weigh more"
    by_rows = f"{loss} weights a micro-batch with all that is in its loss by its number of rows, unlike {TOKEN_MEANS}"
    reason = by_rows if args.loss_type in ROW_MEANS else ""
    if_adaptive = "use_adaptive_entropy=True needs the entropy of each step, and a step may have no completion left"
    is_adaptive = args.use_adaptive_entropy
    is_entropic = args.entropy_coef != 0 or args.use_adaptive_entropy
    no_entropy = "entropy_coef=0.0 and use_adaptive_entropy=False"
    table = (
        (args.loss_type not in losses, f"the denominator of {loss}", f"loss_type to one of {losses}", short),
        (args.beta != 0, f"the KL term (beta={args.beta})", "beta=0.0", "", False),
        (is_entropic, "the entropy bonus", no_entropy, if_adaptive if is_adaptive else reason),
        (quantile < 1, f"the threshold of top_entropy_quantile={quantile}", "top_entropy_quantile=1.0"),
        (has_aux_loss, "the load-balancing loss of a mixture of experts", "router_aux_loss_coef=0.0", reason),
    )
    return [DeadGradient(*own) for is_set, *own in table if is_set]


def choose_mode(mode: str, gradients: list[DeadGradient]) -> tuple[str, str]:
    """Return what happens to dead groups (`"skip"`, `"drop"` or `"keep"`), and why `"auto"` keeps them, if it does."""
    if mode == "keep" or not gradients:
        return "skip" if mode == "auto" else mode, ""
    what, remedy, _, is_of_micro_batch = gradients[0]
    undropped = next((gradient for gradient in gradients if gradient.reason), None)
    drop = "" if undropped else " zero_variance='drop' to leave them out of the objective and save their passes,"
    if mode == "auto":
        rows = " It is defined over each of TRL's micro-batches, which therefore keep their rows."
        return "keep", (
            f"zero_variance='auto' keeps TRL's behaviour: {what} gives groups of equal rewards a gradient."
            f"{rows if is_of_micro_batch else ''} Set{f'{drop} or' if drop else ''} {remedy} to save their passes and "
            f"keep TRL's gradient."
        )
    if mode == "skip":
        raise ValueError(
            f"zero_variance='skip' leaves groups of equal rewards out of the update, but {what} gives them a gradient, so "
            f"the objective would change. Set zero_variance='keep' to train on them as TRL does,{drop} or {remedy}."
        )
    if undropped:
        raise ValueError(
            f"zero_variance='drop' cannot leave {undropped.what} to live rows: {undropped.reason}. Set {undropped.remedy}, or "
            f"zero_variance='keep'."
        )
    return mode, ""
