"""Calls of tools: as a model makes them, in messages or in a text, as datasets expect them, and how well they match."""

import ast
import contextlib
import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Literal, TypeAlias

from ..texts import parse_finite, read_json, reject_duplicates


CALL_START = "<tool_call>"  # before a call in a text
CALL_END = "</tool_call>"  # after it
MAX_TAGS = 1000  # in a text behind which a call is read; others count as calls that cannot be read

# Calls between the tags that are no JSON: the name and the arguments, the end of an argument, and its name and text.
SYNTAXES = (
    (r"<function=([^<>\s]+)>(.*)</function>", "</parameter>", r"\s*<parameter=([^<>\s]+)>\n?(.*?)\n?"),  # Qwen3-Coder
    (r"([\w.-]+)\s*((?:<arg_key>.*)?)", "</arg_value>", r"\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*)"),  # GLM
)

RESULT = re.compile(r"<tool_response>.*?(?:</tool_response>|\Z)", re.DOTALL)  # in the text of a conversation
# The beginning of a result that is an error: a dict with the single key `error`, as TRL writes it, or such JSON.
ERROR = re.compile(r"""\s*\{\s*(['"])error\1\s*:(?!\s*(?:null|None|false|False)\s*[,}])""")
ANSWER_START = re.compile(r"\\f?box(?:ed)?\s*\{|<answer>")
DECODER = json.JSONDecoder(object_pairs_hook=reject_duplicates, parse_constant=parse_finite, parse_float=parse_finite)


Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class ToolCall:
    """A call that a completion makes. It is never right without arguments: it cannot be read, or comes after the answer."""

    name: str = ""
    arguments: Arguments | None = None


class Untyped(str):
    """The text of an argument in a syntax that does not tell texts from other values: it may also be the JSON that it is."""

    def list_readings(self) -> list[Any]:
        try:
            return [str(self), read_json(self)]
        except (ValueError, RecursionError):
            return [str(self)]


@dataclass(frozen=True)
class Choices:
    """The values that an argument may have. A dict among them has [`Choices`] as its values."""

    values: tuple[Any, ...]
    is_optional: bool = False  # whether the argument may be left out


@dataclass(frozen=True)
class ExpectedCall:
    """A call that a dataset row expects, and what each of its arguments may be."""

    name: str
    arguments: Mapping[str, Choices] = field(default_factory=dict)


def read_structured_call(value: Any) -> ToolCall:
    """Return the call in an entry of a message's `tool_calls`. Its arguments are a dict, or JSON text as in OpenAI's API."""
    function = value.get("function", value) if isinstance(value, Mapping) else {}
    if not isinstance(function, Mapping):
        function = {}
    name = function.get("name")
    arguments = function.get("arguments")
    if arguments in (None, ""):
        arguments = {}
    if isinstance(arguments, str):
        with contextlib.suppress(ValueError, RecursionError):
            arguments = read_json(arguments)
    if isinstance(name, str) and isinstance(arguments, Mapping):
        return ToolCall(name, arguments)
    return ToolCall(str(name or ""))


def find_text_calls(text: str) -> Iterator[tuple[str, ToolCall]]:
    """Yield the calls in a text, each with the text before it. A tag without a call that can be read counts, too."""
    text = RESULT.sub("", text)
    if CALL_START not in text:
        yield from (("", call) for call in read_whole_text(text.strip()))
        return
    before = 0
    start = text.find(CALL_START)
    for _ in range(MAX_TAGS):
        if start < 0:
            return
        value, end = decode_call(text, start + len(CALL_START))
        for call in [ToolCall()] if end is None else make_calls(value):
            yield text[before:start], call
        before = start + len(CALL_START) if end is None else end
        start = text.find(CALL_START, before)
    yield from [("", ToolCall())] * text.count(CALL_START, before)


