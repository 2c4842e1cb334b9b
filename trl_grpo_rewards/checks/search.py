"""The search for what earns a reward: the column with the right answers, how these are spelled, and the form around them."""

import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..answers.solutions import MAX_WORDS, list_solutions, read_gold
from ..errors import names_answer, shorten_repr
from ..expressions import Reward, Sum, leave_out_witnesses
from ..function_rewards import (
    FunctionReward,
    find_answer_column,
    find_functions,
    find_needed,
    find_outcomes,
    list_names,
)
from ..traits import WORKING, ContradictoryForms, Form
from .answers import WRITERS, ClassNames, Value, list_options, list_shown_forms, list_usual_forms, spell
from .completions import (
    BOX,
    NO_ANSWER,
    ROUNDING,
    SPELLED,
    Rows,
    Tokenize,
    list_known_solutions,
    make_columns,
    merge_forms,
    score_groups,
    split_words,
    write_gold,
    write_pairs,
)


COMPARED_ROWS = 6  # number of rows with an answer on which each form is tried
SEARCH_SECONDS = 12.0  # time after which a slow reward is tried with no other form
ALIKE = 0.5  # least score for what has the right form, from which on it is a fault that right and wrong earn it
WIDESPREAD = 0.7  # share of rows from which on a spelling is one of the column
Scores: TypeAlias = NDArray[np.float64]

# What is wrong if right answers earn no more than wrong ones: {0} is a right completion, {1} a wrong one, then what they earn
# from the functions {4}.
IS_REVERSED = (
    "A right answer earns no more than a wrong one from {4}: {0} earns {2:.3g}, and {1} earns {3:.3g}. Check its sign."
)
IS_ALIKE = "{4} pays right and wrong answers alike, so a right one earns no more than a wrong one: {0} and {1} both earn {2:.3g}."
IS_OWN = "The dataset's own completions {0} earn {2:.3g} from {4}, as little as {1}."
IS_ASKED_FOR = "A right answer in the form that the prompt asks for, {0}, earns {2:.3g} from {4}, as a wrong one does."


@dataclass(frozen=True)
class FoundForm:
    """How right completions are written, and what is wrong with the rewards whatever is written."""

    rows: Rows  # with their right answers as they are spelled, and with completions if a column contains them
    form: Form = BOX
    column: str = "solution"
    readers: tuple[FunctionReward, ...] = ()  # the functions that decide by the answer
    unpaid: tuple[FunctionReward, ...] = ()  # the functions of the user's own that no form paid
    tried: tuple[str, ...] = ()  # how the answer of the first row was written for them
    is_solved: bool = True  # whether right completions are known
    is_certain: bool = True  # whether what follows from them may be a fault
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Way(NamedTuple):
    """A way to write the answer of a row."""

    column: str
    spelling: str = ""
    form: Form = BOX
    is_shown: bool = False  # whether the prompt or the dataset's own completions show the form


class Outcome(NamedTuple):
    """What right and wrong completions of rows earn, in one way or as the dataset has them."""

    way: Way
    pairs: list[list[str]]
    scores: Scores  # by row, right and wrong, and function
    worth: Scores  # by function: how much more right answers earn than wrong ones, or than none
    earned: Scores  # by row, right and wrong, from the functions that read the answer together
    gain: float  # how much more right answers earn from these than wrong ones


def measure_gains(gains: Scores) -> Scores:
    """Return how much more right answers earn than wrong ones, or 0 if that differs from row to row, as by length."""
    more = (gains > ROUNDING).sum(axis=0)
    less = (gains < -ROUNDING).sum(axis=0)
    return np.where(np.maximum(more, less) > 3 * np.minimum(more, less), gains.mean(axis=0), 0.0)


def leave_out_completion(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "completion"}


