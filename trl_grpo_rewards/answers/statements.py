"""Find the final answer of a text, in a box or stated in words, in time linear in its length."""

import itertools
import re
import tomllib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Literal


HERE = r"(?=[\d$*(]|[A-Z]\b)"
PHRASES: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8"))
STATED = "|".join(rf"{noun}(?:{verb.replace('HERE', HERE)}|\s?[:：])" for noun, verb in PHRASES.values())
STATEMENT = re.compile(
    r"(?i)(?:\b(?:(?<!this )answers?\b(?:[^.\n]{0,60}?(?:\bis\b|\bare\b|\b(?:would|will|should|must) be\b|[:=])|[*_: \t]{0,9}\n)"
    rf"|(?:option|choice)\s{{0,9}}(?:\bis\b|:))|{STATED})[\s:*_=]{{0,20}}"
)
LAST_LINE = re.compile(
    r"(?i)(?:^|\n)[ \t>*_#]{0,9}(?:a|ans|answer|final answer|result|solution)[*_]{0,3}[ \t]{0,3}[:=][ \t*_]{0,9}([^\n]{1,2000})$"
)
HEADING = re.compile(
    r"(?i)(?:^|\n)#{1,6}[^\n]{0,80}?\b(?:answer|result|solution|conclusion)s?\b[^\n]{0,40}\n\s{0,20}[^\n*$]{0,200}"
    r"(\*\*[^*\n]{1,200}\*\*|\$[^$\n]{1,200}\$)[.]?$"
)
NAMED_LAST = re.compile(r"(?i)[*_]{0,3} is (?:the|our|my)(?: (?:final|correct|right))? (?:answer|result|solution)\b")
BEFORE_NAMED = re.compile(r"(?i)(?:.*[.!?]\s)?(?:(?:so|thus|hence|therefore),?\s)?([*_$\\“\"(+-]{0,6}\d.*|\$.*)")
VALUE = re.compile(
    r"(?:(?:exactly|about|approximately|simply|just|equal to|an?|the|[a-z]|[=:])\s{1,3}){0,3}[^\w\n]{0,8}"
    r"(?:[\d$\\√π]|[A-Za-z](?!\w))"
)
CHECKED = re.compile(r"(?i)\b(?:check|verify|confirm|test)\w* (?:\w+ )?$")  # an answer that is only tried out
ONE_LETTER = re.compile(r"\W{0,3}[A-Z]\W{0,3}")
OTHER_LETTER = re.compile(
    r"(?:\W|\\text\{){0,5}\b(?:or|and)\W{1,5}[A-Z]\b"
)  # a second choice, after the mark of the first
TAG_END = re.compile(r"(?i)</(answer|solution)>")
MARKUP = re.compile(  # tags of HTML, what is struck out, and marks of bold type
    r"(?i)</?(?:b|i|u|em|strong|p|br|span)(?: [^<>]{0,40})?/?>|~~(?=\S)[^~\n]{1,80}~~"
    r"|(?<![\w)])\*\*(?=\S)|(?<=\S)\*\*(?![\w(])"
)

