"""The micro-batches of one optimizer step: its live rows, evenly over the ranks, in as few micro-batches as hold them."""

from collections.abc import Callable
from typing import NamedTuple

from accelerate import Accelerator
from accelerate.utils import gather_object

from .config import ROW_MEANS, TOKEN_MEANS
from .exchange import spread_evenly
from .placement import micro_batch_sizes
from .rows import Batch, Row, length, silenced, size, unstack


class Packed(NamedTuple):
    """
    The micro-batches of one optimizer step.

    Args:
        batches (`list[dict]`):
            As many as TRL made. The first ones are silent on every rank, and hold a filler row each.
        run (`int`):
            How many have live rows. They are the last ones, in the last of which DDP reduces gradients.
        live (`int`):
            Number of live rows on all ranks.
        rows (`int`):
            Number of rows on all ranks before dead ones were taken out.
    """

    batches: list[Batch]
    run: int
    live: int
    rows: int

    @property
    def computed(self) -> int:
        """Number of rows of this rank that are computed. If none are live, one filler is (see `compute_loss`)."""
        return max(1, sum(map(size, self.batches[len(self.batches) - self.run :])))


def pack(parts: list[Batch], stack: Callable[[list[Row]], Batch], accelerator: Accelerator) -> Packed:
    """
    Take the dead rows out of TRL's micro-batches of one optimizer step. Every rank must call this with its own.

    Args:
        parts (`list[dict]`):
            TRL's micro-batches, with a list `live` that says which rows are.
        stack (`Callable`):
            Makes a batch of rows.
        accelerator (`Accelerator`):
            Knows the ranks.
    """
    rows = [row for part in parts for row in unstack(part)]
    spare = silenced(min(rows, key=lambda row: (not row.get("num_images"), length(row))))
    live = [row for row in rows if row["live"]]
    counts = gather_object([(len(live), has_images(live), has_images(rows))])
    total, live_images, images = map(sum, zip(*counts, strict=True))
    live = spread_evenly(live, accelerator.process_index, accelerator.device)
    live.sort(key=length, reverse=True)
    lengths = gather_object([[length(row) for row in live]])
    most = max(map(len, lengths))
    widest = [max(of[place] for of in lengths if place < len(of)) for place in range(most)]
    sizes = micro_batch_sizes(widest, most=size(parts[0]))
    live += [spare] * (most - len(live))
    if (
        sizes and images and not live_images
    ):  # vision has a gradient of 0 in TRL, which optimizers do not take for None
        live.append(spare)
        sizes[-1] += 1
    batches = [{**stack([spare]), "silent": True} for _ in parts[len(sizes) :]]
    for count in sizes:
        batches.append(stack(live[:count]))
        del live[:count]
    return Packed(batches, len(sizes), total, len(rows) * accelerator.num_processes)


def has_images(rows: list[Row]) -> bool:
    return any(row.get("num_images") for row in rows)


def weigh(packed: Packed, loss_type: str, is_drop: bool, ranks: int) -> list[Batch]:
    """
    Give the micro-batches the factor of their loss.

    TRL divides a loss by the rows or the tokens of a micro-batch, or by the number of micro-batches, as if all rows were
    still there (`"skip"`) or as if all that is left were all there had been (`"drop"`).
    """
    count = len(packed.batches)
    for batch in packed.batches:
        del batch["live"]
        if is_drop and not packed.live:
            batch["loss_scale"] = 0.0
        elif loss_type in ROW_MEANS:
            batch["loss_scale"] = size(batch) * count * ranks / (packed.live if is_drop else packed.rows)
        elif is_drop:  # a mean over micro-batches: the loss of bnpo, and the entropy bonus of the others
            batch["loss_scale"] = count / packed.run
            if loss_type in TOKEN_MEANS:  # whose denominator is all tokens of the generation
                batch["num_items_in_batch"] = batch["num_items_in_batch"] * batch["loss_scale"]
    return packed.batches
