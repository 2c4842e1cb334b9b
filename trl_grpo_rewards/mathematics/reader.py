r"""
Reading of an answer: its tokens become one value. A statement (a list, a relation, words) is split at its outermost
signs, and what is between them is read by precedence. Each token is looked at a fixed number of times for each level of
brackets, and the depth is limited.
"""

import functools
from fractions import Fraction

from .expressions import RELATION_SIGNS
from .items import ItemReader
from .names import name_derivative
from .operations import expand_plus_minus
from .tokens import MAX_DIGITS, Token, Unreadable, tokenize
from .values import (
    Collection,
    Dashed,
    Labelled,
    Number,
    Operation,
    Symbol,
    Text,
    Value,
)
from .words import (
    APPROXIMATELY,
    ASIDES,
    CHANGING,
    COMMA_ASIDES,
    CONDITIONS,
    LABEL_ENDS,
    LABELS,
    ORDINALS,
    find_number_word,
    is_label,
)


LEADING = {"=", "\\approx", "\\equiv", "\\to", "\\sim", "#", "*", "`", '"', ":", ",", "\\quad", "."}
TRAILING = {".", ",", ";", "*", "`", '"', "\\quad", "\\\\", ":", "?", "$"}
ANSWERS_WITH_REASON = {"yes", "no", "true", "false"}
TEXT_SIGNS = {*".,;:'-!?\"/&@%$"}
ABOUT_NUMBERS = {*"real numbers reals x values of the".split()}
MAX_TITLE_WORDS = 3
SENTENCE_WORDS = 4
"""Smallest number of different words of a text with mathematics that is read as words only."""

MAX_CACHED_CHARS = 2000
"""Maximum length of a text whose value is cached."""


def read(text: str) -> Value | None:
    r"""
    Return the value of an answer in LaTeX or plain text, or None if the text cannot be read.

    Reading takes time that is linear in the length of the text. No text raises an error.
    """
    return read_cached(text) if len(text) <= MAX_CACHED_CHARS else read_value(text)


def read_value(text: str) -> Value | None:
    tokens: list[Token] = []
    try:
        tokens = tokenize(text)
        return Reader(list(tokens)).read()
    except Unreadable:
        return (
            Text(tuple(token.text.casefold() for token in tokens)) if is_sentence(tokens) or is_title(tokens) else None
        )


def is_sentence(tokens: list[Token]) -> bool:
    """Whether the tokens are words with mathematics between them, which can only be compared word for word."""
    words = {token.text.casefold() for token in tokens if token.kind == "word" or token.text in ("\\max", "\\min")}
    return len(words) >= SENTENCE_WORDS or (len(words) > 1 and any(token.kind == "command" for token in tokens))


def is_title(tokens: list[Token]) -> bool:
    """Whether the tokens are a name with a number, such as `Statement 2` or `January 5, 2021`."""
    words = [token.text for token in tokens if token.kind == "word" and token.text not in ORDINALS]
    if not 1 <= len(words) <= MAX_TITLE_WORDS or not all(word.istitle() or word == "of" for word in words):
        return False
    if any(is_label(word.casefold()) or word.casefold() in CHANGING for word in words):
        return False
    others = [token for token in tokens if token.kind != "word"]
    return bool(others) and all(token.text.isdecimal() or token.text in (",", ".", "#") for token in others)


read_cached = functools.lru_cache(maxsize=1 << 14)(read_value)


