"""The micro-batches of an optimizer step: its live rows, spread evenly over ranks and over few micro-batches."""

from collections.abc import Callable
from typing import Any, NamedTuple

from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor

from .config import ROW_MEANS, TOKEN_MEANS, FilteredGRPOConfig
from .exchange import balance_rows
from .placement import compute_pack_span, plan_micro_batch_sizes
from .rows import TensorBatch, TensorRow, count_rows, count_tokens, has_images, silence, unstack


class PackedStep(NamedTuple):
    """
    The micro-batches of one optimizer step.

    Args:
        batches (`list[dict]`):
            The same number of micro-batches as TRL made. The first ones are silent on every rank: they contain one
            filler row and are not run.
        ranks (`list[int]`):
            For each of the other micro-batches, the number of ranks that have live rows in it. These micro-batches come
            last, because DDP reduces gradients in the last one.
        live (`int`):
            Number of live rows on all ranks.
        rows (`int`):
            Number of rows on all ranks before dead ones were taken out.
    """

    batches: list[TensorBatch]
    ranks: list[int]
    live: int
    rows: int

    @property
    def computed(self) -> int:
        """Number of rows that this rank computes. If no row is live, it computes one filler row."""
        return max(1, sum(map(count_rows, self.batches[len(self.batches) - len(self.ranks) :])))


def pack_generation(
    parts: list[TensorBatch],
    stack: Callable[[list[TensorRow]], TensorBatch],
    accelerator: Accelerator,
    args: FilteredGRPOConfig,
    is_drop: bool,
) -> tuple[list[TensorBatch], int]:
    """
    Return the micro-batches of a generation without its dead rows, and the number of rows that all ranks compute.

    Every rank must call this with its own parts. For `parts`, `stack` and `accelerator`, see [`pack_live_rows`].
    """
    span = compute_pack_span(args.steps_per_generation, args.gradient_accumulation_steps)
    steps = [pack_live_rows(parts[start : start + span], stack, accelerator) for start in range(0, len(parts), span)]
    ranks = accelerator.num_processes
    batches = [batch for step in steps for batch in set_loss_scales(step, args.loss_type, is_drop, ranks)]
    return batches, ranks * sum(step.computed for step in steps)


def pack_live_rows(
    parts: list[TensorBatch], stack: Callable[[list[TensorRow]], TensorBatch], accelerator: Accelerator
) -> PackedStep:
    """
    Remove the dead rows from TRL's micro-batches of one optimizer step. Every rank must call this with its own parts.

    Args:
        parts (`list[dict]`):
            TRL's micro-batches. Their list `live` says which rows are live.
        stack (`Callable`):
            Stacks rows into a batch.
        accelerator (`Accelerator`):
            The trainer's accelerator.
    """
    rows = [row for part in parts for row in unstack(part)]
    shortest = silence(min(rows, key=count_tokens))
    # The shortest row with an image. If no row has an image, it is the shortest row.
    with_image = silence(min(rows, key=lambda row: (not row.get("num_images"), count_tokens(row))))
    live = balance_rows([row for row in rows if row["live"]], accelerator.process_index, accelerator.device)
    live.sort(key=count_tokens, reverse=True)
    gathered = gather_object([([count_tokens(row) for row in live], has_images(live), has_images(rows))])
    lengths, has_live_images, has_any_images = zip(*gathered, strict=True)  # each with one value per rank
    most, total = max(map(len, lengths)), sum(map(len, lengths))
    longest = [max(own[place] for own in lengths if place < len(own)) for place in range(most)]
    sizes = plan_micro_batch_sizes(longest, max_rows=count_rows(parts[0]))
    starts = [sum(sizes[:part]) for part in range(len(sizes))]
    ranks = [sum(start < len(own) for own in lengths) for start in starts]
    live += [shortest] * (most - len(live))
    if total and any(has_any_images) and not any(has_live_images):
        # In TRL, the vision tower has a gradient of 0 here. Without this row it would have none, and optimizers would
        # skip it.
        live.append(with_image)
        if len(sizes) < len(parts):
            sizes.append(1)
            ranks.append(len(lengths))
        else:
            sizes[-1] += 1
    filler = {**stack([with_image]), "silent": True}
    batches = [dict(filler) for _ in parts[len(sizes) :]]
    for count in sizes:
        batches.append(stack(live[:count]))
        del live[:count]
    return PackedStep(batches, ranks, total, len(rows) * accelerator.num_processes)


def set_loss_scales(step: PackedStep, loss_type: str, is_drop: bool, ranks: int) -> list[TensorBatch]:
    """
    Set the factor by which the loss of each micro-batch is multiplied, and return the micro-batches.

    TRL divides a loss by the rows or the tokens of a micro-batch, and by the number of micro-batches and of ranks. The
    factor restores the denominator of all rows (`"skip"`), or sets it to the denominator of the live rows (`"drop"`).
    """
    count, silent = len(step.batches), len(step.batches) - len(step.ranks)
    for place, batch in enumerate(step.batches):
        del batch["live"]
        if is_drop and not step.live:
            batch["loss_scale"] = 0.0
        elif loss_type in ROW_MEANS:
            batch["loss_scale"] = count_rows(batch) * count * ranks / (step.live if is_drop else step.rows)
        elif is_drop and place >= silent:
            # A mean over micro-batches and ranks: bnpo's loss, and the entropy bonus. The denominator of the
            # other losses is the number of tokens of the generation.
            batch["loss_scale"] = count / len(step.ranks) * ranks / step.ranks[place - silent]
            if loss_type in TOKEN_MEANS:
                batch["num_items_in_batch"] = batch["num_items_in_batch"] * batch["loss_scale"]
    return step.batches


def skip_constant(backward: Callable[..., None], loss: Tensor, **kwargs: Any) -> None:
    """Run a backward pass unless the loss is a constant, as that of a silent micro-batch. DeepSpeed refuses constants."""
    if loss.requires_grad:
        backward(loss, **kwargs)
