"""When dead groups may be left out of the passes over a model, and of the objective."""

from typing import NamedTuple

from trl import GRPOConfig


ROW_MEANS = ("grpo", "sapo", "dr_grpo", "luspo")  # losses that divide by the number of rows in the micro-batch
TOKEN_MEANS = ("dapo", "cispo", "vespo")  # divided by the tokens of the generation batch


class Obstacle(NamedTuple):
    """A part of the objective that gives dead groups a gradient, so leaving them out would change the objective."""

    what: str
    remedy: str  # the options that switch it off
    reason: str = ""  # why "drop" cannot leave it to live rows, if it cannot
    is_of_micro_batch: bool = True  # defined over each of TRL's micro-batches, so that rows cannot change places


def list_obstacles(args: GRPOConfig, has_aux_loss: bool = False) -> list[Obstacle]:
    """Return the parts of the objective with which `"skip"` would change TRL's gradient."""
    loss, quantile, losses = f"loss_type={args.loss_type!r}", args.top_entropy_quantile, ROW_MEANS + TOKEN_MEANS
    short = "micro-batches have rows of similar lengths, so a token of a short row would weigh more"
    by_rows = f"{loss} weights a micro-batch with all that is in its loss by its number of rows, unlike {TOKEN_MEANS}"
    reason = by_rows if args.loss_type in ROW_MEANS else ""
    if_adaptive = "use_adaptive_entropy=True needs the entropy of each step, and a step may have no completion left"
    is_adaptive, is_entropic = args.use_adaptive_entropy, args.entropy_coef != 0 or args.use_adaptive_entropy
    no_entropy = "entropy_coef=0.0 and use_adaptive_entropy=False"
    table = (
        (args.loss_type not in losses, f"the denominator of {loss}", f"loss_type to one of {losses}", short),
        (args.beta != 0, f"the KL term (beta={args.beta})", "beta=0.0", "", False),
        (is_entropic, "the entropy bonus", no_entropy, if_adaptive if is_adaptive else reason),
        (quantile < 1, f"the threshold of top_entropy_quantile={quantile}", "top_entropy_quantile=1.0"),
        (has_aux_loss, "the load-balancing loss of a mixture of experts", "router_aux_loss_coef=0.0", reason),
    )
    return [Obstacle(*own) for is_set, *own in table if is_set]


def resolve_zero_variance(
    args: GRPOConfig, has_aux_loss: bool = False, own_loss: str | None = None
) -> tuple[str, str]:
    """Return what happens to dead groups (`"skip"`, `"drop"` or `"keep"`), and why `"auto"` keeps them, if it does."""
    mode = args.zero_variance if args.packing else "keep"
    if own_loss and args.packing:
        return "keep", f"{own_loss} changes the loss, so TRL's micro-batches and dead groups are kept (packing=False)."
    obstacles = list_obstacles(args, has_aux_loss)
    if mode == "keep" or not obstacles:
        return "skip" if mode == "auto" else mode, ""
    what, remedy, _, is_of_micro_batch = obstacles[0]
    undropped = next((one for one in obstacles if one.reason), None)
    drop = "" if undropped else " zero_variance='drop' to leave them out of the objective and save their passes,"
    if mode == "auto":
        rows = " It is defined over each of TRL's micro-batches, which therefore keep their rows." * is_of_micro_batch
        return "keep", (
            f"zero_variance='auto' keeps TRL's behaviour: {what} gives groups of equal rewards a gradient.{rows} Set"
            f"{drop}{' or' * bool(drop)} {remedy} to save their passes and keep TRL's gradient."
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
