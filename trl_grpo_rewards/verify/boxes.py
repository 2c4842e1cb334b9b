r"""
Find the final answer of a text, in a box or stated in words. Each text is read a fixed number of times from the left
or the right, without regular expressions that could backtrack over it.
"""

import re
from collections import deque
from typing import Literal


STATEMENT = re.compile(
    r"(?i)\b(?:(?<!this )answers?\b(?:[^.\n]{0,60}?(?:\bis\b|\bare\b|\b(?:would|will|should|must) be\b|[:=])|[*_: \t]{0,9}\n)"
    r"|(?:option|choice)\s{0,9}(?:\bis\b|:))[\s:*_=]{0,20}"
)
SENTENCE_END = re.compile(r"(?:\.|(?<=[a-z])[!?])(?=\s|$)|\n")
ASIDE = re.compile(r",? (?:because|since)\b|, (?:so|which|as|that|where|i\.e)\b")
MATHEMATICS = (
    re.compile(r"\$\$(.+?)\$\$"),
    re.compile(r"\$((?:[^$\\\n]|\\.)+)\$(?!\d)"),
    re.compile(r"\\\((.+?)\\\)"),
)
TWO_WORDS = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")

MAX_STATEMENT_CHARS = 10_000
"""Maximum length of a statement, in characters. The rest of a longer one is ignored."""

BoxChoice = Literal["last", "only", "first"]


def strip_reasoning(text: str) -> str:
    """Return the part after the reasoning, which is empty if the reasoning is never closed."""
    return text.rpartition("</think>")[2].partition("<think>")[0]


def find_boxed_answer(text: str, which: BoxChoice = "last") -> str | None:
    r"""
    Return the content of the last, only or first `\boxed{...}`, `\fbox{...}` or `\boxed 7`, or None without one.

    If that box is never closed, the text was cut off, and the result is None. The content of an empty box is the empty
    string. No other box replaces such a box.
    """
    start = find_first_box(text) if which == "first" else find_last_box(text)
    if start is None or (which == "only" and start != find_first_box(text)):
        return None
    rest = text[start:].lstrip()
    if rest.startswith("{"):
        return read_braced(rest)
    return rest.split(None, 1)[0].partition("$")[0].rstrip(".,;") if rest else None


def find_first_box(text: str) -> int | None:
    """Return where the content of the first box starts."""
    place = text.find("box")
    while place >= 0:
        if (start := find_content_start(text, place)) is not None:
            return start
        place = text.find("box", place + 1)
    return None


def find_last_box(text: str) -> int | None:
    """Return where the content of the last box starts."""
    place = text.rfind("box")
    while place >= 0:
        if (start := find_content_start(text, place)) is not None:
            return start
        place = text.rfind("box", 0, place)
    return None


def find_content_start(text: str, place: int) -> int | None:
    """Return where the content starts if the letters `box` at this place belong to a box command, else None."""
    for before, command in (("\\", "\\boxed"), ("\\f", "\\fbox")):
        start = place - len(before)
        if (
            start >= 0
            and text.startswith(command, start)
            and not text[start + len(command) : start + len(command) + 1].isalpha()
        ):
            return start + len(command)
    return None


def read_braced(text: str) -> str | None:
    """Return the content of the braces that the text begins with, or None if they are never closed."""
    depth, position = 0, 0
    while position < len(text):
        match text[position]:
            case "\\":
                position += 1  # a brace after a backslash does not count
            case "{":
                depth += 1
            case "}":
                depth -= 1
                if depth == 0:
                    return text[1:position]
        position += 1
    return None


def find_stated_answer(text: str) -> str | None:
    r"""
    Return the answer that a text gives in its last box, after `####`, in `<answer>` or in words ("the answer is ...").
    Without any of these, a text of one line is the answer itself, and a text of several lines has no answer (None).
    """
    boxed = find_boxed_answer(text)
    if boxed is not None or find_last_box(text) is not None:
        return boxed
    if "####" in text:
        return text.rpartition("####")[2].strip().partition("\n")[0].strip() or None
    if "</answer>" in text:
        inside = text.rpartition("</answer>")[0].rpartition("<answer>")[2].strip()
        return find_stated_answer(inside) or inside or None
    statements = deque(STATEMENT.finditer(text), maxlen=1)
    if statements:
        return read_statement(text[statements[0].end() :])
    return text.strip() if "\n" not in text.strip() and text.strip() else None


def read_statement(text: str) -> str | None:
    """Return the first sentence, or only the mathematics that it begins with if that is a complete answer."""
    text = text[:MAX_STATEMENT_CHARS].lstrip()
    for expression in MATHEMATICS:
        match = expression.match(text)
        if match and not TWO_WORDS.search(match[1]):
            rest = text[match.end() :].lstrip("*_ ")
            if not rest or rest[0] in ".\n" or re.match(r"[,;] (?!or\b|and\b)[A-Za-z]|as\b|because\b|since\b", rest):
                return match[1].strip()
    end = SENTENCE_END.search(text)
    text = text[: end.start() if end else len(text)]
    return ASIDE.split(text, maxsplit=1)[0].strip() or None
