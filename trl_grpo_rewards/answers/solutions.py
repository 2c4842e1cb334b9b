"""Gold answers in the values of a dataset column, as objects in JSON, and how well they can be read as mathematics."""

import ast
import contextlib
import functools
import json
import math
import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from numbers import Rational, Real
from typing import Any, Literal

from tqdm import tqdm

from ..texts import read_json
from ..traits import Reading, ReadingKind
from .mathematics.evaluation import evaluate_exactly
from .mathematics.grammar import read
from .mathematics.kinds.lists import Collection
from .mathematics.kinds.quantities import Quantity
from .mathematics.kinds.relations import Relation, find_labelled_value
from .mathematics.kinds.texts import Choice, Text
from .mathematics.matching import AnswerRules
from .mathematics.tokens import spell_symbols
from .mathematics.values import Value, find_symbols, is_expression
from .statements import find_boxed_answer
from .verification import verify_pairs


def list_solutions(value: Any) -> list[Any]:
    """Return the accepted solutions in a dataset column: the items of a list, or the value itself, such as a text."""
    if getattr(value, "ndim", 0):  # an array
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [*value] or [None]
    return [value]


def choose_best(scores: list[float | None]) -> float | None:
    judged = [score for score in scores if score is not None]
    if 1.0 in judged or len(judged) < len(scores):
        return 1.0 if 1.0 in judged else None
    return max(judged)


def read_gold(gold: Any) -> str | None:
    r"""Return the gold answer in a value: a number, a truth value, LaTeX, a text with a box or `... #### 72`; or None."""
    if isinstance(gold, str):
        return read_gold_text(gold)
    try:
        if type(gold).__name__ in ("bool", "bool_"):  # numpy has its own type
            return str(bool(gold))
        if isinstance(gold, Rational):  # this includes integers
            return str(gold)
        if isinstance(gold, (Decimal, Real)):
            return f"{Decimal(str(gold)):f}" if math.isfinite(gold) else None
    except ValueError:  # Python does not print integers of more than 4300 digits
        pass
    return None


@functools.lru_cache(maxsize=1024)
def read_gold_text(gold: str) -> str | None:
    if "####" in gold:
        gold = gold.rpartition("####")[2]
    boxed = find_boxed_answer(gold)
    gold = (gold if boxed is None else boxed).strip()
    return gold if gold.strip("$ ") else None


FIRST_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
MAX_WORDS = 6  # largest number of words of a solution that a model is expected to repeat word for word
VERBS = {"is", "are", "was", "were", "has", "have", "had", "can", "must", "should", "will", "does"}
READING_KINDS: tuple[ReadingKind, ...] = ("whole", "several", "in part", "not at all")


def read_solutions(values: list[Any]) -> list[Reading]:
    """Return how each value of the column `solution` is read, equal ones once. A sentence is read in part."""
    accepted = [list_solutions(value) for value in values]
    readings = iter(read_each([*chain.from_iterable(accepted)]))
    return [merge_readings([next(readings) for _ in solutions]) for solutions in accepted]


def merge_readings(readings: list[Reading]) -> Reading:
    """Return the reading of a row from those of its accepted solutions: in part, if one of them cannot be read."""
    kinds = {reading.kind for reading in readings}
    values = sorted({reading.value for reading in readings if reading.value is not None})
    notes = [reading.note for reading in readings if reading.note]
    return Reading(merge_kinds(kinds, len(values)), " or ".join(values) or None, notes[0] if notes else None)


def merge_kinds(kinds: set[ReadingKind], count: int) -> ReadingKind:
    best = next(kind for kind in READING_KINDS if kind in kinds)
    if len(kinds) > 1 and "not at all" in kinds:
        return "in part"
    return "any of several" if count > 1 and best != "in part" else best


def read_each(values: list[Any]) -> list[Reading]:
    golds = [read_gold(value) for value in values]
    different = tqdm(dict.fromkeys(golds), desc="Reading solutions", disable=None)
    readings = {gold: read_solution(gold) for gold in different}
    return [readings[gold] for gold in golds]


