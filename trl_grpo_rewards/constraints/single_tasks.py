"""Constraints of IFBench that belong to one prompt each, such as a table with given columns."""

import csv
import io
import re
from datetime import date
from itertools import pairwise
from string import ascii_lowercase
from unicodedata import normalize

from .splitting import PUNCTUATION, WORDS, list_spaced_words, split_sentences
from .table import add_constraints, constraint


AFRICAN_COUNTRIES = 52  # at least: lists differ in a few of them
NAPOLEON = range(1769, 1822)  # years of his life


def drop_accents(text: str) -> str:
    return normalize("NFKD", text).encode("ascii", "ignore").decode()


def list_items(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


@constraint("custom:mcq_count_length")
def mcq_count_length(text: str) -> bool:
    """Four questions with five options each, and each question is longer than the one before."""
    if not text.startswith("Question"):
        return False
    questions = [one.split("\n") for one in re.split(r"Question \d+[.|):;]?", text) if one.strip()]
    options = [[bool(re.match(r"\s*[A-Ea-e][.|)]\s*\w", line)) for line in lines] for lines in questions]
    if [sum(found) for found in options] != [5] * 4:
        return False
    asked = [lines[: found.index(True)] for lines, found in zip(questions, options, strict=True)]
    lengths = [len(" ".join(map(str.strip, lines)).strip()) for lines in asked]
    return all(one < other for one, other in pairwise(lengths))


@constraint("custom:reverse_newline")
def reverse_newline(text: str) -> bool:
    """From the line with Zimbabwe on, the lines differ and are in reverse order."""
    lines = [line for line in (drop_accents(line).strip(PUNCTUATION + " ") for line in text.split("\n")) if line]
    start = next((place for place, line in enumerate(lines) if "Zimbabwe" in line), len(lines))
    countries = lines[start:]
    return len(countries) >= AFRICAN_COUNTRIES and countries == sorted({*countries}, reverse=True)


def read_table(text: str, delimiter: str, header: list[str], rows: int) -> list[list[str]] | None:
    """Return the rows below a header, or None if the header, the number of rows or that of fields differs."""
    try:
        first, *others = [*csv.reader(io.StringIO(text), delimiter=delimiter)] or [[]]
    except csv.Error:
        return None
    same = [field.strip() for field in first] == header and len(others) == rows
    return others if same and all(len(row) == len(header) for row in others) else None


@constraint("custom:csv_special_character")
def csv_special_character(text: str) -> bool:
    """A field in quotes has a character that is neither a letter nor a digit."""
    rows = read_table(text, ",", ["ProductID", "Category", "Brand", "Price", "Stock"], 14) or []
    fields = [field for row in rows for field in row if re.search(r"[^\w\s]", field)]
    return any(f'"{field}"' in text for field in fields)


@constraint("custom:csv_quotes")
def csv_quotes(text: str) -> bool:
    rows = read_table(text, "\t", ["StudentID", "Subject", "Grade", "Semester", "Score"], 3)
    fields = [field.strip() for line in text.splitlines() for field in line.split("\t")]
    return rows is not None and all(len(one) > 1 and one[0] == one[-1] == '"' for one in fields)


def is_day_of_napoleon(text: str) -> bool:
    try:
        return re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) is not None and date.fromisoformat(text).year in NAPOLEON
    except ValueError:
        return False


add_constraints(
    {
        "custom:multiples": lambda text: re.findall(r"\d+", text) == ["14", "21", "28", "35", "42", "49"],
        "custom:word_reverse": lambda text: "bald eagle" in " ".join(list_spaced_words(text.lower())[::-1]),
        "custom:character_reverse": lambda text: "bald eagle" in text.lower()[::-1],
        "custom:sentence_alphabet": lambda text: (
            [one[0].lower() for one in split_sentences(text)] == [*ascii_lowercase]
        ),
        "custom:european_capitals_sort": lambda text: list_items(drop_accents(text)) == [*WORDS["northern capitals"]],
        "custom:csv_city": lambda text: (
            read_table(text, ",", ["ID", "Country", "City", "Year", "Count"], 7) is not None
        ),
        "custom:date_format_list": lambda text: all(is_day_of_napoleon(one.strip()) for one in text.split(",")),
    }
)
