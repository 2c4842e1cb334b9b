"""The options of the trainer, and the combinations that they refuse."""

from dataclasses import dataclass, field
from typing import NamedTuple

from trl import GRPOConfig


ROW_MEANS = ("grpo", "sapo", "dr_grpo", "luspo")
"""Losses that divide by the number of rows in the micro-batch."""

TOKEN_MEANS = ("dapo", "cispo", "vespo")
"""Losses that divide by the number of tokens in the generation batch, which leaving rows out does not change."""


@dataclass
class FilteredGRPOConfig(GRPOConfig):
    """
    Configuration of [`FilteredGRPOTrainer`]: that of TRL's [`~trl.GRPOConfig`], and the following.

    Args:
        zero_variance (`str`, *optional*, defaults to `"auto"`):
            What happens to dead groups, those whose rewards are all equal. `"skip"`: they are not forwarded, and the
            gradient is TRL's with their advantages at exactly 0. `"drop"`: they also leave the loss's denominator, its
            KL term and its entropy bonus, as if they had not been sampled. `"keep"`: they are trained on as in TRL.
            `"auto"`: `"skip"` where that keeps TRL's gradient, else `"keep"`, with a line in the log that names the
            option that stands in the way.
        zero_variance_tolerance (`float`, *optional*, defaults to `1e-6`):
            Largest difference between the rewards of a dead group.
        outcome_reward (`str`, *optional*):
            Name of the reward that says which completions are right: those with a score of at least 1. `groups/solved`,
            `groups/failed` and `selective` go by it. By default it is the first reward that is registered as an
            outcome, such as `boxed`, and without one the first reward. The name of an environment's class stands for
            the environment's own reward.
        zero_variance_by (`str`, *optional*, defaults to `"total"`):
            What decides which groups are dead: the weighted `"total"`, or the `"outcome"` reward alone. With
            `"outcome"`, a group whose answers are all wrong is dead even though the lengths differ. Requires `"drop"`.
        max_resample_rounds (`int`, *optional*, defaults to `0`):
            How often fresh prompts may be sampled to take the place of dead groups, until every group of the batch is
            live; as the dynamic sampling of [DAPO](https://huggingface.co/papers/2503.14476). Requires `"drop"`.
        selective (`bool`, *optional*, defaults to `False`):
            Draw prompts by the estimated probability that their next group has something to teach, by how many of
            their completions were right before. No prompt is passed over more than nine times in a row.
        unscored (`str`, *optional*, defaults to `"term"`):
            What a None beside a score means. `"term"`: it counts as 0 in the total, as in TRL. `"row"`: a None in any
            reward of non-zero weight leaves the completion out, as TRL does where every reward is None.
        group_records (`bool`, *optional*, defaults to `True`):
            Write a line of JSON for every group that is sampled to files under `output_dir/groups`.
        group_records_text (`bool`, *optional*, defaults to `True`):
            Whether the records hold the texts of prompts and completions.
        group_records_ids (`bool`, *optional*, defaults to `True`):
            Whether the records hold the token ids of completions, as base64 of little-endian `int32`. They take about
            5.3 bytes per token. Rewards that count tokens need them to score the records again.
    """

    zero_variance: str = field(
        default="auto",
        metadata={
            "choices": ["auto", "skip", "drop", "keep"],
            "help": "What happens to groups whose rewards are all equal: not computed ('skip'), left out altogether "
            "('drop'), trained on as in TRL ('keep'), or 'skip' where that keeps TRL's gradient ('auto').",
        },
    )
    zero_variance_tolerance: float = field(
        default=1e-6, metadata={"help": "Largest difference between the rewards of a group that counts as equal."}
    )
    outcome_reward: str | None = field(
        default=None,
        metadata={"help": "Name of the reward that says which completions are right; by default the first outcome."},
    )
    zero_variance_by: str = field(
        default="total",
        metadata={
            "choices": ["total", "outcome"],
            "help": "What decides which groups are dead: the weighted total, or the outcome reward alone.",
        },
    )
    max_resample_rounds: int = field(
        default=0, metadata={"help": "How often fresh prompts may take the place of dead groups in a batch."}
    )
    selective: bool = field(
        default=False, metadata={"help": "Draw prompts by the probability that their next group is live."}
    )
    unscored: str = field(
        default="term",
        metadata={
            "choices": ["term", "row"],
            "help": "Whether a None beside a score counts as 0 ('term') or leaves the completion out ('row').",
        },
    )
    group_records: bool = field(
        default=True, metadata={"help": "Write a line of JSON for every group under output_dir/groups."}
    )
    group_records_text: bool = field(
        default=True, metadata={"help": "Whether these lines hold the texts of prompts and completions."}
    )
    group_records_ids: bool = field(
        default=True, metadata={"help": "Whether these lines hold the token ids of completions."}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in FilteredGRPOConfig.__annotations__:
            choices = self.__dataclass_fields__[name].metadata.get("choices")
            if choices and getattr(self, name) not in choices:
                hint = " A reward is named by outcome_reward." if name == "zero_variance_by" else ""
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, choices))}; got {getattr(self, name)!r}.{hint}"
                )
        if not 0 <= self.zero_variance_tolerance < float("inf"):
            raise ValueError(
                f"zero_variance_tolerance must be at least 0 and finite; got {self.zero_variance_tolerance}."
            )
        if self.max_resample_rounds < 0:
            raise ValueError(f"max_resample_rounds must be at least 0; got {self.max_resample_rounds}.")


