r"""Reading of names and commands: fractions, roots, functions, sums, derivatives, and operators such as `\max`."""

import re

from ..functions import FUNCTIONS, OPERATORS, SPECIAL
from ..reader import FACTOR, PRODUCT, SUM, Reader
from ..tokens import Unreadable
from ..values import (
    MINUS_ONE,
    ONE,
    ZERO,
    Call,
    Operation,
    Symbol,
    Value,
    is_operation,
    make_name,
    operands_of,
    substitute,
    walk,
)
from .arrays import Matrix, combine_values, find_determinant
from .expressions import starts_factor
from .lists import Collection, find_places, take_text
from .names import FUNCTION_LETTERS
from .quantities import DEGREES, Quantity
from .relations import is_relation


CALLED_IN_SQUARE_BRACKETS = {"P", "E", "\\mathbb{E}", "\\mathbb{P}"}
NAME_MARKS = {"'", "''", "*"}
INVERSE = ["^", "{", "-", "1", "}"]
INVERTIBLE = {*"sin cos tan cot sec csc sinh cosh tanh coth".split()}
OF_LISTS = {"gcd", "lcm", "max", "min"}
NAMING = {*"Re Im arg Pr angle triangle".split()} | OPERATORS
ACCENTS = {
    *r"""\overline \bar \vec \hat \widehat \tilde \widetilde \dot \ddot \overrightarrow \overset
    \underset \wideparen \overarc \mathbb \mathcal \mathfrak \mathscr""".split()
}
BOUND = "\\bound"  # begins the name that every index has in a series
NAMES = {  # of symbols and constants
    *r"""\pi \infty \emptyset \hbar \ell \partial \nabla \aleph \beth \forall \exists \nexists \dagger \ddagger \wp \complement
    \top \intercal \bot \square \Box \diamond \circ \bullet \star \ast \Re \Im \eth \mho \degree \ldots \vdots \ddots \prime \flat \sharp
    \heartsuit \spadesuit \clubsuit \diamondsuit \not \% \parallel \perp \mid \models \vdash \quad""".split()
}
UNREADABLE_COMMANDS = {*r"\oint \iint \iiint \lim".split()}


# --- names
def read_name(reader: Reader) -> Value:
    return finish_name(reader, take_text(reader))


def read_word_call(reader: Reader) -> Value:
    """Return the call of a function whose name is a word, such as `Area(x)`."""
    after = reader.peek(1)
    if after is None or after.kind != "open" or after.spaced or after.text == "{":
        raise Unreadable("a word")
    return read_name(reader)


def finish_name(reader: Reader, base: str) -> Value:
    """Return a symbol with its subscript and primes, or a function with its arguments."""
    name = base + read_marks(reader, base)
    token = reader.peek()
    if token is None or token.text not in ("(", "["):
        return Symbol(name)
    if token.text == "(" and name in SPECIAL:
        return Operation(SPECIAL[name], (reader.group(),))
    if not is_called(base, name, token.text):
        return Symbol(name)
    start = reader.place + 1
    end = reader.match[reader.place]
    arguments = reader.attempt(Reader.group) or Symbol(" ".join(reader.texts(start, end)))
    reader.place = end + 1
    return Call(name, arguments.items if isinstance(arguments, Collection) else (arguments,))


def is_called(base: str, name: str, bracket: str) -> bool:
    """Whether a bracket after a name holds the arguments of a function, and no factor."""
    if bracket == "[":
        return base in CALLED_IN_SQUARE_BRACKETS
    if base in FUNCTION_LETTERS or base.startswith("\\mathbb"):
        return True
    return "'" in name or (len(base) > 1 and base.isalpha())


def read_marks(reader: Reader, base: str) -> str:
    """Return the subscripts, the primes and other marks after a name, and the `^{-1}` of a function."""
    marks = read_digits(reader, base)
    while mark := read_mark(reader, base):
        marks += mark
    return marks


def read_digits(reader: Reader, base: str) -> str:
    """Return the subscript that digits after a letter are: `x1` is `x_1`."""
    token = reader.peek()
    if token is None or token.spaced or not token.text.isdecimal():
        return ""
    if len(base) > 1 or base in ("e", "i") or starts_power(reader, base):
        return ""
    reader.place += 1
    return f"_{token.text}"


def read_mark(reader: Reader, base: str) -> str:
    token = reader.peek()
    if token is None:
        return ""
    if token.text == "^":
        return read_upper_mark(reader, base)
    if token.text == "_":
        return read_subscript(reader)
    if token.text not in ("'", "''"):
        return ""
    reader.place += 1
    return token.text


