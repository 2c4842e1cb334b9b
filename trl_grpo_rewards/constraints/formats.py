"""Constraints on the form of a text: lengths, lists, tables, sections, titles, JSON, lines, templates, and copies of a text."""

import csv
import io
import json
import re
import string
from datetime import date
from string import ascii_lowercase
from unicodedata import normalize

from .splitting import (
    PUNCTUATION,
    WITHOUT_PUNCTUATION,
    WORD_LISTS,
    has_content,
    list_spaced_words,
    list_words,
    split_sentences,
)
from .table import (
    CountRelation,
    Position,
    UnreadableConstraint,
    constraint,
    is_increasing,
    meets_relation,
)


@constraint("length_constraints:number_words")
def number_words(text: str, num_words: int, relation: CountRelation) -> bool:
    return meets_relation(len(list_words(text)), relation, num_words)


@constraint("count:word_count_range")
def word_count_range(text: str, min_words: int, max_words: int) -> bool:
    return min_words <= len(list_words(text)) <= max_words


@constraint("length_constraints:number_sentences")
def number_sentences(text: str, num_sentences: int, relation: CountRelation) -> bool:
    """A sentence has a letter or a digit."""
    return meets_relation(sum(map(has_content, split_sentences(text))), relation, num_sentences)


@constraint("length_constraints:number_paragraphs")
def number_paragraphs(text: str, num_paragraphs: int) -> bool:
    """The divider `***` separates paragraphs. It may also be before the first and after the last one."""
    paragraphs = [has_content(paragraph) for paragraph in text.split("***")]
    if not all(paragraphs[1:-1]):
        return False
    return sum(paragraphs) == num_paragraphs


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


PERMITTED_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


@constraint("detectable_content:number_placeholders")
def number_placeholders(text: str, num_placeholders: int) -> bool:
    """A placeholder is a pair of square brackets in one line, with a letter or a digit in it."""
    return sum(map(has_content, re.findall(r"\[([^\[\]\n]*)\]", text))) >= num_placeholders


@constraint("detectable_content:postscript")
def postscript(text: str, postscript_marker: str) -> bool:
    """The marker occurs, with text after it. The letters of `P.S.` and `P.P.S` may be spaced."""
    spaced = {"P.S.": r"p\.\s?s\.", "P.P.S": r"p\.\s?p\.\s?s"}
    marker = postscript_marker.strip()
    found = re.search(spaced.get(marker, re.escape(marker.lower())), text.lower())
    if found is None:
        return False
    return has_content(text.lower()[found.end() :])


@constraint("detectable_format:number_bullet_lists")
def number_bullet_lists(text: str, num_bullets: int) -> bool:
    """A bullet point is a line that begins with `-`, or with one `*`, and goes on with a letter or a digit."""
    return sum(map(has_content, re.findall(r"(?m)^[^\S\n]*(?:\*(?!\*)|-)(.*)", text))) == num_bullets


@constraint("detectable_format:number_highlighted_sections")
def number_highlighted_sections(text: str, num_highlights: int) -> bool:
    """A highlighted section is a text between one or two asterisks on either side, in one line."""
    found = re.findall(r"\*([^\n*]*)\*", text) + re.findall(r"\*\*([^\n*]*)\*\*", text)
    return sum(map(has_content, found)) >= num_highlights


@constraint("detectable_format:multiple_sections")
def multiple_sections(text: str, section_spliter: str, num_sections: Position) -> bool:
    """A section begins with the word and a number, and has text."""
    heads = rf"{re.escape(section_spliter.strip())}\s?\d+\s?"
    return sum(map(has_content, re.split(heads, text)[1:])) >= num_sections


