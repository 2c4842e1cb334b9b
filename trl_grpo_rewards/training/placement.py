"""The rank and the micro-batch that compute a row. Every rank makes the same plan from the same numbers."""

from typing import NamedTuple


class Move(NamedTuple):
    """A number of rows that one rank sends to another."""

    source: int
    target: int
    rows: int


def compute_pack_span(steps_per_generation: int, gradient_accumulation_steps: int) -> int:
    """Return how many consecutive micro-batches of a generation are guaranteed to share one optimizer step."""
    shorter, longer = sorted((steps_per_generation, gradient_accumulation_steps))
    return shorter if longer % shorter == 0 else 1


def plan_moves(counts: list[int]) -> list[Move]:
    """Return the fewest moves after which the row counts of all ranks differ by at most one."""
    share, extra = divmod(sum(counts), len(counts))
    fullest = sorted(range(len(counts)), key=lambda rank: -counts[rank])
    surplus = {rank: counts[rank] - share - (place < extra) for place, rank in enumerate(fullest)}
    givers = [rank for rank in fullest if surplus[rank] > 0]
    moves = []
    for target in (rank for rank in fullest if surplus[rank] < 0):
        while surplus[target] < 0:
            source = givers[0]
            rows = min(surplus[source], -surplus[target])
            moves.append(Move(source, target, rows))
            surplus[source] -= rows
            surplus[target] += rows
            if not surplus[source]:
                del givers[0]
    return moves


def pick_evenly(count: int, total: int) -> list[int]:
    """Return `count` of the indices below `total`, evenly spaced."""
    return [place * total // count for place in range(count)]


def plan_micro_batch_sizes(lengths: list[int], max_rows: int) -> list[int]:
    """
    Split rows into as few micro-batches as possible, and then make the largest micro-batch as small as possible.

    Args:
        lengths (`list[int]`):
            Tokens of each row, the longest row first.
        max_rows (`int`):
            Maximum number of rows of a micro-batch.

    Returns:
        `list[int]`: The number of rows of each micro-batch, in the order of the rows. A micro-batch has as many
            tokens as its rows times its longest row, because the others are padded.

    Example:

    ```python
    >>> plan_micro_batch_sizes([100, 10, 10, 10, 10], max_rows=4)
    [1, 4]
    >>> plan_micro_batch_sizes([10, 10, 10, 10, 10], max_rows=4)
    [3, 2]

    ```
    """
    fewest = -(-len(lengths) // max_rows)
    low, high = max(lengths, default=0), max_rows * max(lengths, default=0)
    while low < high:
        middle = (low + high) // 2
        if len(fill_micro_batches(lengths, max_rows, middle)) <= fewest:
            high = middle
        else:
            low = middle + 1
    return fill_micro_batches(lengths, max_rows, high)


def fill_micro_batches(lengths: list[int], max_rows: int, max_tokens: int) -> list[int]:
    """Fill one micro-batch after another up to the maximum of rows or tokens, and return their numbers of rows."""
    sizes: list[int] = []
    longest = 0
    for length in lengths:
        if sizes and sizes[-1] < max_rows and (sizes[-1] + 1) * longest <= max_tokens:
            sizes[-1] += 1
        else:
            sizes.append(1)
            longest = length
    return sizes
