"""Score an answer to a task of reasoning-gym by the rule of its generator.

This runs in the jail, because several rules evaluate the answer as Python. A task is JSON text, with marks for what JSON
does not have: some rules distinguish a tuple from a list.
"""

import ast
import builtins
import contextlib
import json
import math
import sys
from typing import Any


EVALUATE = builtins.eval

TUPLE, PAIRS = "__tuple__", "__pairs__"
"""Keys that mark a tuple, and a dict whose keys are not all texts."""

ARITHMETIC = {"abs", "max", "min", "pow", "round", "sum"}
"""Built-in functions that an answer may call."""

MAKERS = {"Symbol", "Function", "Integer", "Float", "Rational"}
"""What sympy wraps the names and numbers of an expression in, as calls with a text."""


def write_task(entry: dict) -> str:
    """Return a task as JSON text, from which [`read_task`] makes an equal one."""
    return json.dumps(pack(entry))


def read_task(text: str) -> dict:
    """Return a task from JSON text. A `ValueError` says what it lacks."""
    entry: dict = json.loads(text, object_hook=restore)
    metadata = entry.get("metadata") if isinstance(entry, dict) else None
    if not isinstance(metadata, dict) or "answer" not in entry or not isinstance(metadata.get("source_dataset"), str):
        raise ValueError("it has no 'answer', or no 'source_dataset' in its 'metadata'")
    return entry


def pack(value: Any) -> Any:
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: pack(item) for key, item in value.items()}
        return {PAIRS: [[pack(key), pack(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {TUPLE: [pack(item) for item in value]}
    return [pack(item) for item in value] if isinstance(value, list) else value


def restore(value: dict) -> Any:
    if value.keys() == {TUPLE}:
        return tuple(value[TUPLE])
    return dict(value[PAIRS]) if value.keys() == {PAIRS} else value


def evaluate(source: Any, *namespaces: Any) -> Any:
    """
    Evaluate an expression in place of `eval`. It may hold values and, given a namespace, calls and names from it.

    Otherwise an answer could read the solution, which is in a local variable of the rule, or write the score itself.
    """
    tree = ast.parse(source, mode="eval")
    texts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(
            node, (ast.Attribute, ast.JoinedStr, ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)
        ):
            raise ValueError("an answer must not contain code")
        if isinstance(node, ast.Name) and (not namespaces or node.id in vars(builtins).keys() - ARITHMETIC):
            raise ValueError("an answer must not name " + node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
            texts.update(map(id, node.args))
        elif (
            namespaces
            and isinstance(node, ast.Constant)
            and isinstance(node.value, (str, bytes))
            and id(node) not in texts
        ):
            raise ValueError("an answer must not contain a text")
    return EVALUATE(compile(tree, "answer", "eval"), *namespaces)


def score(entry: dict, answer: Any) -> float:
    """Return the score of an answer by the rule of the task's generator."""
    from reasoning_gym.factory import DATASETS

    make, configure = DATASETS[entry["metadata"]["source_dataset"]]
    paid = float(make(configure(**entry.get("config", {}))).score_answer(answer, entry))
    if not math.isfinite(paid):
        raise ValueError(f"the score {paid} is not finite")
    return paid


def main() -> None:
    """Read a task and an answer from standard input, and write the score, or why the rule cannot score the task."""
    request = json.load(sys.stdin)
    vars(builtins)["eval"] = evaluate  # the rules and sympy look it up there
    with contextlib.redirect_stdout(sys.stderr):  # rules print remarks
        reply = reply_to(request["task"], request["answer"])
    sys.stdout.write(json.dumps(reply))


def reply_to(task: str, answer: str) -> dict:
    try:
        entry = read_task(task)
        return {"score": score(entry, answer)}
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    with contextlib.suppress(Exception):
        entry = read_task(task)
        if entry["answer"] is not None:
            score(entry, entry["answer"])  # the rule can score the task, so the answer has no sense
            return {"score": 0.0}
    return {"problem": problem}