def decode_call(text: str, start: int) -> tuple[Any, int | None]:
    """Return the value that begins here, and where its closing tag ends. The end is None without such a value or tag."""
    try:
        value, end = DECODER.raw_decode(text, skip_space(text, start))
    except (ValueError, RecursionError):
        end = text.find(CALL_END, start)
        value = None
        if end >= 0:
            value = read_marked_call(text[start:end].strip())
        return value, None if value is None else end + len(CALL_END)
    end = skip_space(text, end)
    return value, end + len(CALL_END) if text.startswith(CALL_END, end) else None


def read_marked_call(text: str) -> dict[str, Any] | None:
    """Return the call in one of `SYNTAXES`, or None if it has another form or an argument twice."""
    for call, closing, argument in SYNTAXES if CALL_START not in text else ():
        if found := re.fullmatch(call, text, re.DOTALL):
            *parts, rest = found[2].split(closing)
            pairs = [pair.groups() for part in parts if (pair := re.fullmatch(argument, part, re.DOTALL))]
            arguments = {name.strip(): Untyped(value) for name, value in pairs}
            if len(arguments) == len(parts) and not rest.strip():
                return {"name": found[1], "arguments": arguments}
    return None


def skip_space(text: str, start: int) -> int:
    while start < len(text) and text[start] in " \t\r\n":
        start += 1
    return start


def read_whole_text(text: str) -> list[ToolCall]:
    """Return the calls in a text of JSON, or in a list of calls in Python. Any other text contains none."""
    text = text.removeprefix("[TOOL_CALLS]").strip()
    first, _, rest = text.partition("\n")
    if first.strip() in ("```", "```json") and rest.endswith("```"):
        text = rest.removesuffix("```").strip()
    try:
        value = None
        if text[:1] in ("[", "{"):
            value = read_json(text)
    except (ValueError, RecursionError):
        return read_python_calls(text)
    items = value if isinstance(value, list) else [value]
    are_calls = any(isinstance(item, dict) and item.keys() & {"arguments", "parameters"} for item in items)
    return make_calls(value) if are_calls else []


def read_python_calls(text: str) -> list[ToolCall]:
    """Return the calls in `[add(a=2), add(a=3)]`, as Llama and LFM2 write them."""
    if not re.match(r"\[\s*[\w.]+\(", text):
        return []
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text, mode="eval").body
        return [read_python_call(node) for node in getattr(tree, "elts", [])]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def read_python_call(node: ast.expr) -> ToolCall:
    if not isinstance(node, ast.Call) or node.args:
        return ToolCall()
    arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg}
    if len(arguments) < len(node.keywords):
        return ToolCall()
    return ToolCall(ast.unparse(node.func), arguments)


def make_calls(value: Any) -> list[ToolCall]:
    """Return the call or the calls in a JSON value. In a text, arguments must be an object."""
    items = value if isinstance(value, list) else [value]
    return [read_object_call(item) if isinstance(item, dict) else ToolCall() for item in items]


def read_object_call(value: dict[str, Any]) -> ToolCall:
    name = value.get("name")
    arguments = value.get("arguments", value.get("parameters"))
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return ToolCall()
    return ToolCall(name, arguments)


def is_error(result: Arguments, text: str) -> bool:
    return bool(result.get("is_error")) or result.get("status") == "error" or ERROR.match(text) is not None


def read_expected_calls(value: Any) -> list[ExpectedCall] | None:
    """Return the calls that a row expects, or None without a value. In a column of structs, missing arguments become None."""
    if value is None:
        return None
    is_text = isinstance(value, str)
    try:
        found = read_json(value) if isinstance(value, str) else value
        items = found if isinstance(found, (list, tuple)) else [found]
        return [read_expected_call(item, keeps_null=is_text) for item in items]
    except (ValueError, RecursionError, TypeError, AttributeError):
        raise ValueError(
            f"Expected calls must be a list of calls, such as "
            f'[{{"name": "add", "arguments": {{"a": 2, "b": 3}}}}], or JSON text of it; got {value!r}. Convert the column.'
        ) from None


