"""Trials: completions of dataset rows, in the form that pays best, with the scores that every check reads."""

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from ..expressions import Reward, add, leave_out_witnesses
from ..faults import shorten_repr
from ..function_rewards import FunctionReward, find_functions
from ..scores import Score
from ..texts import completion_text, conversation_text
from ..traits import ContradictoryForms, Form
from ..verify.solutions import read_gold
from .attack_completions import FORMLESS, attacks, collect_worthless
from .completions import (
    BOX,
    NO_ANSWER,
    ROUNDING,
    WORKING,
    Rows,
    Tokenize,
    find_answer_column,
    has_solution,
    is_guess,
    list_known_solutions,
    list_read_columns,
    merge_forms,
    score_groups,
    score_totals,
    split_words,
    write_gold,
    write_pairs,
)


TRIED_ROWS = 128  # largest number of dataset rows whose completions are scored
ATTACKED_ROWS = 16  # largest number of dataset rows on which attacks are tried, too
GUESSED_ROWS = 8  # largest number of rows whose right answers are guesses in other rows
SHORT = 4_000  # number of characters that are kept of a very long attack, on all rows except the first
ANSWERS = ("right", "wrong", "helpless")  # all other completions are attacks
COMPARED_ROWS = 6  # number of rows with an answer on which each form is tried
READ_CHARACTERS = 4_000  # number of characters that are read at the beginning and at the end of a prompt
SEARCH_SECONDS = 30.0  # time after which a slow reward is tried with no other form
PROMPT_FORMS = 60  # largest number of forms that a prompt shows
SHOWN_FORMS = 16  # largest number of forms that a warning shows, which are the shortest ones
Scores: TypeAlias = NDArray[np.float64]

WRITTEN = (  # how an answer is usually written, at first in a box
    "", "{}", "<answer>{}</answer>", "#### {}", "Answer: {}", "Final answer: {}", "Final Answer: {}", "ANSWER: {}",
    "The answer is {}.", "The answer is: {}", "The final answer is {}.", "The correct answer is {}.", "**{}**", "({})",
    "[[{}]]", "[ANSWER]{}[/ANSWER]", "<tool_call>{}</tool_call>", "```\n{}\n```", "```json\n{}\n```",
    "```python\n{}\n```", "```sql\n{}\n```",
)  # fmt: skip

USUAL = (  # the usual forms of an answer. Of two that are paid alike, the earlier one is used.
    *(Form(answer=answer) for answer in WRITTEN),
    *(Form(answer=answer, bare=True) for answer in WRITTEN),
    Form(tags=("think", "answer"), answer="{}"),
    Form(tags=("think", "answer")),
    Form(tags=("reasoning", "answer"), answer="{}"),
    Form(answer=f"<think>\n{WORKING}\n</think>\n<answer>\n{{}}\n</answer>", bare=True),
    Form(answer=f"<reasoning>\n{WORKING}\n</reasoning>\n<answer>\n{{}}\n</answer>\n", bare=True),
)

ELEMENT = re.compile(r"<([A-Za-z_]\w*)>.*?</\1>", re.DOTALL)

MARK = re.compile(  # what a prompt writes in front of a placeholder for the answer, as in `Verdict: <label>`
    r"((?:[A-Za-z][\w ]{0,30}(?:[-=]>|[:=])|#{2,}|[-=]>)[ \t]*)[<\[({$\"'`*\\]*"
    r"(?:(?:your|the|final|an?|correct) )*(?:answer|number|result|value|letter|label|name|word|choice|option|integer|X|N)\b",
    re.IGNORECASE,
)

QUOTED = re.compile(  # what a prompt quotes around a placeholder for the answer, as in `'The capital is X.'`
    r"[\"'`]([^\"'`\n]{0,60}?)(?:<[^<>]+>|\{[^{}]+\}|\[[^\[\]]+\]|\bX\b|\.\.\.|_{2,})([^\"'`\n]{0,60})[\"'`]"
)


@dataclass(frozen=True)
class FoundForm:
    rows: Rows  # with completions if a column contains them
    form: Form = BOX
    unpaid: tuple[FunctionReward, ...] = ()  # the functions that no form paid
    written: str = ""  # how the answer of the first row was written for them
    is_solved: bool = True  # whether right completions are known
    is_certain: bool = True  # whether what follows from them may be a fault


class Outcome(NamedTuple):
    """What right and wrong completions of rows earn by function, in one form or as a column has them, which is `filled` in."""

    form: Form
    filled: str
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


