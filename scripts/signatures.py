"""Signatures of functions and classes as Markdown, from their source, so that types read as they were written."""

import ast
import inspect
import re
import sys
from typing import Any


QUOTED_TYPE = re.compile(r"(: |-> )'([^']+)'")  # a type that is written as a text because its module is not imported


def format_call(name: str, arguments: ast.arguments, returns: str = "") -> str:
    """Return a signature as code, with an argument per line if it is long."""
    parts = [one for one in split_arguments(ast.unparse(arguments)) if one not in ("self", "cls")]
    line = f"{name}({', '.join(parts)}){returns}"
    if len(line) > 76:
        line = f"{name}(\n" + "".join(f"    {one},\n" for one in parts) + f"){returns}"
    line = QUOTED_TYPE.sub(r"\1\2", line)
    return f"```python\n{line}\n```\n\n"


def split_arguments(text: str) -> list[str]:
    """Split the source of arguments at its outer commas."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            parts.append("")
        elif character == "=" and not depth and ":" in parts[-1]:
            parts[-1] += " = "
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def find_definition(value: Any) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef:
    """Return the last definition of a function or class in its module, which is the one without `@overload`."""
    tree = ast.parse(inspect.getsource(sys.modules[value.__module__]))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node for node in ast.walk(tree) if isinstance(node, kinds) and node.name == value.__name__][-1]


def describe_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the signature of a function, or nothing for a property."""
    if any(ast.unparse(one) == "property" for one in node.decorator_list):
        return ""
    start = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return format_call(start + node.name, node.args, f" -> {ast.unparse(node.returns)}" if node.returns else "")
