"""Which reward fits the rows of a dataset, from the names of its columns and the values in them."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ..answers.mathematics.grammar import read
from ..answers.mathematics.kinds.texts import Text
from ..answers.solutions import MAX_WORDS, list_solutions, read_gold, read_object
from ..constraints.table import pair_arguments, parse_text
from ..errors import SOLUTION_COLUMNS
from ..expressions import Reward
from ..function_rewards import find_functions
from ..judging.rubrics import read_rubric
from ..options import FrozenDict
from ..sandbox.programs.formats import COMPANION_COLUMNS, parse_column, read_tests
from ..sandbox.programs.python_tests import UnreadableTests
from ..tools.calls import read_expected_calls


READ_ROWS = 50  # largest number of rows whose values are read
Row = Mapping[str, Any]


class Shape(NamedTuple):
    """A shape of rows, as `row_shapes.txt` says it."""

    name: str  # what a row has
    content: str  # what the column contains that decides, by its name in FITS
    columns: list[str]  # usual names of this column; with none, rows have no such column
    reward: str  # its expression, with `{column}` in the place of the column


def is_read(read_value: Callable[..., Any], *arguments: Any) -> bool:
    try:
        return read_value(*arguments) is not None
    except (ValueError, TypeError, UnreadableTests):
        return False


def list_golds(value: Any) -> list[str]:
    return [gold for gold in map(read_gold, list_solutions(value)) if gold]


def are_accepted(value: Any, row: Row) -> bool:
    """Some rows accept only one text."""
    golds = [] if isinstance(value, str) else list_golds(value)
    return len(golds) > 1 or (len(golds) == 1 and is_short(value, row))


def is_mathematics(value: Any, row: Row) -> bool:
    return bool(golds := list_golds(value)) and not any(isinstance(read(gold), Text | None) for gold in golds)


def is_short(value: Any, row: Row) -> bool:
    return all(len(gold.split()) <= MAX_WORDS for gold in list_golds(value))


FITS: dict[str, Callable[[Any, Row], bool]] = {  # whether a value, which has a row, may be what the table calls so
    "constraints": lambda value, row: is_read(
        lambda: pair_arguments(parse_text(value), parse_text(row.get("kwargs")))
    ),
    "rubric": lambda value, row: (  # a text is one if it lists several criteria
        not isinstance(parse_column(value), str) or is_read(lambda: read_rubric(value)[1:] or None)
    ),
    "tests": lambda value, row: is_read(lambda: read_tests(value, row, packages=None)),
    "calls": lambda value, row: is_read(read_expected_calls, value),
    "objects": lambda value, row: None not in map(read_object, list_solutions(value)),
    "ABCDE": lambda value, row: isinstance(value, str) and value.strip() in [*"ABCDE"],
    "ABCDEFGHIJ": lambda value, row: isinstance(value, str) and value.strip() in [*"ABCDEFGHIJ"],
    "mathematics": is_mathematics,
    "accepted": are_accepted,
    "short": is_short,
    "text": lambda value, row: isinstance(value, str),
}


SHAPES = [
    Shape(name, content, names.replace("SOLUTION", " ".join(SOLUTION_COLUMNS)).split(), reward)
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines()[1:]
    for name, content, names, reward in [line.split(" | ")]
]


def suggest_reward(rows: Sequence[Row], roles: Mapping[str, str] = FrozenDict({})) -> tuple[Shape, str, str]:
    """
    Return the shape of rows, the column whose values all fit it, or "", and the expression of a reward for them.

    `roles` has columns with other names than the usual ones, and for each the usual name that it stands for.
    """
    columns = [(shape, column) for shape in SHAPES for column in shape.columns]
    columns += [(shape, column) for shape in SHAPES for column, role in roles.items() if role in shape.columns]
    for shape, column in columns:
        pairs = [(row[column], row) for row in rows if row.get(column) is not None]
        if pairs and all(FITS[shape.content](*pair) for pair in pairs):
            return shape, column, name_column(shape.reward, column)
    return SHAPES[-1], "", SHAPES[-1].reward


def name_column(reward: str, column: str) -> str:
    """Return the expression of a reward that reads a column, which a parameter of the same name does without an argument."""
    named = reward.replace("'{column}'", repr(column))
    return re.sub(rf"(, )?\b{re.escape(column)}={re.escape(repr(column))}", "", named)


def find_roles(rewards: Reward, names: Collection[str]) -> dict[str, str]:
    """Return unusual columns that rewards read, and the usual name of the parameter. What a user's function reads is a solution."""
    usual = {column for shape in SHAPES for column in shape.columns}
    roles: dict[str, str] = {}
    for function in find_functions(rewards):
        if function.factory.is_foreign:
            roles = dict.fromkeys(function.find_columns(names), "solution") | roles
        parameters = {**function.column_of, **function.options}
        named = {getattr(value, "name", value): name for name, value in parameters.items() if name in usual}
        roles |= {column: named[column] for column in named.keys() & function.own_columns}
    return {column: role for column, role in roles.items() if column in names and column not in usual}


def suggest_for(dataset: Any, rewards: Reward | None = None) -> tuple[str, str]:
    """Return a sentence with the shape of a dataset's rows and the reward for them, and the column that decides."""
    roles = find_roles(rewards, dataset.column_names) if rewards else {}
    shape, column, expression = find_shape(dataset, roles)
    if not column and [*dataset.column_names] != ["prompt"]:
        return (
            f"No column is known to have answers. To compare completions without answers: {expression} fits.",
            column,
        )
    return f"Each row has {shape.name}: {expression} fits.", column


def find_unusual_column(dataset: Any) -> tuple[Shape, str]:
    """Return the column that may have the answers under an unusual name, or "", and its shape. Several must be objects."""
    others = [name for name in dataset.column_names if name != "prompt"]
    shape, column, _ = find_shape(dataset, dict.fromkeys(others, "solution"))
    if len(others) > 1 and shape.content != "objects":
        column = ""
    return shape, column


def find_shape(dataset: Any, roles: Mapping[str, str]) -> tuple[Shape, str, str]:
    """Return what [`suggest_reward`] returns for the first rows of a dataset."""
    read_columns = {"kwargs", *COMPANION_COLUMNS, *roles, *(column for shape in SHAPES for column in shape.columns)}
    read = [column for column in dataset.column_names if column in read_columns]
    rows = islice(dataset.select_columns(read), READ_ROWS) if read else [{}]
    return suggest_reward([dict(row) for row in rows], roles)
