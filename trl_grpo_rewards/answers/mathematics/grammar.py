"""The grammar of answers: what each token builds, and how strongly it binds."""

import functools
from collections.abc import Callable

from .functions import FUNCTIONS
from .kinds import arrays, commands, expressions, families, lists, notations, quantities, relations, sets, texts
from .kinds.texts import Text
from .reader import (
    AND,
    ARROW,
    FACTOR,
    INTERSECTION,
    LIST,
    MODULO,
    OR,
    OVER,
    POWER,
    PRODUCT,
    RATIO,
    RELATION,
    ROW,
    SUM,
    UNION,
    UNIT,
    Grammar,
    Infix,
    Read,
    Reader,
)
from .spellings import GREEK
from .tokens import ALIGNED, MAX_DIGITS, Oversized, Token, Unreadable, tokenize
from .values import Value
from .work import OutOfWork, limit_work


MAX_CACHED_CHARS = 2000


def read_braces(reader: Reader) -> Value:
    """Return what is in the braces of LaTeX that start here."""
    builder = sets.read_builder(reader)
    return builder or reader.statement(reader.place + 1, reader.match[reader.place])


def read_set_braces(reader: Reader) -> Value:
    r"""Return the set in `\{` and `\}`, or the system that `\left\{` opens alone."""
    closing = reader.match[reader.place]
    if reader.tokens[closing].text == ".":
        reader.place += 1
        if not reader.opens(0) or reader.match[reader.place] != closing - 1:
            raise Unreadable("an open brace")
        return sets.read_system(reader)
    return sets.read_builder(reader) or lists.read_set(reader)


PREFIXES: dict[str, Read] = {
    "<number>": expressions.read_number,
    "<grouped>": expressions.read_number,
    "<letter>": commands.read_name,
    "<word>": commands.read_word_call,
    "<command>": commands.read_command,
    "<bracket>": lists.read_tuple,
    "<open>": arrays.read_matrix,
    **dict.fromkeys(("\\cases", "\\dcases", "\\rcases", *ALIGNED), sets.read_system),
    **dict.fromkeys(("-", "+", "\\pm", "\\mp", "\\neg"), expressions.read_sign),
    **dict.fromkeys(("negative", "minus"), expressions.read_minus),
    **dict.fromkeys(("$", "€", "£", "¥", "₹", "USD", "Rs"), quantities.read_currency),
    "{": read_braces,
    "\\{": read_set_braces,
    **dict.fromkeys(("\\lfloor", "\\lceil"), expressions.read_rounding),
    **dict.fromkeys(("|", "||"), expressions.read_bars),
    "\\frac": commands.read_fraction,
    "\\binom": commands.read_binomial,
    "\\sqrt": commands.read_root,
    "\\int": commands.read_integral,
    **dict.fromkeys(("\\sum", "\\prod"), commands.read_series),
    **dict.fromkeys(commands.ACCENTS, commands.read_accent),
}

CONDITION = Infix(LIST, families.attach_condition, families.states_condition)
SEPARATOR = Infix(LIST, lists.read_list, lists.is_separator)
BESIDE = Infix(ROW, lists.read_row, lists.starts_row)
FACTORS = (Infix(FACTOR, expressions.read_mixed), Infix(PRODUCT, expressions.read_factor, expressions.starts_factor))
UNITS = (Infix(FACTOR, quantities.read_scale), Infix(UNIT, notations.read_time), Infix(UNIT, quantities.attach_unit))


def opens_with(text: str) -> Callable[[Reader, int], bool]:
    """Return whether brackets begin with a token."""
    return lambda reader, place: reader.texts(place + 1, place + 2) == [text]


def operation(sign: str, power: int, name: str = "") -> Infix:
    return Infix(power, expressions.read_infix(name or sign, power))


# How strongly the signs of operations with two operands bind, and their names if they have others.
BINARY_OPERATIONS = {
    ARROW: ("\\leftrightarrow", "\\iff", "\\to"),
    UNION: ("\\cup", "\\setminus"),
    INTERSECTION: ("\\cap",),
    OVER: ("\\choose", "\\over"),
    MODULO: ("\\mod",),
    SUM: ("+", "\\pm", "\\mp", "\\oplus"),
    PRODUCT: ("*", "\\cdot", "\\bullet", "\\times", "\\otimes"),
}
OPERATION_NAMES = {
    **{"\\choose": "binom", "\\over": "/", "\\mod": "mod", "\\pm": "pm", "\\mp": "mp"},
    **dict.fromkeys(("\\cdot", "\\bullet"), "*"),
}

