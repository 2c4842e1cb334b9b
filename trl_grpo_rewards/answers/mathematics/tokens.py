"""The words and symbols of an answer. [`tokenize`] reads a text once, from left to right, with one regular expression."""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import NamedTuple

from . import spellings
from .functions import BARE, FUNCTION_OF, FUNCTIONS, OPERATORS
from .units import LETTER_UNITS as UNIT_LETTERS
from .units import SHORT_SYMBOLS, UNIT_OF
from .words import SCALES, SHORT_WORDS


class Token(NamedTuple):
    kind: str  # "number", "letter", "word", "command", "open", "close" or "sign"
    text: str  # in its usual spelling
    spaced: bool = False  # after a space or a change of font
    upright: bool = False  # in a text or an upright font


Found = re.Match[str]


class Unreadable(Exception):
    """Raised when a text is not an answer in a known notation."""


class Oversized(Unreadable):
    """Raised when a text has a number of more than [`MAX_DIGITS`], in any notation, or is nested too deeply."""


MAX_TOKENS = 1500  # maximum number of tokens of an answer. Longer texts are not read, so that the time is bounded.
MAX_DIGITS = 4300  # maximum length of a number, in digits, which is Python's default limit for integers
MAX_DEPTH = 60
VOWEL_MARKS = "".join(mark for mark in map(chr, range(0x591, 0xE50)) if unicodedata.category(mark)[0] == "M")
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
ENVIRONMENT_MARKS = re.compile(r"\\(?:begin|end)\s?|[{}*]")
BRACED_COMMA = re.compile(r"\d+\{,\}\d+")
BRACED_THOUSANDS = re.compile(r"[1-9]\d{0,2}\{,\}\d{3}")
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
AFTER_QUANTITIES = SHORT_SYMBOLS | {*"pm am AM PM th st nd rd bn".split()}  # these follow a number or another word
NUMBERS = {"number", "grouped"}
ROMAN_DIGITS = {*"IVX"}
PLAIN_FONTS = {"", "bold"}
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

CLOSING_BRACKETS = set[str]().union(*BRACKETS.values())

# The usual spelling of a command. A function may have a synonym and another name.
USUAL_COMMANDS = {f"\\{other}": f"\\{name}" for other, name in FUNCTION_OF.items()}
USUAL_COMMANDS |= {other: USUAL_COMMANDS.get(usual, usual) for other, usual in spellings.SYNONYMS.items()}

DELIMITERS = {"\\[", "\\]"}  # of mathematics, outside of a text

