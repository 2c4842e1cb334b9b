"""What a reader sees of a text: without invisible characters, and with disguised letters recognized."""

import re
from collections.abc import Collection
from functools import lru_cache
from html import unescape
from unicodedata import normalize

import regex


INVISIBLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
BLANK = "\u2800"  # a braille pattern without dots, which looks like a space
LOOSE_MARKS = regex.compile(r"(\p{Latin})\p{M}+")
FOREIGN = r"\p{Cyrillic}\p{Greek}"
FOREIGN_LETTER = regex.compile(f"[{FOREIGN}]")
DISGUISED_LETTERS = regex.compile(rf"(?<=\p{{Latin}})[{FOREIGN}]|[{FOREIGN}](?=\p{{Latin}})")
LATIN = regex.compile(r"\p{Latin}")
MARK = regex.compile(r"[\p{L}\p{N}\p{P}\p{S}]")
WITH_CONTENT = re.compile(r"[^\W_]")


def drop_invisible(text: str) -> str:
    """Return the text without characters that cannot be seen, such as zero-width spaces."""
    return text if text.isascii() else INVISIBLE.sub("", text).replace(BLANK, " ")


def see(text: str) -> str:
    """Return what can be seen of a text, with accents composed in one way."""
    return text if text.isascii() else normalize("NFC", drop_invisible(text))


def is_blank(text: str) -> bool:
    """Return whether nothing of a text can be seen."""
    return MARK.search(drop_invisible(unescape(text) if "&" in text else text)) is None


def has_content(text: str) -> bool:
    """Return whether a text has a letter or a digit."""
    return WITH_CONTENT.search(text) is not None


def unfold(text: str) -> str:
    """Return the text with plain letters in place of styled ones, such as full-width or bold mathematical letters."""
    return text if text.isascii() else LOOSE_MARKS.sub(r"\1", normalize("NFKC", text))


@lru_cache(maxsize=1024)
def compile_word(word: str) -> tuple[re.Pattern[str], regex.Pattern[str]]:
    """Return an expression for a whole word, and one for the word with Cyrillic and Greek letters in it."""
    letters = (f"(?:{regex.escape(one)}|[{FOREIGN}])" if one.isalpha() else regex.escape(one) for one in word)
    plain = rf"(?<!\w){re.escape(word)}(?!\w)"
    return re.compile(plain, re.IGNORECASE), regex.compile(rf"(?<!\w){''.join(letters)}(?!\w)", regex.IGNORECASE)


def has_any_word(words: Collection[str], text: str) -> bool:
    """Whether one of the words occurs in a text as a whole word, ignoring case, even in styled or foreign letters."""
    text = unfold(text)
    lowered = text.lower()
    if any(word.lower() in lowered and compile_word(word)[0].search(text) for word in words):
        return True
    if text.isascii() or not FOREIGN_LETTER.search(text):
        return False
    return any(LATIN.search(one[0]) for word in words for one in compile_word(word)[1].finditer(text))


def count_letter(letter: str, text: str) -> int:
    """Return how often a letter occurs, ignoring case, with those that may be this letter in disguise."""
    text = unfold(text)
    return text.lower().count(letter) + (0 if text.isascii() else len(DISGUISED_LETTERS.findall(text)))
