"""The scores of a batch as a table, as text and as HTML for notebooks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from .batch import completion_text
from .scores import Score


MAX_ROWS = 50
"""Largest number of rows that a notebook shows."""

MAX_CHARACTERS = 2000
"""Largest number of characters of a completion that a notebook shows."""

CODE = '<code class="tex2jax_ignore mathjax_ignore" style="white-space: pre-wrap">'
"""Start of an element for text that is shown unchanged. Without it, notebooks typeset `$...$` as mathematics."""


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
            rows.append([completion_text(completion), *scores, *(str(values[row]) for values in self.logged.values())])
        return rows

    def __str__(self) -> str:
        titles, *rows = self.list_rows()
        blocks = ["\n".join(f"{title}: {cell}" for title, cell in zip(titles, row, strict=True)) for row in rows]
        return "\n\n".join([self.expression, *map(make_visible, blocks)])

    def _repr_html_(self) -> str:
        titles, *rows = self.list_rows()
        head = "".join(f"<th>{to_code(title)}</th>" for title in titles)
        body = "".join(f"<tr>{''.join(f'<td>{to_code(cell)}</td>' for cell in row)}</tr>" for row in rows[:MAX_ROWS])
        left = len(rows) - MAX_ROWS
        more = f"<p>{left:,} more rows are not shown.</p>" if left > 0 else ""
        return f"{to_code(self.expression)}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def format_score(score: Score) -> str:
    return "None" if score is None else f"{score:.4g}"


def make_visible(text: str) -> str:
    """Return the text with characters that a reader cannot see escaped: control characters, and marks of direction."""
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode() for char in text
    )


def to_code(text: str) -> str:
    """Return HTML that shows the text unchanged. A long text is cut, and says so."""
    left = len(text) - MAX_CHARACTERS
    more = f" <em>({left:,} more characters)</em>" if left > 0 else ""
    return f"{CODE}{escape(make_visible(text[:MAX_CHARACTERS]))}</code>{more}"