def read_expected_call(item: Arguments, keeps_null: bool) -> ExpectedCall:
    if not isinstance(item, Mapping):
        raise ValueError("not a call")
    item = {key: value for key, value in item.items() if value is not None}
    function = item.get("function", item)
    if isinstance(function, Mapping) and isinstance(function.get("name"), str):
        return read_named_call(function["name"], function.get("arguments") or {}, keeps_null)
    ((name, arguments),) = item.items()
    return ExpectedCall(name, read_choices(arguments))


def read_named_call(name: str, arguments: Any, keeps_null: bool) -> ExpectedCall:
    if isinstance(arguments, str):
        arguments = read_json(arguments)
        keeps_null = True
    may_lack = {key for key, value in arguments.items() if value is None and not keeps_null}
    return ExpectedCall(name, {key: Choices((value,), key in may_lack) for key, value in arguments.items()})


def write_expected_calls(value: Any) -> str | None:
    """Return a text that makes the expected calls, or None if there is no value."""
    expected = read_expected_calls(value)
    made = [{"name": call.name, "arguments": choose(call.arguments)} for call in expected or ()]
    lines = (f"{CALL_START}{json.dumps(call, ensure_ascii=False)}{CALL_END}" for call in made)
    return None if expected is None else "\n".join(lines)


def choose(expected: Any) -> Any:
    if isinstance(expected, Choices):
        return choose(expected.values[0])
    if isinstance(expected, Mapping):
        empty = [name for name, one in expected.items() if one.is_optional and one.values in ((), ("",), (None,))]
        return {name: choose(one) for name, one in expected.items() if name not in empty}
    if isinstance(expected, (list, tuple)):
        return [choose(item) for item in expected]
    return expected


def read_choices(arguments: Arguments) -> dict[str, Choices]:
    """Return the values that arguments may have, from lists as in BFCL."""
    choices = {}
    for name, values in arguments.items():
        if values is None:  # in a column of structs
            continue
        if not isinstance(values, (list, tuple)):
            raise ValueError("not a list of values")
        kept = tuple(read_choice_value(value) for value in values if value != "" or len(values) == 1)
        choices[name] = Choices(kept, "" in values or not values)
    return choices


def read_choice_value(value: Any) -> Any:
    if isinstance(value, Mapping):  # BFCL has some fields without a list
        listed = {key: one if isinstance(one, (list, NoneType)) else [one] for key, one in value.items()}
        return read_choices(listed)
    is_objects = isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value)
    if is_objects:
        return [read_choice_value(item) for item in value]
    return value


Comparison: TypeAlias = Literal["exact", "number", "text", "set", "ignore"]  # of the values of an argument
Comparisons = Mapping[str, Comparison]
EVERY = "*"  # stands for all arguments that are not named, in a mapping from arguments to comparisons
MAX_SIMILAR = 100  # largest number of calls that are paired with expected ones. Others count as excess.
MAX_VALUE_LEVELS = 100  # nesting depth of values that are compared; Python has a limit of its own
IGNORED_MARKS = re.compile(r"[ ,./\-_*^]")


def is_equal(made: Any, expected: Any, how: Comparison = "exact", levels: int = MAX_VALUE_LEVELS) -> bool:
    """Return whether two JSON values are equal. What is nested too deeply equals nothing; True and False are no numbers."""
    if levels < 0:
        return False
    if isinstance(expected, Choices):
        return any(is_equal(made, value, how, levels) for value in expected.values)
    if isinstance(made, Untyped):
        return any(is_equal(reading, expected, how, levels) for reading in made.list_readings())
    if isinstance(made, Mapping) and isinstance(expected, Mapping):
        return are_fields_equal(made, expected, how, levels - 1)
    if isinstance(made, (list, tuple)) and isinstance(expected, (list, tuple)):
        return are_items_equal(made, expected, how, levels - 1)
    return is_plain_equal(made, expected, how)


def are_fields_equal(made: Mapping[Any, Any], expected: Mapping[Any, Any], how: Comparison, levels: int) -> bool:
    return all(is_named_equal(made, expected, name, how, levels) for name in {*made, *expected})


