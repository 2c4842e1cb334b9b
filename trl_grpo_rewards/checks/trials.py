"""Trials: completions of dataset rows, in the form that pays best, with the scores that every check reads."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from pandas import DataFrame

from ..answers.solutions import read_gold
from ..expressions import Reward, add, leave_out_witnesses
from ..function_rewards import FunctionReward, find_functions
from ..scores import Score
from .attack_completions import FORMLESS, attacks, collect_worthless
from .completions import (
    NO_ANSWER,
    Rows,
    Tokenize,
    has_solution,
    list_known_solutions,
    score_groups,
    split_words,
    write_pairs,
)
from .limits import is_late
from .search import FoundForm, Scores, find_form


TRIED_ROWS = 128  # largest number of dataset rows whose completions are scored
ATTACKED_ROWS = 16  # largest number of dataset rows on which attacks are tried, too
GUESSED_ROWS = 8  # largest number of rows whose right answers are guesses in other rows
SHORT = 4_000  # number of characters that are kept of a very long attack, on all rows except the first
LATE_SECONDS = 5.0  # time that a long text may take more than a short one
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
    late: list[str]  # what terms take too long on a text, which is left out
    milliseconds: list[float]  # mean time of each term for one completion

    @property
    def column(self) -> str:
        return self.found.column

    @property
    def solutions(self) -> list[Any]:
        return [row.get(self.column) for row in self.found.rows]

    def list_readers(self, rewards: Reward) -> list[FunctionReward]:
        return [one for one in find_functions(rewards) if one in self.found.readers]


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
    rows = found.rows
    is_solved = any(rewards.weights) and has_solution(leave_out_witnesses(rewards), rows) and found.is_solved
    golds = (read_gold(one) for row in rows for one in list_known_solutions(rewards, row)[:1])
    others = [*dict.fromkeys(one for one in golds if one)][:GUESSED_ROWS]
    texts = []
    for place, (row, pair) in enumerate(zip(rows, write_pairs(rewards, rows, tokens, found.form), strict=True)):
        made = attacks(rewards, row, lambda text: len(tokens(text)), found.form, others) if place < attacked else {}
        if not is_solved:  # then what has a good form may pay
            made = {name: made[name] for name in (*FORMLESS, *collect_worthless(rewards)) if name in made}
        if place and made:  # regular expressions of users take quadratic time for what never closes
            made["unclosed tags"] = made["unclosed tags"][:SHORT]
        texts.append({**dict(zip(ANSWERS, [*pair, NO_ANSWER], strict=True)), **made})
    late = drop_late(rewards, rows[:1], texts, tokens) if attacked else []
    every: list[list[Score]] = []
    for part in (slice(attacked), slice(attacked, None)):
        if rows[part]:  # the rows without attacks come last and are timed, because attacks are longer than completions
            groups = [[*made.values()] for made in texts[part]]
            scored, milliseconds = score_groups(rewards, rows[part], groups, tokens)
            every += scored
    table = DataFrame(every, [(place, name) for place, made in enumerate(texts) for name in made], dtype=float)
    scores = {
        name: table.reindex([(place, name) for place in range(len(rows))]).to_numpy()
        for name in dict.fromkeys(name for made in texts for name in made)
    }
    return Trials(rewards, found, is_solved, texts, scores, table.to_numpy(), late, milliseconds)


def drop_late(rewards: Reward, first: Rows, texts: list[dict[str, str]], tokens: Tokenize) -> list[str]:
    """Remove attacks on which a function of the user's own takes too long, and return what to say of them."""
    said = []
    own = [term for term in rewards.rewards if any(one.factory.is_foreign for one in find_functions(term))]
    timed = [one for one in own if not (one.is_async or one.asks or one.is_grouped)]
    long = [name for name, text in texts[0].items() if len(text) > SHORT] if timed else []
    for term in timed:
        short = partial(score_groups, term, first, [[texts[0]["right"]]], tokens)
        for name in [name for name in long if name in texts[0]]:
            text = texts[0][name]
            if is_late(short, partial(score_groups, term, first, [[text]], tokens), LATE_SECONDS):
                said.append(
                    f"{term} takes more than {LATE_SECONDS:g} s on the attack '{name}' ({len(text):,} characters), and a model can "
                    f"write such a text. Read only the end of a completion, or make its regular expression simpler."
                )
                for made in texts:
                    made.pop(name, None)
    return said


def take_rows(dataset: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in dataset.select(range(min(TRIED_ROWS, len(dataset))))]


def without_asking(rewards: Reward) -> Reward | None:
    """Return the terms that ask no server and no person, or None if all of them ask."""
    kept = tuple((weight, unasked) for weight, reward in rewards.terms if not (unasked := stop_asking(reward)).asks)
    return add(kept) if kept else None


def stop_asking(reward: Reward) -> Reward:
    """Return the reward that decides first in one that asks only about what it leaves open, or else the reward itself."""
    option = reward.factory.traits.get("unasked") if isinstance(reward, FunctionReward) else None
    return stop_asking(reward.options[option]) if isinstance(reward, FunctionReward) and option else reward


def average(scores: Iterable[Any]) -> Any:
    """Return the mean of scores, or of rows of scores, without those that are None. It is NaN if all are."""
    means = DataFrame([*scores], dtype=float).mean().to_numpy()
    return means if means.size > 1 else means[0]
