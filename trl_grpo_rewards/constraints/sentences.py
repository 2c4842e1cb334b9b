"""Constraints of IFBench on sentences and on the order of words."""

from collections import Counter
from itertools import groupby, pairwise

import regex

from .splitting import PUNCTUATION, list_spaced_words, list_words, split_sentences, strip_punctuation
from .table import Position, constraint
from .verbs import is_verb


EMOJI = regex.compile(r"\p{Emoji}(?<!\p{ASCII})")
JAPANESE = regex.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def count_marks(text: str) -> tuple[int, int, int]:
    """Return how many sentences end with a period, a question mark and an exclamation mark."""
    ends = Counter(sentence[-1] for sentence in split_sentences(text))
    return ends["."], ends["?"], ends["!"]


@constraint("ratio:sentence_type")
def sentence_type(text: str) -> bool:
    statements, questions, _ = count_marks(text)
    return statements == 2 * questions > 0


@constraint("ratio:sentence_balance")
def sentence_balance(text: str) -> bool:
    statements, questions, exclamations = count_marks(text)
    return statements == questions == exclamations > 0


@constraint("ratio:sentence_words")
def sentence_words(text: str) -> bool:
    """Three sentences of the same length in characters, which have no word in common."""
    sentences = split_sentences(text)
    words = [word for sentence in sentences for word in {*list_words(sentence.lower())}]
    return len(sentences) == 3 and len({*map(len, sentences)}) == 1 and len(words) == len({*words})


@constraint("sentence:alliteration_increment")
def alliteration_increment(text: str) -> bool:
    """Each of two or more sentences has more words next to a word with the same first letter than the one before."""
    counts = [count_alliterative(sentence) for sentence in split_sentences(text)]
    return len(counts) > 1 and all(one < other for one, other in pairwise(counts))


def count_alliterative(sentence: str) -> int:
    words = (word.lstrip(PUNCTUATION) for word in sentence.lower().split())
    runs = (len([*run]) for _, run in groupby(word[0] for word in words if word))
    return sum(length for length in runs if length > 1)


@constraint("sentence:increment")
def increment(text: str, small_n: int) -> bool:
    """There are two or more sentences."""
    counts = [len(list_spaced_words(sentence)) for sentence in split_sentences(text)]
    return len(counts) > 1 and all(other == one + small_n for one, other in pairwise(counts))


@constraint("words:last_first")
def last_first(text: str) -> bool:
    """There are two or more sentences."""
    words = [strip_punctuation(sentence).lower().split() for sentence in split_sentences(text)]
    return len(words) > 1 and all(one and other and one[-1] == other[0] for one, other in pairwise(words))


@constraint("words:paragraph_last_first")
def paragraph_last_first(text: str) -> bool:
    """Line breaks separate paragraphs."""
    lines = [strip_punctuation(line.strip().lower()).split() for line in text.split("\n")]
    return all(words[0] == words[-1] for words in lines if words)


@constraint("format:emoji")
def emoji(text: str) -> bool:
    """The emoji is one of the last two characters of the sentence without punctuation, or the first one after it."""
    sentences = [
        "".join(one for one in sentence if one not in PUNCTUATION).strip() for sentence in split_sentences(text)
    ]
    return all(
        sentence and (EMOJI.search(sentence[-2:]) or EMOJI.match(following))
        for sentence, following in zip(sentences, [*sentences[1:], ""], strict=True)
    )


@constraint("words:odd_even_syllables", package="syllapy")
def odd_even_syllables(text: str) -> bool:
    """There are two or more words."""
    from syllapy import count

    counts = [count(word) % 2 for word in list_spaced_words(text.lower())]
    return len(counts) > 1 and all(one != other for one, other in pairwise(counts))


@constraint("words:repeats")
def repeats(text: str, small_n: int) -> bool:
    return max(Counter(list_spaced_words(text.lower())).values(), default=0) <= small_n


@constraint("words:start_verb")
def start_verb(text: str) -> bool:
    return is_verb(next(iter(list_words(text.lower())), ""))


@constraint("count:words_japanese")
def words_japanese(text: str, N: Position) -> bool:
    """Every N-th word has a Japanese letter, unless it is a number. There are N words or more."""
    words = [strip_punctuation(word) for word in text.split()[N - 1 :: N]]
    return bool(words) and all(JAPANESE.search(word) for word in words if word and not word.isdigit())
