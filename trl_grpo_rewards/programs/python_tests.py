"""Checks before Python tests run that the sandbox has what they need. Works on the syntax tree."""

import ast
import re
import sys
import warnings
from collections.abc import Collection
from typing import TypeAlias

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

PATCHING = ("monkeypatch", "mocker")
"""Fixtures that replace parts of the program."""

ENTRY_POINT = re.compile(r"[^\W\d]\w*(\(\))?(\.[^\W\d]\w*(\(\))?)*")

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def check_python_tests(blocks: tuple[str, ...], entry_point: str | None, packages: Collection[str] | None) -> None:
    """
    Check that Python tests can run as they are written.

    Args:
        blocks (`tuple[str]`):
            Pieces of code that run one after another in one namespace.
        entry_point (`str`, *optional*):
            What `check(candidate)` gets.
        packages (`Collection[str]`, *optional*):
            Modules that tests may import, next to the standard library. If None, imports are not checked.

    Raises:
        [`UnreadableTests`]: they are not valid or too long, cannot do what they need to, or use nothing of a program.
    """
    try:
        check_tree(parse(blocks), entry_point, packages)
    except UnreadableTests:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableTests(
            f"Tests must be Python code; these cannot be read: {error}. They begin with {blocks[0][:100]!r}. Correct them."
        ) from None


def parse(blocks: tuple[str, ...]) -> ast.Module:
    """Return the syntax tree of all blocks. Each must be valid on its own."""
    if (length := sum(map(len, blocks))) > MAX_TEST_CHARS:
        raise ValueError(f"they have {length:,} characters, and at most {MAX_TEST_CHARS:,} are read")
    with warnings.catch_warnings(action="ignore"):  # such as about "\\d"
        return ast.Module([statement for block in blocks for statement in ast.parse(block).body], [])


def check_tree(tree: ast.Module, entry_point: str | None, packages: Collection[str] | None) -> None:
    if packages is not None:
        check_imports(tree, packages)
    check_entry_point(tree, entry_point)
    check_patches(tree)
    check_reach(tree)
    check_fixtures(tree)


def list_outside_try(tree: ast.Module) -> list[ast.AST]:
    """Return the nodes that do not belong to a `try` statement, in which an import may fail."""
    nodes: list[ast.AST] = [tree]
    for node in nodes:  # grows
        nodes.extend(one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.Try | ast.TryStar))
    return nodes


def list_modules(node: ast.AST) -> list[str]:
    """Return the modules that an import statement names."""
    match node:
        case ast.Import(names=aliases):
            return [alias.name for alias in aliases]
        case ast.ImportFrom(module=module, level=level):
            return ["." * level + (module or "")]
    return []


def check_imports(tree: ast.Module, packages: Collection[str]) -> None:
    known = {*sys.stdlib_module_names, PROGRAM_MODULE, "pytest", *packages}
    modules = (name for node in list_outside_try(tree) for name in list_modules(node))
    missing = {name if name.startswith(".") else name.partition(".")[0] for name in modules} - known
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
    if has_candidate(tree) and not entry_point and "check" not in list_called(tree):
        raise UnreadableTests(
            "Tests with check(candidate) need the name of the function to check; found none. Add the column "
            "'entry_point'."
        )


def has_candidate(tree: ast.Module) -> bool:
    """Return whether the tests define `check(candidate)`."""
    return any(isinstance(one, ast.FunctionDef) and one.name == "check" and one.args.args for one in tree.body)


def list_called(tree: ast.Module) -> set[str]:
    """Return the names of functions that the tests call."""
    return {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}


def check_patches(tree: ast.Module) -> None:
    """Refuse uses of `unittest.mock.patch`. Fixtures of pytest that patch are refused in [`check_fixtures`]."""
    nodes = [*ast.walk(tree)]
    imports = [one for one in nodes if isinstance(one, ast.Import | ast.ImportFrom)]
    if not any("mock" in ast.unparse(one) for one in imports):
        return
    names = {alias.asname or alias.name for one in imports for alias in one.names if alias.name == "patch"}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in names or isinstance(node, ast.Attribute) and node.attr == "patch":
            raise UnreadableTests(
                f"Tests must not replace parts of the program; these use {ast.unparse(node)}, which cannot reach into "
                "the program's process. Rewrite them, or remove such rows."
            )


def check_reach(tree: ast.Module) -> None:
    """Refuse what would have to reach into the process of the program: its warnings, its log and modules that it shares."""
    modules = {
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names
    }
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        owners = [one.value for one in targets if isinstance(one, ast.Attribute | ast.Subscript)]
        roots = {ast.unparse(one) for one in owners} & (modules | {"os.environ"}) - {"sys", PROGRAM_MODULE}
        if roots or isinstance(node, ast.Attribute) and node.attr in UNSEEN:
            raise UnreadableTests(
                f"Tests must not need what only the program's process has; these use {ast.unparse(node)[:100]}. Rewrite "
                "them, or remove such rows."
            )


def check_fixtures(tree: ast.Module) -> None:
    """Refuse test functions and fixtures whose parameters are fixtures that the tests do not define."""
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    own = {one.name for one in functions if "fixture" in unparse_decorators(one)}
    called = list_called(tree)
    for function in functions:
        decorators = unparse_decorators(function)
        is_test = function.name.startswith("test") and function.name not in called
        is_left_to_pytest = is_test and (not decorators or "pytest" in decorators)
        allowed = {*FIXTURES, *own, *re.findall(r"\w+", decorators)}  # `parametrize` names parameters
        missing = [name for name in list_required(function) if name not in allowed]
        if missing and (is_left_to_pytest or function.name in own):
            reason = "cannot reach into the program's process" if missing[0] in PATCHING else "is not available"
            raise UnreadableTests(
                f"Tests may use the fixture capsys and fixtures of their own; {function.name}() needs {missing[0]!r}, "
                f"which {reason}. Rewrite the tests without it, or remove such rows."
            )


def list_required(function: Function) -> list[str]:
    """Return the names of the parameters without a default."""
    parameters = function.args.posonlyargs + function.args.args
    return [one.arg for one in parameters[: len(parameters) - len(function.args.defaults)]]


def unparse_decorators(function: Function) -> str:
    return "\n".join(map(ast.unparse, function.decorator_list))