def read_upper_mark(reader: Reader, base: str) -> str:
    r"""Return what is no power: the sign of `\mathbb{R}^+`, a prime, a star, or the `^{-1}` of a function."""
    if base.startswith("\\mathbb"):
        reader.place += 1
        return "^" + "".join(reader.spelling())
    texts = reader.ahead(5)
    if texts[1 + (texts[1] == "{")] in NAME_MARKS:
        reader.place += 1
        return "".join(reader.spelling())
    if base not in FUNCTION_LETTERS or texts != INVERSE or not reader.opens(5):
        return ""
    reader.place += 5
    return "^{-1}"


def read_subscript(reader: Reader) -> str:
    reader.place += 1
    index = reader.peek()
    if index and re.fullmatch(r"\d[1-9]\d*", index.text) and starts_power(reader, ""):  # x_12^n
        reader.argument()
        return f"_{index.text[0]}"
    return "_" + "".join(reader.spelling()).lstrip("\\")


def starts_power(reader: Reader, name: str) -> bool:
    """Whether the next number is the base of a power, as in `n2^{n-1}` and `x2^3`, and no index, as in `x1^2 + x2^2`."""
    number, sign, *texts = reader.ahead(5)
    if texts[::2] == ["{", "}"]:
        exponent = texts[1]
    else:
        exponent = texts[0]
    if sign != "^" or number == "10" or not exponent.isdecimal():
        return sign == "^"
    if name == "":
        return False
    return f"{name}1^" not in "".join(reader.texts(0, len(reader.tokens)))


# --- commands
def read_command(reader: Reader) -> Value:
    """Return what a command without an entry of its own is: a function, an operator, or a name."""
    command = take_text(reader)
    name = command[1:]
    if command in UNREADABLE_COMMANDS:
        raise Unreadable(command)
    if name in FUNCTIONS:
        return read_function(reader, name)
    if name in NAMING:
        return read_operator(reader, name)
    if reader.ahead(1) == ["{"] and command not in ("\\pi", "\\infty"):
        raise Unreadable(f"an unknown command {command}")
    return finish_name(reader, command)


def read_fraction(reader: Reader) -> Value:
    reader.place += 1
    above = reader.argument()
    return read_derivative(reader, combine_values("/", above, reader.argument()))


def read_derivative(reader: Reader, fraction: Value) -> Value:
    r"""Return the derivative of the product after `\frac{d}{dx}`, or the fraction if it is none."""
    parts = operands_of(fraction, "/")
    factors = operands_of(parts[1], "*") if parts else ()
    if len(factors) != 2 or not parts[0] == factors[0] == Symbol("d"):
        return fraction
    variable = factors[1]

    def read_body(reader: Reader) -> Value | None:
        body = reader.read(SUM + 1)
        return body if variable in walk(body) else None

    body = reader.attempt(read_body)
    if body is None:
        return fraction
    return Operation("derivative", (variable, body))


def read_binomial(reader: Reader) -> Value:
    reader.place += 1
    above = reader.argument()
    return Operation("binom", (above, reader.argument()))


def read_root(reader: Reader) -> Value:
    """Return a root. A number without braces is taken as a whole, as in `√13`."""
    reader.place += 1
    index = (reader.group(),) if reader.ahead(1) == ["["] else ()
    argument = reader.argument(whole_numbers=True)
    return Operation("root" if index else "sqrt", (argument, *index))


def read_accent(reader: Reader) -> Value:
    r"""Return a name with an accent or in a font, such as `\vec{v}` or `\mathbb{R}`, a complex conjugate or zero."""
    command = take_text(reader)
    if command in ("\\overline", "\\bar") and encloses_complex(reader):
        return Operation("conjugate", (reader.group(),))
    spelling = reader.spelling()
    if spelling == ["0"]:
        return ZERO
    letter = ""
    if len(spelling) == 1:
        letter = re.sub(r"\\mathbf\{(.)\}", r"\1", spelling[0])
    if command in ("\\vec", "\\hat", "\\overrightarrow") and letter in ("i", "j", "k"):
        return finish_name(reader, f"\\mathbf{{{letter}}}")
    return finish_name(reader, f"{command}{{{' '.join(spelling)}}}")


def encloses_complex(reader: Reader) -> bool:
    """Whether the next group is an expression with the imaginary unit, such as `{1 + i}`."""
    if reader.ahead(1) != ["{"]:
        return False
    inside = reader.tokens[reader.place + 1 : reader.match[reader.place]]
    if not any(token.text == "i" for token in inside):
        return False
    return any(token.kind != "letter" for token in inside)


def read_bounds(reader: Reader) -> dict[str, Value]:
    bounds: dict[str, Value] = {}
    while (token := reader.peek()) is not None and token.text in ("_", "^"):
        reader.place += 1
        bounds[token.text] = reader.argument(whole_numbers=True)
    return bounds


