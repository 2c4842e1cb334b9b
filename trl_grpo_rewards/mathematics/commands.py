"""Reading of LaTeX commands: fractions, roots, functions, sums, integrals, and operators such as `\\max`."""

import re
from fractions import Fraction

from .arrays import combine, find_determinant
from .expressions import FACTOR, INFIX, PRODUCT, RELATION_SIGNS
from .letters import ELEMENTARY
from .operands import OperandReader
from .operations import MINUS_ONE
from .tokens import Unreadable
from .values import Collection, Matrix, Number, Operation, Quantity, Relation, Symbol, Value, walk


ACCENTS = {
    *r"""\overline \bar \vec \hat \widehat \tilde \widetilde \dot \ddot \overrightarrow \overleftarrow \mathring \overset
    \underset \stackrel \overbrace \underbrace \not \wideparen \overarc \mathbb \mathcal \mathfrak \mathscr \mathrm
    \text""".split()
}
DEGREES = (("°", 1),)
INVERTIBLE = {*"sin cos tan cot sec csc sinh cosh tanh coth".split()}
OPERATORS = {*"det dim deg ker max min sup inf lim gcd lcm rank Re Im arg Pr angle triangle".split()}
OF_LISTS = {"gcd", "lcm", "max", "min"}
UNREAD = {*r"\oint \iint \iiint \lim \bigcup \bigcap \coprod".split()}


