"""What Python tests use of a program and which tests they run themselves, found in their syntax tree once for a row."""

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import get_origin

from .cases import CallCase, PythonTests, RowTests
from .inside.dialogue import GIVEN
from .inside.plain_data import PLAIN_METHODS
from .inside.prelude import NODES, PACKAGES, PRELUDES


GUARDED = {*vars(builtins), *PRELUDES["tests"]}
"""Names that a program may define and that tests do not get from it, unless they are what is tested."""

GUARDED_CLASSES = {
    name: get_origin(one) or one for name, one in PRELUDES["tests"].items() if name[0].isupper() and name not in NODES
}
"""Those of them that are classes. A class of which tests use an attribute that it lacks is one of the program."""

LIBRARY = {*PACKAGES, *sys.stdlib_module_names}
"""Names of modules that tests have even if they do not import them, as they mean them by their attributes."""

DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Use:
    """What Python tests use."""

    names: list[str]
    """Names that they may have from the program."""

    own: list[str]
    """Names that the program must define, because nobody else does."""

    classes: list[str]
    """Those that they use as classes."""

    members: list[str]
    """Attributes that they use of such names, as in `Calculator.add(1, 2)`."""

    modules: dict[str, list[str]]
    """Modules of the library that they use without an import, with the attributes that they use."""

    names_stop: bool
    """Whether they speak of StopIteration."""

    called: list[str]
    """Names of functions that are called where the code stands, so that they are not called again."""

    are_tests: list[bool]
    """For each block of code whether it tests something where it stands."""


@lru_cache(maxsize=4096)
def find_use(tests: PythonTests) -> Use:
    """Return what tests use. Their blocks must be valid Python code."""
    trees = [ast.parse(block) for block in tests.blocks]
    entry = ast.parse(tests.entry_point or "")
    nodes = [node for tree in [*trees, entry] for node in ast.walk(tree)]
    called = {name for tree in trees for name in list_early_calls(tree.body)}
    bound, made, classes = {*list_bound(nodes)}, dict(list_made(nodes)), find_classes(nodes)
    own, others = ({*list_imports(nodes, of_program)} for of_program in (True, False))
    used = {node.id for node in nodes if isinstance(node, ast.Name) and not node.id.startswith("__")} - others
    free = used - bound - GUARDED
    owners = free | own | {name for name, kind in made.items() if not kind or kind in classes}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    members = own | {node.attr for node in attributes if ast.unparse(node.value) in owners}
    modules: dict[str, list[str]] = {}
    for node in attributes:
        if isinstance(node.value, ast.Name) and node.value.id in (free & LIBRARY) - own:
            modules.setdefault(node.value.id, []).append(node.attr)
    entries = {node.id for node in ast.walk(entry) if isinstance(node, ast.Name)}
    taken = {*list_taken(nodes)}
    lacking = {name for name, one, _ in list_attributes(nodes, made) if not hasattr(GUARDED_CLASSES.get(name), one)}
    ours = used - GUARDED - bound | used & (taken | lacking & GUARDED_CLASSES.keys() - bound) | entries
    names = ours | (used - GUARDED if ours else used)  # `sum` only if nothing else can be what is tested
    needed = names - bound - ({*modules} - {*PACKAGES}) | entries | taken
    return Use(
        sorted(names),
        sorted(needed),
        sorted(classes),
        sorted(members),
        modules,
        names_stop="StopIteration" in used,
        called=sorted(called),
        are_tests=find_tested(trees, needed),
    )


def list_required(tests: RowTests) -> set[str]:
    """Return the names that tests need from the program. Inputs with their outputs need none."""
    calls = {case.function for case in tests.cases if isinstance(case, CallCase)}
    return calls.union(*(find_use(case).own for case in tests.cases if isinstance(case, PythonTests)))


