"""Checks before Python tests run that the sandbox has what they need. Works on the syntax tree."""

import ast
import re
import sys
import warnings
from collections.abc import Collection, Iterator

from .cases import UnreadableTests


MAX_TEST_CHARS = 1_000_000
"""Maximum length of the Python tests of one row, in characters. Longer ones take seconds to parse."""

PROGRAM_MODULE = "solution"
"""Name of the module that the program is loaded as. Tests may import from it."""

FIXTURES = ("self", "cls", "capsys")
"""Parameters that test functions may have, next to fixtures and parameters of their own."""

UNSEEN = frozenset(
    "assertWarns assertWarnsRegex assertLogs assertNoLogs warns deprecated_call catch_warnings simplefilter".split()
)
"""Attributes by which tests look at warnings and logs, which stay in the process that writes them."""

RUNNING = ("eval", "exec", "compile", "__import__")
RUNNING_MODULES = ("pickle", "marshal", "dill", "shelve", "doctest", "runpy")
"""Functions that run what they are given, and modules of such functions."""

PATCHING = ("monkeypatch", "mocker")
"""Fixtures that replace parts of the program."""

ENTRY_POINT = re.compile(r"[^\W\d]\w*(\(\))?(\.[^\W\d]\w*(\(\))?)*")


def check_python_tests(blocks: tuple[str, ...], entry_point: str | None, packages: Collection[str] | None) -> None:
    """Check that Python tests can run as they are written. Their imports are not checked if the packages are unknown."""
    try:
        if (length := sum(map(len, blocks))) > MAX_TEST_CHARS:
            raise ValueError(f"they have {length:,} characters, and at most {MAX_TEST_CHARS:,} are read")
        with warnings.catch_warnings(action="ignore"):  # such as about "\\d"
            tree = ast.Module([statement for block in blocks for statement in ast.parse(block).body], [])
        if packages is not None:
            check_imports(tree, packages)
        check_entry_point(tree, entry_point)
        check_reach(tree)
        check_fixtures(tree)
    except UnreadableTests:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableTests(
            f"Tests must be Python code; these cannot be read: {error}. They begin with {blocks[0][:100]!r}. Correct them."
        ) from None


def list_imports(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that tests import outside of `try` statements, in which an import may fail."""
    nodes: list[ast.AST] = [tree]
    for node in nodes:  # grows
        nodes.extend(one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.Try | ast.TryStar))
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "") if node.level else str(node.module).partition(".")[0]


def check_imports(tree: ast.Module, packages: Collection[str]) -> None:
    missing = {*list_imports(tree)} - {*sys.stdlib_module_names, PROGRAM_MODULE, "pytest", *packages}
    if missing:
        wanted = {*packages, *(name for name in missing if not name.startswith("."))}
        raise UnreadableTests(
            f"The tests import {', '.join(sorted(missing))}, which programs cannot import. Set "
            f"packages={tuple(sorted(wanted))} if this is an installed package. If it is the program, import it from "
            f"{PROGRAM_MODULE!r}."
        )


def check_entry_point(tree: ast.Module, entry_point: str | None) -> None:
    if entry_point and not ENTRY_POINT.fullmatch(entry_point):
        raise UnreadableTests(
            f"An entry point must be a name such as 'add' or 'Solution().add'; found {entry_point!r}. Correct the column "
            "'entry_point'."
        )
    checks = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "check" and one.args.args]
    if checks and not entry_point and "check" not in list_called(tree):
        raise UnreadableTests(
            "Tests with check(candidate) need the name of the function to check; found none. Add the column "
            "'entry_point'."
        )


def list_called(tree: ast.Module) -> set[str]:
    """Return the names of functions that the tests call."""
    return {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}


def check_reach(tree: ast.Module) -> None:
    """Refuse what would reach into the process of the program, or run a text of the program in that of the tests."""
    nodes = [*ast.walk(tree)]
    imports = [one for one in nodes if isinstance(one, ast.Import | ast.ImportFrom)]
    is_mocking = any("mock" in ast.unparse(one) for one in imports)
    patches = {alias.asname or alias.name for one in imports for alias in one.names if alias.name == "patch"}
    modules = {alias.asname or alias.name for one in tree.body if isinstance(one, ast.Import) for alias in one.names}
    calls = [one for one in nodes if isinstance(one, ast.Call) and one.args and isinstance(one.args[0], ast.Constant)]
    builtin = [f"builtins.{name}" for name in RUNNING]
    shared = (modules | {"os.environ"}) - {"sys", PROGRAM_MODULE}
    for node in nodes:
        match node:
            case ast.Name(id=name):
                is_refused = (
                    is_mocking and name in patches or name in RUNNING and node not in [one.func for one in calls]
                )
            case ast.Import() | ast.ImportFrom():
                is_refused = not {*list_imports(ast.Module([node], []))}.isdisjoint(RUNNING_MODULES)
            case ast.Attribute(attr=name):
                is_refused = name in UNSEEN or is_mocking and name == "patch" or ast.unparse(node) in builtin
            case ast.Assign(targets=targets):
                owners = [one.value for one in targets if isinstance(one, ast.Attribute | ast.Subscript)]
                is_refused = not shared.isdisjoint(map(ast.unparse, owners))
            case _:
                continue
        if is_refused:
            raise UnreadableTests(
                f"Tests must not replace parts of the program, need its warnings and logs, or run its texts; these use "
                f"{ast.unparse(node)[:100]}, but run in another process. Rewrite them, or remove such rows."
            )


def check_fixtures(tree: ast.Module) -> None:
    """Refuse test functions and fixtures whose parameters are fixtures that the tests do not define."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    decorators = ["\n".join(map(ast.unparse, one.decorator_list)) for one in functions]
    own = {one.name for one, text in zip(functions, decorators, strict=True) if "fixture" in text}
    called = list_called(tree)
    for function, text in zip(functions, decorators, strict=True):
        is_test = function.name.startswith("test") and function.name not in called
        is_left_to_pytest = is_test and (not text or "pytest" in text)
        parameters = [one.arg for one in function.args.posonlyargs + function.args.args]
        required = parameters[: len(parameters) - len(function.args.defaults)]
        allowed = {*FIXTURES, *own, *re.findall(r"\w+", text)}  # `parametrize` names parameters
        missing = [name for name in required if name not in allowed]
        if missing and (is_left_to_pytest or function.name in own):
            reason = "cannot reach into the program's process" if missing[0] in PATCHING else "is not available"
            raise UnreadableTests(
                f"Tests may use the fixture capsys and fixtures of their own; {function.name}() needs {missing[0]!r}, "
                f"which {reason}. Rewrite the tests without it, or remove such rows."
            )
