"""What functions of users return: scores, which are checked, converted to numbers and shown as a table, and rollouts."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

from .errors import named_in_errors
from .texts import completion_text


Score: TypeAlias = float | None
"""A finite number, or None if the completion could not be judged."""

LogMetric: TypeAlias = Callable[[str, float], None]  # of TRL, which logs a number under a name
LogExtra: TypeAlias = Callable[[str, list], None]  # of TRL, which logs a column with a value for each completion

MAX_ROWS = 50  # largest number of rows that a notebook shows
MAX_CHARACTERS = 2000  # largest number of characters of a completion that a notebook shows


def read_scores(returned: Any, reward: str, size: int, *, is_finite: bool = True) -> list[Score]:
    """Return the scores that a reward function returned for `size` completions: one number or None for each."""
    is_one = getattr(returned, "ndim", 1) == 0  # an array or a tensor of one number
    is_list = hasattr(returned, "__iter__") and not isinstance(returned, (str, bytes, Mapping, Set)) and not is_one
    scores = list(returned) if is_list else []
    if not is_list or len(scores) != size:
        raise ValueError(
            f"Reward '{reward}' returned {f'{len(scores)} scores' if is_list else f'{returned!r:.100}'} for {size} completions. "
            f"Return a list with one number or None per completion."
        )
    return [
        None if score is None else convert_score(score, reward, row, is_finite) for row, score in enumerate(scores)
    ]


def convert_score(score: Any, reward: str, row: int, is_finite: bool) -> float:
    try:
        number = None
        if not isinstance(score, (str, bytes)):
            number = to_float(score)
    except (TypeError, ValueError, RuntimeError):  # the last one is raised by a tensor
        number = None
    if number is None or (is_finite and not math.isfinite(number)):
        raise ValueError(
            f"Reward '{reward}' gave {score!r:.100} for row {row} of the batch. "
            f"Return a finite number, or None if the completion cannot be judged."
        )
    return number


def to_float(number: Any) -> float:
    """Return a number as a float, which is infinite if the number is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def check_results(function: Callable[..., Any], reward: str, is_async: bool) -> Callable[..., Any]:
    """Return a function as TRL calls it, with its name in errors and a check of its results, but for NaN and infinity."""
    read = functools.partial(read_scores, reward=reward, is_finite=False)

    def call(*, completions: list[Any], **columns: Any) -> list[Score]:
        with named_in_errors(reward):
            scores = function(completions=completions, **columns)
        return read(scores, size=len(completions))

    async def call_async(*, completions: list[Any], **columns: Any) -> list[Score]:
        with named_in_errors(reward):
            scores = await function(completions=completions, **columns)
        return read(scores, size=len(completions))

    return call_async if is_async else call


LIST_FIELDS = ("prompt_ids", "completion_ids")  # fields of a rollout that must be lists


def check_rollout(roll_out: Callable[..., Any], prompts: list[Any], trainer: Any) -> Any:
    """Return what a rollout function returned for prompts, which TRL has repeated for each completion."""
    fields = roll_out(prompts, trainer)
    if wrong := describe_wrong_fields(fields, len(prompts)):
        raise ValueError(
            f"rollout_func must return a dict of lists, with one value for each of the {len(prompts)} prompts, a token or more in "
            f"each of 'completion_ids', and one value of 'env_mask' per token; got {wrong}. "
            f"TRL has already repeated the prompts, and the token that ends a completion counts."
        )
    lists = {name: [[*map(int, row)] for row in fields[name]] for name in LIST_FIELDS if name in fields}
    return {**fields, **lists}


def describe_wrong_fields(fields: Any, size: int) -> str:
    """Return what is wrong with the fields of a rollout for `size` prompts, or nothing."""
    if not isinstance(fields, Mapping):
        return repr(fields)[:100]
    for name, values in fields.items():
        if isinstance(values, list) or name in LIST_FIELDS:
            count = len(values) if hasattr(values, "__len__") else 0
            if count != size:
                return f"{count} values in '{name}'"
    return describe_wrong_tokens(fields.get("completion_ids", ()), fields.get("env_mask"))


def describe_wrong_tokens(completion_ids: Sequence[Any], env_mask: Sequence[Any] | None) -> str:
    """Return which completion has no tokens, or a mask of another length, or nothing."""
    lengths = [*map(len, completion_ids)]
    masks = lengths if env_mask is None else [*map(len, env_mask)]
    for row, (length, mask) in enumerate(zip(lengths, masks, strict=False)):
        if not length or mask != length:
            return f"{length} tokens and {mask} values for row {row}"
    return ""


@dataclass(frozen=True)
class ScoreTable:
    """
    The scores of a batch by each term of a reward. A notebook shows it as a table, and `print` as one block of lines per completion.

    Args:
        expression (`str`):
            The reward.
        completions (`list`):
            Completions, as they were passed.
        scores (`dict[str, list]`):
            Score of each completion by each term.
        totals (`list`):
            Weighted total of each completion.
        logged (`dict[str, list]`):
            What the rewards logged about each completion with `log_extra`.
    """

    expression: str
    completions: Sequence[Any]
    scores: Mapping[str, Sequence[Score]]
    totals: Sequence[Score]
    logged: Mapping[str, Sequence[Any]]

    def list_rows(self) -> list[list[str]]:
        """Return the titles, and a row for each completion. The first cell is the completion."""
        rows = [["completion", *self.scores, "total", *self.logged]]
        for row, completion in enumerate(self.completions):
            scores = [format_score(values[row]) for values in (*self.scores.values(), self.totals)]
            logged = [str(values[row]) for values in self.logged.values()]
            rows.append([completion_text(completion), *scores, *logged])
        return rows

    def __str__(self) -> str:
        titles, *rows = self.list_rows()
        blocks = ["\n".join(f"{title}: {cell}" for title, cell in zip(titles, row, strict=True)) for row in rows]
        return "\n\n".join([self.expression, *map(make_visible, blocks)])

    def _repr_html_(self) -> str:
        import pandas  # slow to import

        def show(cell: str) -> str:
            return make_visible(cell[:MAX_CHARACTERS]) + "…" * (len(cell) > MAX_CHARACTERS)

        titles, *rows = ([*map(show, row)] for row in self.list_rows())
        with pandas.option_context("display.html.use_mathjax", False):  # notebooks would typeset `$...$`
            frame = pandas.DataFrame(rows, columns=titles)
            return str(frame.to_html(max_rows=MAX_ROWS, show_dimensions=len(rows) > MAX_ROWS))


def format_score(score: Score) -> str:
    return "None" if score is None else f"{score:.4g}"


def make_visible(text: str) -> str:
    """Return the text with characters that a reader cannot see escaped: control characters, and marks of direction."""
    return "".join(map(escape_invisible, text))


def escape_invisible(char: str) -> str:
    if char.isprintable() or char == "\n":
        return char
    return char.encode("unicode_escape").decode()
