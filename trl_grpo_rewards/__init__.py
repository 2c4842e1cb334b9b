"""Composable rewards and a GRPO trainer for TRL that spends nothing on groups which teach nothing."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .combining import clip, gate, route, schedule
from .registry import reward
from .rewards import boxed, keywords, length, pattern, tags
from .spec import parse
from .values import Reward


if TYPE_CHECKING:
    from .trainer import FilteredGRPOConfig, FilteredGRPOTrainer

__all__ = [
    "FilteredGRPOConfig",
    "FilteredGRPOTrainer",
    "Reward",
    "boxed",
    "clip",
    "gate",
    "keywords",
    "length",
    "parse",
    "pattern",
    "reward",
    "route",
    "schedule",
    "tags",
]


def __getattr__(name: str) -> Any:
    if name in ("FilteredGRPOConfig", "FilteredGRPOTrainer"):  # they load torch and trl
        return getattr(import_module(".trainer", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
