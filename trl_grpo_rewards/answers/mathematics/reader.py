"""The reader, which turns tokens into a value by precedence, as a [`Grammar`] says."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from .tokens import BRACKETS, MAX_DEPTH, MAX_DIGITS, NUMBERS, Oversized, Token, Unreadable
from .values import Number, Operation, Symbol, Value


LIST, ROW, RELATION, UNIT, ARROW, OR, AND, UNION, INTERSECTION, RATIO, OVER, MODULO = range(10, 130, 10)
SUM, PRODUCT, NEGATION, FACTOR, POWER = range(200, 250, 10)  # how strongly signs bind; a unit belongs to a whole side
Read = Callable[["Reader"], Value]


class Infix(NamedTuple):
    """What a token does after a value, and how strongly it binds."""

    power: int
    build: "Callable[[Reader, Value], Value | None]"  # returns None if the token does not continue the value
    applies: "Callable[[Reader, int], bool] | None" = None  # whether the token has this meaning; by default, it has


class Grammar(NamedTuple):
    """What tokens build, by their text, and otherwise by their kind, as in `<word>`."""

    openings: "Mapping[str, tuple[Callable[[Reader], Value | None], ...]]"  # by the kind of the first token
    item: Read  # reads the first item of a statement, which goes on with the infixes
    finish: Callable[[Value], Value]  # changes the value of a whole statement
    prefixes: Mapping[str, Read]  # what a token builds at the start of a value. The reader stands at this token.
    infixes: Mapping[str, tuple[Infix, ...]]  # what a token builds after a value, in the order in which it is tried
    loosest: Mapping[str, int]  # how strongly each of these binds at least


AFTER_INTERVALS = {"", "\\cup", "\\cap", "\\setminus", ",", "or", "and", "."}
LEADING = {"=", "\\approx", "\\equiv", "\\to", "\\sim", "#", "*", "`", '"', ",", "\\quad", "."}
TRAILING = {".", "*", "`", '"', ":", "?", "\\quad"}  # these mean nothing at both ends; left out before openings


class Reader:
    """The tokens of a text, the partner of each bracket, and the place and the end of what is being read."""

    def __init__(self, tokens: list[Token], grammar: Grammar) -> None:
        self.tokens = tokens
        self.grammar = grammar
        self.match: list[int] = []
        self.start = self.place = self.depth = self.bars = 0
        self.end = len(tokens)

    # brackets

    def turn_brackets(self) -> None:
        """Give open intervals such as `]2, 5[` round brackets."""
        opened: list[str] = []
        for place, token in enumerate(self.tokens):
            turned = self.turn(place, opened[-1] if opened else "")
            if turned is not None:
                self.tokens[place] = turned
            kind = (turned or token).kind
            if kind == "open":
                opened.append(token.text if turned is None else "[")
            elif kind == "close" and opened:
                opened.pop()

    def turn(self, place: int, outer: str) -> Token | None:
        """Return the round bracket that a square one stands for, inside of an outer bracket, or None."""
        text = self.tokens[place].text
        if text == "]":
            if outer in ("[", "("):
                return None
            return Token("open", "(")
        after = ""
        if place + 1 < len(self.tokens):
            after = self.tokens[place + 1].text
        if text == outer == "[" and after in AFTER_INTERVALS:
            return Token("close", ")")
        return None

    def match_brackets(self) -> None:
        """Find the partner of each bracket. Raises [`Unreadable`] if one is missing."""
        self.match = [-1] * len(self.tokens)
        opened: list[int] = []
        for place, token in enumerate(self.tokens):
            if token.kind == "open":
                opened.append(place)
            elif token.kind == "close":
                if not opened or not is_closed_by(self.tokens[opened[-1]].text, token.text):
                    raise Unreadable("unmatched brackets")
                start = opened.pop()
                self.match[start] = place
                self.match[place] = start
        if opened:
            raise Unreadable("unmatched brackets")
        loosest = self.grammar.loosest
        self.loosest = [loosest.get(token.text, loosest.get(f"<{token.kind}>", POWER)) for token in self.tokens]

    # what is at a place

    def outermost(self, start: int, end: int) -> Iterator[int]:
        """Yield the places of a range that are not in brackets."""
        place = start
        while place < end:
            if self.tokens[place].kind == "open" and self.match[place] > 0:
                place = self.match[place]
            else:
                yield place
            place += 1

    def texts(self, start: int, end: int) -> list[str]:
        return [token.text for token in self.tokens[start:end]]

    def ahead(self, count: int) -> list[str]:
        texts = self.texts(self.place, min(self.place + count, self.end))
        return texts + [""] * (count - len(texts))

    def peek(self, ahead: int = 0) -> Token | None:
        place = self.place + ahead
        if place < self.end:
            return self.tokens[place]
        return None

    def opens(self, ahead: int) -> bool:
        token = self.peek(ahead)
        return token is not None and token.kind == "open"

    def is_literal(self) -> bool:
        return self.tokens[self.place - 1].kind in NUMBERS

    def find_infixes(self, place: int, lowest: int = LIST, highest: int = POWER) -> Iterator[Infix]:
        """Yield what the token at a place may do after a value, if it binds as strongly as this."""
        token = self.tokens[place]
        infixes = self.grammar.infixes
        for infix in infixes[token.text] if token.text in infixes else infixes.get(f"<{token.kind}>", ()):
            if lowest <= infix.power <= highest and (infix.applies is None or infix.applies(self, place)):
                yield infix

    def has_relation(self) -> bool:
        places = self.outermost(self.start, self.end)
        return any(self.loosest[place] == RELATION for place in places)

    def find_end(self, power: int) -> int:
        """Return the place of the next token that binds no more strongly than this, or the end."""
        place = self.place
        while place < self.end:
            opens = self.tokens[place].kind == "open"
            if self.loosest[place] <= power and not (opens and place == self.place):
                if any(self.find_infixes(place, highest=power)):
                    return place
            place = max(place, self.match[place] if opens else 0) + 1
        return self.end

    # reading

    def go_deeper(self) -> None:
        self.depth += 1
        if self.depth > 2 * MAX_DEPTH:
            raise Oversized("too deep")

    def within(self, start: int, end: int, read: Read) -> Value:
        """Return what is read in a range, which must be read to its end."""
        outer_end = self.end
        self.place = start
        self.end = end
        value = read(self)
        if self.place != end:
            raise Unreadable("a value that goes on")
        self.end = outer_end
        return value

    def attempt(self, read: "Callable[[Reader], Value | None]") -> Value | None:
        """Return what is read, or None if it cannot be read. The reader then stands where it stood."""
        saved = self.start, self.place, self.end, self.depth, self.bars, self.tokens
        self.tokens = [*self.tokens]  # reading takes digits from them
        try:
            if (value := read(self)) is not None:
                return value
        except Unreadable:
            pass
        self.start, self.place, self.end, self.depth, self.bars, self.tokens = saved
        return None

    def trim(self, start: int, end: int) -> tuple[int, int]:
        """Return the range without the signs around it that mean nothing."""
        while start < end and self.tokens[start].text in LEADING:
            start += 1
        while start < end and self.tokens[end - 1].text in TRAILING and self.tokens[end - 2].text != "^":
            if self.tokens[end - 1].kind == "close":
                break  # what `\\right.` closes
            end -= 1
        return start, end

    def statement(self, start: int, end: int) -> Value:
        """Return the value of a range, which may be a list, a relation, a sentence or a single value."""
        self.go_deeper()
        saved = self.start, self.place, self.end, self.bars
        self.start, self.end = self.trim(start, end)
        self.place = self.start
        self.bars = 0
        first = self.peek()
        if first is not None and first.kind == "number" and self.end == self.start + 1:
            value: Value | None = parse_number(first.text)  # as most are
        else:
            openings = () if first is None else self.grammar.openings.get(first.kind, ())
            value = next((value for read in openings if (value := read(self)) is not None), None)
        if value is None:
            value = self.grammar.finish(self.extend(self.grammar.item(self), 0))
        self.start, self.place, self.end, self.bars = saved
        self.depth -= 1
        return value

    def prefix(self) -> Value:
        """Return the value that starts here, without what follows it."""
        token = self.peek()
        prefixes = self.grammar.prefixes
        if token is not None and token.kind == "open":
            return self.group()
        read = None if token is None else prefixes.get(token.text) or prefixes.get(f"<{token.kind}>")
        if read is None:
            raise Unreadable("no value")
        self.go_deeper()
        value = read(self)
        self.depth -= 1
        return value

    def read(self, lowest: int) -> Value:
        """Return the value that starts here with all that binds to it at least as strongly as `lowest`."""
        self.go_deeper()
        value = self.extend(self.prefix(), lowest)
        self.depth -= 1
        return value

    def extend(self, value: Value, lowest: int) -> Value:
        """Return a value with all that follows and binds to it at least as strongly as `lowest`."""
        nested = 0
        while self.place < self.end:
            strong = self.find_infixes(self.place, lowest)
            extended = next((found for infix in strong if (found := infix.build(self, value)) is not None), None)
            if extended is None:
                break
            nested += isinstance(extended, Operation) and value in extended.operands[:1]
            if nested > MAX_DEPTH:
                raise Oversized("too deep")
            value = extended
        return value

    def group(self) -> Value:
        """Return the value in the brackets that start here."""
        self.go_deeper()
        token = self.tokens[self.place]
        closing = self.match[self.place]
        saved = self.end, self.bars
        self.bars = 0
        default = self.grammar.prefixes["<bracket>" if token.text in BRACKETS else "<open>"]
        value = self.grammar.prefixes.get(token.text, default)(self)
        self.place = closing + 1
        self.end, self.bars = saved
        self.depth -= 1
        return value

    def spelling(self) -> list[str]:
        token = self.peek()
        if token is None:
            raise Unreadable("a group is missing")
        start = self.place
        if token.text != "{":
            self.place = start + 1
            return [token.text]
        end = self.match[start]
        self.place = end + 1
        return self.texts(start + 1, end)

    def argument(self, whole_numbers: bool = False) -> Value:
        r"""
        Return the argument of a command or an exponent: a group, or one token.

        As in TeX, a token is one digit, so `\frac12` has two arguments. With `whole_numbers`, it is the whole number, as
        people mean in `2^10`. A letter before a number stands alone: elsewhere, `n2` is `n_2`, but `\frac n2` has two
        arguments.
        """
        token = self.peek()
        if token is None:
            raise Unreadable("an argument is missing")
        if token.kind == "number" and not whole_numbers and len(token.text) > 1:
            if not token.text.isdecimal():
                raise Unreadable("a decimal without braces")
            self.tokens[self.place] = token._replace(text=token.text[1:], spaced=False)
            return parse_number(token.text[0])
        if token.kind == "letter" and (after := self.peek(1)) is not None and after.kind == "number":
            self.place += 1
            return Symbol(token.text)
        return self.prefix()


def is_closed_by(opening: str, closing: str) -> bool:
    r"""Whether one bracket closes another one. `\right.` closes an open brace, and an environment ends with its name."""
    return closing in BRACKETS.get(opening, (opening,)) or (opening == "\\{" and closing == ".")


def parse_number(text: str) -> Number:
    """Return the exact number that digits are. Raises [`Oversized`] if there are too many."""
    digits, _, exponent = text.lower().partition("e")
    if len(digits) > MAX_DIGITS or len(exponent) > 4:
        raise Oversized("a number that is too long")
    return Number(Fraction(int(text) if text.isdecimal() else text.replace(",", "")))


def parse_digits(digits: str, base: int = 10) -> int:
    if len(digits) > MAX_DIGITS:
        raise Oversized("a number that is too long")
    return int(digits, base)


def write_digits(number: Fraction) -> str:
    try:
        return str(number)
    except ValueError:  # Python writes no longer number
        raise Oversized("a number that is too long") from None