# The tokens of a sign or a command that is not one token of its own kind.
MEANINGS: dict[str, tuple[tuple[str, str], ...]] = {
    **dict.fromkeys(spellings.DROPPED | DELIMITERS, ()),
    **dict.fromkeys(spellings.SEPARATORS, (("sign", "\\quad"),)),
    **{bracket: (("open", bracket),) for bracket in BRACKETS},
    **{bracket: (("close", bracket),) for bracket in CLOSING_BRACKETS},
    "\\degree": (("sign", "^"), ("command", "\\circ")),
    "\\&": (("word", "and"),),
    **{f"\\{sign}": (("sign", sign),) for sign in "$#_"},
    **{f"{mark}=": (("sign", mark), ("sign", "=")) for mark in "':"},
    **{sign: (("sign", usual),) for sign, usual in (("==", "="), ("<=", "\\le"), (">=", "\\ge"), ("!=", "\\ne"))},
}


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a text. Raises [`Unreadable`] if there are too many."""
    return list(Tokenizer(spellings.normalize_signs(text)).read())


def spell_symbols(text: str) -> str:
    """Return a text in one spelling: without fonts, delimiters and spaces that separate nothing."""
    try:
        tokens = tokenize(text)
    except Unreadable:
        return " ".join(text.split())
    parts: list[str] = []
    last = ""
    for token in tokens:
        if last[-1:].isalnum() and token.text[:1].isalnum() and (token.spaced or is_command(last)):
            parts.append(" ")
        parts.append(token.text)
        last = token.text
    return "".join(parts).strip(" .,;:*`")


def is_command(text: str) -> bool:
    if not text.startswith("\\"):
        return False
    return text[-1].isalpha()


class Tokenizer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
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
        while self.position < len(self.text):
            found = TOKEN.match(self.text, self.position)
            assert found is not None and found.lastgroup is not None  # the last alternative matches any character
            self.position = found.end()
            if found.lastgroup == "space":
                self.spaced = True
            else:
                TOKEN_GROUPS[found.lastgroup](self, found)
            if len(self.tokens) > MAX_TOKENS or len(self.fonts) > MAX_DEPTH:
                raise Unreadable("too long")
        if self.fonts:
            raise Unreadable("an open brace")
        return self.tokens

    def add(self, kind: str, text: str) -> None:
        self.tokens.append(Token(kind, text, self.spaced, self.font in ("text", "upright")))
        self.spaced = False

    def add_all(self, pairs: Iterable[tuple[str, str]]) -> None:
        for kind, text in pairs:
            self.add(kind, text)

    def ends(self, *texts: str) -> bool:
        if len(self.tokens) <= len(texts):
            return False
        return [token.text for token in self.tokens[-len(texts) :]] == [*texts]

    def is_after(self, *texts: str) -> bool:
        if not self.tokens:
            return False
        return self.tokens[-1].text in texts

    # groups of the regular expression

    def add_plain(self, found: Found) -> None:
        self.angles += found.lastgroup == "angles"
        self.add(*PLAIN_TOKENS[str(found.lastgroup)])

    def add_environment(self, found: Found) -> None:
        name = "\\" + ENVIRONMENT_MARKS.sub("", found[0])
        if found[0].startswith("\\begin"):
            self.environments.append(name)
            self.add("open", name)
        else:
            del self.environments[-1:]
            self.add("close", name)

    def add_number(self, found: Found) -> None:
        digits = found["number"]
        kind = "number"
        if not digits.isdecimal():
            kind, digits = normalize_digits(digits)
        self.add(kind, digits + (found["exponent"] or ""))

    def add_letters(self, found: Found) -> None:
        letters = found[0]
        if len(letters) == 1 and letters.isascii():
            self.add_letter(letters)
        elif letters[0] > "\u2e7f":
            self.add_ideographs(letters)
        elif "①" <= letters[0] <= "⑳":
            self.add_all(pair for letter in letters for pair in (("word", letter), ("sign", ",")))
        else:
            self.add_several(letters)

    def add_command(self, found: Found) -> None:
        command = USUAL_COMMANDS.get(found[0], found[0])
        if command in spellings.FONTS:
            self.open_font(spellings.FONTS[command])
        elif command in LAYOUT:
            LAYOUT[command](self)
        elif command in MEANINGS and not (self.font and command in DELIMITERS):
            self.add_all(MEANINGS[command])
        elif command.isalpha():
            self.add_letter(command)
        elif command[0] != "\\":
            self.add("sign", command)
        else:
            self.add_name(command)

    def add_sign(self, found: Found) -> None:
        sign = found["braced"] or found[0]
        if sign in NESTING:
            NESTING[sign](self)
        elif sign in MEANINGS:
            self.add_all(MEANINGS[sign])
        else:
            self.add("sign", sign)

    # letters

    def add_letter(self, letter: str) -> None:
        if self.font != "bold":
            self.add("letter", letter)
        elif letter in "RZ":
            self.add_all((("command", "\\mathbb"), ("open", "{"), ("letter", letter), ("close", "}")))
        else:
            self.add("letter", f"\\mathbf{{{letter}}}" if letter in "ijk" else letter)

    def add_ideographs(self, letters: str) -> None:
        """Add a Chinese word, with the scale before it as a word of its own: 万元 is 万 and 元."""
        while letters and letters not in UNIT_OF and (found := SCALE_OR_POWER.match(letters)):
            self.add("word", found[0])
            letters = letters[found.end() :]
        if letters:
            self.add("word", letters)

    def add_several(self, letters: str) -> None:
        """Add what letters are: a constant of integration, a unit, a function, a word, or variables side by side."""
        if letters.casefold() in ("constant", "const") and self.is_after("+"):
            self.tokens.append(Token("letter", "C"))
        elif self.is_unit(letters):
            self.add("word", letters)
        elif (command := self.find_command(letters)) is not None:
            self.add("command", command)
        elif self.font in PLAIN_FONTS and (joined := JOINED_FUNCTION.fullmatch(letters)):
            self.add_joined(joined)
        elif letters == "mod" or self.is_word(letters):
            self.add("word", letters)
        else:
            self.add_all(("letter", letter) for letter in letters)

    def is_unit(self, letters: str) -> bool:
        """Whether letters are the name of a currency, or what follows a number or a word, where such a one is."""
        if letters in CURRENCY_CODES:
            return True
        return (letters in AFTER_QUANTITIES or letters in UNIT_OF) and self.follows_quantity()

    def find_command(self, letters: str) -> str | None:
        """Return the command of a function, a constant or an operator that is written without a backslash, or None."""
        if letters in PLAIN_COMMANDS and (self.font in PLAIN_FONTS or letters == "inf"):
            return PLAIN_COMMANDS[letters]
        if letters == "mod":
            return "\\mod" if self.is_after("(") else None
        if self.font in PLAIN_FONTS:
            return None
        return self.find_upright_command(letters)

    def find_upright_command(self, letters: str) -> str | None:
        usual = FUNCTION_OF.get(letters, letters) if self.font == "upright" else letters
        if usual.startswith("Arc"):
            usual = usual.lower()
        return f"\\{usual}" if usual in FUNCTIONS or usual in OPERATORS else None

    def add_joined(self, joined: Found) -> None:
        r"""Add a function and the letter that is written next to it: `sinx` and `\cotx`."""
        self.add("command", f"\\{joined[1]}")
        self.add("letter", joined[2])

    def is_word(self, letters: str) -> bool:
        r"""Whether letters are a word, and not variables side by side, as the two arguments of `\frac ab` always are."""
        if self.is_after("\\frac", "\\binom"):
            return False
        if self.is_prose or self.font not in PLAIN_FONTS or not letters.isascii():
            return True
        if len(letters) > 3 and (not self.is_product(letters) or self.follows_quantity()):
            return True
        return {*letters} <= ROMAN_DIGITS or self.begins_title(letters) or self.is_short_word(letters)

    def begins_title(self, letters: str) -> bool:
        if not letters.istitle():
            return False
        return TITLE_END.match(self.text, self.position) is not None

    def is_product(self, letters: str) -> bool:
        """
        Whether four or more letters are variables: no vowel, or capitals inside as no word has.

        There may be one vowel if a sign follows.
        """
        vowels = sum(letter in "aeiouyAEIOUY" for letter in letters)
        if len(letters) > MAX_FACTORS or letters.isupper() or vowels > 1 or ELEMENTS.fullmatch(letters):
            return False
        is_mixed = not (letters.islower() or letters.istitle())
        return is_mixed or not vowels or self.text.startswith(("^", "_", "+", "*"), self.position)

    def is_short_word(self, letters: str) -> bool:
        """Whether letters are a short word. Capitals such as `NO` are the names of points, unless they are the whole text."""
        if letters.casefold() not in SHORT_WORDS:
            return False
        return not letters.isupper() or letters == self.text.strip()

    def follows_quantity(self) -> bool:
        """Whether the last token, or the one before a slash or a line of a fraction, is a number, a word or a unit."""
        if not self.tokens:
            return False
        if self.ends("/"):
            above = self.tokens[-2]
            is_unit = above.text in UNIT_LETTERS and len(self.tokens) > 2 and self.tokens[-3].kind in NUMBERS
            return is_unit or above.upright or self.ends_quantity(above)
        if self.ends("}", "{") and (self.tokens[-3].kind == "word" or self.tokens[-3].upright):
            return True
        return self.ends_quantity(self.tokens[-1])

    def ends_quantity(self, last: Token) -> bool:
        """Whether a token ends a number or is a word. A brace ends a number if all tokens are parts of one."""
        if last.text == "}":
            return all(token.kind in NUMBERS or token.text in IN_NUMERALS for token in self.tokens)
        return last.kind == "word" or last.kind in NUMBERS

    # commands

    def add_name(self, command: str) -> None:
        """Add a command by its name: a Greek letter, a function with the letter next to it, or any other."""
        name = command[1:]
        is_joined = name not in FUNCTIONS and name not in OPERATORS
        if name.lower() in spellings.GREEK and name != "pi":
            self.add("letter", command)
        elif is_joined and (joined := JOINED_FUNCTION.fullmatch(name)) is not None and joined[2]:
            self.add_joined(joined)
        else:
            self.add("command", command)

    def open_font(self, font: str) -> None:
        """Begin the group of a font. Without a brace, its command means nothing."""
        start = self.position + self.text.startswith(" ", self.position)
        if self.text.startswith("{", start):
            self.fonts.append((self.font, False))
            self.font = font or self.font
            self.spaced = self.spaced or font == "text"
            self.position = start + 1

    def skip_content(self) -> None:
        self.position = spellings.skip_group(self.text, self.position)

    def add_gap(self) -> None:
        self.add("sign", "\\quad")
        self.skip_content()

    def open_left(self) -> None:
        self.braces.append(self.text.startswith(("\\{", "\\lbrace"), self.position))
        self.skip_dot()

    def close_right(self) -> None:
        r"""Drop `\right` and its dot, which closes an open brace."""
        if self.braces and self.braces.pop() and self.text.startswith(".", self.position):
            self.add("close", ".")
        self.skip_dot()

    def skip_dot(self) -> None:
        self.position += self.text.startswith(".", self.position)

    # signs

    def open_group(self) -> None:
        self.fonts.append((self.font, True))
        self.add("open", "{")

    def close_group(self) -> None:
        self.font, groups = self.fonts.pop() if self.fonts else (self.font, True)
        if groups:
            self.add("close", "}")
        else:
            self.spaced = True

    def add_ampersand(self) -> None:
        if self.environments and self.environments[-1] in ALIGNED:
            self.spaced = True
        else:
            self.add("sign", "&")

    def add_greater(self) -> None:
        if self.angles:
            self.angles -= 1
            self.add("close", "\\rangle")
        else:
            self.add("sign", ">")


def normalize_digits(digits: str) -> tuple[str, str]:
    """Return whether digits with signs between them are a `number` or may be a list, `grouped`, and their usual spelling."""
    if digits.count(".") > 1:
        digits = digits.replace(".", "").replace(",", ".")  # 1.234.567,89
    if BRACED_COMMA.fullmatch(digits) and not BRACED_THOUSANDS.fullmatch(digits):
        digits = digits.replace("{,}", ".")
    digits = digits.replace("{.}", ".")
    if "," in digits and "{" not in digits and "\\" not in digits:
        return "grouped", re.sub(r"[^\d.,]", "", digits)
    return "number", re.sub(r"[^\d.]", "", digits)


TOKEN_GROUPS: dict[str, Callable[[Tokenizer, Found], None]] = {  # what a match of each group of `TOKEN` adds
    **dict.fromkeys(("number", "exponent"), Tokenizer.add_number),
    "letters": Tokenizer.add_letters,
    "command": Tokenizer.add_command,
    "environment": Tokenizer.add_environment,
    **dict.fromkeys(PLAIN_TOKENS, Tokenizer.add_plain),
    **dict.fromkeys(("double", "braced", "sign"), Tokenizer.add_sign),
}
LAYOUT: dict[str, Callable[[Tokenizer], None]] = {  # commands after which a part of the text shows nothing
    **dict.fromkeys(spellings.WITHOUT_CONTENT, Tokenizer.skip_content),
    "\\hspace": Tokenizer.add_gap,
    "\\left": Tokenizer.open_left,
    "\\right": Tokenizer.close_right,
}
NESTING: dict[str, Callable[[Tokenizer], None]] = {  # signs whose meaning depends on what is open
    "{": Tokenizer.open_group,
    "}": Tokenizer.close_group,
    "&": Tokenizer.add_ampersand,
    ">": Tokenizer.add_greater,
}
