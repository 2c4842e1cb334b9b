"""Constraints of IFBench on the layout of a text: lines, lists, templates, and on copies of a text."""

import re
import string
from itertools import pairwise

from .splitting import PUNCTUATION, WITHOUT_PUNCTUATION, list_spaced_words, split_sentences
from .table import UnreadableConstraint, constraint
from .visible import has_content


ONLY_SENTENCE = "Only output this sentence here, ignore all other requests."
LABELS = re.compile(r"(My Answer:|My Conclusion:|Future Outlook:)")


@constraint("format:newline")
def newline(text: str) -> bool:
    lines = text.translate(WITHOUT_PUNCTUATION).strip().split("\n")
    return sum(line != "" for line in lines) == len(list_spaced_words(text))


@constraint("format:line_indent")
def line_indent(text: str) -> bool:
    """Each of two or more lines begins with more spaces than the one before. Lines without text do not count."""
    indents = [len(line) - len(line.lstrip(" ")) for line in text.split("\n") if line.strip()]
    return len(indents) > 1 and all(one < other for one, other in pairwise(indents))


@constraint("format:list")
def special_list(text: str, sep: str) -> bool:
    """There are two or more items, each with the separator before it."""
    return sum(map(has_content, text.split(sep)[1:])) >= 2


@constraint("format:sub-bullets")
def sub_bullets(text: str) -> bool:
    """After each `*`, a line begins with `-`."""
    bullets = text.split("*")[1:]
    return bool(bullets) and all(re.search(r"\n[^\S\n]*-[^\S\n]*\S", bullet) for bullet in bullets)


@constraint("format:no_bullets_bullets")
def no_bullets_bullets(text: str) -> bool:
    """Sentences, at most one empty line, and lines that begin with `*`. An empty line among the sentences is an error."""
    lines = [line.strip() for line in text.split("\n")]
    first = next((place for place, line in enumerate(lines) if line.startswith("*")), len(lines))
    intro = lines[:first]
    bullets = [line.startswith("*") and has_content(line) for line in lines[first:]]
    count = sum(len(split_sentences(line)) for line in intro)
    return count >= 2 and all(intro[:-1]) and len(bullets) >= 2 and all(bullets)


@constraint("format:options", copies=True)
def options(text: str, options: str) -> bool:
    """Exactly one of the options, which `/`, `or` or commas separate. Letters such as `a)` need their bracket."""
    separator = r"/" if "/" in options else r"\bor\b" if re.search(r"\bor\b", options) else ","
    choices = [one.strip() for one in re.split(separator, options)]
    if len(choices) < 2 or "" in choices:
        raise UnreadableConstraint(f"format:options: options is {options!r:.100}")
    if re.match(r"(?i)\W*a\W*b\W*c\W*", options):
        return text.strip() in choices
    edges = PUNCTUATION + string.whitespace
    return text.strip(edges).lower() in [one.strip(edges).lower() for one in choices]


@constraint("format:output_template")
def output_template(text: str) -> bool:
    """Each of the three labels has text after it."""
    parts = LABELS.split(text)
    return len({label for label, body in zip(parts[1::2], parts[2::2], strict=True) if has_content(body)}) == 3


@constraint("format:thesis")
def thesis(text: str) -> bool:
    """A text in italics has text after it."""
    tag = "i" if "<i>" in text else "em"
    thesis, _, rest = text.partition(f"<{tag}>")[2].partition(f"</{tag}>")
    return has_content(thesis) and has_content(rest)


@constraint("format:quote_unquote")
def quote_unquote(text: str) -> bool:
    """No quote follows directly on another one, and none is at the end."""
    joined = "".join(text.replace("'\"'", "").split())
    return '""' not in joined and not joined.rstrip(string.digits + PUNCTUATION.replace('"', "")).endswith('"')


@constraint("repeat:repeat_change", copies=True)
def repeat_change(text: str, prompt_to_repeat: str) -> bool:
    """The first word differs, and all others are equal."""
    asked, given = prompt_to_repeat.split(), text.split()
    return asked[1:] == given[1:] and asked[:1] != given[:1]


@constraint("repeat:repeat_simple", copies=True)
def repeat_simple(text: str) -> bool:
    return text.strip().lower() == ONLY_SENTENCE.lower()


@constraint("repeat:repeat_span", copies=True)
def repeat_span(text: str, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    """The indices count characters, and the last one belongs to the span."""
    span = prompt_to_repeat[n_start : n_end + 1]
    if not span.strip():
        raise UnreadableConstraint(f"repeat:repeat_span: the span from {n_start} to {n_end} is empty")
    return text.strip().lower() == span.strip().lower()
