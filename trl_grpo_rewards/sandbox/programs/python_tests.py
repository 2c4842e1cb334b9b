"""What Python tests use of a program, and whether they can run apart from it, found in their syntax tree."""

import ast
import builtins
import contextlib
import re
import sys
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, get_origin

from .inside.dialogue import GIVEN
from .inside.plain_data import PLAIN_METHODS
from .inside.program import NODES, PACKAGE_ALIASES, PRELUDES


MAX_TEST_CHARS = 1_000_000  # longer ones take seconds to parse
FIXTURES = ("self", "cls", "capsys")  # next to fixtures and parameters of the tests themselves

# Attributes by which tests look at warnings and logs, which stay in the process that writes them.
UNSEEN = frozenset(
    "assertWarns assertWarnsRegex assertLogs assertNoLogs warns deprecated_call catch_warnings simplefilter".split()
)

RUNNING = ("eval", "exec", "compile", "__import__")
RUNNING_MODULES = ("pickle", "marshal", "dill", "shelve", "doctest", "runpy")  # and functions that run texts
ENTRY_POINT = re.compile(r"[^\W\d]\w*(\(\))?(\.[^\W\d]\w*(\(\))?)*")
GUARDED = {*vars(builtins), *PRELUDES["tests"]}  # a program may define them, but tests do not get these

# The classes among them. If tests use an attribute that such a class lacks, they mean a class of the program.
GUARDED_CLASSES = {
    name: get_origin(one) or one for name, one in PRELUDES["tests"].items() if name[0].isupper() and name not in NODES
}

LIBRARY = {*PACKAGE_ALIASES, *sys.stdlib_module_names}  # modules that tests may mean without an import of theirs
FUNCTION_NODES = ast.FunctionDef | ast.AsyncFunctionDef
Nodes: TypeAlias = list[ast.AST]


class UnreadableTests(ValueError):
    """Raised when the tests of a row cannot be read. The message says what was expected, what was found and what to do."""

    is_doubtful = False  # whether the program may have led the tests to what cannot be judged


@dataclass(frozen=True)
class PythonTests:
    """Tests that are Python code. They run unchanged, each block after the one before it, in one namespace."""

    blocks: tuple[str, ...]
    entry_point: str | None = None  # what `check(candidate)` gets: a function, or a path such as `Solution().twoSum`


def check_python_tests(blocks: tuple[str, ...], entry_point: str | None, packages: Collection[str] | None) -> None:
    """Check that Python tests can run as they are written. Their imports are not checked if the packages are unknown."""
    try:
        if (length := sum(map(len, blocks))) > MAX_TEST_CHARS:
            raise ValueError(f"they have {length:,} characters, and at most {MAX_TEST_CHARS:,} are read")
        with warnings.catch_warnings(action="ignore"):  # such as about "\\d"
            nodes = [node for block in blocks for node in ast.walk(ast.parse(block))]
        obstacle = next(list_obstacles(nodes, entry_point, packages), None)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        obstacle = f"Tests must be Python code; these cannot be read: {error}. They begin with {blocks[0][:100]!r}. Correct them."
    if obstacle:
        raise UnreadableTests(obstacle)


