"""Units of measure: a value and the unit that follows it, told from words that change what the value means."""

import re

from .numerals import number


NAMES = {
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
UNITS = {word: unit for unit, words in NAMES.items() for word in words.split()}

MEANING = set(
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
"""Words after a number that make it another value, or no value."""

CURRENCY = re.compile(
    r"(?:(?:US|USD|Rs\.?) ?)?(?:\\?\$|€|£|¥|₹|\\pounds(?![A-Za-z])|(?:(?<=USD)|(?<=Rs)|(?<=Rs\.))(?= ?\d)) ?"
)
SYMBOL = re.compile(r" ?(?:\\?%|(?:\^ ?(?:\{ ?\\circ ?\}|\\circ)|\\degree)(?: ?[CF])?|\\?\$|[€£¥₹¢])$")
TEXT = re.compile(
    r"(?<!\\)(?: ?/? ?\\(?:text|textbf|textit|textrm|mathrm|mbox) ?\{([^{}]*)\}(?: ?\^ ?\{?(-?\d)\}?)?(?: ?/ ?(?=\\))?)+ ?$"
)
BARE = re.compile(r"(?: ?/ ?)?(?<![A-Za-z\\^_{(])(?:[A-Za-z]+\.?(?:\^\{?\d\}?)?(?: ?/ ?| |$))+$")
WORD = re.compile(r"[^\W\d_]+|[%$°€£¥₹¢]|(?<=\^)\{?-?\d|/")
POWER = re.compile(r"\^\{?\d\}?$")
COMMAND = re.compile(r"\\[A-Za-z]+")
OPEN = re.compile(r"[-+*=^_(\[{,<>/]$|\\(?:cdot|times|frac|sqrt|pm|le|ge|ne|in|cup|cap)$")
LETTERS = ("m", "g", "s", "h", "l", "L")  # after a number, rather units than variables
LONGEST, MOST = 80, 4


def split(text: str, letters: bool = False) -> tuple[str, str | None]:
    r"""
    The value of a tidy text and the unit with it, in one spelling; None where it has none.

    Symbols of currency stand before or after the value, percent and degrees after it. Words in `\text{}` after it are
    a unit, as are bare words set off by a space: known units, and nouns (`18 eggs`) unless one of the words changes
    what the number means (`5 or more`). In bare text a single letter is a variable, unless `letters` and it follows a
    number.
    """
    found: list[str] = []
    currency = CURRENCY.match(text)
    if currency and currency.end() < len(text):
        found, text = [currency[0].replace("\\pounds", "£")], text[currency.end() :]
    for _ in range(MOST):
        value, unit = last_unit(text, letters)
        if unit is None:
            break
        found.insert(len(found[:1]) if currency else 0, unit)
        text = value
    return text, canonical(" ".join(found)) if found else None


def last_unit(text: str, letters: bool) -> tuple[str, str | None]:
    start = max(0, len(text) - LONGEST)
    for expression, shortest in ((SYMBOL, 0), (TEXT, 2), (BARE, 3)):
        match = expression.search(text, start)
        if match is None or match.start() == start:
            continue
        value, unit = text[: match.start()].rstrip(), match[0].replace("\\circ", "°").replace("\\degree", "°")
        attached = expression is BARE and len(value) == match.start() and unit[0] not in " /"
        lone = expression is not BARE or (
            letters and POWER.sub("", unit.strip()) in LETTERS and number(value) is not None
        )
        if not OPEN.search(value) and is_unit(unit, shortest, attached, lone):
            return value, unit
    return text, None


def is_unit(text: str, shortest: int, attached: bool, lone: bool) -> bool:
    """Whether the words are a unit: known ones, or nouns of more letters than `shortest` set off from their number."""
    words = re.findall(r"[^\W\d_]+", COMMAND.sub("", text))
    lone = (lone and not attached) or any(len(word) > 1 and known_unit(word) for word in words)
    known = [known_unit(word) is not None and (len(word) > 1 or lone) for word in words]
    nouns = [(len(word) > shortest and not attached) or not word.isascii() for word in words]
    return MEANING.isdisjoint(map(str.casefold, words)) and all(map(max, known, nouns))


def known_unit(word: str) -> str | None:
    """The unit's name: capitals count in short ones, where they make another unit."""
    return UNITS.get(word) if len(word) < 3 else UNITS.get(word, UNITS.get(word.casefold()))


def canonical(text: str) -> str:
    words = [word.lstrip("{") for word in WORD.findall(COMMAND.sub("", text))]
    names = [known_unit(word) if known_unit(word) is not None else singular(word) for word in words]
    spelled = " ".join(names).split()
    for power, name in (("2", "square"), ("3", "cubic")):
        while name in spelled[:-1]:
            place = spelled.index(name)
            spelled[place : place + 2] = [spelled[place + 1], power]
    return " ".join(spelled)


def singular(word: str) -> str:
    if len(word) < 3:
        return word
    word = word.casefold()
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
