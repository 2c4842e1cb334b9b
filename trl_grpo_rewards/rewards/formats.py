"""Rewards for the form of a completion."""

import functools
import importlib.util
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import regex

from ..options import requires, thaw
from ..registry import reward
from ..texts import read_json, strip_reasoning
from ..traits import Form
from ..visible import is_blank


if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from jsonschema_rs import Validator

__all__ = ["json_text", "script", "tags", "xml_text"]
TAG_NAME = re.compile(r"[\w.-]+")


def are_tag_names(names: Sequence[str]) -> bool:
    if len({*names}) != len(names):
        return False
    return all(map(TAG_NAME.fullmatch, names))


@reward(
    check=requires(
        "tags() requires one or more different names, without brackets",
        lambda names: names and are_tag_names(names),
        "Write it like this: tags('think', 'answer').",
    ),
    form=lambda names, prefilled: Form(tags=names, prefilled=prefilled),
)
def tags(completion: str, *names: str, prefilled: bool = False, partial: bool = False) -> float:
    """
    1 if the completion consists of these tags, in this order, once each, and something can be seen in each; else 0.

    Only whitespace may be before, between and after the tags. If there is a single tag, any text may follow it, as in
    `<think>...</think>` and then the answer. The time is linear in the length of the completion.

    Args:
        *names (`str`):
            Names of the tags, without brackets.
        prefilled (`bool`, *optional*, defaults to `False`):
            Whether the chat template already opens the first tag, so that the completion begins inside it.
        partial (`bool`, *optional*, defaults to `False`):
            Whether to pay an equal share for each tag that occurs once, is closed, is not empty and is separated from its
            neighbours by whitespace only.

    Example:

    ```python
    >>> from trl_grpo_rewards import tags

    >>> tags("think")(completions=["<think>2 + 2</think>4", "<think></think>4", "4"])
    [1.0, 0.0, 0.0]
    >>> tags("think", "answer", partial=True)(completions=["<think>2 + 2</think>So <answer>4</answer>"])
    [0.5]

    ```
    """
    text = f"<{names[0]}>{completion}" if prefilled else completion
    right = 0
    end = 0
    for name in names:
        tag = find_tag(text, name)
        if tag is not None:
            is_in_place = tag.start >= end and not text[end : tag.start].strip()
            may_text_follow = name != names[-1] or len(names) == 1 or not text[tag.end :].strip()
            right += is_in_place and may_text_follow and not is_blank(tag.content)
            end = max(end, tag.end)
    if partial:
        return right / len(names)
    return float(right == len(names))


class Tag(NamedTuple):
    start: int
    end: int
    content: str


def find_tag(text: str, name: str) -> Tag | None:
    """Return the tag that occurs once and is closed once, or None."""
    opening = f"<{name}>"
    closing = f"</{name}>"
    start = text.find(opening)
    stop = text.find(closing)
    if start >= stop or not text.count(opening) == text.count(closing) == 1:
        return None
    return Tag(start, stop + len(closing), text[start + len(opening) : stop])


