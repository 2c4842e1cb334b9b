"""How constraints split a text into words, tokens and sentences. The rules are in docs/judges.md."""

import re
import string
from functools import lru_cache
from pathlib import Path

from .visible import has_content


PUNCTUATION = string.punctuation  # of ASCII
WITHOUT_PUNCTUATION = str.maketrans("", "", PUNCTUATION)

WORDS = {  # the lists of `words.txt` by their headings
    heading: tuple(words.split())
    for heading, _, words in (
        part.partition("\n") for part in Path(__file__).with_name("words.txt").read_text().split("# ")[1:]
    )
}

STOP_WORDS = frozenset(WORDS["stop words"])  # words without a meaning of their own; no sentence ends with one
ABBREVIATIONS = frozenset(WORDS["words that keep their period"])  # a stop word with a capital ends them

OPENERS = STOP_WORDS.union(WORDS["openers of sentences"])

END = re.compile(r"[.!?](?=[)\"';}\]*:@({\[!?“”‘’«»]|\s+(\S+))")
CLOSING = re.compile(r"\s*[\"')\]}“”‘’«»]+(?=\s|--|$)")
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
    sentences, start = [], 0
    ends = [*END.finditer(text)]
    starts = [*(end.start() for end in ends), len(text) + 1][1:]
    for end, following in zip(ends, starts, strict=True):
        is_last = following > len(text) or SPACE.search(text, end.end(), following)
        if not is_last or not is_end(text, end):
            continue
        closing = CLOSING.match(text, end.end())
        stop = closing.end() if closing else end.end()
        sentences.append(text[start:stop].strip())
        start = stop
    sentences.append(text[start:].strip())
    return tuple(sentence for sentence in sentences if sentence)


def is_end(text: str, end: re.Match[str]) -> bool:
    """Return whether one of the marks `.`, `!` and `?` ends a sentence."""
    if end[0] != ".":
        return True
    last = LAST_WORD.search(text[max(0, end.start() - LONGEST_ABBREVIATION) : end.start()])
    word = last[0].lstrip("'‘’").lower() if last else ""
    following = (end[1] or "").strip(PUNCTUATION + "“”‘’")
    is_opener = following[:1].isupper() and following.lower() in OPENERS
    if word.endswith(".") or word in ABBREVIATIONS or word.rpartition("-")[2] in ABBREVIATIONS:
        return is_opener and len(word) > 1
    if len(word) == 1 and word.isalpha():
        return is_opener or not following[:1].isupper()
    return not (word.isdigit() and (end[1] or "")[:1].islower())


MARKS = re.escape('[](){}<>?!;@#$%&*"`“”„‘’«»‒–—―')
BREAK = rf"[{MARKS}]|[:,](?!\d)|\.{{2,}}|--"
CLITIC = rf"(?:'(?:s|m|d|ll|re|ve)?|n't)(?=\s|{BREAK}|$)"
TOKEN = re.compile(rf"(?i){BREAK}|{CLITIC}|(?<!\w)'(?=\w)|(?:[^\s{MARKS}:,.'n-]+|(?!{BREAK}|{CLITIC})[:,.'n-])+")
FINAL_PERIOD = re.compile(r"(?<=[^.])\.(?=[])}>\"'»”’\s]*$)")


@lru_cache(maxsize=256)
def list_tokens(text: str) -> tuple[str, ...]:
    """Return the words and punctuation marks of a text. A contraction is two tokens, as in `do` and `n't`."""
    sentences = (FINAL_PERIOD.sub(" .", sentence) for sentence in split_sentences(text))
    return tuple(token for sentence in sentences for token in TOKEN.findall(sentence))