OUTER_MARKS = ' \t\n*_"“”„«»「」.…।。！？✓✔✅☑\ufe0f' + "".join(map(chr, range(0x1F300, 0x1FB00)))
# Other marks after an answer, which do not belong to it.
CLOSING_MARKS = re.compile(r"(?:(?<=[*_.”\"\]])!|(?<=[^\W\d_][^\W\d_]|'s)[!?]+|\s[:;]-?[)D])$")
IN_QUOTES = re.compile(r"""["'“„«「‘`]([^"“”«»\n]+?)["'”“»」’`](?:[.!?]+(?:\s|$)|\n|$)""")
FILLER = r"(?:[\s$*}]|\\[,;:! ()\[\]]|\\q?quad){0,12}"
ALTERNATIVES = "also|else|even|perhaps|maybe|possibly|alternatively|otherwise|either|again|both"
JOINER = rf"\b(?:{ALTERNATIVES}|(and|or))\b"
FEW_WORDS = (
    r"(?:(?!(?:so|then|thus|hence|therefore|is|are|gives?|since|because|which|we|but|not)\b)[a-z()]{1,12}\s{1,3}){0,5}"
)
TEXT = r"(?:\\(?:text|mbox)\{\s?)?"
PLAIN_NUMBER = re.compile(r"[*_]{0,3}[-+]?\\?[$€£]?\d+(?:,\d{3})*(?:\.\d+)?%?(?: [A-Za-z]{2,12}){0,2}[*_]{0,3}")
# What begins a remark after a number: a dash, a colon, a bracket, a comma with words, or a `!` that is not a
# factorial.
REMARK = re.compile(
    r"(?:(?<=[2-9]\d)|(?<=1[3-9])|(?<=\d\d\d)|(?<=\.\d))\s?!+(?:$|\s[A-Z][a-z])"
    r"|\s?[—–]\s|:\s(?!\d+\s*(?:$|[:.]))|\s-\s(?=[A-Za-z])|\s\((?!\s?(?:[A-Za-z]\b|mod\b|base\b))"
    r"|,\s(?=[A-Za-z]{2})(?!\w+\s?[=<>(:])"
)

HEDGE = re.compile(rf"(?i)\b(?:{ALTERNATIVES}|or|not|nor|but|minus|plus|times|over|more|less|fewer|to)\b")
BETWEEN_BOXES = re.compile(  # what is between two boxes of one list: a comma, or a few words and then "and" or "or"
    rf"{FILLER}(?:[,;&/]|(?:[,;]\s?)?{TEXT}{FEW_WORDS}(?:{JOINER}[\s,/]{{0,3}}){{1,4}}\}}?){FILLER}"
    r"(?:[A-Za-z](?:\w|_\{?\w\}?)?\s?=\s?)?"
)

AFTER_COLON = re.compile(r".*[:：][ *_]{0,9}$")
NAME_OR_VALUE = re.compile(rf"[A-Z]|{VALUE.pattern}")
HASHES = re.compile(r"####\s{0,9}")
BOX_COMMAND = re.compile(r"\\(?:boxed|fbox)(?![^\W\d_])")
BRACE = re.compile(r"\\.|[{}]", re.DOTALL)  # a brace after a backslash does not count
PLAIN_BRACES = re.compile(r"\{([^{}\\]*)\}")
NAME = r"(?: (?:(?:and|of|the|de|van|von) )?[A-Z\d][\w'’-]*\.?){1,4}"
INITIALS = rf"(?:[A-Z]\.){{1,4}}(?={NAME}(?:$|[\n.!?,;]| \()| [a-z]{{3,}}(?:$|\.(?:\s|$)))"
# A sentence to its end. A period after initials or a short word with a capital, before a name or number that ends the
# sentence, does not end it: "J. S. Bach", "Mt. Everest", "No. 7".
SENTENCE = re.compile(
    rf"(?s:[^A-Z.!?。।！？\n]+|(?<!\d )\b(?:{INITIALS}|[A-Z][a-z]{{1,3}}\.(?={NAME}(?:$|[\n.!?])))"
    r"|(?!\.(?:\s|$)|(?<=[^\W\d_][^\W\d_])[!?](?:\s|$)|[。।！？\n]).)*"
)

DENIED = re.compile(r"(?i)\?[*_]{0,3}\s{1,3}(?:no|nope|not|wrong)\b")
ASIDE = re.compile(r",? (?:because|since)\b|, (?:so|which|as|that|where|i\.e)\b")
MATHEMATICS = re.compile(r"\$\$(.+?)\$\$|\$((?:[^$\\\n]|\\.)+)\$(?!\d)|\\\((.+?)\\\)")
AFTER_MATHEMATICS = re.compile(r"[,;] (?!or\b|and\b)[A-Za-z]|as\b|because\b|since\b")
SEVERAL_WORDS = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")
MAX_EMPTY_BOXES = 3  # largest number of empty boxes after the answer that are taken for remarks on the form
MAX_NAMED_CHARS = 100
MAX_JOINED_BOXES = 20
MAX_STATEMENT_CHARS = 10_000  # maximum length of a statement, in characters. The rest of a longer one is ignored.
BoxChoice = Literal["last", "only", "first"]


