"""Whether an answer is right, as far as its text settles it, and what math-verify is not asked about."""

import re

from ..mathematics.grammar import MAX_CACHED_CHARS, read
from ..mathematics.kinds import compare, is_open
from ..mathematics.kinds.choices import find_choice
from ..mathematics.kinds.lists import LETTERS, is_letter
from ..mathematics.matching import AnswerRules
from ..mathematics.rationals import evaluate_exactly
from ..mathematics.tokens import Unreadable, spell, tokenize
from ..mathematics.values import Symbol, Value
from .statements import read_braced


INTEGER = re.compile(r"[+-]?\d{1,4300}")  # Python does not read longer ones
BRACED = re.compile(r"\{(\w)\}")  # `x^{2}` is `x^2`
BESIDE = re.compile(r"(?:(?<![_^\d])\d+|\\circ)\s+\d+(?!\d*/)")
"""Numbers side by side, which math-verify adds. A mixed number such as `1 1/2` and an index are none."""

OPERATION = re.compile(r"\w[-+*/^!\\(]|\\[a-z]")

CHOICE = re.compile(r"(?:(?i:option|choice|answer):? ?)?[(\[]?[A-Ja-j](?:[)\].:(,\s][^-+*/^=<>_\\!|]*)?")
"""A letter, also with words after it, but without operations."""


def is_readable(gold: str) -> bool:
    """Return whether a gold answer can be read here, so that it equals itself. If not, a second opinion is asked."""
    return INTEGER.fullmatch(gold) is not None or read(gold) is not None


def settle(gold: str, answer: str, rules: AnswerRules) -> bool | None:
    """Return whether an answer equals the gold answer, or None: of a gold that cannot be read, no answer is settled."""
    if rules.tolerance is None and INTEGER.fullmatch(gold) and INTEGER.fullmatch(answer):
        return int(gold) == int(answer)
    right = read(gold)
    if right is None:
        return None
    given = read(answer)
    if given is None:
        return True if is_letter(right) and chooses(answer, right) else False if rules.evaluated else None
    verdict = compare(right, given, rules)
    if verdict is False and is_letter(right):
        verdict = chooses(answer, right)
    if verdict is not False and rules.evaluated and is_open(given) and not is_open(right):
        return False
    return verdict


def chooses(answer: str, letter: Value) -> bool:
    """Return whether a text without operations names the letter of a choice first, such as `B (12)`, and no other letter."""
    text = spell(answer)
    return CHOICE.fullmatch(text) is not None and Symbol(find_letter(text) or "") == letter


def find_letter(text: str, letters: str = LETTERS) -> str | None:
    """Return the letter that a short text chooses, or None if it chooses no letter or several."""
    found = find_choice(spell(text).replace("*", ""), letters)
    return found and found[1]


def is_unfit(text: str) -> bool:
    """Return whether a text is too long for math-verify, has a stray brace or numbers side by side, or is no mathematics."""
    if len(text) > MAX_CACHED_CHARS or read_braced(f"{{{text}}}") != text or BESIDE.search(spell(text)):
        return True
    if read(text) is not None:
        return False
    try:
        return any(token.kind == "word" for token in tokenize(text))
    except Unreadable:
        return True


def is_restated(answer: str, question: str) -> bool:
    """Return whether an answer that contains operations is copied from the question."""
    value = read(answer)
    is_worked_out = value is not None and evaluate_exactly(value) is not None and not is_open(value)
    answer = BRACED.sub(r"\1", spell(answer).replace(" ", ""))
    if is_worked_out or not OPERATION.search(answer):
        return False
    start = r"(?<![\w\\])" if answer[0].isalnum() else ""
    copied = " ?".join(map(re.escape, answer))
    return re.search(rf"{start}{copied}(?!\w)", BRACED.sub(r"\1", set_words_apart(question))) is not None


def set_words_apart(text: str) -> str:
    """Return the spelling of a text without spaces, except for those next to words."""
    try:
        tokens = tokenize(text)
    except Unreadable:
        return spell(text)
    parts, is_word = "", False
    for token in tokens:
        was_word, is_word = is_word, len(token.text) > 1 and token.text.isalpha()
        parts += " " * (token.spaced and (is_word or was_word)) + token.text
    return parts
