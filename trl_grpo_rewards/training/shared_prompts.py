"""Fresh prompts from a stream that is the same on every rank."""

import math
from typing import Any

from accelerate import Accelerator
from accelerate.utils import gather_object

from .prompt_sampling import PLACE_COLUMN
from .prompt_stream import PromptStream


def draw_rows(
    stream: PromptStream, dataset: Any, count: int, num_generations: int, accelerator: Accelerator
) -> list[dict[str, Any]]:
    """
    Draw prompts on all ranks and return the rows of this rank.

    Args:
        stream ([`PromptStream`]):
            The stream of prompts.
        dataset (`Dataset`):
            Contains the prompts.
        count (`int`):
            Number of prompts. It is rounded up so that every rank gets the same number of rows.
        num_generations (`int`):
            Number of rows for each prompt.
        accelerator (`Accelerator`):
            The trainer's accelerator.
    """
    ranks = accelerator.num_processes
    step = ranks // math.gcd(ranks, num_generations)
    places = [place for place in stream.draw(math.ceil(count / step) * step) for _ in range(num_generations)]
    share = len(places) // ranks
    first = accelerator.process_index * share
    mine = places[first : first + share]
    rows = {place: dataset[place] for place in dict.fromkeys(mine)}
    return [{**rows[place], PLACE_COLUMN: place} for place in mine]


def check_streams(stream: PromptStream) -> None:
    """
    Check that the streams of all ranks are at the same position.

    Raises:
        `RuntimeError`: the ranks would draw different prompts, so groups would mix prompts.
    """
    states = gather_object([stream.compute_fingerprint()])
    if len({*states}) > 1:
        raise RuntimeError(
            f"All ranks must draw the same prompts, but their positions in the prompts differ: (prompts taken, "
            f"checksum) is {', '.join(f'{state} on rank {rank}' for rank, state in enumerate(states))}. If the "
            f"machines do not share a disk, train with save_on_each_node=True, and resume from a checkpoint that every "
            f"machine has written."
        )
