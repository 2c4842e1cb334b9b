"""The names that programs and tests may use without an import, and LeetCode's nodes. All is looked up before a program runs."""

import types
from typing import Any


class ListNode:
    def __init__(self, val: Any = 0, next: "ListNode | None" = None) -> None:
        self.val, self.next = val, next


class TreeNode:
    def __init__(self, val: Any = 0, left: "TreeNode | None" = None, right: "TreeNode | None" = None) -> None:
        self.val, self.left, self.right = val, left, right


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
            parent.left, parent.right = next(children, None), next(children, None)
    return nodes[0] if nodes else None


def list_values(node: Any) -> "list[Any]":
    """Return the values of a linked list. A list that is a circle is cut where it begins again."""
    values, seen = [], set()
    while node is not None and id(node) not in seen:
        seen.add(id(node))
        values.append(node.val)
        node = node.next
    return values


def tree_values(root: Any) -> "list[Any]":
    """Return the values of a tree in level order, without missing nodes at the end."""
    values, level = [], [root]
    for node in level:
        values.append(node and node.val)
        level += [node.left, node.right] if node else []
    while values and values[-1] is None:
        values.pop()
    return values


NODES = {
    **{one.__name__: one for one in (ListNode, TreeNode, list_node, tree_node)},
    "is_same_list": lambda one, other: list_values(one) == list_values(other),
    "is_same_tree": lambda one, other: tree_values(one) == tree_values(other),
}
"""What LeetCode's programs and tests have."""

USUAL = """
from typing import *
import bisect, collections, functools, heapq, itertools, math, operator, random, re, string, sys
"""
CONTEST = """
from bisect import *
from collections import *
from functools import *
from heapq import *
from itertools import *
from math import *
from builtins import *
"""
TESTS = """
from collections import *
from math import inf, isclose, nan, pi
"""


def import_names(source: str) -> "dict[str, Any]":
    scope: dict[str, Any] = {}
    exec(source, scope)
    del scope["__builtins__"]
    return {**scope, **NODES}


PRELUDES = {
    "usual": import_names(USUAL),
    "contest": import_names(CONTEST + USUAL),
    "tests": import_names(TESTS + USUAL),
}
"""What stubs take for granted, what contest sites import before a function, and what tests take for granted: names that a
program has no reason to define."""

PACKAGES = {"np": "numpy", "pd": "pandas"}  # packages by the names that everybody gives them


def select_names(kind: str, code: types.CodeType) -> "dict[str, Any]":
    """Return what code uses of a prelude. To copy all of it would cost more than a small program."""
    prelude, codes = PRELUDES[kind], [code]
    found: dict[str, Any] = {}
    for one in codes:  # grows
        found.update((name, prelude[name]) for name in one.co_names if name in prelude)
        codes.extend(inner for inner in one.co_consts if isinstance(inner, types.CodeType))
    return found
