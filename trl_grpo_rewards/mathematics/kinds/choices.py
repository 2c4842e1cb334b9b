"""Choices: the letter of an option together with its text, such as `B. Paris`."""

from dataclasses import dataclass
from itertools import pairwise

from ..matching import Kind, Same, Verdict
from ..reader import Reader
from ..values import Symbol, Value
from .texts import Text


LETTERS = "ABCDEFGHIJ"
JOINERS = {"and", "or"}


@dataclass(frozen=True, slots=True)
class Choice(Value):
    """The letter of an option together with what it stands for."""

    letter: str
    value: Value


def is_choice_letter(text: str) -> bool:
    return len(text) == 1 and text in LETTERS


def strip_letter(reader: Reader) -> str:
    """Take the letter of an option with a bracket from the tokens, as in `B) 12`, and return it."""
    texts = reader.texts(0, 3)
    if len(texts) < 3 or not is_choice_letter(texts[0]) or texts[1] != ")":
        return ""
    del reader.tokens[:2]
    reader.end = len(reader.tokens)
    return texts[0]


def read_choice(reader: Reader) -> Value | None:
    """Return the letter of an option with its text: `B. Paris`, `(B) 12` or `B: 12`."""
    start, texts = reader.place, reader.ahead(4)
    if texts[0] == "(" and texts[2] == ")" and is_choice_letter(texts[1]) and texts[3]:
        after = reader.tokens[start + 3]
        is_text = after.kind in ("word", "number", "grouped") or (after.spaced and after.kind != "sign")
        if is_text and after.text.casefold() not in JOINERS:
            return finish_choice(reader, texts[1], start + 3)
    if is_choice_letter(texts[0]) and texts[1] in (".", ":") and texts[2]:
        after, rest = reader.tokens[start + 2], reader.texts(start + 2, reader.end)
        are_names = any(
            len(one) == 1 and one.isupper() and other == ":" for one, other in pairwise(rest)
        )  # A: 3, B: 5
        is_name = len(after.text) == 1 and texts[3] == "."  # J. S. Bach
        if not are_names and not is_name and (after.spaced or after.kind == "word"):
            return finish_choice(reader, texts[0], start + 2)
    return None


def finish_choice(reader: Reader, letter: str, start: int) -> Choice:
    value = reader.attempt(lambda reader: reader.statement(start, reader.end))
    text = Text(tuple(text.casefold() for text in reader.texts(start, reader.end)))
    reader.place = reader.end
    return Choice(letter, value or text)


def match_choices(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare choices: the letter alone, or what it stands for, is enough."""
    if isinstance(gold, Choice) and isinstance(answer, Choice):
        return gold.letter == answer.letter
    if isinstance(gold, Choice):
        return answer == Symbol(gold.letter) or same(gold.value, answer)
    assert isinstance(answer, Choice)
    if isinstance(gold, Symbol) and is_choice_letter(gold.name):
        return gold.name == answer.letter
    return same(gold, answer.value)


CHOICES = Kind(lambda value: isinstance(value, Choice), match_choices)
