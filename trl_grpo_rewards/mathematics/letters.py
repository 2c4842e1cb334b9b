"""What letters without space between them are: the name of a function, a word, a unit or a product of variables."""

import re

from .spellings import GREEK


ELEMENTARY = {
    *"""arcsin arccos arctan arccot arcsec arccsc sin cos tan cot sec csc sinh cosh tanh coth sech csch arcsinh arccosh
    arctanh arccoth log ln lg exp sgn cis""".split()
}
FUNCTIONS = ELEMENTARY | {*"det dim deg ker max min sup inf lim gcd lcm rank".split()}
FUNCTION_SYNONYMS = {
    **{
        "tg": "tan",
        "ctg": "cot",
        "cosec": "csc",
        "arctg": "arctan",
        "arcctg": "arccot",
        "signum": "sgn",
        "sign": "sgn",
    },
    **{f"ar{name}": f"arc{name}" for name in ("sinh", "cosh", "tanh", "coth")},
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{"sh": "sinh", "ch": "cosh", "th": "tanh", "arsh": "arcsinh", "arch": "arccosh", "arth": "arctanh"},
}
WORDLIKE_FUNCTIONS = {*"sign tg sh ch th arch asin acos atan".split()}
"""Names of functions that are words or variables unless they are commands or upright."""

JOINED_FUNCTION = re.compile(r"(arc(?:sin|cos|tan)|(?:sin|cos|tan)h?|cot|sec|csc|ln|log|exp)([A-Za-z]?)")
PLAIN_COMMANDS = {
    **{name: f"\\{name}" for name in [*FUNCTIONS, *GREEK, "sqrt"] if len(name) > 2 or name in ("pi", "ln", "lg")},
    **{name: f"\\{usual}" for name, usual in FUNCTION_SYNONYMS.items() if name not in WORDLIKE_FUNCTIONS},
    **dict.fromkeys(("infinity", "inf", "oo"), "\\infty"),
}
MAX_FACTORS = 8
"""Largest number of letters that are read as a product."""

ELEMENTS = re.compile(
    r"(?:H|He|Li|B|C|N|O|F|Ne|Na|Mg|Al|Si|P|S|Cl|Ar|K|Ca|Cr|Mn|Fe|Co|Ni|Cu|Zn|As|Br|Ag|Sn|I|Ba|Pt|Au|Hg|Pb){2,}"
)
"""Formulas of chemical compounds, which are names."""

SHORT_WORDS = {
    *"""and or the yes odd not all any for no is of if to an so true one two six ten red men dne nan""".split()
}
"""Words of two or three letters. Other bare letters of this length are products of variables."""

CURRENCY_CODES = {"USD", "EUR", "GBP", "Rs"}
SHORT_UNITS = {
    *"""cm km mm kg mg ml mL oz ft yd lb lbs mi min hr hrs sec rad deg pm am AM PM mph kph kWh usd USD gal pct sq cu in ha
    hz Hz kW kJ MB GB kB MW mW GW nm dL mol pts day age cal eV th st nd rd bn mil dozen boys""".split()
}
"""Words of two or three letters that are words only after a number or another word."""


def is_product(letters: str, is_operand: bool) -> bool:
    """
    Whether four or more letters are variables: they have no vowel, or capitals inside as no word and no formula has.

    With `is_operand`, a sign of an operation follows, and one vowel is allowed.
    """
    vowels = sum(letter in "aeiouyAEIOUY" for letter in letters)
    if len(letters) > MAX_FACTORS or letters.isupper() or vowels > 1 or ELEMENTS.fullmatch(letters):
        return False
    is_mixed = not (letters.islower() or letters.istitle())
    return is_mixed or not vowels or is_operand