def find_form(
    rewards: Reward, rows: Rows, tokens: Tokenize = split_words, names: Sequence[ClassNames] = ()
) -> FoundForm:
    """
    Search for the column, spelling and form whose right answers earn most more than wrong ones.

    Nothing is searched for rewards of this package or rewards that declare a form. `names` are the names of classes.
    """
    plain = [leave_out_completion(row) for row in rows]
    rows = [row if row.get("completion") is not None else bare for row, bare in zip(rows, plain, strict=True)]
    outcomes = find_outcomes(rewards)
    column = find_answer_column(rewards, plain[0])
    trained = leave_out_witnesses(rewards)
    is_sure = bool(outcomes) or names_answer(column)
    found = FoundForm(
        plain,
        column=column,
        readers=tuple(one for one in find_functions(trained) if column in one.columns | one.find_columns(plain[0])),
        is_solved=is_sure,
        is_certain=is_sure,
    )
    wanted = {column} if outcomes else {*plain[0]} - {"prompt"}
    functions = find_functions(trained, paid_only=True)
    reads = {
        one: one.find_columns(plain[0]) or find_needed(one, make_columns(plain, [0], [NO_ANSWER], tokens), wanted)
        for one in functions
        if one.is_formless
    }
    readers = [one for one in reads if wanted & reads[one] and not (outcomes and one.is_grouped)]
    read = {name for one in readers for name in reads[one]}
    columns = sorted(wanted, key=lambda name: (name not in read, not names_answer(name)))
    known = [row for row in rows if any(row.get(name) is not None for name in columns)]
    if outcomes:
        known = [row for row in known if list_known_solutions(rewards, row)]
    if not (known and any(one.factory.is_foreign for one in readers)):
        return found
    merge_forms(rewards, known[0])  # raises an error if no form earns all rewards
    formats = [one for one in reads if one.factory.is_foreign and one not in readers]
    places = random.Random(0).sample(range(len(known)), min(COMPARED_ROWS, len(known)))
    compared = [known[place] for place in sorted(places)]
    found_names = chain.from_iterable(map(list_names, readers))
    search = Search(rewards, compared, readers, formats, tokens, [*names, *found_names])
    search.run(columns)
    return search.conclude(replace(found, readers=tuple(readers)), rows, read)


