"""
Runs a program as a script, or calls one of its functions. The source of this file is sent to a back end with one call.

The program can read and change everything here, so nothing in this process decides whether it passes.
"""

import json
import math
import os
import sys
from decimal import Decimal
from numbers import Real
from types import ModuleType
from typing import Any

from .dialogue import lift_limits, reserve_output
from .prelude import NODES, list_values, select_names, tree_values


MAX_BITS = 13_000
"""Largest integer that is written in decimal digits, in bits. Python reads no more than 4300 digits by default."""


def run_script(program: str) -> None:
    lift_limits(0)
    exec(compile(program, "program.py", "exec", dont_inherit=True), start_module("__main__"))


def answer_call(program: str, function: str) -> None:
    """Call a function of a program with the JSON list on standard input, and write `{"value": ...}`, with `"first"` for None."""
    lift_limits(0)
    answers = reserve_output()
    arguments = json.load(sys.stdin)
    scope = start_module("solution")
    code = compile(program, "program.py", "exec", dont_inherit=True)
    scope.update(select_names("contest", code))
    scope.pop(function, None)  # what was imported, such as `factorial`, must not pass
    exec(code, scope)
    answer = json.dumps(call(resolve_function(scope, function), arguments, scope if "Node" in program else None))
    with os.fdopen(answers, "w") as stream:
        stream.write(answer)
    os._exit(0)  # skips the program's exit handlers and threads


def start_module(name: str) -> "dict[str, Any]":
    """Return the namespace of a new module that can be imported. Dataclasses look up their module by its name."""
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__file__ = "program.py"
    return sys.modules[name].__dict__


def resolve_function(scope: "dict[str, Any]", name: str) -> Any:
    """Return a method of a new `Solution` object if the class has it, else the function of the program."""
    solution = scope.get("Solution")
    return getattr(solution(), name) if solution and hasattr(solution, name) else scope[name]


def call(function: Any, arguments: "list[Any]", scope: "dict[str, Any] | None") -> "dict[str, Any]":
    """Return the answer to a call. If there is a scope, annotations are read, which say whether a list stands for nodes."""
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


def convert(value: Any) -> Any:
    """Return a value as JSON can hold it; one without a counterpart is an object with a key such as `dict` or `int`."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value) if int.bit_length(value) <= MAX_BITS else {"int": int.__format__(value, "x")}
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
