"""Constraints on the numbers of words, sentences and paragraphs."""

import re

from .splitting import list_words, split_sentences
from .table import Position, Relation, UnreadableConstraint, constraint, meets_relation
from .visible import has_content


@constraint("length_constraints:number_words")
def number_words(text: str, num_words: int, relation: Relation) -> bool:
    return meets_relation(len(list_words(text)), relation, num_words)


@constraint("count:word_count_range")
def word_count_range(text: str, min_words: int, max_words: int) -> bool:
    return min_words <= len(list_words(text)) <= max_words


@constraint("length_constraints:number_sentences")
def number_sentences(text: str, num_sentences: int, relation: Relation) -> bool:
    """A sentence has a letter or a digit."""
    return meets_relation(sum(map(has_content, split_sentences(text))), relation, num_sentences)


@constraint("length_constraints:number_paragraphs")
def number_paragraphs(text: str, num_paragraphs: int) -> bool:
    """The divider `***` separates paragraphs. It may also be before the first and after the last one."""
    paragraphs = [has_content(paragraph) for paragraph in text.split("***")]
    return all(paragraphs[1:-1]) and sum(paragraphs) == num_paragraphs


@constraint("length_constraints:nth_paragraph_first_word")
def nth_paragraph_first_word(text: str, num_paragraphs: int, nth_paragraph: Position, first_word: str) -> bool:
    """Two line breaks separate paragraphs. Those without text do not count, but keep their place."""
    if nth_paragraph > num_paragraphs:
        raise UnreadableConstraint(f"nth_paragraph is {nth_paragraph}, and num_paragraphs is {num_paragraphs}")
    paragraphs = text.split("\n\n")
    if sum(map(has_content, paragraphs)) != num_paragraphs or not has_content(paragraphs[nth_paragraph - 1]):
        return False
    word = paragraphs[nth_paragraph - 1].split()[0].lstrip("'").lstrip('"')
    return re.split(r"[.,?!'\"]", word)[0].lower() == first_word.lower()
