"""Words: as an answer, as a label or a remark, and as the letter of an option with its text, such as `B. Paris`."""

import re
from dataclasses import dataclass
from itertools import accumulate, pairwise

from ..matching import Kind, Same
from ..reader import RELATION, Reader
from ..tokens import NUMBERS, Token
from ..values import INFINITY, Symbol, Value, make_number, operands_of
from ..words import GENERIC_NOUNS, changes, find_number_word, has_role, is_label, normalize_words
from .families import states_condition
from .lists import CHOICE_LETTERS, is_letter, text_at


@dataclass(frozen=True, slots=True)
class Choice(Value):
    """The letter of an option together with what it stands for."""

    letter: str
    value: Value


def find_choice(text: str, letters: str = CHOICE_LETTERS) -> re.Match[str] | None:
    """Return where a short text names the one letter that it chooses, as group 1. After a mark, the option's text follows."""
    text = text.translate({0x410: "A", 0x421: "C"}).rstrip(" .,;:*`")  # in Cyrillic
    text = re.sub(r"^\W?[a-z][).:](?=\W|\d|$)", lambda found: found[0].upper(), text)
    if re.match(r"\W?[A-Z]\. ?[A-Z]\.", text):  # initials of a name
        return None
    alone = re.fullmatch(r"\s*(?:(?i:option|choice)\s)?\W*([^\W\d_])\W*", text)
    if alone:
        text = alone[1].upper()
    if not text.isascii():  # Chinese, Japanese and Korean set no spaces between their words and a letter
        text = re.sub(r"(?=[\u2e80-\uffff])\w", "·", text)
    letter = rf"(?<![\w\\'])([{letters}])(?![\w'])"
    other = (
        rf"\s*,?\s*(?:or|and|(?:is|was) (?:not|wrong|incorrect|false))\b|\s*(?:[,/&]\s*[(\[]?|[(\[]){letter}"
        rf"|.*(?:{letter}[)\]:]|\b[A-Z]:)|\s*\S.*{letter}\."
    )
    first = re.match(
        rf"(?s)[\"*=\s]*(?:(?i:option|choice|answer):?\s*)?[(\[]?\s*{letter}\s*"
        rf"(?:[).:\]]++(?!{other})|[)\]]?(?:,? ?(?:because|since|not)\b| ?is (?:correct|right)\b))",
        text,
    )
    if first or re.search(
        r"(?i)\b(?:not|wrong|incorrect|false|but|except|neither|none|cannot)\b|n't\b|\?\W*no\b", text
    ):
        return first
    article = r"(?!(?<=[AI])\s(?!or\b|and\b|nor\b|is\b|because\b)[a-z])"
    named = [*re.finditer(f"{letter}{article}", text)]
    if len({one[1] for one in named}) != 1 or not is_chosen(text, named[-1]):
        return None
    return named[0]


IN_FORMULA_BEFORE = re.compile(
    r"(?:[\^_+*/<>|√∆Δ∇]|(?<![A-Za-z]{2})-|\\(?!q?quad|[A-Za-z]*arrow|implies|to\b|therefore|checkmark)[A-Za-z]+)[\s{(\[]*$"
)
IN_FORMULA_AFTER = re.compile(
    r"\s*[\^_+*<>|=]|-(?=\d|[A-Za-z](?![A-Za-z ]))|\((?![A-Za-z]{2,}|\d)|\s*\\(?:[lg]e|times|cdot|approx|in|to|perp)\b"
)
CUE = re.compile(
    r"(?i)\b(?:options?|choices?|answers?|letters?|is|are|be|choose|chose|pick|select(?:ed)?)\b\W*$|[:=：]\W*$"
)
VERDICT = re.compile(
    r"(?i)\s+(?:is|was|are|(?:would|must|should|has to|seems to|can only) be|seems|looks)\s+(?:\w+\s+){0,2}"
    r"(?:correct|right|best|true|answers?|only|choice|option|most|because|since)\b"
)


def is_chosen(text: str, found: re.Match[str]) -> bool:
    """Whether a letter in a text is the one that is chosen, and no symbol of a formula or subject of a sentence."""
    before = text[: found.start()]
    after = text[found.end() :]
    if IN_FORMULA_BEFORE.search(before[-40:]) or IN_FORMULA_AFTER.match(after):
        return False
    goes_on = re.match(r"\s+[a-z]{2,}", after)
    return not goes_on or bool(CUE.search(before[-40:]) or VERDICT.match(after))


def split_choice(tokens: list[Token]) -> tuple[str, list[Token]] | None:
    """Return the letter and the text of an option such as `B. Paris`, `(B) 12`, `B: 12` or `B) 12`, but no product."""
    if {*CHOICE_LETTERS}.isdisjoint(token.text for token in tokens[:4]):
        return None
    parts = [f" {token.text}" if token.spaced else token.text for token in tokens]
    found = find_choice("".join(parts))
    if found is None or found[0][-1] not in ").:]":
        return None
    rest = tokens[sum(length <= found.end() for length in accumulate(map(len, parts))) :]
    if not rest or not is_text_of_option(found[0], rest[0]):
        return None
    return found[1], rest


