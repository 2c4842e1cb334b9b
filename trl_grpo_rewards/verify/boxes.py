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
LAST_LINE = re.compile(
    r"(?i)(?:^|\n)[ \t>*_#]{0,9}(?:a|ans|answer|final answer|result|solution)[*_]{0,3}[ \t]{0,3}[:=][ \t*_]{0,9}([^\n]{1,2000})$"
)
HEADING = re.compile(
    r"(?i)(?:^|\n)#{1,6}[^\n]{0,80}?\b(?:answer|result|solution|conclusion)s?\b[^\n]{0,40}\n\s{0,20}[^\n*$]{0,200}"
    r"(\*\*[^*\n]{1,200}\*\*|\$[^$\n]{1,200}\$)[.]?$"
)
FILLER = r"(?:[\s$*}]|\\[,;:! ()\[\]]|\\q?quad){0,12}"
JOINER = r"\b(?:also|else|even|perhaps|maybe|possibly|alternatively|otherwise|either|again|both|(and|or))\b"
WORDS = (
    r"(?:(?!(?:so|then|thus|hence|therefore|is|are|gives?|since|because|which|we|but|not)\b)[a-z()]{1,12}\s{1,3}){0,5}"
)
TEXT = r"(?:\\(?:text|mbox)\{\s?)?"
BETWEEN_BOXES = re.compile(
    rf"{FILLER}(?:[,;&/]|(?:[,;]\s?)?{TEXT}{WORDS}(?:{JOINER}[\s,/]{{0,3}}){{1,4}}\}}?){FILLER}"
    r"(?:[A-Za-z](?:\w|_\{?\w\}?)?\s?=\s?)?"
)
"""What is between two boxes of one list: a comma, or a few words and then "and" or "or"."""

BRACE = re.compile(r"\\.|[{}]", re.DOTALL)  # a brace after a backslash does not count
SENTENCE_END = re.compile(r"(?:\.|(?<=[a-z])[!?])(?=\s|$)|\n")
ASIDE = re.compile(r",? (?:because|since)\b|, (?:so|which|as|that|where|i\.e)\b")
MATHEMATICS = (
    re.compile(r"\$\$(.+?)\$\$"),
    re.compile(r"\$((?:[^$\\\n]|\\.)+)\$(?!\d)"),
    re.compile(r"\\\((.+?)\\\)"),
)
TWO_WORDS = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")

MAX_EMPTY_BOXES = 3
"""Largest number of empty boxes after the answer that are taken for remarks on the form."""

MAX_JOINED_BOXES = 20
"""Largest number of boxes that are one list."""

MAX_STATEMENT_CHARS = 10_000
"""Maximum length of a statement, in characters. The rest of a longer one is ignored."""

BoxChoice = Literal["last", "only", "first"]


def find_boxed_answer(text: str, which: BoxChoice = "last") -> str | None:
    r"""
    Return the content of the last, only or first `\boxed{...}`, `\fbox{...}` or `\boxed 7`, or None without one.

    Boxes joined to the last one by a comma, `and` or `or` are read as one list: `\boxed{1}` and `\boxed{2}` give
    `1 and 2`. An empty box after the last answer is a remark on the form. If a box is never closed, the
    text was cut off, and the result is None.
    """
    if which == "last":
        return find_last_boxes(text)
    start = find_first_box(text)
    if start is None or (which == "only" and start != find_last_box(text)):
        return None
    return read_content(text, start)[0]


def find_last_boxes(text: str) -> str | None:
    """Return the content of the last box that is not empty, joined with the boxes that are in one list with it."""
    contents: list[str] = []
    words: list[str] = []
    end, empty = len(text), 0
    while len(contents) <= MAX_JOINED_BOXES and (start := find_last_box(text, end)) is not None:
        content, after = read_content(text, start)
        if contents:
            between = BETWEEN_BOXES.fullmatch(text, after, end)
            if not content or between is None:
                break
            words.append(f" {between[1]} " if between[1] else ", ")
        elif content is None:
            return None
        elif not content.strip() and empty < MAX_EMPTY_BOXES:
            empty += 1
            end = find_command(text, start)
            continue
        contents.append(content)
        end = find_command(text, start)
    if not contents:
        return "" if empty else None
    if len({*contents}) == 1:
        return contents[0]
    return "".join(part for pair in zip(contents[::-1], [*words[::-1], ""], strict=True) for part in pair)


def find_command(text: str, start: int) -> int:
    r"""Return where the `\boxed` begins whose content starts here."""
    return text.rindex("\\", 0, start)


def read_content(text: str, start: int) -> tuple[str | None, int]:
    """Return the content that starts here, or None if its brace is never closed, and the place after it."""
    while text[start : start + 1].isspace():
        start += 1
    if text.startswith("{", start):
        content = read_braced(text, start)
        return content, start + 2 + len(content or "")
    word = text[start : start + MAX_STATEMENT_CHARS].split(None, 1)[:1]
    if not word:
        return None, start
    content = word[0].partition("$")[0].rstrip(".,;")
    return content, start + len(content)


def find_first_box(text: str) -> int | None:
    """Return where the content of the first box starts."""
    place = text.find("box")
    while place >= 0:
        if (start := find_content_start(text, place)) is not None:
            return start
        place = text.find("box", place + 1)
    return None


def find_last_box(text: str, end: int | None = None) -> int | None:
    """Return where the content of the last box that begins before `end` starts."""
    place = text.rfind("box", 0, end)
    while place >= 0:
        if (start := find_content_start(text, place)) is not None:
            return start
        place = text.rfind("box", 0, place)
    return None


def find_content_start(text: str, place: int) -> int | None:
    """Return where the content starts if the letters `box` at this place belong to a box command, else None."""
    if place > 0 and text.startswith("\\boxed", place - 1):
        end = place + len("boxed")
    elif place > 1 and text.startswith("\\fbox", place - 2):
        end = place + len("box")
    else:
        return None
    return None if text[end : end + 1].isalpha() else end


def read_braced(text: str, start: int = 0) -> str | None:
    """Return the content of the braces that begin here, or None if they are never closed."""
    depth = 0
    for found in BRACE.finditer(text, start):
        depth += (found[0] == "{") - (found[0] == "}")
        if depth == 0:
            return text[start + 1 : found.start()]
    return None


def find_stated_answer(text: str) -> str | None:
    r"""
    Return the answer that a text gives in its last box, after `####`, in `<answer>`, in a last line such as `A: 26`, in
    bold below a last heading such as `## Answer`, or in words ("the answer is ...").

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
    end = len(text.rstrip())
    low = max(0, end - MAX_STATEMENT_CHARS)
    line = LAST_LINE.search(text, low, end) or HEADING.search(text, low, end)
    if line is not None and not (statements and statements[0].end() >= line.start(1)):
        return read_statement(line[1])
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