def are_items_equal(made: Sequence[Any], expected: Sequence[Any], how: Comparison, levels: int) -> bool:
    if len(made) != len(expected):
        return False
    if how == "set":
        return is_same_set(made, expected, levels)
    return all(is_equal(one, other, how, levels) for one, other in zip(made, expected, strict=True))


def is_plain_equal(made: Any, expected: Any, how: Comparison) -> bool:
    """Return whether two values without parts are equal, after what the comparison ignores."""
    if how == "number":
        numbers = as_number(made), as_number(expected)
        if None not in numbers:
            return numbers[0] == numbers[1]
    if isinstance(made, str) and isinstance(expected, str):
        return made == expected or (how == "text" and drop_marks(made) == drop_marks(expected))
    are_numbers = is_json_number(made) and is_json_number(expected)
    return (are_numbers or type(made) is type(expected)) and bool(made == expected)


def is_json_number(value: Any) -> bool:
    if not isinstance(value, (int, float)):
        return False
    return not isinstance(value, bool)


def is_named_equal(
    made: Arguments, expected: Arguments, name: str, how: Comparison, levels: int = MAX_VALUE_LEVELS
) -> bool:
    """Return whether an argument or a field is as expected: equal, or left out if it may be."""
    if name in made:
        if name not in expected:
            return False
        return is_equal(made[name], expected[name], how, levels)
    wanted = expected[name]
    return isinstance(wanted, Choices) and wanted.is_optional


def is_same_set(made: Sequence[Any], expected: Sequence[Any], levels: int) -> bool:
    left = list(expected)
    for value in made:
        place = next((place for place, other in enumerate(left) if is_equal(value, other, levels=levels)), None)
        if place is None:
            return False
        del left[place]
    return True


def as_number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or len(str(value)) > 100:
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def drop_marks(text: str) -> str:
    return IGNORED_MARKS.sub("", text).lower().replace("'", '"')


def measure_similarity(made: ToolCall, expected: ExpectedCall, compare: Comparisons) -> float:
    """Return the share of arguments that are right, among all that either call has; 0 if the names differ."""
    if made.arguments is None or made.name != expected.name:
        return 0.0
    names = {*made.arguments, *expected.arguments}
    default = compare.get(EVERY, "exact")
    ways = {name: compare.get(f"{made.name}.{name}", compare.get(name, default)) for name in names}
    left_out = {name for name, one in expected.arguments.items() if one.is_optional} - {*made.arguments}
    compared = [name for name in names - left_out if ways[name] != "ignore"]
    right = sum(is_named_equal(made.arguments, expected.arguments, name, ways[name]) for name in compared)
    return right / len(compared) if compared else 1.0


def match_calls(
    made: Sequence[ToolCall],
    expected: Sequence[ExpectedCall],
    compare: Comparisons,
    is_ordered: bool,
    is_whole: bool,
) -> float:
    """Return the sum of similarities under the best matching. With `is_whole`, all arguments of a call must be right."""
    rows = [[measure_similarity(call, wanted, compare) for wanted in expected] for call in made]
    if is_whole:
        rows = [[float(value == 1.0) for value in row] for row in rows]
    rows = [row for row in rows if any(row)][:MAX_SIMILAR]
    if is_ordered:
        return align(rows, len(expected))
    return assign(rows)


def align(rows: Sequence[Sequence[float]], width: int) -> float:
    """Return the largest sum of values in different rows and columns that goes down and to the right."""
    best = [0.0] * (width + 1)
    for row in rows:
        previous = best
        best = [0.0]
        for column, value in enumerate(row):
            best.append(max(best[-1], previous[column + 1], previous[column] + value))
    return best[-1]


def assign(rows: Sequence[Sequence[float]]) -> float:
    """Return the largest sum of values in different rows and columns."""
    import networkx  # slow to import

    graph = networkx.Graph()
    for row, values in enumerate(rows):
        graph.add_weighted_edges_from((row, len(rows) + place, value) for place, value in enumerate(values) if value)
    return math.fsum(graph.edges[edge]["weight"] for edge in networkx.max_weight_matching(graph))
