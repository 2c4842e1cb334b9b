"""A witness: a reward that never trains, and whose scores are compared with those of the rewards that do."""

import logging
from collections import deque
from collections.abc import Callable
from math import floor
from statistics import fmean
from types import SimpleNamespace
from typing import Any

from accelerate.utils import gather_object

from ..batch import GROUP_SIZE
from ..distributed import describe_with_notes, raise_error
from ..expressions import Reward
from ..parsing import parse
from ..records.fields import Completion
from ..records.partings import Parting, Point, find_parting
from ..scores import Score
from .config import FilteredGRPOConfig
from .generation import Generation


logger = logging.getLogger(__name__)

MAX_STEPS = 200
"""Number of the latest steps that the alarm looks at. The report looks at all of them."""


def read_witness(args: FilteredGRPOConfig) -> list[Reward]:
    """
    Return the witness of a run, if it has one.

    Raises:
        `ValueError`: the text is not an expression of rewards.
    """
    try:
        return [] if args.witness is None else [parse(args.witness)]
    except (ValueError, TypeError) as error:
        raise ValueError(f"The witness cannot be built. {error}") from None


class Witness:
    """
    Score some groups of each generation with a reward that never trains, and warn when the rewards that train part from it.

    Every rank scores its own rows of the same groups, and then knows all scores.

    Args:
        args ([`FilteredGRPOConfig`]):
            Configuration of the run.
        log (`Callable`):
            Logs metrics by name.
    """

    def __init__(self, args: FilteredGRPOConfig, log: Callable[..., None]) -> None:
        self.rewards, self.share, self.log = read_witness(args), args.witness_share, log
        self.is_main = args.process_index == 0
        self.seen = 0
        self.steps: deque[tuple[int, list[float], list[float]]] = deque(maxlen=MAX_STEPS)
        self.parting: Parting | None = None

    def choose_groups(self, count: int) -> list[bool]:
        """Return for each of the next groups whether it is scored. The choice is the same on every rank."""
        first, self.seen = self.seen, self.seen + count
        return [floor((one + 1) * self.share) > floor(one * self.share) for one in range(first, self.seen)]

    def observe(self, step: int, generation: Generation) -> None:
        """Score the groups of a generation, and add the scores to its completions. Every rank must call this."""
        for reward in self.rewards:
            groups = generation.groups
            chosen = groups.live.new_tensor(self.choose_groups(len(groups.kinds)))
            rows = generation.find_rows(chosen).nonzero().flatten().tolist()
            scores = self.score(reward, step, generation, rows)
            totals = groups.totals[chosen].flatten().tolist()
            known = [pair for pair in zip(totals, scores, strict=True) if pair[1] is not None and pair[0] == pair[0]]
            if known:
                self.compare(step, *map(list, zip(*known, strict=True)))

    def score(self, reward: Reward, step: int, generation: Generation, rows: list[int]) -> list[Score]:
        """Return the scores of the rows of all ranks. Those of this rank are added to its completions."""
        completions = [generation.completions[row] for row in rows]
        scores, error = list[Score](), None
        token = GROUP_SIZE.set(generation.groups.size)
        try:
            if rows or reward.is_grouped:
                names = [name for name in generation.completions[0].row if name != "prompt"]
                scores = reward.call_sync(**self.build_call(completions, names, step))
        except Exception as raised:  # all ranks must end
            error = raised
        finally:
            GROUP_SIZE.reset(token)
        parts = gather_object([(scores, error and describe_with_notes(error))])
        raise_error(error, [text for _, text in parts])
        for completion, score in zip(completions, scores, strict=True):
            completion.facts["witness"] = score
        return [score for part, _ in parts for score in part]

    def build_call(self, completions: list[Completion], names: list[str], step: int) -> dict[str, Any]:
        """Return the arguments of the reward, as TRL would pass them. What it logs goes into the records and the log."""

        def log_extra(column: str, values: list[Any]) -> None:
            for completion, value in zip(completions, values, strict=True):
                completion.logged[f"witness/{column}"] = value

        return {
            "prompts": [one.prompt for one in completions],
            "completions": [one.content for one in completions],
            "completion_ids": [one.ids for one in completions],
            **{name: [one.row.get(name) for one in completions] for name in names},
            "trainer_state": SimpleNamespace(global_step=step - 1),
            "log_extra": log_extra,
            "log_metric": lambda name, value: self.log(**{f"witness/{name}": value}),
        }

    def compare(self, step: int, totals: list[float], scores: list[float]) -> None:
        """Log the means of both, and look for the step at which they part."""
        self.log(witness=fmean(scores), witnessed=fmean(totals))
        if not self.steps or self.steps[-1][0] != step:
            self.steps.append((step, [], []))
        self.steps[-1][1].extend(totals)
        self.steps[-1][2].extend(scores)
        if self.parting is None:
            self.parting = find_parting([Point(one, fmean(mine), fmean(its)) for one, mine, its in self.steps])
            if self.parting is not None and self.is_main:
                logger.warning(describe_parting(self.parting))
        if self.parting is not None:
            self.log(parted=self.parting.since)


def describe_parting(parting: Parting) -> str:
    return (
        f"The rewards part from the witness at about step {parting.since}: until step {parting.seen}, the total went from "
        f"{parting.trained[0]:.2f} to {parting.trained[1]:.2f}, and the witness from {parting.witness[0]:.2f} to "
        f"{parting.witness[1]:.2f}. The model may have found what pays without being better. Read the completions of the "
        f"records from step {parting.since} on."
    )
