"""Rows without padding, and how many of their tokens they have in common."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple


FEWEST = 32  # tokens that rows of different prompts have in common before they share them


class Path(NamedTuple):
    """A row without padding. Sorting puts the rows of a prompt next to each other."""

    first: int  # the position of its first token
    tokens: list[int]
    prompt: int  # how many of the tokens are its prompt

    @property
    def columns(self) -> int:
        """The number of tokens that predict a completion or come before one. The last token predicts nothing."""
        return len(self.tokens) - 1 if len(self.tokens) > self.prompt else 0


def read_path(ids: list[int], mask: list[int], prompt: int, first: int) -> Path | None:
    """Return a row without its padding, or None if it has a hole, given the width of prompts and its first position."""
    start = mask.index(1) if 1 in mask else prompt
    end = start + sum(mask)
    if start >= prompt or not all(mask[start:end]):
        return None
    return Path(first + start, ids[start:end], prompt - start)


def list_shared(paths: Sequence[Path], of_prompts: bool = False) -> list[int]:
    """
    Return how many columns each of some sorted rows has from the row before it, at least a prompt or [`FEWEST`].

    With `of_prompts`, only columns of prompts are shared.
    """
    shared = [0] * len(paths)
    for place, (before, path) in enumerate(pairwise(paths), 1):
        one = before.tokens
        other = path.tokens
        most = min(before.columns, path.columns, *[path.prompt] * of_prompts) if before.first == path.first else 0
        common = bisect_left(range(most), True, key=lambda last: one[: last + 1] != other[: last + 1])
        shared[place] = common if common >= min(path.prompt, FEWEST) else 0
    return shared


def count_different(paths: Iterable[Path]) -> int:
    """Return how many tokens a model must be given to score completions: a prompt once, and no last token."""
    ordered = sorted(paths)
    return sum(path.columns for path in ordered) - sum(list_shared(ordered))


def measure_passes(paths: Sequence[Path], shared: list[int], multiple: int) -> Callable[[int], Iterator[int]]:
    """Return a function that yields the tokens of passes with the last, the last two, ... of the first sorted rows."""
    own = [path.columns for path in paths]
    added = [0, *accumulate(own[place] - shared[place] for place in range(len(paths)))]

    def measure(end: int) -> Iterator[int]:
        counts = (own[start] + added[end] - added[start + 1] for start in range(end - 1, -1, -1))
        return (max(1, -(-count // multiple)) * multiple for count in counts)

    return measure


def list_groups(paths: Sequence[Path], most: float) -> list[list[int]]:
    """Return places of rows by prompt, in parts if they have more than `most` tokens and a part has few from its prompt."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, path in enumerate(paths):
        groups.setdefault((path.first, *path.tokens[: path.prompt]), []).append(place)
    parts = []
    for group in groups.values():
        prompt = paths[group[0]].prompt
        different = count_different(paths[place] for place in group)
        rows = max(1, int(len(group) * max(most - prompt, 2 * prompt) / max(1, different - prompt)))
        parts += [group[start : start + rows] for start in range(0, len(group), rows)]
    return parts
