"""The words and symbols of an answer. [`tokenize`] reads a text once, from left to right, with one regular expression."""

import functools
import re
import unicodedata
from typing import NamedTuple

from . import spellings
from .functions import BARE, FUNCTIONS, OPERATORS, SPELLED
from .units import LETTERS as UNIT_LETTERS
from .units import SHORT, SPELLINGS
from .words import SCALES, SHORT_WORDS


class Token(NamedTuple):
    kind: str  # "number", "letter", "word", "command", "open", "close" or "sign"
    text: str  # in its usual spelling
    spaced: bool = False  # after a space or a change of font
    upright: bool = False  # in a text or an upright font


class Unreadable(Exception):
    """Raised when a text is not an answer in a known notation."""


class Oversized(Unreadable):
    """Raised when a text has a number of more than [`MAX_DIGITS`], in any notation, or is nested too deeply."""


MAX_TOKENS = 1500  # maximum number of tokens of an answer. Longer texts are not read, so that the time is bounded.
MAX_DIGITS = 4300  # maximum length of a number, in digits, which is Python's default limit for integers
MAX_DEPTH = 60
VOWEL_MARKS = "".join(one for one in map(chr, range(0x591, 0xE50)) if unicodedata.category(one)[0] == "M")
TOKEN = re.compile(
    r"""
    (?P<space>(?:\s|~|\\[ ,;:>!]|\\(?:thin|med|thick)space(?![A-Za-z]))+)
    | (?P<number>
        \d{1,3}(?:\.\d{3}){2,},\d+ (?!\d)
        | (?<=₹)\d{1,2}(?:,\d\d)+,\d{3} (?![\d,]) (?:\.\d+)?
        | [1-9]\d{0,2} (?: (?: \{?,\}? (?:\\[!,\ ])?  | \\[,!\ ] | \\; | [ ~'] ) \d{3} )+ (?![\d]) (?:\.\d+)?
        | \d+\{[,.]\}\d+ | \d+(?:\.\d+)? | \.\d+
      ) (?P<exponent>[eE][+-]?\d{1,9}(?![A-Za-z\d]))?
    | (?P<environment>\\(?:begin|end)\ ?(?:\{\w*\*?\}|[pbvBV]?matrix))
    | (?P<row>\\\\(?:\[[^\]]{0,9}\])? | \\(?=[-\d]))
    | (?P<command>\\(?:(?:operatorname|[hv]space)\*|[A-Za-z]+|.))
    | (?P<letters>[^\W\d_]+(?:[MARKS]+[^\W\d_]*)*)
    | (?P<power>(?<=[\w)\]}])\*\*(?=[-\w(\\{]))
    | (?P<angles><(?=[^<>=,]*,[^<>=]*>(?!\s*[-\w\\(=])))
    | (?P<dots>\.{2,}) | (?P<double>['!<>:=]=|''+|!!|\|\|)
    | \{(?P<braced>[:=<>+-])\}
    | (?P<sign>.)
    """.replace("MARKS", VOWEL_MARKS),
    re.VERBOSE | re.DOTALL,
)
PLAIN_TOKENS = {
    "row": ("sign", "\\\\"),
    "dots": ("command", "\\ldots"),
    "power": ("sign", "^"),
    "angles": ("open", "\\langle"),
}
TITLE_END = re.compile(r"\.? \d")  # May 3, No. 7
SCALE_OR_POWER = re.compile(f"平方|立方|[{''.join(word for word in SCALES if len(word) == 1)}]")
JOINED_FUNCTION = re.compile(r"(arc(?:sin|cos|tan)|(?:sin|cos|tan)h?|cot|sec|csc|ln|log|exp)([A-Za-z]?)")
PLAIN_COMMANDS = {name: f"\\{usual}" for name, usual in BARE.items()} | {
    **{name: f"\\{name}" for name in [*spellings.GREEK, "sqrt"] if len(name) > 2 or name == "pi"},
    **dict.fromkeys(("infinity", "inf", "oo"), "\\infty"),
}
ELEMENTS = re.compile(
    r"(?:H|He|Li|B|C|N|O|F|Ne|Na|Mg|Al|Si|P|S|Cl|Ar|K|Ca|Cr|Mn|Fe|Co|Ni|Cu|Zn|As|Br|Ag|Sn|I|Ba|Pt|Au|Hg|Pb){2,}"
)
AFTER_QUANTITIES = SHORT | {*"pm am AM PM th st nd rd bn".split()}  # these follow a number or another word
NUMBERS = {"number", "grouped"}
IN_NUMERALS = {*"^{}-/x", "\\times", "\\cdot", "\\frac"}  # signs of a number in scientific notation, or of a fraction
CURRENCY_CODES = {"USD", "EUR", "GBP", "Rs"}
MAX_FACTORS = 8
TWO_WORDS = re.compile(r"(?<![A-Za-z\\{])[A-Za-z]{2,}[,.:]? [A-Za-z]{2,}|^[Aa] [a-z]{3,}$")
ALIGNED = {"\\aligned", "\\align", "\\gathered", "\\split"}  # environments in which `&` only aligns the rows

