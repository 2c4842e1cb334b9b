"""Reading of expressions by precedence: sums, products, powers, and factors that stand side by side."""

from .arrays import TRANSPOSES, combine, transpose
from .bases import make_based
from .cursor import Cursor
from .operations import make_number, negate
from .tokens import MAX_DEPTH, Token, Unreadable
from .values import Collection, Matrix, Number, Operation, Value


UNION, SUM, PRODUCT, NEGATION, FACTOR, POWER = 4, 10, 20, 21, 30, 40
INFIX = {
    **{"\\leftrightarrow": 1, "\\iff": 1, "\\to": 1, "\\lor": 2, "\\land": 3},
    **{"\\cup": UNION, "\\setminus": UNION, "\\cap": 5, ":": 6, "\\choose": 7, "\\over": 7, "\\mod": 8},
    **dict.fromkeys(("+", "-", "\\pm", "\\mp", "\\oplus"), SUM),
    **dict.fromkeys(("*", "\\cdot", "\\times", "/", "\\bullet", "\\otimes"), PRODUCT),
}
"""Signs between two operands, and how strongly they bind."""

NAMES = {
    **{"\\cdot": "*", "\\times": "*", "\\bullet": "*", "\\pm": "pm", "\\mp": "mp"},
    **{"\\over": "/", "\\choose": "binom", "\\mod": "mod"},
}
RELATION_SIGNS = {
    *r"""= < > ~ @ \le \ge \ne \approx \in \notin \subset \subseteq \supset \supseteq \equiv \sim \cong \perp \parallel
    \propto \ll \gg \mapsto \doteq""".split()
}
NO_FACTOR = RELATION_SIGNS | {*INFIX, "\\circ", "\\ldots"}


