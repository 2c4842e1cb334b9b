"""The order of the prompts, epoch after epoch."""

import json
from pathlib import Path

import torch

from ..errors import CheckpointMismatch


POSITION_FILE = "prompts.json"
"""The file in a checkpoint with the position in the order of the prompts."""


class PromptStream:
    """
    Rows of a dataset in a shuffled order, epoch after epoch.

    Args:
        size (`int`):
            Number of rows of the dataset.
        seed (`int`):
            Seed of the order, which is different in each epoch.
        shuffle (`bool`, *optional*, defaults to `True`):
            If `False`, the rows stay in the order of the dataset.
    """

    def __init__(self, size: int, seed: int, shuffle: bool = True) -> None:
        self.size, self.seed, self.shuffle = size, seed, shuffle
        self.position = 0
        self.checksum = 0
        self.epoch = -1

    def compute_fingerprint(self) -> tuple[int, int]:
        """Return the position and a checksum of what was drawn and loaded. Both are equal if two streams are equal."""
        return self.position, self.checksum

    def _update_checksum(self, value: int) -> None:
        self.checksum = (self.checksum * 1_000_003 + value + 1) % 2**61

    def draw(self, count: int) -> list[int]:
        """Return the next rows."""
        rows = [self._advance()[0] for _ in range(count)]
        for row in rows:
            self._update_checksum(row)
        return rows

    def _advance(self) -> tuple[int, float]:
        """Return the next row, and a random number between 0 and 1 that belongs to it."""
        epoch, index = divmod(self.position, self.size)
        self.position += 1
        if epoch != self.epoch:
            generator = torch.Generator().manual_seed(self.seed + epoch)
            shuffled = torch.randperm(self.size, generator=generator)
            self.epoch, self.order = epoch, shuffled if self.shuffle else torch.arange(self.size)
            self.luck = torch.rand(self.size, generator=generator)
        return int(self.order[index]), float(self.luck[index])

    def save(self, folder: Path, at_end: bool) -> None:
        """Write the state from which the stream can continue. `at_end` says whether an epoch has just ended."""
        (folder / POSITION_FILE).write_text(json.dumps({"taken": self.position, "size": self.size}))

    def load(self, folder: Path) -> None:
        """
        Restore the state that was saved, if there is one.

        Raises:
            [`CheckpointMismatch`]: it was saved with another number of prompts.
        """
        if (folder / POSITION_FILE).exists():
            state = json.loads((folder / POSITION_FILE).read_text())
            if state.get("size", self.size) != self.size:
                raise CheckpointMismatch(
                    f"The checkpoint in {folder} must be resumed with the {state['size']} prompts that it was trained "
                    f"on; the dataset has {self.size}. Load the same dataset, or start a new run from its weights."
                )
            self.position = state["taken"]
