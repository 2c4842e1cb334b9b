"""Rows that begin alike in one sequence, a tree of tokens: what they have in common goes through the model once."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from operator import sub
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .placement import Size, split_in_order
from .positions import Positioned, find_base, takes_positions
from .trl_members import utils


IMPLEMENTATIONS = ("sdpa", "eager", "flex_attention")
"""Implementations of attention that take any mask."""

KINDS = ("full_attention", "sliding_attention")
"""Kinds of layers whose masks are known."""

LONGEST = 8192
"""Largest number of tokens of a sequence of several rows, since a mask has the square of it. Masks of blocks are small."""

BLOCK = 128
"""Number of tokens on each side of a block. On a GPU, sequences have a multiple of it, since each new shape takes time."""

SEQUENCE = 8
"""One more sequence is worth it if it saves more than so many tokens."""


class Path(NamedTuple):
    """A row without padding. If rows are sorted, each is next to the one with which it has most tokens in common."""

    first: int  # the position of its first token
    tokens: list[int]
    prompt: int  # how many of the tokens are its prompt


class Tree(NamedTuple):
    """Sequences of rows that share tokens. The first five tensors have the shape (sequences, tokens)."""

    tokens: Tensor
    positions: Tensor
    starts: Tensor  # each token is part of the rows of its sequence from this one on,
    ends: Tensor  # and before this one
    is_scored: Tensor  # whether a row needs its log-probability, given the token in the column before
    sources: Tensor  # where log-probabilities of completions are among those of all columns but the first,
    targets: Tensor  # and among those of all rows
    shape: tuple[int, int]  # of the log-probabilities of all rows
    sharing: "Sharing"


class Sharing(NamedTuple):
    """How a model computes trees."""

    windows: dict[str, int | None]  # of each kind of its layers
    even: float  # number of tokens of a sequence for which attention costs as much as all else
    multiple: int = 1  # sequences are padded to a multiple of this number of tokens
    has_blocks: bool = False  # masks are those of FlexAttention


def find_sharing(model: Any, pad_to_multiple_of: int | None) -> Sharing | str:
    """Return how a model computes trees, or why it cannot."""
    config = find_base(model).config.get_text_config()
    window, implementation = getattr(config, "sliding_window", None), config._attn_implementation
    kinds = dict.fromkeys(getattr(config, "layer_types", None) or [KINDS[bool(window)]])
    if not hasattr(utils, "add_fused_lm_head"):
        return "trl 1.15 or newer is needed to share it"  # older versions keep the logits of all columns in memory
    if not takes_positions(model):
        return "the positions of its tokens cannot be given to this model"
    if not kinds.keys() <= {*KINDS}:
        return f"the model has layers of the kind {next(kind for kind in kinds if kind not in KINDS)!r}"
    if implementation not in IMPLEMENTATIONS:
        return f"attn_implementation={implementation!r} takes no such mask. attn_implementation='sdpa' shares prompts"
    windows = {kind: window if kind == "sliding_attention" else None for kind in kinds}
    heads = config.num_attention_heads
    width = heads * (getattr(config, "head_dim", None) or config.hidden_size // heads)
    # DeepSpeed may have left a part of each parameter.
    parameters = sum(getattr(one, "ds_numel", one.numel()) for one in model.parameters())
    even = parameters / (2.5 * config.num_hidden_layers * width)  # 2 by count, but attention is slower than products
    has_blocks = implementation == "flex_attention"
    multiple = BLOCK if has_blocks or torch.cuda.is_available() else 1
    return Sharing(windows, even, math.lcm(multiple, pad_to_multiple_of or 1), has_blocks)


def read_paths(ids: Tensor, mask: Tensor, prompt: int, firsts: Iterable[int]) -> list[Path] | None:
    """
    Return rows without their padding, or None if a mask has a hole.

    Args:
        prompt (`int`):
            The number of columns of prompts.
        firsts (`Iterable[int]`):
            The position of the first column of each row.
    """
    paths = []
    for own, real, first in zip(ids.tolist(), mask.tolist(), firsts, strict=False):
        start = real.index(1) if 1 in real else prompt
        end = start + sum(real)
        if start >= prompt or not all(real[start:end]):
            return None
        paths.append(Path(first + start, own[start:end], prompt - start))
    return paths


def list_shared(paths: Sequence[Path], spare: int = 1) -> list[int]:
    """
    Return how many of its tokens each of some sorted rows has from the row before it.

    The last common token is computed again, so that the token in the next column is the one that it predicts.
    """
    shared = [0] * len(paths)
    for place, (before, path) in enumerate(pairwise(paths), 1):
        one, other = before.tokens, path.tokens
        most = min(len(one), len(other)) if before.first == path.first else 0
        common = bisect_left(range(most), True, key=lambda last: one[: last + 1] != other[: last + 1])
        shared[place] = common if common == len(other) else max(0, common - spare)
    return shared


def count_different(paths: Iterable[Path], spare: int = 0) -> int:
    """Return the number of different tokens of rows: those that begin alike have the beginning in common."""
    ordered = sorted(paths)
    return sum(len(path.tokens) for path in ordered) - sum(list_shared(ordered, spare))


def list_groups(paths: Sequence[Path], most: float) -> list[list[int]]:
    """Return the places of the rows of each prompt, in several parts if they have more different tokens than `most`."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, path in enumerate(paths):
        groups.setdefault((path.first, *path.tokens[: path.prompt]), []).append(place)
    parts = []
    for group in groups.values():
        rows = max(1, min(len(group), int(len(group) * most / count_different(paths[place] for place in group))))
        parts += [group[start : start + rows] for start in range(0, len(group), rows)]
    return parts