def read_integral(reader: Reader) -> Value:
    r"""Return an integral such as `\int_0^1 x^2 \, dx`, with which nothing is computed here."""
    reader.place += 1
    bounds = read_bounds(reader)
    start = reader.place
    end = next(iter(find_places(reader, start, reader.end - 1, "d")), start)
    if len(bounds) < 2 or end == start or reader.tokens[end + 1].kind != "letter":
        raise Unreadable("an integral without bounds")
    body = reader.within(start, end, lambda reader: reader.read(PRODUCT - 10))
    reader.place = end + 2
    return Operation("int", (Symbol(reader.tokens[end + 1].text), bounds["_"], bounds["^"], body))


def read_series(reader: Reader) -> Value:
    r"""Return a sum or product such as `\sum_{k=1}^{n} k^2`."""
    name = take_text(reader)[1:]
    bounds = read_bounds(reader)
    start = bounds.get("_")
    if start is None or not is_relation(start, "=") or "^" not in bounds:
        raise Unreadable("a series without bounds")
    index, first = start.sides
    body = reader.read(PRODUCT)
    if not isinstance(index, Symbol):
        return Operation(name, (index, first, bounds["^"], body))
    names = [node.name for node in walk(body) if isinstance(node, Symbol)]
    inside = [name for name in names if name.startswith(BOUND)]
    level = 1 + max((int(name.removeprefix(BOUND)) for name in inside), default=0)
    bound = Symbol(f"{BOUND}{level}")
    return Operation(name, (bound, first, bounds["^"], rename_index(body, index.name, bound)))


def rename_index(body: Value, index: str, bound: Symbol) -> Value:
    """Return the body of a series with another name for its index, also in subscripts: `a_k` and `a_j` are the same there."""
    word = re.compile(rf"(?<![A-Za-z\\]){re.escape(index)}(?![A-Za-z])")
    names: dict[str, Value] = {}
    for node in walk(body):
        if isinstance(node, Symbol) and "_" in node.name:
            base, subscript = node.name.split("_", 1)
            names[node.name] = Symbol(f"{base}_{word.sub(bound.name, subscript)}")
    return substitute(body, {**names, index: bound})


def read_function(reader: Reader, name: str) -> Value:
    bounds = read_bounds(reader)
    power = bounds.get("^")
    argument = read_function_argument(reader)
    if any(is_operation(node, "degree") for node in walk(argument)):
        argument = Operation("radians", (argument,))
    if power in (MINUS_ONE, Operation("-", (ONE,))) and name in INVERTIBLE:
        name = f"arc{name}"
        power = None
    call = Operation(name, (argument,))
    if "_" in bounds:
        call = Operation("log", (argument, bounds["_"]))
    if power is None:
        return call
    return Operation("^", (call, power))


def read_function_argument(reader: Reader) -> Value:
    """Return what a function is applied to: brackets, or the factors up to a bracket or the next function."""
    if reader.opens(0):
        argument = reader.group()
        if isinstance(argument, Quantity) and argument.unit == DEGREES:
            return Operation("degree", (argument.value,))
        return argument
    argument = reader.read(FACTOR)
    while continues_argument(reader):
        argument = combine_values("*", argument, reader.read(FACTOR))
    return argument


def continues_argument(reader: Reader) -> bool:
    token = reader.peek()
    if token is None or not starts_factor(reader, reader.place):
        return False
    if token.text in ("(", "[") or token.text[1:] in FUNCTIONS:
        return False
    if reader.grammar.prefixes.keys().isdisjoint((token.text, f"<{token.kind}>")):
        return False
    return token.kind != "number" or not reader.is_literal()


def read_operator(reader: Reader, name: str) -> Value:
    r"""Return an operator that names a value, such as `\dim V`, `\max f(x)` or `\gcd(6, 9)`."""
    start = reader.place
    while reader.ahead(1)[0] in ("_", "^"):
        reader.place += 1
        reader.spelling()
    if name in OF_LISTS and start == reader.place and reader.ahead(1)[0] in ("(", "\\{"):
        items = reader.group()
        if isinstance(items, Collection):
            return Operation(name, items.items)
    elif reader.ahead(1)[0] not in ("", "+", "-") and starts_factor(reader, reader.place):
        value = reader.read(FACTOR)
        if name == "det" and isinstance(value, Matrix):
            return find_determinant(value.rows)
        skip_letters(reader)
    return make_name([name, *reader.texts(start, reader.place)])


def skip_letters(reader: Reader) -> None:
    while (token := reader.peek()) is not None and token.kind == "letter":
        reader.read(FACTOR)
