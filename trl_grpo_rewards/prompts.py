"""Which prompts come next."""

import torch


class PromptStream:
    """
    Rows of a dataset in an order of their own, epoch after epoch. `taken` is all that must be saved to go on from here.

    Args:
        size (`int`):
            Rows of the dataset.
        seed (`int`):
            Of the order, which is another one in each epoch.
        shuffle (`bool`, *optional*, defaults to `True`):
            Else the order is the dataset's.
    """

    def __init__(self, size: int, seed: int, shuffle: bool = True) -> None:
        self.size, self.seed, self.shuffle = size, seed, shuffle
        self.taken = 0
        self.epoch, self.order = -1, []

    def take(self, count: int) -> list[int]:
        """The next rows."""
        rows = [self._row(place) for place in range(self.taken, self.taken + count)]
        self.taken += count
        return rows

    def _row(self, place: int) -> int:
        epoch, index = divmod(place, self.size)
        if not self.shuffle:
            return index
        if epoch != self.epoch:
            generator = torch.Generator().manual_seed(self.seed + epoch)
            self.epoch, self.order = epoch, torch.randperm(self.size, generator=generator).tolist()
        return self.order[index]
