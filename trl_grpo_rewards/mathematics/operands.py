"""Reading of operands: numbers, names, and what stands in brackets or bars."""

import re
from fractions import Fraction

from .arrays import find_determinant
from .bases import make_based
from .cases import RowReader
from .expressions import RELATION_SIGNS, ExpressionReader
from .operations import expand_plus_minus, make_number
from .tokens import OPENING, Token, Unreadable
from .values import Builder, Collection, Matrix, Number, Operation, Relation, Symbol, Value


CALLED = {*"fghFGHP"}
"""Letters that are functions if a bracket follows. Other letters are factors."""

SPECIAL_FUNCTIONS = {"\\Gamma": "gamma", "\\zeta": "zeta"}
CALLED_IN_SQUARE_BRACKETS = {"P", "E", "Pr", "Var", "\\mathbb{E}", "\\mathbb{P}"}
MIN_CHOSEN_FROM = 3
"""Smallest lower index of `C` with an exponent that makes it a binomial coefficient."""

REPETITION_SIGNS = {"\\overline", "\\bar", "\\dot"}
MARKS = {"'", "''", "*", "\\top", "\\dagger"}
INVERSE = ["^", "{", "-", "1", "}"]


REPEATING = re.compile(r"(\d*\.)(\d{0,20}?)(\d{1,12}?)\3+")
"""A decimal whose last digits are repeated, which three dots continue."""


def make_repeating(digits: str, repeated: str) -> Number:
    """Return the number that digits with repeated digits after them are."""
    whole, _, fixed = digits.partition(".")
    difference = int(f"{whole}{fixed}{repeated}") - int(f"{whole}{fixed}" or "0")
    return Number(Fraction(difference, 10 ** len(fixed) * (10 ** len(repeated) - 1)))


