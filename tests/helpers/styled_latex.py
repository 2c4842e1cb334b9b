r"""
Answers as people write them: a tree is drawn, written in any legal style, and changed into one of another value.

Styles differ in the order of factors and terms, in `\cdot`, `\times`, `*` or nothing between factors, in brackets after
functions, in fractions, in digits after letters, in the order of lists and names, and in names of values or of a tuple.
"""

import math
from random import Random
from typing import Any


NAMES = "a b k n p q r u v w y z".split()
FUNCTIONS = {"ln": math.log, "sin": math.sin, "cos": math.cos, "tan": math.tan}
KINDS = {"tuple", "list", "named", "row", "sets", "bounds"}
"""Kinds of answers whose last part is a tuple of parts."""

SIGNS = (r" \cdot ", r"\cdot ", r" \times ", "*")
UNITS = (("m", "min"), ("km", "h"), ("ft", "sec"), ("L", "min"), ("gal", "min"), ("m", "sec"))

Tree = tuple[Any, ...]
"""A kind, and its parts: numbers, names, trees, or a tuple of trees."""


# --- drawing


def draw_atom(rng: Random) -> Tree:
    return ("number", rng.randint(2, 9)) if rng.random() < 0.5 else ("name", rng.choice(NAMES))


def draw_factor(rng: Random, depth: int) -> Tree:
    kind = rng.choice(["atom", "atom", "power", "call", "fraction", "binomial", *["sum"] * depth])
    if kind == "atom":
        return draw_atom(rng)
    if kind == "power":
        exponent = draw_atom(rng) if rng.random() < 0.5 else draw_sum(rng, 0, 2)
        return ("power", draw_atom(rng), exponent)
    if kind == "call":
        argument = draw_atom(rng) if rng.random() < 0.7 else draw_sum(rng, 0, 2)
        return ("call", rng.choice([*FUNCTIONS]), argument)
    if kind == "fraction":
        parts = [draw_atom(rng) if rng.random() < 0.7 else draw_sum(rng, 0, 2) for _ in range(2)]
        return ("fraction", *parts)
    if kind == "binomial":
        return ("binomial", ("name", rng.choice(NAMES)), ("number", rng.randint(2, 4)))
    return draw_sum(rng, depth - 1, 2)


def draw_product(rng: Random, depth: int) -> Tree:
    return ("product", tuple(draw_factor(rng, depth) for _ in range(rng.randint(1, 3))))


def draw_sum(rng: Random, depth: int, most: int) -> Tree:
    terms = [(rng.choice([1, 1, -1]), draw_product(rng, depth) if depth else draw_atom(rng)) for _ in range(most)]
    return ("sum", tuple(("term", *term) for term in terms))


def draw_expression(rng: Random) -> Tree:
    return draw_product(rng, 1) if rng.random() < 0.5 else draw_sum(rng, 1, rng.randint(1, 3))


def draw_answer(rng: Random) -> Tree:
    """Return an expression, or another kind of answer made of expressions."""
    kind = rng.choice(["expression"] * 6 + ["tuple", "list", "named", "row", "sets", "bounds", "quantity"])
    if kind == "row":
        return ("row", tuple(("number", rng.randint(1, 99)) for _ in range(rng.randint(2, 4))))
    if kind in ("sets", "bounds"):
        return (kind, tuple(("number", rng.randint(1, 9)) for _ in range(2)))
    if kind == "quantity":
        return ("quantity", ("number", rng.randint(2, 99)), *rng.choice(UNITS))
    if kind == "expression":
        return draw_expression(rng)
    parts = tuple(draw_expression(rng) for _ in range(2))
    return ("named", tuple(rng.sample("xst", 2)), parts) if kind == "named" else (kind, parts)


# --- values


def evaluate(tree: Tree, names: dict[str, float]) -> float:
    kind, *parts = tree
    if kind in ("number", "name"):
        return float(parts[0]) if kind == "number" else names[parts[0]]
    if kind == "product":
        return math.prod(evaluate(one, names) for one in parts[0])
    if kind == "sum":
        return sum(sign * evaluate(one, names) for _, sign, one in parts[0])
    if kind == "call":
        return FUNCTIONS[parts[0]](evaluate(parts[1], names))
    one, other = (evaluate(part, names) for part in parts)
    if kind == "power":
        return one**other
    if kind == "binomial":
        return math.prod((one - step) / (step + 1) for step in range(int(other)))
    return one / other


