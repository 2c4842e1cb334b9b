"""Units of measure, as opposed to words that change what a value means."""

import re

from .latex import COMMAND
from .numerals import parse_number


WORDS_BY_UNIT = {
    "%": "% percent percentage pct",
    "°": "° degree degrees deg",
    "$": "$ dollar dollars usd bucks",
    "cent": "cent cents ¢",
    "€": "€ euro euros eur",
    "£": "£ gbp",
    "¥": "¥ yen jpy",
    "yuan": "yuan rmb cny",
    "rupee": "₹ rupee rupees rs inr",
    "mm": "mm millimeter millimeters millimetre millimetres",
    "cm": "cm centimeter centimeters centimetre centimetres",
    "m": "m meter meters metre metres",
    "km": "km kilometer kilometers kilometre kilometres",
    "in": "in inch inches",
    "ft": "ft foot feet",
    "yd": "yd yard yards",
    "mile": "mi mile miles",
    "mg": "mg milligram milligrams",
    "g": "g gm gram grams",
    "kg": "kg kgs Kg kilogram kilograms",
    "lb": "lb lbs pound pounds",
    "oz": "oz ounce ounces",
    "ml": "ml mL milliliter milliliters millilitre millilitres",
    "l": "l L liter liters litre litres",
    "gal": "gal gallon gallons",
    "s": "s sec second seconds",
    "min": "min mins minute minutes",
    "h": "h hr hrs hour hours",
    "day": "day days",
    "week": "wk week weeks",
    "year": "yr yrs year years",
    "mile / h": "mph",
    "km / h": "kmh kph",
    "square": "sq square",
    "cubic": "cu cubic",
    "hz": "hz Hz hertz",
    "N": "N newton newtons",
    "J": "J joule joules",
    "W": "W watt watts",
    "kW": "kW kilowatt kilowatts",
    "kWh": "kWh",
    "mW": "mW milliwatt milliwatts",
    "MW": "MW megawatt megawatts",
    "V": "V volt volts",
    "MB": "MB megabyte megabytes",
    "GB": "GB gigabyte gigabytes",
    "rad": "rad radian radians",
    "celsius": "C celsius",
    "fahrenheit": "F fahrenheit",
    "/": "per",
    "": "of old",
}
UNIT_BY_WORD = {word: unit for unit, words in WORDS_BY_UNIT.items() for word in words.split()}

WORDS_CHANGING_VALUE = set(
    """
    a about all and any are around at below between both but by choose cubed divided dozen dozens each either equal even
    every except factorial for from greater half halves hundred hundreds if infinitely infinite integer integers is lakh
    crore least less many mod modulo million millions billion billions more most multiplied negative neither never no
    none nor not odd only or other over plus minus positive quarter quarters real remainder root score solution
    solutions some squared tens than then thousand thousands times to too trillion trillions twice under undefined
    unless up values when where which with within without wrong
    tenth tenths third thirds fourth fourths fifth fifths sixth sixths seventh sevenths eighth eighths ninth ninths
    hundredth hundredths thousandth thousandths
    """.split()
)
"""Words that turn the number before them into a different value, or into something that has no value."""

CURRENCY = re.compile(
    r"(?:(?:US|USD|Rs\.?) ?)?(?:\\?\$|€|£|¥|₹|\\pounds(?![A-Za-z])|(?:(?<=USD)|(?<=Rs)|(?<=Rs\.))(?= ?\d)) ?"
)
SYMBOL_UNIT = re.compile(r" ?(?:\\?%|(?:\^ ?(?:\{ ?\\circ ?\}|\\circ)|\\degree)(?: ?[CF])?|\\?\$|[€£¥₹¢])$")
TEXT_UNIT = re.compile(
    r"(?<!\\)(?: ?/? ?\\(?:text|textbf|textit|textrm|mathrm|mbox) ?\{([^{}]*)\}(?: ?\^ ?\{?(-?\d)\}?)?(?: ?/ ?(?=\\))?)+ ?$"
)
BARE_UNIT = re.compile(r"(?: ?/ ?)?(?<![A-Za-z\\^_{(])(?:[A-Za-z]+\.?(?:\^\{?\d\}?)?(?: ?/ ?| |$))+$")
UNIT_TOKEN = re.compile(r"[^\W\d_]+|[%$°€£¥₹¢]|(?<=\^)\{?-?\d|/")
EXPONENT = re.compile(r"\^\{?\d\}?$")
TRAILING_OPERATOR = re.compile(r"[-+*=^_(\[{,<>/]$|\\(?:cdot|times|frac|sqrt|pm|le|ge|ne|in|cup|cap)$")

