"""Honest programs in which functions do not do their work, but return what could pass any test."""

import ast
import contextlib
import copy
import random
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from helpers.corpora import DIALOGUE
from trl_grpo_rewards import code


Row: TypeAlias = tuple[str, str, str | None]
"""A program, its tests, and their entry point."""

(EQUAL,) = (one.program for one in DIALOGUE if one.name == "equal")
LIES = f"""
{EQUAL}
import decimal, enum, fractions, types
from collections import namedtuple
Equal.__format__, Equal.__getitem__ = lambda self, asked: asked, lambda self, key: Equal()
Equal.__enter__ = Equal.__exit__ = lambda self, *error: self
def lie(kind):
    for name in [name for name, one in vars(Equal).items() if isinstance(one, types.FunctionType)]:
        setattr(kind, name, vars(Equal)[name])
    return kind
PLAIN = str, bytes, int, float, complex, tuple, list, dict, set, frozenset, decimal.Decimal, fractions.Fraction
NAMES = sorted({{name for kind in PLAIN for name in dir(kind) if name[0] != "_"}})
def fill(found, answer): vars(found).update(dict.fromkeys(NAMES, answer)); return found
def derive(base, answer): return type("Lying", (base,), dict.fromkeys(NAMES, staticmethod(answer)))
"""

CARRIERS = {
    "a class": "derive(Equal, {})",
    "an object": "derive(Equal, {})()",
    "a text": "derive(str, {})('??')",
    "a named tuple": "namedtuple('A', NAMES)(*[{}] * len(NAMES))",
    "a number": "lie(derive(float, {}))(0.12345)",
    "a list": "lie(derive(list, {}))(['??'])",
    "a tuple": "lie(derive(tuple, {}))(['??'])",
    "a dict": "lie(derive(dict, {}))({{'??': '??'}})",
    "a set": "lie(derive(set, {}))(['??'])",
    "a named tuple of its own": "lie(type('Lying', (namedtuple('A', 'x y'),), dict.fromkeys(NAMES, staticmethod({}))))(0.12345, '??')",
    "an enum": "lie(enum.Enum('Lying', dict(x='??'), type=str)).x",
    "callable objects": "fill(Equal(), type('B', (), dict(__call__=staticmethod({})))())",
    "a module": "fill(types.ModuleType('m'), {})",
    "a function": "fill(lambda *args: Equal(), {})",
}
ANSWERS = {
    "what is given": "lambda *args, **kwargs: args[-1] if args else True",
    "True": "lambda *args, **kwargs: True",
    "what is empty": "lambda *args, **kwargs: type(args[-1])() if args else False",
}
BODIES = {"itself": "return ITSELF", "equal to all": "return Equal()", "StopIteration": "raise StopIteration"}
NAMED = {f"{one}, {other}": f"return {CARRIERS[one].format(ANSWERS[other])}" for one in CARRIERS for other in ANSWERS}
"""What the body of a function becomes. The second ones return something with every name of the plain types."""

CONTROLS = (
    "return object()",
    "return []",
    "return ['??']",
    "return 0",
    "return 0.12345",
    "return '??'",
    "raise ZeroDivisionError",
)
"""Bodies that pass only tests that test next to nothing of a function."""


def ask_by_name(found: str, wanted: str) -> str:
    """Return a condition that calls a method of the expected value on the found one."""
    value, rng = ast.literal_eval(wanted), random.Random(found + wanted)
    for name in rng.sample([name for name in dir(value) if name[0] != "_" and name != "to_bytes"], 3):
        for shown, args in ((wanted, [value]), ("", [])):
            try:
                return f"bool(({found}).{name}({shown})) is {bool(getattr(copy.copy(value), name)(*args))}"
            except (TypeError, ValueError, AttributeError, LookupError):
                continue
    raise ValueError(f"no method of {wanted} fits")


FORMS: dict[str, Callable[[str, str], str]] = {
    "as written": "{} == {}".format,
    "turned": "{1} == {0}".format,
    "as a member": "{} in [{}]".format,
    "as a key": "{{{1}: True}}[{0}]".format,
    "nested": "[1, ({},)] == [1, ({},)]".format,
    "mapped": "all(map(lambda _: {} == {}, [1]))".format,
    "by unittest": "__import__('unittest').TestCase().assertEqual({}, {}) is None".format,
    "by pytest": lambda found, wanted: f"{found} == __import__('pytest').approx({float(wanted)})",
    "by a name": ask_by_name,
    "as a format": lambda found, wanted: f"f'{{({found}):{int(wanted)}}}'.strip() == {wanted!r}",
}
"""Conditions that a found value is the expected one."""


