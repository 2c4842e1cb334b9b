"""Choices: the letter of an option, alone or together with its text, such as `B. Paris`."""

import re
from dataclasses import dataclass
from itertools import accumulate

from ..matching import Kind, Same, Verdict
from ..tokens import NUMBERS, Token
from ..values import Symbol, Value
from .lists import LETTERS, is_letter


@dataclass(frozen=True, slots=True)
class Choice(Value):
    """The letter of an option together with what it stands for."""

    letter: str
    value: Value


def find_choice(text: str, letters: str = LETTERS) -> re.Match[str] | None:
    """Return where a short text names the one letter that it chooses, as group 1. After a mark, the option's text follows."""
    text = text.translate({0x410: "A", 0x421: "C"}).rstrip(" .,;:*`")  # in Cyrillic
    text = re.sub(r"^\W?[a-z][).:](?=\W|\d|$)", lambda found: found[0].upper(), text)
    if re.match(r"\W?[A-Z]\. ?[A-Z]\.", text):  # initials of a name
        return None
    alone = re.fullmatch(r"\s*(?:(?i:option|choice)\s)?\W*([^\W\d_])\W*", text)
    text = alone[1].upper() if alone else text
    letter = rf"(?<!(?![\u2e80-\uffff])[\w\\'])([{letters}])(?!(?![\u2e80-\uffff])[\w'])"
    other = (
        rf"\s*,?\s*(?:or|and|(?:is|was) (?:not|wrong|incorrect|false))\b|\s*(?:[,/&]\s*[(\[]?|[(\[]){letter}"
        rf"|.*(?:{letter}[)\]:]|\b[A-Z]:)|\s*\S.*{letter}\."
    )
    first = re.match(
        rf"(?s)[\"*=\s]*(?:(?i:option|choice|answer):?\s*)?[(\[]?\s*{letter}\s*"
        rf"(?:[).:\]]++(?!{other})|[)\]]?(?:,? ?(?:because|since|not)\b| ?is (?:correct|right)\b))",
        text,
    )
    if first or re.search(r"(?i)\b(?:not|wrong|incorrect|false|but|except|neither|none|cannot)\b|n't\b", text):
        return first
    article = r"(?!(?<=[AI])\s(?!or\b|and\b|nor\b|is\b|because\b)[a-z])"
    named = [*re.finditer(f"{letter}{article}", text)]
    return named[0] if len({one[1] for one in named}) == 1 else None


def split_choice(tokens: list[Token]) -> tuple[str, list[Token]] | None:
    """Return the letter and the text of an option such as `B. Paris`, `(B) 12`, `B: 12` or `B) 12`, but no product."""
    if {*LETTERS}.isdisjoint(token.text for token in tokens[:4]):
        return None
    parts = [" " * token.spaced + token.text for token in tokens]
    found = find_choice("".join(parts))
    if found is None or found[0][-1] not in ").:]":
        return None
    rest = tokens[sum(length <= found.end() for length in accumulate(map(len, parts))) :]
    is_open, is_closed = {*"(["} & {*found[0]}, found[0][-1] in ")]"
    if not rest or (is_open and rest[0].kind == "sign"):
        return None
    is_apart = rest[0].spaced or rest[0].kind == "word" or (is_closed and (not is_open or rest[0].kind in NUMBERS))
    return (found[1], rest) if is_apart else None


def match_choices(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare choices: the letter alone, or what it stands for, is enough."""
    if isinstance(gold, Choice) and isinstance(answer, Choice):
        return gold.letter == answer.letter
    if isinstance(gold, Choice):
        return answer == Symbol(gold.letter) or same(gold.value, answer)
    assert isinstance(answer, Choice)
    if is_letter(gold):
        return gold == Symbol(answer.letter)
    return same(gold, answer.value)


CHOICES = Kind(lambda value: isinstance(value, Choice), match_choices)
