r"""
Find the equations of a text that arithmetic alone can check, and check them exactly.

Nothing is evaluated as code, and every text is read a fixed number of times. An equation that may be part of something
else (`x + 3 = 5`, `20\% of 50 + 5 = 15`, `= 24x`, `= 3 remainder 2`, `= 0.33...`) is left out: it is neither true nor
false.
"""

import re
from fractions import Fraction
from typing import TypeVar

from .mathematics.evaluation import evaluate_exactly
from .mathematics.grammar import GRAMMAR, operation
from .mathematics.kinds.expressions import read_infix
from .mathematics.reader import POWER, PRODUCT, SUM, Infix, Reader
from .mathematics.tokens import Tokenizer, Unreadable
from .mathematics.work import OutOfWork, limit_work


Item = TypeVar("Item")

OPERATOR_SIGNS = str.maketrans(
    {**dict.fromkeys("−–—", "-"), **dict.fromkeys("×·⋅∙", "*"), "÷": "/", **dict.fromkeys("$&\t", " ")}
)
LATEX = {",\\!": ",", "{,}": ",", "\\\\": ";", "\\times": "*", "\\cdot": "*", "\\div": "/"}
IGNORED = re.compile(r"\\(?:left|right|boxed|displaystyle|quad|[,;:! ()\[\]])")
BRACES = str.maketrans("{}", "()")
NEXT_LINE = re.compile(r"(?:\\\\)?[ \t]{0,9}\n[ \t&]{0,9}(?==)")
CHANGING_BEFORE = "of|by|mod|modulo|times|plus|minus|negative|over|per|less|than|twice|thrice|double|triple|half"
CHANGING_AFTER = (
    r"remainder|rem|r ?\d{1,4}|per ?cent|percentage|pct|dozen|hundred|thousand|(?:m|b|tr)illion|half|halves|thirds?|quarters?"
    r"|(?:four|fif|six|seven|eigh|nin|ten|twelf|hundred|thousand|million)ths?|and (?:a|an|one)|to the power|squared|cubed"
    r"|divided|multiplied|mod|modulo|(?:plus|minus|times|over)(?= ?[\d(])"
    r"|(?:hour|hr|minute|min|day|week|month|year|dollar|euro|pound|foot|feet|yard)s?(?= (?:and )?\d)"
)
TEXT_COMMAND = re.compile(
    rf"\\(?:text|mathrm|mbox) ?\{{(?! {{0,3}}(?i:{CHANGING_BEFORE}|{CHANGING_AFTER}|r)\b)[^{{}}]{{0,100}}\}}"
)
BRACED_FRACTION = re.compile(r"\\[dt]?frac ?\{([^{}]{1,60})\} ?\{([^{}]{1,60})\}")
BEFORE_FRACTION = re.compile(r"(?<=\d) ?(?=\\[dt]?frac)")
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# 0.1..., 0.1(6), 0.\bar{6}
REPEATING_TAIL = re.compile(r"\.(?:\.{1,9}|\d{0,20}(?:\(\d{1,20}\)|\{?\\(?:overline|bar|dot)))")
TIMES = re.compile(r"(?<=[\d)])(?!(?<=\b0)[xX])( ?)[xX]( ?)(?=[\d(])")
DOUBLE_STAR = re.compile(r"(?<=[\w)])\*\*(?=[\w(])")
DASH = re.compile(r"(?m:^)[ \t]{0,9}- ")
NO_OPERATOR = re.compile(r"\*\*|(?m:^)[ \t]{0,9}(?:[+*]|\d{1,3}[.)]) |\.(?!\d)")
RUN = re.compile(r"[\d+\-*/^(). =]{5,}")  # "1+1=2"
OPEN_BEFORE = re.compile(r"(?:[\w\\%!√\])'°,…]|\d:)\Z")
WORD_BEFORE = re.compile(rf"(?:\\[A-Za-z]{{1,12}}|\b(?:[A-Za-z]|(?i:{CHANGING_BEFORE})|sin|cos|tan|log|ln))\Z")
OPEN_AFTER = re.compile(rf"[\w\\%!√]|[,:]\d| [A-Za-z]\b| \\| ?[√…]| (?i:{CHANGING_AFTER})\b")
FACTOR = re.compile(r"(?<=[\d)])\((?=[\d(.-])")
UNCLEAR = re.compile(r"/ ?[\d.]+ ?/|\d \d|\^[ -]*(?:\d*\.|\([^()]*[./]|\(\()")  # 8/4/2, 1 1, and roots
CALCULATION = re.compile(r"[\d)][-+*/^][-+]?[\d(.]")

MAX_SIDE_CHARS = 120  # characters of one side of an equation; longer ones are left out
MAX_WORK = 1000  # of one side, in the units of `work`. An equation that costs more counts as false.
MAX_EQUATIONS = 100  # maximum number of equations that are checked. From a longer list, evenly spaced ones are taken.


def compute_true_share(text: str) -> float | None:
    """Return the share of the different equations in a text that are true, or None if none can be checked."""
    pairs = sample_evenly(find_written_equations(text))
    verdicts = [verdict for left, right in pairs if (verdict := is_true(left, right)) is not None]
    if verdicts:
        return sum(verdicts) / len(verdicts)
    return None