def list_obstacles(nodes: Nodes, entry_point: str | None, packages: Collection[str] | None) -> Iterator[str]:
    trees = [node for node in nodes if isinstance(node, ast.Module)]
    called = list_called(nodes)
    needed = {name for tree in trees for name in list_needed(tree)}
    if packages is not None and (missing := needed - {*sys.stdlib_module_names, GIVEN, "pytest", *packages}):
        wanted = {*packages, *(name for name in missing if not name.startswith("."))}
        yield (
            f"The tests import {', '.join(sorted(missing))}, which programs cannot import. Set "
            f"packages={tuple(sorted(wanted))} if this is an installed package. If it is the program, import it from "
            f"{GIVEN!r}."
        )
    if entry_point and not ENTRY_POINT.fullmatch(entry_point):
        yield (
            f"An entry point must be a name such as 'add' or 'Solution().add'; found {entry_point!r}. Correct the column "
            "'entry_point'."
        )
    statements = [node for tree in trees for node in tree.body]
    checks = [
        statement
        for statement in statements
        if isinstance(statement, ast.FunctionDef) and statement.name == "check" and statement.args.args
    ]
    if checks and not entry_point and "check" not in called:
        yield "Tests with check(candidate) need the name of the function to check; found none. Add the column 'entry_point'."
    for node in list_reaching(nodes, statements):
        yield (
            f"Tests must not replace parts of the program, need its warnings and logs, or run its texts; these use "
            f"{ast.unparse(node)[:100]}, but run in another process. Rewrite them, or remove such rows."
        )
    for function, fixture in list_foreign_fixtures(nodes, called):
        yield (
            f"Tests may use the fixture capsys and fixtures of their own; {function}() needs {fixture!r}. Rewrite the "
            "tests without it, or remove such rows."
        )


def list_needed(tree: ast.AST) -> Iterator[str]:
    """Yield the modules that tests import outside of `try` statements, in which an import may fail."""
    nodes = [tree]
    for node in nodes:  # grows
        nodes.extend(one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.Try | ast.TryStar))
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "") if node.level else str(node.module).partition(".")[0]


def list_called(nodes: Iterable[ast.AST]) -> set[str]:
    return {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}


