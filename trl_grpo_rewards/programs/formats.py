"""
Reads the tests of a row, in the formats that datasets have. They are recognised by shape.

| shape | known from |
|---|---|
| `{"test_cases": [...]}` or a list of `{"input": ..., "output": ..., "type": ..., "fn_name": ...}` | open-r1, PrimeIntellect |
| `{"inputs": [...], "outputs": [...], "fn_name": ...}` | APPS, TACO, LiveCodeBench |
| a list of asserts, or `{"test_list": [...], "test_setup_code": ...}` | MBPP |
| Python code, or `{"test": ..., "entry_point": ...}` | HumanEval |

Each may also be JSON text. Nothing is unpickled or evaluated.
"""

import ast
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..text.json_schemas import read_json
from .asserts import rewrite_asserts
from .blocks import list_names
from .cases import CallCase, Case, OutputCase, RowTests, UnreadableTests
from .inside import encode_value


COMPANION_COLUMNS = ("entry_point", "fn_name", "test_setup_code", "test_imports", "language", "metadata")
"""Columns that belong to a column with tests, if a dataset has them next to it."""

MAX_LITERAL_CHARS = 1_000_000
"""Maximum length of a column that is read as Python literals, in characters. JSON may be longer, and is read faster."""

MODULES = "import bisect, collections, functools, heapq, itertools, math, operator, random, re, string, sys"
IMPORTS = f"from typing import *\n{MODULES}\n"
"""What programs may use without an import: the names of types in stubs, and the usual modules."""

CONTEST_IMPORTS = f"""
from bisect import *
from collections import *
from functools import *
from heapq import *
from itertools import *
from math import *
from builtins import *
{IMPORTS}"""
"""What contest sites import before a function, and their stubs rely on."""


def read_tests(value: Any, companions: Mapping[str, Any] | None = None, *, language: str = "python") -> RowTests:
    """
    Read the tests of one row.

    Args:
        value (`dict`, `list` or `str`):
            Value of the column with the tests.
        companions (`Mapping[str, Any]`, *optional*):
            The row's values of the [`COMPANION_COLUMNS`] that the dataset has. What `value` itself says goes first.
        language (`str`, *optional*, defaults to `"python"`):
            Language of the programs. Only Python can be tested by calls and asserts.

    Raises:
        [`UnreadableTests`]: the tests have no known shape, or are not tests of a program in this language.

    Example:

    ```python
    >>> from trl_grpo_rewards.programs.formats import read_tests

    >>> print(read_tests('{"inputs": ["1 2", "3 4"], "outputs": ["3", "7"]}'))
    2 inputs with their outputs
    >>> print(read_tests(["assert add(1, 2) == 3", "assert add(1, 2) != add(2, 2)"]))
    1 call, 1 weak test

    ```
    """
    tests = read_cases(value, companions or {}, language)
    if language != "python" and not all(isinstance(case, OutputCase) for case in tests.cases):
        raise UnreadableTests(
            f"Programs in {language} must be tested by inputs with their outputs; found {tests}. Remove such rows."
        )
    return replace(tests, language=language)


def read_cases(value: Any, companions: Mapping[str, Any], language: str) -> RowTests:
    """Read the tests of one row in any format, for programs in a language that the row may name."""
    context = drop_none(companions)
    value = parse_column(value)
    while isinstance(value, dict):
        context |= {name: one for name, one in drop_none(value).items() if name in COMPANION_COLUMNS}
        inner = next((name for name in CONTAINERS if value.get(name)), None)
        if inner is None:
            break
        value = parse_column(value[inner])
    check_language(context, language)
    match value:
        case str() if value.strip():
            return read_code([value], context)
        case list() if value and all(isinstance(one, str) for one in value):
            return read_code(value, context)
        case list() if value and all(is_case(one) for one in value):
            return build_tests([(one["input"], one["output"], context | drop_none(one)) for one in value])
        case {"inputs": list(inputs), "outputs": list(outputs)} if inputs and len(inputs) == len(outputs):
            return build_tests([(*pair, context) for pair in zip(inputs, outputs, strict=True)])
    raise UnreadableTests(
        "Tests must be inputs with their outputs, calls with their results, or asserts; found "
        f"{describe(value)}. The documentation of code() shows the formats."
    )


CONTAINERS = (
    "verification_info",
    "test_cases",
    "input_output",
    "unit_tests",
    "ground_truth",
    "tests",
    "test_list",
    "test",
)
"""Names under which a dict has the tests themselves."""


