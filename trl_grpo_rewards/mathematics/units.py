r"""Units and the nouns that say what is counted: `\text{km/h}`, `m^2`, `\$`, `apples`."""

from collections.abc import Sequence

from .tokens import CLOSING, OPENING, Token
from .words import CHANGING, CJK_MEASURES, CJK_UNITS, SCALES, singularize


WORDS_BY_UNIT = {
    "%": "% percent percentage pct",
    "°": "° degree degrees deg",
    "$": "$ dollar dollars usd USD bucks",
    "cent": "cent cents ¢",
    "€": "€ euro euros eur EUR",
    "£": "£ gbp GBP",
    "¥": "¥ yen jpy JPY",
    "yuan": "yuan rmb cny RMB CNY",
    "rupee": "₹ rupee rupees rs inr Rs INR",
    "m": "m meter meters metre metres",
    "in": "in inch inches",
    "ft": "ft foot feet",
    "yd": "yd yard yards",
    "mile": "mi mile miles",
    "g": "g gm gram grams gramme grammes",
    "lb": "lb lbs pound pounds",
    "oz": "oz ounce ounces",
    "ton": "ton tons tonne tonnes",
    "l": "l L \\ell liter liters litre litres",
    "gal": "gal gallon gallons",
    "s": "s sec secs second seconds",
    "min": "min mins minute minutes",
    "h": "h hr hrs hour hours",
    "day": "day days",
    "week": "wk week weeks",
    "month": "month months",
    "year": "yr yrs year years",
    "hz": "hz Hz hertz",
    "N": "N newton newtons",
    "J": "J joule joules",
    "W": "W watt watts",
    "V": "V volt volts",
    "ampere": "ampere amperes amp amps",
    "ohm": "ohm ohms \\Omega",
    "Pa": "Pa pascal pascals",
    "bar": "bar bars",
    "cal": "cal calorie calories",
    "eV": "eV",
    "mole": "mol mole moles",
    "byte": "B byte bytes",
    "rad": "rad radian radians",
    "celsius": "celsius",
    "coulomb": "C coulomb coulombs",
    "fahrenheit": "fahrenheit",
    "kelvin": "K kelvin kelvins",
    "farad": "F farad farads",
    "tesla": "T tesla teslas",
    "acre": "acre acres",
    "hectare": "ha hectare hectares",
    "'": "'",
    "''": "''",
}
UNIT_BY_WORD = {word: unit for unit, words in WORDS_BY_UNIT.items() for word in words.split()}
COMPOUND_UNITS = {
    **dict.fromkeys(("mph",), (("mile", 1), ("h", -1))),
    **dict.fromkeys(("kph", "kmh", "kmph"), (("km", 1), ("h", -1))),
    "kWh": (("kW", 1), ("h", 1)),
    "Nm": (("N", 1), ("m", 1)),
    "mpg": (("mile", 1), ("gal", -1)),
    "sqft": (("ft", 2),),
    **dict.fromkeys(("cc", "ccm"), (("cm", 3),)),
}
PREFIXES = {
    "k": "kilo",
    "c": "centi",
    "m": "milli",
    "\\mu": "micro",
    "n": "nano",
    "d": "deci",
    "M": "mega",
    "G": "giga",
}
PREFIXED = {*"m g l s hz N J W V Pa cal eV byte ohm mole ampere bar farad tesla coulomb kelvin".split()}

MARKS = {"'": "ft", "''": "in"}
DEGREES_OF = {"C": "celsius", "F": "fahrenheit"}
POWERS_BEFORE = {"square": 2, "sq": 2, "平方": 2, "cubic": 3, "cu": 3, "立方": 3}
PARTS: set[tuple[str | None, ...]] = {
    ("h", "min"),
    ("min", "s"),
    ("ft", "in"),
    ("lb", "oz"),
    ("$", "cent"),
    ("°", "min"),
    ("day", "h"),
    ("year", "month"),
}
"""Units that make one quantity together with the next smaller one."""

Unit = tuple[tuple[str, int], ...]


def find_unit(word: str) -> str | None:
    """Return the name of a unit, or None for an unknown word. Case matters in short words, such as `mW` and `MW`."""
    if word in UNIT_BY_WORD:
        return UNIT_BY_WORD[word]
    for letter, prefix in PREFIXES.items():
        for start in (
            (letter, prefix)
            if word.islower() or len(word) < 5 or letter == "\\mu"
            else (letter, prefix, prefix.capitalize())
        ):
            base = UNIT_BY_WORD.get(word[len(start) :]) if word.startswith(start) else None
            short = len(start) == 1 or start == "\\mu"
            if base in PREFIXED and short == (len(word) - len(start) < 3 or start == "\\mu"):
                return f"{letter}{base}"
    return UNIT_BY_WORD.get(word.casefold()) if len(word) > 2 else None


