"""The process that [`second_opinion`] asks. It reads questions from standard input and ends itself if one takes too long."""

import contextlib
import faulthandler
import json
import math
import os
import re
import sys
from typing import Any

from latex2sympy2_extended import NormalizationConfig
from math_verify import LatexExtractionConfig, parse, verify


# Signs that math-verify ignores, or whose left side it drops. It takes `\gcd(m, n)` for a divisor of polynomials.
LOST = re.compile(
    r"gcd|lcm|\d\s?_|[=<>:'|#@?&~\"]|\\(?:[lgn]e|in|ldots|equiv|approx|sim|subset|perp)(?![A-Za-z])|[^\0-\x7f]"
)


def main() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows and macOS do not have this limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # bytes
    sys.stdout = sys.stderr  # any library may print
    for line in sys.stdin:
        gold, answer, seconds = json.loads(line)
        faulthandler.dump_traceback_later(seconds, exit=True)  # this also ends operations that Python cannot interrupt
        verdict = False
        with contextlib.suppress(Exception):  # sympy raises many kinds, RecursionError and MemoryError among them
            verdict = are_equal(gold, answer)
        faulthandler.cancel_dump_traceback_later()
        os.write(1, b"\ntrue\n" if verdict else b"\nfalse\n")  # standard output, without Windows' ends of lines


def are_equal(gold: str, answer: str) -> bool:
    """Return whether math-verify takes two texts for equal, or can read the text if both are the same."""
    right = parse_latex(gold)
    if gold == answer or not right:
        return bool(right)
    given = parse_latex(answer)
    if not given or LOST.search(gold + answer) or has_other_case(gold, answer) or are_different(right[0], given[0]):
        return False
    return bool(verify(right, given, allow_set_relation_comp=True, timeout_seconds=None))


def parse_latex(latex: str) -> list[Any]:
    """Return what math-verify reads, or an empty list. The LaTeX is put in a box, so that all of it is read."""
    normalization = NormalizationConfig(malformed_operators=True)
    config = LatexExtractionConfig(try_extract_without_anchor=False, normalization_config=normalization)
    return list(parse(f"\\boxed{{{latex}}}", [config], fallback_mode="no_fallback", parsing_timeout=None))


def has_other_case(gold: str, answer: str) -> bool:
    """Return whether a letter is large in one text and small in the other, which math-verify ignores."""
    letters = [{*re.findall(r"\\[A-Za-z]+|[A-Za-z]", text)} for text in (gold, answer)]
    return not letters[0].isdisjoint(letter.swapcase() for letter in letters[1])


def are_different(one: Any, other: Any) -> bool:
    """Return whether both are numbers and differ, since math-verify takes all tiny numbers for equal."""
    with contextlib.suppress(Exception):  # they are not both numbers
        return not math.isclose(float(one), float(other), rel_tol=1e-12)
    return False


if __name__ == "__main__":
    main()
