"""The dataset and the sampler through which TRL's trainer draws prompts selectively."""

from collections.abc import Iterator
from typing import Any, Protocol

import datasets
from torch.utils.data import Dataset, Sampler

from .selective_stream import SelectiveStream


PLACE_COLUMN = "place_in_dataset"
"""Column with the index of a prompt in the dataset, for selective drawing. Rewards and records do not see it."""


class PlacedRows(Dataset[dict[str, Any]]):
    """
    Rows of a dataset with their index in it. The dataset is not rewritten, even if it is shuffled or filtered.

    Args:
        dataset (`datasets.Dataset`):
            The dataset.
    """

    def __init__(self, dataset: datasets.Dataset) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {**self.dataset[index], PLACE_COLUMN: index}


class RepeatSampler(Protocol):
    """The part of TRL's sampler of the same name that [`SelectiveSampler`] uses."""

    num_samples: int
    batch_size: int
    repeat_count: int
    mini_repeat_count: int

    def __len__(self) -> int: ...


class SelectiveSampler(Sampler[int]):
    """
    Sampler that repeats prompts as TRL's sampler does, but draws them from a stream.

    Args:
        repeated ([`~trl.trainer.utils.RepeatSampler`]):
            TRL's sampler, which says how many prompts a batch has and how often they are repeated.
        stream ([`SelectiveStream`]):
            The stream of prompts.
    """

    def __init__(self, repeated: RepeatSampler, stream: SelectiveStream) -> None:
        self.repeated, self.stream = repeated, stream

    def __iter__(self) -> Iterator[int]:
        like = self.repeated
        for batch in self.stream.draw_batches(like.num_samples // like.batch_size, like.batch_size):
            for _ in range(like.repeat_count):
                for row in batch:
                    yield from [row] * like.mini_repeat_count

    def __len__(self) -> int:
        return len(self.repeated)
