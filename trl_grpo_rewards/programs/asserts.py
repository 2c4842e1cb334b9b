"""
Rewrites asserts as calls whose values are compared outside. Works on the syntax tree; nothing is evaluated.

`assert f(1) == 2` becomes the call `f(1)` with the accepted value 2. An assert stays as it is if the value that it
expects is not a constant, or if it uses names that change between asserts. Such asserts together are one weak case.
"""

import ast
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import TypeGuard

from .assert_forms import rewrite_test
from .cases import CallCase, UnreadableTests, WeakCase


MAX_TEST_CHARS = 1_000_000
"""Maximum length of the Python code of one row's tests, in characters."""

PROGRAM_MODULE = "solution"
"""Name of the module that the program is loaded as. Tests may import from it."""


@dataclass
class RewrittenAsserts:
    """
    Python tests after rewriting.

    Args:
        calls (`list[CallCase]`):
            The asserts that were rewritten.
        setup (`str`):
            Imports, assignments and helper functions of the tests, which run after the program and before a call.
        weak ([`WeakCase`], *optional*):
            The asserts that were not rewritten, with everything that they need.
    """

    calls: list[CallCase]
    setup: str
    weak: WeakCase | None


def rewrite_asserts(source: str, entry_point: str | None = None) -> RewrittenAsserts:
    """
    Rewrite the asserts at the top level, in `check(candidate)`, and in functions without parameters named `test...`.

    Args:
        source (`str`):
            Python code.
        entry_point (`str`, *optional*):
            Name of the function that `check` gets. It is not needed if the code calls `check` itself.

    Raises:
        [`UnreadableTests`]: the code is not valid or too long, has no assert, or needs pytest or an entry point.
    """
    try:
        if len(source) > MAX_TEST_CHARS:
            raise ValueError(f"they have {len(source)} characters, and at most {MAX_TEST_CHARS} are read")
        tree = ast.parse(source)
        return Rewriting(entry_point or find_entry_point(tree), find_own_names(tree)).rewrite(tree)
    except UnreadableTests:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableTests(
            f"Tests must be Python code; these cannot be read: {error}. They begin with {source[:100]!r}. Correct them."
        ) from None


@dataclass
class Rewriting:
    """The state of one rewriting."""

    entry_point: str | None
    own_names: set[str]
    calls: list[CallCase] = field(default_factory=list)
    setup: list[ast.stmt] = field(default_factory=list)
    rest: list[ast.stmt] = field(default_factory=list)
    runs: list[ast.stmt] = field(default_factory=list)

    def rewrite(self, tree: ast.Module) -> RewrittenAsserts:
        unstable, first_test = find_unstable_names(tree.body), find_first_test(tree.body)
        for place, statement in enumerate(tree.body):
            if is_foreign_test(statement):
                raise UnreadableTests(
                    f"Tests must be functions, and not methods or coroutines; found {statement.name}. Rewrite "
                    f"them as functions without parameters named test...."
                )
            if isinstance(statement, ast.FunctionDef) and is_test(statement):
                self.rewrite_function(statement, unstable)
            elif isinstance(statement, ast.Assert):
                self.rest += self.rewrite_assert(statement, unstable)
            elif not is_test_call(statement):
                self.rest.append(statement)
                if place < first_test or not isinstance(statement, ast.Expr) and not is_loose_test(statement):
                    self.setup.append(statement)
        weak = self.build_weak_case()
        if not self.calls and not weak:
            raise UnreadableTests(
                "Tests must contain asserts at the top level, in check(candidate) or in functions named test...; found "
                f"none in {ast.unparse(tree)[:100]!r}. Rewrite them as asserts."
            )
        return RewrittenAsserts(self.calls, unparse(select_needed(self.setup, self.calls)), weak)

    def rewrite_assert(self, statement: ast.Assert, unstable: set[str]) -> list[ast.stmt]:
        """Add the calls of an assert. Return the assert if it stays as it is."""
        names = {node.id for node in ast.walk(statement.test) if isinstance(node, ast.Name)}
        calls = None if names & unstable else rewrite_test(statement.test, self.own_names)
        self.calls += calls or []
        return [statement] if calls is None else []

    def rewrite_function(self, function: ast.FunctionDef, unstable: set[str]) -> None:
        """Add the calls of a test function. What remains of the function is called at the end of the weak case."""
        parameters = [one.arg for one in function.args.posonlyargs + function.args.args + function.args.kwonlyargs]
        if len(parameters) != (function.name == "check") or function.decorator_list:
            raise UnreadableTests(
                f"Test functions must have neither parameters nor decorators, except for check(candidate); found "
                f"{function.name}({', '.join(parameters)}). Write the tests without pytest."
            )
        if parameters and not self.entry_point:
            raise UnreadableTests(
                "Tests with check(candidate) need the name of the function to check; found none. Add the column "
                "'entry_point'."
            )
        imports = [one for one in function.body if isinstance(one, ast.Import | ast.ImportFrom)]
        local_names = find_names(one for one in function.body if one not in imports)
        alias = [f"{name} = {self.entry_point}" for name in parameters]
        body = list[ast.stmt]()
        for one in function.body:
            body += self.rewrite_assert(one, unstable | local_names) if isinstance(one, ast.Assert) else [one]
        self.setup += imports + ast.parse("\n".join(alias)).body
        if any(map(has_test, body)):
            function.body = body
            self.rest.append(function)
            self.runs += ast.parse(f"{function.name}({self.entry_point if parameters else ''})").body

    def build_weak_case(self) -> WeakCase | None:
        helpers = {one.name for one in self.rest if isinstance(one, ast.FunctionDef) and has_test(one)}
        if not (self.runs or any(is_loose_test(one) or is_call_of(one, helpers) for one in self.rest)):
            return None  # whatever asserts there are, none would run
        asserts = sum(isinstance(node, ast.Assert) for one in self.rest for node in ast.walk(one))
        names = {node.id for one in self.rest + self.runs for node in ast.walk(one) if isinstance(node, ast.Name)}
        return WeakCase(unparse(self.rest + self.runs), max(asserts, 1), frozenset(names))


