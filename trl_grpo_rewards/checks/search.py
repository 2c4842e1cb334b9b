"""The search for what earns a reward: the column with the right answers, how these are spelled, and the form around them."""

import random
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..answers.solutions import MAX_WORDS, list_solutions, read_gold
from ..errors import SOLUTION_COLUMNS
from ..expressions import Reward, leave_out_witnesses
from ..faults import shorten_repr
from ..function_rewards import FunctionReward, find_code, find_functions
from ..traits import ContradictoryForms, Form
from .answers import (
    SPELLINGS,
    Names,
    Value,
    list_options,
    list_shown_forms,
    list_usual_forms,
    spell,
)
from .completions import (
    BOX,
    NO_ANSWER,
    ROUNDING,
    SPELLED,
    WORKING,
    Rows,
    Tokenize,
    find_answer_column,
    find_outcomes,
    list_known_solutions,
    list_read_columns,
    merge_forms,
    score_totals,
    split_words,
    write_gold,
    write_pairs,
)


COMPARED_ROWS = 6  # number of rows with an answer on which each form is tried
SEARCH_SECONDS = 12.0  # time after which a slow reward is tried with no other form
SHOWN_FORMS = 16  # largest number of forms that the details show, which are the shortest ones
ALIKE = 0.5  # least score for what has the right form, from which on it is a fault that right and wrong earn it
ANSWER_WORDS = {
    *SOLUTION_COLUMNS,
    *"answers golden gt truth reference expected correct".split(),
}  # in names of columns
Scores: TypeAlias = NDArray[np.float64]


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
    """What right and wrong completions of rows earn by function, in one way or as the dataset has them."""

    way: Way
    pairs: list[list[str]]
    scores: dict[FunctionReward, Scores]
    worth: dict[FunctionReward, float]  # how much more right answers earn than wrong ones, or than none

    def gain(self, functions: Sequence[FunctionReward]) -> float:
        return round(sum(self.worth[one] for one in functions), 6)

    def earn(self, functions: Sequence[FunctionReward]) -> float:
        return sum(float(self.scores[one][:, 0].sum()) for one in functions)


def measure_gain(scores: Scores) -> float:
    """Return how much more right answers earn than wrong ones, or 0 if that differs from row to row, as by length."""
    gains = scores[:, 0] - scores[:, 1]
    counts = (gains > ROUNDING).sum(), (gains < -ROUNDING).sum()
    return float(gains.mean()) if max(counts) > 3 * min(counts) else 0.0


def is_formless(function: FunctionReward) -> bool:
    """Whether a function says nothing about the form of its answer, so that it is found by trying."""
    return function.factory.kind != "combinator" and function.factory.traits.keys().isdisjoint(("form", "solves"))


def is_answer(column: str) -> bool:
    """Whether the name of a column says that it contains right answers."""
    return not ANSWER_WORDS.isdisjoint([column, *column.lower().split("_")])


def list_names(functions: Iterable[FunctionReward]) -> Iterator[dict[int, str]]:
    """Yield the names of classes in the constants and module variables that functions use."""
    for function in functions:
        code = find_code(function.factory.function)
        for value in list_used(getattr(code, "__code__", None), getattr(code, "__globals__", {})):
            pairs = (
                value.items()
                if isinstance(value, Mapping)
                else enumerate(value)
                if isinstance(value, list | tuple)
                else ()
            )
            names: dict[Any, Any] = dict(tuple(sorted(pair, key=lambda one: isinstance(one, str))) for pair in pairs)
            if names and all(isinstance(key, int) and isinstance(name, str) for key, name in names.items()):
                yield names


def list_used(code: Any, scope: Mapping[str, Any]) -> Iterator[Any]:
    yield from (scope.get(name) for name in getattr(code, "co_names", ()))
    for value in getattr(code, "co_consts", ()):
        yield from list_used(value, scope) if hasattr(value, "co_names") else [value]


