"""What a person can see of a text."""

from html import unescape
from unicodedata import normalize

import regex


INVISIBLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
BLANK = "\u2800"  # a braille pattern without dots, which looks like a space
VISIBLE = regex.compile(r"[\p{L}\p{N}\p{P}\p{S}]")


def drop_invisible(text: str) -> str:
    """Return the text without characters that cannot be seen, such as zero-width spaces."""
    if text.isascii():
        return text
    return INVISIBLE.sub("", text).replace(BLANK, " ")


def see(text: str) -> str:
    """Return what can be seen of a text, with accents composed in one way."""
    if text.isascii():
        return text
    return normalize("NFC", drop_invisible(text))


def is_blank(text: str) -> bool:
    """Return whether a page would show nothing of a text: comments of HTML are not seen, either."""
    if "&" in text or "<" in text:
        text = unescape(drop_html_comments(text))
    return VISIBLE.search(drop_invisible(text)) is None


def drop_html_comments(text: str) -> str:
    kept = []
    start = 0
    while (opening := text.find("<!--", start)) >= 0 and (closing := text.find("-->", opening + 4)) >= 0:
        kept.append(text[start:opening])
        start = closing + 3
    return "".join([*kept, text[start:]])
