"""The trainer: TRL's `GRPOTrainer` without the work that dead groups cost. Only this folder and `cli` load torch and TRL."""

from ..files import check_trl_version


check_trl_version()
from ..diagnosis.alarms import StopOnWarning  # noqa: E402
from .config import FilteredGRPOConfig  # noqa: E402
from .trainer import FilteredGRPOTrainer  # noqa: E402


__all__ = ["FilteredGRPOConfig", "FilteredGRPOTrainer", "StopOnWarning"]