class ExpressionReader(Cursor):
    """Reads expressions. A subclass reads the operands."""

    def read_operand(self) -> Value:
        raise NotImplementedError

    def read_group(self) -> Value:
        raise NotImplementedError

    def read_expression(self, start: int, end: int) -> tuple[Value, int]:
        """Return the longest expression at the start of a range, and the place after it."""
        saved = self.place, self.end, self.bars
        self.place, self.end, self.bars = start, end, 0
        value = self.read_infix(0)
        place = self.place
        self.place, self.end, self.bars = saved
        return value, place

    def read_infix(self, lowest: int) -> Value:
        """Return the operand that starts here with all that binds to it at least as strongly as `lowest`."""
        self.go_deeper()
        left = self.read_prefix()
        nested = 0
        while (token := self.peek()) is not None:
            extended = self.extend(left, token, lowest)
            if extended is None:
                break
            nested += isinstance(extended, Operation) and left in extended.operands[:1]
            if nested > MAX_DEPTH:
                raise Unreadable("too deep")
            left = extended
        self.depth -= 1
        return left

    def read_prefix(self) -> Value:
        self.go_deeper()
        token = self.peek()
        if token is not None and token.text in ("-", "+", "\\pm", "\\mp", "\\neg"):
            self.place += 1
            value = self.read_infix(NEGATION)
            if token.text == "-":
                value = negate(value)
            elif token.text != "+":
                value = Operation(NAMES.get(token.text, token.text), (value,))
        else:
            value = self.read_operand()
        self.depth -= 1
        return value

    def extend(self, left: Value, token: Token, lowest: int) -> Value | None:
        """Return the left operand together with what follows it, or None if it ends here."""
        text = token.text
        if text in ("!", "!!"):
            self.place += 1
            return Operation("factorial" if text == "!" else "double factorial", (left,))
        if isinstance(left, Number) and (based := self.read_base(left, token)) is not None:
            return based
        if text == "^":
            return self.read_power(left) if lowest <= POWER else None
        if text == "\\pmod" or (text == "(" and self.texts(self.place + 1, self.place + 2) == ["\\mod"]):
            return self.read_modulus(left) if lowest == 0 else None
        if text in INFIX and not (text == "\\to" and lowest > 0):
            return self.read_right_side(left, text, lowest)
        if text == "U" and isinstance(left, Collection) and self.opens(1) and lowest <= UNION:
            self.place += 1
            return combine("\\cup", left, self.read_infix(UNION + 1))
        if (
            text == "x"
            and self.is_literal()
            and lowest <= PRODUCT
            and self.texts(self.place + 1, self.end)[:1] == ["10"]
        ):
            self.place += 1  # 3 x 10^8
            return combine("*", left, self.read_infix(PRODUCT + 1))
        return self.read_factor(left, token, lowest)

    def read_base(self, digits: Number, token: Token) -> Value | None:
        """Return a number in the base that `(2102)_3`, `2102 base 3` or `2102 (base 3)` names, or None."""
        if token.text == "_" and self.tokens[self.place - 1].text == ")":
            self.place += 1
            return make_based(digits, self.read_spelling())
        if token.text == "base":
            self.place += 1
            return make_based(digits, self.read_spelling(), in_words=True)
        if token.text == "(" and self.texts(self.place + 1, self.place + 2) == ["base"]:
            closing = self.match[self.place]
            texts, self.place = self.texts(self.place + 1, closing), closing + 1
            return make_based(digits, texts, in_words=True)
        return None

    def read_modulus(self, left: Value) -> Value:
        r"""Return a value with its modulus, which is `\pmod 5` or `(mod 5)`."""
        closing, opening = self.match[self.place], self.tokens[self.place].text
        self.place += 1 if opening == "\\pmod" else 2
        if opening == "\\pmod":
            return Operation("pmod", (left, self.read_argument(whole_numbers=True)))
        modulus = self.read_infix(0)
        if self.place != closing:
            raise Unreadable("a modulus that goes on")
        self.place += 1
        return Operation("pmod", (left, modulus))

    def read_right_side(self, left: Value, sign: str, lowest: int) -> Value | None:
        strength = INFIX[sign]
        is_per = sign == "/" and (after := self.peek(1)) is not None and after.kind == "word"
        if strength < lowest or is_per:
            return None
        self.place += 1
        return combine(NAMES.get(sign, sign), left, self.read_infix(strength + 1))

    def read_factor(self, left: Value, token: Token, lowest: int) -> Value | None:
        """Return the product with a factor that follows without a sign, or the mixed number, or None."""
        if lowest > FACTOR or not self.starts_factor(token):
            return None
        if self.is_literal() and isinstance(left, Number) and left.value.denominator == 1:
            mixed = self.read_mixed(left, lowest)
            if mixed is not None:
                return mixed
        if lowest > PRODUCT:
            return None
        after_degrees = isinstance(left, Operation) and left.name == "degree"
        if token.kind in ("number", "grouped") and (self.is_literal() or after_degrees):
            return None
        return combine("*", left, self.read_infix(NEGATION))

    def starts_factor(self, token: Token) -> bool:
        """Whether a token after a factor starts another factor."""
        if token.text == "|":
            return self.bars == 0
        if token.text in ("\\mu", "\\Omega"):
            return not self.is_unit(token)
        if token.kind == "letter":
            return not token.upright or token.text in "eid" or self.texts(self.place + 1, self.end)[:1] == ["_"]
        if token.text == "\\frac" and self.opens(1) and self.is_upright(2):
            return False  # a unit such as km/h
        if token.text == "(" and token.spaced and self.tokens[self.place + 1].kind == "word":
            return False  # a remark such as (apples)
        if token.kind == "command":
            return token.text not in NO_FACTOR
        return token.kind in ("open", "number", "grouped")

    def read_mixed(self, whole: Number, lowest: int) -> Value | None:
        r"""Return a mixed number such as `1\frac12` or `1 1/2`, a product such as `2\frac32`, or None."""
        start, tokens, token = self.place, self.tokens, self.tokens[self.place]
        if token.text == "\\frac":
            self.tokens = [*tokens]  # reading takes digits from them
            part = self.read_infix(NEGATION)
        elif token.spaced and token.text.isdecimal() and self.texts(start + 1, self.end)[:1] == ["/"]:
            below = self.peek(2)
            if below is None or not below.text.isdecimal():
                return None
            part = Operation("/", (make_number(token.text), make_number(below.text)))
            self.place += 3
        else:
            return None
        in_degrees = isinstance(part, Operation) and part.name == "degree"
        if isinstance(part, Operation) and in_degrees:
            part = part.operands[0]  # 22\frac12^\circ
        operands = part.operands if isinstance(part, Operation) and part.name == "/" else ()
        values = [operand.value for operand in operands if isinstance(operand, Number)]
        if len(values) == 2 and 0 < values[0] < values[1]:
            mixed = Operation("mixed", (whole, part))
            return Operation("degree", (mixed,)) if in_degrees else mixed
        if in_degrees:
            part = Operation("degree", (part,))
        if token.text == "\\frac" and lowest <= PRODUCT:
            return combine("*", whole, part)
        self.place, self.tokens = start, tokens
        return None

    def read_power(self, base: Value) -> Value | None:
        """Return a power or an angle in degrees, or None for what is no exponent, such as `^{th}` or `^\\circ C`."""
        after = self.peek(1)
        if after is None:
            raise Unreadable("an exponent is missing")
        inside = self.texts(self.place + 2, self.match[self.place + 1]) if after.text == "{" else [after.text]
        if inside == ["\\circ"]:
            width = 4 if after.text == "{" else 2
            unit = self.peek(width)
            if unit is not None and unit.text in ("C", "F"):
                return None
            self.place += width
            return Operation("degree", (base,))
        if isinstance(base, Matrix | Collection) and len(inside) == 1 and inside[0] in TRANSPOSES:
            self.place += 1
            self.read_spelling()
            return transpose(base)
        if inside and (inside[0] in ("st", "nd", "rd", "th", "t", "*") or {*inside} <= {"'", "''"}):
            return None
        self.place += 1
        return combine("^", base, self.read_argument(whole_numbers=True))

    def read_argument(self, whole_numbers: bool = False) -> Value:
        r"""
        Return the argument of a command or an exponent: a group, or one token.

        As in TeX, a token of a number is one digit, so that `\frac12` has two arguments. With `whole_numbers`, it is the
        whole number, as people mean in `2^10`.
        """
        token = self.peek()
        if token is None:
            raise Unreadable("an argument is missing")
        if token.text == "{":
            return self.read_group()
        if token.kind == "number" and not whole_numbers and len(token.text) > 1:
            if not token.text.isdecimal():
                raise Unreadable("a decimal without braces")
            self.tokens[self.place] = token._replace(text=token.text[1:], spaced=False)
            return make_number(token.text[0])
        if whole_numbers and token.text in ("-", "+"):
            self.place += 1
            value = self.read_argument(whole_numbers=True)
            return value if token.text == "+" else Operation("-", (value,))
        if token.kind == "word" and token.upright:
            raise Unreadable("a word as an argument")
        return self.read_prefix()
