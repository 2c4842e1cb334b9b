"""Words: as an answer, as a label before a value, and as a remark after one."""

import re
from dataclasses import dataclass

from ..matching import Kind, Same, Verdict
from ..reader import RELATION, Reader
from ..tokens import Token
from ..values import INFINITY, Name, Operation, Symbol, Value, make_number
from ..words import GENERIC_NOUNS, changes, find_number_word, has_role, is_label, normalize_words
from .families import states_condition


SENTENCE_WORDS = 4
"""Smallest number of different words of a text with mathematics that is read as words only."""

MAX_TITLE_WORDS = 3
FORMULA = re.compile(r"(?=.*[\d+-])(?:[A-Z][a-z]?(?:_?\d+)?|\(|\)(?:_?\d+)?)+(?:\^?\d*[+-])?")
"""The formula of a compound or an ion, such as `H_2O`, `Ca(OH)_2` and `SO_4^2-`."""

TEXT_SIGNS = {*".,;:'-!?\"/&@%$"}
REPLIES = {"yes", "no", "true", "false"}
"""Answers that may have a reason after a comma."""


@dataclass(frozen=True, slots=True)
class Text(Value):
    """Words, in lower case, except for an `A` that may be a name since it stands after a noun: `Group A streptococcus`."""

    words: tuple[str, ...]


# --- reading


def read_as_text(tokens: list[Token]) -> Text | None:
    """Return a sentence, a title or a formula that cannot be read otherwise, which can only be compared word for word."""
    texts = fold(tokens)
    if is_sentence(tokens) or is_title(tokens):
        return Text(texts)
    formula = "".join(token.text for token in tokens if token.text not in "{}")
    return Text((re.sub(r"(?<=[a-z)])(?=\d)", "_", formula.casefold()),)) if FORMULA.fullmatch(formula) else None


def fold(tokens: list[Token]) -> tuple[str, ...]:
    """Return texts in lower case, except for an `A` after another word."""
    return tuple(one.text if one.text == "A" and place else one.text.casefold() for place, one in enumerate(tokens))


def is_sentence(tokens: list[Token]) -> bool:
    words = {token.text.casefold() for token in tokens if token.kind == "word" or token.text in ("\\max", "\\min")}
    return len(words) >= SENTENCE_WORDS or (len(words) > 1 and any(token.kind == "command" for token in tokens))


def is_title(tokens: list[Token]) -> bool:
    """Whether the tokens are a name with a number, such as `Statement 2` or `January 5, 2021`."""
    words = [token.text for token in tokens if token.kind == "word" and not has_role(token.text, "ordinal")]
    if not 1 <= len(words) <= MAX_TITLE_WORDS or not all(word.istitle() or word == "of" for word in words):
        return False
    if any(is_label(word.casefold()) or (changes(word) and word != "No") for word in words):  # No. 7
        return False
    others = [token for token in tokens if token.kind != "word"]
    return bool(others) and all(token.text.isdecimal() or token.text in (",", ".", "#") for token in others)


def read_words(reader: Reader) -> Value | None:
    """Return a range that consists of words, or is a name such as `St. John's`, as words or as the number they are."""
    start, end = find_label(reader), reader.end
    tokens = reader.tokens[start:end]
    words = [token for token in tokens if token.kind == "word"]
    if not words or any(token.kind in ("number", "grouped", "command") for token in tokens):
        return None
    if any(token.kind == "sign" and token.text not in TEXT_SIGNS for token in tokens):
        return None
    if any(token.text in ("[", "{", "\\{") for token in tokens):
        return None
    separators = [here for here in range(start, end) if reader.tokens[here].text in ("and", "or", ",", ";")]
    places = [start - 1, *separators, end]
    if separators and all(high - low <= 2 for low, high in zip(places, places[1:], strict=False)):
        return None  # a list of letters or words
    if separators and any(token.kind == "letter" and not token.upright for token in tokens):
        return None
    reader.place = end
    texts = fold([token for token in tokens if token.kind in ("word", "letter")])
    negative = has_role(texts[0], "minus")
    number = find_number_word(texts[negative:])
    if number is None:
        return INFINITY if normalize_words(texts) == ("infinity",) else Text(texts)
    return make_number(-number if negative else number)


def read_first_word(reader: Reader) -> Value | None:
    """Return the first word of `Yes, it is`."""
    word, comma = reader.ahead(2)
    if word.casefold() not in REPLIES or comma != ",":
        return None
    reader.place = reader.end
    return Text((word.casefold(),))


