"""Reads the tests of a row, in the formats of docs/programs.md, which are recognised by their shape."""

import ast
import base64
import json
import pickle
import pickletools
import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from ...texts import read_json
from .blocks import PYTHON
from .cases import CallCase, OutputCase, RowTests, is_same_data, measure_depth
from .inside.program import convert
from .python_tests import PythonTests, UnreadableTests, check_python_tests


MAX_LITERAL_CHARS = 1_000_000  # of Python literals; JSON may be longer, and is read faster
MAX_UNPACKED_BYTES = 200_000_000  # LiveCodeBench's largest tests have tens of millions
MAX_RESULT_LEVELS = 100  # of an expected value
PACKED = re.compile(r"e[AFJN][A-Za-z0-9+/]{8,}={0,2}")  # base64 of a zlib stream has one of four headers
# Opcodes in the pickle of a string that are not the string
PASSIVE_CODES = ("PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP")
MAX_CODES = 6  # number of opcodes that are read. The pickle of a string has at most five.
CHECKER_COLUMNS = ("checker", "generated_checker")  # columns with a program that judges outputs. It is not run.
# Columns that belong to a column with tests, if a dataset has them next to it.
COMPANION_COLUMNS = (*"entry_point fn_name test_setup_code test_imports language metadata".split(), *CHECKER_COLUMNS)

# Names under which a dict has the tests themselves. MBPP+ has more tests in `test` than in `test_list`.
TEST_KEYS = (
    "verification_info test_cases input_output unit_tests reward_model ground_truth official_tests tests test test_list"
).split()

# Names under which a dict has parts of the tests. All of them count.
PART_KEYS = ("public_test_cases", "private_test_cases", "public_tests", "private_tests", "generated_tests")


def parse_column(value: Any) -> Any:
    """Return the value that a text stands for, or the value itself."""
    if isinstance(value, str) and PACKED.fullmatch(value):
        value = unpack_text(value)
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return read_json(value)
    except (ValueError, RecursionError) as error:
        try:
            if len(value) > MAX_LITERAL_CHARS:
                raise error
            return ast.literal_eval(value.strip())
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            raise UnreadableTests(
                f"Tests in a text must be JSON; this one cannot be read: {error}. It begins with {value[:100]!r}. "
                f"Correct the column."
            ) from None


def unpack_text(text: str) -> str:
    try:
        stream = zlib.decompressobj()
        pickled = stream.decompress(base64.b64decode(text), MAX_UNPACKED_BYTES)
        if not stream.eof:
            raise ValueError(f"it is incomplete, or has more than {MAX_UNPACKED_BYTES:,} bytes")
        codes = [(code.name, argument) for code, argument, _ in islice(pickletools.genops(pickled), MAX_CODES)]
        match [(name, argument) for name, argument in codes if name not in PASSIVE_CODES]:
            case [(name, str(found))] if "UNICODE" in name and len(codes) < MAX_CODES:
                return found
        raise ValueError(f"its pickle has the opcodes {', '.join(name for name, _ in codes)}")
    except (ValueError, zlib.error) as error:
        raise UnreadableTests(
            f"Packed tests must be base64 of a zlib stream with the pickle of one string; this one cannot be read: "
            f"{error}. It begins with {text[:50]!r}. Correct the column."
        ) from None


def describe(value: Any) -> str:
    if isinstance(value, dict):
        return f"a dict with {', '.join(map(repr, [*value][:8])) or 'nothing'}"
    if isinstance(value, list):
        return f"a list of {len(value)}, which begins with {describe(value[0])}" if value else "an empty list"
    return f"{type(value).__name__} {str(value)[:100]!r}"


def read_tests(
    value: Any, companions: Mapping[str, Any] | None = None, *, packages: Collection[str] | None = ()
) -> RowTests:
    """Read the tests of a row from its column and its [`COMPANION_COLUMNS`]. None for packages allows any import."""
    context = drop_none(companions or {})
    value = parse_column(value)
    while isinstance(value, dict):
        context |= {name: one for name, one in drop_none(value).items() if name in COMPANION_COLUMNS}
        inner = next((name for name in TEST_KEYS if value.get(name)), None)
        if inner is None:
            break
        value = parse_column(value[inner])
    language = context.get("language") or "python"
    if not isinstance(language, str) or not PYTHON.fullmatch(language):
        raise UnreadableTests(f"Only programs in Python are run; found language={language!r}. Remove such rows.")
    for name in filter(context.get, CHECKER_COLUMNS):
        raise UnreadableTests(
            f"Outputs are compared with one text; this row has several right ones, which its own checker judges. "
            f"The checker in {name!r} is not run. Remove such rows, or the column if no row needs it."
        )
    lines = [value] if isinstance(value, str) and value.strip() else value
    if isinstance(lines, list) and lines and all(isinstance(one, str) for one in lines):
        return RowTests((read_code(lines, context, packages),))
    parts = [parse_column(value.get(name)) for name in PART_KEYS] if isinstance(value, dict) else []
    parts = [*filter(None, parts)] or [value]
    read = [read_cases(part, context) for part in parts]
    cases = [case for found in read for case in found or ()]
    if None in read or not cases:
        unknown = parts[read.index(None)] if None in read else value
        raise UnreadableTests(
            "Tests must be inputs with their outputs, calls with their results, or Python code; found "
            f"{describe(unknown)}. The documentation of code() shows the formats."
        )
    in_place = is_in_place([case for case in cases if isinstance(case, CallCase)])
    return RowTests(tuple(replace(one, in_place=in_place) if isinstance(one, CallCase) else one for one in cases))