INFIXES: dict[str, tuple[Infix, ...]] = {
    **{
        sign: (operation(sign, power, OPERATION_NAMES.get(sign, "")),)
        for power, signs in BINARY_OPERATIONS.items()
        for sign in signs
    },
    **dict.fromkeys((",", ";", "\\quad", "\\\\"), (CONDITION, SEPARATOR)),
    **dict.fromkeys(("and", "or"), (SEPARATOR, *UNITS)),
    **dict.fromkeys(relations.RELATION_SIGNS, (Infix(RELATION, relations.read_relation),)),
    "\\lor": (SEPARATOR, operation("\\lor", OR)),
    "\\land": (SEPARATOR, operation("\\land", AND)),
    ":": (Infix(RATIO, notations.read_ratio),),
    "\\pmod": (Infix(UNIT, families.read_modulus),),
    "-": (BESIDE, operation("-", SUM)),
    "/": (Infix(PRODUCT, expressions.read_infix("/", PRODUCT), expressions.divides), *UNITS),
    **dict.fromkeys(("!", "!!"), (Infix(POWER, expressions.read_factorial),)),
    "^": (Infix(POWER, expressions.read_power), *UNITS),
    "_": (Infix(POWER, notations.read_base),),
    "base": (Infix(POWER, notations.read_base),),
    "(": (
        Infix(POWER, notations.read_base, opens_with("base")),
        Infix(UNIT, families.read_modulus, opens_with("\\mod")),
        CONDITION,
        Infix(UNIT, texts.skip_brackets, texts.encloses_remark),
        *FACTORS,
        *UNITS,
    ),
    "U": (Infix(UNION, expressions.read_union), *FACTORS, *UNITS),
    "x": (Infix(PRODUCT, expressions.read_infix("*", PRODUCT), expressions.is_times), *FACTORS, *UNITS),
    "\\ldots": (),
    "<word>": (CONDITION, *UNITS),
    **dict.fromkeys(("<letter>", "<command>", "<open>", "<sign>"), (*FACTORS, *UNITS)),
    "<number>": (*FACTORS, BESIDE, *UNITS),
    "<grouped>": (BESIDE,),
}

LAST = (texts.read_words, notations.read_digits_with_letters)
LABELLED = (texts.skip_label, sets.read_exception, *LAST)
OPENINGS = {
    "number": (notations.read_date, notations.read_dashes, texts.skip_remark, notations.read_digits_with_letters),
    "grouped": (texts.skip_remark,),
    "letter": (texts.skip_remark, *LAST),
    "word": (notations.read_date, texts.skip_remark, texts.read_first_word, *LABELLED),
    "command": (texts.skip_remark, *LABELLED),
    "sign": (texts.skip_remark, *LABELLED),
    "open": (texts.skip_remark, lists.read_parts, *LAST),
}

GRAMMAR = Grammar(
    openings=OPENINGS,
    item=relations.read_item,
    finish=relations.finish_statement,
    prefixes=PREFIXES,
    infixes=INFIXES,
    loosest={text: min(infix.power for infix in infixes) for text, infixes in INFIXES.items() if infixes},
)


def read(text: str) -> Value | None:
    """Return the value of an answer in LaTeX or plain text, in linear time, or None if the text cannot be read."""
    if len(text) <= MAX_CACHED_CHARS:
        return read_cached(text)
    return read_long(text)


KNOWN_COMMANDS = (
    PREFIXES.keys() | INFIXES.keys() | relations.RELATION_SIGNS | commands.NAMES | commands.UNREADABLE_COMMANDS | expressions.GOING_ON
    | {f"\\{name}" for name in [*FUNCTIONS, *commands.NAMING, *GREEK, *map(str.capitalize, GREEK)]}
)  # fmt: skip


def has_unknown_command(tokens: list[Token]) -> bool:
    """Whether a text has a command that the reader does not know. Such a text may mean anything."""
    return any(token.kind == "command" and token.text not in KNOWN_COMMANDS for token in tokens)


def read_uncached(text: str) -> Value | None:
    try:
        tokens = tokenize(text)
    except Unreadable:
        return None
    if has_unknown_command(tokens):
        return None
    option = texts.split_choice(tokens)
    if option is None:
        return read_tokens(tokens)
    letter, rest = option
    return texts.Choice(letter, read_tokens(rest) or Text(texts.fold(rest)))


def read_tokens(tokens: list[Token]) -> Value | None:
    try:
        return read_within_limits(tokens)
    except Oversized:
        return None
    except Unreadable:
        return texts.read_as_text(tokens)


def read_within_limits(tokens: list[Token]) -> Value:
    try:
        with limit_work():
            return read_answer(Reader([*tokens], GRAMMAR))
    except OutOfWork:
        raise Oversized("a text that takes long to read") from None


def is_oversized(tokens: list[Token]) -> bool:
    """Whether a text is not read because a number in it is too long, it is nested too deeply, or it would take too long."""
    try:
        read_within_limits(tokens)
    except Oversized:
        return True
    except Unreadable:
        pass
    return False


read_cached = functools.lru_cache(maxsize=1 << 14)(read_uncached)
read_long = functools.lru_cache(maxsize=16)(read_uncached)  # a verdict reads both of its texts several times


def read_answer(reader: Reader) -> Value:
    tokens = reader.tokens
    if len(tokens) == 1 and tokens[0].text.isdecimal() and len(tokens[0].text) > MAX_DIGITS:
        return Text((tokens[0].text.lstrip("0"),))
    texts = {token.text for token in tokens}
    if {"[", "]"} & texts:
        reader.turn_brackets()
    reader.match_brackets()
    value = reader.statement(0, reader.end)
    if {"\\pm", "\\mp"} & texts:
        return lists.expand_signs(value)
    return value
