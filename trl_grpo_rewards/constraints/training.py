"""The constraints that only IF-RLVR's training set has. The paper is Generalizing Verifiable Instruction Following."""

import re
from itertools import chain, pairwise

from .formats import number_paragraphs
from .occurrences import frequency, keywords_specific_position, letter_frequency
from .splitting import has_any_word, has_content, has_mark, list_spaced_words, split_sentences, strip_punctuation
from .table import CountRelation, constraint, meets_relation


BIGRAMS = re.compile(r"(?:<<[^\s<>]+ [^\s<>]+>>\s+)*<<[^\s<>]+ [^\s<>]+>>(?:\s+<<[^\s<>]+>>)?")
BRACKETED = re.compile(r"\[[^\s\[\]]+\](?:\s+\[[^\s\[\]]+\])*")


constraint("keywords:word_count_different_numbers")(frequency)
constraint("keywords:keyword_specific_position")(keywords_specific_position)
constraint("letters:letter_counting2")(letter_frequency)


@constraint("keywords:word_once")
def word_once(text: str, keyword: str) -> bool:
    return text.lower().count(keyword.strip().lower()) == 1


@constraint("count:count_increment_word")
def count_increment_word(text: str, keyword1: str, keyword2: str) -> bool:
    counts = [text.lower().count(keyword.strip().lower()) for keyword in (keyword1, keyword2)]
    return counts == [1, 2]


@constraint("keywords:exclude_word_harder")
def exclude_word_harder(text: str, keyword: str) -> bool:
    return not has_any_word([keyword.strip()], text)


@constraint("keywords:no_adjacent_consecutive")
def no_adjacent_consecutive(text: str) -> bool:
    """No word begins with the letter after that of the word before. There are two or more words."""
    letters = [word[0] for word in list_spaced_words(text.lower())]
    if len(letters) < 2:
        return False
    return all(ord(other) - ord(one) != 1 for one, other in pairwise(letters))


@constraint("keywords:start_end")
def start_end(text: str) -> bool:
    """Another word is between the two, and nothing is after the last one."""
    words = list_spaced_words(text.lower())
    if len(words) < 3 or words[0] != words[-1]:
        return False
    return text.rstrip()[-1:].isalnum()


@constraint("keywords:palindrome")
def palindrome(text: str) -> bool:
    """The palindrome is a word of three letters or more."""
    words = (word for word in list_spaced_words(text.lower()) if word.isalpha())
    return any(len(word) > 2 and word == word[::-1] for word in words)


@constraint("letters:letter_counting")
def letter_counting(text: str, N: int, relation: CountRelation) -> bool:
    """More than three equal letters in a row count as three where there must be many."""
    if relation == "at least":
        text = re.sub(r"(?i)([^\W\d_])\1{3,}", r"\1\1\1", text)
    return meets_relation(sum(map(str.isalpha, text)), relation, N)


@constraint("count:lowercase_counting")
def lowercase_counting(text: str, N: int) -> bool:
    return sum(map(str.islower, list_spaced_words(text))) <= N


@constraint("count:count_unique")
def count_unique(text: str) -> bool:
    """There are two or more words."""
    words = list_spaced_words(text.lower())
    return len(words) == len({*words}) > 1


@constraint("count:counting_composition")
def counting_composition(text: str, n_sent: int, n_words: int) -> bool:
    """The divider `***` or `* * *` separates three paragraphs. Punctuation marks do not count as words."""
    paragraphs = [part for part in re.split(r"\* ?\* ?\*", text) if part.strip()]
    sentences = [*map(split_sentences, paragraphs)]
    counts = {len(list_spaced_words(sentence)) for sentence in chain.from_iterable(sentences)}
    if [*map(len, sentences)] != [n_sent] * 3:
        return False
    return counts == {n_words}


@constraint("paragraphs:paragraphs2")
def paragraphs2(text: str) -> bool:
    """Two line breaks separate the two paragraphs."""
    parts = re.split(r"\n[ \t]*\n", text.strip())
    return [*map(has_content, parts)] == [True, True]


@constraint("first_word:first_word_sent")
def first_word_sent(text: str, first_word: str) -> bool:
    return all(begins_with(sentence, first_word) for sentence in split_sentences(text))


@constraint("last_word:last_word_sent")
def last_word_sent(text: str, last_word: str) -> bool:
    return all(ends_with(sentence, last_word) for sentence in split_sentences(text))


@constraint("first_word:first_word_answer")
def begins_with(text: str, first_word: str) -> bool:
    return is_same_word(text.split()[:1], first_word)


@constraint("last_word:last_word_answer")
def ends_with(text: str, last_word: str) -> bool:
    return is_same_word(text.split()[-1:], last_word)


def is_same_word(words: list[str], word: str) -> bool:
    """Return whether there is one word, which is the same without punctuation, ignoring case."""
    return [strip_punctuation(found).lower() for found in words] == [strip_punctuation(word).lower()]


@constraint("copy:repeat_phrase")
def repeat_phrase(text: str, phrase: str, small_n: int) -> bool:
    """The versions of the phrase differ. One may be the phrase itself, and each other one replaces one word in its middle."""
    words = phrase.split()
    inner = rf"(?:\S+ ){{{max(0, len(words) - 2)}}}"
    found = re.findall(rf"(?<!\S){re.escape(words[0])} {inner}{re.escape(words[-1])}(?!\w)", text)
    changes = [sum(one != other for one, other in zip(version.split(), words, strict=True)) for version in found]
    is_whole = len(re.findall(rf"(?<!\S){re.escape(words[0])} ", text)) == len(found)
    if not is_whole or not len(found) == len({*found}) == small_n:
        return False
    return sum(changes) >= small_n - 1 and max(changes) == 1


@constraint("copy:copy", copies=True)
@constraint("copy:copying_simple", copies=True)
def is_copy(text: str, prompt_to_repeat: str) -> bool:
    return text.strip().lower() == prompt_to_repeat.strip().lower()


@constraint("copy:copying_multiple", copies=True)
def copying_multiple(text: str, prompt_to_repeat: str, N: int) -> bool:
    parts = text.split("******")
    if len(parts) != N:
        return False
    return all(is_copy(part, prompt_to_repeat) for part in parts)


@constraint("new:copy_span_idx", copies=True)
def copy_span_idx(text: str, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    """The last character may be left out, as in the official program. The request includes it."""
    return any(is_copy(text, prompt_to_repeat[n_start:end]) for end in (n_end, n_end + 1))


@constraint("detectable_format:sentence_hyphens")
def sentence_hyphens(text: str) -> bool:
    """A hyphen without spaces is between two sentences or more."""
    sentences = split_sentences(re.sub(r"(?<=[.!?])-(?=\S)", " ", text))
    if len(sentences) <= 1:
        return False
    return "-".join(sentences) == text.strip()


@constraint("paragraphs:paragraphs")
def paragraphs(text: str) -> bool:
    return number_paragraphs(text, 2)


@constraint("detectable_format:square_brackets")
def square_brackets(text: str) -> bool:
    return BRACKETED.fullmatch(text.strip()) is not None


@constraint("detectable_format:bigram_wrapping")
def bigram_wrapping(text: str) -> bool:
    return BIGRAMS.fullmatch(text.strip()) is not None


@constraint("punctuation:punctuation_dot")
def punctuation_dot(text: str) -> bool:
    return not has_mark(text, ".", "FULL STOP", "DOT LEADER", "ELLIPSIS")


@constraint("punctuation:punctuation_exclamation")
def punctuation_exclamation(text: str) -> bool:
    return not has_mark(text, "!", "EXCLAMATION MARK")
