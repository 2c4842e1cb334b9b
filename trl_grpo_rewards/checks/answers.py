"""The ways to write a right answer: how the value of a column is spelled, and the form around it. `answers.toml` has the forms."""

import contextlib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, permutations
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ..answers.solutions import list_solutions, read_gold
from ..errors import SOLUTION_COLUMNS
from ..sandbox.programs.formats import parse_column
from ..sandbox.programs.python_tests import UnreadableTests
from ..texts import completion_text, content_text, list_messages, prompt_text
from ..traits import WORKING, Form
from .completions import NEXT, ROUNDING, write_json


READ_CHARACTERS = 4_000  # number of characters that are read at the beginning and at the end of a prompt
PROMPT_FORMS = 80  # largest number of forms that a prompt shows
COUNTDOWN_NUMBERS = 6  # largest number of numbers that an equation is made of
COUNTDOWN_STEPS = 4_000  # largest number of equations that are tried for a row
FORMS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
KEY = re.compile(r"[\"'](\w+)[\"']\s*:")  # of an object that a prompt shows
OPTION = re.compile(r"^\s*\(?([A-J]|\d)[.):]\s*(\S.*?)\s*$", re.MULTILINE)
OPTIONS = re.compile(r"((?:[\w'-]+, )*[\w'-]+,? or [\w'-]+|\w+(?:/\w+)+)")
Row: TypeAlias = Mapping[str, Any]
ClassNames: TypeAlias = Mapping[int, str]


# --- the value of a column ------------------------------------------------------------------------------------------
class Value(NamedTuple):
    """The value of a column in a row, which may be the right answer."""

    value: Any
    row: Row
    names: Sequence[ClassNames]  # what its prompt, the dataset and the reward's module call classes

    @property
    def data(self) -> Any:
        """What a text in JSON or a Python literal contains."""
        with contextlib.suppress(UnreadableTests):
            return parse_column(self.value)
        return self.value

    @property
    def items(self) -> list[str]:
        return [write_json(item) for item in self.data] if isinstance(self.data, list) else []

    @property
    def number(self) -> int | None:
        """The number of a class, or of the letter that names it."""
        if self.value in FORMS["classes"]["a letter"]:
            return ord(self.value) - ord("A")
        with contextlib.suppress(TypeError, ValueError):
            return int(self.value) if float(self.value) == int(self.value) else None
        return None


def read_prompt(row: Row) -> str:
    messages = list_messages("A prompt", row.get("prompt"), "user")
    return "\n\n".join(content_text(message.get("content")) for message in messages)


def join_items(value: Value, between: str) -> list[str]:
    return [between.join(value.items)] if len(value.items) > 1 else []


def find_inside(value: Value) -> list[Any]:
    """Return the solution in an object, such as `{"ground_truth": "72", "style": "rule"}`."""
    found = value.data if isinstance(value.data, Mapping) else {}
    return [found[name] for name in SOLUTION_COLUMNS if found.get(name) is not None]


def write_object(value: Value) -> list[str]:
    """Return an object with the keys that the prompt shows, each with the value of a column of a similar name.

    A point is the middle of a box.
    """
    columns = {name: cell for name, cell in value.row.items() if name not in ("prompt", "completion")}
    found = {}
    for key in dict.fromkeys(KEY.findall(read_prompt(value.row))):
        column = next((name for name in columns if key in name or name in key), next(iter(columns), ""))
        box = columns.pop(column, None)
        is_point = re.search("point|coord", key) and isinstance(box, list) and len(box) == 4
        found[key] = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2] if is_point else box
    return [write_json(found)] if len(found) > 1 else []


def write_equation(value: Value) -> list[str]:
    """Return an expression with the numbers of another column that has the value, as in the game countdown."""
    lists = [cell for cell in value.row.values() if isinstance(cell, list) and 2 <= len(cell) <= COUNTDOWN_NUMBERS]
    numbers = next((cell for cell in lists if {*map(type, cell)} == {int}), None)
    if numbers is None or type(value.value) not in (int, float):
        return []
    made = islice(make_equations([(number, str(number)) for number in numbers]), COUNTDOWN_STEPS)
    return [*islice((text for result, text in made if abs(result - value.value) < ROUNDING), 1)]


def make_equations(numbers: list[tuple[float, str]]) -> Iterator[tuple[float, str]]:
    """Yield expressions of all numbers and their values."""
    if len(numbers) == 1:
        yield numbers[0]
    for first, second in permutations(range(len(numbers)), 2):
        others = [number for place, number in enumerate(numbers) if place not in (first, second)]
        for pair in combine(*numbers[first], *numbers[second]):
            yield from make_equations([*others, pair])


def combine(first: float, left: str, second: float, right: str) -> Iterator[tuple[float, str]]:
    yield first + second, f"({left} + {right})"
    yield first - second, f"({left} - {right})"
    yield first * second, f"{left} * {right}"
    if second:
        yield first / second, f"({left} / {right})"


def list_options(row: Row) -> Iterator[ClassNames]:
    """Yield the options that a prompt lists, such as `negative, neutral or positive` or one in each line."""
    prompt = prompt_text(row.get("prompt"))
    lines = OPTION.findall(prompt)
    if len(lines) > 1:
        yield dict(enumerate(text for _, text in lines))
    for listed in OPTIONS.findall(prompt):
        yield dict(enumerate(re.split(r",? or |, |/", listed)))