class OperandReader(ExpressionReader, RowReader):
    """Reads operands. Subclasses read commands and statements."""

    def read_statement(self, start: int, end: int) -> Value:
        raise NotImplementedError

    def read_command(self, command: str) -> Value:
        raise NotImplementedError

    def read_operand(self) -> Value:
        token = self.peek()
        if token is None:
            raise Unreadable("an operand is missing")
        if token.kind == "open":
            return self.read_group()
        if token.text in ("|", "||"):
            return self.read_bars(token.text)
        if token.text in ("_", "^"):
            return self.read_arrangements()
        is_call = token.kind == "word" and (after := self.peek(1)) is not None and after.text in ("(", "[")
        self.place += 1
        if token.kind in ("number", "grouped"):
            return self.read_number(token)
        if token.kind == "letter" or (is_call and not self.tokens[self.place].spaced):
            return self.read_name(token.text)
        if token.kind == "command":
            return self.read_command(token.text)
        raise Unreadable("no operand")

    def read_number(self, token: Token) -> Value:
        r"""Return a number, also with a base such as `1011_2` or with repeated digits such as `0.\overline{3}`."""
        after, last = [*self.texts(self.place, self.end)[:2], "", ""][:2]
        if after == "_":
            self.place += 1
            if not token.text.isdecimal():
                raise Unreadable("no base")
            return make_based(make_number(token.text), self.read_spelling())
        if after == "\\ldots" and (continued := REPEATING.fullmatch(token.text)) is not None:
            self.place += 1
            return make_repeating(continued[1] + continued[2], continued[3])
        has_own_point = "." in token.text and after in REPETITION_SIGNS
        if not has_own_point and not (after == "." and last in REPETITION_SIGNS):
            return make_number(token.text)
        self.place += 1 if has_own_point else 2
        repeated = "".join(self.read_spelling())
        if not repeated.isdecimal():
            raise Unreadable("no repeated digits")
        return make_repeating(token.text, repeated)

    def read_name(self, base: str) -> Value:
        """Return a symbol with its subscript and primes, or a function with its arguments."""
        if base == "C" and (chosen := self.read_combinations()) is not None:
            return chosen
        name = base + self.read_marks(base)
        token = self.peek()
        if name in SPECIAL_FUNCTIONS and token is not None and token.text == "(":
            return Operation(SPECIAL_FUNCTIONS[name], (self.read_group(),))
        if token is None or token.kind != "open":
            return Symbol(name)
        is_function = (
            base in CALLED or "'" in name or base.startswith("\\mathbb") or (len(base) > 1 and base.isalpha())
        )
        if not (token.text == "(" and is_function) and not (token.text == "[" and base in CALLED_IN_SQUARE_BRACKETS):
            return Symbol(name)
        start, end = self.place + 1, self.match[self.place]
        items: tuple[Value, ...]
        try:
            arguments = self.read_group()
            items = arguments.items if isinstance(arguments, Collection) else (arguments,)
        except Unreadable:
            items = (Symbol(" ".join(self.texts(start, end))),)
        self.place = end + 1
        if base == "lcm":
            return Operation("lcm", items)
        if (token := self.peek()) is not None and token.text == "_":  # f(x)_{\max}
            self.place += 1
            return Symbol(f"{name}({''.join(self.texts(start, end))})_" + "".join(self.read_spelling()))
        return Operation(f"call {name}", items)

    def read_combinations(self) -> Value | None:
        """Return the binomial coefficient that `C_{10}^3` is. `C_1^2` is the square of a constant."""
        texts = [text for text in self.texts(self.place, min(self.place + 8, self.end)) if text not in "{}"][:4]
        indices = dict(zip(texts[::2], texts[1::2], strict=False))
        if indices.keys() != {"_", "^"} or not all(text.isdecimal() and len(text) < 5 for text in texts[1::2]):
            return None
        if int(indices["_"]) < MIN_CHOSEN_FROM:
            return None
        for _ in range(2):
            self.place += 1
            self.read_spelling()
        return Operation("binom", (make_number(indices["_"]), make_number(indices["^"])))

    def read_arrangements(self) -> Value:
        """Return the number that `_{10}C_3`, `^{10}C_3` or `_{10}P_3` is."""
        self.place += 1
        above = self.read_argument(whole_numbers=True)
        letter, sign = [*self.texts(self.place, min(self.place + 2, self.end)), "", ""][:2]
        if letter not in ("C", "P") or sign != "_":
            raise Unreadable("an index without a letter")
        self.place += 2
        below = self.read_argument(whole_numbers=True)
        chosen = Operation("binom", (above, below))
        return chosen if letter == "C" else Operation("*", (chosen, Operation("factorial", (below,))))

    def read_marks(self, base: str) -> str:
        """Return the subscripts, the primes and other marks after a name, and the `^{-1}` of a function."""
        marks = ""
        while (token := self.peek()) is not None:
            texts = self.texts(self.place, min(self.place + 6, self.end))
            exponent = texts[2:3] if texts[1:2] == ["{"] else texts[1:2]
            if token.text == "^" and base.startswith("\\mathbb"):
                self.place += 1
                marks += "^" + "".join(self.read_spelling())
            elif token.text == "_":
                self.place += 1
                marks += "_" + "".join(self.read_spelling()).lstrip("\\")
            elif token.text in ("'", "''"):
                self.place += 1
                marks += token.text
            elif token.text == "^" and exponent and exponent[0] in MARKS:
                self.place += 1
                marks += "".join(self.read_spelling())
            elif base in CALLED and texts[:5] == INVERSE and self.opens(5):
                self.place += 5
                marks += "^{-1}"
            else:
                break
        return marks

    def read_bars(self, bar: str) -> Value:
        self.place += 1
        self.bars += 1
        value = self.read_infix(0)
        self.bars -= 1
        token = self.peek()
        if token is None or token.text != bar:
            raise Unreadable("an open bar")
        self.place += 1
        if isinstance(value, Matrix) and len(value.rows) == len(value.rows[0]) > 1:
            return find_determinant(value.rows)
        return Operation("abs" if bar == "|" else "norm", (value,))

    def read_group(self) -> Value:
        """Return the value in the brackets that start here."""
        self.go_deeper()
        start, end = self.place, self.match[self.place]
        saved = end + 1, self.end, self.bars
        self.bars = 0
        value = self.read_brackets(self.tokens[start].text, start + 1, end, self.tokens[end].text)
        self.place, self.end, self.bars = saved
        self.depth -= 1
        return value

    def read_brackets(self, opening: str, start: int, end: int, closing: str) -> Value:
        if opening not in OPENING:
            return self.read_rows(opening, start, end)
        if closing == ".":
            return self.read_open_brace(start, end)
        if opening == "\\{":
            return self.read_set(start, end)
        if opening == "{":
            return self.read_builder(start, end) or self.read_statement(start, end)
        if start == end:
            raise Unreadable("empty brackets")
        if opening in ("\\lfloor", "\\lceil"):
            return Operation("floor" if opening == "\\lfloor" else "ceil", (self.read_statement(start, end),))
        brackets = "<>" if opening == "\\langle" else opening + closing
        if (items := self.read_grouped(start, end)) is not None:
            return Collection(brackets, items)
        value = self.read_statement(start, end)
        if isinstance(value, Collection) and value.brackets == "" and value.word in ("", "pm"):
            return Collection(brackets, value.items)
        return value

    def read_open_brace(self, start: int, end: int) -> Value:
        r"""Return what stands between `\left\{` and `\right.`, which is a system or a function by cases."""
        if (
            self.tokens[start].kind == "open"
            and self.match[start] == end - 1
            and self.tokens[start].text not in OPENING
        ):
            return self.read_rows(self.tokens[start].text, start + 1, end - 1, is_system=True)
        raise Unreadable("an open brace")

    def read_grouped(self, start: int, end: int) -> tuple[Value, ...] | None:
        """Return the numbers in brackets whose commas look like those of thousands, such as `(1,200)`."""
        negative = self.tokens[start].text == "-"
        if end != start + 1 + negative or self.tokens[end - 1].kind != "grouped":
            return None
        first, *rest = map(make_number, self.tokens[end - 1].text.split(","))
        return (Number(-first.value) if negative else first, *rest)

    def read_set(self, start: int, end: int) -> Value:
        if start == end:
            return Symbol("\\emptyset")
        if (builder := self.read_builder(start, end)) is not None:
            return builder
        if (items := self.read_grouped(start, end)) is not None:
            return Collection("{}", items)
        value = expand_plus_minus(self.read_statement(start, end))
        is_list = isinstance(value, Collection) and value.brackets == ""
        return Collection("{}", value.items if is_list and isinstance(value, Collection) else (value,))

    def read_builder(self, start: int, end: int) -> Value | None:
        r"""Return the set that a condition after a bar or a colon describes: `\{x \mid x > 1\}`, `\{x \in \mathbb{Z} : x < 3\}`."""
        bars = [place for place in self.outermost(start, end) if self.tokens[place].text in ("|", ":")]
        if not bars or bars[0] == start:
            return None
        if not any(self.tokens[place].text in RELATION_SIGNS for place in self.outermost(bars[0] + 1, end)):
            return None
        texts = self.texts(start, end)
        domain = next((texts[place + 2] for place, text in enumerate(texts[:-2]) if text == "\\mathbb"), "")
        head = self.read_statement(start, bars[0])
        if isinstance(head, Relation) and head.signs == ("\\in",):
            head = head.sides[0]
        return Builder(self.read_statement(bars[0] + 1, end), head, domain)