def is_text_of_option(mark: str, first: Token) -> bool:
    """Whether the text after `B.`, `(B)` or `B)` is that of an option, and the letter is no factor of it."""
    is_open = not {"(", "["}.isdisjoint(mark)
    if is_open and first.kind == "sign":
        return False
    if first.spaced or first.kind == "word":
        return True
    if mark[-1] not in ")]":
        return False
    return not is_open or first.kind in NUMBERS


def match_choices(gold: Value, answer: Value, same: Same) -> bool | None:
    if isinstance(gold, Choice) and isinstance(answer, Choice):
        return gold.letter == answer.letter
    if isinstance(gold, Choice):
        return answer == Symbol(gold.letter) or same(gold.value, answer)
    assert isinstance(answer, Choice)
    if is_letter(gold):
        return gold == Symbol(answer.letter)
    return same(gold, answer.value)


CHOICES = Kind(lambda value: isinstance(value, Choice), match_choices)
SENTENCE_WORDS = 4  # smallest number of different words of a text with mathematics that is read as words only
MAX_TITLE_WORDS = 3
# The formula of a compound or an ion, such as `H_2O`, `Ca(OH)_2` and `SO_4^2-`.
FORMULA = re.compile(r"(?=.*[\d+-])(?:[A-Z][a-z]?(?:_?\d++)?|\(|\)(?:_?\d++)?)+(?:\^?\d*[+-])?")
TEXT_SIGNS = {*".,;:'-!?\"/&@%$"}
SHORT_REPLIES = {"yes", "no", "true", "false"}  # answers that may have a reason after a comma


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
    if not FORMULA.fullmatch(formula):
        return None
    return Text((re.sub(r"(?<=[a-z)])(?=\d)", "_", formula.casefold()),))


def fold(tokens: list[Token]) -> tuple[str, ...]:
    return tuple(one.text if one.text == "A" and place else one.text.casefold() for place, one in enumerate(tokens))


def is_sentence(tokens: list[Token]) -> bool:
    words = {token.text.casefold() for token in tokens if token.kind == "word" or token.text in ("\\max", "\\min")}
    if len(words) >= SENTENCE_WORDS:
        return True
    if len(words) <= 1:
        return False
    return any(token.kind == "command" for token in tokens)


def is_title(tokens: list[Token]) -> bool:
    """Whether the tokens are a name with a number, such as `Statement 2` or `January 5, 2021`."""
    words = [token.text for token in tokens if token.kind == "word" and not has_role(token.text, "ordinal")]
    if not 1 <= len(words) <= MAX_TITLE_WORDS or not all(map(is_title_word, words)):
        return False
    others = [token.text for token in tokens if token.kind != "word"]
    return bool(others) and all(map(is_number_of_title, others))


def is_number_of_title(text: str) -> bool:
    return text.isdecimal() or text in (",", ".", "#")


def is_title_word(word: str) -> bool:
    if is_label(word.casefold()) or (changes(word) and word != "No"):  # No. 7
        return False
    return word.istitle() or word == "of"


def read_words(reader: Reader) -> Value | None:
    """Return a range that consists of words, or is a name such as `St. John's`, as words or as the number they are."""
    tokens = reader.tokens[find_label(reader) : reader.end]
    if any(map(is_mathematical, tokens)) or lists_words(tokens):
        return None
    if not any(token.kind == "word" for token in tokens):
        return None
    reader.place = reader.end
    return make_words(fold([token for token in tokens if token.kind in ("word", "letter")]))


def is_mathematical(token: Token) -> bool:
    if token.kind == "sign":
        return token.text not in TEXT_SIGNS
    return token.kind in ("number", "grouped", "command") or token.text in ("[", "{", "\\{")


def lists_words(tokens: list[Token]) -> bool:
    """Whether a separator is among tokens that are single words or letters, or of which some are letters of formulas."""
    separators = [place for place, token in enumerate(tokens) if token.text in ("and", "or", ",", ";")]
    if not separators:
        return False
    if any(token.kind == "letter" and not token.upright for token in tokens):
        return True
    return all(high - low <= 2 for low, high in pairwise([-1, *separators, len(tokens)]))


def make_words(texts: tuple[str, ...]) -> Value:
    if normalize_words(texts) == ("infinity",):
        return INFINITY
    is_negative = has_role(texts[0], "minus")
    number = find_number_word(texts[is_negative:])
    if number is None:
        return Text(texts)
    return make_number(-number if is_negative else number)