def find_boxed_answer(text: str, which: BoxChoice = "last") -> str | None:
    r"""Return the content of the last boxes that are one list, or the only or first one; None without one, or cut off."""
    if which == "last":
        return join_last_boxes(text, find_last_boxes(text))
    boxes = [*itertools.islice(BOX_COMMAND.finditer(text), 2)]
    if not boxes or (which == "only" and len(boxes) > 1):
        return None
    return read_box(text, boxes[0].end())[0]


def find_last_boxes(text: str) -> deque[re.Match[str]]:
    """Return as many boxes as may be read, so that a text full of boxes takes no memory."""
    return deque(BOX_COMMAND.finditer(text), maxlen=MAX_JOINED_BOXES + MAX_EMPTY_BOXES + 2)


def join_last_boxes(text: str, boxes: deque[re.Match[str]]) -> str | None:
    """Return the content of the last box that is not empty, joined with the boxes that are in one list with it."""
    before = [*boxes]
    while before:
        box = before.pop()
        content, _ = read_box(text, box.end())
        if content is None:
            return None
        if content.strip() or len(boxes) - len(before) > MAX_EMPTY_BOXES:
            if before:
                return join_boxes(text, content, box.start(), before)
            return content
    return "" if boxes else None


def join_boxes(text: str, content: str, start: int, before: list[re.Match[str]]) -> str:
    """Return the content of a box that starts here, joined with the boxes before it that are in one list with it."""
    parts = [content]
    for box in reversed(before):
        earlier, end = read_box(text, box.end())
        between = BETWEEN_BOXES.fullmatch(text, end, start)
        if not earlier or between is None or len(parts) > 2 * MAX_JOINED_BOXES:
            break
        parts = [earlier, f" {between[1]} " if between[1] else ", ", *parts]
        start = box.start()
    are_same = len({*parts[::2]}) == 1
    return content if are_same else "".join(parts)


def read_box(text: str, start: int) -> tuple[str | None, int]:
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


def read_braced(text: str, start: int = 0) -> str | None:
    """Return the content of the braces that begin here, or None if they are never closed."""
    if plain := PLAIN_BRACES.match(text, start):  # as most are
        return plain[1]
    depth = 0
    for found in BRACE.finditer(text, start):
        depth += (found[0] == "{") - (found[0] == "}")
        if depth == 0:
            return text[start + 1 : found.start()]
    return None


def find_stated_answer(text: str) -> str | None:
    """Return the answer that a text states last, in a box, after a mark or in words; else its only line, or None."""
    marked = [*list_marked_statements(text)]
    statements = [*marked, *list_worded_statements(text, not marked)]
    if statements:
        return max(statements, key=lambda statement: statement[0])[1]
    if "\n" not in text.strip() and text.strip():
        return text.strip()
    return None


def find_first_statement(text: str) -> int:
    """Return where a text first states an answer, in a box, after a mark or in words, or -1."""
    phrases = (
        phrase
        for phrase in STATEMENT.finditer(text)
        if AFTER_COLON.match(phrase[0]) or NAME_OR_VALUE.match(text, phrase.end())
    )
    hashes = (mark for mark in HASHES.finditer(text) if VALUE.match(text, mark.end()))
    found = (BOX_COMMAND.search(text), TAG_END.search(text), next(phrases, None), next(hashes, None))
    return min((first.start() for first in found if first is not None), default=-1)


def list_marked_statements(text: str) -> Iterator[tuple[int, str | None]]:
    """Yield where the last statement of each kind of mark is, and its answer, which is None if it was cut off."""
    if boxes := find_last_boxes(text):
        content = join_last_boxes(text, boxes)
        last = boxes[-1].end()
        _, end = read_box(text, last)
        yield (last, add_other_letter(text, end, content))
    if (hashes := text.rfind("####")) >= 0:
        yield (hashes, read_statement(text[hashes + 4 :].strip().partition("\n")[0]))
    for closing in deque(TAG_END.finditer(text), maxlen=1):
        before = text[: closing.start()]
        opening = before.lower().rfind(f"<{closing[1].lower()}>")
        if opening >= 0:
            before = before[opening + len(closing[1]) + 2 :]
        inside = TAG_END.split(before)[0].strip()
        yield (closing.start(), add_other_letter(text, closing.end(), find_stated_answer(inside) or inside or None))


