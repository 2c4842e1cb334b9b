"""The sampler of a run, which repeats prompts as TRL does, and its place in the prompts when the run is resumed."""

import math
from collections.abc import Iterator
from typing import Any

from torch.utils.data import Sampler

from .drawing import PromptStream, SelectiveStream


class SelectiveSampler(Sampler[int]):
    """Sampler that repeats prompts as TRL's sampler `repeated` does, but draws them from a stream."""

    def __init__(self, repeated: Any, stream: SelectiveStream) -> None:
        self.repeated, self.stream = repeated, stream

    def __iter__(self) -> Iterator[int]:
        like = self.repeated
        for batch in self.stream.draw_batches(like.num_samples // like.batch_size, like.batch_size):
            for _ in range(like.repeat_count):
                for row in batch:
                    yield from [row] * like.mini_repeat_count

    def __len__(self) -> int:
        return len(self.repeated)


def build_sampler(repeated: Any, prompts: PromptStream | None) -> Sampler[int]:
    """Return the sampler of a run: TRL's sampler `repeated`, unless the stream of prompts is selective."""
    return SelectiveSampler(repeated, prompts) if isinstance(prompts, SelectiveStream) else repeated


def resume_order(repeated: Any, epoch: float, batch_size: int) -> int:
    """Advance TRL's sampler, which no checkpoint contains, and return the number of micro-batches before it."""
    for _ in range(math.floor(epoch)):
        next(iter(repeated), None)  # the sampler shuffles when the first row is taken
    return round(epoch * len(repeated) / batch_size)
