"""Programs that are broken in one place: an operator, a constant or a branch. Tests that they pass do not notice the fault."""

import ast
import contextlib
import re
import tokenize
from collections.abc import Iterator
from dataclasses import replace

from ..sandbox.protocol import Limits, Sandbox, SandboxFailed
from .cases import RowTests, UnreadableTests
from .row_verdicts import try_program


PAIRS = (("==", "!="), ("<", "<="), (">", ">="), ("and", "or"), ("+", "-"), ("True", "False"))
SWAPS = {**dict(PAIRS), **{other: one for one, other in PAIRS}, "not": "", "is": "is not", "in": "not in"}
SWAPS |= {"*": "+", "//": "*", "%": "//", "max": "min", "min": "max", "if": "if not", "elif": "elif not"}
REMOVED = {ast.Return: "return None", ast.Assign: "pass", ast.AugAssign: "pass", ast.Expr: "pass"}
LEFT_OUT = re.compile(r"raise |(logger|warnings)\.|['\"]|@|(async )?def |if TYPE_CHECKING|match |return( None)?$")

TRIED_FAULTS = 3
"""Number of faults that are tried in a program. They are spread over it."""

SECONDS = 1.0
"""Largest time limit of a program with a fault. It may never end, which the tests notice."""


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