class Forest(NamedTuple):
    """Rows in sequences, each with the rows that share most tokens."""

    sharing: Sharing
    paths: Sequence[Path]
    sequences: list[list[int]]  # the places of rows
    sizes: list[Size]  # tokens of sequences

    def build(self, places: Iterable[int], width: int, device: torch.device) -> Tree:
        """Return the tree of the rows of some sequences, with log-probabilities of so many completion tokens."""
        columns = max(self.sizes[place].total for place in places)
        rows, grown, sources, targets = 0, [], list[int](), list[int]()
        for number, place in enumerate(places):
            fields, predicting = grow([self.paths[row] for row in self.sequences[place]])
            grown.append(fields)
            for row, own in enumerate(predicting, rows):
                sources += [number * (columns - 1) + column for column in own]
                targets += range(row * width, row * width + len(own))
            rows += len(predicting)
        fills = (0, 0, rows, 0, 0)  # no other token sees padding, and padding sees itself
        for fields in grown:
            for field, fill in zip(fields, fills, strict=True):
                field += [fill] * (columns - len(field))
        tensors = torch.tensor(grown).to(device).unbind(1)
        ways = torch.tensor([sources, targets], dtype=torch.long).to(device)
        return Tree(*tensors, *ways, (rows, width), self.sharing)  # type: ignore[call-arg, arg-type]


