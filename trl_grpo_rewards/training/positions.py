"""The positions of tokens, which stay what they are in TRL when the padding before a prompt is cut."""

import inspect
from typing import Any

import torch
from torch import Tensor


def takes_positions(model: Any) -> bool:
    """
    Return whether a model can be told the positions of tokens.

    TRL passes none, and the model counts columns. A model with images counts in its own way.
    """
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    has_images = hasattr(model.config, "vision_config")
    return not has_images and "position_ids" in inspect.signature(type(base).forward).parameters


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
