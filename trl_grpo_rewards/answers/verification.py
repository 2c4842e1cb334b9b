"""Whether an answer is right: by its text, else by the opinion of math-verify, without ever hanging."""

import functools
import logging
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from . import second_opinion
from .mathematics.evaluation import evaluate_exactly, evaluate_parts, is_too_large
from .mathematics.grammar import MAX_CACHED_CHARS, has_unknown_command, is_oversized, read
from .mathematics.kinds import compare_values, is_open
from .mathematics.kinds.lists import CHOICE_LETTERS, is_letter, is_list
from .mathematics.kinds.texts import find_choice
from .mathematics.matching import AnswerRules
from .mathematics.tokens import Unreadable, spell_symbols, tokenize
from .mathematics.values import Symbol, Value
from .mathematics.work import MOST_WORK, OutOfWork, estimate_work, limit_work
from .statements import read_braced


WHOLE_NUMBER = re.compile(r"[+-]?\d{1,4300}")  # Python does not read longer ones
BRACED = re.compile(r"\{(\w)\}")  # `x^{2}` is `x^2`
SIDE_BY_SIDE = re.compile(r"(?:(?<![_^\d])\d+|\\circ)\s+\d+(?!\d*/)")  # math-verify adds them; mixed numbers are none
TIGHT = re.compile(r"\d+(?:,\d+)+|\d+(?: \d+)+")  # integers with separators, as in `16,191`
OPERATION = re.compile(r"\w[-+*/^!\\(]|\\[a-z]")
# A letter, also with words after it, but without operations.
CHOICE = re.compile(r"(?:(?i:option|choice|answer):? ?)?[(\[]?[A-Ja-j](?:[)\].:(,\s][^-+*/^=<>_\\!|]*)?")


def is_readable(gold: str) -> bool:
    return WHOLE_NUMBER.fullmatch(gold) is not None or read(gold) is not None


