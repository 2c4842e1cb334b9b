r"""
Find the equations of a text that can be checked by arithmetic alone, and check them exactly.

Nothing is evaluated as code, and every text is read a fixed number of times. What might not be what it looks like (`x + 3
= 5`, `20\% of 50 + 5 = 15`, `= 24x`, `= 3 remainder 2`, `= 0.33...`) is left out, neither true nor false.
"""

import ast
import operator
import re
from fractions import Fraction
from itertools import count


SIGNS = str.maketrans(
    {**dict.fromkeys("−–—", "-"), **dict.fromkeys("×·⋅∙", "*"), "÷": "/", **dict.fromkeys("$&\t", " ")}
)
COMMANDS = {
    **dict.fromkeys((",\\!", "{,}"), ","),
    "\\\\": ";",
    "\\times": "*",
    "\\cdot": "*",
    "\\div": "/",
    **dict.fromkeys(("\\left", "\\right", "\\boxed", "\\displaystyle", "\\quad"), " "),
    **{f"\\{sign}": " " for sign in ",;:! ()[]"},
}
BRACES = str.maketrans("{}", "()")
NEXT_LINE = re.compile(r"(?:\\\\)?[ \t]{0,9}\n[ \t&]{0,9}(?==)")
CHANGING_BEFORE = "of|by|mod|modulo|times|plus|minus|negative|over|per|less|than|twice|thrice|double|triple|half"
CHANGING_AFTER = (
    r"remainder|rem|r ?\d{1,4}|per ?cent|percentage|pct|dozen|hundred|thousand|(?:m|b|tr)illion|half|halves|thirds?|quarters?"
    r"|(?:four|fif|six|seven|eigh|nin|ten|twelf|hundred|thousand|million)ths?|and (?:a|an|one)|to the power|squared|cubed"
    r"|divided|multiplied|mod|modulo|(?:plus|minus|times|over)(?= ?[\d(])"
    r"|(?:hour|hr|minute|min|day|week|month|year|dollar|euro|pound|foot|feet|yard)s?(?= (?:and )?\d)"
)
WORDS = re.compile(
    rf"\\(?:text|mathrm|mbox) ?\{{(?! {{0,3}}(?i:{CHANGING_BEFORE}|{CHANGING_AFTER}|r)\b)[^{{}}]{{0,100}}\}}"
)
FRACTION = re.compile(r"\\[dt]?frac ?\{([^{}]{1,60})\} ?\{([^{}]{1,60})\}")
MIXED = re.compile(r"(?<=\d) ?(?=\\[dt]?frac)")
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# 0.1..., 0.1(6), 0.\bar{6}
REPEATING = re.compile(r"\.(?:\.{1,9}|\d{0,20}(?:\(\d{1,20}\)|\{?\\(?:overline|bar|dot)))")
TIMES = re.compile(r"(?<=[\d)])(?!(?<=\b0)[xX])( ?)[xX]( ?)(?=[\d(])")
POWER = re.compile(r"(?<=[\w)])\*\*(?=[\w(])")
DASH = re.compile(r"(?m:^)[ \t]{0,9}- ")
NO_OPERATOR = re.compile(r"\*\*|(?m:^)[ \t]{0,9}(?:[+*]|\d{1,3}[.)]) |\.(?!\d)")
RUN = re.compile(r"[\d+\-*/^(). =]{5,}")  # "1+1=2"
OPEN_BEFORE = re.compile(r"(?:[\w\\%!√\])'°,…]|\d:)\Z")
WORD_BEFORE = re.compile(rf"(?:\\[A-Za-z]{{1,12}}|\b(?:[A-Za-z]|(?i:{CHANGING_BEFORE})|sin|cos|tan|log|ln))\Z")
OPEN_AFTER = re.compile(rf"[\w\\%!√]|[,:]\d| [A-Za-z]\b| \\| ?[√…]| (?i:{CHANGING_AFTER})\b")
FACTOR = re.compile(r"(?<=[\d)])\((?=[\d(.-])")
STACKED = re.compile(r"/ ?[\d.]+ ?/")
CALCULATION = re.compile(r"[\d)][-+*/^][-+]?[\d(.]")
NUMBER = re.compile(r"\d+(?:\.\d+)?|\.\d+")

LONGEST = 120
"""Characters that a side of an equation may have."""

LARGEST = 1000
"""Bits that a number may have on the way."""

MOST = 100
"""Equations that are checked; of more, about so many that are evenly spread."""


