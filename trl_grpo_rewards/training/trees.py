"""Rows that begin alike in one sequence, a tree of tokens, and the positions of tokens, which stay those of TRL."""

import inspect
import math
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from operator import sub
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .placement import Size, count_padded, plan_micro_batches, split_in_order
from .trl_members import utils


IMPLEMENTATIONS = ("sdpa", "eager", "flex_attention")  # implementations of attention that take any mask
KINDS = ("full_attention", "sliding_attention")  # kinds of layers whose masks are known
LONGEST = 8192  # tokens of rows that share; a mask has their square, unless it is one of blocks
BLOCK = 128  # tokens on each side of a block; on a GPU, sequences have a multiple, since new shapes take time
SEQUENCE = 8  # one more sequence is worth it if it saves more than this number of tokens
SCALED_BY_LENGTH = ("dynamic", "longrope")  # rotary embeddings that depend on the largest position


class Path(NamedTuple):
    """A row without padding. If rows are sorted, each is next to the one with which it has most tokens in common."""

    first: int  # the position of its first token
    tokens: list[int]
    prompt: int  # how many of the tokens are its prompt


class Sharing(NamedTuple):
    """How a model computes trees."""

    windows: dict[str, int | None]  # of each kind of its layers
    even: float  # number of tokens of a sequence for which attention costs as much as all else
    multiple: int = 1  # sequences are padded to a multiple of this number of tokens
    has_blocks: bool = False  # masks are those of FlexAttention
    keeps_scores: bool = False  # attention keeps a number for each pair of tokens for the backward pass


class Tree(NamedTuple):
    """Sequences of rows that share tokens. The first five tensors have the shape (sequences, tokens)."""

    tokens: Tensor
    positions: Tensor
    starts: Tensor  # each token is part of the rows of its sequence from this one on,
    ends: Tensor  # and before this one
    is_scored: Tensor  # whether a row needs its log-probability, given the token in the column before
    sources: Tensor  # for completion tokens of rows: their place among all columns but the first, or -1
    sharing: Sharing


class Pass(NamedTuple):
    """Rows that go through the model together."""

    rows: list[int]  # their places, in the order of the sequences
    tokens: int  # with padding
    sequences: list[list[Path]]  # of rows that share tokens, or none
    sharing: Sharing | None

    def build(self, width: int, device: torch.device) -> Tree | None:
        """Return the tree of rows that share tokens, with log-probabilities of so many completion tokens."""
        if self.sharing is None:
            return None
        columns, grown, sources = self.tokens // len(self.sequences), [], []
        fills = (0, 0, len(self.rows), 0, 0)  # no other token sees padding, and padding sees itself
        for number, paths in enumerate(self.sequences):
            fields, predicting = grow(paths)
            grown.append([one + [fill] * (columns - len(one)) for one, fill in zip(fields, fills, strict=True)])
            for own in predicting:
                sources.append([number * (columns - 1) + column for column in own] + [-1] * (width - len(own)))
        tokens, positions, starts, ends, is_scored = torch.tensor(grown).to(device).unbind(1)
        places = torch.tensor(sources).to(device)
        return Tree(tokens, positions, starts, ends, is_scored, places, self.sharing)


class Positioned(partial[Any]):
    """A model that is told the positions of tokens. It has the attributes of the model, which a subclass may read."""

    tree: Any = None  # of rows that share tokens

    def __getattr__(self, name: str) -> Any:
        return getattr(self.func, name)


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
    # Of experts, a token passes a few. DeepSpeed may have left a part of each parameter.
    counts = (getattr(config, name, None) for name in ("num_experts", "num_local_experts", "n_routed_experts"))
    share = getattr(config, "num_experts_per_tok", None) or 1
    share /= next(filter(None, counts), share)
    sizes = ((name, getattr(one, "ds_numel", one.numel())) for name, one in model.named_parameters())
    parameters = sum(size * (share if ".experts." in name else 1) for name, size in sizes)
    even = parameters / (2.5 * config.num_hidden_layers * width)  # 2 by count, but attention is slower than products
    has_blocks = implementation == "flex_attention"
    multiple = BLOCK if has_blocks or torch.cuda.is_available() else 1
    return Sharing(windows, even, math.lcm(multiple, pad_to_multiple_of or 1), has_blocks, implementation == "eager")


def takes_positions(model: Any) -> bool:
    """Return whether a model counts columns where it is told no positions, as by TRL, and can be told positions instead."""
    # Models without rotary embeddings may count only tokens that are not padding (OPT), or be told nothing (Bloom). Models
    # with images count in their own way, states may take padding for tokens (RecurrentGemma), and PEFT puts virtual tokens
    # before the padding.
    base = find_base(model)
    kinds = [kind for kind in type(base).__mro__ if kind.__module__.startswith("transformers.models.")]
    masks_states = any(hasattr(sys.modules[kind.__module__], "apply_mask_to_padding_states") for kind in kinds)
    has_images, is_rotary = hasattr(base.config, "vision_config"), bool(getattr(base.config, "rope_parameters", None))
    takes = "position_ids" in inspect.signature(type(base).forward).parameters
    sees_padding = getattr(base, "_is_stateful", False) and not masks_states or count_virtual_tokens(model) > 0
    return bool(kinds) and is_rotary and takes and not has_images and not sees_padding


def find_limit(model: Any) -> float:
    """Return the number of columns from which rotary embeddings depend on that number, or infinity."""
    config = find_base(model).config.get_text_config()
    rope = getattr(config, "rope_parameters", None) or {}
    scalings = [rope, *(one for one in rope.values() if isinstance(one, dict))]  # types of layers may have their own
    lengths = [
        one.get("original_max_position_embeddings") or config.max_position_embeddings
        for one in scalings
        if one.get("rope_type") in SCALED_BY_LENGTH
    ]
    return min(lengths, default=math.inf) - count_virtual_tokens(model)


