"""Rewards for the form of a completion."""

import functools
import importlib.util
import json
import re
from typing import Any

from ..options import thaw
from ..registry import reward
from ..text import json_schemas
from ..text.forms import Form
from ..verify.boxes import final_part


__all__ = ["json_text", "script", "tags", "xml_text"]


NAME = re.compile(r"[\w.-]+")


def check_tags(names: tuple[str, ...]) -> None:
    if not names or len({*names}) < len(names) or not all(map(NAME.fullmatch, names)):
        raise ValueError(
            f"tags() has the names {', '.join(map(repr, names)) or 'none'}. "
            f"Give it one or more different names, without brackets: tags('think', 'answer')."
        )


@reward(check=check_tags, form=lambda names, prefilled: Form(tags=names, prefilled=prefilled))
def tags(completion: str, *names: str, prefilled: bool = False, partial: bool = False) -> float:
    """
    1 if the completion consists of these tags: in this order, once each, none of them empty; else 0.

    Only white space may stand before, between and after them. After a single tag any text may follow:
    `<think>...</think>` and then the answer. The text is read once, so a hostile one costs no more than its length.

    Args:
        *names (`str`):
            Names of the tags, without brackets.
        prefilled (`bool`, *optional*, defaults to `False`):
            The chat template has opened the first tag already, so that the completion begins inside it.
        partial (`bool`, *optional*, defaults to `False`):
            Pay an equal share for each tag that is right: there once, closed, not empty, and next to its neighbours.

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
    right, end = 0, 0
    for name in names:
        opening, closing = f"<{name}>", f"</{name}>"
        start, stop = text.find(opening), text.find(closing)
        if text.count(opening) == text.count(closing) == 1 and start < stop:
            before, inside, after = text[end:start], text[start + len(opening) : stop], text[stop + len(closing) :]
            alone = (
                start >= end and before.strip() == "" and (name != names[-1] or len(names) == 1 or not after.strip())
            )
            right += alone and inside.strip() != ""
            end = max(end, stop + len(closing))
    return right / len(names) if partial else float(right == len(names))


def check_installed(module: str, what: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise ImportError(
            f"{what} needs {module}, which is not installed. Install it: pip install 'trl_grpo_rewards[formats]'."
        )


def check_json_text(schema: dict[str, Any] | None) -> None:
    if schema is None:
        return
    check_installed("jsonschema_rs", "json_text() with a schema")
    try:
        json_schemas.validator(thaw(schema))
    except ValueError as error:
        raise ValueError(
            f"json_text() has a schema that cannot be used: {error}. Correct it; what it refers to stands in itself "
            f"('#/$defs/...'), and its expressions have no look-around and no back-reference."
        ) from None


@reward(check=check_json_text)
def json_text(completion: str, *, schema: dict[str, Any] | None = None) -> float:
    """
    1 if what follows the reasoning is JSON, and valid by the schema; else 0.

    The whole of it, but for white space: a text around it, or a code fence, is none of it. JSON is strict: `NaN`, a
    number too large for a float, and a name twice in one object are refused. Without a schema a number or an empty
    object is JSON, too.

    A schema is checked by [jsonschema-rs](https://github.com/Stranger6667/jsonschema), in time that grows with the text
    alone; it comes with the extra: `pip install 'trl_grpo_rewards[formats]'`. JSON of more than 500 levels is refused.

    Args:
        schema (`dict`, *optional*):
            What is asked for, as [JSON Schema](https://json-schema.org), of draft 2020-12 unless `$schema` names
            another from draft 4 on. It refers to nothing outside itself, and its expressions have no look-around and
            no back-reference. `format` is not checked.

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
        value = json_schemas.read_json(final_part(completion))
    except (ValueError, RecursionError):
        return 0.0
    return float(schema is None or json_schemas.fits(value, validator(json.dumps(schema))))


@functools.lru_cache(maxsize=64)
def validator(schema: str) -> Any:
    return json_schemas.validator(json.loads(schema))


def check_xml_text(root: str | None) -> None:
    check_installed("defusedxml", "xml_text()")
    if root is not None and not NAME.fullmatch(root):
        raise ValueError(f"xml_text() has root={root!r}. Give it a name without brackets: xml_text(root='svg').")


@reward(check=check_xml_text)
def xml_text(completion: str, *, root: str | None = None) -> float:
    """
    1 if what follows the reasoning is well-formed XML, with this root element; else 0.

    The whole of it, but for white space. It is read by [defusedxml](https://github.com/tiran/defusedxml), which refuses
    entities, so that no small text can grow into a large one. `pip install 'trl_grpo_rewards[formats]'` brings it.

    Args:
        root (`str`, *optional*):
            Name of the root element, without its namespace. Any will do without it, and an empty one, too.

    Example:

    ```python
    >>> from trl_grpo_rewards import xml_text

    >>> xml_text()(completions=["<p>Hello, <b>you</b>.</p>", "<p>Hello, <b>you.</p>", "Hello"])
    [1.0, 0.0, 0.0]
    >>> xml_text(root="svg")(completions=['<svg xmlns="http://www.w3.org/2000/svg"/>', "<p/>"])
    [1.0, 0.0]

    ```
    """
    from defusedxml.ElementTree import ParseError, fromstring

    try:
        found = fromstring(final_part(completion).strip()).tag
    except (ParseError, ValueError):
        return 0.0
    return float(root in (None, found.rpartition("}")[2]))


@functools.lru_cache(maxsize=64)
def letters_of(names: tuple[str, ...]) -> Any:
    import regex

    scripts = "".join(rf"\p{{Script_Extensions={name}}}" for name in names)
    return regex.compile(rf"(?V1)[\p{{L}}&&[{scripts}]]+"), regex.compile(r"\p{L}+")


def check_script(names: tuple[str, ...]) -> None:
    for name in names or ("",):
        if not is_script(name):
            raise ValueError(
                f"script() has the name {name!r}, and Unicode has no such script. "
                f"Give it names that Unicode has: script('Greek'), script('Han', 'Hiragana', 'Katakana')."
            )


def is_script(name: str) -> bool:
    import regex

    try:
        return NAME.fullmatch(name) is not None and letters_of((name,)) is not None
    except regex.error:
        return False


@reward(check=check_script)
def script(completion: str, *names: str) -> float:
    r"""
    The share of letters that belong to these scripts, from 0 to 1; 0 without a letter.

    It tells the languages apart that are written differently, and asks no model; the language-consistency reward of
    [DeepSeek-R1](https://huggingface.co/papers/2501.12948) is such a share, of words. Digits, marks and spaces are no
    letters. What is Latin in any language counts as Latin: names, code, `\frac`. A single letter is a whole share, so
    pay it beside an answer.

    Args:
        *names (`str`):
            [Scripts](https://www.unicode.org/Public/UCD/latest/ucd/Scripts.txt) as Unicode names them: `"Greek"`,
            `"Cyrillic"`; Japanese is written in three, `"Han"`, `"Hiragana"` and `"Katakana"`.

    Example:

    ```python
    >>> from trl_grpo_rewards import script

    >>> script("Greek")(completions=["Δύο και δύο: 4", "two", "δύο two"])
    [1.0, 0.0, 0.5]

    ```
    """
    wanted, letters = (sum(map(len, kind.findall(completion))) for kind in letters_of(names))
    return wanted / letters if letters else 0.0