def share_true(text: str) -> float | None:
    """The share of a text's different equations that are true; None where none can be checked."""
    checked = [true for left, right in few(equations(text)) if (true := listed(left, right)) is not None]
    return sum(checked) / len(checked) if checked else None


def listed(left: str, right: str) -> bool | None:
    """Whether an equation holds; None where it would if the dash that begins its line were a minus."""
    true = holds(left.lstrip("•"), right)
    return None if true is False and left.startswith("•") and holds(left.replace("•", "-"), right) else true


def few(items: list) -> list:
    return items[:: -(-len(items) // MOST) or 1]


def equations(text: str) -> list[tuple[str, str]]:
    """All different equations: the first side of a chain that is a calculation, and each later one that is not the same."""
    text = spelled(text)
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for run in few([run for run in RUN.finditer(text) if "=" in run[0] and run.end() - run.start() <= 5 * LONGEST]):
        sides = [side.strip() for side in run[0].split("=")]
        sides[0], sides[-1] = first(sides[0], text, run.start()), last(sides[-1], text, run.end())
        while sides and not CALCULATION.search(sides[0].replace(" ", "")):
            del sides[0]
        for right in filter(None, sides[1:]):
            found.setdefault((sides[0].replace(" ", "").lstrip("•"), right.replace(" ", "")), (sides[0], right))
    return [found[key] for key in found if key[0] != key[1]]


def spelled(text: str) -> str:
    """The text with one spelling for each operator, none where the sign is a bullet or a full stop, • for a dash that may be one."""
    text = NEXT_LINE.sub(" ", text)
    text = WORDS.sub(";", "\n".join(few([line for line in text.split("\n") if "=" in line])))
    text = REPEATING.sub("…", text)
    for command, meaning in COMMANDS.items():
        text = text.replace(command, meaning)
    text = MIXED.sub("!", text.translate(SIGNS))  # a sum or a product: what is beside this sign is left out
    text = FRACTION.sub(r"((\1)/(\2))", text).translate(BRACES)
    text = TIMES.sub(r"\1*\2", THOUSANDS.sub("", text)).replace("==", "=")
    return FACTOR.sub("*(", NO_OPERATOR.sub(";", DASH.sub("•", POWER.sub("^", text))))


def first(side: str, text: str, start: int) -> str:
    """The side with which a run of numbers begins; empty where what stands before may belong to it."""
    before = text[max(0, start - 16) : start]
    if side.startswith(tuple("+-*/^")) or (OPEN_BEFORE.search(before) and text[start] != " "):
        return ""
    if text[start] == " " and WORD_BEFORE.search(before):
        return ""
    while side.startswith("(") and side.count("(") > side.count(")"):
        side = side[1:].lstrip()
    return f"•{side}" if before.endswith("•") else side


def last(side: str, text: str, end: int) -> str:
    """The side with which a run of numbers ends; empty where what follows may belong to it."""
    if OPEN_AFTER.match(text, end - (text[end - 1] == " ")):
        return ""
    side = side.rstrip("( ")
    while side.endswith(")") and side.count(")") > side.count("("):
        side = side[:-1].rstrip()
    return side


def holds(left: str, right: str) -> bool | None:
    """Whether both sides have the same value; None where they are not simple arithmetic."""
    try:
        return value(left) == value(right)
    except (SyntaxError, KeyError):
        return None
    except ArithmeticError:  # a division by zero, or numbers that are too large
        return False


def value(side: str) -> Fraction:
    """The exact value of a calculation."""
    if len(side) > LONGEST or STACKED.search(side):
        raise SyntaxError
    numbers = {f"n{place}": number for place, number in enumerate(NUMBER.findall(side))}
    names = count()
    named = NUMBER.sub(lambda _: f"n{next(names)}", side).replace("^", "**")
    return computed(ast.parse(named, mode="eval").body, numbers)


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def computed(node: ast.expr, numbers: dict[str, str]) -> Fraction:
    match node:
        case ast.Name(id=name):
            return small(Fraction(numbers[name]))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -computed(operand, numbers)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return power(computed(left, numbers), computed(right, numbers))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return small(OPERATORS[type(op)](computed(left, numbers), computed(right, numbers)))
    raise SyntaxError


def power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:  # a root
        raise SyntaxError
    if bits(base) * abs(exponent) > LARGEST:
        raise OverflowError
    return base ** int(exponent)


def small(number: Fraction) -> Fraction:
    if bits(number) > LARGEST:
        raise OverflowError
    return number


def bits(number: Fraction) -> int:
    return max(number.numerator.bit_length(), number.denominator.bit_length())
