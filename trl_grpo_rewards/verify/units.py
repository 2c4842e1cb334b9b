"""Units of measure: a value and the unit that follows it, told from words that change what the value means."""

import re


NAMES = {
    "%": "% percent percentage pct",
    "°": "° degree degrees deg",
    "$": "$ dollar dollars usd bucks",
    "cent": "cent cents ¢",
    "€": "€ euro euros eur",
    "£": "£ pound pounds gbp",
    "¥": "¥ yen yuan rmb cny jpy",
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
    "kg": "kg kilogram kilograms",
    "lb": "lb lbs",
    "oz": "oz ounce ounces",
    "ml": "ml milliliter milliliters millilitre millilitres",
    "l": "l liter liters litre litres",
    "gal": "gal gallon gallons",
    "s": "s sec second seconds",
    "min": "min mins minute minutes",
    "h": "h hr hrs hour hours",
    "day": "day days",
    "week": "wk week weeks",
    "year": "yr yrs year years",
    "mph": "mph",
    "kmh": "kmh kph",
    "square": "sq square",
    "cubic": "cu cubic",
    "hz": "hz hertz",
    "n": "n newton newtons",
    "j": "j joule joules",
    "w": "w watt watts",
    "v": "v volt volts",
    "rad": "rad radian radians",
    "celsius": "c celsius",
    "fahrenheit": "f fahrenheit",
    "per": "per",
}
UNITS = {word: unit for unit, words in NAMES.items() for word in words.split()}

MEANING = set(
    """
    a about all and any are around at below between both but by dozen each either equal even every except for from
    greater half hundred if infinitely infinite integer integers is least less many mod modulo million billion more
    most negative neither never no none nor not of odd only or other over plus minus positive quarter real remainder
    score solution solutions some than then thousand times to too trillion twice under undefined unless up values
    when where which with within without wrong
    """.split()
)
"""Words after a number that make it another value, or no value."""

CURRENCY = re.compile(r"(?:\\?\$|€|£|¥|₹) ?")
SYMBOL = re.compile(r" ?(?:\\?(%)|(\^ ?(?:\{ ?\\circ ?\}|\\circ)|\\degree)|\\?(\$)|([€£¥₹¢]))$")
TEXT = re.compile(
    r"(?<!\\)(?: ?/? ?\\(?:text|textbf|textit|textrm|mathrm|mbox) ?\{([^{}]*)\}(?: ?\^ ?\{?(-?\d)\}?)?(?: ?/ ?(?=\\))?)+ ?$"
)
BARE = re.compile(r"(?<![A-Za-z\\^_{(])(?:[A-Za-z]+\.?(?:\^\{?\d\}?)?(?: ?/ ?| |$))+$")
WORD = re.compile(r"[^\W\d_]+|[%$°€£¥₹¢]|(?<=\^)\{?-?\d|/")
COMMAND = re.compile(r"\\[A-Za-z]+")
LONGEST = 80


def split(text: str, letters: bool = False) -> tuple[str, str | None]:
    r"""
    The value of a tidy text and the unit with it, in one spelling; None where it has none.

    Symbols of currency stand before or after the value, percent and degrees after it. Words in `\text{}` after it are
    a unit, as are bare words set off by a space: known units, and nouns (`18 eggs`) unless one of the words changes
    what the number means (`5 or more`). In bare text a single letter is a variable, unless `letters`.
    """
    currency = CURRENCY.match(text)
    if currency and currency.end() < len(text):
        value, unit = split(text[currency.end() :], letters)
        return value, unit or canonical(currency[0])
    start = max(0, len(text) - LONGEST)
    tail = text[start:]
    for expression, shortest in ((SYMBOL, 0), (TEXT, 2), (BARE, 3)):
        match = expression.search(tail)
        if match is None or match.start() == 0:
            continue
        before, unit = text[: start + match.start()], match[0].replace("\\circ", "°").replace("\\degree", "°")
        bare = expression is BARE
        if is_unit(unit, shortest, bare and not before.endswith(" "), letters or not bare):
            value, inner = split(before.rstrip(), letters)
            return value, canonical(f"{inner or ''} {unit}")
    return text, None


def is_unit(text: str, shortest: int, attached: bool, letters: bool) -> bool:
    """Whether the words are a unit: known ones, or nouns of more letters than `shortest` set off from their number."""
    words = [word.casefold() for word in re.findall(r"[^\W\d_]+", COMMAND.sub("", text))]
    known = [word in UNITS and (len(word) > 1 or (letters and not attached)) for word in words]
    nouns = [(len(word) > shortest and not attached) or not word.isascii() for word in words]
    return MEANING.isdisjoint(words) and all(map(max, known, nouns))


def canonical(text: str) -> str:
    return " ".join(UNITS.get(word.casefold(), word.casefold()) for word in WORD.findall(COMMAND.sub("", text)))
