"""The forms of an assert that can be rewritten as calls with the values that they accept."""

import ast
import builtins
from typing import Any

from .cases import CallCase
from .literals import read_literal


BUILTINS = frozenset(dir(builtins))

VIEWS = frozenset(
    {"abs", "dict", "float", "frozenset", "int", "len", "list", "max", "min", "set", "sorted", "str", "sum", "tuple"}
)
"""Builtin functions that a test may apply to a result. With one argument, they say nothing about what is expected."""


def rewrite_test(test: ast.expr, own_names: set[str]) -> list[CallCase] | None:
    """
    Return the calls that an assert makes, with the values that they accept, or None if it has another form.

    A call never contains what is expected. A test of truth is rewritten only if it is a single call, because the
    expected value may be an argument, as in `is_close(f(1), 0.5)`.

    Args:
        test (`ast.expr`):
            The condition of the assert.
        own_names (`set[str]`):
            Names that the tests define. Calls of them are not calls of the program.
    """
    match test:
        case ast.Constant(value=True):
            return []
        case ast.BoolOp(op=ast.And(), values=values):
            parts = [rewrite_test(value, own_names) for value in values]
            return [case for part in parts for case in part or ()] if None not in parts else None
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            case = rewrite_comparison(left, op, right, own_names)
        case ast.Call(args=[left, right]) if ast.unparse(test.func) in ("math.isclose", "isclose"):
            case = rewrite_isclose(left, right, test.keywords, own_names)
        case ast.UnaryOp(op=ast.Not(), operand=operand) if is_single_call(operand, own_names):
            case = CallCase(ast.unparse(test), (True,))
        case _ if is_single_call(test, own_names):
            case = CallCase(f"not not {ast.unparse(test)}", (True,))
        case _:
            return None
    return None if case is None else [case]


def rewrite_comparison(left: ast.expr, op: ast.cmpop, right: ast.expr, own_names: set[str]) -> CallCase | None:
    match op, left:
        case ast.Lt() | ast.LtE(), ast.Call(args=[ast.BinOp(left=one, op=ast.Sub(), right=other)], keywords=[]):
            if ast.unparse(left.func) in ("abs", "fabs", "math.fabs") and is_number(tolerance := read(right)):
                return rewrite_closeness(one, other, tolerance, own_names)
        case ast.In(), _ if is_view(left, own_names) and isinstance(accepted := read(right), list | tuple | set):
            return CallCase(ast.unparse(left), tuple(accepted))
        case ast.Eq() | ast.Is(), _:
            for view, constant in ((left, right), (right, left)):
                expected = read(constant)
                if not is_view(view, own_names) or expected is UNKNOWN:
                    continue
                if isinstance(op, ast.Is) and expected not in (None, True, False):
                    continue
                if not isinstance(expected, bool) or is_single_call(view, own_names):
                    return CallCase(ast.unparse(view), (expected,))
    return None


def rewrite_closeness(one: ast.expr, other: ast.expr, tolerance: float, own_names: set[str]) -> CallCase | None:
    for view, constant in ((one, other), (other, one)):
        if is_view(view, own_names) and is_number(expected := read(constant)):
            return CallCase(ast.unparse(view), (expected,), tolerance=tolerance)
    return None


def rewrite_isclose(
    left: ast.expr, right: ast.expr, keywords: list[ast.keyword], own_names: set[str]
) -> CallCase | None:
    options = {"rel_tol": 1e-9, "abs_tol": 0.0} | {str(keyword.arg): read(keyword.value) for keyword in keywords}
    expected = read(right) if is_view(left, own_names) else read(left)
    if len(options) > 2 or not all(map(is_number, (expected, *options.values()))):
        return None
    return rewrite_closeness(left, right, max(options["rel_tol"] * abs(expected), options["abs_tol"]), own_names)


UNKNOWN = object()
"""What an expression that is not a constant is read as."""


def read(node: ast.expr) -> Any:
    try:
        return read_literal(node)
    except ValueError:
        return UNKNOWN


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_view(node: ast.expr, own_names: set[str]) -> bool:
    """Return whether an expression is a call of the program, or a part or property of its result."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in VIEWS and is_view(
            inner, own_names
        ):
            return True
        case ast.Call(func=ast.Name(id="round"), args=[inner, places], keywords=[]) if is_view(inner, own_names):
            return isinstance(read(places), int)
        case ast.Subscript(value=inner, slice=index):
            parts = [index.lower, index.upper, index.step] if isinstance(index, ast.Slice) else [index]
            return is_view(inner, own_names) and all(part is None or read(part) is not UNKNOWN for part in parts)
        case ast.Attribute(value=inner):
            return is_view(inner, own_names)
    return is_call(node, own_names)


def is_call(node: ast.expr, own_names: set[str]) -> bool:
    """Return whether an expression calls a function of the program, or a method of a new object of one of its classes."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            # a program may define a function such as `sum`, but `int(f(1) == 2)` is a comparison
            return name not in own_names and (name not in BUILTINS or is_plain(node))
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id=name)))):
            return name not in own_names and name[:1].isupper()
    return False


def is_single_call(node: ast.expr, own_names: set[str]) -> bool:
    """Return whether an expression is a call of the program whose arguments contain neither calls nor comparisons."""
    return isinstance(node, ast.Call) and is_call(node, own_names) and is_plain(node)


def is_plain(call: ast.Call) -> bool:
    parts = (part for argument in (*call.args, *call.keywords) for part in ast.walk(argument))
    return not any(isinstance(part, ast.Call | ast.Compare) for part in parts)
