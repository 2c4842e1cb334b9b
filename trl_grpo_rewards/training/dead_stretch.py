"""The warning about steps in which the outcome reward teaches nothing."""

import logging

from ..records.dead_groups import GroupKind
from ..records.dead_stretches import DeadStretch
from .config import FilteredGRPOConfig


logger = logging.getLogger(__name__)


class StretchAlarm:
    """
    Warns of the first stretch of steps in which the outcome reward teaches nothing.

    Args:
        outcome (`str`):
            Name of the reward that says which completions are right.
        args ([`FilteredGRPOConfig`]):
            Configuration of the run.
    """

    def __init__(self, outcome: str, args: FilteredGRPOConfig) -> None:
        self.outcome, self.args = outcome, args
        self.stretch, self.has_warned = DeadStretch(), False

    def observe(self, step: int, kinds: list[GroupKind], by_outcome: list[GroupKind]) -> None:
        """Add the groups that were sampled in a step, by their kinds and by the kinds under the outcome reward alone."""
        self.stretch.observe(step, kinds, by_outcome)
        if self.stretch.is_long and not self.has_warned:
            self.has_warned = True
            if self.args.process_index == 0:
                logger.warning(
                    f"{self.stretch.describe(self.outcome)} To read the groups, run trl-grpo-rewards report "
                    f"{self.args.output_dir}."
                )
