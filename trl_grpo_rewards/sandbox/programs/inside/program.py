"""A program in the sandbox: the names that it may use without an import, how it is loaded, run as a script, or called."""

import json
import linecache
import math
import os
import sys
import types
from decimal import Decimal
from numbers import Real
from typing import Any


MAX_DECIMAL_BITS = 13_000  # of an integer that is written in digits; Python reads no more than 4300 of these


class ListNode:
    def __init__(self, val: Any = 0, next: "ListNode | None" = None) -> None:
        self.val = val
        self.next = next


class TreeNode:
    def __init__(self, val: Any = 0, left: "TreeNode | None" = None, right: "TreeNode | None" = None) -> None:
        self.val = val
        self.left = left
        self.right = right


def list_node(values: "list[Any]", kind: Any = ListNode) -> Any:
    first = None
    for value in reversed(values):
        node = kind(value)
        node.next = first
        first = node
    return first


def tree_node(values: "list[Any]", kind: Any = TreeNode) -> Any:
    """Return the root of the tree with these values in level order, in which None is a missing node."""
    nodes = [None if value is None else kind(value) for value in values]
    children = iter(nodes[1:])
    for parent in nodes:
        if parent is not None:
            parent.left = next(children, None)
            parent.right = next(children, None)
    return nodes[0] if nodes else None


def list_values(node: Any) -> "list[Any]":
    """Return the values of a linked list. A list that is a circle is cut where it begins again."""
    values = []
    seen = set()
    while node is not None and id(node) not in seen:
        seen.add(id(node))
        values.append(node.val)
        node = node.next
    return values


def tree_values(root: Any) -> "list[Any]":
    """Return the values of a tree in level order, without missing nodes at the end."""
    values = []
    level = [root]
    for node in level:
        values.append(node and node.val)
        level += [node.left, node.right] if node else []
    while values and values[-1] is None:
        values.pop()
    return values


NODES = {  # what LeetCode's programs and tests have
    **{one.__name__: one for one in (ListNode, TreeNode, list_node, tree_node)},
    "is_same_list": lambda one, other: list_values(one) == list_values(other),
    "is_same_tree": lambda one, other: tree_values(one) == tree_values(other),
}

IMPORTS = {
    "usual": "",
    "contest": "\n".join(
        f"from {one} import *" for one in "bisect collections functools heapq itertools math builtins".split()
    ),
    "tests": "from collections import *\nfrom math import inf, isclose, nan, pi",
}
USUAL = "import bisect, collections, functools, heapq, itertools, math, operator, random, re, string, sys"


def import_names(source: str) -> "dict[str, Any]":
    scope: dict[str, Any] = {}
    exec(source, scope)
    del scope["__builtins__"]
    return {**scope, **NODES}


# What stubs take for granted, what contest sites import before a function, and what tests take for granted: names that
# a program has no reason to define.
PRELUDES = {kind: import_names(f"{own}\nfrom typing import *\n{USUAL}") for kind, own in IMPORTS.items()}
PACKAGE_ALIASES = {"np": "numpy", "pd": "pandas"}  # packages by the names that everybody gives them


def select_names(kind: str, code: types.CodeType) -> "dict[str, Any]":
    """Return what code uses of a prelude. To copy all of it would cost more than a small program."""
    prelude = PRELUDES[kind]
    codes = [code]
    found: dict[str, Any] = {}
    for one in codes:  # grows
        found.update((name, prelude[name]) for name in one.co_names if name in prelude)
        codes.extend(inner for inner in one.co_consts if isinstance(inner, types.CodeType))
    return found


def load_program(source: str, name: str, kind: "str | None" = None, without: str = "") -> types.ModuleType:
    """Run a program as a module that can be imported, where dataclasses look it up. It has the names of a prelude but one."""
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = "program.py"
    linecache.cache["program.py"] = len(source), None, source.splitlines(True), "program.py"
    code = compile(source, "program.py", "exec", dont_inherit=True)
    vars(module).update(select_names(kind, code) if kind else ())
    vars(module).pop(without, None)
    exec(code, vars(module))
    return module


def lift_limits(digits: int) -> None:
    """Set the maximum number of digits of an integer as text; 0 removes the limit. Older versions of Python have none."""
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(digits)