@functools.lru_cache(maxsize=1 << 14)
def costs_too_much(gold: str) -> bool:
    """Whether it costs so much to work a gold answer out that nothing could be compared with it."""
    value = read(gold)
    if value is None or estimate_work(value) < MOST_WORK // 16:
        return False
    try:
        with limit_work(MOST_WORK // 2):
            evaluate_parts(value)
    except OutOfWork:
        return True
    return False


def settle(gold: str, answer: str, rules: AnswerRules) -> bool | None:
    """Return whether an answer equals the gold answer, or None: of a gold that cannot be read, no answer is settled."""
    gold_value = read(gold)
    if gold_value is None:
        return None
    answer_value = read(answer)
    if answer_value is None:
        return settle_unread(answer, gold_value, rules)
    verdict = compare_values(gold_value, answer_value, rules)
    if verdict is False:
        verdict = compare_otherwise(gold, answer, gold_value, answer_value, rules)
    if verdict is not False and rules.evaluated and is_open(answer_value) and not is_open(gold_value):
        return False
    return verdict


def settle_unread(answer: str, gold_value: Value, rules: AnswerRules) -> bool | None:
    if is_letter(gold_value) and chooses(answer, gold_value):
        return True
    return False if rules.evaluated else None


def compare_otherwise(
    gold: str, answer: str, gold_value: Value, answer_value: Value, rules: AnswerRules
) -> bool | None:
    """Compare what two unequal texts may also be: a letter with its choice after it, and numbers that are a list."""
    if is_letter(gold_value) and chooses(answer, gold_value):
        return True
    if not is_list(gold_value) or not (TIGHT.fullmatch(gold) or TIGHT.fullmatch(answer)):
        return False
    return compare_values(read(part_numbers(gold)) or gold_value, read(part_numbers(answer)) or answer_value, rules)


def part_numbers(text: str) -> str:
    """Return `16,191` as the list `16, 191`, `16 191` as the row of these two, and any other text unchanged."""
    if TIGHT.fullmatch(text):
        return text.replace(" ", "\n").replace(",", ", ")
    return text


def chooses(answer: str, letter: Value) -> bool:
    """Return whether a text without operations names the letter of a choice first, such as `B (12)`, and no other letter."""
    text = spell_symbols(answer)
    if CHOICE.fullmatch(text) is None:
        return False
    return Symbol(find_letter(text) or "") == letter


def find_letter(text: str, letters: str = CHOICE_LETTERS) -> str | None:
    """Return the letter that a short text chooses, or None if it chooses no letter or several."""
    choice = find_choice(spell_symbols(text).replace("*", ""), letters)
    return choice and choice[1]


def is_unfit(text: str) -> bool:
    """
    Return whether math-verify must not be asked about a text, because it is too long, too large, or no mathematics.

    A text with stray braces, or with two numbers side by side, is not mathematics.
    """
    if len(text) > MAX_CACHED_CHARS or read_braced(f"{{{text}}}") != text or SIDE_BY_SIDE.search(spell_symbols(text)):
        return True
    value = read(text)
    if value is not None:
        return is_too_large(value)
    try:
        tokens = tokenize(text)
    except Unreadable:
        return True
    return any(token.kind == "word" for token in tokens) or has_unknown_command(tokens) or is_oversized(tokens)


def is_restated(answer: str, question: str) -> bool:
    """Return whether an answer that contains operations is copied from the question."""
    value = read(answer)
    try:
        with limit_work():
            is_worked_out = value is not None and evaluate_exactly(value) is not None and not is_open(value)
    except OutOfWork:
        is_worked_out = False
    answer = BRACED.sub(r"\1", spell_symbols(answer).replace(" ", ""))
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
        return spell_symbols(text)
    spelled = ""
    was_word = False
    for token in tokens:
        is_word = len(token.text) > 1 and token.text.isalpha()
        if token.spaced and (is_word or was_word):
            spelled += " "
        spelled += token.text
        was_word = is_word
    return spelled


logger = logging.getLogger(__name__)

FAULT_MESSAGES = {
    "timeout": "Verifying an answer exceeded the time limit, so the answer counts as wrong. If this happens often, store "
    "solutions in a simpler form.",
    "gold": "A solution cannot be read, so its completions are not scored. To list such solutions, run `trl-grpo-rewards check "
    "--details`.",
    "worker": "math-verify could not be started, or it was killed from outside, so completions are not scored. To see "
    "the error, run `python -m trl_grpo_rewards.answers.symbolic` in a terminal.",
}
SHOWN_FAULTS: set[str] = set()


class Verification(NamedTuple):
    equal: bool | None  # None if the gold answer cannot be read or math-verify was killed
    fault: Literal["timeout", "gold", "worker"] | None = None  # what went wrong, as a key of [`FAULT_MESSAGES`]
    asked: bool = False  # whether math-verify was asked about the gold answer or the pair


def verify_pairs(pairs: Sequence[tuple[str | None, str | None]], rules: AnswerRules) -> list[Verification]:
    """Verify each pair of a gold answer and an answer, both of which may be missing. Equal pairs are verified once."""
    verifications = {pair: verify_pair(*pair, rules) for pair in dict.fromkeys(pairs)}
    for (gold, answer), (_, fault, _) in verifications.items():
        if gold is not None and fault is not None and fault not in SHOWN_FAULTS:
            SHOWN_FAULTS.add(fault)
            warning = "%s This is shown once; the answer is %.200r and the solution is %.200r."
            logger.warning(warning, FAULT_MESSAGES[fault], answer, gold)
    return [verifications[pair] for pair in pairs]


def verify_pair(gold: str | None, answer: str | None, rules: AnswerRules) -> Verification:
    if gold and answer and WHOLE_NUMBER.fullmatch(gold) and WHOLE_NUMBER.fullmatch(answer) and rules.tolerance is None:
        return Verification(int(gold) == int(answer))  # as most are
    if gold is None or costs_too_much(gold):
        return Verification(None, "gold")
    asked = not is_readable(gold)
    try:
        with limit_work():
            return compare_pair(gold, answer, rules, asked)
    except OutOfWork:
        return Verification(False, None, asked)
    except OSError:
        return Verification(None, "worker", True)


def is_known(gold: str) -> bool:
    """Return whether math-verify can read a gold answer that this package cannot."""
    if is_unfit(gold):
        return False
    return bool(second_opinion.ask(spell_symbols(gold), spell_symbols(gold)))


def compare_pair(gold: str, answer: str | None, rules: AnswerRules, asked: bool) -> Verification:
    if asked and not is_known(gold):
        return Verification(None, "gold", not is_unfit(gold))
    if not answer or (asked and spell_symbols(gold) == spell_symbols(answer)):
        return Verification(bool(answer), None, asked)
    verdict = settle(gold, answer, rules)
    if verdict is not None or is_unfit(gold) or is_unfit(answer):
        return Verification(bool(verdict), None, asked)
    opinion = second_opinion.ask(spell_symbols(gold), spell_symbols(answer))
    return Verification(bool(opinion), "timeout" if opinion is None else None, True)
