"""The words, tokens and sentences of a text, and which words occur in it. The rules are in docs/judges.md."""

import re
import string
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from unicodedata import name, normalize

import regex


LOOSE_MARKS = regex.compile(r"(\p{Latin})\p{M}+")
FOREIGN = r"\p{Cyrillic}\p{Greek}"
FOREIGN_LETTER = regex.compile(f"[{FOREIGN}]")
DISGUISED_LETTERS = regex.compile(rf"(?<=\p{{Latin}})[{FOREIGN}]|[{FOREIGN}](?=\p{{Latin}})")
LATIN = regex.compile(r"\p{Latin}")
WITH_CONTENT = re.compile(r"[^\W_]")


def has_content(text: str) -> bool:
    """Return whether a text has a letter or a digit."""
    return WITH_CONTENT.search(text) is not None


def unfold(text: str) -> str:
    """Return the text with plain letters in place of styled ones, such as full-width or bold mathematical letters."""
    if text.isascii():
        return text
    return LOOSE_MARKS.sub(r"\1", normalize("NFKC", text))


@lru_cache(maxsize=1024)
def compile_word(word: str) -> tuple[re.Pattern[str], regex.Pattern[str]]:
    """Return an expression for a whole word, and one for the word with Cyrillic and Greek letters in it."""
    letters = (f"(?:{regex.escape(char)}|[{FOREIGN}])" if char.isalpha() else regex.escape(char) for char in word)
    plain = rf"(?<!\w){re.escape(word)}(?!\w)"
    return re.compile(plain, re.IGNORECASE), regex.compile(rf"(?<!\w){''.join(letters)}(?!\w)", regex.IGNORECASE)


LOOKALIKES = {"a": "4@", "b": "8", "e": "3", "g": "9", "i": "1!", "l": "1", "o": "0", "s": "5$", "t": "7", "z": "2"}
SHORTEST_DISGUISED = 3  # letters; shorter words occur by chance


@lru_cache(maxsize=1024)
def compile_disguise(word: str) -> re.Pattern[str]:
    """Return an expression for a word whose letters are spaced out, `s-u-n`, or written as digits, `5un`."""
    if len(word) < SHORTEST_DISGUISED or not word.isalpha():
        return re.compile(r"(?!)")
    letters = [f"[{re.escape(letter + LOOKALIKES.get(letter, ''))}]" for letter in word.lower()]
    spaced, joined = (separator.join(letters) for separator in (r"[\W_]{1,2}", ""))
    return re.compile(rf"(?<!\w)(?:{spaced}|{joined})(?!\w)", re.IGNORECASE)


def has_any_word(words: Collection[str], text: str) -> bool:
    """Whether one of the words occurs in a text as a whole word, ignoring case, even in styled or foreign letters."""
    text = unfold(text)
    lowered = text.lower()
    if any(word.lower() in lowered and compile_word(word)[0].search(text) for word in words):
        return True
    return any(is_disguised(word, text) for word in words) or has_foreign_word(words, text)


def is_disguised(word: str, text: str) -> bool:
    """Whether a word is spaced out or written with digits, in a place with a letter."""
    return any(found[0].lower() != found[0].upper() for found in compile_disguise(word).finditer(text))


def has_foreign_word(words: Collection[str], text: str) -> bool:
    """Whether one of the words occurs with Cyrillic or Greek letters next to a Latin one."""
    if text.isascii() or not FOREIGN_LETTER.search(text):
        return False
    return any(LATIN.search(found[0]) for word in words for found in compile_word(word)[1].finditer(text))


def has_mark(text: str, mark: str, *kinds: str) -> bool:
    """Return whether a text has a mark, or one of another script: a character whose Unicode name has the words of a kind."""
    if mark in text:
        return True
    names = [name(char, "") for char in {*text} if not char.isascii()]
    return any(kind in char_name for char_name in names for kind in kinds)


def count_letter(letter: str, text: str) -> int:
    """Return how often a letter occurs, ignoring case, with those that may be this letter in disguise."""
    text = unfold(text)
    count = text.lower().count(letter)
    if text.isascii():
        return count
    return count + len(DISGUISED_LETTERS.findall(text))


PUNCTUATION = string.punctuation  # of ASCII
WITHOUT_PUNCTUATION = str.maketrans("", "", PUNCTUATION)

WORD_LISTS = {  # the lists of `words.txt` by their headings
    heading: tuple(words.split())
    for heading, _, words in (
        part.partition("\n") for part in Path(__file__).with_name("words.txt").read_text().split("# ")[1:]
    )
}