def find_form(rewards: Reward, rows: Rows, tokens: Tokenize = split_words) -> FoundForm:
    """Return the form of an answer that pays best. Rewards that declare their form, and those of this package, keep it."""
    plain = fill_rows(rows, "")
    column, is_sure = find_answer_column(rewards, plain[0]), not is_guess(rewards, plain[0])
    functions = [*dict.fromkeys(filter(is_formless, find_functions(leave_out_witnesses(rewards), paid_only=True)))]
    readers = [one for one in functions if column in list_read_columns(one, plain[0])]
    known = [row for row in rows if list_known_solutions(rewards, row)]
    if not known or not any(one.factory.is_foreign for one in readers):
        return FoundForm(plain, is_solved=is_sure, is_certain=is_sure)
    others = [one for one in functions if one.factory.is_foreign and one not in readers]
    merge_forms(rewards, known[0])  # raises an error if no form earns all rewards
    search = Search(rewards, known[:COMPARED_ROWS], readers, others, tokens)
    search.attempt(list_forms(rewards, search.rows[0], column))
    for name in (column, "completion"):
        if search.rows[0].get(name) is not None:
            search.attempt([BOX], name)
    if search.best.gain(readers) <= 0:
        search.attempt([replace(one, tags=("think",)) for one in search.forms if not (one.tags or one.bare)])
    search.attempt(search.list_joined())
    certain = [one for one in readers if one.factory.is_foreign and column in list_read_columns(one)]
    best, gain = search.best, search.best.gain(readers)
    if gain <= 0 and not certain:  # none of them has to read the column
        return FoundForm(plain, is_solved=False)
    unpaid = tuple(one for one in certain if best.gain([one]) <= 0)
    found = FoundForm(plain, BOX, unpaid, search.describe() if unpaid else "", is_solved=is_sure, is_certain=is_sure)
    if gain > 0:
        return replace(found, rows=fill_rows(rows, best.filled), form=best.form, is_solved=True)
    worst = min(search.outcomes, key=lambda one: one.gain(readers))
    if worst.gain(readers) < 0 or search.is_constant():  # that is a fault in any form
        return replace(found, form=worst.form, unpaid=())
    most = max(search.outcomes, key=lambda one: one.earn(readers))
    if not is_sure and most.earn(readers) > 0:  # the column contains something else, such as a length
        return replace(found, unpaid=())
    return replace(found, form=most.form, is_solved=False, is_certain=False)


@dataclass
class Search:
    """What functions earn on some rows whose answer is known, written in one form after another."""

    rewards: Reward
    rows: Rows
    readers: list[FunctionReward]
    formats: list[FunctionReward]
    tokens: Tokenize
    outcomes: list[Outcome] = field(default_factory=list)
    end: float = field(default_factory=lambda: time.monotonic() + SEARCH_SECONDS)

    def __post_init__(self) -> None:
        self.helpless = {one: self.score(one, [[NO_ANSWER]] * len(self.rows)) for one in self.formats}

    @property
    def forms(self) -> list[Form]:
        return [*dict.fromkeys(one.form for one in self.outcomes if not one.filled)]

    @property
    def best(self) -> Outcome:
        """The outcome that pays right answers best. Of several, it is the one that most formats pay."""
        return max(
            self.outcomes,
            key=lambda one: (one.gain(self.readers), sum(one.worth[each] > ROUNDING for each in self.formats)),
        )

    def score(self, function: FunctionReward, groups: list[list[str]]) -> Scores:
        scores: Scores = np.array(score_totals(function, self.rows, groups, self.tokens), dtype=float)
        return np.nan_to_num(scores)

    def attempt(self, forms: Sequence[Form], filled: str = "") -> None:
        """Score right and wrong completions in these forms, or as a column has them, while there is time."""
        for form in dict.fromkeys(forms):
            if self.outcomes and time.monotonic() > self.end:
                return
            try:
                pairs = write_pairs(self.rewards, fill_rows(self.rows, filled), self.tokens, form)
            except ContradictoryForms:
                continue
            scores = {one: self.score(one, pairs) for one in self.readers + self.formats}
            worth = {one: measure_gain(scores[one]) for one in self.readers}
            worth |= {one: float((scores[one][:, :1] - self.helpless[one]).sum()) for one in self.formats}
            if not self.outcomes:  # what pays the first form more than no answer, or less, does not want another form
                self.formats = [one for one in self.formats if (scores[one][:, :1] == self.helpless[one]).all()]
            self.outcomes.append(Outcome(form, filled, scores, worth))

    def list_joined(self) -> list[Form]:
        """Return forms that join the best one with those that pay the functions which it does not pay."""
        best = self.best
        missed = [one for one in self.readers + self.formats if best.worth[one] <= ROUNDING]
        others = [max(self.outcomes, key=lambda outcome: outcome.worth[one]) for one in missed]
        pairs = [pair for other in others if other is not best for pair in ((best, other), (other, best))]
        return [join(one.form, other.form) for one, other in pairs]

    def is_constant(self) -> bool:
        """Whether the readers pay each completion alike, whatever it contains."""
        paid = [{float(score) for each in self.outcomes for score in each.scores[one].flat} for one in self.readers]
        return all(len(scores) == 1 and max(scores) > 0 for scores in paid)

    def describe(self) -> str:
        gold = write_gold(self.rewards, list_known_solutions(self.rewards, self.rows[0])[0])
        first, *others = dict.fromkeys(show(form, gold) for form in self.forms)
        shown = [first, *sorted(others, key=len)]
        longer = len(shown) - SHOWN_FORMS
        return ", ".join(shown[:SHOWN_FORMS]) + (f" and in {longer} longer forms" if longer > 0 else "")