def find_form(rewards: Reward, rows: Rows, tokens: Tokenize = split_words) -> FoundForm:
    """Return the way to write an answer that pays best. Rewards that declare their form, and those of this package, keep it."""
    plain = [{name: value for name, value in row.items() if name != "completion"} for row in rows]
    names = [*plain[0]]
    functions = [*dict.fromkeys(filter(is_formless, find_functions(leave_out_witnesses(rewards), paid_only=True)))]
    outcomes, column = find_outcomes(rewards), find_answer_column(rewards, names)
    wanted = {column} if outcomes else {*names} - {"prompt"}
    readers = [one for one in functions if wanted & list_read_columns(one, names)]
    everyone = [*dict.fromkeys(find_functions(rewards))]
    is_sure = bool(outcomes) or is_answer(column)
    kept = FoundForm(
        plain,
        column=column,
        readers=tuple(one for one in everyone if column in one.columns | list_read_columns(one, names)),
        is_solved=is_sure,
        is_certain=is_sure,
    )
    if not any(one.factory.is_foreign for one in readers):
        return kept
    read = {name for one in readers for name in list_read_columns(one, names)}
    columns = sorted(wanted, key=lambda name: (name not in read, name not in SOLUTION_COLUMNS, not is_answer(name)))
    known = [row for row in rows if any(row.get(name) is not None for name in columns)]
    if not known or (outcomes and not any(list_known_solutions(rewards, row) for row in known)):
        return kept
    others = [one for one in functions if one.factory.is_foreign and one not in readers]
    merge_forms(rewards, known[0])  # raises an error if no form earns all rewards
    search = Search(rewards, known, readers, others, tokens, [*list_names(readers)])
    search.run([column for column in columns if column != "completion"])
    return search.conclude(replace(kept, readers=tuple(readers)), rows, read)