def is_true(left: str, right: str) -> bool | None:
    """Return whether an equation is true, or None if it is true only when its leading dash is read as a minus."""
    verdict = are_sides_equal(left.lstrip("•"), right)
    needs_minus = verdict is False and left.startswith("•") and are_sides_equal(left.replace("•", "-"), right)
    return None if needs_minus else verdict


def sample_evenly(items: list[Item]) -> list[Item]:
    return items[:: -(-len(items) // MAX_EQUATIONS) or 1]


def find_written_equations(text: str) -> list[tuple[str, str]]:
    """Return the different equations of a text. The first calculation of a chain is paired with each later side."""
    text = normalize_operators(text)
    found: dict[tuple[str, str], tuple[str, str]] = {}
    longest = 5 * MAX_SIDE_CHARS
    runs = [run for run in RUN.finditer(text) if "=" in run[0] and len(run[0]) <= longest]
    for run in sample_evenly(runs):
        first, *others = list_sides(run, text)
        left = first.replace(" ", "").lstrip("•")
        for right in filter(None, others):
            found.setdefault((left, right.replace(" ", "")), (first, right))
    return [pair for key, pair in found.items() if key[0] != key[1]]


def list_sides(run: re.Match[str], text: str) -> list[str]:
    """Return the sides of a chain of equations from its first calculation on. Without one, there is only an empty side."""
    sides = [side.strip() for side in run[0].split("=")]
    sides[0] = trim_first_side(sides[0], text, run.start())
    sides[-1] = trim_last_side(sides[-1], text, run.end())
    while sides and not CALCULATION.search(sides[0].replace(" ", "")):
        del sides[0]
    return sides or [""]


def normalize_operators(text: str) -> str:
    """Return the lines with an equals sign in one spelling. `;` ends what may be an equation; `•` may be a minus or a list's dash."""
    text = NEXT_LINE.sub(" ", text)
    lines = [line for line in text.split("\n") if "=" in line]
    text = TEXT_COMMAND.sub(";", "\n".join(sample_evenly(lines)))
    text = REPEATING_TAIL.sub("…", text)
    for command, meaning in LATEX.items():
        text = text.replace(command, meaning)
    text = BEFORE_FRACTION.sub(
        "!", IGNORED.sub(" ", text).translate(OPERATOR_SIGNS)
    )  # sum or product? An equation next to `!` is left out
    text = BRACED_FRACTION.sub(r"((\1)/(\2))", text).translate(BRACES)
    text = TIMES.sub(r"\1*\2", THOUSANDS.sub("", text)).replace("==", "=")
    text = DASH.sub("•", DOUBLE_STAR.sub("^", text))
    return FACTOR.sub("*(", NO_OPERATOR.sub(";", text))


def trim_first_side(side: str, text: str, start: int) -> str:
    """Return the first side of a run without unmatched brackets, or "" if the text before it may belong to it."""
    before = text[max(0, start - 16) : start]
    if side.startswith(tuple("+-*/^")) or (OPEN_BEFORE.search(before) and text[start] != " "):
        return ""
    if text[start] == " " and WORD_BEFORE.search(before):
        return ""
    while side.startswith("(") and side.count("(") > side.count(")"):
        side = side[1:].lstrip()
    return f"•{side}" if before.endswith("•") else side


def trim_last_side(side: str, text: str, end: int) -> str:
    """Return the last side of a run without unmatched brackets, or "" if the text after it may belong to it."""
    if OPEN_AFTER.match(text, end - (text[end - 1] == " ")):
        return ""
    side = side.rstrip("( ")
    while side.endswith(")") and side.count(")") > side.count("("):
        side = side[:-1].rstrip()
    return side


def are_sides_equal(left: str, right: str) -> bool | None:
    """Return whether both sides have the same value, or None if one of them is not simple arithmetic."""
    try:
        values = evaluate_side(left), evaluate_side(right)
    except Unreadable:
        return None
    return None not in values and values[0] == values[1]


def evaluate_side(side: str) -> Fraction | None:
    """Return the exact value of a calculation, or None if it divides by zero or is too large."""
    if len(side) > MAX_SIDE_CHARS or UNCLEAR.search(side):
        raise Unreadable("no simple arithmetic")
    reader = Reader(Tokenizer(side).read(), CALCULATIONS)
    reader.match_brackets()
    try:
        with limit_work(MAX_WORK):
            return evaluate_exactly(reader.within(0, reader.end, CALCULATIONS.item))
    except OutOfWork:
        return None


CALCULATIONS = GRAMMAR._replace(
    item=lambda reader: reader.read(SUM),
    prefixes={
        **{text: GRAMMAR.prefixes[text] for text in ("<number>", "-")},
        "<bracket>": lambda reader: reader.within(reader.place + 1, reader.match[reader.place], reader.grammar.item),
    },
    infixes={
        **{sign: (operation(sign, SUM if sign in "+-" else PRODUCT),) for sign in "+-*/"},
        "^": (Infix(POWER, read_infix("^", POWER - 1)),),  # from right to left
    },
)
"""The part of the grammar of answers that arithmetic needs."""