def list_reaching(nodes: Nodes, own: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield what would reach into the process of the program, or run a text of the program in that of the tests."""
    is_mocking = any("mock" in ast.unparse(one) for one in nodes if isinstance(one, ast.Import | ast.ImportFrom))
    patches = {name for _, one, name in list_imports(nodes) if is_mocking and one == "patch"}
    shared = {alias.asname or alias.name for one in own if isinstance(one, ast.Import) for alias in one.names}
    shared = (shared | {"os.environ"}) - {"sys", GIVEN}
    calls = [one for one in nodes if isinstance(one, ast.Call) and one.args and isinstance(one.args[0], ast.Constant)]
    constant = [one.func for one in calls]
    for node in nodes:
        match node:
            case ast.Name(id=name):
                is_refused = name in patches or name in RUNNING and node not in constant
            case ast.Import() | ast.ImportFrom():
                is_refused = not {*list_needed(node)}.isdisjoint(RUNNING_MODULES)
            case ast.Attribute(value=owner, attr=name):
                is_refused = name in UNSEEN or is_mocking and name == "patch"
                is_refused |= name in RUNNING and ast.unparse(owner) == "builtins"
            case ast.Assign(targets=targets):
                owners = [one.value for one in targets if isinstance(one, ast.Attribute | ast.Subscript)]
                is_refused = not shared.isdisjoint(map(ast.unparse, owners))
            case _:
                continue
        if is_refused:
            yield node


def list_foreign_fixtures(nodes: Nodes, called: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the test functions and fixtures with a parameter that is a fixture which the tests do not define."""
    functions = {
        node: "\n".join(map(ast.unparse, node.decorator_list)) for node in nodes if isinstance(node, FUNCTION_NODES)
    }
    fixtures = {one.name for one, text in functions.items() if "fixture" in text}
    for function, text in functions.items():
        is_test = function.name.startswith("test") and function.name not in called
        if is_test and (not text or "pytest" in text) or function.name in fixtures:
            parameters = [one.arg for one in function.args.posonlyargs + function.args.args]
            required = parameters[: len(parameters) - len(function.args.defaults)]
            provided = {*FIXTURES, *fixtures, *re.findall(r"\w+", text)}  # `parametrize` names parameters
            yield from ((function.name, name) for name in required if name not in provided)


@dataclass(frozen=True)
class Use:
    """What Python tests use."""

    names: list[str]  # that they may have from the program
    own: list[str]  # names that the program must define, because nobody else does
    classes: list[str]  # names that they use as classes
    members: list[str]  # attributes that they use of such names, as in `Calculator.add(1, 2)`
    modules: dict[str, list[str]]  # of the library that they use without an import, with the attributes that they use
    names_stop: bool  # whether they speak of StopIteration
    called: list[str]  # functions that are called where the code stands, so that they are not called again
    are_tests: list[bool]  # for each block of code whether it tests something where it stands


@lru_cache(maxsize=4096)
def find_use(tests: PythonTests) -> Use:
    trees = [ast.parse(block) for block in tests.blocks]
    entry = ast.parse(tests.entry_point or "")
    nodes = [node for tree in [*trees, entry] for node in ast.walk(tree)]
    bound = {*list_bound(nodes)}
    imports = [*list_imports(nodes)]
    imported = {name for module, _, name in imports if module == GIVEN}
    spelled = nodes
    with contextlib.suppress(SyntaxError):
        spelled = [*ast.walk(ast.parse(spell_names("\n".join(tests.blocks), imports)))] if imported else nodes
    made = dict(list_made(spelled))
    classes = find_classes(spelled, made)
    used = {node.id for node in nodes if isinstance(node, ast.Name) and not node.id.startswith("__")}
    used -= {name for module, _, name in imports if module != GIVEN}
    free = used - bound - GUARDED
    owners = free | imported | {name for name, kind in made.items() if not kind or kind in classes}
    attributes = [(node.value, node.attr) for node in nodes if isinstance(node, ast.Attribute)]
    modules: dict[str, list[str]] = {}
    for owner, name in attributes:
        if isinstance(owner, ast.Name) and owner.id in (free & LIBRARY) - imported:
            modules.setdefault(owner.id, []).append(name)
    entries = {node.id for node in ast.walk(entry) if isinstance(node, ast.Name)}
    taken = {name for module, *pair in imports if module == GIVEN for name in pair if name != "*"}
    taken |= {name for owner, name in attributes if (GIVEN, GIVEN, getattr(owner, "id", "")) in imports}
    lacking = {name for name, one, _ in list_attributes(nodes, made) if not hasattr(GUARDED_CLASSES.get(name), one)}
    ours = used - GUARDED - bound | used & (taken | lacking & GUARDED_CLASSES.keys() - bound) | entries
    others = used - GUARDED if ours else used  # `sum` only if nothing else can be what is tested
    names = ours | taken & classes | others
    needed = names - bound - ({*modules} - {*PACKAGE_ALIASES}) | entries | taken
    return Use(
        sorted(names),
        sorted(needed),
        sorted(classes),
        sorted(imported | {name for owner, name in attributes if ast.unparse(owner) in owners}),
        modules,
        "StopIteration" in used,
        sorted(list_called(node for tree in trees for node in walk_here(tree.body))),
        find_tested(trees, needed),
    )


def spell_names(code: str, imports: Iterable[tuple[str | None, str, str]]) -> str:
    """Write what tests import from the program as the program does: `Stack` for `solution.Stack` and for another name."""
    for module, one, name in imports:
        if module == GIVEN and name.isidentifier():
            code = re.sub(rf"\b{name}\s*\.\s*", "", code) if one == GIVEN else re.sub(rf"\b{name}\b", one, code)
    return code


def list_bound(nodes: Nodes) -> Iterator[str]:
    """Yield the names that the tests themselves give to something, apart from imports."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def list_imports(nodes: Iterable[ast.AST]) -> Iterator[tuple[str | None, str, str]]:
    """Yield the module, the name and the name in the tests of everything that they import."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield getattr(node, "module", alias.name), alias.name, (alias.asname or alias.name).partition(".")[0]


def list_made(nodes: Nodes) -> Iterator[tuple[str, str]]:
    """Yield what the tests make by a call, as `stack` or `self.stack`, with the name that they call; fixtures have none."""
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=ast.Call() | ast.BinOp() as value):
                yield from ((ast.unparse(target), name) for target in targets for name in list_operands(value, {}))
            case (
                ast.AnnAssign(target=target, value=ast.Call(func=ast.Name(id=name)))
                | ast.withitem(context_expr=ast.Call(func=ast.Name(id=name)), optional_vars=ast.expr() as target)
            ):
                yield ast.unparse(target), name
            case ast.FunctionDef(name=name, decorator_list=[one, *_]) if "fixture" in ast.unparse(one):
                yield name, ""


