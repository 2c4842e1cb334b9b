"""The positions of tokens, which stay as in TRL when padding is cut, and the models that accept positions."""

import inspect
import math
import sys
from functools import partial
from typing import Any

from accelerate.utils import extract_model_from_parallel


SCALED_BY_LENGTH = ("dynamic", "longrope")  # rotary embeddings that depend on the largest position


class Positioned(partial[Any]):
    """A model that is told the positions of tokens. It has the attributes of the model, which a subclass may read."""

    packed: Any = None  # the rows of a micro-batch that share tokens

    def __getattr__(self, name: str) -> Any:
        return getattr(self.func, name)


def takes_positions(model: Any, *, has_images: bool) -> bool:
    """
    Return whether a model counts columns where it is told no positions, as by TRL, and can be told positions instead.

    With images (`has_images`), models count in their own way.
    """
    # Models without rotary embeddings may count only tokens that are not padding (OPT), or be told nothing (Bloom). States
    # may take padding for tokens (RecurrentGemma), and PEFT puts virtual tokens before the padding.
    base = find_base(model)
    kinds = list_library_classes(base)
    masks_states = any(hasattr(sys.modules[kind.__module__], "apply_mask_to_padding_states") for kind in kinds)
    is_rotary = bool(getattr(base.config.get_text_config(), "rope_parameters", None))
    takes = "position_ids" in inspect.signature(type(base).forward).parameters
    sees_padding = getattr(base, "_is_stateful", False) and not masks_states or count_virtual_tokens(model) > 0
    has_images = has_images and hasattr(base.config, "vision_config")
    return bool(kinds) and is_rotary and takes and not has_images and not sees_padding


def list_library_classes(model: Any) -> list[Any]:
    """Return the classes of a model, its own one first, that are of transformers and not of a user."""
    return [kind for kind in type(model).__mro__ if kind.__module__.startswith("transformers.models.")]


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
    """Return the model of transformers in what distributes, compiles or adapts it."""
    model = model.func if isinstance(model, Positioned) else model
    model = extract_model_from_parallel(model, keep_torch_compile=False)
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def count_virtual_tokens(model: Any) -> int:
    """Return the number of tokens that PEFT's prompt learning puts before each row."""
    adapters = getattr(model, "peft_config", {}).values()
    return max((getattr(one, "num_virtual_tokens", None) or 0 for one in adapters), default=0)
