"""Constraints on words, letters and characters that must occur, or must not: also case, punctuation and white space."""

import re
from itertools import groupby
from unicodedata import normalize

from .sentences import detect_language
from .splitting import (
    STOP_WORDS,
    WORD_LISTS,
    count_letter,
    has_any_word,
    has_mark,
    list_spaced_words,
    list_tokens,
    list_words,
    split_sentences,
    strip_punctuation,
)
from .table import CountRelation, Position, constraint, meets_relation


CONJUNCTIONS = {"and", "but", "for", "nor", "or", "so", "yet"}
PRONOUNS = frozenset(WORD_LISTS["pronouns"])


@constraint("keywords:existence")
def existence(text: str, keywords: list[str]) -> bool:
    lowered = text.lower()
    return all(keyword.lower() in lowered for keyword in keywords)


@constraint("keywords:forbidden_words")
def forbidden_words(text: str, forbidden_words: list[str]) -> bool:
    return not has_any_word(forbidden_words, text)


@constraint("keywords:frequency")
def frequency(text: str, keyword: str, frequency: int, relation: CountRelation) -> bool:
    """A keyword that directly follows itself counts once where it must occur often."""
    pattern = re.escape(keyword.strip())
    if relation == "at least":
        pattern = rf"{pattern}(?:\W*{pattern})*"
    return meets_relation(len(re.findall(pattern, text, re.IGNORECASE)), relation, frequency)


@constraint("keywords:letter_frequency")
def letter_frequency(text: str, letter: str, let_frequency: int, let_relation: CountRelation) -> bool:
    """More than three equal letters in a row count as three where the letter must occur often."""
    letter = letter.strip().lower()
    if let_relation == "less than":
        return count_letter(letter, text) < let_frequency
    shortened = re.sub(rf"({re.escape(letter)}){{4,}}", letter * 3, text.lower())
    return shortened.count(letter) >= let_frequency


@constraint("count:keywords_multiple")
def keywords_multiple(text: str, keyword1: str, keyword2: str, keyword3: str, keyword4: str, keyword5: str) -> bool:
    lowered = text.lower()
    keywords = (keyword1, keyword2, keyword3, keyword4, keyword5)
    counts = [lowered.count(keyword.strip().lower()) for keyword in keywords]
    return counts == [1, 2, 3, 5, 7]


@constraint("sentence:keyword")
def sentence_keyword(text: str, word: str, N: Position) -> bool:
    sentences = split_sentences(text)
    pattern = rf"(?<!\w){re.escape(word)}(?!\w)"
    if N > len(sentences):
        return False
    return re.search(pattern, sentences[N - 1], re.IGNORECASE) is not None


@constraint("words:keywords_specific_position")
def keywords_specific_position(text: str, keyword: str, n: Position, m: Position) -> bool:
    sentences = split_sentences(text)
    if n > len(sentences):
        return False
    words = [token for token in list_tokens(sentences[n - 1]) if any(map(str.isalnum, token))]
    if m > len(words):
        return False
    return words[m - 1].lower() == keyword.strip().lower()


@constraint("words:words_position")
def words_position(text: str, keyword: str) -> bool:
    """The second token and the second to last one are the keyword. A final punctuation mark does not count."""
    tokens = [token.lower() for token in list_tokens(text)]
    if tokens and not strip_punctuation(tokens[-1]):
        tokens.pop()
    if len(tokens) <= 1:
        return False
    return tokens[1] == tokens[-2] == keyword.strip().lower()


@constraint("count:unique_word_count")
def unique_word_count(text: str, N: int) -> bool:
    return len({strip_punctuation(word) for word in text.lower().split()}) >= N


@constraint("count:conjunctions")
def conjunctions(text: str, small_n: int) -> bool:
    words = {strip_punctuation(word).lower() for word in text.split()}
    return len(CONJUNCTIONS.intersection(words)) >= small_n


@constraint("count:pronouns")
def pronouns(text: str, N: int) -> bool:
    tokens = list_tokens(text.lower().replace("/", " "))
    return sum(token in PRONOUNS for token in tokens) >= N


@constraint("count:person_names")
def person_names(text: str, N: int) -> bool:
    return len({*list_words(text)}.intersection(WORD_LISTS["person names"])) >= N


@constraint("count:numbers")
def numbers(text: str, N: int) -> bool:
    return sum(len(re.findall(r"\d+", word)) for word in list_spaced_words(text)) == N


@constraint("ratio:stop_words")
def stop_words(text: str, percentage: float) -> bool:
    words = list_words(text)
    return 100 * sum(word.lower() in STOP_WORDS for word in words) <= percentage * len(words)


