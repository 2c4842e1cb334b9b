"""Whether a model says the same of rows that share tokens as of whole rows, which a run tries before its first pass."""

import math
from collections.abc import Callable
from typing import Any

import torch
from accelerate.utils import DistributedType
from torch import Tensor
from torch.nn import functional

from .forward_passes import score_rows
from .trees import Sharing
from .trl_members import utils


MOST = 1e-4
"""Largest difference of a log-probability. In float32, models of 28 families differ by at most 2e-6."""

MOST_ROUNDED = 4, 0.2
"""In bf16, what three more columns of padding change, times the first number, if that is at most the second number."""


def compare_trees(
    score: Callable[..., tuple[Tensor, Any, Any]],
    model: Any,
    sharing: Sharing,
    prompts: list[list[int]],
    completions: list[list[int]],
    batch_size: int,
    kind: DistributedType,
) -> str:
    """Return what differs if rows share tokens, or nothing. Every rank must call it."""
    was_training, columns = model.training, max(1, *map(len, completions))
    device = next(model.parameters()).device
    model.eval()
    try:
        parts = [
            utils.pad([torch.tensor(row, dtype=torch.long, device=device) for row in own], -1, side)
            for own, side in ((prompts, "left"), (completions, "right"))
        ]
        ids = torch.cat(parts, 1)
        mask = (ids >= 0).long()
        ids, scored = ids.clamp(min=0), mask[:, -columns:]
        batch = {"input_ids": ids, "attention_mask": mask, "logits_to_keep": columns}
        with torch.no_grad():
            whole, *_ = score(model, *batch.values(), batch_size)
            wider = *(functional.pad(one, (3, 3)) for one in (ids, mask)), columns + 3
            padded = score(model, *wider, batch_size)[0][:, :columns]
            rows, one_tree = [*range(len(ids))], sharing._replace(even=math.inf)
            (shared, *_), _ = score_rows(score, model, batch, rows, kind, sharing=one_tree)
        noise, difference = (((one - whole).abs() * scored).max().item() for one in (padded, shared))
        allowed = max(MOST, min(MOST_ROUNDED[0] * noise, MOST_ROUNDED[1]))
        return "" if difference <= allowed else f"log-probabilities differ by {difference:.1g} if rows share it"
    except Exception as error:  # of any code of a model
        return f"rows cannot share it: {type(error).__name__}: {error}"
    finally:
        model.train(was_training)
