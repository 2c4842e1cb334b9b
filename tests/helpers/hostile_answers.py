r"""Answers that are made to be slow or too long: hostile contents in every place of the grammar, by its own tables."""

import itertools
from collections.abc import Iterator

from trl_grpo_rewards.answers.mathematics.functions import COMPUTE, FUNCTIONS, OPERATORS, SPECIAL
from trl_grpo_rewards.answers.mathematics.grammar import INFIXES, PREFIXES
from trl_grpo_rewards.answers.mathematics.kinds import commands, notations, quantities, relations, sets
from trl_grpo_rewards.answers.mathematics.spellings import FONTS, SIGN_COMMANDS, SYNONYMS
from trl_grpo_rewards.answers.mathematics.tokens import BRACKETS, PLAIN_COMMANDS
from trl_grpo_rewards.answers.mathematics.units import UNIT_OF
from trl_grpo_rewards.answers.mathematics.words import NUMBERS, ROLES_OF, SCALES


DIGITS = "142857" * 900
LEVELS = 500


def repeat(piece: str, inside: str, close: str = "", times: int = LEVELS) -> str:
    return piece * times + inside + close * times


def nest_sums(count: int, high: str, name: str = "sum", body: str = "ijk") -> str:
    return "".join(rf"\{name}_{{{index}=1}}^{{{high}}}" for index in "ijklmnpq"[:count]) + body


