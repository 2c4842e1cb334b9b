"""Composable rewards and a GRPO trainer for TRL that spends nothing on groups which teach nothing."""

from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from . import rewards
from .combinators import clip, gate, route, schedule, share
from .expressions import Reward
from .options import Column, column
from .parsing import parse
from .registry import reward
from .rewards import *
from .scores import ScoreTable


if TYPE_CHECKING:
    from .training import FilteredGRPOConfig, FilteredGRPOTrainer, StopOnWarning

__all__ = ["Column", "FilteredGRPOConfig", "FilteredGRPOTrainer", "Reward", "ScoreTable", "StopOnWarning"]
__all__ += ["clip", "column", "gate", "parse", "reward", "route", "schedule", "share"]
__all__ += rewards.__all__


def __getattr__(name: str) -> Any:
    if name not in ("FilteredGRPOConfig", "FilteredGRPOTrainer", "StopOnWarning"):
        close = get_close_matches(name, __all__, n=1, cutoff=0.8)
        if close and find_spec(f"{__name__}.{name}") is None:
            raise ImportError(f"{__name__} has no {name!r}. Did you mean {close[0]!r}?")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".training", __name__), name)  # loads torch and trl
