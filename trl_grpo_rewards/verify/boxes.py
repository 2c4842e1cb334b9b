r"""
Find the final answer of a text: in a box, or stated in words. The text is read a fixed number of times, from the left
or from the right; what can backtrack is not used on it.
"""

import re
from collections import deque
from typing import Literal


STATED = re.compile(
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
PROSE = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")

LONGEST = 10_000
"""Characters of a statement that are read."""

Which = Literal["last", "only", "first"]


def final_part(text: str) -> str:
    """What follows the reasoning: a box inside `<think>` is no answer, and reasoning never closed has none."""
    return text.rpartition("</think>")[2].partition("<think>")[0]


def boxed_answer(text: str, which: Which = "last") -> str | None:
    r"""
    Content of the last, only or first `\boxed{...}`, `\fbox{...}` or `\boxed 7`; None without one.

    A box that is never closed was cut off: there is no answer then, and no other box is taken for it. Nor is one for
    an empty box, whose content is the empty text.
    """
    start = first_start(text) if which == "first" else last_start(text)
    if start is None or (which == "only" and start != first_start(text)):
        return None
    rest = text[start:].lstrip()
    if rest.startswith("{"):
        return group(rest)
    return rest.split(None, 1)[0].partition("$")[0].rstrip(".,;") if rest else None


def first_start(text: str) -> int | None:
    """Where the content of the first box starts."""
    place = text.find("box")
    while place >= 0:
        if (start := content_start(text, place)) is not None:
            return start
        place = text.find("box", place + 1)
    return None


def last_start(text: str) -> int | None:
    """Where the content of the last box starts."""
    place = text.rfind("box")
    while place >= 0:
        if (start := content_start(text, place)) is not None:
            return start
        place = text.rfind("box", 0, place)
    return None


def content_start(text: str, place: int) -> int | None:
    """Where the content of the box starts in whose command the letters `box` stand; other commands have them, too."""
    for before, command in (("\\", "\\boxed"), ("\\f", "\\fbox")):
        start = place - len(before)
        if (
            start >= 0
            and text.startswith(command, start)
            and not text[start + len(command) : start + len(command) + 1].isalpha()
        ):
            return start + len(command)
    return None


def group(text: str) -> str | None:
    """Content of the balanced group that the text begins with; None where it is never closed."""
    depth, position = 0, 0
    while position < len(text):
        match text[position]:
            case "\\":
                position += 1  # what a backslash precedes is no brace
            case "{":
                depth += 1
            case "}":
                depth -= 1
                if depth == 0:
                    return text[1:position]
        position += 1
    return None


def stated_answer(text: str) -> str | None:
    r"""
    The answer that a text gives: in its last box, after `####`, in `<answer>`, in words ("the answer is ..."), or the
    text itself where it is one line without any of these; None where it gives none.
    """
    boxed = boxed_answer(text)
    if boxed is not None or last_start(text) is not None:
        return boxed
    if "####" in text:
        return text.rpartition("####")[2].strip().partition("\n")[0].strip() or None
    if "</answer>" in text:
        inside = text.rpartition("</answer>")[0].rpartition("<answer>")[2].strip()
        return stated_answer(inside) or inside or None
    statements = deque(STATED.finditer(text), maxlen=1)
    if statements:
        return sentence(text[statements[0].end() :])
    return text.strip() if "\n" not in text.strip() and text.strip() else None


def sentence(text: str) -> str | None:
    """The text up to where its first sentence ends, or the mathematics alone where that is all that it begins with."""
    text = text[:LONGEST].lstrip()
    for expression in MATHEMATICS:
        match = expression.match(text)
        if match and not PROSE.search(match[1]):
            rest = text[match.end() :].lstrip("*_ ")
            if not rest or rest[0] in ".\n" or re.match(r"[,;] (?!or\b|and\b)[A-Za-z]|as\b|because\b|since\b", rest):
                return match[1].strip()
    end = SENTENCE_END.search(text)
    text = text[: end.start() if end else len(text)]
    return ASIDE.split(text, maxsplit=1)[0].strip() or None