def read_first_word(reader: Reader) -> Value | None:
    """Return the first word of `Yes, it is`."""
    word, comma = reader.ahead(2)
    if word.casefold() not in SHORT_REPLIES or comma != ",":
        return None
    reader.place = reader.end
    return Text((word.casefold(),))


def find_label(reader: Reader) -> int:
    """Return the place after the label that starts here, such as `the answer is`, or this place if there is none."""
    start = reader.place
    place = start
    while place < reader.end and continues_label(reader, place):
        place += 1
    if place in (start, reader.end) or any(reader.find_infixes(place, RELATION, RELATION)):
        return start
    words = [text.casefold().lstrip("\\") for text in reader.texts(start, place) if text != ","]
    return place if is_label_phrase(words) else start


def continues_label(reader: Reader, place: int) -> bool:
    token = reader.tokens[place]
    if token.kind == "word" or token.text == ":":
        return True
    if token.text == ",":
        return place > reader.place and ends_label(reader, place)
    if token.text not in ("\\max", "\\min"):
        return False
    return reader.texts(place + 1, place + 2) == [":"]


def is_label_phrase(words: list[str]) -> bool:
    """Whether words only lead to a value: they are labels, or end in a verb. A word such as `approximately` may follow."""
    while words and has_role(words[-1], "rounding"):
        words.pop()
    if all(is_label(word) or word == ":" for word in words):
        return True
    if not has_role(words[-1], "verb"):
        return False
    return not any(map(bars_label, words[:-1]))


def bars_label(word: str) -> bool:
    return has_role(word, "rounding") or (changes(word) and not has_role(word, "noun phrase"))


def ends_label(reader: Reader, place: int) -> bool:
    """Whether a comma is part of a label, as in `Therefore, x = 7` and `Thus, the answer is 7`."""
    before = reader.texts(reader.place, place)
    if reader.texts(place + 1, place + 2) == ["the"]:
        return True
    return all(has_role(text, "label") for text in before)


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
    word = reader.tokens[place].text
    before = reader.tokens[place - 1].text
    if states_condition(reader, place) or (word.casefold() == "so" and concludes(reader, place)):
        return False
    if has_role(word, "reason") or (before == "," and has_role(word, "reason after a comma")):
        return True
    after = text_at(reader, place + 1)
    if word.casefold() in ("for", "where"):
        return has_role(after, "quantifier")
    return word.casefold() == "only" and not after


def concludes(reader: Reader, place: int) -> bool:
    """Whether the text from a place on has other numbers than the text before it, as in `x = 3, so y = 5`."""
    before = find_numerals(reader.tokens[reader.place : place])
    return not find_numerals(reader.tokens[place : reader.end]) <= before


def find_numerals(tokens: list[Token]) -> set[str]:
    return {token.text for token in tokens if token.kind in NUMBERS}


def encloses_remark(reader: Reader, place: int) -> bool:
    """Whether brackets after a value only say more about it, as in `5 (approximately)` and `5 (because x = 2)`."""
    closing = reader.match[place]
    inside = reader.tokens[place + 1 : closing]
    if not inside or reader.tokens[place - 1].text == "/" or inside[0].kind != "word":
        return False
    if all(has_role(token.text, "rounding") for token in inside):
        return True
    is_last = closing + 1 == reader.end
    if not is_last:
        return False
    if changes(inside[0].text):
        return False
    return not all(token.kind == "word" for token in inside)


def skip_brackets(reader: Reader, value: Value) -> Value:
    reader.place = reader.match[reader.place] + 1
    return value


# --- comparison
def match_texts(gold: Value, answer: Value, same: Same) -> bool:
    """Compare words without case, articles and plural. An answer may add a noun such as `function` to an adjective."""
    if not isinstance(gold, Text):
        if not isinstance(answer, Text):
            return False
        return are_letters(gold, answer)
    if not isinstance(answer, Text):
        return are_letters(answer, gold)
    words = normalize_words(gold.words)
    its_words = normalize_words(answer.words)
    if words == its_words or " ".join(gold.words).casefold() == " ".join(answer.words).casefold():
        return True
    if words != its_words[:-1]:
        return False
    return its_words[-1] in GENERIC_NOUNS


def are_letters(value: Value, text: Text) -> bool:
    return "".join(text.words).casefold() == "".join(list_letters(value)).casefold()


def list_letters(value: Value) -> list[str]:
    r"""Return the names in a product, or the parts of a name: `\text{ABC}` is `ABC`, and `triangle ABC` is `\triangle ABC`."""
    if isinstance(value, Symbol):
        return value.name.split()
    operands = operands_of(value, "*")
    names = [operand.name for operand in operands if isinstance(operand, Symbol)]
    if len(names) == len(operands):
        return names
    return []


TEXT_VALUES = Kind(lambda value: isinstance(value, Text), match_texts)