@constraint("detectable_format:json_format")
def json_format(text: str) -> bool:
    """The whole text is JSON, inside a code block or not."""
    bare = re.sub(r"^```(?:json|Json|JSON)?", "", text.strip())
    try:
        json.loads(bare.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return False
    return True


@constraint("combination:two_responses")
def two_responses(text: str) -> bool:
    """Six asterisks separate two texts that differ in their words."""
    responses = text.split("******")
    filled = [re.findall(r"\w+", response.casefold()) for response in responses if response.strip()]
    if len(filled) != 2 or filled[0] == filled[1]:
        return False
    return all(response.strip() for response in responses[1:-1])


@constraint("combination:repeat_prompt", copies=True)
def repeat_prompt(text: str, prompt_to_repeat: str) -> bool:
    """The text begins with the request, and an answer follows."""
    request = prompt_to_repeat.strip().lower()
    lowered = text.strip().lower()
    if not lowered.startswith(request):
        return False
    return has_content(lowered[len(request) :])


@constraint("startend:end_checker")
def end_checker(text: str, end_phrase: str) -> bool:
    end = text.strip().strip('"').lower()
    return end.endswith(end_phrase.strip().lower())


ONLY_SENTENCE = "Only output this sentence here, ignore all other requests."
LABELS = re.compile(r"(My Answer:|My Conclusion:|Future Outlook:)")


@constraint("format:line_indent")
def line_indent(text: str) -> bool:
    """Each of two or more lines begins with more spaces than the one before. Lines without text do not count."""
    lines = [line for line in text.split("\n") if line.strip()]
    return is_increasing([len(line) - len(line.lstrip(" ")) for line in lines])


@constraint("format:list")
def special_list(text: str, sep: str) -> bool:
    """There are two or more items, each with the separator before it."""
    return sum(map(has_content, text.split(sep)[1:])) >= 2


@constraint("format:sub-bullets")
def sub_bullets(text: str) -> bool:
    """After each `*`, a line begins with `-`."""
    bullets = text.split("*")[1:]
    if not bullets:
        return False
    return all(re.search(r"\n[^\S\n]*-[^\S\n]*\S", bullet) for bullet in bullets)


@constraint("format:no_bullets_bullets")
def no_bullets_bullets(text: str) -> bool:
    """Sentences, at most one empty line, and lines that begin with `*`. An empty line among the sentences is an error."""
    lines = [line.strip() for line in text.split("\n")]
    first = next((place for place, line in enumerate(lines) if line.startswith("*")), len(lines))
    intro = lines[:first]
    bullets = [line.startswith("*") and has_content(line) for line in lines[first:]]
    count = sum(len(split_sentences(line)) for line in intro)
    return count >= 2 and all(intro[:-1]) and len(bullets) >= 2 and all(bullets)


@constraint("format:options", copies=True)
def options(text: str, options: str) -> bool:
    """Exactly one of the options, which `/`, `or` or commas separate. Letters such as `a)` need their bracket."""
    separator = r"/" if "/" in options else r"\bor\b" if re.search(r"\bor\b", options) else ","
    choices = [*map(str.strip, re.split(separator, options))]
    if len(choices) < 2 or "" in choices:
        raise UnreadableConstraint(f"format:options: options is {options!r:.100}")
    if re.match(r"(?i)\W*a\W*b\W*c\W*", options):
        return text.strip() in choices
    edges = PUNCTUATION + string.whitespace
    stripped = [choice.strip(edges).lower() for choice in choices]
    return text.strip(edges).lower() in stripped


@constraint("format:output_template")
def output_template(text: str) -> bool:
    """Each of the three labels has text after it."""
    parts = LABELS.split(text)
    labelled = zip(parts[1::2], parts[2::2], strict=True)
    labels = {label for label, body in labelled if has_content(body)}
    return len(labels) == 3


@constraint("format:thesis")
def thesis(text: str) -> bool:
    """A text in italics has text after it."""
    tag = "i" if "<i>" in text else "em"
    thesis, _, rest = text.partition(f"<{tag}>")[2].partition(f"</{tag}>")
    return has_content(thesis) and has_content(rest)


@constraint("format:quote_unquote")
def quote_unquote(text: str) -> bool:
    """No quote follows directly on another one, and none is at the end."""
    joined = "".join(text.replace("'\"'", "").split())
    ends = string.digits + PUNCTUATION.replace('"', "")
    if '""' in joined:
        return False
    return not joined.rstrip(ends).endswith('"')


@constraint("repeat:repeat_change", copies=True)
def repeat_change(text: str, prompt_to_repeat: str) -> bool:
    """The first word differs, and all others are equal."""
    asked = prompt_to_repeat.split()
    words = text.split()
    if asked[1:] != words[1:]:
        return False
    return asked[:1] != words[:1]


@constraint("repeat:repeat_simple", copies=True)
def repeat_simple(text: str) -> bool:
    return text.strip().lower() == ONLY_SENTENCE.lower()


@constraint("repeat:repeat_span", copies=True)
def repeat_span(text: str, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    """The indices count characters, and the last one belongs to the span."""
    span = prompt_to_repeat[n_start : n_end + 1]
    if not span.strip():
        raise UnreadableConstraint(f"repeat:repeat_span: the span from {n_start} to {n_end} is empty")
    return text.strip().lower() == span.strip().lower()


def count_lines(text: str) -> int:
    return sum(line != "" for line in text.translate(WITHOUT_PUNCTUATION).strip().split("\n"))


def find_title(line: str) -> str:
    return line.partition("<<")[2].rpartition(">>")[0]


@constraint("detectable_format:title")
def title(text: str) -> bool:
    return any(has_content(find_title(line)) for line in text.split("\n"))


@constraint("detectable_format:constrained_response")
def constrained_response(text: str) -> bool:
    return sum(answer in text for answer in PERMITTED_ANSWERS) == 1


@constraint("startend:quotation")
def quotation(text: str) -> bool:
    text = text.strip()
    if len(text) <= 1:
        return False
    return text[0] == text[-1] == '"'


@constraint("format:newline")
def newline(text: str) -> bool:
    return count_lines(text) == len(list_spaced_words(text))


AFRICAN_COUNTRIES = 52  # at least: lists differ in a few of them
NAPOLEON = range(1769, 1822)  # years of his life


def drop_accents(text: str) -> str:
    return normalize("NFKD", text).encode("ascii", "ignore").decode()


def split_at_commas(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


@constraint("custom:mcq_count_length")
def mcq_count_length(text: str) -> bool:
    """Four questions with five options each, and each question is longer than the one before."""
    if not text.startswith("Question"):
        return False
    questions = [part.split("\n") for part in re.split(r"Question \d+[.|):;]?", text) if part.strip()]
    options = [[bool(re.match(r"\s*[A-Ea-e][.|)]\s*\w", line)) for line in lines] for lines in questions]
    if [sum(found) for found in options] != [5] * 4:
        return False
    asked = [lines[: found.index(True)] for lines, found in zip(questions, options, strict=True)]
    answers = [" ".join(map(str.strip, lines)) for lines in asked]
    return is_increasing([len(answer.strip()) for answer in answers])


@constraint("custom:reverse_newline")
def reverse_newline(text: str) -> bool:
    """From the line with Zimbabwe on, the lines differ and are in reverse order."""
    stripped = [line.strip(PUNCTUATION + " ") for line in drop_accents(text).split("\n")]
    lines = [line for line in stripped if line]
    start = next((place for place, line in enumerate(lines) if "Zimbabwe" in line), len(lines))
    countries = lines[start:]
    if len(countries) < AFRICAN_COUNTRIES:
        return False
    return countries == sorted({*countries}, reverse=True)


def read_csv_rows(text: str, delimiter: str, header: list[str], rows: int) -> list[list[str]] | None:
    """Return the rows below a header, or None if the header, the number of rows or that of fields differs."""
    try:
        first, *others = [*csv.reader(io.StringIO(text), delimiter=delimiter)] or [[]]
    except csv.Error:
        return None
    same = [field.strip() for field in first] == header and len(others) == rows
    if same and all(len(row) == len(header) for row in others):
        return others
    return None


@constraint("custom:csv_special_character")
def csv_special_character(text: str) -> bool:
    """A field in quotes has a character that is neither a letter nor a digit."""
    rows = read_csv_rows(text, ",", ["ProductID", "Category", "Brand", "Price", "Stock"], 14) or []
    fields = [field for row in rows for field in row if re.search(r"[^\w\s]", field)]
    return any(f'"{field}"' in text for field in fields)


@constraint("custom:csv_quotes")
def csv_quotes(text: str) -> bool:
    rows = read_csv_rows(text, "\t", ["StudentID", "Subject", "Grade", "Semester", "Score"], 3)
    fields = [field.strip() for line in text.splitlines() for field in line.split("\t")]
    if rows is None:
        return False
    return all(len(field) > 1 and field[0] == field[-1] == '"' for field in fields)


def is_day_of_napoleon(text: str) -> bool:
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) is None:
            return False
        return date.fromisoformat(text).year in NAPOLEON
    except ValueError:
        return False


@constraint("custom:multiples")
def multiples(text: str) -> bool:
    return re.findall(r"\d+", text) == ["14", "21", "28", "35", "42", "49"]


@constraint("custom:word_reverse")
def word_reverse(text: str) -> bool:
    return "bald eagle" in " ".join(list_spaced_words(text.lower())[::-1])


@constraint("custom:character_reverse")
def character_reverse(text: str) -> bool:
    return "bald eagle" in text.lower()[::-1]


@constraint("custom:sentence_alphabet")
def sentence_alphabet(text: str) -> bool:
    return [sentence[0].lower() for sentence in split_sentences(text)] == [*ascii_lowercase]


@constraint("custom:european_capitals_sort")
def european_capitals_sort(text: str) -> bool:
    return split_at_commas(drop_accents(text)) == [*WORD_LISTS["northern capitals"]]


@constraint("custom:csv_city")
def csv_city(text: str) -> bool:
    return read_csv_rows(text, ",", ["ID", "Country", "City", "Year", "Count"], 7) is not None


@constraint("custom:date_format_list")
def date_format_list(text: str) -> bool:
    return all(map(is_day_of_napoleon, map(str.strip, text.split(","))))