def find_base(model: Any) -> Any:
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def count_virtual_tokens(model: Any) -> int:
    """Return the number of tokens that PEFT's prompt learning puts before each row."""
    adapters = getattr(model, "peft_config", {}).values()
    return max((getattr(one, "num_virtual_tokens", None) or 0 for one in adapters), default=0)


def count_positions(columns: int, cut: Tensor) -> Tensor:
    """Return the positions of tokens in rows whose first columns were cut. A negative number of columns was added."""
    return (torch.arange(columns, device=cut.device) + cut[:, None]).clamp(min=0)


def read_paths(ids: Tensor, mask: Tensor, prompt: int, firsts: Iterable[int]) -> list[Path] | None:
    """Return rows without padding, or None if one has a hole, given the width of prompts and the first positions."""
    paths = []
    for own, real, first in zip(ids.tolist(), mask.tolist(), firsts, strict=False):
        start = real.index(1) if 1 in real else prompt
        end = start + sum(real)
        if start >= prompt or not all(real[start:end]):
            return None
        paths.append(Path(first + start, own[start:end], prompt - start))
    return paths


def list_shared(paths: Sequence[Path], copied: int = 1) -> list[int]:
    """Return how many of its tokens each of some sorted rows has from the row before it."""
    shared = [0] * len(paths)
    for place, (before, path) in enumerate(pairwise(paths), 1):
        one, other = before.tokens, path.tokens
        most = min(len(one), len(other)) if before.first == path.first else 0
        common = bisect_left(range(most), True, key=lambda last: one[: last + 1] != other[: last + 1])
        # Where rows part, the last common token is copied, so that the next column is the token that it predicts.
        shared[place] = common if common in (len(one), len(other)) else max(0, common - copied)
    return shared


def count_different(paths: Iterable[Path], copied: int = 0) -> int:
    """Return the number of different tokens of rows: those that begin alike have the beginning in common."""
    ordered = sorted(paths)
    return sum(len(path.tokens) for path in ordered) - sum(list_shared(ordered, copied))


def list_groups(paths: Sequence[Path], most: float) -> list[list[int]]:
    """Return places of rows by prompt, in parts if they have more than `most` tokens and a part has few from its prompt."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, path in enumerate(paths):
        groups.setdefault((path.first, *path.tokens[: path.prompt]), []).append(place)
    parts = []
    for group in groups.values():
        prompt, different = paths[group[0]].prompt, count_different(paths[place] for place in group)
        rows = max(1, int(len(group) * max(most - prompt, 2 * prompt) / max(1, different - prompt)))
        parts += [group[start : start + rows] for start in range(0, len(group), rows)]
    return parts


def plan_passes(
    sizes: list[Size],
    paths: list[Path] | None,
    sharing: Sharing | None,
    max_tokens: int,
    max_batches: int,
    max_rows: int,
) -> list[Pass]:
    """Split rows into passes, in which they share tokens if that costs less."""
    plan = plan_micro_batches(sizes, max_tokens, max_batches, max_rows)
    passes = [Pass(places, count_padded(sizes, [places]), [], None) for places in plan]
    if sharing and paths and (sharing.has_blocks or max(len(path.tokens) for path in paths) <= LONGEST):
        sequences, sizes = plan_sequences(paths, max_tokens, sharing)
        plan = plan_micro_batches(sizes, max_tokens, max_batches, max_rows)
        shared = [
            Pass(
                [row for place in places for row in sequences[place]],
                count_padded(sizes, [places]),
                [[paths[row] for row in sequences[place]] for place in places],
                sharing,
            )
            for places in plan
        ]
        passes = min(shared, passes, key=lambda one: sum(each.tokens for each in one))
    return passes


def plan_sequences(paths: Sequence[Path], max_tokens: int, sharing: Sharing) -> tuple[list[list[int]], list[Size]]:
    """Return rows in the sequences that cost least, and the tokens of these."""
    order = sorted(range(len(paths)), key=paths.__getitem__)
    own = [len(paths[place].tokens) for place in order]
    shared = list_shared([paths[place] for place in order])
    added = [0, *accumulate(map(sub, own, shared))]

    def measure(end: int) -> Iterator[int]:
        return (own[start] + added[end] - added[start + 1] for start in range(end - 1, -1, -1))

    most = max_tokens if sharing.has_blocks else min(max_tokens, max(own) if sharing.keeps_scores else LONGEST)
    sequences = split_in_order(order, measure, most, len(order), SEQUENCE, 1 / sharing.even)
    tokens = [max(2, count_different((paths[row] for row in rows), copied=1)) for rows in sequences]
    return sequences, [Size(0, -(-one // sharing.multiple) * sharing.multiple) for one in tokens]


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

    def place(values: Tensor) -> Tensor:  # connected to the model also if no row has a completion
        return values.flatten()[tree.sources.clamp(min=0)].masked_fill(tree.sources < 0, 0.0)

    return *(None if one is None else place(one) for one in found[:2]), None


def run_tree(model: Any, tree: Tree, **inputs: Any) -> Any:
    """Call a model with the masks and the positions of a tree."""
    device = tree.tokens.device.type
    dtype = next(one.dtype for one in model.parameters() if one.is_floating_point())
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
    masks: Any = {kind: build_mask(tree, window, dtype) for kind, window in tree.sharing.windows.items()}
    if len(tree.sources) == len(tree.tokens):  # each row has a sequence of its own
        masks = {"": torch.ones_like(tree.tokens)}
    mask = masks if len(masks) > 1 else next(iter(masks.values()))  # or one for each kind of layers
    return model(**{**inputs, "attention_mask": mask, "position_ids": tree.positions})


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