def read_solution(gold: str | None) -> Reading:
    """Return how a gold answer is read. A second opinion reads one in part that it takes for a number that occurs in it."""
    (to_itself,) = verify_pairs([(gold, gold)], AnswerRules())
    if gold is None or not to_itself.equal:
        return Reading("not at all", gold and spell_symbols(gold))
    value = read(gold)
    kind = find_reading_kind(value) if value else "in part" if is_number_in_it(gold) else "whole"
    return Reading(kind, write_canonically(gold), "that only math-verify can read" if to_itself.asked else None)


def find_reading_kind(value: Value) -> Literal["whole", "several", "in part"]:
    if isinstance(value, Collection) and value.brackets == "":
        return "several"
    if isinstance(value, Text) and has_sentence(value):
        return "in part"
    return "whole"


def has_sentence(text: Text) -> bool:
    has_signs = not all(word[:1].isalpha() for word in text.words)
    return has_signs or len(text.words) > MAX_WORDS or (len(text.words) > 2 and not VERBS.isdisjoint(text.words))


def write_canonically(gold: str) -> str:
    number = find_number(read(gold))
    try:
        if number is None:
            return spell_symbols(gold)
        return str(number)
    except ValueError:  # Python writes no number of more than 4300 digits
        return spell_symbols(gold)


def find_number(value: Value | None) -> Fraction | None:
    value = strip_label(value)
    return None if value is None else evaluate_exactly(value)


def strip_label(value: Value | None) -> Value | None:
    """Return a value without the name, the letter or the unit that stands with it, as in `x = 22` and `22 apples`."""
    if isinstance(value, Relation):
        value = find_labelled_value(value)
    if isinstance(value, Choice | Quantity):
        return value.value
    return value


def is_numeric(value: Value | None) -> bool:
    if value is None:
        return False
    return is_expression(value) and not find_symbols(value)


def is_number_in_it(gold: str) -> bool:
    """Return whether a solution counts as equal to one of the first two different numbers of its text."""
    numbers = [*dict.fromkeys(FIRST_NUMBERS.findall(gold))][:2]
    verifications = verify_pairs([(gold, number) for number in numbers], AnswerRules())
    return any(verification.equal for verification in verifications)


WHOLE_BLOCK = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL | re.IGNORECASE)


def read_object(value: Any) -> dict[str, Any] | None:
    """Return the object that a column contains, or that a text is, alone or in a code fence."""
    try:
        if isinstance(value, Mapping):  # with what libraries that read tables make of texts and numbers
            value = json.dumps(value, default=write_plainly)
        fenced = WHOLE_BLOCK.fullmatch(text := value.strip())
        found = read_json(fenced[1] if fenced else text)
    except (AttributeError, TypeError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def write_plainly(value: Any) -> Any:
    """Return what JSON can hold of a date, a decimal number, or a value or an array of numpy."""
    if isinstance(value, date):  # pyarrow reads texts that look like dates
        return value.isoformat().removesuffix("T00:00:00")
    if isinstance(value, Decimal):
        return float(value)
    return value.tolist()


PYTHON_DICT = "a Python dict, not JSON (write it with json.dumps)"


def is_python_dict(value: Any) -> bool:
    """Whether a text is what Python writes for a dict, as tables of dicts have it when they are saved as CSV."""
    with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        return isinstance(value, str) and isinstance(ast.literal_eval(value), dict)
    return False


def read_objects(values: list[Any]) -> list[Reading]:
    readings = []
    for value in values:
        objects = [read_object(solution) for solution in list_solutions(value)]
        kind: ReadingKind = "any of several" if len(objects) > 1 else "whole"
        written = " or ".join(json.dumps(found, sort_keys=True) for found in objects)
        if None in objects:
            readings.append(Reading("not at all", written, PYTHON_DICT if is_python_dict(value) else None))
        else:
            readings.append(Reading(kind, written))
    return readings