def reserve_output() -> int:
    """Return a descriptor of standard output, and let whatever is printed go to standard error."""
    reserved = os.dup(1)
    os.dup2(2, 1)
    return reserved


def run_once(program: str, function: "str | None") -> None:
    """Run a program as a script, or call its function with the JSON list on standard input, and write the answer."""
    lift_limits(0)
    if function is None:
        load_program(program, "__main__")
        return
    answers = reserve_output()
    arguments = json.load(sys.stdin)
    # what was imported, such as `factorial`, must not pass
    scope = vars(load_program(program, "solution", "contest", without=function))
    answer = json.dumps(call(resolve_function(scope, function), arguments, scope if "Node" in program else None))
    with os.fdopen(answers, "w") as stream:
        stream.write(answer)
    os._exit(0)  # skips the program's exit handlers and threads


def resolve_function(scope: "dict[str, Any]", name: str) -> Any:
    """Return a method of a new `Solution` object if the class has it, else the function of the program."""
    solution = scope.get("Solution")
    return getattr(solution(), name) if solution and hasattr(solution, name) else scope[name]


def call(function: Any, arguments: "list[Any]", scope: "dict[str, Any] | None") -> "dict[str, Any]":
    """Return `{"value": ...}`, with `"first"` for None. With a scope, annotations say whether a list stands for nodes."""
    hints, returned = read_hints(function) if scope else ([], "")
    for place, hint in enumerate(hints[: len(arguments)]):
        arguments[place] = build_nodes(arguments[place], hint, scope)
    answer = {"value": convert_nodes(function(*arguments), returned)}
    if answer["value"] is None and arguments:
        answer["first"] = convert_nodes(arguments[0], "".join(hints[:1]))
    return answer


def read_hints(function: Any) -> "tuple[list[str], str]":
    import inspect  # only here, because it takes 5 ms

    signature = inspect.signature(function)
    return [str(one.annotation) for one in signature.parameters.values()], str(signature.return_annotation)


def build_nodes(value: Any, hint: str, scope: Any) -> Any:
    """Return a list, or each list in it, as the nodes that an annotation mentions."""
    kind = next((name for name in ("ListNode", "TreeNode") if name in hint), None)
    if not kind or not isinstance(value, list):
        return value
    own = scope.get(kind, NODES[kind])
    build = NODES["list_node" if kind == "ListNode" else "tree_node"]
    return [build(one, own) for one in value] if "list[" in hint.lower() else build(value, own)


def convert_nodes(value: Any, hint: str) -> Any:
    """Return a value as in [`convert`]. None is an empty list where the annotation mentions nodes."""
    if "Node" in hint and isinstance(value, list):
        return [convert_nodes(one, hint) for one in value]
    return [] if "Node" in hint and value is None else convert(value)


def convert(value: Any) -> Any:  # noqa: C901 - a case for each kind of value
    """Return a value as JSON can hold it; one without a counterpart is an object with a key such as `dict` or `int`."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value) if int.bit_length(value) <= MAX_DECIMAL_BITS else {"int": int.__format__(value, "x")}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": float.__repr__(value)}
    if isinstance(value, (list, tuple)):
        return [convert(one) for one in value]
    if isinstance(value, dict) and all(isinstance(key, (str, int, float, type(None))) for key in value):
        pairs = [(convert_key(key), convert(one)) for key, one in value.items()]
        return {"dict": dict(pairs)} if len(dict(pairs)) == len(pairs) else {"object": "dict"}
    if type(value).__name__ in ("ListNode", "TreeNode"):
        return convert(list_values(value) if hasattr(value, "next") else tree_values(value))
    if getattr(value, "shape", None) == ():  # a scalar of numpy
        return convert(value.item())
    if isinstance(value, (Decimal, Real)):
        return convert(convert_number(value))
    return {"object": type(value).__name__}


def convert_key(key: Any) -> str:
    return key if isinstance(key, str) else json.dumps(key)


def convert_number(number: Any) -> Any:
    """Return a fraction, a decimal or the like as an int if it is one, else as the nearest float."""
    try:
        whole = int(number)
    except (ValueError, OverflowError):  # NaN or an infinity
        return float(number)
    return whole if whole == number else float(number)