def name_class(value: Value, names: Sequence[ClassNames], first: int = 0) -> list[str]:
    """Return the name of a class in the first of several lists that has it."""
    number = value.number
    return [] if number is None else [known[number - first] for known in names if number - first in known][:1]


WRITERS: dict[str, Callable[[Value], Sequence[Any]]] = {  # how a value is written; all that a row has are right
    "an equation": write_equation,
    "a solution": lambda value: [read_gold(one) or one for one in list_solutions(value.value) if one is not None],
    "an inner value": find_inside,
    "JSON": lambda value: [value.value] if value.items and not isinstance(value.value, str) else [],
    "each item": lambda value: [NEXT.join(value.items)] if value.items else [],
    "items and commas": partial(join_items, between=", "),
    "items in lines": partial(join_items, between="\n"),
    "a name": lambda value: name_class(value, value.names),
    "a name from 1": lambda value: name_class(value, value.names, first=1),
    **{spelling: partial(name_class, names=[dict(enumerate(names))]) for spelling, names in FORMS["classes"].items()},
    "a letter from 1": partial(name_class, names=[dict(enumerate(FORMS["classes"]["a letter"]))], first=1),
    "an object of columns": write_object,
    "the whole text": lambda value: [value.value] if isinstance(value.value, str) else [],
}


def spell(value: Value, spelling: str) -> tuple[str, ...]:
    """Return the texts of a value that are right, the one to write first."""
    texts = map(write_json, WRITERS[spelling](value))
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


# --- the form around it -----------------------------------------------------------------------------------------------
def list_sections(prompt: str) -> list[tuple[str, str]]:
    """Return what opens and closes each part of a completion that a prompt shows, such as `<think>` and `</think>`."""
    sections: list[tuple[str, str]] = []
    matches = [
        (match.start(), match.expand(opening), match.expand(closing))
        for pattern, opening, closing in FORMS["sections"]
        for match in re.finditer(pattern, prompt)
    ]
    for _, opening, closing in sorted(matches):
        if not any(opening in marks for marks in sections):
            sections.append((opening, closing))
    return sections


def list_endings(prompt: str, column: str) -> Iterator[str]:
    """Yield how a prompt writes an answer, with `{}` in its place: in a box, in a fence, after a mark, or in JSON."""
    for pattern, *forms in FORMS["shown"]:
        yield from (match.expand(form) for match in re.finditer(pattern, prompt) for form in forms)
    if keys := [*dict.fromkeys(KEY.findall(prompt))]:
        yield from write_keys(keys, *keys, column)


def write_keys(keys: Sequence[str], *deciding: str) -> Iterator[str]:
    """Yield objects with these keys and the answer under the one that decides, as they are and in a fence."""
    for key in dict.fromkeys(deciding):
        before = "".join(f'"{other}": "{WORKING}", ' for other in keys if other != key)
        for answer in ('"{}"', "{}"):
            written = f'{{{before}"{key}": {answer}}}'
            yield from (written, f"```json\n{written}\n```")


def list_prompt_forms(prompt: str, column: str) -> Iterator[Form]:
    """Yield the forms that a prompt shows: its sections, in one line or several, with an ending inside or after them."""
    endings = [*dict.fromkeys(list_endings(prompt, column))]
    sections = list_sections(prompt)
    for ending in [*endings, "{}"] if sections else []:
        for line in ("", "\n"):
            *others, last = (f"{opening}{line}{WORKING}{line}{closing}" for opening, closing in sections)
            before = "".join(f"{part}\n" for part in others)
            inside = last.replace(WORKING, ending)
            yield Form(answer=before + inside + line, bare=True)
            yield Form(answer=f"{before}{last}\n{ending}", bare=True)
            yield Form(answer=inside)
    yield from (Form(answer=f"{opening}{{}}{closing}") for opening, closing in sections)
    yield from (Form(answer=ending, bare=bare) for bare in (False, True) for ending in endings)


def list_usual_forms(column: str) -> Iterator[Form]:
    """Yield the usual forms. In JSON, the key may be the name of the column. Of two that are paid alike, the earlier one is used."""
    answers = [*FORMS["usual"], *write_keys((), "answer", column)]
    yield from (Form(answer=answer) for answer in answers)
    thought = [f"<think>WORKING</think>\n{answer or Form().write_answer('{}')}" for answer in answers]
    for answer in [*answers, *thought, *FORMS["whole"]]:
        yield Form(answer=answer.replace("WORKING", WORKING), bare=True)


def list_shown_forms(row: Row, column: str, text: str) -> list[Form]:
    """Return the forms that a prompt shows, and that of the dataset's own completion around its answer."""
    prompt = read_prompt(row)
    shown = prompt[:READ_CHARACTERS] + prompt[READ_CHARACTERS:][-READ_CHARACTERS:]
    before, found, after = completion_text(row.get("completion")).rpartition(text)
    completions = [Form(answer=f"{before}{{}}{after}", bare=True)] if found else []
    return [*completions, *islice(dict.fromkeys(list_prompt_forms(shown, column)), PROMPT_FORMS)]