STOP_WORDS = frozenset(WORD_LISTS["stop words"])  # words without a meaning of their own; no sentence ends with one
ABBREVIATIONS = frozenset(WORD_LISTS["words that keep their period"])  # a stop word with a capital ends them
SENTENCE_OPENERS = STOP_WORDS.union(WORD_LISTS["openers of sentences"])
SENTENCE_END = re.compile(r"[.!?](?=[)\"';}\]*:@({\[!?“”‘’«»]|\s+(\S+))")
CLOSING_QUOTES = re.compile(r"\s*[\"')\]}“”‘’«»]+(?=\s|--|$)")
LAST_WORD = re.compile(r"[^\s()\";}\]*:@{\[!?“”«»]*$")
SPACE = re.compile(r"\s")
WORD = re.compile(r"\w+")
LONGEST_ABBREVIATION = 20  # in characters before a period


def list_words(text: str) -> list[str]:
    """Return the words of a text: runs of letters, digits and underscores, with more than underscores."""
    return [*filter(has_content, WORD.findall(text))]


def list_spaced_words(text: str) -> list[str]:
    """Return what whitespace separates, without any ASCII punctuation and without what then is empty."""
    return text.translate(WITHOUT_PUNCTUATION).split()


def strip_punctuation(word: str) -> str:
    return word.strip(PUNCTUATION + " ")


@lru_cache(maxsize=256)
def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, with closing brackets and quotes. Periods of abbreviations and dots end none."""
    sentences = []
    start = 0
    ends = [*SENTENCE_END.finditer(text)]
    starts = [*(end.start() for end in ends), len(text) + 1][1:]
    for end, following in zip(ends, starts, strict=True):
        is_last = following > len(text) or SPACE.search(text, end.end(), following)
        if not is_last or not is_end(text, end):
            continue
        closing = CLOSING_QUOTES.match(text, end.end())
        stop = closing.end() if closing else end.end()
        sentences.append(text[start:stop].strip())
        start = stop
    sentences.append(text[start:].strip())
    return tuple(sentence for sentence in sentences if sentence)


def is_end(text: str, end: re.Match[str]) -> bool:
    """Return whether one of the marks `.`, `!` and `?` ends a sentence."""
    if end[0] != ".":
        return True
    start = max(0, end.start() - LONGEST_ABBREVIATION)
    last = LAST_WORD.search(text[start : end.start()])
    word = ""
    if last:
        word = last[0].lstrip("'‘’").lower()
    return is_final(word, end[1] or "")


def is_final(word: str, following: str) -> bool:
    """Return whether a period between two words ends a sentence. After an abbreviation, only an opener begins one."""
    after = following.strip(PUNCTUATION + "“”‘’")
    is_capital = after[:1].isupper()
    is_opener = is_capital and after.lower() in SENTENCE_OPENERS
    if word.endswith(".") or is_abbreviation(word):
        return is_opener and len(word) > 1
    if len(word) == 1 and word.isalpha():
        return is_opener or not is_capital
    return not (word.isdigit() and following[:1].islower())


def is_abbreviation(word: str) -> bool:
    return word in ABBREVIATIONS or word.rpartition("-")[2] in ABBREVIATIONS


BREAKING_MARKS = re.escape('[](){}<>?!;@#$%&*"`“”„‘’«»‒–—―')
BREAK = rf"[{BREAKING_MARKS}]|[:,](?!\d)|\.{{2,}}|--"
CLITIC = rf"(?:'(?:s|m|d|ll|re|ve)?|n't)(?=\s|{BREAK}|$)"
WORD_OR_MARK = re.compile(
    rf"(?i){BREAK}|{CLITIC}|(?<!\w)'(?=\w)|(?:[^\s{BREAKING_MARKS}:,.'n-]+|(?!{BREAK}|{CLITIC})[:,.'n-])+"
)
FINAL_PERIOD = re.compile(r"(?<=[^.])\.(?=[])}>\"'»”’\s]*$)")


@lru_cache(maxsize=256)
def list_tokens(text: str) -> tuple[str, ...]:
    """Return the words and punctuation marks of a text. A contraction is two tokens, as in `do` and `n't`."""
    sentences = (FINAL_PERIOD.sub(" .", sentence) for sentence in split_sentences(text))
    return tuple(token for sentence in sentences for token in WORD_OR_MARK.findall(sentence))