CONTENTS = {
    "digits": DIGITS, "a decimal": f"0.{DIGITS}", "repeated digits": rf"0.\overline{{{DIGITS}}}",
    "digits before repeated ones": rf"{DIGITS}.{DIGITS}\overline{{{DIGITS}}}", "dotted digits": rf"0.\dot{{{DIGITS}}}",
    "dots": f"0.{DIGITS}\\ldots", "groups": "1" + ",000" * 1500, "a date": f"2020-01-{DIGITS}", "a base": f"{DIGITS}_3",
    "hexadecimal digits": f"0x{DIGITS}", "an exponent": "1e99999", "a long exponent": "1e9999", "a small number": "1e-9999",
    "a decimal comma": f"{DIGITS},{DIGITS}", "a million": "9" * 4299 + r"\text{ million}", "a mixed number": rf"1\frac{{1}}{{{DIGITS}}}",
    "brackets": repeat("(", "x", ")"), "braces": repeat("{", "x", "}"), "fractions": repeat(r"\frac{1}{", "x", "}"),
    "roots": repeat(r"\sqrt{", "2", "}"), "some roots": repeat(r"\sqrt{", "2", "}", 50), "absolute values": repeat("|", "x", "|"),
    "minus": repeat("-", "x"), "powers": repeat("2^{", "2", "}"), "some powers": repeat("2^{", "2", "}", 50),
    "exponentials": repeat("e^{", "x", "}", 50), "functions": repeat(r"\sin(", "x", ")", 50), "gammas": repeat(r"\Gamma(", "3.5", ")", 20),
    "factorials": "9" + "!" * 40, "nested factorials": repeat("(", "9", "!)", 40),
    "sums": nest_sums(3, "500"), "more sums": nest_sums(8, "500"), "small sums": nest_sums(8, "9"), "symbolic sums": nest_sums(3, "n"),
    "products": nest_sums(3, "500", "prod"), "a sum of functions": nest_sums(2, "99", body=r"\sin(i)\Gamma(j+\frac13)"),
    "a sum of powers": nest_sums(1, "500", body=r"i^{i^i}"), "an endless sum": r"\sum_{i=1}^{10^9} i", "an infinite sum": r"\sum_{i=1}^{\infty} \frac{1}{i^2}",
    "a power tower": r"9^{9^{9^9}}", "a remainder": r"7^{10^{10}} \bmod 13", "a power": "3^{10000}", "a power of a fraction": r"(\frac{3}{7})^{9999}",
    "products of powers": r"\cdot".join(f"{base}^{{9999}}" for base in range(2, 200)), "quotients of powers": "+".join(rf"\frac{{{base}^{{9999}}}}{{{base + 1}^{{9999}}}}" for base in range(2, 60)),
    "binomials": r"\binom{10^9}{5 \cdot 10^8}", "sums of binomials": nest_sums(1, "500", body=r"\binom{2000}{i}"), "many factorials": "+".join(["2000!"] * 300), "quotients of factorials": "+".join(rf"\frac{{{number}!}}{{{number + 7}!}}" for number in range(1500, 1800)),
    "sine": r"\sin(10^{100000})", "gamma": r"\Gamma(10^9)", "zeta": r"\zeta(10^9)", "zetas": "+".join(rf"\zeta(\frac{{{number}}}{{7}})" for number in range(8, 300)), "complex powers": "+".join(f"(1+{number}i)^{{0.3+i}}" for number in range(300)),
    "double factorial": r"(10^{300000})!!", "a root with an index": r"\sqrt[10^{300000}]{-3}", "an index": "x_{" + DIGITS + "}", "primes": "f" + "'" * 5000 + "(x)",
    "terms": "+".join(f"x^{{{number}}}" for number in range(300)), "factors": "".join(f"(x+{number})" for number in range(300)), "equal terms": "1+" * 1400 + "1",
    "items": ",".join(f"x+{number}" for number in range(60)), "numbers": ",".join(map(str, range(250))), "equations": ",".join(f"x=\\sqrt{{{number}}}" for number in range(60)),
    "inequalities": " < ".join(["x", *map(str, range(120))]), "unions": r"\cup".join(f"({number},{number}.5)" for number in range(120)), "signs": r"1\pm2" * 60, "a union of sums": r"\cup".join(rf"(0,\sum_{{i=1}}^{{{number}}} i)" for number in range(400, 460)),
    "a matrix": r"\begin{pmatrix}" + r"\\".join(["&".join(["x^2+1"] * 20)] * 20) + r"\end{pmatrix}", "determinants": r"\begin{vmatrix}a&b\\c&d\end{vmatrix}" * 50,
    "a floor": r"\lfloor 10^{10000} / 7 \rfloor", "floors": "+".join(rf"\lfloor \frac{{n}}{{{number}}} \rfloor" for number in range(1, 300)), "modulus": r"3^{9999} \bmod (2^{9999} + 1)",
    "scales": r"\text{one" + " million" * 900 + "}", "dozens": r"\text{one" + " gross" * 900 + "}", "Chinese scales": "一" + "十" * 5000, "squared": r"5\text{ m" + " squared" * 900 + "}",
    "an integral": r"\int_0^1 e^{e^x} dx", "a family": r"10^{300000} + k 10^{-300000}, k \in \mathbb{Z}", "integers": r"\{x \in \mathbb{Z} \mid 10^{300000} < x < 10^{300000} + 5\}",
    "dots of integers": r"1, 2, \ldots, 10^{9}", "a ratio": ":".join(["x^{999}"] * 100), "constants": "C_1e^{x}+C_2e^{2x}+C_3e^{3x}+" + "+".join(rf"\sin({number}x)" for number in range(200)),
}  # fmt: skip