LETTER_UNITS = ("m", "g", "s", "h", "l", "L")
"""Letters that are more likely units than variables after a number."""

MAX_UNIT_CHARS = 80
"""Maximum length of a unit, in characters."""

MAX_UNITS = 4
"""Maximum number of units after a value, so that the time is limited."""


def split_unit(text: str, letters: bool = False) -> tuple[str, str | None]:
    r"""
    Return the value of normalized LaTeX and its unit in one spelling, or None for the unit if there is none.

    A currency symbol may be before or after the value. Percent, degrees and words in `\text{}` come after it, as do
    bare words set off by a space. Known units and other nouns (`18 eggs`) count as units unless one of the words
    changes what the number means (`5 or more`). A single bare letter is a variable, unless `letters` is true and the
    letter follows a number.
    """
    found: list[str] = []
    currency = CURRENCY.match(text)
    if currency and currency.end() < len(text):
        found, text = [currency[0].replace("\\pounds", "£")], text[currency.end() :]
    for _ in range(MAX_UNITS):
        value, unit = split_last_unit(text, letters)
        if unit is None:
            break
        found.insert(len(found[:1]) if currency else 0, unit)
        text = value
    return text, normalize_unit(" ".join(found)) if found else None


def split_last_unit(text: str, letters: bool) -> tuple[str, str | None]:
    start = max(0, len(text) - MAX_UNIT_CHARS)
    for expression, shortest in ((SYMBOL_UNIT, 0), (TEXT_UNIT, 2), (BARE_UNIT, 3)):
        match = expression.search(text, start)
        if match is None or match.start() == start:
            continue
        value, unit = text[: match.start()].rstrip(), match[0].replace("\\circ", "°").replace("\\degree", "°")
        attached = expression is BARE_UNIT and len(value) == match.start() and unit[0] not in " /"
        lone = expression is not BARE_UNIT or (
            letters and EXPONENT.sub("", unit.strip()) in LETTER_UNITS and parse_number(value) is not None
        )
        if not TRAILING_OPERATOR.search(value) and is_unit(unit, shortest, attached, lone):
            return value, unit
    return text, None


def is_unit(text: str, shortest: int, attached: bool, lone: bool) -> bool:
    """Return whether all words are known units, or nouns of more than `shortest` letters that a space sets off."""
    words = re.findall(r"[^\W\d_]+", COMMAND.sub("", text))
    lone = (lone and not attached) or any(len(word) > 1 and find_unit(word) for word in words)
    known = [find_unit(word) is not None and (len(word) > 1 or lone) for word in words]
    nouns = [(len(word) > shortest and not attached) or not word.isascii() for word in words]
    return WORDS_CHANGING_VALUE.isdisjoint(map(str.casefold, words)) and all(map(max, known, nouns))


def find_unit(word: str) -> str | None:
    """Return the name of a unit, or None for an unknown word. Case matters in short words, such as `mW` and `MW`."""
    return UNIT_BY_WORD.get(word) if len(word) < 3 else UNIT_BY_WORD.get(word, UNIT_BY_WORD.get(word.casefold()))


def normalize_unit(text: str) -> str:
    words = [word.lstrip("{") for word in UNIT_TOKEN.findall(COMMAND.sub("", text))]
    names = [singularize(word) if (unit := find_unit(word)) is None else unit for word in words]
    spelled = " ".join(names).split()
    for power, name in (("2", "square"), ("3", "cubic")):
        while name in spelled[:-1]:
            place = spelled.index(name)
            spelled[place : place + 2] = [spelled[place + 1], power]
    return " ".join(spelled)


def singularize(word: str) -> str:
    if len(word) < 3:
        return word
    word = word.casefold()
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
