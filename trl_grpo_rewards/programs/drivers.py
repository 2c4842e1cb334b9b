"""What is sent to a back end for each case of a row, and whether its output passes."""

import ast
import functools
import secrets
from dataclasses import dataclass
from pathlib import Path

from . import inside
from .cases import CallCase, Case, OutputCase, RowTests
from .comparison import is_right_output, is_right_value


@dataclass(frozen=True)
class Run:
    """
    One run of a program for one case.

    Args:
        case ([`Case`]):
            The case.
        source (`str`):
            Code for the back end. Python code is in ASCII. Runs of one kind for one program have the same.
        input (`str`):
            What the process gets as standard input.
        secret (`str`, *optional*):
            What the process must write if weak tests pass. It is also in `input`.
    """

    case: Case
    source: str
    input: str
    secret: str = ""

    def is_passed(self, output: str) -> bool:
        """Return whether the standard output of a process that finished passes."""
        match self.case:
            case OutputCase(output=expected):
                return is_right_output(output, expected)
            case CallCase(accepted=accepted, tolerance=tolerance, as_json=as_json):
                return is_right_value(output, accepted, tolerance, as_json)
        return output == self.secret


def write_runs(program: str, tests: RowTests) -> list[Run]:
    """
    Write the runs of a program, one for each case.

    A process gets one case and none of what is expected. The secret of weak tests is new for each run.
    """
    return [write_run(program, tests, case) for case in tests.cases]


def write_run(program: str, tests: RowTests, case: Case) -> Run:
    match case:
        case OutputCase():
            source = write_source("run_script", program) if tests.language == "python" else program
            return Run(case, source, case.input)
        case CallCase():
            source = write_source("answer_call", program, tests.imports, tests.setup)
            return Run(case, source, f"{case.call}\n{case.arguments}")
    secret = secrets.token_hex(16)
    source = write_source("run_tests", program, tests.imports, tests.setup, case.tests, sorted(case.names))
    return Run(case, source, secret, secret)


def write_source(function: str, *arguments: str | list[str]) -> str:
    """Return the code that runs inside: a function of [`inside`], what it needs, and its call."""
    return f"{select_code(function)}\n{function}({', '.join(map(ascii, arguments))})\n"


@functools.cache
def select_code(function: str) -> str:
    """Return a function of [`inside`] and what it needs, without docstrings and annotations. This saves 2 ms a run."""
    statements = ast.parse(Path(inside.__file__).read_text(encoding="utf-8")).body[1:]
    needed, size = {function}, 0
    while len(needed) > size:
        size = len(needed)
        needed.update(*(list_names(one, ast.Load) for one in statements if needed & list_names(one, ast.Store)))
    return "\n".join(ast.unparse(strip(one)) for one in statements if needed & list_names(one, ast.Store))


def list_names(statement: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    """Return the names that a statement at the top level uses, or those that it defines."""
    if context is ast.Store and isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.name for alias in statement.names}
    if context is ast.Store and isinstance(statement, ast.FunctionDef):
        return {statement.name}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


def strip(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, ast.FunctionDef):
        statement.returns = None
        statement.body = statement.body[ast.get_docstring(statement) is not None :]
    for node in ast.walk(statement):
        if isinstance(node, ast.arg):
            node.annotation = None
    return statement
