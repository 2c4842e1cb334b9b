"""Text to reward: the same expression in Python, in a recipe and on the command line.

Reads calls, bare names, numbers, strings, None, True, False, tuples, lists, dicts, `+`, `-` and `*`. It walks the
syntax tree; nothing is evaluated.
"""

import ast
import operator
from typing import Any

from .expressions import Reward
from .registry import find


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def parse(text: str) -> Reward:
    """
    The reward that an expression builds: the inverse of `str`.

    Args:
        text (`str`):
            For instance `"boxed() + 0.2 * tags('think')"`. A reward without required options may stand without
            parentheses.

    Returns:
        [`Reward`]:
            The same value that the expression gives in Python.

    Raises:
        `ValueError`: the text is not an expression of rewards, or names one that is not registered.
        `TypeError`: an option does not exist, is missing, or has the wrong type.

    Example:

    ```python
    >>> from trl_grpo_rewards import parse

    >>> parse("boxed + 0.2 * tags('think')")
    boxed() + 0.2 * tags('think')

    ```
    """
    text = text.strip()
    try:
        try:
            tree = ast.parse(text, mode="eval")
        except SyntaxError:
            text = " ".join(text.splitlines())  # a recipe may break it anywhere
            tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise ValueError(
            f"The rewards {text!r} are not an expression: {error.msg}. "
            f"Write a sum of calls, such as \"boxed() + 0.2 * tags('think')\"."
        ) from None
    value = build(tree.body, text)
    if not isinstance(value, Reward):
        raise refused(tree.body, text, "is no reward")
    return value


def build(node: ast.expr, text: str) -> Any:
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name):
            return find(name)()
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if all(k.arg for k in keywords):
            return find(name)(*(build(a, text) for a in args), **{k.arg: build(k.value, text) for k in keywords})
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(build(item, text) for item in items)
        case ast.Dict(keys=keys, values=values) if all(keys):
            return {build(k, text): build(v, text) for k, v in zip(keys, values, strict=True)}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -number_or_reward(operand, text)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return combined(node, OPERATORS[type(op)], build(left, text), build(right, text), text)
    raise refused(node, text, "cannot be read")


def number_or_reward(node: ast.expr, text: str) -> Any:
    value = build(node, text)
    if isinstance(value, (str, bool, tuple, dict)) or value is None:
        raise refused(node, text, "has no negative")
    return value


def combined(node: ast.expr, operation: Any, left: Any, right: Any, text: str) -> Any:
    try:
        if all(isinstance(side, Reward) or type(side) in (int, float) for side in (left, right)):
            return operation(left, right)
    except TypeError:  # the two are no terms and weights of each other
        pass
    raise refused(node, text, "is no arithmetic of rewards")


def refused(node: ast.expr, text: str, why: str) -> ValueError:
    part = ast.get_source_segment(text, node) or text
    return ValueError(
        f"In the rewards {text!r}, {part!r} {why}. Rewards are calls, numbers, strings, tuples and dicts; they are "
        f"added to each other and multiplied by numbers: \"boxed() + 0.2 * tags('think')\"."
    )