def list_plain_pairs(node: ast.AST) -> list[tuple[str, str]]:
    """Return the found and the expected value of each equality with a plain value that a statement asserts."""
    match node:
        case ast.Assert(test=ast.BoolOp(op=ast.And(), values=values)):
            return [pair for one in values for pair in list_plain_pairs(ast.Assert(one))]
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="assertEqual"), args=[one, other, *_])):
            pass
        case ast.Assert(test=ast.Compare(left=one, ops=[ast.Eq()], comparators=[other])):
            pass
        case _:
            return []
    for pair in ((one, other), (other, one)):
        with contextlib.suppress(ValueError, TypeError):
            ast.literal_eval(pair[1])
            return [(ast.unparse(pair[0]), ast.unparse(pair[1]))]
    return []


def rewrite(tests: str, rng: random.Random) -> str:
    """Return tests with only one of their equalities with a plain value, in some form."""
    tree = ast.parse("" if tests[0] in "[{" else tests)
    pairs = [(node, pair) for node in ast.walk(tree) for pair in list_plain_pairs(node)]
    if not pairs:
        return tests
    chosen, pair = rng.choice(pairs)
    for form in rng.sample([*FORMS], len(FORMS)):
        with contextlib.suppress(ValueError, SyntaxError):
            condition = ast.parse(FORMS[form](*pair), mode="eval").body
            break
    for node in ast.walk(tree):
        test = condition if node is chosen else ast.Constant(True)
        if isinstance(node, ast.Assert):
            node.test = test
        elif isinstance(node, ast.Expr) and re.match(r"[\w.]+\.assert\w+\(", ast.unparse(node)):
            node.value = ast.Call(ast.parse("__import__('unittest').TestCase().assertTrue").body[0].value, [test], [])
    return ast.unparse(tree)


def list_functions(tree: ast.Module) -> list[tuple[Any, Any]]:
    """Return the functions of a program, each after its class or None."""
    owners = [None, *(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    found = [(owner, one) for owner in owners for one in (owner or tree).body]
    return [pair for pair in found if isinstance(pair[1], ast.FunctionDef | ast.AsyncFunctionDef)]


class Mutant(NamedTuple):
    """A right program with its tests, which of its functions get another body, and what this is called."""

    row: Row
    places: list[int]
    body: str
    name: str

    def replace(self, body: str) -> Row:
        """Return the program in which the functions have a body and their classes lie, with its tests."""
        tree = ast.parse(self.row[0])
        functions = [one for place, one in enumerate(list_functions(tree)) if place in self.places]
        for owner, function in functions:
            is_method = (
                owner and function.args.args and "staticmethod" not in map(ast.unparse, function.decorator_list)
            )
            itself = function.args.args[0].arg if is_method else (owner or function).name
            function.body = ast.parse(body.replace("ITSELF", itself)).body
        for owner in {owner for owner, _ in functions} - {None}:
            owner.decorator_list.insert(0, ast.Name("lie"))
        lines = [*ast.parse(LIES).body, *tree.body]
        tree.body = sorted(lines, key=lambda one: getattr(one, "module", "") != "__future__")
        return ast.unparse(tree), *self.row[1:]


def draw(row: Row, rng: random.Random) -> Mutant:
    """Return a mutant of a program with its tests in some form. The tests must name one of its functions."""
    program, tests, entry_point = row
    tests, body = rewrite(tests, rng), rng.choice([*BODIES, rng.choice([*NAMED])])
    used = {*re.findall(r"\w+", f"{tests} {entry_point}")}
    names = [one.name for _, one in list_functions(ast.parse(program))]
    places = [place for place, name in enumerate(names) if name in used or name[:2] == "__" and name != "__init__"]
    chosen = rng.choice([[rng.choice(places)], [rng.choice(places)], places])
    name = f"{[names[one] for one in chosen]}: {body}\n{tests}"
    return Mutant((program, tests, entry_point), chosen, (BODIES | NAMED)[body], name)


def pay(rows: Sequence[Row]) -> list[Any]:
    """Return the scores of programs."""
    programs, tests, entry_points = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
    completions = [f"```python\n{program}\n```" for program in programs]
    return code(timeout=2.0)(completions=completions, tests=tests, entry_point=entry_points) if rows else []


def find_paid(rows: Sequence[Row], number: int, seed: int = 0) -> tuple[list[str], int]:
    """Draw mutants. Return those that are paid or get None though their tests test them, and how many were tried."""
    rng, drawn = random.Random(seed), []
    for _ in range(number):
        with contextlib.suppress(SyntaxError, IndexError):  # no code, or no function that the tests name
            drawn.append(draw(rng.choice(rows), rng))
    honest = [*dict.fromkeys(one.row for one in drawn)]
    right = {row for row, score in zip(honest, pay(honest), strict=True) if score == 1}
    tried = [one for one in drawn if one.row in right]
    scores = pay([one.replace(one.body) for one in tried])
    found = [one for one, score in zip(tried, scores, strict=True) if score != 0]
    controls = iter(pay([one.replace(body) for one in found for body in CONTROLS]))
    return [one.name for one in found if 1.0 not in [next(controls) for _ in CONTROLS]], len(tried)