def is_test(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return function.name == "check" or function.name.startswith("test")


def is_foreign_test(statement: ast.stmt) -> TypeGuard[ast.ClassDef | ast.AsyncFunctionDef]:
    """Return whether a statement defines tests that only a test framework would run."""
    if isinstance(statement, ast.AsyncFunctionDef):
        return is_test(statement)
    return isinstance(statement, ast.ClassDef) and any(
        isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and is_test(one) for one in statement.body
    )


def is_call_of(statement: ast.stmt, names: Container[str]) -> bool:
    """Return whether a statement is a call of one of these functions."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name in names
    return False


def is_test_call(statement: ast.stmt) -> bool:
    """Return whether a statement only calls a test function, which is called anyway."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name == "check" or name.startswith("test")
    return False


def find_entry_point(tree: ast.Module) -> str | None:
    """Return the name of the function that the code itself calls `check` with."""
    for statement in tree.body:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Name(id="check"), args=[ast.Name(id=name)])):
                return name
    return None


def has_test(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Assert | ast.Raise) for node in ast.walk(statement))


def is_loose_test(statement: ast.stmt) -> bool:
    """Return whether a statement runs asserts where it stands, such as a loop around them."""
    return has_test(statement) and not isinstance(statement, ast.FunctionDef | ast.ClassDef)


def find_names(statements: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements bind, at any depth."""
    return {name for statement in statements for name in list_names(statement)}


def list_names(statement: ast.AST) -> list[str]:
    names = list[str]()
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.append(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.append(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names += [(alias.asname or alias.name).partition(".")[0] for alias in aliases]
    return names


def find_own_names(tree: ast.Module) -> set[str]:
    """Return the names that the tests themselves define, so that calls of them are not calls of the program."""
    return find_names(
        one for one in tree.body if not (isinstance(one, ast.ImportFrom) and one.module == PROGRAM_MODULE)
    )


def find_first_test(body: list[ast.stmt]) -> int:
    """Return the place of the first statement that runs asserts where it stands."""
    return next((place for place, one in enumerate(body) if is_loose_test(one)), len(body))


def find_unstable_names(body: list[ast.stmt]) -> set[str]:
    """Return the names that may have another value, or a changed one, at some assert than after the last statement."""
    definitions = ast.Assert | ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    later = [
        one for one in body[find_first_test(body) :] if not isinstance(one, definitions) and not is_test_call(one)
    ]
    nodes = [node for one in later for node in ast.walk(one)]
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    touched = {node.id for node in nodes if isinstance(node, ast.Name) and node not in called}
    counts = Counter(
        name for one in body if not isinstance(one, ast.Import | ast.ImportFrom) for name in {*list_names(one)}
    )
    return touched | {name for name, count in counts.items() if count > 1}


def select_needed(setup: list[ast.stmt], calls: list[CallCase]) -> list[ast.stmt]:
    """
    Return the statements that the calls need.

    The program could use the others. A reference solution among the tests, for example, would give its answers away.
    """
    needed = {name for case in calls for name in find_mentioned(ast.parse(case.call))}
    kept: list[ast.stmt] = []
    while True:
        chosen = [one for one in setup if needed & find_changed(one)]
        if len(chosen) == len(kept):
            return chosen
        kept = chosen
        needed |= {name for one in chosen for name in find_mentioned(one)}


def find_mentioned(statement: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def find_changed(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds, or whose values it may change."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {*list_names(statement)}
    return {*list_names(statement)} | find_mentioned(statement)


def unparse(statements: list[ast.stmt]) -> str:
    return ast.unparse(ast.Module(statements, []))
