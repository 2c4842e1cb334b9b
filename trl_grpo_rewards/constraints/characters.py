"""Constraints on letters and characters: case, commas, vowels, punctuation, white space, nesting."""

import re
from itertools import groupby
from unicodedata import name, normalize

from .languages import detect_language
from .splitting import list_spaced_words, list_tokens
from .table import Relation, constraint, meets_relation


VOWELS = frozenset("aeiou")
CONSONANTS = re.compile(r"(?i)[b-df-hj-np-tv-z]{2}")
PAIRS = {")": "(", "]": "[", "}": "{"}
PRIMES = frozenset(number for number in range(2, 100) if all(number % divisor for divisor in range(2, number)))
"""Lengths of words that are prime. No word has 100 letters."""


@constraint("change_case:english_capital", package="langdetect")
def english_capital(text: str) -> bool:
    return text.isupper() and detect_language(text.lower()) == "en"  # capitals are taken for other languages


@constraint("change_case:english_lowercase", package="langdetect")
def english_lowercase(text: str) -> bool:
    return text.islower() and detect_language(text) == "en"


@constraint("change_case:capital_word_frequency")
def capital_word_frequency(text: str, capital_frequency: int, capital_relation: Relation) -> bool:
    return meets_relation(sum(token.isupper() for token in list_tokens(text)), capital_relation, capital_frequency)


@constraint("format:title_case")
def title_case(text: str) -> bool:
    return not any(is_against_title_case(token) for token in list_tokens(text))


def is_against_title_case(token: str) -> bool:
    """Return whether a word begins with a small letter. Words with letters of both cases, such as `iPhone`, may."""
    return token[0].islower() and (len(token) == 1 or token[1:].islower() or token[1:].isupper())


@constraint("punctuation:no_comma")
def no_comma(text: str) -> bool:
    """Commas of other scripts count, too."""
    return "," not in text and not any("COMMA" in name(one, "") for one in {*text} if not one.isascii())


@constraint("count:punctuation")
def punctuation(text: str) -> bool:
    """Every mark occurs outside the interrobang, too."""
    rest, joined = re.subn(r"\?!", "", text, count=1)
    if not joined:
        rest, joined = re.subn(r"!\?", "", text, count=1)
    return bool(joined or "‽" in text) and {*".,!?;:"} <= {*rest}


@constraint("format:no_whitespace")
def no_whitespace(text: str) -> bool:
    return not any(map(str.isspace, text))


@constraint("format:parentheses")
def parentheses(text: str) -> bool:
    """Five levels or more are open, and the innermost one is closed. A wrong closing bracket starts again."""
    levels: list[str] = []
    for one in text:
        if one in PAIRS.values():
            levels.append(one)
        elif one in PAIRS:
            if not levels or levels[-1] != PAIRS[one]:
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
    for one in text:
        if levels and one == levels[-1]:
            levels.pop()
            if deepest - len(levels) >= 3:
                return True
        elif one in "\"'":
            levels.append(one)
            deepest = max(deepest, len(levels))
    return False


@constraint("words:vowel")
def vowel(text: str) -> bool:
    """One paragraph with at most three of the five vowels, with or without accents."""
    return "\n" not in text.strip() and len(VOWELS.intersection(normalize("NFKD", text.lower()))) <= 3


@constraint("words:consonants")
def consonants(text: str) -> bool:
    return all(CONSONANTS.search(word) for word in text.split())


@constraint("words:palindrome")
def palindrome(text: str) -> bool:
    """Ten different ones."""
    words = {*list_spaced_words(text.lower())}
    return sum(len(word) >= 5 and word == word[::-1] for word in words) >= 10


@constraint("words:prime_lengths")
def prime_lengths(text: str) -> bool:
    return all(len(word) in PRIMES for word in list_spaced_words(text))


@constraint("words:no_consecutive")
def no_consecutive(text: str) -> bool:
    """There are two or more words."""
    letters = [word[0] for word in list_spaced_words(text.lower())]
    return len(letters) > 1 and all(len([*run]) == 1 for _, run in groupby(letters))


@constraint("words:alphabet")
def alphabet(text: str) -> bool:
    """Each of two or more words begins with the letter after that of the word before, and `a` follows `z`."""
    places = [ord(word[0].lower()) - ord("a") for word in list_spaced_words(text)]
    return len(places) > 1 and all(place == (places[0] + count) % 26 for count, place in enumerate(places))
