"""The rank and the micro-batch that compute a row. Plans depend on the numbers of tokens only."""

from collections.abc import Callable, Iterator
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor


Group: TypeAlias = list[dict[str, Any]]  # rows that stay together
PASSES_PER_BUDGET = 16  # another micro-batch is worth it if it saves more than this part of the largest


class Size(NamedTuple):
    """The numbers of tokens of a row, or of a sequence of rows that share tokens."""

    prompt: int
    completion: int

    @property
    def total(self) -> int:
        return self.prompt + self.completion


class Move(NamedTuple):
    """A group that one rank sends to another, with its place among the groups that the source had before all moves."""

    source: int
    target: int
    place: int


def plan_moves(lengths: list[list[int]]) -> list[Move]:
    """Return moves after which all ranks have about the same number of tokens. Every rank makes the same plan."""
    totals = [*map(sum, lengths)]
    staying = [dict(enumerate(own)) for own in lengths]
    moves: list[Move] = []
    while True:
        source = totals.index(max(totals))
        target = totals.index(min(totals))
        gap = totals[source] - totals[target]
        places = [place for place, length in staying[source].items() if 0 < length < gap]
        if not places:
            return moves
        place = min(places, key=lambda place: abs(gap - 2 * staying[source][place]))  # brings the two closest
        length = staying[source].pop(place)
        totals[source] -= length
        totals[target] += length
        moves.append(Move(source, target, place))


def spread_groups(groups: list[Group], weights: list[int], accelerator: Accelerator) -> Group:
    """Spread groups of rows over the ranks so that they weigh about the same, and return the rows of this rank."""
    moves = plan_moves(gather_object([weights]))
    return sum(move_groups(groups, moves, accelerator.process_index, accelerator.device), Group())


def move_groups(groups: list[Group], moves: list[Move], rank: int, device: Any) -> list[Group]:
    """Carry out moves, one at a time so that no rank holds much more than its own, and return the groups of this rank."""
    received = []
    left = set[int]()
    for source, target, place in moves:
        if rank == source:
            dist.send_object_list([[copy_row(row, "cpu") for row in groups[place]]], target)
            left.add(place)
        elif rank == target:
            box: list[Group] = [[]]
            dist.recv_object_list(box, source)
            received.append([copy_row(row, device) for row in box[0]])
    return [group for place, group in enumerate(groups) if place not in left] + received


def copy_row(row: dict, device: Any = None) -> dict:
    """Return a row of its own. The tensors of a row are views, with which the whole batch would be kept, or sent."""
    return {
        key: value.to(device or value.device, copy=True) if isinstance(value, Tensor) else value
        for key, value in row.items()
    }


def plan_batches(
    orders: list["Order"], max_tokens: float, max_batches: int, max_rows: int, share: float = 1 / PASSES_PER_BUDGET
) -> list["Batch"]:
    """
    Split rows into micro-batches of at most `max_tokens` if they fit, in the order that costs least, the largest one first.

    Another micro-batch is worth it if it saves more than a `share` of `max_tokens`, unless there are more than `max_batches`.
    """
    cost = share * max_tokens
    while True:
        _, plan = min((split_in_order(*order, max_tokens, max_rows, cost) for order in orders), key=itemgetter(0))
        if len(plan) <= max_batches:
            return sorted(plan, key=lambda batch: -batch.tokens)
        places, measure = orders[0]
        if cost <= max(measure(len(places))):  # so much that fewer micro-batches always cost less
            cost *= 2
        else:
            max_tokens += max_tokens // 8 + 1


class Batch(NamedTuple):
    """Rows of a micro-batch."""

    places: list[int]
    tokens: int  # with padding


class Order(NamedTuple):
    """Sorted rows, and a function that yields the tokens of the last one, the last two, ... of the first rows."""

    places: list[int]
    measure: Callable[[int], Iterator[int]]


def list_orders(sizes: list[Size]) -> list[Order]:
    """Return orders of padded rows. In the second one, the rows of a group, which share a prompt, are together."""
    by_total = [(size.total, size.completion) for size in sizes]
    by_completion = [(size.completion, size.prompt) for size in sizes]
    orders = [sorted(range(len(sizes)), key=by.__getitem__, reverse=True) for by in (by_total, sizes, by_completion)]
    return [Order(places, partial(measure, [sizes[place] for place in places])) for places in orders]


def measure(sizes: list[Size], end: int) -> Iterator[int]:
    """Yield the tokens of micro-batches with the last, the last two, ... of the first rows up to `end`, with padding."""
    prompt = completion = 0
    for start in range(end - 1, -1, -1):
        prompt = max(prompt, sizes[start].prompt)
        completion = max(completion, sizes[start].completion)
        yield (end - start) * (prompt + completion)


def split_in_order(
    places: list[int], measure: Callable[[int], Iterator[int]], max_tokens: float, max_rows: int, cost: float
) -> tuple[float, list[Batch]]:
    """Split sorted rows into the batches that cost least, their tokens and `cost` for each. Return this cost, and them."""
    best = [0.0]  # the least cost of the first rows
    last = [Batch([], 0)]  # and the last of their batches
    for end in range(1, len(places) + 1):
        choices = list[tuple[float, int, int]]()
        for start, tokens in zip(range(end - 1, max(end - max_rows, 0) - 1, -1), measure(end), strict=False):
            if choices and tokens > max_tokens:
                break
            choices.append((best[start] + tokens + cost, start, tokens))
        least, start, tokens = min(choices)
        best.append(least)
        last.append(Batch(places[start:end], tokens))
    plan = list[Batch]()
    end = len(places)
    while end:
        plan.append(last[end])
        end -= len(last[end].places)
    return best[-1], plan