def parse_column(value: Any) -> Any:
    """Return the value that a JSON text stands for, or the value itself. Python's notation is read as well."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return read_json(value)
    except (ValueError, RecursionError) as error:
        try:
            if len(value) > MAX_LITERAL_CHARS:
                raise error
            return ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            raise UnreadableTests(
                f"Tests in a text must be JSON; this one cannot be read: {error}. It begins with {value[:100]!r}. "
                f"Correct the column."
            ) from None


def drop_none(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without the columns that are empty. A dataset has all columns in all rows."""
    return {name: value for name, value in row.items() if value is not None}


def check_language(context: Mapping[str, Any], language: str) -> None:
    found = context.get("language") or language
    if not isinstance(found, str) or found.lower() not in list_names(language):
        raise UnreadableTests(
            f"Only programs in {language} are run; found language={found!r}. Remove such rows, or use route() with a "
            f"code(language=...) for each language."
        )


def is_case(value: Any) -> bool:
    return isinstance(value, dict) and "input" in value and "output" in value


def describe(value: Any) -> str:
    if isinstance(value, dict):
        return f"a dict with {', '.join(map(repr, [*value][:8])) or 'nothing'}"
    if isinstance(value, list):
        return f"a list of {len(value)}, which begins with {describe(value[0])}" if value else "an empty list"
    return f"{type(value).__name__} {str(value)[:100]!r}"


def read_code(lines: list[str], context: Mapping[str, Any]) -> RowTests:
    """Read Python code with asserts, and what its columns want to run before it."""
    imports = context.get("test_imports") or []
    before = [*([imports] if isinstance(imports, str) else imports), context.get("test_setup_code") or ""]
    rewritten = rewrite_asserts("\n".join([*before, *lines]), context.get("entry_point"))
    return RowTests((*rewritten.calls, *filter(None, [rewritten.weak])), IMPORTS, rewritten.setup)


def build_tests(pairs: list[tuple[Any, Any, Mapping[str, Any]]]) -> RowTests:
    """Build the tests from inputs and outputs, each with what is known about it."""
    names = [find_function(context) for _, _, context in pairs]
    cases: list[Case] = [
        read_call(name, one, other) if name else OutputCase(join_lines(one), join_lines(other))
        for name, (one, other, _) in zip(names, pairs, strict=True)
    ]
    functions = dict.fromkeys(filter(None, names))
    # an imported function of the same name, such as `factorial`, must not pass the tests
    removals = "".join(f"globals().pop({name!r}, None)\n" for name in functions)
    setup = "".join(
        f"if hasattr(globals().get('Solution'), {name!r}): {name} = Solution().{name}\n" for name in functions
    )
    return RowTests(tuple(cases), f"{CONTEST_IMPORTS}{removals}" if functions else "", setup)


def find_function(context: Mapping[str, Any]) -> str | None:
    """Return the name of the function that a case calls, or None if it is a run of the whole program."""
    kind = str(context.get("type") or context.get("testtype") or "")
    metadata = parse_column(context.get("metadata"))
    name = context.get("fn_name") or (metadata.get("func_name") if isinstance(metadata, dict) else None)
    if kind.startswith("stdin") or not (name or kind):
        return None
    if not isinstance(name, str) or not name.isidentifier():
        raise UnreadableTests(
            f"Tests of the type {kind or 'function'!r} need the name of a function; found {name!r}. Add the column 'fn_name'."
        )
    return name


def join_lines(value: Any) -> str:
    """Return a text, which may be given as a list of lines."""
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return str(value)
    raise UnreadableTests(
        f"Inputs and outputs of a program must be texts; found {describe(value)}. If they are arguments and results of a "
        f"function, add the column 'fn_name'."
    )


def read_call(name: str, arguments: Any, result: Any) -> CallCase:
    """
    Read the call of a function. Arguments are a list, or a text with the JSON of one argument on each line.

    APPS puts some results into a list of one. So if the arguments are a list, such a result is accepted with and without
    the list.
    """
    try:
        if isinstance(arguments, str):
            arguments = [read_json(line) for line in arguments.strip().split("\n")]
            accepted = (read_json(result) if isinstance(result, str) else result,)
        elif isinstance(arguments, list):
            accepted = (result, *(result if isinstance(result, list) and len(result) == 1 else ()))
        else:
            raise ValueError(f"found {describe(arguments)}")
        for one in accepted:
            encode_value(one)  # raises an error for what a result can never be
        return CallCase(f"{name}(*arguments)", accepted, json.dumps(arguments), as_json=True)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnreadableTests(
            f"Arguments of {name}() must be a list, or a text with the JSON of one argument on each line, and its result "
            f"must be plain data: {error}. Correct the column."
        ) from None