def list_values(tree: Tree) -> list[float] | None:
    """Return the values of all parts of an answer at some points, or None if one is not a real number."""
    rng, values = Random(0), []
    parts = tree[-1] if tree[0] in KINDS else [tree[1] if tree[0] == "quantity" else tree]
    for _ in range(3):
        names = {name: rng.uniform(1.1, 4.0) for name in [*NAMES, "c"]}
        try:
            values += [evaluate(part, names) for part in parts]
        except (ValueError, ZeroDivisionError, OverflowError, TypeError):
            return None
    if any(isinstance(value, complex) or not 1e-6 < abs(value) < 1e12 for value in values):
        return None
    return values


def are_apart(one: Tree, other: Tree) -> bool:
    """Whether two answers of a kind certainly differ."""
    if one[0] == "quantity" and one[2:] != other[2:]:
        return True
    values = [list_values(one), list_values(other)]
    if None in values:
        return False
    count = len(one[-1]) if one[0] == "list" else 1
    pairs = [*zip(*values, strict=True)]
    if count > 1:  # lists have no order
        pairs += [*zip(values[0][::-1], values[1], strict=True)]
    return not any(math.isclose(*pair, rel_tol=1e-3) for pair in pairs) or (
        count == 1 and not all(math.isclose(*pair, rel_tol=1e-3) for pair in pairs)
    )


# --- changes


def change(tree: Tree, rng: Random) -> Tree:
    """Return a tree with another digit, sign, operation, function or name in one place."""
    kind, *parts = tree
    if kind in ("tuple", "row", "named") and rng.random() < 0.3:  # another order
        return (kind, *parts[:-1], parts[-1][::-1])
    if kind == "number":
        return (kind, parts[0] + rng.choice([-1, 1, 2]))
    if kind == "name":
        return (kind, rng.choice([name for name in NAMES if name != parts[0]]))
    if kind == "term" and rng.random() < 0.3:
        return (kind, -parts[0], parts[1])
    if kind == "call" and rng.random() < 0.3:
        return (kind, rng.choice([name for name in FUNCTIONS if name != parts[0]]), parts[1])
    if kind in ("power", "fraction") and rng.random() < 0.3:
        return (kind, parts[1], parts[0])
    if kind == "product" and len(parts[0]) > 1 and rng.random() < 0.2:
        return ("sum", tuple(("term", 1, one) for one in parts[0]))
    if isinstance(parts[-1], tuple) and isinstance(parts[-1][0], tuple):
        place = rng.randrange(len(parts[-1]))
        return (kind, *parts[:-1], tuple(change(one, rng) if at == place else one for at, one in enumerate(parts[-1])))
    places = [at for at, part in enumerate(parts) if isinstance(part, tuple)]
    place = rng.choice(places)
    return (kind, *(change(part, rng) if at == place else part for at, part in enumerate(parts)))


# --- writing


def write(tree: Tree, rng: Random) -> str:
    """Return an answer in one of the styles in which people write it."""
    kind, *parts = tree
    if kind == "quantity":
        (_, number), above, below = parts
        return rng.choice([rf"{number} \text{{ {above}/{below}}}", rf"{number}\ \frac{{\text{{{above}}}}}{{\text{{{below}}}}}",
                           rf"{number} \mathrm{{~{above}}} / \mathrm{{{below}}}", f"{number} {above}/{below}"])  # fmt: skip
    if kind == "row":
        numbers = [str(number) for _, number in parts[0]]
        return rng.choice([" ", r"\ ", r"\,", "~"]).join(numbers)
    if kind == "tuple":
        return "({})".format(", ".join(write(one, rng) for one in parts[0]))
    if kind == "list":
        return rng.choice([", ", r" \text{ and } "]).join(
            rng.sample([write(one, rng) for one in parts[0]], len(parts[0]))
        )
    if kind == "named":
        pairs = rng.sample([(name, write(one, rng)) for name, one in zip(*parts, strict=True)], len(parts[0]))
        if rng.random() < 0.4:
            return "({})=({})".format(*(", ".join(side) for side in zip(*pairs, strict=True)))
        equations = [f"{name}={value}" for name, value in pairs]
        return rng.choice([", ".join(equations), r"\begin{cases}" + r"\\".join(equations) + r"\end{cases}"])
    if kind == "sets":
        return ", ".join(rng.choice([rf"[{low},\infty)", rf"\left[{low}, \infty\right)"]) for _, low in parts[0])
    if kind == "bounds":
        bounds = [
            rng.choice([rf"{name} \ge {low}", rf"{low}\le {name}"])
            for name, (_, low) in zip("xy", *parts, strict=True)
        ]
        return rng.choice([", ".join(rng.sample(bounds, 2)), r" \text{ and } ".join(bounds)])
    return write_expression(tree, rng)


