"""Whether two values that consist of no others agree: expressions, classes of integers, words."""

from fractions import Fraction

from .bases import gives_base, names_base, repeats_digits
from .equivalence import are_equal_expressions
from .evaluation import CONTEXT, INFINITE, NEGATIVE, Numeric, evaluate_constant, is_real
from .families import are_same_families
from .names import is_constant
from .rationals import evaluate_exactly
from .values import Operation, Symbol, Text, Value
from .words import GENERIC_NOUNS, normalize_words


def compare_expressions(gold: Value, answer: Value, tolerance: float | None) -> bool | None:
    """Compare expressions by their values, within the tolerance if there is one."""
    if gives_base(gold) and not names_base(answer):
        return False  # the gold answer gives its base, so the digits alone are another number
    repeated = repeats_digits(gold, answer)
    if repeated is not None:
        return repeated
    if tolerance is not None and (close := are_within(gold, answer, tolerance)) is not None:
        return close
    if isinstance(gold, Symbol) and isinstance(answer, Symbol):
        return False
    infinite = [value in (INFINITE, NEGATIVE) for value in (gold, answer)]
    if any(infinite):
        return False if all(infinite) or is_constant(answer if infinite[0] else gold) else None
    verdict = are_equal_expressions(gold, answer)
    return verdict or are_same_families(gold, answer) or verdict


def are_within(gold: Value, answer: Value, tolerance: float) -> bool | None:
    """Return whether two constants differ by at most the tolerance, or None if they are not real numbers."""
    exact = evaluate_exactly(gold), evaluate_exactly(answer)
    if exact[0] is not None and exact[1] is not None:
        return abs(exact[0] - exact[1]) <= Fraction(str(tolerance)) * max(Fraction(1), abs(exact[0]), abs(exact[1]))
    numbers = evaluate_constant(gold), evaluate_constant(answer)
    if numbers[0] is None or numbers[1] is None or not (is_finite(numbers[0]) and is_finite(numbers[1])):
        return None
    if gold == answer:
        return True
    return bool(abs(numbers[0] - numbers[1]) <= tolerance * max(1, abs(numbers[0]), abs(numbers[1])))


def is_finite(number: Numeric) -> bool:
    return is_real(number) and abs(number) < CONTEXT.inf


def are_congruent(gold: Operation, answer: Operation) -> bool | None:
    r"""Return whether two classes such as `3 \pmod 5` are the same, or None if they are not integers by their form."""
    numbers = [evaluate_exactly(operand) for operand in (*gold.operands, *answer.operands)]
    found = [number for number in numbers if number is not None and number.denominator == 1]
    if len(found) < len(numbers) or found[1] <= 0:
        return None
    return found[1] == found[3] and (found[0] - found[2]) % found[1] == 0


def compare_words(gold: Text, answer: Text) -> bool:
    """Compare words without case, articles and plural. An answer may add a noun such as `function` to an adjective."""
    words, its_words = normalize_words(gold.words), normalize_words(answer.words)
    return words == its_words or (words == its_words[:-1] and its_words[-1] in GENERIC_NOUNS)
