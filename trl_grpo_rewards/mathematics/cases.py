r"""Reading of rows: matrices, determinants, systems of equations and functions by cases, each with its environment."""

from .arrays import find_determinant, make_matrix
from .cursor import Cursor
from .tokens import ALIGNED, Unreadable
from .values import Cases, Collection, Relation, Symbol, Text, Value


OTHERWISE = Symbol("otherwise")
CONDITION_WORDS = {"if", "for", "when", "as", "where", "on", "whenever", "provided"}
CONDITION_SIGNS = {"<", ">", "=", "\\le", "\\ge", "\\ne", "\\in"}
LAST_WORDS = {"otherwise", "else", "elsewhere", "other"}
SYSTEMS = {"\\cases", "\\dcases", "\\rcases", *ALIGNED}
"""Environments whose rows are equations or cases, and not the rows of a matrix."""

Range = tuple[int, int]


class RowReader(Cursor):
    """Reads what stands between `\\begin` and `\\end`."""

    def read_statement(self, start: int, end: int) -> Value:
        raise NotImplementedError

    def read_rows(self, environment: str, start: int, end: int, is_system: bool = False) -> Value:
        """Return the matrix, the system or the function by cases in an environment."""
        if environment == "\\array" and start < end and self.tokens[start].text == "{":
            start = self.match[start] + 1  # the alignment of the columns
        if is_system or environment in SYSTEMS:
            return self.read_system(self.split_rows(start, end, True))
        rows = [tuple(self.read_statement(*cell) for cell in row) for row in self.split_rows(start, end)]
        if not rows or len({len(row) for row in rows}) > 1:
            raise Unreadable("rows of different lengths")
        return find_determinant(rows) if environment == "\\vmatrix" else make_matrix(rows)

    def split_rows(self, start: int, end: int, skips_empty: bool = False) -> list[list[Range]]:
        """Return the ranges of the cells of each row."""
        rows: list[list[Range]] = []
        cells: list[Range] = []
        place = start
        for here in [*self.outermost(start, end), end]:
            text = self.tokens[here].text if here < end else "\\\\"
            if text in ("&", "\\\\"):
                if here > place:
                    cells.append((place, here))
                elif text == "&" and not skips_empty:
                    raise Unreadable("an empty cell")
                place = here + 1
            if text == "\\\\" and cells:
                rows.append(cells)
                cells = []
        return rows

    def read_system(self, rows: list[list[Range]]) -> Value:
        """Return a function by cases, a list of equations, or a column of values."""
        if not rows:
            raise Unreadable("no rows")
        cases = [self.split_condition(row) for row in rows]
        if all(len(parts) == 2 for parts in cases):
            return Cases(
                tuple((self.read_statement(*value), self.read_condition(*condition)) for value, condition in cases)
            )
        values = [self.read_statement(row[0][0], row[-1][1]) for row in rows if len(row) == 1]
        if len(values) < len(rows):
            raise Unreadable("rows of different kinds")
        if all(isinstance(value, Relation) for value in values):
            return Collection("", tuple(values), "and")
        return make_matrix([[value] for value in values])

    def split_condition(self, cells: list[Range]) -> list[Range]:
        """Return the ranges of a value and of its condition, or of the whole row if it has no condition."""
        if len(cells) == 2:
            return cells
        (start, end) = cells[0] if len(cells) == 1 else (0, 0)
        for here in self.outermost(start + 1, end):
            token = self.tokens[here]
            if token.kind == "word" and token.text.casefold() in CONDITION_WORDS | LAST_WORDS:
                return [(start, here), (here, end)]
            if token.text == "," and self.has_sign(here + 1, end) and not self.has_sign(start, here):
                return [(start, here), (here + 1, end)]
        return cells

    def has_sign(self, start: int, end: int) -> bool:
        return any(self.tokens[here].text in CONDITION_SIGNS for here in self.outermost(start, end))

    def read_condition(self, start: int, end: int) -> Value:
        """Return a condition, as words if it is no relation."""
        while start < end and self.tokens[start].text.casefold() in CONDITION_WORDS | {",", "\\quad"}:
            start += 1
        words = tuple(text.casefold() for text in self.texts(start, end) if text not in (".", ","))
        if words and words[0] in LAST_WORDS:
            return OTHERWISE
        saved = self.place, self.end, self.depth, self.bars
        try:
            return self.read_statement(start, end)
        except Unreadable:
            self.place, self.end, self.depth, self.bars = saved
            return Text(words)
