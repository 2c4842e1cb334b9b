"""The names that programs and tests may use without an import. They are looked up once, before any program runs."""

import types
from typing import Any

from . import nodes


USUAL = """
from typing import *
import bisect, collections, functools, heapq, itertools, math, operator, random, re, string, sys
"""
"""What stubs take for granted: the names of types, and the usual modules."""

CONTEST = f"""
from bisect import *
from collections import *
from functools import *
from heapq import *
from itertools import *
from math import *
from builtins import *
{USUAL}
"""
"""What contest sites import before a function."""

TESTS = f"""
from collections import *
from math import inf, isclose, nan, pi
{USUAL}
"""
"""What tests take for granted: names that a program has no reason to define."""


def import_names(source: str) -> "dict[str, Any]":
    scope: dict[str, Any] = {}
    exec(source, scope)
    del scope["__builtins__"]
    return scope


NODES = {
    name: getattr(nodes, name)
    for name in ("ListNode", "TreeNode", "list_node", "tree_node", "is_same_list", "is_same_tree")
}
"""What LeetCode's programs and tests have."""

PRELUDES = {
    name: {**import_names(source), **NODES}
    for name, source in (("usual", USUAL), ("contest", CONTEST), ("tests", TESTS))
}

PACKAGES = {"np": "numpy", "pd": "pandas"}
"""Packages by the names that everybody gives them."""


def select_names(kind: str, code: types.CodeType) -> "dict[str, Any]":
    """Return what code uses of a prelude. To copy all of it would cost more than a small program."""
    prelude, codes = PRELUDES[kind], [code]
    found: dict[str, Any] = {}
    for one in codes:  # grows
        found.update((name, prelude[name]) for name in one.co_names if name in prelude)
        codes.extend(inner for inner in one.co_consts if isinstance(inner, types.CodeType))
    return found