def check_config(args: FilteredGRPOConfig) -> None:
    """Refuse what cannot keep its promise, before anything loads."""
    if not isinstance(args, FilteredGRPOConfig):
        raise TypeError(
            f"FilteredGRPOTrainer was given a {type(args).__name__}; it needs the options of FilteredGRPOConfig. "
            f"Write FilteredGRPOConfig(...) with the same arguments."
        )
    if args.zero_variance != "drop":
        for name, default in (("zero_variance_by", "total"), ("max_resample_rounds", 0)):
            if getattr(args, name) != default:
                raise ValueError(
                    f"{name}={getattr(args, name)!r} leaves groups out that TRL would train on, and "
                    f"zero_variance={args.zero_variance!r} promises TRL's objective. Set zero_variance='drop'."
                )
    if resolved(args) == "drop":
        check_drop(args)


class Obstacle(NamedTuple):
    """An option under which dead groups have a gradient, so that leaving them out would change the objective."""

    what: str
    remedy: str


def obstacle(args: FilteredGRPOConfig, aux_loss: bool = False) -> Obstacle | None:
    """
    What keeps `"skip"` from having TRL's gradient; None if nothing does.

    Args:
        args ([`FilteredGRPOConfig`]):
            Configuration.
        aux_loss (`bool`, *optional*, defaults to `False`):
            Whether the model has a load-balancing loss, which is known once it is loaded.
    """
    if args.loss_type not in ROW_MEANS + TOKEN_MEANS:
        remedy = f"loss_type to one of {', '.join(map(repr, ROW_MEANS + TOKEN_MEANS))}"
        return Obstacle(f"the denominator of loss_type={args.loss_type!r}", remedy)
    if args.beta != 0:
        return Obstacle(f"the KL term (beta={args.beta})", "beta=0.0")
    if args.entropy_coef != 0 or args.use_adaptive_entropy:
        return Obstacle("the entropy bonus", "entropy_coef=0.0 and use_adaptive_entropy=False")
    if args.top_entropy_quantile < 1:
        what = f"the threshold over all tokens of top_entropy_quantile={args.top_entropy_quantile}"
        return Obstacle(what, "top_entropy_quantile=1.0")
    if aux_loss:
        return Obstacle("the load-balancing loss of a mixture of experts", "router_aux_loss_coef=0.0")
    return None


def resolved(args: FilteredGRPOConfig, aux_loss: bool = False) -> str:
    """
    What happens to dead groups in this run: `"skip"`, `"drop"` or `"keep"`.

    Raises:
        `ValueError`: `"skip"` is asked for and cannot have TRL's gradient.
    """
    found = obstacle(args, aux_loss)
    if args.zero_variance == "auto":
        return "keep" if found else "skip"
    if args.zero_variance == "skip" and found:
        raise ValueError(
            f"zero_variance='skip' leaves groups of equal rewards out of the update, but {found.what} gives them a "
            f"gradient, so the objective would change. Set zero_variance='keep' to train on them as TRL does, 'drop' to "
            f"leave them out of the objective altogether, or {found.remedy}."
        )
    return args.zero_variance


def explained(found: Obstacle) -> str:
    """Why `"auto"` trains as TRL does."""
    return (
        f"zero_variance='auto' keeps TRL's behaviour: {found.what} gives groups of equal rewards a gradient. Set "
        f"zero_variance='drop' to leave them out of the objective and save their forward and backward passes, or "
        f"{found.remedy} to save the passes and keep TRL's gradient."
    )


def check_drop(args: FilteredGRPOConfig, aux_loss: bool = False) -> None:
    """Refuse what `"drop"` would weigh wrongly. Whether there is a load-balancing loss is known with the model."""
    if args.use_adaptive_entropy:
        raise ValueError(
            "use_adaptive_entropy=True follows the entropy of every step, and under zero_variance='drop' a step may have "
            "no completion left. Set use_adaptive_entropy=False, or zero_variance='keep'."
        )
    if args.loss_type in ROW_MEANS and aux_loss:
        raise ValueError(
            f"zero_variance='drop' weighs the loss of a micro-batch by its rows under loss_type={args.loss_type!r}, and "
            f"the load-balancing loss with it. Set loss_type to one of {', '.join(map(repr, TOKEN_MEANS))}, or "
            f"router_aux_loss_coef=0.0."
        )
    if args.loss_type in ROW_MEANS and args.entropy_coef != 0:
        raise ValueError(
            f"zero_variance='drop' weighs the loss of a micro-batch by its rows under loss_type={args.loss_type!r}, and "
            f"the entropy bonus with it. Set loss_type to one of {', '.join(map(repr, TOKEN_MEANS))}, or entropy_coef=0."
        )
    if args.max_resample_rounds and (
        args.scale_rewards == "batch" or args.multi_objective_aggregation == "normalize_then_sum"
    ):
        raise ValueError(
            f"max_resample_rounds={args.max_resample_rounds} samples a batch in rounds, and "
            f"scale_rewards={args.scale_rewards!r} with multi_objective_aggregation={args.multi_objective_aggregation!r} "
            f"scales by the whole of it. Set scale_rewards to 'group' or 'none' and the aggregation to "
            f"'sum_then_normalize', or max_resample_rounds=0."
        )