@constraint("ratio:overlap")
def reference_overlap(text: str, reference_text: str, percentage: float) -> bool:
    """The share of the text's different runs of three characters that the reference has, give or take 2 %."""
    runs, reference_runs = map(list_runs, (text, reference_text))
    if not runs:
        return False
    return abs(100 * len(runs & reference_runs) / len(runs) - percentage) <= 2


def list_runs(text: str) -> set[str]:
    return {text[place : place + 3] for place in range(len(text) - 2)}


VOWELS = frozenset("aeiou")
CONSONANTS = re.compile(r"(?i)[b-df-hj-np-tv-z]{2}")
BRACKET_PAIRS = {")": "(", "]": "[", "}": "{"}
# Lengths of words that are prime. No word has 100 letters.
PRIMES = frozenset(number for number in range(2, 100) if all(number % divisor for divisor in range(2, number)))


@constraint("change_case:english_capital", package="langdetect")
def english_capital(text: str) -> bool:
    return text.isupper() and detect_language(text.lower()) == "en"  # capitals are taken for other languages


@constraint("change_case:english_lowercase", package="langdetect")
def english_lowercase(text: str) -> bool:
    return text.islower() and detect_language(text) == "en"


@constraint("change_case:capital_word_frequency")
def capital_word_frequency(text: str, capital_frequency: int, capital_relation: CountRelation) -> bool:
    return meets_relation(sum(token.isupper() for token in list_tokens(text)), capital_relation, capital_frequency)


def is_palindrome(word: str) -> bool:
    if len(word) < 5:
        return False
    return word == word[::-1]


def is_against_title_case(token: str) -> bool:
    """Return whether a word begins with a small letter. Words with letters of both cases, such as `iPhone`, may."""
    if not token[0].islower():
        return False
    return len(token) == 1 or token[1:].islower() or token[1:].isupper()


@constraint("punctuation:no_comma")
def no_comma(text: str) -> bool:
    """Commas of other scripts count, and so does a low quotation mark, which looks like one."""
    return not has_mark(text, ",", "COMMA", "SINGLE LOW-9")


@constraint("count:punctuation")
def punctuation(text: str) -> bool:
    """Every mark occurs outside the interrobang, too."""
    rest, joined = re.subn(r"\?!", "", text, count=1)
    if not joined:
        rest, joined = re.subn(r"!\?", "", text, count=1)
    if not joined and "‽" not in text:
        return False
    return {*".,!?;:"} <= {*rest}


@constraint("format:parentheses")
def parentheses(text: str) -> bool:
    """Five levels or more are open, and the innermost one is closed. A wrong closing bracket starts again."""
    levels: list[str] = []
    for sign in text:
        if sign in BRACKET_PAIRS.values():
            levels.append(sign)
        elif sign in BRACKET_PAIRS:
            if not levels or levels[-1] != BRACKET_PAIRS[sign]:
                levels = []
            elif len(levels) >= 5:
                return True
            else:
                levels.pop()
    return False


@constraint("format:quotes")
def quotes(text: str) -> bool:
    """Double and single quotation marks alternate for three levels, and those are closed again."""
    levels: list[str] = []
    deepest = 0
    for sign in text:
        if levels and sign == levels[-1]:
            levels.pop()
            if deepest - len(levels) >= 3:
                return True
        elif sign in "\"'":
            levels.append(sign)
            deepest = max(deepest, len(levels))
    return False


@constraint("words:no_consecutive")
def no_consecutive(text: str) -> bool:
    """There are two or more words."""
    letters = [word[0] for word in list_spaced_words(text.lower())]
    if len(letters) < 2:
        return False
    return all(len([*run]) == 1 for _, run in groupby(letters))


@constraint("words:alphabet")
def alphabet(text: str) -> bool:
    """Each of two or more words begins with the letter after that of the word before, and `a` follows `z`."""
    places = [ord(word[0].lower()) - ord("a") for word in list_spaced_words(text)]
    if len(places) < 2:
        return False
    return all(place == (places[0] + count) % 26 for count, place in enumerate(places))


@constraint("format:no_whitespace")
def no_whitespace(text: str) -> bool:
    return not any(map(str.isspace, text))


@constraint("format:title_case")
def title_case(text: str) -> bool:
    return not any(map(is_against_title_case, list_tokens(text)))


@constraint("words:vowel")
def vowel(text: str) -> bool:
    if "\n" in text.strip():
        return False
    letters = normalize("NFKD", text.lower())
    return len(VOWELS.intersection(letters)) <= 3


@constraint("words:consonants")
def consonants(text: str) -> bool:
    return all(map(CONSONANTS.search, text.split()))


@constraint("words:palindrome")
def ten_palindromes(text: str) -> bool:
    return sum(map(is_palindrome, {*list_spaced_words(text.lower())})) >= 10


@constraint("words:prime_lengths")
def prime_lengths(text: str) -> bool:
    return all(len(word) in PRIMES for word in list_spaced_words(text))
