"""The warnings of a trainer about its run: nothing is learned, or what is learned is not what a witness sees."""

import logging
from collections import defaultdict, deque
from statistics import fmean

from ..records.dead_groups import GroupKind
from ..records.dead_stretches import DeadStretch
from ..records.partings import Parting, Point, find_parting
from .config import FilteredGRPOConfig
from .scored_groups import ScoredGroups


logger = logging.getLogger(__name__)

MAX_STEPS = 200
"""Number of the latest steps that the alarm about a witness looks at. The report looks at all of them."""


class StretchAlarm:
    """Warns of the first stretch of steps in which the outcome reward, which has this name, teaches nothing."""

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


class PartingAlarm:
    """Warns once of each reward of weight 0, a witness, that does not rise while the total does."""

    def __init__(self, args: FilteredGRPOConfig) -> None:
        self.args = args
        self.steps: dict[str, deque[tuple[int, list[float], list[float]]]] = defaultdict(
            lambda: deque(maxlen=MAX_STEPS)
        )
        self.partings: dict[str, Parting] = {}

    def observe(self, step: int, groups: ScoredGroups) -> dict[str, float]:
        """Compare the groups that were sampled in a step with those before, and return the metrics about partings."""
        for place in (groups.weights == 0).nonzero().flatten().tolist():
            name, scores, totals = groups.names[place], groups.rewards[..., place], groups.totals
            is_known = scores.isfinite() & totals.isfinite()
            if name not in self.partings and is_known.any():
                self.compare(name, step, totals[is_known].tolist(), scores[is_known].tolist())
        return {"parted": next(iter(self.partings.values())).since} if self.partings else {}

    def compare(self, name: str, step: int, totals: list[float], scores: list[float]) -> None:
        """Add totals and scores by a witness of the same completions, and look for the step at which they part."""
        steps = self.steps[name]
        if not steps or steps[-1][0] != step:
            steps.append((step, [], []))
        steps[-1][1].extend(totals)
        steps[-1][2].extend(scores)
        found = find_parting([Point(one, fmean(paid), fmean(seen)) for one, paid, seen in steps])
        if found is not None:
            self.partings[name] = found
            if self.args.process_index == 0:
                logger.warning(describe_parting(name, found))


def describe_parting(name: str, parting: Parting) -> str:
    return (
        f"The total parts from {name!r}, which has weight 0, at about step {parting.since}: until step {parting.seen}, the "
        f"total went from {parting.trained[0]:.2f} to {parting.trained[1]:.2f}, and {name!r} from {parting.witness[0]:.2f} "
        f"to {parting.witness[1]:.2f}. The model may have found what pays without being better. Read the completions of the "
        f"records from step {parting.since} on."
    )
