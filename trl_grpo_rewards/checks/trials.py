"""Trials: completions of dataset rows, in the form that pays best, with the scores that every check reads."""

import time
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

from pandas import DataFrame

from ..answers.solutions import read_gold
from ..expressions import Reward, leave_out_witnesses
from ..function_rewards import FunctionReward, find_functions, has_own_code
from ..scores import Score
from .attack_completions import FORMLESS, attacks, collect_worthless
from .completions import (
    NO_ANSWER,
    Rows,
    Tokenize,
    collect_endings,
    is_self_solving,
    list_known_solutions,
    score_groups,
    split_words,
    write_pairs,
)
from .limits import SHORT, find_late, is_timed
from .mixed_groups import MixedGroup, score_mixed_groups
from .search import FoundForm, Scores, find_form


TRIED_ROWS = 128  # largest number of dataset rows whose completions are scored
ATTACKED_ROWS = 16  # largest number of dataset rows on which attacks are tried, too
ATTACK_SECONDS = 6.0  # time of attacks after those on the first row; a slow function is attacked on fewer rows
GUESSED_ROWS = 8  # largest number of rows whose right answers are guesses in other rows
ANSWERS = ("right", "wrong", "helpless")  # all other completions are attacks


# --- trials -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Trials:
    """Completions of rows, and their scores by each term and in total. These are NaN for None, and where there is none."""

    rewards: Reward
    found: FoundForm
    has_solution: bool
    texts: list[dict[str, str]]  # the completions of each row by their name, which form a group
    scores: dict[str, Scores]  # by the name of a completion, for each row
    every: Scores  # of all completions
    mixed: list[MixedGroup]  # if a reward compares the completions of a group
    late: list[str]  # what terms take too long on a text, which is left out
    milliseconds: list[float]  # mean time of each term for one completion

    @property
    def solutions(self) -> list[Any]:
        return [row.get(self.found.column) for row in self.found.rows]

    def average(self, name: str) -> Any:
        """Return what a kind of completions earns on average from each term and in total. It is NaN if all scores are None."""
        return DataFrame(self.scores[name]).mean().to_numpy()

    @property
    def compared(self) -> list[bool]:
        """Whether each term compares the completions of a group."""
        return [reward.is_grouped for reward in self.rewards.rewards]

    @property
    def reading(self) -> list[int]:
        """The places of the terms that read the answer."""
        return [place for place, reward in enumerate(self.rewards.rewards) if self.list_readers(reward)]

    def list_readers(self, rewards: Reward) -> list[FunctionReward]:
        return [function for function in find_functions(rewards) if function in self.found.readers]


def make_trials(
    rewards: Reward,
    rows: Rows,
    tokens: Tokenize = split_words,
    attacked: int = ATTACKED_ROWS,
    found: FoundForm | None = None,
) -> Trials:
    """Let each reward score the completions of all rows. Without `found`, completions that rows contain are right."""
    tokens = cache(tokens)
    if found is None:
        found = find_form(rewards, rows, tokens)
        if any("completion" in row for row in rows):
            found = replace(found, rows=rows, is_solved=True)
    has_solution = is_solution_known(rewards, found)
    pairs = write_pairs(rewards, found.rows, tokens, found.form)
    texts = [dict(zip(ANSWERS, [*pair, NO_ANSWER], strict=True)) for pair in pairs]
    worthless = write_worthless(rewards, found, tokens, attacked, has_solution)
    late = find_late(rewards, found.rows[:1], texts[0]["right"], worthless[0], tokens) if worthless else {}
    for completions, made in zip(texts, worthless, strict=False):
        completions.update({name: text for name, text in made.items() if name not in late})
    table, milliseconds = score_texts(rewards, found.rows, texts, attacked, tokens)
    names = dict.fromkeys(name for completions in texts for name in completions)
    scores = {name: table.reindex([(place, name) for place in range(len(texts))]).to_numpy() for name in names}
    mixed = score_mixed_groups(rewards, found.rows, texts, tokens) if has_solution else []
    return Trials(rewards, found, has_solution, texts, scores, table.to_numpy(), mixed, [*late.values()], milliseconds)


def score_texts(
    rewards: Reward, rows: Rows, texts: list[dict[str, str]], attacked: int, tokens: Tokenize
) -> tuple[DataFrame, list[float]]:
    """
    Return the scores by row and name, and the time of each term: attacks are longer than other texts, and are not timed.

    A user's function that is slow on the second row is attacked on fewer rows: the other attacks are removed from `texts`. The
    first row has a longer text than the others.
    """
    scores: list[list[Score]] = []
    first = 0
    stops = [1, 2, attacked, len(rows)] if any(map(has_own_code, rewards.rewards)) else [attacked, len(rows)]
    while stops:
        part = slice(first, stops.pop(0))
        start = time.monotonic()
        if groups := [[*completions.values()] for completions in texts[part]]:
            scored, milliseconds = score_groups(rewards, rows[part], groups, tokens)
            scores += scored
        if len(stops) == 2 and attacked > 2:
            stops[0] = limit_attacks(texts, attacked, time.monotonic() - start)
        first = max(first, part.stop)
    names = [(place, name) for place, completions in enumerate(texts) for name in completions]
    return DataFrame(scores, names, dtype=float), milliseconds


def limit_attacks(texts: list[dict[str, str]], attacked: int, seconds: float) -> int:
    """Remove the attacks that would take too long if each row takes these seconds. Return how many rows keep theirs."""
    number = min(attacked, 2 + int(ATTACK_SECONDS / max(seconds, 1e-6)))
    texts[number:] = [{name: made[name] for name in ANSWERS} for made in texts[number:]]
    return number


def is_solution_known(rewards: Reward, found: FoundForm) -> bool:
    """Whether right completions are known, and any reward reads the answer or writes one itself."""
    trained = leave_out_witnesses(rewards)
    is_known = bool(found.readers) and found.column in found.rows[0]
    if is_self_solving(trained):
        is_known = any(collect_endings(trained, row) for row in found.rows)
    return is_known and found.is_solved and any(rewards.weights)


def write_worthless(
    rewards: Reward, found: FoundForm, tokens: Tokenize, attacked: int, has_solution: bool
) -> list[dict[str, str]]:
    """Return the attacks on the first rows. Without a right answer, what has a good form may pay and is left out."""
    golds = (read_gold(gold) for row in found.rows for gold in list_known_solutions(rewards, row)[:1])
    others = [*dict.fromkeys(filter(None, golds))][:GUESSED_ROWS]
    kept = {*FORMLESS, *collect_worthless(rewards)}
    is_limited = all(map(is_timed, filter(has_own_code, rewards.rewards)))
    written = []
    for place, row in enumerate(found.rows[:attacked]):
        made = attacks(rewards, row, lambda text: len(tokens(text)), found.form, others)
        if place or not is_limited:  # regular expressions of users take quadratic time for what never closes
            made["unclosed tags"] = made["unclosed tags"][:SHORT]
        written.append({name: text for name, text in made.items() if has_solution or name in kept})
    return written


def take_rows(dataset: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in islice(dataset, TRIED_ROWS)]