def check_installed(package: str, what: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise ImportError(
            f"{what} needs {package}, which is not installed. Install it: pip install 'trl_grpo_rewards[formats]'."
        )


def check_json_text(schema: dict[str, Any] | None) -> None:
    if schema is None:
        return
    check_installed("jsonschema_rs", "json_text() with a schema")
    try:
        load_validator(json.dumps(thaw(schema)))
    except ValueError as error:
        raise ValueError(
            f"json_text() requires a valid schema, but this one cannot be used: {error}. Correct it. A schema can only "
            f"refer to its own parts ('#/$defs/...'), and its regular expressions cannot have look-around or "
            f"back-references."
        ) from None


@reward(check=check_json_text)
def json_text(completion: str, *, schema: dict[str, Any] | None = None) -> float:
    """
    1 if the text after the reasoning is JSON that matches the schema; else 0.

    The whole text must be JSON. Only whitespace may surround it, so a code fence is not allowed. JSON is read strictly:
    `NaN`, a number too large for a float, a repeated name in an object, and more than 500 levels are not allowed. Without
    a schema, any JSON earns 1, even a number or an empty object.

    A schema is checked by [jsonschema-rs](https://github.com/Stranger6667/jsonschema), in time that is linear in the
    length of the text. It is installed by `pip install 'trl_grpo_rewards[formats]'`.

    Args:
        schema (`dict`, *optional*):
            A [JSON Schema](https://json-schema.org) of draft 2020-12, or of another draft from 4 on if `$schema` names
            it. It can only refer to its own parts, and its regular expressions cannot have look-around or
            back-references. `format` is not checked.

    Example:

    ```python
    >>> from trl_grpo_rewards import json_text

    >>> json_text()(completions=['<think>Hm.</think> {"answer": 4}', 'Here: {"answer": 4}'])
    [1.0, 0.0]
    >>> schema = {"type": "object", "required": ["answer"], "properties": {"answer": {"type": "integer"}}}
    >>> json_text(schema)(completions=['{"answer": 4}', '{"answer": "4"}', "{}"])
    [1.0, 0.0, 0.0]

    ```
    """
    try:
        value = read_json(strip_reasoning(completion))
        return float(schema is None or load_validator(json.dumps(schema)).is_valid(value))
    except (ValueError, RecursionError):  # also for a lone surrogate, which is not valid text
        return 0.0


@functools.lru_cache(maxsize=64)
def load_validator(schema: str) -> "Validator":
    """Build the validator of a schema, whose expressions match in linear time, or raise a `ValueError` if it is not valid."""
    import jsonschema_rs

    try:
        return jsonschema_rs.validator_for(
            json.loads(schema), pattern_options=jsonschema_rs.RegexOptions(), offline=True, validate_formats=False
        )
    except jsonschema_rs.ValidationError as error:
        place = "".join(f"[{step!r}]" for step in error.instance_path)
        raise ValueError(f"{error.message}{place and f', at {place}'}") from None


def check_xml_text(elements: tuple[str, ...], root: str | None) -> None:
    check_installed("defusedxml", "xml_text()")
    names = [*elements]
    if root is not None and root not in elements:
        names.append(root)
    check = requires(
        "xml_text() requires names of elements without brackets",
        are_tag_names,
        "Write it like this: xml_text('name', 'price', root='item').",
    )
    check(names=(*names,))


@reward(check=check_xml_text)
def xml_text(completion: str, *elements: str, root: str | None = None) -> float:
    """
    1 if the text after the reasoning is well-formed XML with these elements; else 0.

    The whole text must be XML, surrounded only by whitespace. Each element must occur, and one of its name must have text that
    can be seen, or an attribute. It is read by [defusedxml](https://github.com/tiran/defusedxml), which allows no entities, so a
    small text cannot expand into a large one. It is installed by `pip install 'trl_grpo_rewards[formats]'`.

    Args:
        *elements (`str`):
            Names of elements, without brackets and namespaces, at any depth and in any order.
        root (`str`, *optional*):
            Name of the outermost element. By default, it may have any.

    Example:

    ```python
    >>> from trl_grpo_rewards import xml_text

    >>> xml_text()(completions=["<p>Hello, <b>you</b>.</p>", "<p>Hello, <b>you.</p>", "Hello"])
    [1.0, 0.0, 0.0]
    >>> xml_text("price", root="item")(completions=["<item><price>5</price></item>", "<item><price/></item>"])
    [1.0, 0.0]

    ```
    """
    from defusedxml.ElementTree import ParseError, fromstring

    try:
        found = fromstring(strip_reasoning(completion).strip())
    except (ParseError, ValueError):  # also for entities, which defusedxml forbids
        return 0.0
    written = {find_local_name(element.tag) for element in list_filled(found)}
    return float(root in (None, find_local_name(found.tag)) and {*elements} <= written)


def list_filled(root: "Element") -> "set[Element]":
    """Return the elements of a tree with an attribute, or with text that can be seen in them or in an element inside."""
    filled: set[Element] = set()
    for element in reversed([*root.iter()]):  # what is inside comes first
        texts = [element.text, *(child.tail for child in element)]
        has_text = not all(is_blank(text or "") for text in texts)
        if element.attrib or has_text or any(child in filled for child in element):
            filled.add(element)
    return filled


def find_local_name(tag: str) -> str:
    return tag.rpartition("}")[2]


@functools.lru_cache(maxsize=64)
def compile_letters(names: tuple[str, ...]) -> Any:
    """Return two regular expressions: for the letters of these scripts, and for all letters."""
    scripts = "".join(rf"\p{{Script_Extensions={name}}}" for name in names)
    return regex.compile(rf"(?V1)[\p{{L}}&&[{scripts}]]+"), regex.compile(r"\p{L}+")


def is_script(name: str) -> bool:
    try:
        if TAG_NAME.fullmatch(name) is None:
            return False
        return compile_letters((name,)) is not None
    except regex.error:
        return False


@reward(
    check=requires(
        "script() needs names of Unicode scripts",
        lambda names: names and all(map(is_script, names)),
        "Write names such as script('Greek') or script('Han', 'Hiragana', 'Katakana').",
    )
)
def script(completion: str, *names: str) -> float:
    r"""
    Share of the letters that belong to these scripts, from 0 to 1; 0 if there are no letters.

    It distinguishes languages with different scripts, without a model. The language-consistency reward of
    [DeepSeek-R1](https://huggingface.co/papers/2501.12948) is similar, but computes the share of words. Digits, marks and
    spaces are not letters. Names, code and commands such as `\frac` count as Latin letters. One letter is enough for a
    score of 1, so combine this with a reward for the answer.

    Args:
        *names (`str`):
            Unicode names of [scripts](https://www.unicode.org/Public/UCD/latest/ucd/Scripts.txt), such as `"Greek"` or
            `"Cyrillic"`. Japanese uses three: `"Han"`, `"Hiragana"` and `"Katakana"`.

    Example:

    ```python
    >>> from trl_grpo_rewards import script

    >>> script("Greek")(completions=["Δύο και δύο: 4", "two", "δύο two"])
    [1.0, 0.0, 0.5]

    ```
    """
    wanted, letters = (sum(map(len, expression.findall(completion))) for expression in compile_letters(names))
    return wanted / letters if letters else 0.0
