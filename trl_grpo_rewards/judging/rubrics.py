"""Rubrics of rows: criteria with points, in any of the usual shapes of a dataset column, and the score of verdicts on them."""

import json
import math
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from ..texts import reject_duplicates
from ..traits import Reading
from .verdicts import drop_code_fence


SHORT_REPR = reprlib.Repr()  # shows values of any size and depth in a few characters
SHORT_REPR.maxstring = 160


class UnreadableRubric(ValueError):
    """Raised when the value of a row is not a rubric. Equal problems have equal words, and `found` is the part at fault."""

    def __init__(self, problem: str, found: Any) -> None:
        super().__init__(problem, found)
        self.problem = problem
        self.found = found

    def __str__(self) -> str:
        return f"{self.problem}: {SHORT_REPR.repr(self.found)[:200]}"


@dataclass(frozen=True)
class Criterion:
    text: str
    points: float = 1.0  # negative if it describes a fault
    is_required: bool = False  # otherwise the score is 0
    shape: str = "sentences"  # how it was recognised, in words


def score_verdicts(criteria: Sequence[Criterion], met: Sequence[bool]) -> float:
    """Return the sum of the points met, divided by the sum of the positive points, within 0 and 1."""
    verdicts = list(zip(criteria, met, strict=True))
    if any(criterion.is_required and is_met == (criterion.points < 0) for criterion, is_met in verdicts):
        return 0.0
    earned = sum(criterion.points for criterion, is_met in verdicts if is_met)
    return min(max(earned / sum_possible(criteria), 0.0), 1.0)


def sum_possible(criteria: Sequence[Criterion]) -> float:
    return sum(max(criterion.points, 0.0) for criterion in criteria)


HOLDERS = ("rubrics", "rubric", "criteria")  # keys of the criteria in a dict; without one, its only list or dict
POINTS = ("points", "weight", "score")  # keys of a criterion's points; any other number may be an id
ITEM = re.compile(r"\s*(?:[-*•+]|\(?\d+[.):])\s+")  # the start of an item in a list that is written as text
JSON_START = re.compile(r"\s*(?:\{\s*[}\"']|\[\s*[\]\[{\"'])")  # a sentence may start with a bracket, too


# Points at the start or the end of a sentence, such as `(-5) Recommends rest.` or `Recommends rest (5 points).`
POINTS_IN_WORDS = re.compile(
    r"""^[(\[|\s]* (?: [-+−]\s?\d[\d.]* | \d[\d.]*\s?(?:points?|pts?) )\b
    | [-+−]?\d[\d.]*\s?(?:points?|pts?) [)\]|.\s]*$ | [(\[|]\s?[-+−]\s?\d[\d.]*\s?[)\]|]$""",
    re.VERBOSE | re.IGNORECASE,
)


def read_rubric(value: Any) -> tuple[Criterion, ...]:
    """Return the criteria of a row in any of the shapes in docs/judges.md, or raise [`UnreadableRubric`]. None counts as left out."""
    try:
        criteria = tuple(list_criteria(value))
    except RecursionError:
        raise UnreadableRubric("it is nested too deeply", "") from None
    if not criteria:
        raise UnreadableRubric("it has no criteria", value)
    if not 0 < sum_possible(criteria) < math.inf:
        raise UnreadableRubric("no criterion has positive points", [criterion.points for criterion in criteria])
    return criteria


def list_criteria(value: Any) -> Iterator[Criterion]:
    value = unpack(value)
    if isinstance(value, str):
        yield from (read_criterion(item, "a text") for item in split_items(value))
    elif isinstance(value, (list, tuple)):
        yield from (read_criterion(item) for item in value if item is not None)
    elif isinstance(value, Mapping):
        yield from list_criteria_of_dict({key: unpack(item) for key, item in value.items() if item is not None})
    elif value is not None:
        raise UnreadableRubric("it is neither a list nor a dict nor a text", value)


def list_criteria_of_dict(fields: dict[Any, Any]) -> Iterator[Criterion]:
    """Yield the criteria of a dict: one criterion, criteria by name, or a dict that holds a rubric."""
    if find_key(fields, POINTS) is not None:
        yield read_criterion(fields)
        return
    holders = find_holders(fields)
    if holders or not all(map(is_by_name, fields.values())):
        yield from list_criteria(take_rubric(fields, holders))
        return
    for name, item in fields.items():
        words, numbers = split_criterion(item)
        yield build_criterion([str(name), *words], numbers, False, "criteria by name")


def find_holders(fields: dict[Any, Any]) -> list[Any]:
    """Return the keys of a dict that may hold its rubric: those with such a name, or the only one."""
    holders = [key for key in fields if str(key).lower() in HOLDERS]
    if holders or len(fields) != 1:
        return holders
    return [key for key, item in fields.items() if isinstance(item, str) or not is_by_name(item)]


def take_rubric(fields: dict[Any, Any], holders: list[Any]) -> Any:
    """Return the rubric that a dict holds under one key, without points beside it, or raise [`UnreadableRubric`]."""
    if len(holders) != 1:
        raise UnreadableRubric("it has several lists or dicts, and not one is called 'rubrics'", [*fields])
    beside = [item for key, item in fields.items() if key != holders[0] and item]
    if any(isinstance(item, list) and are_numbers(*item) for item in beside):
        raise UnreadableRubric("a list of numbers is next to the criteria, but it is not called 'points'", [*fields])
    return fields[holders[0]]


def find_key(fields: Mapping[Any, Any], names: Sequence[str]) -> Any:
    return next((key for name in names for key in fields if str(key).lower() == name), None)


def are_numbers(*values: Any) -> bool:
    return all(isinstance(value, Real) and not isinstance(value, bool) for value in values)