def list_places() -> Iterator[str]:
    """Yield texts with a `#` in each place that a table of the grammar makes."""
    yield "#"
    for prefix in [*PREFIXES, *(f"\\{name}" for name in [*OPERATORS, *commands.NAMING]), *SPECIAL, *FONTS]:
        if prefix.startswith("<"):
            continue
        yield from (f"{prefix} #", f"{prefix}{{#}}", f"{prefix}(#)")
        if prefix.startswith("\\"):
            yield from (f"{prefix}{{#}}{{3}}", f"{prefix}{{3}}{{#}}", f"{prefix}[#]{{3}}", f"{prefix}[3]{{#}}")
            yield from (f"{prefix}_{{i=#}}^{{5}} i", f"{prefix}_{{i=1}}^{{#}} i", f"{prefix}_{{i=1}}^{{5}} # dx")
            name = prefix[1:]
            yield from (rf"\begin{{{name}}}#&1\\2&x\end{{{name}}}", rf"\begin{{{name}}}1&x\\2&#\end{{{name}}}")
    for infix in [*INFIXES, *relations.RELATION_SIGNS]:
        if not infix.startswith("<"):
            yield from (
                f"# {infix} 3",
                f"3 {infix} #",
                f"x {infix} {{#}}",
                f"(#) {infix} (#)",
                f"3{infix}#",
                f"#{infix}3",
            )
    for bracket, closings in BRACKETS.items():
        yield from (f"{bracket}#, 3{closing}" for closing in closings)
        yield from (f"{bracket}x {closing}#" for closing in closings)
    for name in [*FUNCTIONS, *PLAIN_COMMANDS, *(name for name in COMPUTE if name.isalpha())]:
        yield from (f"\\{name}(#)", rf"\{name}^{{#}} 2", rf"\{name}_{{#}} 2", f"{name}(#, 3)")
    for sign in [*SIGN_COMMANDS, *SYNONYMS]:
        yield from (f"# {sign} 3", f"3 {sign} #", f"{sign}{{#}}")
    for word in [
        *NUMBERS,
        *SCALES,
        *ROLES_OF,
        *UNIT_OF,
        *notations.HALVES,
        *notations.NAMED_BASES,
        *sets.CONDITION_WORDS,
    ]:
        yield from (rf"#\text{{ {word}}}", rf"\text{{{word} }}#", rf"3\text{{ {word} }}#")
    for sign in quantities.UNIT_SIGNS:
        yield from (f"# \\{sign}", f"{sign} #")
    yield from (  # kinds of values that no single token makes
        "#, 3", r"\{#\}", "x = #", "# = x", "f(x) = #", "x < #", "(-\\infty, #]", r"\{x \mid x > #\}", r"\{# \mid k > 1\}",
        r"x = # k, k \in \mathbb{Z}", r"x \equiv # \pmod 4", r"x \equiv 1 \pmod{#}", "#:3", "3:#", "#:30", "#-3", "3-#",
        "# to 5", "#_2", "3_{#}", "(#)_3", "# (base 3)", "#^\\circ", r"5\text{ ft }#\text{ in}", "B) #", r"\text{B. }#",
        r"y = C e^{#}", r"y = # + C", r"\frac{d}{dx} #", "|#|", "||#||", "#!", "#!!", "3^#", "#^3", "x_#", "f'(#)", "P(#)",
        r"\begin{cases} # & x > 0 \\ 3 & x < # \end{cases}", r"1\frac{#}{3}", "0.#", "#.#", "#e#", "#\\%", "\\$#", "0.1\\overline{#}",
        r"\langle #, 3 \rangle", r"\begin{pmatrix} # \\ 3 \end{pmatrix}", "(1)(#)", "(1 #)(2 3)", "i) # ii) 3", "# and 3", "# or x",
        "June #, 2031", "\\text{June }9, #", "7:#", "# pm", "\\int_0^{#} x dx", r"x \ne #", "#i + 3j", "1, 2, \\ldots, #",
    )  # fmt: skip


PLACES = [*dict.fromkeys(list_places())]
GOLDS = ["5", "x^2+1", r"\frac12", "(1, 2)", "x = 3", r"\{1, 2\}", "x < 3", r"5\text{ cm}", r"y = Ce^x", r"x = k\pi, k \in \mathbb{Z}"]  # fmt: skip


def list_answers(step: int = 1, start: int = 0) -> Iterator[tuple[str, str, str]]:
    """Yield every `step`-th of all places with contents: a name, the answer, and a solution."""
    pairs = itertools.product(PLACES, CONTENTS.items())
    for number, (place, (name, content)) in enumerate(itertools.islice(pairs, start, None, step)):
        yield f"{name} in {place}", place.replace("#", content), GOLDS[number % len(GOLDS)]
