r"""Functions by cases: pairs of a value and a condition. Systems of equations have the same environments."""

from dataclasses import dataclass

from ..matching import Kind, Same, Verdict
from ..reader import Reader
from ..segments import are_same_segments, complement, unite
from ..tokens import Unreadable
from ..values import Symbol, Value
from .arrays import make_matrix, split_rows
from .lists import Collection
from .relations import Relation
from .sets import find_segments
from .texts import Text


OTHERWISE = Symbol("otherwise")
CONDITION_WORDS = {"if", "for", "when", "as", "where", "on", "whenever", "provided"}
CONDITION_SIGNS = {"<", ">", "=", "\\le", "\\ge", "\\ne", "\\in"}
LAST_WORDS = {"otherwise", "else", "elsewhere", "other"}
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cases(Value):
    """A function by cases: pairs of a value and the condition under which the function has it."""

    rows: tuple[tuple[Value, Value], ...]


def read_system(reader: Reader) -> Value:
    """Return a function by cases, a list of equations, or a column of values."""
    rows = split_rows(reader, skips_empty=True)
    cases = [split_condition(reader, row) for row in rows]
    if all(len(parts) == 2 for parts in cases):
        return Cases(
            tuple((reader.statement(*value), read_condition(reader, *condition)) for value, condition in cases)
        )
    values = [reader.statement(row[0][0], row[-1][1]) for row in rows if len(row) == 1]
    if len(values) < len(rows):
        raise Unreadable("rows of different kinds")
    if all(isinstance(value, Relation) for value in values):
        return Collection("", tuple(values), "and")
    return make_matrix([[value] for value in values])


def split_condition(reader: Reader, cells: list[Range]) -> list[Range]:
    """Return the ranges of a value and of its condition, or of the whole row if it has no condition."""
    (start, end) = cells[0] if len(cells) == 1 else (0, 0)
    for here in reader.outermost(start, end):
        token = reader.tokens[here]
        if token.kind == "word" and token.text.casefold() in CONDITION_WORDS | LAST_WORDS:
            return [(start, here), (here, end)]
        if token.text == "," and has_sign(reader, here + 1, end) and not has_sign(reader, start, here):
            return [(start, here), (here + 1, end)]
    return cells


def has_sign(reader: Reader, start: int, end: int) -> bool:
    return any(reader.tokens[here].text in CONDITION_SIGNS for here in reader.outermost(start, end))


def read_condition(reader: Reader, start: int, end: int) -> Value:
    """Return a condition, as words if it is no relation."""
    while start < end and reader.tokens[start].text.casefold() in CONDITION_WORDS | {",", "\\quad"}:
        start += 1
    words = tuple(text.casefold() for text in reader.texts(start, end) if text not in (".", ","))
    if words and words[0] in LAST_WORDS:
        return OTHERWISE
    return reader.attempt(lambda reader: reader.statement(start, end)) or Text(words)


def match_cases(gold: Value, answer: Value, same: Same) -> Verdict:
    """Return whether each row of one function equals a row of the other, or None if that cannot be computed."""
    if not isinstance(gold, Cases) or not isinstance(answer, Cases) or len(gold.rows) != len(answer.rows):
        return False
    left = list(range(len(answer.rows)))
    unknown = False
    for place, (value, _) in enumerate(gold.rows):
        partner = next((other for other in left if are_same_conditions(gold, place, answer, other, same)), None)
        if partner is None:
            return False
        verdict = same(value, answer.rows[partner][0])
        if verdict is False:
            return False
        unknown = unknown or verdict is None
        left.remove(partner)
    return None if unknown else True


def are_same_conditions(gold: Cases, place: int, answer: Cases, other: int, same: Same) -> bool:
    one, its = gold.rows[place][1], answer.rows[other][1]
    if OTHERWISE not in (one, its) or one == its:
        return bool(same(one, its))
    words, condition = (gold, its) if one == OTHERWISE else (answer, one)
    parts = [find_segments(row[1]) for row in words.rows if row[1] != OTHERWISE]
    found = [part for part in parts if part is not None]
    rest = find_segments(condition)
    if rest is None or len(found) < len(parts):
        return False
    return are_same_segments(rest, complement(unite([segment for part in found for segment in part])))


CASES = Kind(lambda value: isinstance(value, Cases), match_cases)
