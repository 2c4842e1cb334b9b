"""A stretch of steps in which the outcome reward teaches nothing, and what to do. The trainer and the report ask it."""

from collections import Counter
from collections.abc import Sequence

from .dead_groups import GroupKind


MIN_STEPS = 5
"""A stretch has at least this many consecutive steps. In none of them does a group teach anything."""

MIN_GROUPS = 20
"""A stretch has at least this many groups. Fewer may all be dead by chance: if half of all groups are live and each step has
one group, one of 32 stretches of five steps has no live group."""

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
    The latest steps in a row that have no live group, or only groups that rewards other than the outcome make live: a
    model that never solves a problem still learns the form.
    """

    def __init__(self) -> None:
        self.first = self.last = self.live = 0
        self.kinds: Counter[GroupKind] = Counter()

    def observe(self, step: int, kinds: Sequence[GroupKind], by_outcome: Sequence[GroupKind]) -> None:
        """Count the groups that were sampled in a step, by their kinds and by the kinds under the outcome reward alone."""
        found = [mine if one == "live" else one for one, mine in zip(kinds, by_outcome, strict=True)]
        if "live" in found:
            self.first, self.live, self.kinds = 0, 0, Counter()
            return
        self.first, self.last = self.first or step, step
        self.live += kinds.count("live")
        self.kinds.update(found)

    @property
    def is_long(self) -> bool:
        """Whether there are more steps and groups than would happen by chance."""
        return self.last - self.first + 1 >= MIN_STEPS and self.kinds.total() >= MIN_GROUPS

    @property
    def kind(self) -> GroupKind:
        """The kind of most of the groups."""
        return self.kinds.most_common(1)[0][0]

    def describe(self, outcome: str) -> str:
        """Return what happened, and what to do. `outcome` is the name of the outcome reward."""
        steps = f"steps {self.first} to {self.last}"
        lesson = (
            f"{outcome!r} was the same for all completions of each prompt in {steps}, so only other rewards were learned"
            if self.live
            else f"No group was live in {steps}, so nothing was learned"
        )
        return (
            f"{lesson}: {self.kinds[self.kind]} of {self.kinds.total()} groups were {self.kind!r}. "
            f"{REMEDIES[self.kind].format(outcome=repr(outcome))}"
        )
