"""Which rank and which micro-batch computes a row. Every rank makes the same plan from the same numbers."""

from typing import NamedTuple


class Move(NamedTuple):
    """A number of rows that one rank sends to another."""

    source: int
    target: int
    count: int


def window(steps_per_generation: int, gradient_accumulation_steps: int) -> int:
    """Number of leading micro-batches of a generation that are guaranteed to share one optimizer step."""
    shorter, longer = sorted((steps_per_generation, gradient_accumulation_steps))
    return shorter if longer % shorter == 0 else 1


def moves(counts: list[int]) -> list[Move]:
    """The fewest moves of rows after which the counts of all ranks differ by at most one."""
    share, extra = divmod(sum(counts), len(counts))
    fullest = sorted(range(len(counts)), key=lambda rank: -counts[rank])
    surplus = {rank: counts[rank] - share - (place < extra) for place, rank in enumerate(fullest)}
    givers = [rank for rank in fullest if surplus[rank] > 0]
    planned = []
    for target in (rank for rank in fullest if surplus[rank] < 0):
        while surplus[target] < 0:
            source = givers[0]
            count = min(surplus[source], -surplus[target])
            planned.append(Move(source, target, count))
            surplus[source] -= count
            surplus[target] += count
            if not surplus[source]:
                del givers[0]
    return planned


def spaced(count: int, among: int) -> list[int]:
    """That many places among others, evenly spaced."""
    return [place * among // count for place in range(count)]


def micro_batch_sizes(lengths: list[int], most: int) -> list[int]:
    """
    Split rows into as few micro-batches as hold them, such that the largest has as few tokens as possible.

    Args:
        lengths (`list[int]`):
            Tokens of each row, the longest row first.
        most (`int`):
            Largest number of rows of a micro-batch.

    Returns:
        `list[int]`: The number of rows of each micro-batch, in the order of the rows. A micro-batch has as many tokens
            as its rows times its longest row, since the others are padded.

    Example:

    ```python
    >>> micro_batch_sizes([100, 10, 10, 10, 10], most=4)
    [1, 4]
    >>> micro_batch_sizes([10, 10, 10, 10, 10], most=4)
    [3, 2]

    ```
    """
    fewest = -(-len(lengths) // most)
    low, high = max(lengths, default=0), most * max(lengths, default=0)
    while low < high:
        middle = (low + high) // 2
        if len(greedy_sizes(lengths, most, middle)) <= fewest:
            high = middle
        else:
            low = middle + 1
    return greedy_sizes(lengths, most, high)


def greedy_sizes(lengths: list[int], most: int, tokens: int) -> list[int]:
    """Fill one micro-batch after another, as far as the number of rows and of tokens allow."""
    sizes: list[int] = []
    widest = 0
    for length in lengths:
        if sizes and sizes[-1] < most and (sizes[-1] + 1) * widest <= tokens:
            sizes[-1] += 1
        else:
            sizes.append(1)
            widest = length
    return sizes
