"""The ways to write a right answer: how the value of a column is spelled, and which form is around it."""

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple, TypeAlias

from ..answers.solutions import list_solutions, read_gold
from ..errors import SOLUTION_COLUMNS
from ..sandbox.programs.formats import parse_column
from ..sandbox.programs.python_tests import UnreadableTests
from ..texts import completion_text, content_text, list_messages, prompt_text
from ..traits import Form
from .completions import NEXT, ROUNDING, WORKING


READ_CHARACTERS = 4_000  # number of characters that are read at the beginning and at the end of a prompt
PROMPT_FORMS = 80  # largest number of forms that a prompt shows
COUNTDOWN_NUMBERS = 6  # largest number of numbers that an equation is made of
COUNTDOWN_STEPS = 4_000  # largest number of equations that are tried for a row
LETTERS = "ABCDEFGHIJ"
Row: TypeAlias = Mapping[str, Any]
Names: TypeAlias = Sequence[
    Mapping[int, str]
]  # names of classes that a reward's module or the dataset has, by the class


# --- the value of a column ------------------------------------------------------------------------------------------
class Value(NamedTuple):
    """The value of a column in a row, which may be the right answer."""

    value: Any
    row: Row
    names: Names

    @property
    def data(self) -> Any:
        """What a text in JSON or a Python literal contains."""
        with contextlib.suppress(UnreadableTests):
            return parse_column(self.value)
        return self.value

    @property
    def items(self) -> list[str]:
        return [write_json(one) for one in self.data] if isinstance(self.data, list) else []

    @property
    def number(self) -> int | None:
        """The number of a class, or of the letter that names it."""
        if isinstance(self.value, str) and self.value in [*LETTERS]:
            return LETTERS.index(self.value)
        with contextlib.suppress(TypeError, ValueError):
            return int(self.value) if float(self.value) == int(self.value) else None
        return None


def read_prompt(row: Row) -> str:
    return "\n\n".join(
        content_text(one.get("content")) for one in list_messages("A prompt", row.get("prompt"), "user")
    )


def write_json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def write_inner(value: Value) -> list[Any]:
    """Return the solution in an object, such as `{"ground_truth": "72", "style": "rule"}`."""
    found = value.data if isinstance(value.data, Mapping) else {}
    return [inner for name in SOLUTION_COLUMNS if (inner := found.get(name)) is not None]


def write_object(value: Value) -> list[str]:
    """Return an object with the keys that the prompt shows, each with the value of a column of a similar name."""
    keys = re.findall(r"[\"'](\w+)[\"']\s*:", read_prompt(value.row))
    columns = {name: one for name, one in value.row.items() if name not in ("prompt", "completion")}
    found = {}
    for key in dict.fromkeys(keys):
        column = next((name for name in columns if key in name or name in key), None) or next(iter(columns), None)
        found[key] = columns.pop(column, None) if column else None
    boxes = {
        key: one
        for key, one in found.items()
        if isinstance(one, list) and len(one) == 4 and re.search("point|coord", key)
    }
    centres = {key: [(left + right) / 2, (top + bottom) / 2] for key, (left, top, right, bottom) in boxes.items()}
    return [json.dumps(found | centres, ensure_ascii=False, default=str)] if len(found) > 1 and value.row else []


def write_equation(value: Value) -> list[str]:
    """Return an expression with the numbers of another column that has the value, as in the game countdown."""
    lists = [one for one in value.row.values() if isinstance(one, list) and 2 <= len(one) <= COUNTDOWN_NUMBERS]
    numbers = next((one for one in lists if all(type(item) is int for item in one)), None)
    if numbers is None or isinstance(value.value, bool) or not isinstance(value.value, int | float):
        return []
    start = [(float(number), str(number)) for number in numbers]
    tried = islice(find_equations(start, float(value.value)), COUNTDOWN_STEPS)
    return [*islice(filter(None, tried), 1)]


def find_equations(numbers: list[tuple[float, str]], target: float) -> Iterator[str]:
    """Yield each expression of all numbers, or an empty text if it has another value."""
    if len(numbers) == 1:
        yield numbers[0][1] if abs(numbers[0][0] - target) < ROUNDING else ""
    for one, other in combinations(numbers, 2):
        others = [each for each in numbers if each is not one and each is not other]
        for pair in combine(one, other):
            yield from find_equations([*others, pair], target)


def combine(one: tuple[float, str], other: tuple[float, str]) -> Iterator[tuple[float, str]]:
    for (first, left), (second, right) in ((one, other), (other, one)):
        yield first + second, f"({left} + {right})"
        yield first - second, f"({left} - {right})"
        yield first * second, f"{left} * {right}"
        yield from [(first / second, f"({left} / {right})")] if second else []


