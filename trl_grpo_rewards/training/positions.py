"""The positions of tokens, which stay what they are in TRL when the padding before a prompt is cut."""

import inspect
from typing import Any

import torch
from torch import Tensor


def takes_positions(model: Any) -> bool:
    """
    Return whether a model counts columns where it is told no positions, as by TRL, and can be told positions instead.

    This holds for the models of transformers with rotary embeddings. Others may count only tokens that are not padding
    (OPT), or be told nothing (Bloom). A model with images counts in its own way.
    """
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    is_known = any(kind.__module__.startswith("transformers.models.") for kind in type(base).__mro__)
    has_images, is_rotary = hasattr(base.config, "vision_config"), bool(getattr(base.config, "rope_parameters", None))
    takes = "position_ids" in inspect.signature(type(base).forward).parameters
    return is_known and is_rotary and takes and not has_images


def count_positions(columns: int, cut: Tensor) -> Tensor:
    """
    Return the positions of tokens in a batch whose first columns were cut, of shape (rows, columns).

    Args:
        columns (`int`):
            Number of columns that are left.
        cut (`Tensor` of shape (rows,)):
            Number of columns that were cut from each row. It is negative if some were added.
    """
    return (torch.arange(columns, device=cut.device) + cut[:, None]).clamp(min=0)
