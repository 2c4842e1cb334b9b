"""Expressions of rewards as text, for recipes and the command line. Their syntax tree is walked, and no code is evaluated."""

import ast
import operator
from collections.abc import Callable
from typing import Any

from .expressions import Reward
from .options import column
from .registry import find_factory


OPERATIONS: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def parse(text: str) -> Reward:
    """
    Build the reward that an expression describes. This is the inverse of `str`.

    Args:
        text (`str`):
            An expression such as `"boxed() + 0.2 * tags('think')"`. The parentheses can be left out if a reward has no
            required options.

    Returns:
        [`Reward`]:
            The same reward that the expression gives in Python.

    Raises:
        `ValueError`: the text is not an expression of rewards, or names a reward that is not registered.
        `TypeError`: an option does not exist, is missing, or has the wrong type.

    Example:

    ```python
    >>> from trl_grpo_rewards import parse

    >>> parse("boxed + 0.2 * tags('think')")
    boxed() + 0.2 * tags('think')

    ```
    """
    if not isinstance(text, str):
        raise TypeError(
            f"parse() requires a text, such as \"boxed() + 0.2 * tags('think')\"; got {text!r}, a "
            f"{type(text).__name__}. Use a reward without parse()."
        )
    text = text.strip()
    try:
        try:
            tree = read_tree(text)
        except SyntaxError:
            text = " ".join(text.splitlines())  # a recipe may break lines anywhere
            tree = read_tree(text)
        if isinstance(tree.body, ast.Tuple):
            raise SyntaxError("a comma is outside a call, and numbers are written with a point")
        value = read_node(tree.body, text)
    except (SyntaxError, UnicodeEncodeError, RecursionError, MemoryError) as error:
        too_deep = "it is nested too deeply or has too many terms"  # a MemoryError of Python's parser, too
        problem = getattr(error, "msg", None) or getattr(error, "reason", too_deep)
        raise ValueError(
            f"The rewards {text!r:.500} are not a valid expression: {problem}. Write a sum of calls, such as "
            f"\"boxed() + 0.2 * tags('think')\"."
        ) from None
    if not isinstance(value, Reward):
        raise syntax_error(tree.body, text, "is not a reward")
    return value


def read_tree(text: str) -> ast.Expression:
    try:
        return ast.parse(text, mode="eval")
    except ValueError as error:  # of null bytes, before Python 3.11.4
        raise SyntaxError(str(error)) from None


def read_node(node: ast.expr, text: str) -> Any:
    """Return the value of a node: a reward, a number, a string, None, a column, or a tuple or dict of these."""
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name):
            return read_bare_name(node, name, text)
        case ast.Call(func=ast.Name(id=name)):
            return read_column(node, text) if name == "column" else read_reward_call(node, name, text)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(read_node(item, text) for item in items)
        case ast.Dict() if all(node.keys):
            return read_option_dict(node, text)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return compute(node, operator.neg, text, operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATIONS:
            return compute(node, OPERATIONS[type(op)], text, left, right)
    raise syntax_error(node, text, "cannot be read")


def read_option_dict(node: ast.Dict, text: str) -> dict[Any, Any]:
    pairs = zip(filter(None, node.keys), node.values, strict=True)
    return {read_node(key, text): read_node(value, text) for key, value in pairs}


def read_bare_name(node: ast.expr, name: str, text: str) -> Reward:
    """Return the reward of a name, which needs no options. Names of YAML's constants are refused."""
    if name in ("true", "false", "none", "null"):
        written = {"null": "None"}.get(name, name.capitalize())
        raise syntax_error(node, text, f"must be written as in Python: {written}")
    return find_factory(name)()


def read_column(node: ast.Call, text: str) -> Any:
    match node:
        case ast.Call(args=[ast.Constant(value=str() as name)], keywords=[]):
            return column(name)
    raise syntax_error(node, text, "does not name a column, as column('rubric') does")


def read_reward_call(node: ast.Call, name: str, text: str) -> Reward:
    """Return the reward that a call builds. Options must be written out, not as `**options`."""
    if not all(keyword.arg for keyword in node.keywords):
        raise syntax_error(node, text, "cannot be read")
    options = {keyword.arg: read_node(keyword.value, text) for keyword in node.keywords if keyword.arg}
    if len(options) < len(node.keywords):
        raise syntax_error(node, text, "has an option twice")
    factory = find_factory(name)
    return factory(*(read_node(argument, text) for argument in node.args), **options)


def compute(node: ast.expr, operation: Callable[..., Any], text: str, *operands: ast.expr) -> Any:
    values = [read_node(operand, text) for operand in operands]
    try:
        if all(isinstance(value, Reward) or type(value) in (int, float) for value in values):
            return operation(*values)
    except OverflowError:  # such as 10**400 + 0.5
        pass
    raise syntax_error(node, text, "cannot be computed")


def syntax_error(node: ast.expr, text: str, problem: str) -> ValueError:
    part = ast.get_source_segment(text, node) or text
    return ValueError(
        f"In the expression {text!r:.500}, {part!r:.500} {problem}. Rewards are calls with numbers, strings, columns, tuples and dicts. They "
        f"can be added, multiplied by each other and multiplied by numbers: \"boxed() + 0.2 * tags('think')\"."
    )
