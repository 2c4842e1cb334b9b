"""Trials: example completions of dataset rows with their scores, made once and read by every check that needs scores."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ..expressions import Reward, add, leave_out_witnesses
from ..function_rewards import FunctionReward
from ..scores import Score
from ..verify.solutions import read_gold
from .answer_forms import FoundForm, find_form
from .attack_completions import FORMLESS, attacks, collect_worthless
from .honest_completions import (
    NO_ANSWER,
    Example,
    Rows,
    Tokenize,
    has_solution,
    list_known_solutions,
    score_groups,
    split_words,
    write_pairs,
)


if TYPE_CHECKING:
    from datasets import Dataset

TRIED_ROWS = 128  # largest number of dataset rows whose completions are scored
ATTACKED_ROWS = 16  # largest number of dataset rows on which attacks are tried, too
GUESSED_ROWS = 8  # largest number of rows whose right answers are guesses in other rows
SHORT = 4_000  # number of characters that are kept of a very long attack, on all rows except the first


@dataclass(frozen=True)
class Trial:
    """The right, wrong, helpless and attacking completions of one dataset row, which form a group."""

    row: Mapping[str, Any]
    right: Example
    wrong: Example
    helpless: Example
    attacks: dict[str, Example]

    def __iter__(self) -> Iterator[Example]:
        return iter((self.right, self.wrong, self.helpless, *self.attacks.values()))


@dataclass(frozen=True)
class Trials:
    """The trials of all rows, the rewards that scored them, the mean time of each term, and the form of the answers."""

    rewards: Reward
    has_solution: bool
    trials: list[Trial]
    milliseconds: list[float]
    found: FoundForm

    @property
    def examples(self) -> list[Example]:
        return [example for trial in self.trials for example in trial]


def without_asking(rewards: Reward) -> Reward | None:
    """Return the terms that ask no server and no person, or None if all of them ask."""
    kept = tuple((weight, unasked) for weight, reward in rewards.terms if not (unasked := stop_asking(reward)).asks)
    return add(kept) if kept else None


def stop_asking(reward: Reward) -> Reward:
    """Return the reward that decides first in one that asks only about what it leaves open, or else the reward itself."""
    option = reward.factory.traits.get("unasked") if isinstance(reward, FunctionReward) else None
    return stop_asking(reward.options[option]) if isinstance(reward, FunctionReward) and option else reward


def take_rows(dataset: "Dataset") -> list[dict[str, Any]]:
    return [dict(row) for row in dataset.select(range(min(TRIED_ROWS, len(dataset))))]


def make_trials(
    rewards: Reward,
    rows: Rows,
    tokens: Tokenize = split_words,
    attacked: int = ATTACKED_ROWS,
    found: FoundForm | None = None,
) -> Trials:
    """Let each reward score the completions of all rows. Without `found`, completions that rows contain are right."""

    def count(text: str) -> int:
        return len(tokens(text))

    tokens = cache(tokens)
    if found is None:
        found = find_form(rewards, rows, tokens)
        if any("completion" in row for row in rows):
            found = replace(found, rows=rows, is_solved=True)
    rows, form = found.rows, found.form
    is_solved = any(rewards.weights) and has_solution(leave_out_witnesses(rewards), rows) and found.is_solved
    pairs = write_pairs(rewards, rows, tokens, form)
    golds = (read_gold(one) for row in rows for one in list_known_solutions(rewards, row)[:1])
    others = [*dict.fromkeys(one for one in golds if one)][:GUESSED_ROWS]
    made = [attacks(rewards, row, count, form, others) for row in rows[:attacked]]
    if not is_solved:  # then what has a good form may pay
        worthless = {*FORMLESS, *collect_worthless(rewards)}
        made = [{name: text for name, text in more.items() if name in worthless} for more in made]
    for more in made[1:]:  # regular expressions of users take quadratic time for what never closes
        more["unclosed tags"] = more["unclosed tags"][:SHORT]
    made += [{}] * (len(rows) - len(made))
    texts = [[*pair, NO_ANSWER, *more.values()] for pair, more in zip(pairs, made, strict=True)]
    examples: list[list[Example]] = []
    milliseconds: list[float] = []
    for part in (slice(attacked), slice(attacked, None)):
        if rows[part]:  # the rows without attacks come last and are timed, because attacks are longer than completions
            scored, milliseconds = score_groups(rewards, rows[part], texts[part], tokens)
            examples += scored
    trials = [
        Trial(row, one, other, helpless, dict(zip(more, attacks, strict=True)))
        for row, (one, other, helpless, *attacks), more in zip(rows, examples, made, strict=True)
    ]
    return Trials(rewards, is_solved, trials, milliseconds, found)


def average_scores(examples: Iterable[Example]) -> list[float]:
    """Return the mean score by each term, and at the end the mean total. It is NaN if no example has a score."""
    return [average(scores) for scores in zip(*(one.scores for one in examples), strict=True)]


def average(scores: Iterable[Score]) -> float:
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else math.nan
