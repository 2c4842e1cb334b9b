"""Runs inside the sandbox, in the process of the program. Its source is sent to a back end, followed by one call.

The program can read and change everything here, so nothing that decides a verdict is in this process, except in weak
tests. It must run on Python 3.8, without this package.
"""

import builtins
import json
import os
import sys
from collections.abc import Callable
from types import FunctionType, GeneratorType, ModuleType
from typing import Any


SEQUENCES: "dict[str, Any]" = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
ITERATORS = (GeneratorType, enumerate, filter, map, range, reversed, zip)


def run_script(program: str) -> None:
    """Run a program as a script. It reads and writes the standard streams."""
    lift_limits()
    run_source(program, "program.py", start_module("__main__"))


def answer_call(program: str, imports: str, setup: str) -> None:
    """Run a program, evaluate the call that standard input asks for, and write its value as JSON."""
    lift_limits()
    answers = reserve_output()
    call, _, arguments = read_all(0).decode().partition("\n")
    module = load_program(program, imports, setup)
    value = eval(call, module.__dict__, {"arguments": json.loads(arguments)})
    write_all(answers, json.dumps(encode_value(value)).encode())
    os._exit(0)  # exit handlers and threads of the program do not run any more


def run_tests(program: str, imports: str, setup: str, tests: str, names: "list[str]") -> None:
    """
    Run a program and then tests in the same process. If they pass, copy the secret from standard input to the output.

    The secret stays in the pipe until then, so neither frames nor memory contain it. A program that searches the open
    descriptors does find it. This is why these tests are weak.
    """
    lift_limits()
    # the program cannot replace what is in local variables
    answers, secret, read, write, leave, execute = reserve_output(), hide_input(), os.read, os.write, os._exit, exec
    code, own_builtins, seal_own = (
        compile(tests, "tests.py", "exec", dont_inherit=True),
        dict(vars(builtins)),
        seal_names,
    )
    scope = seal_own(load_program(program, imports, ""), setup, names)
    scope.update({"__builtins__": own_builtins, "__name__": "__main__"})
    execute(code, scope)
    write(answers, read(secret, 1000))
    leave(0)


def seal_names(module: ModuleType, setup: str, names: "list[str]") -> "dict[str, Any]":
    """Run the setup. Return the namespace for tests, in which the functions of the program return plain data."""
    own = {id(value) for value in module.__dict__.values() if callable(value)}
    run_source(setup, "setup.py", module.__dict__)
    scope = dict(module.__dict__)
    for name in names:
        if id(scope.get(name)) in own and not (isinstance(scope[name], type) and name[:1].isupper()):
            scope[name] = seal(scope[name])
    return scope


def lift_limits() -> None:
    """Allow integers of any length as text. Older versions of Python have no such limit."""
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)


def start_module(name: str) -> "dict[str, object]":
    """Return the namespace of a new module that can be imported. Dataclasses look up their module by its name."""
    sys.modules[name] = ModuleType(name)
    return sys.modules[name].__dict__


def run_source(source: str, file: str, scope: "dict[str, object]") -> None:
    exec(compile(source, file, "exec", dont_inherit=True), scope)


def load_program(program: str, imports: str, setup: str) -> ModuleType:
    """Run the program as the module `solution`, so that its main guard is closed."""
    scope = start_module("solution")
    run_source(imports, "imports.py", scope)
    run_source(program, "program.py", scope)
    run_source(setup, "setup.py", scope)
    return sys.modules["solution"]


def reserve_output() -> int:
    """Return a descriptor of standard output, and let whatever the program prints go to standard error."""
    reserved = os.dup(1)
    os.dup2(2, 1)
    return reserved


def hide_input() -> int:
    """Return a descriptor of standard input, and leave the program an empty one."""
    reserved = os.dup(0)
    reading, writing = os.pipe()
    os.close(writing)
    os.dup2(reading, 0)
    os.close(reading)
    return reserved


def read_all(descriptor: int) -> bytes:
    parts = []
    while True:
        parts.append(os.read(descriptor, 1 << 20))
        if not parts[-1]:
            return b"".join(parts)


def write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def encode_value(value: object, level: int = 0) -> object:
    """
    Return plain data in a form that JSON can hold without loss. Objects of subclasses become plain data.

    Raises:
        `TypeError`: the value is not plain data.
        `ValueError`: it has more than 100 levels.
    """
    if level > 100:
        raise ValueError("The value must have at most 100 levels.")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return ["int", int.__format__(value, "x")]
    if isinstance(value, float):
        return ["float", float.hex(value)]
    if isinstance(value, complex):
        return ["complex", [encode_value(value.real), encode_value(value.imag)]]
    if isinstance(value, bytes):
        return ["bytes", bytes.hex(value)]
    if isinstance(value, dict):
        pairs = list(dict.items(value))
        return ["dict", [[encode_value(key, level + 1), encode_value(one, level + 1)] for key, one in pairs]]
    for name, kind in SEQUENCES.items():
        if isinstance(value, kind):
            return [name, [encode_value(one, level + 1) for one in kind.__iter__(value)]]
    raise TypeError(f"The value must be plain data, such as a number, a text or a list; got {type(value).__name__}.")


def seal(function: "Callable[..., object]") -> "Callable[..., object]":
    """Return a function whose results are plain data."""
    return lambda *args, **kwargs: seal_value(function(*args, **kwargs))


def seal_value(value: Any) -> object:
    """Return a value as plain data. A function becomes one that returns plain data, and an iterator gives plain data."""
    if isinstance(value, FunctionType):
        return seal(value)
    if type(value) in ITERATORS:
        return map(seal_value, value)
    return rebuild_value(encode_value(value))


def rebuild_value(encoded: Any) -> Any:
    """Return the plain data that was encoded."""
    if not isinstance(encoded, list):
        return encoded
    name, content = encoded
    if name == "dict":
        return {rebuild_value(key): rebuild_value(one) for key, one in content}
    if name == "complex":
        return complex(*map(rebuild_value, content))
    if name in SEQUENCES:
        return SEQUENCES[name](map(rebuild_value, content))
    return {"int": lambda text: int(text, 16), "float": float.fromhex, "bytes": bytes.fromhex}[name](content)