@dataclass
class Search:
    """What functions earn on some rows whose answer is known, written in one way after another."""

    rewards: Reward
    known: Rows
    readers: list[FunctionReward]
    formats: list[FunctionReward]
    tokens: Tokenize
    names: Names
    outcomes: list[Outcome] = field(default_factory=list)
    own: Outcome | None = None  # with the dataset's own completions
    end: float = field(default_factory=lambda: time.monotonic() + SEARCH_SECONDS)

    def __post_init__(self) -> None:
        places = random.Random(0).sample(range(len(self.known)), min(COMPARED_ROWS, len(self.known)))
        self.rows = [dict(self.known[place]) for place in sorted(places)]
        self.helpless = {one: self.score(one, [[NO_ANSWER]] * len(self.rows)) for one in self.readers + self.formats}

    # --- what is tried ---
    def run(self, columns: Sequence[str]) -> None:
        """Try the forms that the prompts show with all columns and spellings, and then the usual ones, until one pays."""
        ways = [Way(column, spelling) for column in columns for spelling in self.list_spellings(column)]
        if not ways:
            return
        self.attempt(ways[0])
        if all(row.get("completion") is not None for row in self.rows):
            self.own = self.measure(
                Way("completion", is_shown=True), add_completions(self.spell(ways[0], self.rows), self.rows)
            )
        for way in ways:
            spelled = [one[SPELLED] for one in self.spell(way, self.rows)]
            row, texts = next((row, texts) for row, texts in zip(self.rows, spelled, strict=True) if texts)
            for form in list_shown_forms(row, way.column, texts):
                self.attempt(way._replace(form=form, is_shown=True))
        if self.best.way.is_shown and self.is_settled():
            return
        for way in ways:
            for form in list_usual_forms(way.column):
                self.attempt(way._replace(form=form))
        for way in self.list_joined():
            self.attempt(way)

    def list_spellings(self, column: str) -> list[str]:
        """Return the spellings that most values of a column have, and that differ from each other."""
        seen: dict[tuple[tuple[str, ...], ...], str] = {}
        for spelling in SPELLINGS:
            texts = tuple(row[SPELLED] for row in self.spell(Way(column, spelling), self.rows))
            if len([*filter(None, texts)]) > 0.7 * len(texts):
                seen.setdefault(tuple(one[:1] for one in texts), spelling)
        return [*seen.values()]

    def spell(self, way: Way, rows: Rows) -> list[dict[str, Any]]:
        """Return rows with their right answers as they are spelled, and without completions."""
        spelled = []
        for row in rows:
            plain = {name: value for name, value in row.items() if name != "completion"}
            texts = spell(Value(row.get(way.column), plain, [*list_options(plain), *self.names]), way.spelling)
            if way.spelling == "a solution" and find_outcomes(self.rewards):
                texts = tuple(write_gold(self.rewards, one) for one in list_known_solutions(self.rewards, plain))
            spelled.append({**plain, SPELLED: texts})
        return spelled

    def attempt(self, way: Way) -> None:
        """Score right and wrong completions in this way, while there is time."""
        if not self.outcomes or time.monotonic() < self.end:
            found = self.measure(way, self.spell(way, self.rows))
            self.outcomes += [found] if found else []

    def measure(self, way: Way, rows: Rows) -> Outcome | None:
        try:
            pairs = write_pairs(self.rewards, rows, self.tokens, way.form)
        except ContradictoryForms:
            return None
        scores = {one: self.score(one, pairs) for one in self.readers + self.formats}
        worth = {one: measure_gain(scores[one]) for one in self.readers}
        worth |= {one: float((scores[one][:, :1] - self.helpless[one]).sum()) for one in self.formats}
        if not self.outcomes:  # what pays the first form more than no answer, or less, does not want another form
            self.formats = [one for one in self.formats if (scores[one][:, :1] == self.helpless[one]).all()]
        return Outcome(way, pairs, scores, worth)

    def score(self, function: FunctionReward, groups: list[list[str]]) -> Scores:
        scores: Scores = np.array(score_totals(function, self.rows, groups, self.tokens), dtype=float)
        return np.nan_to_num(scores)

    @property
    def best(self) -> Outcome:
        """The outcome that pays right answers best. Of several, it is the one that most formats pay."""
        return max(
            self.outcomes,
            key=lambda one: (one.gain(self.readers), sum(one.worth[each] > ROUNDING for each in self.formats)),
        )

    def is_settled(self) -> bool:
        """Whether all functions pay the best outcome, the readers on every row, so that no other form is needed."""
        worth = self.best.worth
        moved = [one for one in self.readers if worth[one] > 0 or not self.is_silent(one)]
        gains = sum(self.best.scores[one][:, 0] - self.best.scores[one][:, 1] for one in self.readers)
        is_paid = all(worth[one] > ROUNDING for one in self.formats) and len(moved) == len(self.readers)
        return is_paid and bool(np.all(gains > ROUNDING))

    def is_silent(self, function: FunctionReward) -> bool:
        """Whether a function gave one score to everything."""
        found = {float(score) for each in self.outcomes for score in each.scores[function].flat}
        return len({*found, *map(float, self.helpless[function].flat)}) == 1

    def list_joined(self) -> list[Way]:
        """Return forms that join the best one with those that pay the functions which it does not pay."""
        best = self.best
        missed = [one for one in self.readers + self.formats if best.worth[one] <= ROUNDING]
        others = [max(self.outcomes, key=lambda outcome: outcome.worth[one]) for one in missed]
        pairs = [pair for other in others if other is not best for pair in ((best, other), (other, best))]
        return [best.way._replace(form=join(one.way.form, other.way.form)) for one, other in pairs]

    # --- what follows ---
    def conclude(self, found: FoundForm, rows: Rows, read: set[str]) -> FoundForm:
        """Return the way that pays with the rows in it, or else what is wrong with the rewards in any way."""
        if not self.outcomes:
            return replace(found, is_solved=False)
        best, own = self.best, self.own
        if own is not None and own.gain(self.readers) <= 0:
            found = self.add(
                found,
                own,
                self.judge(own) or "The dataset's own completions {0} earn {2:.3g} from {4}, as little as {1}.",
            )
        if best.gain(self.readers) > 0:
            return self.use(best, found, rows, read)
        if own is not None and own.gain(self.readers) > 0:
            return replace(found, rows=add_completions(found.rows, rows), is_solved=True, is_certain=True)
        found = replace(found, is_solved=False, is_certain=False)
        for outcome in [] if found.faults else sorted(self.outcomes, key=self.rank):
            if (said := self.judge(outcome)) is not None:
                return self.add(found, outcome, said)
        unpaid = tuple(one for one in self.readers if one.factory.is_foreign and not found.faults)
        return self.add_unpaid(replace(found, unpaid=unpaid, tried=self.describe()))

    def rank(self, outcome: Outcome) -> tuple[float, bool, float]:
        return min(0.0, outcome.gain(self.readers)), not outcome.way.is_shown, -outcome.earn(self.readers)

    def judge(self, outcome: Outcome) -> str | None:
        """Return what is wrong if right answers earn less than wrong ones, or much, but no more."""
        scores = sum(outcome.scores[one] for one in self.readers)
        if outcome.gain(self.readers) < 0:
            return "A right answer earns no more than a wrong one from {4}: {0} earns {2:.3g}, and {1} earns {3:.3g}. Check its sign."
        if self.is_constant() or (np.ptp(scores, axis=1).max() < ROUNDING and self.lift(outcome) >= ALIKE):
            return (
                "{4} pays right and wrong answers alike, so a right one earns no more than a wrong one: {0} and {1} both "
                "earn {2:.3g}."
            )
        return None

    def lift(self, outcome: Outcome) -> float:
        """Return how much more a right completion earns than the same one with other letters and digits."""
        texts = [[re.sub(r"\w", "x", right)] for right, _ in outcome.pairs]
        lifts = [(outcome.scores[one][:, :1] - self.score(one, texts)).mean() for one in self.readers]
        return float(min(lifts))

    def is_constant(self) -> bool:
        """Whether the readers pay each completion alike, whatever it contains."""
        return all(self.is_silent(one) and self.helpless[one].flat[0] > 0 for one in self.readers)

    def add(self, found: FoundForm, outcome: Outcome, said: str) -> FoundForm:
        """Return what was found with a sentence on two completions: a fault, if the right one is surely right."""
        texts = [shorten_repr(text.replace(WORKING.strip(), "...")) for text in outcome.pairs[0]]
        scores = sum(outcome.scores[one][0] for one in self.readers)
        sentence = said.format(*texts, *scores, " + ".join(map(str, self.readers)))
        is_sure = outcome is self.own or is_answer(outcome.way.column) or bool(find_outcomes(self.rewards))
        if is_sure and (self.is_constant() or not all(map(self.is_silent, self.readers))):
            return replace(found, faults=(*found.faults, sentence))
        return replace(found, warnings=(*found.warnings, sentence))

    def add_unpaid(self, found: FoundForm) -> FoundForm:
        """Return what was found, with what the prompt asks for, if a right answer in this form is surely known."""
        shown = [one for one in self.outcomes if one.way.is_shown and one.way.spelling == "a solution"]
        for outcome in shown[:1] if all(map(self.is_silent, self.readers)) else []:
            row = self.rows[0]
            value = next(iter(list_solutions(row.get(outcome.way.column))), None)
            if is_answer(outcome.way.column) and isinstance(value, str) and len(value.split()) <= MAX_WORDS:
                said = "A right answer in the form that the prompt asks for, {0}, earns {2:.3g} from {4}, as a wrong one does."
                found = self.add(replace(found, unpaid=()), outcome, said)
        return found

    def use(self, best: Outcome, found: FoundForm, rows: Rows, read: set[str]) -> FoundForm:
        """Return what was found with the way that pays, and the rows in it."""
        spelled = self.spell(best.way, rows)
        if self.own and self.own.gain(self.readers) > 0:
            spelled = add_completions(spelled, rows)
        column, readers = best.way.column, [one for one in self.readers if best.worth[one] > 0]
        unpaid = tuple(one for one in self.readers if self.is_silent(one) and one.factory.is_foreign)
        is_certain = bool(find_outcomes(self.rewards)) or is_answer(column) or column not in read
        return replace(
            found, rows=spelled, form=best.way.form, column=column, readers=tuple(readers), unpaid=unpaid,
            tried=self.describe() if unpaid else (), is_solved=True, is_certain=is_certain,
            warnings=(*found.warnings, *self.warn(best)),
        )  # fmt: skip

    def warn(self, best: Outcome) -> Iterator[str]:
        """Yield what keeps a model from earning all: a solution that none would write, or terms that exclude each other."""
        value, paid = self.rows[0].get(best.way.column), best.pairs[0][0]
        if best.way.spelling == "the whole text" and len(str(value).split()) > MAX_WORDS and read_gold(value) != value:
            yield (
                f"Only the whole text of '{best.way.column}' is paid, such as {shorten_repr(value)}, and no model writes it word "
                f"for word. Compare with its answer alone, such as {read_gold(value)!r}."
            )
        for missed in self.formats:
            other = max(self.outcomes, key=lambda one: one.worth[missed])
            lost = [one for one in self.readers + self.formats if best.worth[one] > ROUNDING >= other.worth[one]]
            if best.worth[missed] <= ROUNDING < other.worth[missed] and lost:
                yield (
                    f"No completion that was tried earns both {missed} and {lost[0]}: {shorten_repr(other.pairs[0][0])} earns the "
                    f"first, and {shorten_repr(paid)} the second. Change or remove one of them."
                )

    def describe(self) -> tuple[str, ...]:
        """Return how the answer of the first row was written."""
        return tuple(
            dict.fromkeys(shorten_repr(one.pairs[0][0].replace(WORKING.strip(), "...")) for one in self.outcomes)
        )


def add_completions(rows: Rows, others: Rows) -> list[dict[str, Any]]:
    """Return rows with the completions that the others have."""
    added = ({"completion": one["completion"]} if one.get("completion") is not None else {} for one in others)
    return [{**row, **more} for row, more in zip(rows, added, strict=True)]


def join(one: Form, other: Form) -> Form:
    """Return a form that writes the answer in both forms, or in the tags of the other one."""
    if other.tags and not one.tags and not one.bare:
        return replace(one, tags=other.tags)
    first, last = (form.answer or "\\boxed{{}}" for form in (other, one))
    return Form(tags=one.tags, answer=f"{first}\n{last}", bare=one.bare or other.bare)