def find_label(reader: Reader) -> int:
    """Return where the value starts after words such as `The answer is` or `Maximum:`."""
    start, end, tokens = reader.place, reader.end, reader.tokens
    place = start
    while place < end and (
        tokens[place].kind == "word"
        or tokens[place].text == ":"
        or (place > start and tokens[place].text == "," and ends_label(reader, place))
        or (tokens[place].text in ("\\max", "\\min") and reader.texts(place + 1, place + 2) == [":"])
    ):
        place += 1
    if place in (start, end) or any(reader.find_infixes(place, RELATION, RELATION)):
        return start
    words = [text.casefold().lstrip("\\") for text in reader.texts(start, place) if text != ","]
    while words and has_role(words[-1], "rounding"):
        words.pop()
    if all(is_label(word) or word == ":" for word in words):
        return place
    is_barred = any(
        changes(word) and not has_role(word, "noun phrase") or has_role(word, "rounding") for word in words[:-1]
    )
    return place if has_role(words[-1], "verb") and not is_barred else start


def ends_label(reader: Reader, place: int) -> bool:
    """Whether a comma is part of a label, as in `Therefore, x = 7` and `Thus, the answer is 7`."""
    before = reader.texts(reader.place, place)
    return all(has_role(text, "label") for text in before) or reader.texts(place + 1, place + 2) == ["the"]


def skip_label(reader: Reader) -> None:
    """Let the statement begin after its label. A label with a colon may name one of several values."""
    place = find_label(reader)
    if reader.texts(place - 1, place) != [":"]:
        reader.start = reader.place = place


def skip_remark(reader: Reader) -> None:
    """Let the statement end before a reason, a condition or another remark in words."""
    for place in reader.outermost(reader.place, reader.end):
        if place > reader.place and reader.tokens[place].kind == "word" and starts_remark(reader, place):
            reader.end = reader.trim(reader.place, place)[1]
            return


def starts_remark(reader: Reader, place: int) -> bool:
    word, before = reader.tokens[place].text, reader.tokens[place - 1].text
    if states_condition(reader, place):
        return False
    if has_role(word, "reason") or (before == "," and has_role(word, "reason after a comma")):
        return True
    after = reader.texts(place + 1, min(place + 2, reader.end))
    if word.casefold() in ("for", "where"):
        return bool(after) and has_role(after[0], "quantifier")
    return word.casefold() == "only" and not after


def encloses_remark(reader: Reader, place: int) -> bool:
    """Whether brackets after a value only say more about it, as in `5 (approximately)` and `5 (because x = 2)`."""
    closing = reader.match[place]
    inside = reader.tokens[place + 1 : closing]
    if not inside or reader.tokens[place - 1].text == "/" or inside[0].kind != "word":
        return False
    if all(has_role(token.text, "rounding") for token in inside):
        return True
    return (
        closing + 1 == reader.end and not changes(inside[0].text) and not all(token.kind == "word" for token in inside)
    )


def skip_brackets(reader: Reader, value: Value) -> Value:
    reader.place = reader.match[reader.place] + 1
    return value


# --- comparison


def match_texts(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare words without case, articles and plural. An answer may add a noun such as `function` to an adjective."""
    if isinstance(gold, Text) and isinstance(answer, Text):
        words, its_words = normalize_words(gold.words), normalize_words(answer.words)
        is_same = words == its_words or " ".join(gold.words).casefold() == " ".join(answer.words).casefold()
        return is_same or (words == its_words[:-1] and its_words[-1] in GENERIC_NOUNS)
    text, other = (gold, answer) if isinstance(gold, Text) else (answer, gold)
    return isinstance(text, Text) and "".join(text.words).casefold() == "".join(list_letters(other)).casefold()


def list_letters(value: Value) -> list[str]:
    r"""Return the names in a product, or the parts of a name: `\text{ABC}` is `ABC`, and `triangle ABC` is `\triangle ABC`."""
    if isinstance(value, Name):
        return value.name.split()
    operands = value.operands if isinstance(value, Operation) and value.name == "*" else ()
    names = [operand.name for operand in operands if isinstance(operand, Symbol)]
    return names if len(names) == len(operands) else []


TEXTS = Kind(lambda value: isinstance(value, Text), match_texts)
