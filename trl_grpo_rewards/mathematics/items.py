"""Reading of lists and of their items: relations with their sides, and the names on the left of equations."""

from fractions import Fraction

from .arrays import name_point
from .bases import read_lettered
from .expressions import RELATION_SIGNS
from .names import is_constant, name_function
from .operands import CALLED
from .quantities import QuantityReader
from .tokens import Unreadable
from .units import PARTS, find_unit
from .values import Collection, Family, Number, Relation, Symbol, Text, Value, find_index, is_expression, walk


SEPARATING = {",", ";", "\\quad", "\\\\"}
JOINING = {"and": "and", "or": "or", "\\land": "and", "\\lor": "or"}
AFTER_JOINING = {"more", "less", "fewer", "greater", "so"}
NUMBER_SETS = {"\\mathbb{R}", "\\mathbb{Z}", "\\mathbb{N}", "\\mathbb{Q}", "\\mathbb{C}"}
NAMING_COMMANDS = {"#", *r"\lim \sum \int \prod \max \min \sup \inf \det".split()}
"""Signs and commands that begin the name of a value on the left side of an equation."""
FUNCTION_ALGEBRA = {*"fgh+-*/", "\\cdot"}
IN_CALLS = {",", "\\ell", "\\cap", "\\cup", "\\setminus", "\\bar", "\\overline", "{", "}"}
MAX_DOTS = 100
"""Largest number of integers that dots stand for."""


class ItemReader(QuantityReader):
    """Reads lists, relations and names."""

    def skip_label(self, start: int, end: int) -> int:
        raise NotImplementedError

    def trim(self, start: int, end: int, leading: set[str], trailing: set[str]) -> tuple[int, int]:
        raise NotImplementedError

    def read_list(self, start: int, end: int) -> Value:
        """Return the items between commas, semicolons, `and` and `or`, or a single value."""
        items, word = self.split_list(start, end)
        if len(items) == 1:
            return self.read_item(*items[0])
        values: list[Value] = []
        index = None
        for item in items:
            value = self.read_item(*item)
            if isinstance(value, Collection) and value.brackets == "":
                values.extend(value.items)
            elif not (values and is_condition(value, values[0])):
                values.append(value)
            else:
                index = index or find_index(value)
        found = values[0] if len(values) == 1 else self.join_items(values, word, start, end)
        return found if index is None else Family(found, index)

    def join_items(self, values: list[Value], word: str, start: int, end: int) -> Collection:
        return Collection("", tuple(fill_dots(name_all(values))), word, self.read_decimal_comma(start, end))

    def split_list(self, start: int, end: int) -> tuple[list[tuple[int, int]], str]:
        """Return the ranges of the items, and the word that joins them."""
        items: list[tuple[int, int]] = []
        place, word = start, ""
        has_relation = any(self.tokens[here].text in RELATION_SIGNS for here in self.outermost(start, end))
        for here in self.outermost(start, end):
            token = self.tokens[here]
            joining = JOINING.get(token.text.casefold(), "") if token.kind == "word" or has_relation else ""
            if joining == "and" and (self.joins_nouns(place, here, end) or self.joins_parts(here, end)):
                continue
            if token.text in SEPARATING or joining:
                word = joining or word
                if here > place:
                    items.append((place, here))
                elif not items:
                    raise Unreadable("an empty item")
                place = here + 1
            if joining and (place == end or self.tokens[place].text in AFTER_JOINING):
                raise Unreadable("a word that changes the value")
        return [*items, (place, end)] if place < end else items, word

    def read_decimal_comma(self, start: int, end: int) -> Fraction | None:
        """Return the number that a list such as `3,14` is with a decimal comma."""
        texts = self.texts(start, end)
        digits = texts[texts[0] in ("+", "-") :]
        is_number = len(digits) == 3 and digits[1] == "," and digits[0].isdecimal() and digits[2].isdecimal()
        if not is_number or any(token.spaced for token in self.tokens[start + 1 : end]):
            return None
        return Fraction("".join(texts).replace(",", "."))

    def joins_nouns(self, start: int, place: int, end: int) -> bool:
        """Whether an `and` is between two nouns after a number, as in `5 boys and girls`."""
        if place + 1 >= end or not self.tokens[place - 1].kind == self.tokens[place + 1].kind == "word":
            return False
        numbers = [here for here in range(start, end) if self.tokens[here].kind in ("number", "grouped")]
        return bool(numbers) and numbers[-1] < place and not {",", ";", "or"} & {*self.texts(start, end)}

    def joins_parts(self, place: int, end: int) -> bool:
        """Whether an `and` is between the parts of one quantity, as in `5 feet and 6 inches`."""
        units = [
            find_unit(text) for text in (self.tokens[place - 1].text, *self.texts(place + 2, min(place + 3, end)))
        ]
        return tuple(units) in PARTS and self.tokens[place + 1].kind == "number"

    def read_item(self, start: int, end: int) -> Value:
        """Return one item of a list: a relation, or a value with or without a unit."""
        start, end = self.trim(start, end, {"\\quad"}, {"\\quad"})
        if start >= end:
            raise Unreadable("an empty item")
        signs = [here for here in self.outermost(start, end) if self.tokens[here].text in RELATION_SIGNS]
        if not signs:
            start = self.skip_label(start, end)
            return read_lettered(self.tokens[start:end]) or name_point(self.read_quantity(start, end))
        places = [start, *(here + 1 for here in signs)]
        ends = [*signs, end]
        sides: list[Value] = []
        for number, (low, high) in enumerate(zip(places, ends, strict=True)):
            if low == high:
                if number or len(places) > 2:
                    raise Unreadable("a side is missing")
                sides.append(Symbol(""))
            elif number == 0 or (number < len(signs) and self.tokens[low].text == "\\lim"):
                sides.append(self.read_left_side(low, high))
            else:
                sides.append(self.read_quantity(low, high))
        texts = tuple(self.tokens[here].text for here in signs)
        if len(sides) > 2 and {*texts} == {"="} and all(map(is_variable, sides[:-1])):  # x = y = 2
            return Collection("", tuple(Relation((side, sides[-1]), ("=",)) for side in sides[:-1]))
        return name_function(Relation(tuple(sides), texts))

    def read_left_side(self, start: int, end: int) -> Value:
        """Return the left side of a relation. A name that is no expression, or cannot be worked out, becomes a symbol."""
        first = self.tokens[start]
        if self.is_name(start, end):
            return Symbol(" ".join(self.texts(start, end)))
        if first.kind != "word" and first.text not in NAMING_COMMANDS:
            return self.read_quantity(start, end)
        try:
            value = self.read_quantity(start, end)
        except Unreadable:
            value = None
        if value is not None and (isinstance(value, Symbol) or is_constant(value)):
            return value
        return Symbol("\\operatorname " + " ".join(self.texts(start, end)))

    def is_name(self, start: int, end: int) -> bool:
        r"""
        Whether a left side is a name without being an expression.

        Names are calls such as `d(A, B)`, `n(A \cap B)`, `(f+g)(2)` and `f \circ g(2)`, and whatever ends in a subscript such
        as `|AB|_{\max}` or `\frac{dy}{dx}|_{x=1}`.
        """
        texts = self.texts(start, end)
        if any(
            here > start and texts[here - start - 1] != "^" and texts[here - start] == "\\circ"
            for here in range(start, end)
        ):
            return True
        subscripts = [here for here in self.outermost(start, end) if self.tokens[here].text == "_"]
        if subscripts and subscripts[-1] + 1 < end:
            last = subscripts[-1] + 1
            inside = self.texts(last, self.match[last] if self.tokens[last].kind == "open" else last + 1)
            ends = self.match[last] == end - 1 or last == end - 1
            return ends and not {"=", "\\max", "\\min"}.isdisjoint(inside)
        return self.is_call(start, end)

    def is_call(self, start: int, end: int) -> bool:
        name, *rest = self.tokens[start:end]
        if len(rest) < 3:
            return False
        if name.text == "(" and self.match[start] < end - 2:
            place = self.match[start] + 1
            functions = {*self.texts(start + 1, place - 1)}
            return functions <= FUNCTION_ALGEBRA and self.tokens[place].text == "(" and self.match[place] == end - 1
        if name.kind not in ("letter", "word") or name.text in CALLED | {"x", "y"}:
            return False
        if rest[0].text not in ("(", "[") or self.match[start + 1] != end - 1:
            return False
        return all(token.kind in ("letter", "number", "word") or token.text in IN_CALLS for token in rest[1:-1])