# Opening brackets, and what closes each of them. Half-open intervals mix round and square ones. What a bracket means
# is in `grammar`. Another spelling of a bracket is in `spellings`.
BRACKETS = {
    "(": {")", "]"},
    "[": {")", "]"},
    "{": {"}"},
    "\\{": {"\\}"},
    "\\langle": {"\\rangle"},
    "\\lfloor": {"\\rfloor"},
    "\\lceil": {"\\rceil"},
}

CLOSING = set[str]().union(*BRACKETS.values())


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a text. Raises [`Unreadable`] if there are too many."""
    return list(Tokenizer(spellings.normalize_signs(text)).read())


def spell(text: str) -> str:
    """Return a text in one spelling: without fonts, delimiters and spaces that separate nothing."""
    try:
        tokens = tokenize(text)
    except Unreadable:
        return " ".join(text.split())
    parts: list[str] = []
    for token in tokens:
        last = parts[-1] if parts else ""
        letters = last[-1:].isalpha() and token.text[:1].isalnum()
        joined = last[-1:].isalnum() and token.text[:1].isalnum() and token.spaced
        if (letters and last.startswith("\\")) or joined:
            parts.append(" ")
        parts.append(token.text)
    return "".join(parts).strip(" .,;:*`")


class Tokenizer:
    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0
        self.spaced = False
        self.font = ""
        self.fonts: list[tuple[str, bool]] = []  # for each open brace, the font around it and whether it groups
        self.tokens: list[Token] = []
        self.braces: list[bool] = []  # for each open \left, whether it is a brace
        self.environments: list[str] = []
        self.angles = 0  # number of open angle brackets such as that of <1,2>

    @functools.cached_property
    def is_prose(self) -> bool:
        return TWO_WORDS.search(self.text) is not None

    def read(self) -> list[Token]:
        text = self.text
        while self.position < len(text):
            found = TOKEN.match(text, self.position)
            assert found is not None  # the last alternative matches any character
            self.position = found.end()
            kind = found.lastgroup
            if kind == "space":
                self.spaced = True
            elif kind in ("number", "exponent"):
                self.add_number(found["number"], found["exponent"] or "")
            elif kind == "letters":
                self.add_letters(found[0], text[self.position : self.position + 1] in ("^", "_", "+", "*"))
            elif kind == "command":
                self.position = self.add_command(found[0], self.position)
            elif kind == "environment":
                name = re.sub(r"\\(?:begin|end)\s?|[{}*]", "", found[0])
                self.add_environment(found[0].startswith("\\begin"), f"\\{name}")
            elif kind in PLAIN_TOKENS:
                self.angles += kind == "angles"
                self.add(*PLAIN_TOKENS[kind])
            else:
                self.add_sign(found["braced"] or found[0])
            if len(self.tokens) > MAX_TOKENS or len(self.fonts) > MAX_DEPTH:
                raise Unreadable("too long")
        if self.fonts:
            raise Unreadable("an open brace")
        return self.tokens

    def add(self, kind: str, text: str) -> None:
        self.tokens.append(Token(kind, text, self.spaced, self.font in ("text", "upright")))
        self.spaced = False

    def add_environment(self, begins: bool, name: str) -> None:
        if begins:
            self.environments.append(name)
        elif self.environments:
            self.environments.pop()
        self.add("open" if begins else "close", name)

    def add_number(self, digits: str, exponent: str) -> None:
        if digits.isdecimal():
            return self.add("number", digits + exponent)
        if digits.count(".") > 1:
            digits = digits.replace(".", "").replace(",", ".")  # 1.234.567,89
        if re.fullmatch(r"\d+\{,\}\d+", digits) and not re.fullmatch(r"[1-9]\d{0,2}\{,\}\d{3}", digits):
            digits = digits.replace("{,}", ".")
        digits = digits.replace("{.}", ".")
        kind, other = ("grouped", r"[^\d.,]") if "," in digits and not {*"{\\"} & {*digits} else ("number", r"[^\d.]")
        self.add(kind, re.sub(other, "", digits) + exponent)

    def add_letters(self, letters: str, is_operand: bool = False) -> None:
        if letters[0] > "\u2e7f":
            return self.add_ideographs(letters)
        if "①" <= letters[0] <= "⑳":
            for one in letters:
                self.add("word", one)
                self.add("sign", ",")
            return
        if len(letters) == 1 and letters.isascii():
            if self.font == "bold" and letters in "RZ":
                return self.add_command_of("\\mathbb", letters)
            is_vector = self.font == "bold" and letters in "ijk"
            return self.add("letter", f"\\mathbf{{{letters}}}" if is_vector else letters)
        if letters.casefold() in ("constant", "const") and self.tokens and self.tokens[-1].text == "+":
            return self.tokens.append(Token("letter", "C"))
        plain = self.font in ("", "bold")
        is_unit = letters in AFTER_QUANTITIES or letters in SPELLINGS
        if letters in CURRENCY_CODES or (is_unit and self.follows_quantity()):
            return self.add("word", letters)
        if letters in PLAIN_COMMANDS and (plain or letters == "inf"):
            return self.add("command", PLAIN_COMMANDS[letters])
        if plain and (joined := JOINED_FUNCTION.fullmatch(letters)):
            self.add("command", f"\\{joined[1]}")
            return self.add("letter", joined[2])
        if letters == "mod":
            in_brackets = bool(self.tokens) and self.tokens[-1].text == "("
            return self.add(*(("command", "\\mod") if in_brackets else ("word", letters)))
        usual = letters if self.font != "upright" else SPELLED.get(letters, letters)
        usual = usual.lower() if usual.startswith("Arc") else usual
        if not plain and (usual in FUNCTIONS or usual in OPERATORS):
            return self.add("command", f"\\{usual}")
        if not (self.tokens and self.tokens[-1].text in ("\\frac", "\\binom")) and (
            self.is_prose
            or not plain
            or (len(letters) > 3 and not (is_product(letters, is_operand) and not self.follows_quantity()))
            or not {*letters} - {*"IVX"}
            or (letters.istitle() and TITLE_END.match(self.text, self.position))
            or self.is_short_word(letters)
            or not letters.isascii()
        ):
            return self.add("word", letters)
        for one in letters:
            self.add("letter", one)

    def add_command_of(self, command: str, letter: str) -> None:
        for kind, text in (("command", command), ("open", "{"), ("letter", letter), ("close", "}")):
            self.add(kind, text)

    def add_ideographs(self, letters: str) -> None:
        """Add a Chinese word, with the scale before it as a word of its own: 万元 is 万 and 元."""
        while letters and letters not in SPELLINGS and (found := SCALE_OR_POWER.match(letters)):
            self.add("word", found[0])
            letters = letters[found.end() :]
        if letters:
            self.add("word", letters)

    def follows_quantity(self) -> bool:
        """Whether the last token, or the one before a slash or a line of a fraction, is a number, a word or a unit."""
        last = self.tokens[-2:] if self.tokens and self.tokens[-1].text == "/" else self.tokens[-1:]
        above = last[0] if len(last) == 2 else self.tokens[-3] if self.ends("}", "{") else None
        if above is not None and (above.kind == "word" or above.upright):
            return True
        if len(last) == 2 and last[0].text in UNIT_LETTERS and self.tokens[-3:-2] and self.tokens[-3].kind in NUMBERS:
            return True
        if last and last[0].text == "}":
            return all(token.kind in NUMBERS or token.text in IN_NUMERALS for token in self.tokens)
        return bool(last) and last[0].kind in (*NUMBERS, "word")

    def ends(self, *texts: str) -> bool:
        return len(self.tokens) > len(texts) and [token.text for token in self.tokens[-len(texts) :]] == [*texts]

    def is_short_word(self, letters: str) -> bool:
        """Whether letters are a short word. Capitals such as `NO` are the names of points, unless they are the whole text."""
        return letters.casefold() in SHORT_WORDS and (not letters.isupper() or letters == self.text.strip())

    def add_command(self, command: str, position: int) -> int:
        command = spellings.SYNONYMS.get(command, command)
        command = f"\\{SPELLED[command[1:]]}" if command[1:] in SPELLED else command
        text = self.text
        if (font := spellings.FONTS.get(command)) is not None:
            rest = position + (text[position : position + 1] == " ")
            if text[rest : rest + 1] != "{":
                return position
            self.fonts.append((self.font, False))
            self.font = font or self.font
            self.spaced = self.spaced or font == "text"
            return rest + 1
        if command in spellings.WITHOUT_CONTENT:
            return spellings.skip_group(text, position)
        if command in spellings.SEPARATORS:
            self.add("sign", "\\quad")
            return spellings.skip_group(text, position) if command == "\\hspace" else position
        if command in spellings.DROPPED or (command in ("\\[", "\\]") and not self.font):
            return position + self.add_delimiter(command, position)
        if command in BRACKETS:
            self.add("open", command)
        elif command in CLOSING:
            self.add("close", command)
        elif command == "\\degree":
            self.add("sign", "^")
            self.add("command", "\\circ")
        elif command == "\\&":
            self.add("word", "and")
        elif command in ("\\$", "\\#", "\\_"):
            self.add("sign", command[1:])
        elif command[1:].lower() in spellings.GREEK and command != "\\pi":
            self.add("letter", command)
        elif command[1:] in FUNCTIONS or command[1:] in OPERATORS:
            self.add("command", command)
        elif (joined := JOINED_FUNCTION.fullmatch(command[1:])) is not None and joined[2]:  # \cotx
            self.add("command", f"\\{joined[1]}")
            self.add("letter", joined[2])
        elif command[0] != "\\":
            self.add_letters(command) if command.isalpha() else self.add("sign", command)
        else:
            self.add("command", command)
        return position

    def add_delimiter(self, command: str, position: int) -> int:
        r"""Return the number of characters after `\left` or `\right` that show nothing. `\right.` closes an open brace."""
        is_dot = self.text[position : position + 1] == "."
        if command == "\\left":
            self.braces.append(self.text.startswith(("\\{", "\\lbrace"), position))
        elif command == "\\right":
            if self.braces and self.braces.pop() and is_dot:
                self.add("close", ".")
        else:
            return 0
        return int(is_dot)

    def add_sign(self, sign: str) -> None:
        if sign == "{":
            self.fonts.append((self.font, True))
            self.add("open", "{")
        elif sign == "}":
            self.font, groups = self.fonts.pop() if self.fonts else (self.font, True)
            if groups:
                self.add("close", "}")
            else:
                self.spaced = True
        elif sign in BRACKETS:
            self.add("open", sign)
        elif sign in CLOSING:
            self.add("close", sign)
        elif sign == "&" and self.environments and self.environments[-1] in ALIGNED:
            self.spaced = True
        elif sign == ">" and self.angles:
            self.angles -= 1
            self.add("close", "\\rangle")
        elif sign in ("'=", ":="):
            self.add("sign", sign[0])
            self.add("sign", "=")
        else:
            self.add("sign", {"==": "=", "<=": "\\le", ">=": "\\ge", "!=": "\\ne"}.get(sign, sign))


def is_product(letters: str, is_operand: bool) -> bool:
    """Whether four or more letters are variables: no vowel (one next to a sign), or capitals inside as no word has."""
    vowels = sum(letter in "aeiouyAEIOUY" for letter in letters)
    if len(letters) > MAX_FACTORS or letters.isupper() or vowels > 1 or ELEMENTS.fullmatch(letters):
        return False
    is_mixed = not (letters.islower() or letters.istitle())
    return is_mixed or not vowels or is_operand
