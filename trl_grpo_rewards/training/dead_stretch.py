"""A stretch of steps in which the outcome reward teaches nothing, and what to look at."""

import logging
from collections import Counter

from ..records.dead_groups import GroupKind
from .config import FilteredGRPOConfig


logger = logging.getLogger(__name__)

MIN_STEPS = 5
"""Number of consecutive steps without a group that teaches something, after which the trainer warns."""

MIN_GROUPS = 20
"""Number of groups in these steps below which the stretch may be chance: with one group a step, half of which are live,
five dead ones in a row happen in one of 32 stretches."""

REMEDIES: dict[GroupKind, str] = {
    "failed": "Read some completions. If they never reach the form that {outcome} expects, ask for it in a system prompt "
    "or add a reward that pays for a part of it. If they do, use easier prompts or more completions of each.",
    "solved": "Use harder prompts.",
    "flat": "Make the rewards finer, so that they tell the completions of one prompt apart.",
    "unscored": "Find out why {outcome} gives no score: its dataset column, or the server that it calls.",
}
"""What to do by the kind of most of the groups."""


class DeadStretch:
    """
    Warns once when several steps in a row have no live group, or only groups that rewards other than the outcome make
    live: a model that never solves a problem still learns the form.

    Args:
        outcome (`str`):
            Name of the reward that says which completions are right.
        args ([`FilteredGRPOConfig`]):
            Configuration of the run.
    """

    def __init__(self, outcome: str, args: FilteredGRPOConfig) -> None:
        self.outcome, self.args = outcome, args
        self.first: int | None = None
        self.kinds: Counter[GroupKind] = Counter()
        self.live = 0
        self.has_warned = False

    def observe(self, step: int, kinds: list[GroupKind], by_outcome: list[GroupKind]) -> None:
        """Count the groups that were sampled in a step, by their kinds and by the kinds under the outcome reward alone."""
        found = [mine if one == "live" else one for one, mine in zip(kinds, by_outcome, strict=True)]
        if "live" in found:
            self.first, self.live, self.kinds = None, 0, Counter()
            return
        self.first = step if self.first is None else self.first
        self.live += kinds.count("live")
        self.kinds.update(found)
        if not self.has_warned and step - self.first + 1 >= MIN_STEPS and self.kinds.total() >= MIN_GROUPS:
            self.has_warned = True
            if self.args.process_index == 0:
                logger.warning(self.describe(step))

    def describe(self, step: int) -> str:
        (kind, count), steps = self.kinds.most_common(1)[0], f"steps {self.first} to {step}"
        lesson = (
            f"{self.outcome!r} was the same for all completions of each prompt in {steps}, so only other rewards were learned"
            if self.live
            else f"No group was live in {steps}, so nothing was learned"
        )
        return (
            f"{lesson}: {count} of {self.kinds.total()} groups were {kind!r}. "
            f"{REMEDIES[kind].format(outcome=repr(self.outcome))} To read the groups, run trl-grpo-rewards report "
            f"{self.args.output_dir}."
        )