def add_other_letter(text: str, end: int, answer: str | None) -> str | None:
    """Return an answer that ends here, with the second of two choices that a text gives: `<answer>A</answer> or B`."""
    other = None
    if answer and ONE_LETTER.fullmatch(answer):
        other = OTHER_LETTER.match(text, end)
    return f"{answer}{other[0]}" if answer and other else answer


def list_worded_statements(text: str, are_alone: bool) -> Iterator[tuple[int, str | None]]:
    """Yield the last statements in words. A phrase next to a marked statement counts only if a value follows it."""
    if (place := find_phrase(text, are_alone)) is not None:
        yield (place, read_statement(text[place:]))
    for last_named in deque(NAMED_LAST.finditer(text), maxlen=1):
        end_of_line = last_named.start()
        line = text[max(0, end_of_line - MAX_NAMED_CHARS) : end_of_line].rpartition("\n")[2]
        if (named := BEFORE_NAMED.fullmatch(line)) is not None:
            yield (last_named.start() - len(named[1]), read_statement(named[1]))
    end = len(text.rstrip())
    low = max(0, end - MAX_STATEMENT_CHARS)
    last = LAST_LINE.search(text, low, end) or HEADING.search(text, low, end)
    if last is not None and (are_alone or VALUE.match(last[1])):
        yield (last.start(1), read_statement(last[1]))


def find_phrase(text: str, are_alone: bool) -> int | None:
    """Return where the last phrase before a statement ends, best of all one before a value, or None."""
    phrases = [
        found.end()
        for found in STATEMENT.finditer(text)
        if not CHECKED.search(text, max(0, found.start() - 30), found.start())
    ]
    values = [place for place in phrases if VALUE.match(text, place)]
    places = values or (phrases if are_alone else [])
    return places[-1] if places else None


def read_statement(text: str) -> str | None:
    """Return the first sentence, or only its mathematics or number, without a remark and closing marks after it."""
    text = MARKUP.sub("", text[:MAX_STATEMENT_CHARS]).lstrip(" \t\n*_}")
    if (quoted := IN_QUOTES.match(text)) is not None:
        return quoted[1].strip()
    text = text.lstrip('"“„«「')
    formula = read_formula(text)
    return read_sentence(text) if formula is None else formula


def read_formula(text: str) -> str | None:
    """Return the mathematics that a text begins with, or None if it goes on with the words after it."""
    found = MATHEMATICS.match(text)
    if found is None or found.lastindex is None:
        return None
    formula = found[found.lastindex].strip()
    if SEVERAL_WORDS.search(formula):
        return None
    rest = text[found.end() :].lstrip("*_ ")
    ends = not rest or rest[0] in ".!\n" or formula[-1:] == "."
    if ends or AFTER_MATHEMATICS.match(rest):
        return formula.removesuffix(".")
    return None


def read_sentence(text: str) -> str | None:
    """Return the first sentence without what follows its statement, or None if it asks a question and denies it."""
    sentence = SENTENCE.match(text)
    if sentence and DENIED.match(text, sentence.end()):
        return None
    if sentence:
        text = sentence[0].removesuffix("です").removesuffix("입니다")
    number = PLAIN_NUMBER.match(text)
    if number and REMARK.match(text, number.end()) and not HEDGE.search(text, number.end()):
        return number[0].strip(" *_")
    text = strip_outer_marks(ASIDE.split(text, maxsplit=1)[0]).strip()
    is_open = sum(map(text.count, ")]}")) > sum(map(text.count, "([{"))
    return (text[:-1] if is_open and text[-1] in ")}" else text) or None


def strip_outer_marks(text: str) -> str:
    """Return a text without quotes around it, and without emoji and other marks after it."""
    text = CLOSING_MARKS.sub("", text.rstrip(OUTER_MARKS)).rstrip(OUTER_MARKS)
    quoted = IN_QUOTES.fullmatch(text)
    return quoted[1] if quoted else text
