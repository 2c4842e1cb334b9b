"""The micro-batches of one optimizer step: its live rows, evenly over the ranks, in as few micro-batches as hold them."""

from collections.abc import Callable
from typing import NamedTuple

from accelerate import Accelerator
from accelerate.utils import gather_object

from .config import ROW_MEANS, TOKEN_MEANS
from .exchange import spread_evenly
from .placement import micro_batch_sizes
from .rows import Batch, Row, has_images, length, silenced, size, unstack


class Packed(NamedTuple):
    """
    The micro-batches of one optimizer step.

    Args:
        batches (`list[dict]`):
            As many as TRL made. The first ones are silent on every rank and hold one filler row.
        ranks (`list[int]`):
            For each of the last micro-batches, which have live rows, how many ranks have some. DDP reduces gradients in
            the last one.
        live (`int`):
            Number of live rows on all ranks.
        rows (`int`):
            Number of rows on all ranks before dead ones were taken out.
    """

    batches: list[Batch]
    ranks: list[int]
    live: int
    rows: int

    @property
    def computed(self) -> int:
        """Number of rows of this rank that are computed. If no row is live, one filler row is."""
        return max(1, sum(map(size, self.batches[len(self.batches) - len(self.ranks) :])))


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
    seen = silenced(
        min(rows, key=lambda row: (not row.get("num_images"), length(row)))
    )  # with an image, if any has one
    spare = silenced(min(rows, key=length))
    live = spread_evenly([row for row in rows if row["live"]], accelerator.process_index, accelerator.device)
    live.sort(key=length, reverse=True)
    known = gather_object([([length(row) for row in live], has_images(live), has_images(rows))])
    lengths = [of for of, _, _ in known]
    most, total = max(map(len, lengths)), sum(map(len, lengths))
    widest = [max(of[place] for of in lengths if place < len(of)) for place in range(most)]
    sizes = micro_batch_sizes(widest, most=size(parts[0]))
    starts = [sum(sizes[:part]) for part in range(len(sizes))]
    ranks = [sum(start < len(of) for of in lengths) for start in starts]
    live += [spare] * (most - len(live))
    if total and any(all_rows for _, _, all_rows in known) and not any(live_rows for _, live_rows, _ in known):
        # TRL's vision tower has a gradient of 0 here. Without this row it has none, and optimizers skip it.
        live.append(seen)
        if len(sizes) < len(parts):
            sizes.append(1)
            ranks.append(len(known))
        else:
            sizes[-1] += 1
    filler = {**stack([seen]), "silent": True}
    batches = [dict(filler) for _ in parts[len(sizes) :]]
    for count in sizes:
        batches.append(stack(live[:count]))
        del live[:count]
    return Packed(batches, ranks, total, len(rows) * accelerator.num_processes)


def weigh(packed: Packed, loss_type: str, is_drop: bool, ranks: int) -> list[Batch]:
    """
    Give the micro-batches the factor of their loss, and return them.

    TRL divides a loss by the rows or the tokens of a micro-batch, and by the number of micro-batches and of ranks. The
    factor restores the denominator of all rows (`"skip"`), or sets it to that of the live rows (`"drop"`).
    """
    count, silent = len(packed.batches), len(packed.batches) - len(packed.ranks)
    for place, batch in enumerate(packed.batches):
        del batch["live"]
        if is_drop and not packed.live:
            batch["loss_scale"] = 0.0
        elif loss_type in ROW_MEANS:
            batch["loss_scale"] = size(batch) * count * ranks / (packed.live if is_drop else packed.rows)
        elif is_drop and place >= silent:
            # A mean over micro-batches and ranks: the loss of bnpo, and the entropy bonus of the others, whose own
            # denominator is all tokens of the generation.
            batch["loss_scale"] = count / len(packed.ranks) * ranks / packed.ranks[place - silent]
            if loss_type in TOKEN_MEANS:
                batch["num_items_in_batch"] = batch["num_items_in_batch"] * batch["loss_scale"]
    return packed.batches