def list_attributes(nodes: Nodes, made: dict[str, str]) -> Iterator[tuple[str, str, bool]]:
    """Yield the attributes of names, and of what is made by a call of these, and whether they are set."""
    for node in nodes:
        if isinstance(node, ast.Attribute):
            owner = node.value.func if isinstance(node.value, ast.Call) else node.value
            name = made.get(ast.unparse(owner), getattr(owner, "id", ""))
            yield name, node.attr, isinstance(node.ctx, ast.Store)


def list_operands(node: ast.AST, made: dict[str, str]) -> Iterator[str]:
    match node:
        case ast.BinOp(left=left, right=right):
            yield from (name for one in (left, right) for name in list_operands(one, made))
        case ast.Call(func=ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name))):
            yield name
        case ast.Name() | ast.Attribute():
            yield from filter(None, [made.get(ast.unparse(node))])


def find_operands(node: ast.AST) -> tuple[list[ast.expr], bool]:
    """Return what a node adds or compares, and whether it asks if they are equal."""
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right], False
        case ast.Compare(left=left, ops=signs, comparators=others):
            return [left, *others], not isinstance(signs[0], ast.In | ast.NotIn)
        case ast.Call(func=function, args=arguments):  # such as `self.assertEqual(Clock(1) + 3, Clock(4))`
            return arguments[:2], ast.unparse(function).endswith("Equal")
    return [], False


def find_classes(nodes: Nodes, made: dict[str, str]) -> set[str]:
    """Return the names that tests use as classes of the program. `candidate` is what `check` gets."""
    found = set[str]()
    perhaps = set[str]()
    plain = set[str]()
    for name, one, is_set in list_attributes(nodes, made):
        (found if is_set or one not in PLAIN_METHODS else perhaps).add(name)
    for node in nodes:
        operands, is_equality = find_operands(node)
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            perhaps.update(list_operands(node.value, made))
        names = Counter(name for one in operands for name in list_operands(one, made))
        if any(isinstance(one, ast.BinOp) for one in (node, *operands)):
            perhaps |= {name for name, count in names.items() if count > 1}
        has_call = [
            any(isinstance(part, ast.Call) or ast.unparse(part) in made for part in ast.walk(one)) for one in operands
        ]
        if is_equality and not all(has_call):
            plain |= {*names}
    found |= perhaps - plain  # what must equal plain data may come from a function such as `Find_Max`
    for node in nodes if "candidate" in found else []:
        match node:
            case ast.Call(func=ast.Name(id="check"), args=[ast.Name(id=name)]) | ast.Expr(value=ast.Name(id=name)):
                found.add(name)
    return {name for name in found if name[:1].isupper() or name == "candidate"}


def walk_here(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes of code, without what is inside of definitions and imports."""
    waiting: Nodes = [*body]
    for node in waiting:  # grows
        yield node
        if not isinstance(node, FUNCTION_NODES | ast.ClassDef | ast.Import | ast.ImportFrom):
            waiting.extend(ast.iter_child_nodes(node))


def find_tested(trees: list[ast.Module], own: set[str]) -> list[bool]:
    """Return for each block whether it tests something where it stands, by itself or by a function of the tests."""
    definitions = [
        node for tree in trees for node in ast.walk(tree) if isinstance(node, FUNCTION_NODES | ast.ClassDef)
    ]
    names = {*own}
    while more := {one.name for one in definitions if any(is_testing(node, names) for node in ast.walk(one))} - names:
        names |= more
    return [any(is_testing(node, names) for node in walk_here(tree.body)) for tree in trees]


def is_testing(node: ast.AST, names: set[str]) -> bool:
    """Return whether a node asserts, raises, or calls something with one of the names."""
    if isinstance(node, ast.Call):
        called = getattr(node.func, "attr", "")
        used = (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
        return called.startswith("assert") or called == "fail" or not names.isdisjoint(used)
    return isinstance(node, ast.Assert | ast.Raise)
