"""What tests use of a program, found in their syntax tree: its names, and which of these are classes to them."""

import ast
import builtins
from collections import Counter
from collections.abc import Iterator

from .prelude import MODULES, NODES


GUARDED = {*vars(builtins), *MODULES}
"""Names that a program may define and that tests do not get from it, unless they are what is tested."""


def list_names(nodes: "list[ast.AST]", entry_point: "str | None") -> "list[str]":
    """
    Return the names that tests may have from the program.

    A program may define functions such as `sum` or `abs`. Tests get them only if they are what is tested: the entry point,
    or if the tests use no other name that could be of the program.
    """
    used = {node.id for node in nodes if isinstance(node, ast.Name) and not node.id.startswith("__")}
    entry = [*ast.walk(ast.parse(entry_point))] if entry_point else []
    entries = {node.id for node in entry if isinstance(node, ast.Name)}
    is_builtin_tested = not entries and not used - GUARDED - {*bound_names(nodes)} - {*NODES}
    return sorted((used if is_builtin_tested else used - GUARDED) | entries)


def bound_names(nodes: "list[ast.AST]") -> "Iterator[str]":
    """Yield the names that the tests themselves give to something."""
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)


def list_operands(node: ast.AST) -> "Iterator[str]":
    """Yield the names that are called for the operands of an expression."""
    if isinstance(node, ast.BinOp):
        yield from list_operands(node.left)
        yield from list_operands(node.right)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield node.func.id


def find_classes(nodes: "list[ast.AST]") -> "set[str]":
    """
    Return the names that tests use as classes of the program: the tests use attributes of their objects, change their
    items, or have operators between two of them. A function such as `Find_Max` is only called.
    """
    made = {
        ast.dump(target, annotate_fields=False).replace("Store", "Load"): node.value.func.id
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
        for target in node.targets
    }
    found = set()
    for node in nodes:
        if isinstance(node, ast.Attribute) or isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            owner = node.value.func if isinstance(node.value, ast.Call) else node.value
            found.add(made.get(ast.dump(owner, annotate_fields=False), getattr(owner, "id", "")))
        elif isinstance(node, (ast.BinOp, ast.Compare)):
            operands = [node.left, *(node.comparators if isinstance(node, ast.Compare) else [node.right])]
            counts = Counter(name for one in operands for name in list_operands(one))
            found |= {name for name, count in counts.items() if count > 1}
    return {name for name in found if name[:1].isupper()}