@dataclass
class Search:
    """What functions earn on some rows whose answer is known, written in one way after another."""

    rewards: Reward
    rows: Rows
    readers: list[FunctionReward]
    formats: list[FunctionReward]
    tokens: Tokenize
    names: list[ClassNames]
    outcomes: list[Outcome] = field(default_factory=list)
    own: Outcome | None = None  # with the dataset's own completions

    def __post_init__(self) -> None:
        self.functions = self.readers + self.formats
        self.is_reader = np.arange(len(self.functions)) < len(self.readers)
        self.is_open = np.ones(len(self.functions), dtype=bool)  # whether a function may want another form
        self.helpless = self.score([[NO_ANSWER] for _ in self.rows])

    # --- what is tried ---
    def run(self, columns: Sequence[str]) -> None:
        """Try one way after another, while there is time."""
        end = time.monotonic() + SEARCH_SECONDS
        for way in self.list_ways(columns):
            if not self.outcomes or time.monotonic() < end:
                self.attempt(way)

    def list_ways(self, columns: Sequence[str]) -> Iterator[Way]:
        """Yield the ways that the prompts show, then the usual ones if none of these pays all, and the best ones together."""
        ways = [Way(column, spelling) for column in columns for spelling in self.list_spellings(column)]
        yield from ways[:1]
        for way in ways:
            row = next(row for row in self.spell(way, self.rows) if row[SPELLED])
            for form in list_shown_forms(row, way.column, row[SPELLED][0]):
                yield way._replace(form=form, is_shown=True)
        if ways and not (self.best.way.is_shown and self.is_settled()):
            yield from (way._replace(form=form) for way in ways for form in list_usual_forms(way.column))
            yield from self.list_joined()

    def list_spellings(self, column: str) -> list[str]:
        """Return the spellings that most values of a column have, and that differ from each other."""
        different: dict[Any, str] = {}
        for spelling in WRITERS if column != "completion" else ():
            texts = tuple(row[SPELLED][:1] for row in self.spell(Way(column, spelling), self.rows))
            if sum(map(len, texts)) > WIDESPREAD * len(texts):
                different.setdefault(texts, spelling)
        return [*different.values()]

    def spell(self, way: Way, rows: Rows) -> list[dict[str, Any]]:
        """Return rows with their right answers as they are spelled."""
        spelled = []
        for row in rows:
            texts = spell(Value(row.get(way.column), row, [*list_options(row), *self.names]), way.spelling)
            if way.spelling == "a solution" and find_outcomes(self.rewards):
                texts = tuple(write_gold(self.rewards, one) for one in list_known_solutions(self.rewards, row))
            spelled.append({**row, SPELLED: texts})
        return spelled

    def attempt(self, way: Way) -> None:
        """Score right and wrong completions in this way, and at first the dataset's own ones."""
        rows = self.spell(way, self.rows)
        if not self.outcomes and all("completion" in row for row in rows):
            self.own = self.measure(Way("completion", is_shown=True), rows)
        try:
            outcome = self.measure(way, [*map(leave_out_completion, rows)])
        except ContradictoryForms:
            return
        if not self.outcomes:  # what pays the first form more than no answer, or less, does not want another form
            self.is_open = self.is_reader | (outcome.scores[:, :1] == self.helpless).all(axis=(0, 1))
        self.outcomes.append(outcome)

    def measure(self, way: Way, rows: Rows) -> Outcome:
        pairs = write_pairs(self.rewards, rows, self.tokens, way.form)
        scores = self.score(pairs)
        gains = measure_gains(scores[:, 0] - scores[:, 1])
        worth = np.where(self.is_reader, gains, (scores[:, :1] - self.helpless).sum(axis=(0, 1)))
        return Outcome(
            way,
            pairs,
            scores,
            worth,
            scores[:, :, self.is_reader].sum(axis=2),
            round(float(gains[self.is_reader].sum()), 6),
        )

    def score(self, groups: list[list[str]]) -> Scores:
        """Return the scores by row, completion and function."""
        terms = Sum(tuple((1.0, function) for function in self.functions))
        scored, _ = score_groups(terms, self.rows, groups, self.tokens)
        scores: Scores = np.nan_to_num(np.array(scored, dtype=float))
        return scores[:, :-1].reshape(len(self.rows), -1, len(self.functions))

    @property
    def best(self) -> Outcome:
        """The outcome that pays right answers best. Of several, it is the one for which most functions pay."""
        return max(self.outcomes, key=lambda outcome: (outcome.gain, (outcome.worth[self.is_open] > ROUNDING).sum()))

    def find_silent(self) -> Any:
        """Return for each function whether it gave one score to everything."""
        scored = [self.helpless, *(outcome.scores for outcome in self.outcomes)]
        return np.ptp(np.concatenate(scored, axis=1), axis=(0, 1)) == 0

    def is_settled(self) -> bool:
        """Whether all functions pay the best outcome, the readers on every row, so that no other form is needed."""
        best = self.best
        is_paid = (best.worth > ROUNDING) | ~self.is_open | (self.is_reader & ~self.find_silent())
        return bool(is_paid.all() and (best.earned[:, 0] - best.earned[:, 1] > ROUNDING).all())

    def list_missed(self) -> list[tuple[int, Outcome]]:
        """Return the functions that the best outcome does not pay, by their place, and the outcome that pays them best."""
        missed = np.flatnonzero(self.is_open & (self.best.worth <= ROUNDING)).tolist()
        return [(place, max(self.outcomes, key=lambda outcome: outcome.worth[place])) for place in missed]  # noqa: B023

    def list_joined(self) -> Iterator[Way]:
        """Yield forms that join the best one with those that pay the functions which it does not pay."""
        best = self.best.way
        for other in [outcome.way.form for _, outcome in self.list_missed() if outcome is not self.best]:
            for answer in join(best.form, other):
                yield best._replace(form=Form(answer=answer, bare=best.form.bare or other.bare))

    # --- what follows ---
    def conclude(self, found: FoundForm, rows: Rows, read: set[str]) -> FoundForm:
        """Return the way that pays with the rows in it, or else what is wrong with the rewards in any way."""
        if not self.outcomes:
            return replace(found, is_solved=False)
        is_own_paid = self.own is not None and self.own.gain > 0
        if self.own is not None and not is_own_paid:
            found = self.judge(found, self.own)
        if self.best.gain > 0:
            return self.use(found, rows if is_own_paid else found.rows, read)
        if is_own_paid:
            return replace(found, rows=rows, is_solved=True, is_certain=True)
        if not found.faults:
            worst = min(
                self.outcomes, key=lambda one: (min(0.0, one.gain), -one.earned[:, 0].sum(), not one.way.is_shown)
            )
            found = self.judge(found, worst)
        unpaid = [
            function for function in self.readers if function.factory.is_foreign and not found.faults + found.warnings
        ]
        return replace(found, unpaid=tuple(unpaid), tried=self.describe(), is_solved=False, is_certain=False)

    def judge(self, found: FoundForm, outcome: Outcome) -> FoundForm:
        """Return what was found, with what is wrong if right answers earn no more: a fault, if they are surely right."""
        is_silent = bool(self.find_silent()[self.is_reader].all())
        is_constant = is_silent and self.helpless[:, :, self.is_reader].min() > 0
        said = self.describe_loss(outcome, is_constant, is_silent)
        if said is None:
            return found
        texts = [shorten_repr(text.replace(WORKING.strip(), "...")) for text in outcome.pairs[0]]
        sentence = said.format(*texts, *outcome.earned[0], " + ".join(map(str, self.readers)))
        is_right = outcome is self.own or names_answer(outcome.way.column) or bool(find_outcomes(self.rewards))
        if is_right and (is_constant or not is_silent):
            return replace(found, faults=(*found.faults, sentence))
        return replace(found, warnings=(*found.warnings, sentence))

    def describe_loss(self, outcome: Outcome, is_constant: bool, is_silent: bool) -> str | None:
        """Return what is wrong if right answers earn less than wrong ones, or much, but no more, or nothing where they should."""
        if outcome.gain < 0:
            return IS_REVERSED
        if is_constant or (np.ptp(outcome.earned, axis=1).max() < ROUNDING and self.lift(outcome) >= ALIKE):
            return IS_ALIKE
        if outcome is self.own:
            return IS_OWN
        value = list_solutions(self.rows[0].get(outcome.way.column))[0]
        is_short = isinstance(value, str) and len(value.split()) <= MAX_WORDS
        is_asked_for = (
            outcome.way.is_shown and outcome.way.spelling == "a solution" and names_answer(outcome.way.column)
        )
        return IS_ASKED_FOR if is_silent and is_short and is_asked_for else None

    def lift(self, outcome: Outcome) -> float:
        """Return how much more a right completion earns than the same one with other letters and digits."""
        masked = self.score([[re.sub(r"\w", "x", right)] for right, _ in outcome.pairs])
        lifts = (outcome.scores[:, :1] - masked)[:, :, self.is_reader]
        return float(lifts.mean(axis=(0, 1)).min())

    def use(self, found: FoundForm, rows: Rows, read: set[str]) -> FoundForm:
        """Return what was found with the way that pays, and the rows in it."""
        best = self.best
        pairs = zip(self.readers, self.find_silent(), strict=False)
        unpaid = [function for function, is_silent in pairs if is_silent and function.factory.is_foreign]
        return replace(
            found,
            rows=self.spell(best.way, rows),
            form=best.way.form,
            column=best.way.column,
            readers=tuple(one for one, worth in zip(self.readers, best.worth, strict=False) if worth > 0),
            unpaid=tuple(unpaid),
            tried=self.describe() if unpaid else (),
            is_solved=True,
            is_certain=bool(find_outcomes(self.rewards))
            or names_answer(best.way.column)
            or best.way.column not in read,
            warnings=(*found.warnings, *self.warn(best)),
        )

    def warn(self, best: Outcome) -> Iterator[str]:
        """Yield what keeps a model from earning all: a solution that none would write, or terms that exclude each other."""
        value = self.rows[0].get(best.way.column)
        is_long = best.way.spelling == "the whole text" and len(str(value).split()) > MAX_WORDS
        if is_long and read_gold(value) != value:
            yield (
                f"Only the whole text of '{best.way.column}' is paid, such as {shorten_repr(value)}, and no model writes it word "
                f"for word. Compare with its answer alone, such as {read_gold(value)!r}."
            )
        for missed, other in self.list_missed():
            lost = np.flatnonzero((best.worth > ROUNDING) & (other.worth <= ROUNDING))
            if missed >= len(self.readers) and other.worth[missed] > ROUNDING and lost.size:
                yield (
                    f"No completion that was tried earns both {self.functions[missed]} and {self.functions[lost[0]]}: "
                    f"{shorten_repr(other.pairs[0][0])} earns the first, and {shorten_repr(best.pairs[0][0])} the second. "
                    f"Change or remove one of them."
                )

    def describe(self) -> tuple[str, ...]:
        """Return how the answer of the first row was written."""
        texts = (outcome.pairs[0][0].replace(WORKING.strip(), "...") for outcome in self.outcomes)
        return tuple(dict.fromkeys(map(shorten_repr, texts)))


def join(best: Form, other: Form) -> Iterator[str]:
    """Yield the answer in two forms, one after the other, and in the first one inside the second one."""
    first, second = (form.answer or form.write_answer("{}") for form in (best, other))
    yield f"{second}\n{first}"
    yield f"{first}\n{second}"
    yield second.replace("{}", first)
