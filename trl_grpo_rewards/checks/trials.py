"""Trials: completions of dataset rows, in the form that pays best, with the scores that every check reads."""

import json
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from ..expressions import Reward, add, leave_out_witnesses
from ..faults import shorten_repr
from ..function_rewards import FunctionReward, find_functions
from ..scores import Score
from ..texts import completion_text, conversation_text
from ..traits import ContradictoryForms, Form
from ..verify.solutions import read_gold
from .completions import (
    BOX,
    FORMLESS,
    NO_ANSWER,
    ROUNDING,
    WORKING,
    Example,
    Rows,
    Tokenize,
    attacks,
    collect_worthless,
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


if TYPE_CHECKING:
    from datasets import Dataset


TRIED_ROWS = 128  # largest number of dataset rows whose completions are scored
ATTACKED_ROWS = 16  # largest number of dataset rows on which attacks are tried, too
GUESSED_ROWS = 8  # largest number of rows whose right answers are guesses in other rows
SHORT = 4_000  # number of characters that are kept of a very long attack, on all rows except the first
COMPARED_ROWS = 6  # number of rows on which each form is tried
READ_CHARACTERS = 4_000  # number of characters that are read at the beginning and at the end of a prompt
SEARCH_SECONDS = 30.0  # time after which a slow reward is tried with no other form
PROMPT_FORMS = 60  # largest number of forms that a prompt shows
SHOWN_FORMS = 16  # largest number of forms that a warning shows, which are the shortest ones

ANSWERS = (
    "", "{}", "<answer>{}</answer>", "#### {}", "Answer: {}", "Final answer: {}", "Final Answer: {}", "ANSWER: {}",
    "The answer is {}.", "The answer is: {}", "The final answer is {}.", "The correct answer is {}.", "**{}**", "({})",
    "[[{}]]", "[ANSWER]{}[/ANSWER]", "<tool_call>{}</tool_call>", "```\n{}\n```", "```json\n{}\n```",
    "```python\n{}\n```", "```sql\n{}\n```",
)  # fmt: skip
"""How an answer is usually written, at first in a box."""

USUAL = (
    *(Form(answer=answer) for answer in ANSWERS),
    *(Form(answer=answer, bare=True) for answer in ANSWERS),
    Form(tags=("think", "answer"), answer="{}"),
    Form(tags=("think", "answer")),
    Form(tags=("reasoning", "answer"), answer="{}"),
    Form(answer=f"<think>\n{WORKING}\n</think>\n<answer>\n{{}}\n</answer>", bare=True),
    Form(answer=f"<reasoning>\n{WORKING}\n</reasoning>\n<answer>\n{{}}\n</answer>\n", bare=True),
)
"""The usual forms of an answer. Of two that are paid alike, the earlier one is used."""

ELEMENT = re.compile(r"<([A-Za-z_]\w*)>.*?</\1>", re.DOTALL)

MARK = re.compile(
    r"((?:[A-Za-z][\w ]{0,30}(?:[-=]>|[:=])|#{2,}|[-=]>)[ \t]*)[<\[({$\"'`*\\]*"
    r"(?:(?:your|the|final|an?|correct) )*(?:answer|number|result|value|letter|label|name|word|choice|option|integer|X|N)\b",
    re.IGNORECASE,
)
"""What a prompt writes in front of a placeholder for the answer, as in `Verdict: <label>`."""

QUOTED = re.compile(
    r"[\"'`]([^\"'`\n]{0,60}?)(?:<[^<>]+>|\{[^{}]+\}|\[[^\[\]]+\]|\bX\b|\.\.\.|_{2,})([^\"'`\n]{0,60})[\"'`]"
)
"""What a prompt quotes around a placeholder for the answer, as in `'The capital is X.'`."""


class Outcome(NamedTuple):
    """What functions earn in one form, or if completions are `filled` in: by function, the scores right and wrong on each row."""

    form: Form
    filled: Rows | None
    scores: dict[FunctionReward, list[list[Score]]]

    def gain(self, functions: Sequence[FunctionReward]) -> float:
        """Return how much more right answers earn than wrong ones. Functions that are not consistent do not count."""
        return round(sum(measure_gain(self.scores[one]) for one in functions), 6)

    def earn(self, functions: Sequence[FunctionReward]) -> float:
        return sum(right or 0 for one in functions for right, _ in self.scores[one])


@dataclass(frozen=True)
class FoundForm:
    """The form that pays best, and what is known of it."""

    rows: Rows  # with completions if a column contains them
    form: Form = BOX
    unpaid: tuple[FunctionReward, ...] = ()  # the functions that no form paid
    written: str = ""  # how the answer of the first row was written for them
    is_solved: bool = True  # whether right completions are known
    is_certain: bool = True  # whether what follows from them may be a fault


def find_form(rewards: Reward, rows: Rows, tokens: Tokenize = split_words) -> FoundForm:
    """Return the form of an answer that pays best. Rewards that declare their form, and those of this package, keep it."""
    completions = [row.get("completion") for row in rows]
    rows = [{name: value for name, value in row.items() if name != "completion"} for row in rows]
    column, is_sure = find_answer_column(rewards, *rows[:1]), not is_guess(rewards, *rows[:1])
    functions = [*dict.fromkeys(filter(is_formless, find_functions(leave_out_witnesses(rewards), paid_only=True)))]
    readers = [one for one in functions if column in list_read_columns(one, *rows[:1])]
    known = choose_rows(rewards, rows, column)
    if not known or not any(one.factory.is_foreign for one in readers):
        return FoundForm(rows, is_solved=is_sure, is_certain=is_sure)
    others = [one for one in functions if one.factory.is_foreign and one not in readers]
    merge_forms(rewards, rows[known[0]])  # raises an error if no form earns all rewards
    search = Search(rewards, rows, known, readers, others, tokens)
    search.attempt(list_forms(rewards, rows[known[0]], completions[known[0]], column))
    for values in ([row.get(column) for row in rows], completions):
        if values[known[0]] is not None:
            more = [{} if value is None else {"completion": write_value(value)} for value in values]
            search.attempt([BOX], [{**row, **one} for row, one in zip(rows, more, strict=True)])
    search.leave_out_paid_formats()
    if search.gain <= 0:
        search.attempt([replace(one, tags=("think",)) for one in search.forms if not (one.tags or one.bare)])
    search.attempt(search.list_joined())
    certain = [one for one in readers if one.factory.is_foreign and column in list_read_columns(one)]
    if search.gain <= 0 and not certain:  # none of them has to read the column
        return FoundForm(rows, is_solved=False)
    unpaid = tuple(one for one in certain if search.best.gain([one]) <= 0)
    found = FoundForm(rows, BOX, unpaid, search.describe() if unpaid else "", is_solved=is_sure, is_certain=is_sure)
    if search.gain <= 0:
        return give_up(found, search)
    return replace(found, rows=search.best.filled or rows, form=search.best.form, is_solved=True)


@dataclass
class Search:
    """What functions earn on the rows whose answer is `known`, written in one form after another."""

    rewards: Reward
    rows: Rows
    known: list[int]
    readers: list[FunctionReward]
    formats: list[FunctionReward]
    tokens: Tokenize
    outcomes: list[Outcome] = field(default_factory=list)
    helpless: dict[FunctionReward, float] = field(default_factory=dict)
    end: float = field(default_factory=lambda: time.monotonic() + SEARCH_SECONDS)

    @property
    def some(self) -> Rows:
        return [self.rows[place] for place in self.known]

    @property
    def forms(self) -> list[Form]:
        return [*dict.fromkeys(one.form for one in self.outcomes if one.filled is None)]

    @property
    def best(self) -> Outcome:
        """The outcome that pays right answers best. Of several, it is the one that most formats pay."""
        return max(
            self.outcomes, key=lambda one: (one.gain(self.readers), sum(self.pays(one, each) for each in self.formats))
        )

    @property
    def gain(self) -> float:
        return self.best.gain(self.readers)

    def pays(self, outcome: Outcome, function: FunctionReward) -> bool:
        """Whether right completions earn more than those without an answer."""
        return outcome.earn([function]) > self.helpless[function] + ROUNDING

    def attempt(self, forms: Sequence[Form], filled: Rows | None = None) -> None:
        """Score right and wrong completions in these forms, or those that are filled in, while there is time."""
        for form in dict.fromkeys(forms):
            if self.outcomes and time.monotonic() > self.end:
                return
            try:
                rows = [(filled or self.rows)[place] for place in self.known]
                pairs = write_pairs(self.rewards, rows, self.tokens, form)
            except ContradictoryForms:
                continue
            scores = {one: score_totals(one, self.some, pairs, self.tokens) for one in self.readers + self.formats}
            self.outcomes.append(Outcome(form, filled, scores))

    def leave_out_paid_formats(self) -> None:
        """Keep the functions that pay the first way no more than a completion without an answer."""
        texts = [[NO_ANSWER]] * len(self.known)
        helpless = {one: score_totals(one, self.some, texts, self.tokens) for one in self.formats}
        first = self.outcomes[0].scores
        self.formats = [one for one in self.formats if [row[:1] for row in first[one]] == helpless[one]]
        self.helpless = {one: sum(score or 0 for (score,) in helpless[one]) for one in self.formats}

    def list_joined(self) -> list[Form]:
        """Return forms that join the best one with those that pay the functions which it does not pay."""
        best = self.best
        others = [
            max(self.outcomes, key=lambda one: one.gain([reader]))
            for reader in self.readers
            if best.gain([reader]) <= 0
        ]
        missed = [one for one in self.formats if not self.pays(best, one)]
        others += [max(self.outcomes, key=lambda outcome: self.pays(outcome, one)) for one in missed]
        pairs = [pair for other in others if other is not best for pair in ((best, other), (other, best))]
        return [join(one.form, other.form) for one, other in pairs]

    def describe(self) -> str:
        """Return how the answer of the first row was written, for a message."""
        gold = write_gold(self.rewards, list_known_solutions(self.rewards, self.some[0])[0])
        first, *others = dict.fromkeys(show(form, gold) for form in self.forms)
        shown = [first, *sorted(others, key=len)]
        longer = len(shown) - SHOWN_FORMS
        return ", ".join(shown[:SHOWN_FORMS]) + (f" and in {longer} longer forms" if longer > 0 else "")


def give_up(found: FoundForm, search: Search) -> FoundForm:
    """Return what is known of functions that pay no right answer more than a wrong one, however it is written."""
    outcomes, readers = search.outcomes, search.readers
    worst = min(outcomes, key=lambda one: one.gain(readers))
    if worst.gain(readers) < 0 or is_constant(outcomes, readers):  # that is a fault in any form
        return replace(found, form=worst.form, unpaid=())
    best = max(outcomes, key=lambda one: one.earn(readers))
    if not found.is_certain and best.earn(readers) > 0:  # the column contains something else, such as a length
        return replace(found, unpaid=())
    return replace(found, form=best.form, is_solved=False, is_certain=False)


def is_formless(function: FunctionReward) -> bool:
    """Whether a function says nothing about the form of its answer, so that it is found by trying."""
    return function.factory.kind != "combinator" and function.factory.traits.keys().isdisjoint(("form", "solves"))


def choose_rows(rewards: Reward, rows: Rows, column: str) -> list[int]:
    """Return the indices of some rows whose answer is known, if possible with different answers."""
    known = [place for place, row in enumerate(rows) if list_known_solutions(rewards, row)]
    first = {repr(rows[place][column]): place for place in reversed(known)}
    different = sorted(first.values())
    return [*different, *(place for place in known if place not in different)][:COMPARED_ROWS]


def list_forms(rewards: Reward, row: Mapping[str, Any], completion: Any, column: str) -> list[Form]:
    """Return the usual forms of a right completion, and those that the prompt and the dataset's own completion show."""
    prompt = conversation_text(row.get("prompt"))
    shown = prompt if len(prompt) <= 2 * READ_CHARACTERS else prompt[:READ_CHARACTERS] + prompt[-READ_CHARACTERS:]
    forms = [BOX, *islice(list_prompt_forms(shown, column), PROMPT_FORMS), *USUAL]
    before, found, after = completion_text(completion).rpartition(
        write_gold(rewards, list_known_solutions(rewards, row)[0])
    )
    if found:
        last = before.rpartition("\n")[2]
        forms += [Form(answer=f"{before}{{}}{after}", bare=True), Form(answer=f"{last}{{}}{after}")]
    return forms


def list_prompt_forms(prompt: str, column: str) -> Iterator[Form]:
    """Yield the forms that a prompt shows: elements in tags, a mark before the answer, and an object in JSON."""
    names = tuple(dict.fromkeys(element[1] for element in ELEMENT.finditer(prompt)))
    if len(names) > 1:
        yield Form(tags=names, answer="{}")
    yield from (Form(answer=f"<{name}>{{}}</{name}>") for name in names)
    yield from (Form(answer=f"[{one}]{{}}[/{one}]") for one in re.findall(r"\[(\w+)\][^\[]*\[/\1\]", prompt))
    yield from (Form(answer=f"{mark[1].strip()} {{}}") for mark in MARK.finditer(prompt))
    for quoted in QUOTED.finditer(prompt):
        yield Form(answer=f"{quoted[1]}{{}}{quoted[2]}")
        yield Form(answer=f"{quoted[1]}{{}}{quoted[2]}", bare=True)
    keys = tuple(dict.fromkeys(re.findall(r"[\"'](\w+)[\"']\s*:", prompt)))
    for key in dict.fromkeys([*keys, "answer", column]):
        before = "".join(f'"{one}": "{WORKING}", ' for one in keys if one != key)
        for value in ('"{}"', "{}"):
            written = "{" + f'{before}"{key}": {value}' + "}"
            yield Form(answer=written, bare=True)
            yield Form(answer=f"```json\n{written}\n```")


def write_value(value: Any) -> str:
    """Return a value of a column as the text of a completion."""
    chat = value if isinstance(value, list) else []
    if isinstance(value, str) or (chat and all(isinstance(one, Mapping) and "role" in one for one in chat)):
        return completion_text(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def measure_gain(scores: list[list[Score]]) -> float:
    """Return how much more right answers earn than wrong ones, or 0 if that differs from row to row, as by length."""
    gains = [(right or 0) - (wrong or 0) for right, wrong in scores]
    more, less = sum(gain > ROUNDING for gain in gains), sum(gain < -ROUNDING for gain in gains)
    return sum(gains) / len(gains) if more > 3 * less or less > 3 * more else 0.0


def is_constant(outcomes: list[Outcome], functions: Sequence[FunctionReward]) -> bool:
    """Whether functions pay each completion alike, whatever it contains."""
    paid = [{score for one in outcomes for row in one.scores[function] for score in row} for function in functions]
    return all(len(scores) == 1 and (next(iter(scores)) or 0) > 0 for scores in paid)


def join(one: Form, other: Form) -> Form:
    """Return a form that writes the answer in both forms, or in the tags of the other one."""
    if other.tags and not one.tags and not one.bare:
        return replace(one, tags=other.tags)
    first, last = (form.answer or "\\boxed{{}}" for form in (other, one))
    return Form(tags=one.tags, answer=f"{first}\n{last}", bare=one.bare or other.bare)


def show(form: Form, answer: str) -> str:
    """Return how an answer is written in a form, for a message."""
    written = replace(form, answer=form.answer.replace(WORKING, "...")).write_answer(answer)
    return shorten_repr(form.wrap("...", written) if form.tags else written)


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
