"""Programs that tests must not pass: those that solve nothing, and right ones with one small fault. Tests that do are weak."""

import ast
import contextlib
import re
import tokenize
from collections.abc import Iterator
from dataclasses import replace

from ..sandbox.protocol import Limits, Sandbox, SandboxFailed
from .cases import RowTests, UnreadableTests
from .names import list_required
from .row_verdicts import keeps_apart, try_program


UNIVERSAL = """
class Kind(type):
    __getattr__ = lambda kind, name: kind()
class Universal(metaclass=Kind):
    __init__ = lambda self, *args, **kwargs: None
    __call__ = __getattr__ = lambda self, *args, **kwargs: self
for answer, names in (
    (lambda self, *args: self, "getitem enter abs neg next add radd sub rsub mul rmul truediv mod pow"),
    (lambda *args: True, "eq ne lt le gt ge contains bool exit"),
    (lambda *args: 0, "hash len int index setitem delitem"),
    (lambda *args: iter(()), "iter"),
    (lambda *args: 0.0, "float"),
):
    for name in names.split(): setattr(Universal, f"__{name}__", answer)
"""
"""A class whose objects, and what their methods return, are equal to everything, contain everything and are empty."""

CHEATS = {
    "universal objects": "{} = Universal",
    "functions that return an empty list": "{} = lambda *args, **kwargs: []",
    "functions that raise StopIteration": "{} = lambda *args, **kwargs: next(iter(()))",
    "functions that return a text that they get, or 0": "{} = lambda *a, **k: [*(x for x in a if type(x) is str), 0][0]",
}
"""What programs that solve nothing define for each name."""


def write_cheats(tests: RowTests) -> dict[str, str]:
    """Return programs that define every name that the tests need, by what they define. Inputs with outputs need none."""
    names = list_required(tests)
    return {kind: "\n".join([UNIVERSAL, *map(one.format, sorted(names))]) for kind, one in CHEATS.items() if names}


async def find_cheat(tests: RowTests, sandbox: Sandbox, limits: Limits) -> str | None:
    """Return the first kind of programs that solve nothing and pass the tests, or None. Only pipes must join the two."""
    for kind, cheat in write_cheats(tests).items() if keeps_apart(sandbox) else ():
        with contextlib.suppress(SandboxFailed, UnreadableTests):
            if (await try_program(cheat, tests, sandbox, limits)).status is None:
                return kind
    return None


PAIRS = (("==", "!="), ("<", "<="), (">", ">="), ("and", "or"), ("+", "-"), ("True", "False"))
SWAPS = {**dict(PAIRS), **{other: one for one, other in PAIRS}, "not": "", "is": "is not", "in": "not in"}
SWAPS |= {"*": "+", "//": "*", "%": "//", "max": "min", "min": "max", "if": "if not", "elif": "elif not"}
REMOVED = {ast.Return: "return None", ast.Assign: "pass", ast.AugAssign: "pass", ast.Expr: "pass"}
LEFT_OUT = re.compile(r"raise |(logger|warnings)\.|['\"]|@|(async )?def |if TYPE_CHECKING|match |return( None)?$")

TRIED_FAULTS, SECONDS = 3, 1.0
"""Number of faults that are tried in a program, spread over it, and the largest time limit of each: it may never end."""


def list_faults(program: str) -> list[tuple[int, str]]:
    """Return the lines of functions, or of a program without any, with a small fault in each, and their numbers."""
    found, code, lines = [], set[int](), program.split("\n")
    tree = ast.parse(program)
    functions: list[ast.AST] = [
        one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for one in {one for part in functions or [tree] for one in ast.walk(part) if isinstance(one, ast.stmt)}:
        if not LEFT_OUT.match(ast.unparse(one)):
            body: list[ast.stmt] = getattr(one, "body", [])
            code |= {*range(one.lineno, body[0].lineno if body else (one.end_lineno or one.lineno) + 1)}
            if type(one) in REMOVED and one.lineno == one.end_lineno:
                found.append((one.lineno, one.col_offset, len(lines[one.lineno - 1]), REMOVED[type(one)]))
    for kind, text, (row, start), (_, end), line in tokenize.generate_tokens((f"{one}\n" for one in lines).__next__):
        new = str(int(text) + 1) if kind == tokenize.NUMBER and text.isdecimal() else SWAPS.get(text)
        is_other = line.startswith("is not", start) or (text == "in" and re.search(r"\bfor\b|not $", line[:start]))
        is_other = is_other or (text == "*" and re.search(r"[(,=]\s*$", line[:start]))
        if row in code and new is not None and not is_other:
            found.append((row, start, end, new))
    return sorted({(row, lines[row - 1][:start] + new + lines[row - 1][end:]) for row, start, end, new in found})


def write_mutants(program: str) -> Iterator[tuple[str, str]]:
    """Yield a program with one fault after another, and what was changed. Faults that often change nothing are left out."""
    lines, faults = program.split("\n"), list[tuple[int, str]]()
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, tokenize.TokenError):
        faults = [one for one in list_faults(program) if one[1].strip() not in REMOVED.values()]
        faults = [(row, line) for row, line in faults if drop_bounds(line) != drop_bounds(lines[row - 1])]
    for row, line in faults[:: max(1, -(-len(faults) // TRIED_FAULTS))]:
        text = "\n".join([*lines[: row - 1], line, *lines[row:]])
        yield text, f"{lines[row - 1].strip()!r} became {line.strip()!r}"


def drop_bounds(line: str) -> str:
    """Return a line without what only decides about equal values, as in `a if a >= b else b`."""
    return re.sub("([<>])=", r"\1", line)


async def find_unnoticed(program: str, tests: RowTests, sandbox: Sandbox, limits: Limits) -> tuple[str | None, int]:
    """Return a fault in a right program that its tests do not notice, and the number of faults that were tried."""
    tried = 0
    for mutant, change in write_mutants(program):
        with contextlib.suppress(SandboxFailed, UnreadableTests):
            verdict = await try_program(mutant, tests, sandbox, replace(limits, seconds=min(limits.seconds, SECONDS)))
            tried += 1
            if verdict.status is None:
                return change, tried
    return None, tried
