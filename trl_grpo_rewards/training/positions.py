"""Whether a model sees where a token stands, or only how far tokens are from each other."""

from typing import Any


ABSOLUTE_SCALES = ("dynamic", "longrope")
"""Rotary embeddings that depend on the length of the whole sequence."""


def has_relative_positions(config: Any) -> bool:
    """
    Return whether a model of this configuration computes the same without the padding before a prompt.

    TRL passes no positions, so padding moves the tokens after it. This does not matter for rotary embeddings. Models with
    other embeddings may have learned what each position means.
    """
    found = getattr(config.get_text_config(), "rope_parameters", None) or {}
    layers = [found] if "rope_type" in found else [value for value in found.values() if isinstance(value, dict)]
    return bool(layers) and all(layer.get("rope_type") not in ABSOLUTE_SCALES for layer in layers)