def unpack(value: Any) -> Any:
    """Return the list or dict that an array or a JSON text contains, or the value itself."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str) and value.strip().startswith("```"):
        value = drop_code_fence(value.strip())
    if not isinstance(value, str) or not JSON_START.match(value):
        return value
    try:
        return json.loads(value, object_pairs_hook=reject_duplicates)
    except ValueError:
        raise UnreadableRubric("it looks like JSON, but is not", value) from None


def split_items(text: str) -> list[str]:
    """Return the items of a list that is written as text, or its lines. A heading is repeated in each of its items."""
    lines = [line for line in text.splitlines() if line.strip()]
    has_marks = any(map(ITEM.match, lines))
    items: list[str] = []
    heading = ""
    is_after_heading = True
    for line in lines:
        words = ITEM.sub("", line, count=1).strip()
        is_item = not has_marks or ITEM.match(line) is not None
        if is_heading(words) or (is_after_heading and not is_item):
            heading = f"{heading} {words}".strip() if is_after_heading else words
            is_after_heading = True
        elif is_item:
            items.append(f"{heading} {words}".strip())
            is_after_heading = False
        else:
            items[-1] += f" {words}"
    return items


def is_heading(words: str) -> bool:
    return words.endswith(":") or words.startswith("#")


def is_by_name(value: Any) -> bool:
    """Return whether a value can be that of a criterion's name: a sentence, points, a pair of both, or a dict."""
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, (str, Real)) for part in parts):
        return False
    return sum(isinstance(part, str) for part in parts) < 2


def split_criterion(value: Any) -> tuple[list[str], list[Any]]:
    """Return the sentences and the numbers of a pair, or of one of the two. A valid criterion has at most one of each."""
    parts = value if isinstance(value, (list, tuple)) else [value]
    texts = [part for part in parts if isinstance(part, str)]
    return texts, [part for part in parts if not isinstance(part, str)]


def read_criterion(value: Any, shape: str = "sentences") -> Criterion:
    """Return a criterion without a name: a sentence, a pair of a sentence and points, or a dict."""
    value = unpack(value)
    if isinstance(value, str):
        return build_criterion([value], [], False, shape)
    if isinstance(value, (list, tuple)):
        return build_criterion(*split_criterion(value), False, "pairs")
    if not isinstance(value, Mapping):
        raise UnreadableRubric("a criterion is neither a sentence nor a dict", value)
    return read_criterion_of_dict(value)


def read_criterion_of_dict(value: Mapping[Any, Any]) -> Criterion:
    fields = {str(key): item for key, item in value.items() if item is not None}
    key = find_key(fields, POINTS)
    required_key = find_key(fields, ("required",))
    others = {name: item for name, item in fields.items() if name not in (key, required_key)}
    if key is None and any(map(are_numbers, others.values())):
        raise UnreadableRubric("a criterion has a number, but it is not called 'points' or 'weight'", value)
    required = fields.get(required_key, False)
    if not isinstance(required, bool):
        raise UnreadableRubric("a criterion's 'required' is not true or false", value)
    sentences = find_sentences(others)
    points = {key: fields[key]} if key else {}
    left_out = [name for name in others if name not in sentences]
    shape = describe_keys([*sentences, *points], left_out)
    return build_criterion([*sentences.values()], [*points.values()], required, shape)


def describe_keys(read: Sequence[str], left_out: Sequence[str]) -> str:
    shape = f"dicts of {', '.join(read)}"
    return f"{shape} (not {', '.join(left_out)})" if left_out else shape


def find_sentences(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields with more than one word, which are no ids and labels, or else all texts."""
    texts = {name: item for name, item in fields.items() if isinstance(item, str)}
    sentences = {name: text for name, text in texts.items() if len(text.split()) > 1}
    return sentences or texts


def build_criterion(words: Sequence[str], numbers: Sequence[Any], is_required: bool, shape: str) -> Criterion:
    """Build a criterion from its words and, if it has any, its points, or raise [`UnreadableRubric`]."""
    text = ": ".join(" ".join(part.split()) for part in words)  # a line break could forge another criterion
    if not any(char.isalnum() for char in text):
        raise UnreadableRubric("a criterion has no words", [*words, *numbers])
    if not numbers and POINTS_IN_WORDS.search(text):
        raise UnreadableRubric("a criterion has points in its words, where they do not count", text)
    return Criterion(text, read_points(numbers), is_required, shape)


def read_points(numbers: Sequence[Any]) -> float:
    """Return the points, which may be the text of a number, or 1 if there are none."""
    if not numbers:
        return 1.0
    try:
        if len(numbers) == 1 and (isinstance(numbers[0], str) or are_numbers(numbers[0])):
            points = float(numbers[0])
            if math.isfinite(points):
                return points
    except (ValueError, OverflowError):
        pass
    raise UnreadableRubric("a criterion's points are not one finite number", [*numbers])


def read_rubrics(values: Sequence[Any]) -> list[Reading]:
    readings = []
    for value in values:
        try:
            criteria = read_rubric(value)
        except UnreadableRubric as error:
            readings.append(Reading("not at all", note=f"unreadable because {error.problem}"))
            continue
        shapes = " and ".join(dict.fromkeys(criterion.shape for criterion in criteria))
        canonical = repr([(criterion.text, criterion.points, criterion.is_required) for criterion in criteria])
        readings.append(Reading("whole", canonical, f"read as {shapes}{describe_criteria(criteria)}"))
    return readings


def describe_criteria(criteria: Sequence[Criterion]) -> str:
    description = ""
    if any(criterion.is_required for criterion in criteria):
        description += " with required ones"
    if any(criterion.points < 0 for criterion in criteria):
        description += " with faults, which have negative points"
    return description
