"""Constraints of IFBench on sentences and the order of words, and of IFEval on the language."""

from collections import Counter
from functools import cache, lru_cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import regex

from .splitting import (
    PUNCTUATION,
    WITHOUT_PUNCTUATION,
    WORD_LISTS,
    list_spaced_words,
    list_words,
    split_sentences,
    strip_punctuation,
)
from .table import Position, UnreadableConstraint, constraint, is_increasing


if TYPE_CHECKING:
    from langdetect.detector_factory import DetectorFactory


MAX_CHARS = 10_000  # that langdetect reads by default


@cache
def load_languages() -> "DetectorFactory":
    """Return the detectors. They have a seed, because langdetect guesses otherwise, and the same text must score the same."""
    from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory

    factory = DetectorFactory()
    factory.load_profile(PROFILES_DIRECTORY)
    factory.set_seed(0)
    return factory


@lru_cache(maxsize=1024)
def detect_language(text: str) -> str | None:
    """Return the code of the language of a text, such as `en` or `zh-cn`, or None if it has no known letters."""
    from langdetect.lang_detect_exception import LangDetectException

    detector = load_languages().create()
    detector.append(text[:MAX_CHARS])
    try:
        return str(detector.detect())
    except LangDetectException:
        return None


@constraint("language:response_language", package="langdetect")
def response_language(text: str, language: str) -> bool:
    """`zh` stands for all codes that begin with `zh-`."""
    codes = load_languages().get_lang_list()
    if not any(is_same_language(language, code) for code in codes):
        raise UnreadableConstraint(f"the language {language!r} is unknown; langdetect has {', '.join(sorted(codes))}")
    found = detect_language(text)
    return found is not None and is_same_language(language, found)


def is_same_language(asked: str, found: str) -> bool:
    return found == asked.lower() or found.startswith(f"{asked.lower()}-")


VERB_BASES = frozenset(WORD_LISTS["common verbs in their base form"])
IRREGULAR = frozenset(WORD_LISTS["forms of verbs that no rule gives"])


def is_verb(word: str) -> bool:
    """Return whether a word in small letters is a common verb, in its base form or with `-s`, `-ed` or `-ing`."""
    return word in IRREGULAR or not VERB_BASES.isdisjoint(list_bases(word))


def list_bases(word: str) -> list[str]:
    """Return the base forms that a word may have, as in `stopped`, `tries` and `making`."""
    bases = [word]
    for ending in ("s", "es", "ed", "ing"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 1:
            bases += [stem, stem + "e"]
            if stem[-1] == stem[-2]:
                bases.append(stem[:-1])
            if stem[-1] == "i":
                bases.append(stem[:-1] + "y")
    return bases


EMOJI = regex.compile(r"\p{Emoji}(?<!\p{ASCII})")
JAPANESE = regex.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def count_marks(text: str) -> list[int]:
    """Return how many sentences end with a period, a question mark and an exclamation mark."""
    ends = Counter(sentence[-1] for sentence in split_sentences(text))
    return [ends[mark] for mark in ".?!"]


@constraint("ratio:sentence_words")
def sentence_words(text: str) -> bool:
    """Three sentences of the same length in characters, which have no word in common."""
    sentences = split_sentences(text)
    words = [word for sentence in sentences for word in {*list_words(sentence.lower())}]
    if len(words) != len({*words}):
        return False
    if len(sentences) != 3:
        return False
    return len({*map(len, sentences)}) == 1


@constraint("sentence:alliteration_increment")
def alliteration_increment(text: str) -> bool:
    """Each of two or more sentences has more words next to a word with the same first letter than the one before."""
    return is_increasing([*map(count_alliterative, split_sentences(text))])


def count_alliterative(sentence: str) -> int:
    words = (word.lstrip(PUNCTUATION) for word in sentence.lower().split())
    letters = [word[0] for word in words if word]
    runs = (len([*run]) for _, run in groupby(letters))
    return sum(length for length in runs if length > 1)


@constraint("sentence:increment")
def increment(text: str, small_n: int) -> bool:
    """There are two or more sentences."""
    counts = [len(list_spaced_words(sentence)) for sentence in split_sentences(text)]
    if len(counts) <= 1:
        return False
    return all(other == one + small_n for one, other in pairwise(counts))


@constraint("words:last_first")
def last_first(text: str) -> bool:
    """There are two or more sentences."""
    words = [strip_punctuation(sentence).lower().split() for sentence in split_sentences(text)]
    if len(words) < 2 or not all(words):
        return False
    return all(one[-1] == other[0] for one, other in pairwise(words))


@constraint("words:paragraph_last_first")
def paragraph_last_first(text: str) -> bool:
    """Line breaks separate paragraphs."""
    lines = [strip_punctuation(line.strip().lower()).split() for line in text.split("\n")]
    return all(words[0] == words[-1] for words in lines if words)


@constraint("format:emoji")
def emoji(text: str) -> bool:
    """The emoji is one of the last two characters of the sentence without punctuation, or the first one after it."""
    sentences = [sentence.translate(WITHOUT_PUNCTUATION).strip() for sentence in split_sentences(text)]
    pairs = pairwise([*sentences, ""])
    return all(sentence and (EMOJI.search(sentence[-2:]) or EMOJI.match(following)) for sentence, following in pairs)


@constraint("words:odd_even_syllables", package="syllapy")
def odd_even_syllables(text: str) -> bool:
    """There are two or more words."""
    from syllapy import count

    counts = [count(word) % 2 for word in list_spaced_words(text.lower())]
    if len(counts) <= 1:
        return False
    return all(one != other for one, other in pairwise(counts))


@constraint("words:repeats")
def repeats(text: str, small_n: int) -> bool:
    return max(Counter(list_spaced_words(text.lower())).values(), default=0) <= small_n


@constraint("count:words_japanese")
def words_japanese(text: str, N: Position) -> bool:
    """Every N-th word has a Japanese letter, unless it is a number. There are N words or more."""
    words = [strip_punctuation(word) for word in text.split()[N - 1 :: N]]
    others = [word for word in words if word and not word.isdigit()]
    if not words:
        return False
    return all(map(JAPANESE.search, others))


@constraint("ratio:sentence_type")
def sentence_type(text: str) -> bool:
    periods, questions, *_ = count_marks(text)
    return periods == 2 * questions > 0


@constraint("ratio:sentence_balance")
def sentence_balance(text: str) -> bool:
    periods, questions, exclamations, *_ = count_marks(text)
    return periods == questions == exclamations > 0


@constraint("words:start_verb")
def start_verb(text: str) -> bool:
    return is_verb(next(iter(list_words(text.lower())), ""))
