"""Read numbers exactly, in the ways that answers write them."""

import re
from fractions import Fraction


LONGEST = 4300  # Python reads no longer integers
NUMBER = re.compile(
    r"([+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d{0,2}(?: \d{3})+|\d+)?(?:\.\d+)?)(?:[eE]([+-]?\d{1,3}))?"
)
POWER = re.compile(r"(?:([+-]?\d[\d.,]{0,50}) ?(?:\\times|\\cdot|\*|x) ?|([+-]?))10\^(?:\{([+-]?\d{1,3})\}|(\d))")
MIXED = re.compile(r"([+-]?)(\d+) ?(?:\\frac\{(\d+)\}\{(\d+)\}|(?<= )(\d+)/(\d+))")
FRACTION = re.compile(r"([+-]?)(?:\\frac\{([+-]?\d+(?:\.\d+)?)\}\{(\d+)\}|(\d+)/(\d+))")
REPEATING = re.compile(r"([+-]?)(\d+)\.(\d*)\\overline\{(\d+)\}")


def number(text: str) -> Fraction | None:
    """The integer, decimal, fraction, mixed number or power of ten that the whole plain text is, exactly."""
    if len(text) > LONGEST:
        return None
    if match := NUMBER.fullmatch(text):
        digits, exponent = match.groups()
        if not digits.strip("+-"):
            return None
        return Fraction(digits.replace(",", "").replace(" ", "")) * Fraction(10) ** int(exponent or 0)
    if match := FRACTION.fullmatch(text) or MIXED.fullmatch(text):
        sign, *parts = (part for part in match.groups() if part is not None)
        numerator, denominator = map(Fraction, parts[-2:])
        whole = int(parts[0]) if len(parts) > 2 else 0
        if denominator == 0 or (len(parts) > 2 and numerator >= denominator):  # 12 times 5/3, or 12 and 5/3?
            return None
        return (whole + numerator / denominator) * (-1 if sign == "-" else 1)
    if match := REPEATING.fullmatch(text):
        sign, whole, fixed, repeated = match.groups()
        once = Fraction(int(f"{whole}{fixed}{repeated}") - int(f"{whole}{fixed}"), 10 ** len(repeated) - 1)
        return once / 10 ** len(fixed) * (-1 if sign == "-" else 1)
    if match := POWER.fullmatch(text):
        factor, sign, braced, digit = match.groups()
        coefficient = number(factor) if factor else Fraction(f"{sign}1")
        return None if coefficient is None else coefficient * Fraction(10) ** int(braced or digit)
    return None
