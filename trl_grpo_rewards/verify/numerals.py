"""Read numbers exactly, as answers write them."""

import re
from fractions import Fraction


MAX_NUMBER_CHARS = 4300
"""Maximum length of a number, in characters, which is Python's default limit for integers."""

DECIMAL = re.compile(
    r"([+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d{0,2}(?: \d{3})+|\d+)?(?:\.\d+)?)(?:[eE]([+-]?\d{1,3}))?"
)
POWER_OF_TEN = re.compile(
    r"(?:([+-]?\d[\d.,]{0,50}) ?(?:\\times|\\cdot|\*|x) ?|([+-]?))10\^(?:\{([+-]?\d{1,3})\}|(\d))"
)
MIXED_NUMBER = re.compile(r"([+-]?)(\d+) ?(?:\\frac\{(\d+)\}\{(\d+)\}|(?<= )(\d+)/(\d+))")
FRACTION_NUMERAL = re.compile(r"([+-]?)(?:\\frac\{([+-]?\d+(?:\.\d+)?)\}\{(\d+)\}|(\d+)/(\d+))")
REPEATING_DECIMAL = re.compile(r"([+-]?)(\d+)\.(\d*)\\overline\{(\d+)\}")


def parse_number(text: str) -> Fraction | None:
    """Return the exact value of an integer, decimal, fraction, mixed number or power of ten; None for other texts."""
    if len(text) > MAX_NUMBER_CHARS:
        return None
    if match := DECIMAL.fullmatch(text):
        digits, exponent = match.groups()
        if not digits.strip("+-"):
            return None
        return Fraction(digits.replace(",", "").replace(" ", "")) * Fraction(10) ** int(exponent or 0)
    if match := FRACTION_NUMERAL.fullmatch(text) or MIXED_NUMBER.fullmatch(text):
        sign, *parts = (part for part in match.groups() if part is not None)
        numerator, denominator = map(Fraction, parts[-2:])
        whole = int(parts[0]) if len(parts) > 2 else 0
        if denominator == 0 or (len(parts) > 2 and numerator >= denominator):  # 12 times 5/3, or 12 and 5/3?
            return None
        return (whole + numerator / denominator) * (-1 if sign == "-" else 1)
    if match := REPEATING_DECIMAL.fullmatch(text):
        sign, integer, fixed, repeated = match.groups()
        value = Fraction(int(f"{integer}{fixed}{repeated}") - int(f"{integer}{fixed}"), 10 ** len(repeated) - 1)
        return value / Fraction(10) ** len(fixed) * (-1 if sign == "-" else 1)
    if match := POWER_OF_TEN.fullmatch(text):
        factor, sign, braced, digit = match.groups()
        coefficient = parse_number(factor) if factor else Fraction(f"{sign}1")
        return None if coefficient is None else coefficient * Fraction(10) ** int(braced or digit)
    return None
