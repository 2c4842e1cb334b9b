"""A place among tokens: what every part of the reader looks at."""

from collections.abc import Iterator

from .tokens import MAX_DEPTH, Token, Unreadable


PAIRS = {
    **{"(": {")", "]"}, "[": {")", "]"}, "{": {"}"}, "\\{": {"\\}", "."}, "\\langle": {"\\rangle"}},
    **{"\\lfloor": {"\\rfloor"}, "\\lceil": {"\\rceil"}},
}
"""Opening brackets and what closes them. Half-open intervals mix round and square ones, and `\\right.` closes a brace."""


AFTER_INTERVALS = {"", "\\cup", "\\cap", "\\setminus", ",", "or", "and", ".", ")", "\\}"}
MICRO_UNITS = {*"smgFCLlAVWJ"}


class Cursor:
    """The tokens of a text, the partner of each bracket, and the place and the end of what is being read."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.match: list[int] = []
        self.place = self.end = self.depth = self.bars = 0

    def turn_brackets(self) -> None:
        """Give open intervals such as `]2, 5[` round brackets."""
        opened: list[str] = []
        for place, token in enumerate(self.tokens):
            after = self.tokens[place + 1].text if place + 1 < len(self.tokens) else ""
            if token.text == "]" and (not opened or opened[-1] not in ("[", "(")):
                self.tokens[place] = Token("open", "(")
                opened.append("[")
            elif token.text == "[" and opened[-1:] == ["["] and after in AFTER_INTERVALS:
                self.tokens[place] = Token("close", ")")
                opened.pop()
            elif token.kind == "open":
                opened.append(token.text)
            elif token.kind == "close" and opened:
                opened.pop()

    def match_brackets(self) -> None:
        """Find the partner of each bracket. Raises [`Unreadable`] if one is missing."""
        self.match, opened = [-1] * len(self.tokens), []
        for place, token in enumerate(self.tokens):
            if token.kind == "open":
                opened.append(place)
                if len(opened) > MAX_DEPTH:
                    raise Unreadable("too deep")
            elif token.kind == "close":
                start = opened.pop() if opened else -1
                opening = self.tokens[start].text
                if start < 0 or token.text not in PAIRS.get(opening, {opening}):
                    raise Unreadable("unmatched brackets")
                self.match[start], self.match[place] = place, start
        if opened:
            raise Unreadable("unmatched brackets")

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

    def peek(self, ahead: int = 0) -> Token | None:
        place = self.place + ahead
        return self.tokens[place] if place < self.end else None

    def is_literal(self) -> bool:
        """Whether the last token is a number."""
        return self.tokens[self.place - 1].kind in ("number", "grouped")

    def opens(self, ahead: int) -> bool:
        token = self.peek(ahead)
        return token is not None and token.kind == "open"

    def is_upright(self, ahead: int) -> bool:
        """Whether a token is a word or an upright letter, as units are."""
        token = self.peek(ahead)
        return token is not None and (token.kind == "word" or (token.kind == "letter" and token.upright))

    def is_unit(self, token: Token) -> bool:
        r"""Whether a Greek letter after a factor is a unit or the prefix of one: `5\ \Omega`, `5\ \mu\text{m}`."""
        after = self.peek(1)
        if token.text == "\\Omega":
            return self.is_literal() or after is None
        return self.is_upright(1) or (self.is_literal() and after is not None and after.text in MICRO_UNITS)

    def read_spelling(self) -> list[str]:
        """Return the tokens of the next group, or the next token."""
        token = self.peek()
        if token is None:
            raise Unreadable("a group is missing")
        start, end = self.place, self.place + 1
        if token.text == "{":
            start, end = self.place + 1, self.match[self.place]
        self.place = end + (token.text == "{")
        return self.texts(start, end)

    def go_deeper(self) -> None:
        self.depth += 1
        if self.depth > 2 * MAX_DEPTH:
            raise Unreadable("too deep")