class CommandReader(OperandReader):
    """Reads commands with their arguments."""

    def read_command(self, command: str) -> Value:
        name = command[1:]
        if command in UNREAD:
            raise Unreadable(command)
        if command == "\\frac":
            above = self.read_argument()
            return combine("/", above, self.read_argument())
        if command == "\\sqrt":
            return self.read_root()
        if command in ("\\sum", "\\prod"):
            return self.read_series(name)
        if command == "\\int":
            return self.read_integral()
        if command == "\\binom":
            above = self.read_argument()
            return Operation("binom", (above, self.read_argument()))
        if name in ELEMENTARY:
            return self.read_function(name)
        if name in OPERATORS:
            return self.read_operator(name)
        if command in ACCENTS:
            if command in ("\\overline", "\\bar") and self.is_complex():
                return Operation("conjugate", (self.read_group(),))
            spelling = self.read_spelling()
            letter = re.sub(r"\\mathbf\{(.)\}", r"\1", spelling[0]) if len(spelling) == 1 else ""
            if command in ("\\vec", "\\hat", "\\overrightarrow") and letter in ("i", "j", "k"):
                return self.read_name(f"\\mathbf{{{letter}}}")
            return self.read_name(f"{command}{{{' '.join(spelling)}}}")
        if self.opens(0) and self.tokens[self.place].text == "{" and command not in ("\\pi", "\\infty"):
            raise Unreadable(f"an unknown command {command}")
        if command in RELATION_SIGNS or command in INFIX:
            raise Unreadable("a sign without operands")
        return self.read_name(command)

    def is_complex(self) -> bool:
        """Whether the next group is an expression with the imaginary unit, such as `{1 + i}`."""
        if not self.opens(0) or self.tokens[self.place].text != "{":
            return False
        inside = self.tokens[self.place + 1 : self.match[self.place]]
        return any(token.text == "i" for token in inside) and any(token.kind != "letter" for token in inside)

    def read_bounds(self) -> dict[str, Value]:
        bounds: dict[str, Value] = {}
        while (token := self.peek()) is not None and token.text in ("_", "^"):
            self.place += 1
            bounds[token.text] = self.read_argument(whole_numbers=True)
        return bounds

    def read_integral(self) -> Value:
        r"""Return a definite integral such as `\int_0^1 x^2 \, dx`."""
        bounds = self.read_bounds()
        ends = [here for here in self.outermost(self.place, self.end - 1) if self.tokens[here].text == "d"]
        if len(bounds) < 2 or not ends or self.tokens[ends[0] + 1].kind != "letter":
            raise Unreadable("an integral without bounds")
        saved, self.end = self.end, ends[0]
        body = self.read_infix(0) if self.place < self.end else Number(Fraction(1))
        if self.place != self.end:
            raise Unreadable("an integral that goes on")
        self.place, self.end = ends[0] + 2, saved
        return Operation("int", (Symbol(self.tokens[ends[0] + 1].text), bounds["_"], bounds["^"], body))

    def read_series(self, name: str) -> Value:
        r"""Return a sum or product such as `\sum_{k=1}^{n} k^2`."""
        bounds = self.read_bounds()
        start = bounds.get("_")
        if not isinstance(start, Relation) or start.signs != ("=",) or "^" not in bounds:
            raise Unreadable("a series without bounds")
        index, first = start.sides
        if not isinstance(index, Symbol):
            raise Unreadable("a series without an index")
        return Operation(name, (index, first, bounds["^"], self.read_infix(PRODUCT)))

    def read_root(self) -> Value:
        token = self.peek()
        index = (self.read_group(),) if token is not None and token.text == "[" else ()
        return Operation("root" if index else "sqrt", (self.read_root_argument(), *index))

    def read_root_argument(self) -> Value:
        """Return what is under the root. A number without braces is taken as a whole, as in `√13`."""
        token = self.peek()
        if token is not None and token.text in ("(", "["):
            return self.read_group()
        return self.read_argument(whole_numbers=token is not None and token.kind in ("number", "grouped"))

    def read_function(self, name: str) -> Value:
        r"""Return a function such as `\sin^2 3x` or `\log_2 8` with its argument."""
        base, power = None, None
        while (token := self.peek()) is not None and token.text in ("^", "_"):
            self.place += 1
            if token.text == "_":
                base = self.read_argument(whole_numbers=True)
            else:
                power = self.read_argument(whole_numbers=True)
        argument = self.read_function_argument()
        if any(isinstance(node, Operation) and node.name == "degree" for node in walk(argument)):
            argument = Operation("radians", (argument,))
        if power == MINUS_ONE and name in INVERTIBLE:
            name, power = f"arc{name}", None
        if name == "cis":
            call = Operation("^", (Symbol("e"), Operation("*", (Symbol("i"), argument))))
        else:
            call = Operation(name, (argument,)) if base is None else Operation("log", (argument, base))
        return call if power is None else Operation("^", (call, power))

    def read_function_argument(self) -> Value:
        token = self.peek()
        if token is None:
            raise Unreadable("a function without an argument")
        if token.kind == "open":
            argument = self.read_group()
            if isinstance(argument, Collection):
                raise Unreadable("a function of a list")
            if isinstance(argument, Quantity) and argument.unit == DEGREES:
                return Operation("degree", (argument.value,))
            return argument
        argument = self.read_infix(FACTOR)
        while (token := self.peek()) is not None and self.starts_factor(token):
            is_function = token.text[1:] in ELEMENTARY or token.text in ("(", "[")
            if is_function or (token.kind == "number" and self.is_literal()):
                break
            argument = combine("*", argument, self.read_infix(FACTOR))
        return argument

    def read_operator(self, name: str) -> Value:
        r"""Return an operator that names a value, such as `\dim V`, `\max f(x)` or `\gcd(6, 9)`."""
        start = self.place
        while (token := self.peek()) is not None and token.text in ("_", "^"):
            self.place += 1
            self.read_spelling()
        token = self.peek()
        if name in OF_LISTS and start == self.place and token is not None and token.text in ("(", "\\{"):
            items = self.read_group()
            if isinstance(items, Collection):
                return Operation(name, items.items)
        elif token is not None and token.text not in ("+", "-") and self.starts_factor(token):
            value = self.read_infix(FACTOR)
            if name == "det" and isinstance(value, Matrix):
                return find_determinant(value.rows)
            while (token := self.peek()) is not None and token.kind == "letter":
                self.read_infix(FACTOR)
        return Symbol(f"\\operatorname {name} " + " ".join(self.texts(start, self.place)))
