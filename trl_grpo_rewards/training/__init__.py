"""The trainer: TRL's `GRPOTrainer` without the work that dead groups cost. Only this folder and `cli` load torch and TRL."""

from ..diagnosis.alarms import StopOnWarning
from .config import FilteredGRPOConfig
from .trainer import FilteredGRPOTrainer


__all__ = ["FilteredGRPOConfig", "FilteredGRPOTrainer", "StopOnWarning"]