def is_variable(value: Value) -> bool:
    return isinstance(value, Symbol) and len(value.name) == 1 and value.name.islower()


def is_condition(value: Value, first: Value) -> bool:
    r"""Whether an item of a list only says what a symbol is, such as `k \in \mathbb{Z}`, or where the first is defined."""
    if not isinstance(value, Relation) or len(value.sides) != 2 or not isinstance(value.sides[0], Symbol):
        return False
    name, other = value.sides
    if value.signs == ("\\in",):
        return isinstance(other, Symbol) and other.name.partition("_")[0].rstrip("+") in NUMBER_SETS
    return value.signs == ("\\ne",) and is_expression(first) and name in walk(first) and name != first


def fill_dots(values: list[Value]) -> list[Value]:
    r"""Return the integers that `1, 2, \ldots, 5` stands for."""
    dots = Symbol("\\ldots")
    place = values.index(dots) if dots in values else 0
    integers = [value.value for value in values if isinstance(value, Number) and value.value.denominator == 1]
    if place < 2 or place != len(values) - 2 or len(integers) != len(values) - 1:
        return values
    step, last = integers[-2] - integers[-3], integers[-1]
    if step == 0 or (last - integers[-2]) % step or not 0 < (last - integers[-2]) / step <= MAX_DOTS:
        return values
    start = integers[-2]
    return [*values[:place], *(Number(start + step * k) for k in range(1, int((last - start) / step) + 1))]


def name_all(values: list[Value]) -> list[Value]:
    """Give `x = 1, 2` as two equations, so that the list has items of one kind."""
    first = values[0]
    if (
        not isinstance(first, Relation)
        or first.signs not in (("=",), ("\\ne",))
        or not isinstance(first.sides[0], Symbol)
    ):
        return values
    if any(isinstance(value, Relation | Text) for value in values[1:]):
        return values
    return [first, *(Relation((first.sides[0], value), first.signs) for value in values[1:])]
