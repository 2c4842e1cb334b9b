"""Forward passes without gradient, each as wide as its own longest prompt and completion."""

import math
from collections.abc import Callable
from itertools import repeat
from typing import TypeAlias

import torch
from accelerate.utils import DistributedType, gather_object
from torch import Tensor, nn

from .placement import Size, count_padded, plan_micro_batches
from .positions import Positioned, count_positions
from .rows import BOTH_WIDE, TensorBatch, count_columns, select_rows
from .token_counts import TokenCounts
from .trees import Sharing, count_different, plan_forest, read_paths, score_tree


Logps: TypeAlias = tuple[Tensor, Tensor | None, Tensor | None]
"""Log-probabilities of completion tokens, their entropies, and the load-balancing loss."""

LOGPS_ARGUMENTS = ("input_ids", "attention_mask", "logits_to_keep", "batch_size", "compute_entropy")
"""Arguments of TRL's `_get_per_token_logps_and_entropies` after the model, which Unsloth passes by position."""

REPLICATED = {DistributedType.NO, DistributedType.MULTI_CPU, DistributedType.MULTI_GPU}
"""Setups in which one rank can run a forward pass without the others."""


def score_rows(
    score: Callable[..., Logps],
    model: nn.Module,
    batch: TensorBatch,
    rows: list[int],
    distributed_type: DistributedType,
    keeps_positions: bool = False,
    limit: float = math.inf,
    multiple: int | None = None,
    sharing: Sharing | None = None,
) -> tuple[Logps, TokenCounts]:
    """
    Return what the model says about some rows of a batch of TRL, with 0 for padding, and the tokens that were counted.

    Other rows get NaN, which TRL's metrics leave out. A pass has at most as many tokens as one of TRL.
    """
    batch = {name: value for name, value in batch.items() if value is not None}
    count, width = batch["input_ids"].shape
    batch_size = batch.get("batch_size", count)
    prompt = width - batch["logits_to_keep"]
    sizes = [
        Size(prompt if keeps_positions else size.prompt, width - prompt if width >= limit else size.completion)
        for size in measure_rows(batch, rows, prompt, multiple)
    ]
    paths, forest = None, None
    if not batch.get("num_images"):
        paths = read_paths(batch["input_ids"][rows], batch["attention_mask"][rows], prompt, repeat(0))
    if sharing is not None and paths and width < limit:
        forest = plan_forest(paths, batch_size * width, sharing)
        sizes = forest.sizes
    max_rows = batch_size if batch.get("num_images") else max(1, len(rows))
    plan = plan_micro_batches(sizes, batch_size * width, math.ceil(len(rows) / batch_size), max_rows)
    outputs: list[Tensor] = []
    for places in plan + [[]] * count_missing(len(plan), distributed_type):
        if forest and places:
            part = [rows[row] for place in places for row in forest.sequences[place]]
            tree = forest.build(places, after := width - prompt, batch["input_ids"].device)
            said = score_tree(score, model, tree, batch.get("compute_entropy", False))
        else:
            part = [rows[place] for place in places] or rows[:1] or [0]
            own = [sizes[place] for place in places] or [Size(prompt, width - prompt)]
            before, after = max(size.prompt for size in own), max(size.completion for size in own)
            narrow = cut_columns(select_rows(batch, count, part), prompt - before, prompt + after)
            cut = torch.full((len(part),), prompt - before, device=batch["input_ids"].device)
            positions = {} if keeps_positions else {"position_ids": count_positions(before + after, cut)}
            own_options = {"logits_to_keep": after, "batch_size": len(part)}
            said = score(Positioned(model, **positions), **{**narrow, **own_options})
        found = [one for one in said[:2] if one is not None]
        outputs = outputs or [make_result(batch, rows, one) for one in found]
        if places:
            for whole, one in zip(outputs, found, strict=True):
                whole[part, :after] = one
    outputs = outputs or [make_result(batch, rows, batch["input_ids"].new_zeros((), dtype=torch.float32))]
    needed = int(batch["attention_mask"][rows].sum()) if paths is None else count_different(paths)
    counts = TokenCounts(needed, count_padded(sizes, plan), count * width, (count - len(rows)) * width)
    return (outputs[0], outputs[1] if len(outputs) > 1 else None, None), counts


def measure_rows(batch: TensorBatch, rows: list[int], prompt: int, multiple: int | None) -> list[Size]:
    """Return the tokens of some rows. A masked completion with an image, some of whose tokens may stand for it, is whole."""
    step, mask, images = multiple or 1, batch["attention_mask"], batch.get("num_images")
    widths = prompt, mask.size(1) - prompt
    parts = mask[rows, :prompt].flip(1), mask[rows, prompt:]
    lengths = torch.stack([*map(count_columns, parts)], 1).tolist()
    sizes = []
    for row, (before, after) in zip(rows, lengths, strict=True):
        own = before, widths[1] if images and images[row] and not after else after
        rounded = [-(-max(1, length) // step) * step for length in own]
        sizes.append(Size(*map(min, rounded, widths)))
    return sizes


def cut_columns(batch: TensorBatch, start: int, end: int) -> TensorBatch:
    """Return the arguments of a pass over some of the columns."""
    wide = ("input_ids", "attention_mask", *BOTH_WIDE)
    return {name: value[:, start:end] if name in wide else value for name, value in batch.items()}


def make_result(batch: TensorBatch, rows: list[int], example: Tensor) -> Tensor:
    """Return a tensor for all rows of a batch, with 0 in some rows and NaN in the others."""
    whole = example.new_full((batch["input_ids"].size(0), batch["logits_to_keep"]), torch.nan)
    whole[rows] = 0.0
    return whole


def count_missing(passes: int, distributed_type: DistributedType) -> int:
    """Return how many passes this rank has to add, because a sharded model needs the same number on every rank."""
    return 0 if distributed_type in REPLICATED else max(gather_object([passes])) - passes