def read_row_tests(
    values: Sequence[Any], columns: Mapping[str, Sequence[Any]], packages: Collection[str] | None
) -> tuple[list[bytes], list[RowTests | UnreadableTests]]:
    """Return a mark for each row, which is equal for equal tests, and its tests or the error about them."""
    known: dict[bytes, RowTests | UnreadableTests] = {}
    companions = [name for name in COMPANION_COLUMNS if name in columns]
    marks = []
    for row, value in enumerate(values):
        context = {name: columns[name][row] for name in companions}
        marks.append(pickle.dumps((value, context)))
        if marks[-1] not in known:
            try:
                known[marks[-1]] = read_tests(value, context, packages=packages)
            except UnreadableTests as error:
                known[marks[-1]] = error
    return marks, [known[mark] for mark in marks]


def drop_none(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without the columns that are empty. A dataset has all columns in all rows."""
    return {name: value for name, value in row.items() if value is not None}


def read_code(lines: list[str], context: Mapping[str, Any], packages: Collection[str] | None) -> PythonTests:
    """Read Python code, and what its columns want to run before it."""
    imports = context.get("test_imports") or []
    before = [*(imports if isinstance(imports, list) else [imports]), context.get("test_setup_code") or ""]
    blocks = tuple(block for block in [*before, *lines] if not isinstance(block, str) or block.strip())
    entry_point = context.get("entry_point") or None
    for text in (*blocks, entry_point or ""):
        if not isinstance(text, str):
            raise UnreadableTests(
                f"Code of tests and the name of a function must be texts; found {describe(text)}. Correct the column."
            )
    check_python_tests(blocks, entry_point, packages)
    return PythonTests(blocks, entry_point)


def read_cases(value: Any, context: Mapping[str, Any]) -> list[OutputCase | CallCase] | None:
    """Read inputs with their outputs, which are a list of pairs or two lists. Other values are None."""
    match value:
        case list() if all(isinstance(one, dict) and "input" in one and "output" in one for one in value):
            return [read_case(one["input"], one["output"], {**context, **drop_none(one)}) for one in value]
        case {"inputs": list(inputs), "outputs": list(outputs)} | {"input": list(inputs), "output": list(outputs)}:
            if len(inputs) == len(outputs):
                return [read_case(*pair, context) for pair in zip(inputs, outputs, strict=True)]
    return None


def read_case(given: Any, expected: Any, context: Mapping[str, Any]) -> OutputCase | CallCase:
    """Read a call if the row names a function, else a run of the whole program."""
    kind = str(context.get("type") or context.get("testtype") or "")
    metadata = parse_column(context.get("metadata"))
    name = context.get("fn_name") or (metadata.get("func_name") if isinstance(metadata, dict) else None)
    if kind.startswith("stdin") or not (name or kind):
        return OutputCase(join_lines(given), join_lines(expected))
    if not isinstance(name, str) or not name.isidentifier():
        raise UnreadableTests(
            f"Tests of the type {kind or 'function'!r} need the name of a function; found {name!r}. Add the column 'fn_name'."
        )
    try:
        return read_call(name, given, expected)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnreadableTests(
            f"Arguments of {name}() must be a list, or a text with the JSON of one argument on each line, and its result "
            f"must be plain data: {error}. Correct the column."
        ) from None


def join_lines(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return str(value)
    raise UnreadableTests(
        f"Inputs and outputs of a program must be texts; found {describe(value)}. If they are arguments and results of a "
        f"function, add the column 'fn_name'."
    )


def read_call(name: str, arguments: Any, result: Any) -> CallCase:
    """Read a call. APPS puts some results into a list of one, so both are accepted if the arguments are a list."""
    if isinstance(arguments, str):
        arguments = [read_json(line) for line in arguments.strip().split("\n")]
        accepted = (read_json(result) if isinstance(result, str) else result,)
    elif isinstance(arguments, list):
        accepted = (result, *(result if isinstance(result, list) and len(result) == 1 else ()))
    else:
        raise ValueError(f"found {describe(arguments)}")
    return CallCase(name, json.dumps(arguments), tuple(map(make_plain, accepted)))


def make_plain(value: Any) -> Any:
    """Return a value as JSON has it: with lists for tuples, and texts as keys."""
    text = json.dumps(value)
    if measure_depth(text) > MAX_RESULT_LEVELS:
        raise ValueError(f"it has more than {MAX_RESULT_LEVELS} levels")
    return json.loads(text)


def is_in_place(calls: list[CallCase]) -> bool:
    """Return whether functions that return None may be judged by their first argument, and none that does nothing is paid."""
    has_none = any(one is None for case in calls for one in case.accepted)
    pairs = [(case.accepted, json.loads(case.input)[:1]) for case in calls]
    return not has_none and any(
        not any(is_same_data(convert(first), convert(one)) for first in given for one in accepted)
        for accepted, given in pairs
    )