def list_options(row: Row) -> Iterator[dict[int, str]]:
    """Yield the options that a prompt lists, such as `negative, neutral or positive` or one in each line."""
    prompt = prompt_text(row.get("prompt"))
    lines = re.findall(r"^\s*\(?([A-J]|\d)[.):]\s*(\S.*?)\s*$", prompt, re.MULTILINE)
    if len(lines) > 1:
        yield dict(enumerate(text for _, text in lines))
    for listed in re.findall(r"((?:[\w'-]+, )*[\w'-]+,? or [\w'-]+|\w+(?:/\w+)+)", prompt):
        yield dict(enumerate(re.split(r",? or |, |/", listed)))


def name_class(value: Value, first: int = 0) -> list[str]:
    number = value.number
    named = [one[number - first] for one in value.names if number is not None and number - first in one]
    return [*dict.fromkeys(named)][:1]


def letter_class(value: Value, first: int = 0) -> list[str]:
    number = None if isinstance(value.value, bool | str) else value.number
    return [LETTERS[number - first]] if number is not None and 0 <= number - first < len(LETTERS) else []


def decide(value: Value, no: str, yes: str) -> list[str]:
    is_truth = isinstance(value.value, bool) or value.value in (0, 1)
    return [yes if value.value else no] if is_truth else []


SPELLINGS: dict[str, Callable[[Value], Sequence[Any]]] = {  # how a value is written; all that a row has are right
    "an equation": write_equation,
    "a solution": lambda value: [read_gold(one) or one for one in list_solutions(value.value) if one is not None],
    "without dollars": lambda value: [one.strip("$") for one in [read_gold(value.value) or ""] if one[:1] == "$"],
    "an inner value": write_inner,
    "JSON": lambda value: [] if isinstance(value.value, str) or not value.items else [write_json(value.value)],
    "each item": lambda value: [NEXT.join(value.items)] if value.items else [],
    "items and commas": lambda value: [", ".join(value.items)] if len(value.items) > 1 else [],
    "items in lines": lambda value: ["\n".join(value.items)] if len(value.items) > 1 else [],
    "a name": name_class,
    "a letter": letter_class,
    "a name from 1": lambda value: name_class(value, 1),
    "a letter from 1": lambda value: letter_class(value, 1),
    "yes or no": lambda value: decide(value, "no", "yes"),
    "Yes or No": lambda value: decide(value, "No", "Yes"),
    "true or false": lambda value: decide(value, "false", "true"),
    "an object of columns": write_object,
    "the whole text": lambda value: [value.value] if isinstance(value.value, str) else [],
}


def spell(value: Value, spelling: str) -> tuple[str, ...]:
    """Return the texts of a value that are right, the one to write first."""
    texts = [write_json(one) for one in SPELLINGS[spelling](value)]
    return tuple(dict.fromkeys(one for one in texts if one.strip()))


# --- the form around it -----------------------------------------------------------------------------------------------
WRITTEN = (  # how an answer is usually written, at first in a box
    "", "{}", "<answer>{}</answer>", "#### {}", "Answer: {}", "Final answer: {}", "Final Answer: {}", "ANSWER: {}",
    "The answer is {}.", "The answer is: {}", "The final answer is {}.", "The correct answer is {}.", "**{}**", "({})",
    "[[{}]]", "[ANSWER]{}[/ANSWER]", "<tool_call>{}</tool_call>", "```\n{}\n```", "```json\n{}\n```",
    "```python\n{}\n```", "```sql\n{}\n```",
)  # fmt: skip

MARK = re.compile(  # what a prompt writes in front of a placeholder for the answer, as in `Verdict: <label>`
    r"((?:[A-Za-z][\w ]{0,30}(?:[-=]>|[:=])|#{2,}|[-=]>)[ \t]*)[<\[({$\"'`*\\]*"
    r"(?:(?:your|the|final|an?|correct) )*(?:answer|number|result|value|letter|label|name|word|choice|option|integer|X|N)\b",
    re.IGNORECASE,
)

QUOTED = re.compile(  # what a prompt quotes around a placeholder for the answer, as in `'The capital is X.'`
    r"[\"'`]([^\"'`\n]{0,60}?)(?:<[^<>]+>|\{[^{}]+\}|\[[^\[\]]+\]|\bX\b|\.\.\.|_{2,})([^\"'`\n]{0,60})[\"'`]"
)

AFTER = re.compile(  # what a prompt quotes to be in front of the answer, as in `after 'Date:'`
    r"\b(?:after|behind|with|by|as|prefix|prefixed|format|marker|write|say)\b[^\"'`\n]{0,20}[\"'`]([^\"'`\n]{1,30}?)[\"'`]",
    re.IGNORECASE,
)