def write_expression(tree: Tree, rng: Random, is_whole: bool = True) -> str:
    """Return an expression. A factor of a product, with `is_whole=False`, gets brackets if it needs them."""
    kind, *parts = tree
    if kind in ("number", "name"):
        return str(parts[0])
    if kind == "product":
        return write_product(parts[0], rng, is_whole)
    if kind == "sum":
        text = write_sum(parts[0], rng)
        return text if is_whole else rng.choice(["({})", r"\left({}\right)"]).format(text)
    if kind == "power":
        base, exponent = (write_expression(part, rng) for part in parts)
        return f"{base}^{exponent}" if len(exponent) == 1 and rng.random() < 0.5 else f"{base}^{{{exponent}}}"
    if kind == "call":
        argument = write_expression(parts[1], rng)
        is_bare = parts[1][0] != "sum" and rng.random() < 0.7
        return rf"\{parts[0]} {argument}" if is_bare else rf"\{parts[0]}({argument})"
    above, below = (write_expression(part, rng) for part in parts)
    command = rng.choice(["frac", "dfrac"] if kind == "fraction" else ["binom", "dbinom"])
    if len(above) == len(below) == 1 and rng.random() < 0.6:
        if kind == "fraction" and rng.random() < 0.3:
            return f"{above}/{below}" if is_whole else f"({above}/{below})"
        first = f" {above}" if above.isalpha() else above
        return rng.choice(
            [rf"\{command}{first}{below}", rf"\{command}{{{above}}}{below}", rf"\{command}{first}{{{below}}}"]
        )
    return rf"\{command}{{{above}}}{{{below}}}"


def write_sum(terms: tuple[Tree, ...], rng: Random) -> str:
    text = ""
    for _, sign, term in rng.sample(terms, len(terms)):
        plus = rng.choice([" + ", "+"]) if text else ""
        is_whole = term[0] != "product" or term[1][0][0] != "sum"
        text += (rng.choice([" - ", "-"]) if sign < 0 else plus) + write_expression(term, rng, is_whole)
    return text.strip()


def write_product(factors: tuple[Tree, ...], rng: Random, is_whole: bool = True) -> str:
    """Return factors in any order. Those that would be read with what is before them have a sign."""
    factors = tuple(rng.sample(factors, len(factors)))
    text, last = "", ("", "")
    for factor in factors:
        own = write_expression(factor, rng, is_whole and len(factors) == 1)
        is_bare_call = last[0] == "call" and not text.endswith(")")
        is_base = factor[0] == "power" and factor[1][0] == "number" and factor[2][0] != "number"
        needs_sign = (
            (is_bare_call and factor[0] != "call")
            or (own[0].isdigit() and not (is_base and last[0] in ("name", "sum")))
            or (own[0].isdigit() and text[-1:].isdigit())
            or (last[0] == "number" and own.startswith("\\") and "frac" in own)  # a mixed number
        )
        if text:
            silent = ["" if own[0] in "\\(" or text[-1] in ")}" or own[0].isdigit() else " ", " "]
            text += rng.choice(SIGNS if needs_sign else [*SIGNS, *(silent if not is_base else silent[:1]) * 2])
        text, last = text + own, factor
    return text