def is_formless(function: FunctionReward) -> bool:
    """Whether a function says nothing about the form of its answer, so that it is found by trying."""
    return function.factory.kind != "combinator" and function.factory.traits.keys().isdisjoint(("form", "solves"))


def fill_rows(rows: Rows, column: str) -> list[dict[str, Any]]:
    """Return rows whose completions are the values of a column, if it is not empty, and no others."""
    plain = [{name: value for name, value in row.items() if name != "completion"} for row in rows]
    values = [row.get(column) for row in rows]
    return [
        one if value is None else {**one, "completion": write_value(value)}
        for one, value in zip(plain, values, strict=True)
    ]


def write_value(value: Any) -> str:
    chat = value if isinstance(value, list) else []
    if isinstance(value, str) or (chat and all(isinstance(one, Mapping) and "role" in one for one in chat)):
        return completion_text(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def join(one: Form, other: Form) -> Form:
    """Return a form that writes the answer in both forms, or in the tags of the other one."""
    if other.tags and not one.tags and not one.bare:
        return replace(one, tags=other.tags)
    first, last = (form.answer or "\\boxed{{}}" for form in (other, one))
    return Form(tags=one.tags, answer=f"{first}\n{last}", bare=one.bare or other.bare)


def show(form: Form, answer: str) -> str:
    written = replace(form, answer=form.answer.replace(WORKING, "...")).write_answer(answer)
    return shorten_repr(form.wrap("...", written) if form.tags else written)


def list_forms(rewards: Reward, row: Mapping[str, Any], column: str) -> list[Form]:
    """Return the usual forms of a right completion, and those that the prompt and the dataset's own completion show."""
    prompt = conversation_text(row.get("prompt"))
    shown = prompt if len(prompt) <= 2 * READ_CHARACTERS else prompt[:READ_CHARACTERS] + prompt[-READ_CHARACTERS:]
    forms = [BOX, *islice(list_prompt_forms(shown, column), PROMPT_FORMS), *USUAL]
    gold = write_gold(rewards, list_known_solutions(rewards, row)[0])
    before, found, after = completion_text(row.get("completion")).rpartition(gold)
    if found:
        last = before.rpartition("\n")[2]
        forms += [Form(answer=f"{before}{{}}{after}", bare=True), Form(answer=f"{last}{{}}{after}")]
    return forms


def list_prompt_forms(prompt: str, column: str) -> Iterator[Form]:
    """Yield the forms that a prompt shows: elements in tags, what is written around a placeholder, and an object in JSON."""
    names = tuple(dict.fromkeys(element[1] for element in ELEMENT.finditer(prompt)))
    if len(names) > 1:
        yield Form(tags=names, answer="{}")
    yield from (Form(answer=f"<{name}>{{}}</{name}>") for name in names)
    yield from (Form(answer=f"[{one}]{{}}[/{one}]") for one in re.findall(r"\[(\w+)\][^\[]*\[/\1\]", prompt))
    yield from (Form(answer=f"{mark[1].strip()} {{}}") for mark in MARK.finditer(prompt))
    for before, after in QUOTED.findall(prompt):
        yield from (Form(answer=f"{before}{{}}{after}", bare=is_bare) for is_bare in (False, True))
    keys = tuple(dict.fromkeys(re.findall(r"[\"'](\w+)[\"']\s*:", prompt)))
    for key in dict.fromkeys([*keys, "answer", column]):
        before = "".join(f'"{one}": "{WORKING}", ' for one in keys if one != key)
        for value in ('"{}"', "{}"):
            written = "{" + f'{before}"{key}": {value}' + "}"
            yield Form(answer=written, bare=True)
            yield Form(answer=f"```json\n{written}\n```")


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
    milliseconds: list[float]  # mean time of each term for one completion

    @cached_property
    def column(self) -> str:
        return find_answer_column(self.rewards, self.found.rows[0])

    @property
    def solutions(self) -> list[Any]:
        return [row.get(self.column) for row in self.found.rows]

    def list_readers(self, rewards: Reward) -> list[FunctionReward]:
        row = self.found.rows[0]
        return [one for one in find_functions(rewards) if self.column in list_read_columns(one, row)]


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
    return Trials(rewards, found, is_solved, texts, scores, table.to_numpy(), milliseconds)


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