SECTION = re.compile(r"<([A-Za-z_]\w*)>|\[([A-Za-z_]\w*)\](?=[^\[]*\[/\2\])|\bbetween (\S+) and (\S+?)[.,;]?(?=\s|$)")
FENCE = re.compile(r"```(\w*)")


def list_sections(prompt: str) -> list[tuple[str, str]]:
    """Return what opens and closes each part of a completion that a prompt shows, such as `<think>` and `</think>`."""
    found: list[tuple[str, str]] = []
    for tag, bracket, opening, closing in SECTION.findall(prompt):
        between = (opening, closing) if opening[:1] in "<[#*{" else None
        tags = (f"<{tag}>", f"</{tag}>") if tag else (f"[{bracket}]", f"[/{bracket}]") if bracket else between
        found += [tags] if tags and not any(tags[0] in one or tags[0].startswith("</") for one in found) else []
    return found


def list_endings(prompt: str, column: str) -> Iterator[str]:
    """Yield how a prompt writes an answer, with `{}` in its place: after a mark, in a box, in a fence, or in JSON."""
    if "boxed" in prompt:
        yield "\\boxed{{}}"
    yield from (f"```{language}\n{{}}\n```" for language in FENCE.findall(prompt) if language)
    yield from (f"{mark[1].strip()} {{}}" for mark in MARK.finditer(prompt))
    for mark in [mark for mark in AFTER.findall(prompt) if "<" not in mark]:
        yield from (f"{mark.strip()} {{}}", re.sub(":.*", ": {}", mark) if ":" in mark else f"{mark}{{}}")
    yield from (f"{before}{{}}{after}" for before, after in QUOTED.findall(prompt))
    keys = tuple(dict.fromkeys(re.findall(r"[\"'](\w+)[\"']\s*:", prompt)))
    if keys or "json" in prompt.lower():
        yield "```json\n{}\n```"
    yield from write_keys(keys, *keys, *([column] if keys else []))


def write_keys(keys: Sequence[str], *deciding: str) -> Iterator[str]:
    """Yield objects with these keys and the answer under the one that decides, as they are and in a fence."""
    for key in dict.fromkeys(deciding):
        before = "".join(f'"{one}": "{WORKING}", ' for one in keys if one != key)
        for value in ('"{}"', "{}"):
            written = "{" + f'{before}"{key}": {value}' + "}"
            yield from (written, f"```json\n{written}\n```")


def list_prompt_forms(prompt: str, column: str) -> Iterator[Form]:
    """Yield the forms that a prompt shows: its sections, in one line or several, with an ending inside or after them."""
    endings, sections = [*dict.fromkeys(list_endings(prompt, column))], list_sections(prompt)
    for ending in [*endings, "{}"] if sections else []:
        for line in ("", "\n"):
            *first, last = [f"{opening}{line}{WORKING}{line}{closing}" for opening, closing in sections]
            before, final = "".join(f"{one}\n" for one in first), last.replace(WORKING, ending)
            yield Form(answer=before + final + line, bare=True)
            yield Form(answer=f"{before}{last}\n{ending}", bare=True)
            yield Form(answer=final)
    yield from (Form(answer=f"{opening}{{}}{closing}") for opening, closing in sections)
    yield from (Form(answer=ending) for ending in endings)
    yield from (Form(answer=ending, bare=True) for ending in endings)


def list_usual_forms(column: str) -> list[Form]:
    """Return the usual forms. In JSON, the key may be the name of the column. Of two that are paid alike, the earlier one is used."""
    lines = ("think", "answer"), ("reasoning", "answer")
    written = [*WRITTEN, *write_keys((), "answer", column)]
    return [
        *(Form(answer=answer) for answer in written),
        *(Form(answer=answer, bare=True) for answer in written),
        *(Form(tags=("think",), answer=answer) for answer in written),
        *(Form(tags=tags, answer=answer) for tags in lines for answer in ("{}", "")),
        *(
            Form(answer=f"<{one}>\n{WORKING}\n</{one}>\n<{two}>\n{{}}\n</{two}>{end}", bare=True)
            for one, two in lines
            for end in ("", "\n")
        ),
    ]


def list_shown_forms(row: Row, column: str, texts: Sequence[str]) -> list[Form]:
    """Return the forms that a prompt shows, and that of the dataset's own completion around its answer."""
    prompt = read_prompt(row)
    shown = prompt if len(prompt) <= 2 * READ_CHARACTERS else prompt[:READ_CHARACTERS] + prompt[-READ_CHARACTERS:]
    forms = [*islice(dict.fromkeys(list_prompt_forms(shown, column)), PROMPT_FORMS)]
    before, found, after = completion_text(row.get("completion")).rpartition(texts[0])
    own = [Form(answer=f"{before}{{}}{after}", bare=True)] if found else []
    return [*own, *forms]