def list_bound(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the names that the tests themselves give to something, apart from imports."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def list_imports(nodes: list[ast.AST], of_program: bool) -> Iterator[str]:
    """Yield the names that the tests import from the program, or from anywhere else."""
    for node in nodes:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for one in names:
                    if (getattr(node, "module", one.name) == GIVEN) == of_program:
                        yield (one.asname or one.name).partition(".")[0]


def list_made(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield what the tests make by a call, as `stack` or `self.stack`, with the name that they call; fixtures have none."""
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=ast.Call() | ast.BinOp() as value):
                yield from ((ast.unparse(target), name) for target in targets for name in list_operands(value, {}))
            case ast.AnnAssign(target=target, value=ast.Call(func=ast.Name(id=name))):
                yield ast.unparse(target), name
            case ast.withitem(context_expr=ast.Call(func=ast.Name(id=name)), optional_vars=ast.expr() as target):
                yield ast.unparse(target), name
            case ast.FunctionDef(name=name, decorator_list=[one, *_]) if "fixture" in ast.unparse(one):
                yield name, ""


def list_attributes(nodes: list[ast.AST], made: dict[str, str]) -> Iterator[tuple[str, str, bool]]:
    """Yield the attributes of names, and of what is made by a call of these, and whether they are set."""
    for node in nodes:
        if isinstance(node, ast.Attribute):
            owner = node.value.func if isinstance(node.value, ast.Call) else node.value
            name = made.get(ast.unparse(owner), getattr(owner, "id", ""))
            yield name, node.attr, isinstance(node.ctx, ast.Store)


def list_operands(node: ast.AST, made: dict[str, str]) -> Iterator[str]:
    """Yield the names that are called for the operands of an expression."""
    match node:
        case ast.BinOp(left=left, right=right):
            yield from list_operands(left, made)
            yield from list_operands(right, made)
        case ast.Call(func=ast.Name(id=name)):
            yield name
        case ast.Name() | ast.Attribute():
            yield from filter(None, [made.get(ast.unparse(node))])


def is_plain(node: ast.AST, made: dict[str, str]) -> bool:
    """Return whether an expression calls nothing, and is not what a call has made."""
    return not any(isinstance(one, ast.Call) or ast.unparse(one) in made for one in ast.walk(node))


def find_classes(nodes: list[ast.AST]) -> set[str]:
    """Return the names that tests use as classes of the program. `candidate` is what `check` gets."""
    made = dict(list_made(nodes))
    found, perhaps, plain = set[str](), set[str](), set[str]()
    for name, one, is_set in list_attributes(nodes, made):
        (found if is_set or one not in PLAIN_METHODS else perhaps).add(name)
    for node in nodes:
        operands, is_equality = list[ast.expr](), False
        match node:
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                perhaps.update(list_operands(value, made))
            case ast.BinOp(left=left, right=right):
                operands = [left, right]
            case ast.Compare(left=left, ops=signs, comparators=others):
                operands, is_equality = [left, *others], not isinstance(signs[0], ast.In | ast.NotIn)
            case ast.Call(func=function, args=arguments):  # such as `self.assertEqual(Clock(1) + 3, Clock(4))`
                operands, is_equality = arguments[:2], ast.unparse(function).endswith("Equal")
        names = Counter(name for one in operands for name in list_operands(one, made))
        if any(isinstance(one, ast.BinOp) for one in (node, *operands)):
            perhaps |= {name for name, count in names.items() if count > 1}
        if is_equality and any(is_plain(one, made) for one in operands):
            plain |= {*names}
    found |= perhaps - plain  # what must equal plain data may come from a function such as `Find_Max`
    for node in nodes if "candidate" in found else []:
        match node:
            case ast.Call(func=ast.Name(id="check"), args=[ast.Name(id=name)]) | ast.Expr(value=ast.Name(id=name)):
                found.add(name)
    return {name for name in found if name[:1].isupper() or name == "candidate"}


def list_early_calls(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names of the functions that are called where the code stands."""
    for node in (node for one in body if not isinstance(one, DEFINITIONS) for node in ast.walk(one)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def list_taken(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the names of the program that tests import, and the names that they give to it."""
    for node in nodes:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                taken = [one for one in names if getattr(node, "module", one.name) == GIVEN]
                yield from (name for one in taken for name in (one.name, one.asname) if name and name != "*")
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module == GIVEN:
                yield name


def find_tested(trees: list[ast.Module], own: set[str]) -> list[bool]:
    """Return for each block whether it tests something where it stands: it asserts, raises or calls the program."""
    calling = {"assert", *own}  # also functions of the tests that do so, and what is made by the program
    links = [link for tree in trees for node in ast.walk(tree) for link in list_links(node, own)]
    while more := {name for name, sources in links if not calling.isdisjoint(sources)} - calling:
        calling |= more
    return [not calling.isdisjoint(list_callers(tree.body, own)) for tree in trees]


def list_links(node: ast.AST, own: set[str]) -> Iterator[tuple[str, set[str]]]:
    """Yield the names that a node defines, each with those through one of which it calls the program."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name, list_callers(node.body, own)
    value = next((one for name in ("value", "iter", "context_expr") if (one := getattr(node, name, None))), None)
    for target in getattr(node, "targets", [getattr(node, "target", getattr(node, "optional_vars", None))]):
        if value and target:
            yield from ((name, list_sources(value)) for name in list_sources(target))


def list_sources(value: ast.AST) -> set[str]:
    """Return the names that a value is made of. Of a call, this is what is called, but no argument."""
    part = value.func if isinstance(value, ast.Call) else value
    return {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}


def list_callers(body: list[ast.stmt], own: set[str]) -> set[str]:
    """Return what is called where code stands, also by the names of methods, and what of the program is passed to a call."""
    found, waiting = set[str](), list[ast.AST](body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, DEFINITIONS | ast.Import | ast.ImportFrom):
            waiting.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = [*node.args, *(one.value for one in node.keywords)]
            found |= {"assert" if name.startswith("assert") or name == "fail" else name, *list_sources(node.func)}
            found |= {one.id for one in given if isinstance(one, ast.Name)} & own
        if isinstance(node, ast.Assert | ast.Raise) or "assert" in found:
            return {"assert"}
    return found