class Reader(ItemReader):
    """Reads the tokens of one text: lists, relations, choices and words."""

    def read(self) -> Value:
        texts = [token.text for token in self.tokens[:2]]
        letter = ""
        if len(self.tokens) > 2 and is_choice_letter(texts[0]) and texts[1] == ")":
            letter, self.tokens = texts[0], self.tokens[2:]
        if len(self.tokens) == 1 and texts[0].isdecimal() and len(texts[0]) > MAX_DIGITS:
            return Text((texts[0].lstrip("0"),))
        if len(self.tokens) > 2 and (dashed := self.read_dashes()) is not None:
            return dashed
        self.turn_brackets()
        self.match_brackets()
        value = name_derivative(expand_plus_minus(self.read_statement(0, len(self.tokens))))
        return Labelled(letter, value) if letter else value

    def read_dashes(self) -> Value | None:
        """Return numbers that are joined by hyphens without space, such as `2020-01-02`, or by `to`."""
        numbers, signs = self.tokens[::2], self.tokens[1::2]
        if len(numbers) != len(signs) + 1 or not all(token.text.isdecimal() for token in numbers):
            return None
        joined = {token.text for token in signs}
        if joined == {"to"}:
            return Dashed(tuple(Fraction(token.text) for token in numbers), "to")
        is_joined = not any(token.spaced and not token.upright for token in self.tokens[1:])
        in_text = [token.upright for token in signs] == [True] * len(signs)
        if joined != {"-"} or (any(token.spaced for token in self.tokens[1:]) and not (is_joined or in_text)):
            return None
        return Dashed(tuple(Fraction(token.text) for token in numbers))

    def read_statement(self, start: int, end: int) -> Value:
        """Return the value of a range of tokens, which may be a list, a relation, a sentence or a single value."""
        start, end = self.trim(start, end)
        self.go_deeper()
        if start >= end:
            raise Unreadable("an empty statement")
        value = self.read_trimmed(start, self.cut_remark(start, end))
        self.depth -= 1
        return value

    def read_trimmed(self, start: int, end: int) -> Value:
        if (labelled := self.read_choice(start, end)) is not None:
            return labelled
        if (reply := self.read_reply(start, end)) is not None:
            return reply
        start = self.skip_label(start, end)
        if start >= end:
            raise Unreadable("a label only")
        return self.read_words(start, end) or self.read_exception(start, end) or self.read_list(start, end)

    def read_exception(self, start: int, end: int) -> Value | None:
        """Return the set that `all real numbers except 2` describes."""
        words = [text.casefold() for text in self.texts(start, end)]
        if words[0] != "all" or "except" not in words or not {*words[1 : words.index("except")]} <= ABOUT_NUMBERS:
            return None
        place = words.index("except") + 1
        excluded = self.read_list(start + place + (words[place : place + 1] == ["for"]), end)
        items = excluded.items if isinstance(excluded, Collection) and not excluded.brackets else (excluded,)
        return Operation("\\setminus", (Symbol("\\mathbb{R}"), Collection("{}", items)))

    def trim(
        self, start: int, end: int, leading: set[str] = LEADING, trailing: set[str] = TRAILING
    ) -> tuple[int, int]:
        """Return the range without the signs around it that mean nothing."""
        while start < end and self.tokens[start].text in leading:
            start += 1
        while start < end and self.tokens[end - 1].text in trailing and self.tokens[end - 2].text != "^":
            end -= 1
        return start, end

    def cut_remark(self, start: int, end: int) -> int:
        """Return the end of the range without a reason, a condition or a remark after the value."""
        for place in self.outermost(start + 1, end):
            if self.tokens[place].kind == "word" and self.starts_remark(place, end):
                return self.trim(start, place)[1]
        opening = self.match[end - 1]
        if self.tokens[end - 1].text != ")" or opening <= start or self.tokens[opening].text != "(":
            return end
        if self.tokens[opening - 1].text == "/":
            return end  # J/(kg K)
        inside = self.tokens[opening + 1 : end - 1]
        if inside and all(token.text.casefold() in APPROXIMATELY for token in inside):
            return self.trim(start, opening)[1]
        says_where = any(token.text == "\\in" for token in inside)
        begins_with_word = bool(inside) and inside[0].kind == "word" and inside[0].text.casefold() not in CHANGING
        says_why = begins_with_word and not all(token.kind == "word" for token in inside)
        return self.trim(start, opening)[1] if says_where or says_why else end

    def starts_remark(self, place: int, end: int) -> bool:
        word, before = self.tokens[place].text.casefold(), self.tokens[place - 1].text
        after = [text.casefold() for text in self.texts(place + 1, min(place + 2, end))]
        if word in ASIDES or (before == "," and word in COMMA_ASIDES):
            return True
        if word in ("for", "where"):
            return bool(after) and after[0] in CONDITIONS
        return word == "only" and not after

    def read_choice(self, start: int, end: int) -> Value | None:
        """Return the letter of a choice with its text: `B. Paris`, `(B) 12` or `B: 12`."""
        texts = self.texts(start, min(start + 4, end))
        if len(texts) > 3 and texts[0] == "(" and texts[2] == ")" and is_choice_letter(texts[1]):
            after = self.tokens[start + 3]
            is_name = after.kind in ("word", "number", "grouped") or (after.spaced and after.kind != "sign")
            if is_name and after.text.casefold() not in CHANGING:
                return Labelled(texts[1], self.read_statement(start + 3, end))
        if len(texts) > 2 and is_choice_letter(texts[0]) and texts[1] in (".", ":"):
            after = self.tokens[start + 2]
            if after.spaced or after.kind == "word":
                return Labelled(texts[0], self.read_statement(start + 2, end))
        return None

    def read_reply(self, start: int, end: int) -> Value | None:
        """Return the first word of `Yes, it is`."""
        texts = self.texts(start, min(start + 2, end))
        if len(texts) == 2 and texts[1] == "," and texts[0].casefold() in ANSWERS_WITH_REASON:
            return Text((texts[0].casefold(),))
        return None

    def skip_label(self, start: int, end: int) -> int:
        """Return where the value starts after words such as `The answer is` or `Maximum:`."""
        place = start
        while place < end and (
            self.tokens[place].kind == "word"
            or (place > start and self.tokens[place].text == "," and self.ends_label(start, place))
            or self.tokens[place].text == ":"
            or (self.tokens[place].text in ("\\max", "\\min") and self.texts(place + 1, place + 2) == [":"])
        ):
            place += 1
        words = [text.casefold().lstrip("\\") for text in self.texts(start, place) if text != ","]
        if place in (start, end) or self.tokens[place].text in RELATION_SIGNS:
            return start
        while words and words[-1] in APPROXIMATELY:
            words.pop()
        if not words:
            return place
        rest = {word for word in words[:-1] if word != ":"}
        if all(is_label(word) for word in words if word != ":"):
            return place
        if words[-1] in LABEL_ENDS:
            return start if rest & (CHANGING - {"than", "for", "a", "and", "equal"}) else place
        return start

    def ends_label(self, start: int, place: int) -> bool:
        """Whether a comma is part of a label, as in `Therefore, x = 7` and `Thus, the answer is 7`."""
        before = {text.casefold() for text in self.texts(start, place)}
        return before <= LABELS or self.texts(place + 1, place + 2) == ["the"]

    def read_words(self, start: int, end: int) -> Value | None:
        """Return a range that consists of words, or is a name such as `St. John's`, as words or as the number they are."""
        tokens = self.tokens[start:end]
        words = [token for token in tokens if token.kind == "word"]
        if not words or any(token.kind in ("number", "grouped", "command") for token in tokens):
            return None
        if any(token.kind == "sign" and token.text not in TEXT_SIGNS for token in tokens):
            return None
        if words[0].text.casefold() in ("all", "any") and any(token.text == "except" for token in tokens):
            return None
        if any(token.text in ("[", "{", "\\{") for token in tokens):
            return None
        separators = [here for here in range(start, end) if self.tokens[here].text in ("and", "or", ",", ";")]
        places = [start - 1, *separators, end]
        if separators and all(high - low <= 2 for low, high in zip(places, places[1:], strict=False)):
            return None  # a list of letters or words
        if separators and any(token.kind == "letter" and not token.upright for token in tokens):
            return None
        texts = tuple(token.text.casefold() for token in tokens if token.kind in ("word", "letter"))
        if texts == ("infinity",):
            return Symbol("\\infty")
        number = find_number_word(texts)
        return Text(texts) if number is None else Number(Fraction(number))


def is_choice_letter(text: str) -> bool:
    return len(text) == 1 and text in "ABCDEFGHIJ"