def read_unit(tokens: Sequence[Token], bare_letters: bool = False) -> Unit | None:
    r"""
    Return the unit that the tokens after a value are, or None if they are not a unit.

    A unit consists of known units, such as `\text{km/h}`, and other nouns. Digits and the words of [`CHANGING`] are not
    part of a unit.
    """
    powers: dict[str, int] = {}
    sign, last, waiting, place = 1, "", 1, 0
    fraction: list[int] = []  # signs of the groups that follow \frac
    while place < len(tokens):
        kind, text, _, upright = tokens[place]
        names: Unit = ()
        if text == "^":
            place += 1
            digits = [one for one in tokens[place : place + 4] if one.text not in ("{", "}")]
            if tokens[place : place + 1] and tokens[place].text == "{":
                end = next((k for k in range(place, len(tokens)) if tokens[k].text == "}"), len(tokens))
                digits, place = list(tokens[place + 1 : end]), end
            else:
                digits = list(tokens[place : place + 1])
            exponent = "".join(one.text for one in digits)
            if exponent in ("\\circ", "'", "''"):
                names = (("°" if exponent == "\\circ" else exponent, 1),)
            elif last and exponent.lstrip("-") in ("1", "2", "3"):
                powers[last] *= int(exponent)
            else:
                return None
        elif text == "of" and powers and [one.kind for one in tokens[place + 1 :]] == ["letter"]:
            place += 1  # possible values of x
        elif text in ("/", "per"):
            sign = -1
        elif text == "\\frac":
            fraction = [-1, 1]
        elif text in OPENING:
            sign = fraction.pop() if fraction else sign
        elif text in CLOSING or text in ("\\cdot", ".", "*", "\\times", "-", "of", "and"):
            pass
        elif text in POWERS_BEFORE:
            waiting = POWERS_BEFORE[text]
        elif text in ("squared", "cubed") and last and find_unit(last):
            powers[last] *= 2 if text == "squared" else 3
        elif text == "\\mu" and place + 1 < len(tokens) and find_unit(f"\\mu{tokens[place + 1].text}"):
            place += 1
            names = ((find_unit(f"\\mu{tokens[place].text}") or "", 1),)
        elif kind == "letter":
            unit = find_unit(text)
            if text in DEGREES_OF and powers.pop("°", 0):
                unit = DEGREES_OF[text]
            elif place + 1 < len(tokens) and tokens[place + 1].text == "\\Omega" and text in PREFIXES:
                unit, place = f"{text}ohm", place + 1
            elif unit is None or not (upright or bare_letters or powers or text in ("\\Omega", "\\ell")):
                return None
            names = ((unit, 1),)
        elif text in COMPOUND_UNITS:
            names = COMPOUND_UNITS[text]
        elif kind == "word" or text in "%$€£¥₹¢'''\\Omega" or text == "\\min":
            word = text.lstrip("\\") if text == "\\min" else text
            unit = find_unit(word)
            if unit is None and (
                word.casefold() in CHANGING or word.casefold() in SCALES or len(word) < 3 and word.isascii()
            ):
                return None
            if singularize(word) in SCALES or singularize(word).endswith("illion"):
                return None
            if not word.isascii() and unit is None:
                unit = CJK_UNITS.get(word, "个" if CJK_MEASURES.issuperset(word) else None)
                if unit is None and word[0] > "\u2e7f":
                    return None
            names = ((unit or singularize(word), 1),)
        else:
            return None
        for name, power in names:
            powers[name] = powers.get(name, 0) + power * waiting * sign
            last = name
        if names:
            waiting = 1
        place += 1
    if powers and all(len(name) > 4 and name.endswith("ed") for name in powers):
        return None  # doubled, rejected
    if {"celsius", "fahrenheit"} & {*powers}:
        powers.pop("°", None)
    return tuple(sorted(powers.items())) if powers else None


def is_known(unit: str) -> bool:
    """Whether the name is a unit of measure, and not a noun."""
    return unit in WORDS_BY_UNIT or (unit[1:] in PREFIXED and unit[0] in "kcmndMG") or unit.startswith("\\mu")


def match_units(gold: Unit, answer: Unit) -> bool:
    """Return whether the unit of an answer is the gold answer's, where one of them may say more about what is counted."""
    gold, answer = (tuple((MARKS.get(name, name), power) for name, power in unit) for unit in (gold, answer))
    if gold == answer:
        return True
    measures = [{pair for pair in unit if is_known(pair[0])} for unit in (gold, answer)]
    if measures[0] or measures[1]:
        return measures[0] == measures[1]
    return bool({*gold} & {*answer})