def plan_forest(paths: Sequence[Path], max_tokens: int, sharing: Sharing) -> Forest:
    """Return rows in the sequences that cost least."""
    order = sorted(range(len(paths)), key=paths.__getitem__)
    own = [len(paths[place].tokens) for place in order]
    shared = list_shared([paths[place] for place in order])
    added = [0, *accumulate(map(sub, own, shared))]

    def measure(end: int) -> Iterator[int]:
        return (own[start] + added[end] - added[start + 1] for start in range(end - 1, -1, -1))

    most = max_tokens if sharing.has_blocks else min(max_tokens, LONGEST)
    sequences = split_in_order(order, measure, most, len(order), SEQUENCE, 1 / sharing.even)
    tokens = [max(2, count_different((paths[row] for row in rows), spare=1)) for rows in sequences]
    return Forest(
        sharing, paths, sequences, [Size(0, -(-one // sharing.multiple) * sharing.multiple) for one in tokens]
    )


def grow(paths: Sequence[Path]) -> tuple[list[list[int]], list[list[int]]]:
    """Return the first fields of a tree of one sequence, and the columns that predict the completion of each row."""
    tokens, positions, starts, ends = list[int](), list[int](), list[int](), list[int]()
    columns, predicting = list[int](), list[list[int]]()
    for row, (path, shared) in enumerate(zip(paths, list_shared(paths), strict=True)):
        for column in columns[shared:]:
            ends[column] = row
        tokens += path.tokens[shared:]
        columns = [*columns[:shared], *range(len(starts), len(tokens))]
        positions += range(path.first + shared, path.first + len(path.tokens))
        starts += [row] * (len(tokens) - len(starts))
        ends += [len(paths)] * (len(tokens) - len(ends))
        predicting.append(columns[path.prompt - 1 : -1])
    scored = {column + 1 for own in predicting for column in own}
    return [tokens, positions, starts, ends, [int(column in scored) for column in range(len(tokens))]], predicting


def score_tree(score: Callable[..., Any], model: Any, tree: Tree, has_entropy: bool) -> Any:
    """Return what a method of TRL says about the rows of a tree, with 0 for padding."""
    inner = model.func if isinstance(model, Positioned) else model
    last = tree.tokens.size(1) - 1
    found = score(partial(run_tree, inner, tree), tree.tokens, tree.is_scored, last, compute_entropy=has_entropy)
    return *(None if one is None else place_values(one, tree) for one in found[:2]), None


def place_values(values: Tensor, tree: Tree) -> Tensor:
    """Return values of all columns but the first at the places of the rows' completion tokens."""
    rows, width = tree.shape
    whole = values.new_zeros(rows * width).index_put((tree.targets,), values.flatten()[tree.sources])
    return whole.view(rows, width) + 0 * values[0, 0]  # connected to the model also if no row has a completion


def run_tree(model: Any, tree: Tree, **inputs: Any) -> Any:
    """Call a model with the masks and the positions of a tree."""
    device = tree.tokens.device.type
    dtype = next(one.dtype for one in model.parameters() if one.is_floating_point())
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
    return model(**{**inputs, "attention_mask": build_masks(tree, dtype), "position_ids": tree.positions})


def build_masks(tree: Tree, dtype: torch.dtype) -> Any:
    """Return what a model takes as `attention_mask`: one mask, or one for each kind of its layers."""
    if tree.shape[0] == len(tree.tokens):  # each row has a sequence of its own
        return torch.ones_like(tree.tokens)
    masks = {kind: build_mask(tree, window, dtype) for kind, window in tree.sharing.windows.items()}
    return masks if len(masks) > 1 else next(iter(masks.values()))


def build_mask(tree: Tree, window: int | None, dtype: torch.dtype) -> Any:
    """Return the mask of layers with a window, in the form that an implementation of attention takes."""
    positions, starts, ends = tree.positions, tree.starts, tree.ends
    after = positions - window if window else torch.full_like(positions, -1)

    def sees(batch: Any, head: Any, query: Any, key: Any) -> Any:
        is_before = (positions[batch, key] <= positions[batch, query]) & (positions[batch, key] > after[batch, query])
        return is_before & (starts[batch, key] <= starts[batch, query]) & (ends[batch, key] >= ends[batch, query])

    count, columns = tree.tokens.shape
    if tree.sharing.has_blocks:
        from torch.nn.attention.flex_attention import create_block_mask

        return create_block_mask(sees, count, None, columns, columns, device=positions.device)
    column = torch.arange(columns, device=positions.device)
    seen = sees(torch.arange(count, device=column.device)[:, None, None, None], None, column[:, None], column)
    return (~seen).to(dtype).mul_(torch.finfo(dtype).min)
