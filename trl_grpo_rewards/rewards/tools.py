"""Rewards for tools, turns and environments."""

from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal

from ..batch import Batch
from ..options import PositiveInt, requires
from ..registry import combinator, reward
from ..scores import Score
from ..texts import Message, completion_messages, content_text, strip_reasoning
from ..tools.calls import (
    ANSWER_START,
    Comparison,
    ExpectedCall,
    ToolCall,
    find_text_calls,
    is_error,
    match_calls,
    read_expected_calls,
    read_structured_call,
    write_expected_calls,
)


__all__ = ["environment", "tool_calls", "tool_errors", "turns"]


def list_replies(messages: list[Message]) -> list[Message]:
    return [message for message in messages if message.get("role", "assistant") == "assistant"]


def read_calls(messages: list[Message]) -> list[ToolCall]:
    """Return the calls in the `tool_calls` of any messages, else in the assistant's texts. Those after the answer are unreadable."""
    is_structured = any(reply.get("tool_calls") for reply in list_replies(messages))
    calls: list[ToolCall] = []
    has_answered = False
    for message in messages:
        if message.get("role", "assistant") != "assistant":
            has_answered = has_answered and message["role"] != "user"
            continue
        text = strip_reasoning(content_text(message.get("content")))
        made = list_structured_calls(message, text) if is_structured else [*find_text_calls(text)]
        for before, call in made:
            has_answered = has_answered or ANSWER_START.search(before) is not None
            calls.append(ToolCall() if has_answered else call)
        has_answered |= not made and text.strip() != ""
    return calls


def list_structured_calls(message: Message, text: str) -> list[tuple[str, ToolCall]]:
    return [(text, read_structured_call(call)) for call in message.get("tool_calls") or ()]


def are_names(expected: str, compare: Mapping[Any, str] | None) -> bool:
    names = [expected, *(compare or ())]
    return all(isinstance(name, str) and name for name in names)


@combinator(
    check=requires(
        "tool_calls() requires the name of a column, and names of arguments, such as compare={'city': 'text'}",
        are_names,
        "Leave out expected for 'tool_calls', and use '*' for all other arguments.",
    ),
    columns=lambda expected: {expected},
    outcome=True,
    solves=lambda expected, row: write_expected_calls(row.get(expected)),
)
async def tool_calls(
    batch: Batch,
    *,
    expected: str = "tool_calls",
    score: Literal["exact", "f1", "partial"] = "exact",
    order: bool = False,
    compare: dict[str, Comparison] | None = None,
) -> list[Score]:
    r"""
    1 if the completion makes exactly the expected calls, else 0; with `score="f1"` or `"partial"`, the F1 of its calls.

    With \\( m \\) calls that match among \\( n \\) made and \\( k \\) expected ones, F1 is \\( 2m / (n + k) \\), so
    calls in excess, repeated calls and missing calls all cost. If no calls are expected and none are made, the score
    is 1. A call matches if its name and all of its arguments are right. Calls are paired with expected ones so that
    the score is as high as possible. With `"partial"`, a pair with the right name counts as the share of its arguments
    that are right. Prefer `"f1"` to `"partial"` if arguments are easy to guess.

    Calls are read from `tool_calls` of messages, or else from the text after the reasoning: between `<tool_call>` and
    `</tool_call>`, JSON with `name` and `arguments` or `parameters`, or the tags of Qwen3-Coder or GLM; or a text that
    consists of such JSON, also after `[TOOL_CALLS]`, or of calls in Python, `[add(a=2, b=3)]`. The tags do not tell `2`
    from `"2"`, so it may be either. A call that cannot be read and a call after the answer (after `\boxed{`, `<answer>` or a message without
    calls) count as excess. Calls that are only mentioned do not count.

    Values are compared strictly: `"2"` is not 2, but 2.0 is. The score is None if the row has no expected calls.

    Args:
        expected (`str`, *optional*, defaults to `"tool_calls"`):
            Column with the expected calls: a list, or JSON text of it. The calls have the form of xLAM, `{"name": ...,
            "arguments": {...}}`, of messages, `{"type": "function", "function": {...}}`, or of BFCL, `{"the name":
            {"argument": [one value, another value]}}`. Use JSON text if calls have different arguments.
        score (`str`, *optional*, defaults to `"exact"`):
            `"exact"`, `"f1"` or `"partial"`.
        order (`bool`, *optional*, defaults to `False`):
            Whether the calls must be in the expected order.
        compare (`dict[str, str]`, *optional*):
            How values are compared, by the name of the argument, by `"tool.argument"`, or by `"*"` for all others:
            `"exact"`; `"number"`: a text is read as a number; `"text"`: case, spaces and the marks `,./-_*^` do not
            matter; `"set"`: the order of lists does not matter; `"ignore"`: the argument is not compared.

    Example:

    ```python
    >>> from trl_grpo_rewards import tool_calls

    >>> expected = [[{"name": "add", "arguments": {"a": 2, "b": 3}}]] * 3
    >>> call = '<tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>'
    >>> tool_calls()(completions=[call, call * 2, "I would add 2 and 3."], tool_calls=expected)
    [1.0, 0.0, 0.0]
    >>> tool_calls(score="f1")(completions=[call, call * 3, call + "<tool_call>"], tool_calls=expected)
    [1.0, 0.5, 0.6666666666666666]

    ```
    """
    scores: list[Score] = []
    for completion, value in zip(batch.columns["completions"], batch.columns[expected], strict=True):
        wanted = read_expected_calls(value)
        if wanted is None:
            scores.append(None)
        else:
            made = read_calls(completion_messages(completion))
            scores.append(score_calls(made, wanted, score, order, compare or {}))
    return scores


def score_calls(
    made: list[ToolCall], expected: list[ExpectedCall], score: str, order: bool, compare: Mapping[str, Comparison]
) -> float:
    if not made and not expected:
        return 1.0
    if score == "exact" and len(made) != len(expected):
        return 0.0
    matched = match_calls(made, expected, compare, is_ordered=order, is_whole=score != "partial")
    if score == "exact":
        return float(matched == len(expected))
    return 2 * matched / (len(made) + len(expected))


@reward
def tool_errors(messages: list[Message], *, limit: PositiveInt | None = None) -> float:
    """
    0 if no call failed, falling to -1 as the share of calls that failed grows; with `limit`, as their number grows.

    A call failed if its result is an error as TRL reports it (`{'error': ...}`, in Python or in JSON), if its message has
    `is_error` or `status` `"error"`, or if the call cannot be read. Without calls, the score is 0. Calls that succeed
    dilute the share, so a model can add harmless ones. With `limit`, they do not help.

    Args:
        limit (`int`, *optional*):
            Number of failed calls that earns -1. The score is minus the number of failed calls divided by this.

    Example:

    ```python
    >>> from trl_grpo_rewards import tool_errors

    >>> call = {"role": "assistant", "tool_calls": [{"function": {"name": "add", "arguments": {"a": 2}}}]}
    >>> failed = {"role": "tool", "name": "add", "content": "{'error': 'b is missing'}"}
    >>> worked = {"role": "tool", "name": "add", "content": "5"}
    >>> completions = [[call, worked], [call, failed, call, worked]]
    >>> tool_errors()(completions=completions), tool_errors(limit=4)(completions=completions)
    ([0.0, -0.5], [0.0, -0.25])

    ```
    """
    calls = read_calls(messages)
    results = [message for message in messages if message.get("role") == "tool"]
    if results:
        failed = sum(is_error(result, content_text(result.get("content"))) for result in results)
    else:
        failed = sum(call.arguments is None for call in calls)
    count = limit or max(len(calls), len(results))
    if failed:
        return -min(1.0, failed / count)
    return 0.0


@reward(
    check=requires("turns() requires 1 <= at_least <= at_most", lambda at_most, at_least: 1 <= at_least <= at_most)
)
def turns(messages: list[Message], *, at_most: int, at_least: int = 1) -> float:
    r"""
    1 if the number of turns is between `at_least` and `at_most`, and less the further it is outside.

    A turn is a message of the assistant that calls a tool or says something. With \\( n \\) turns, the score is
    \\( \text{clip}(\min(n / \text{at\_least}, 2 - n / \text{at\_most}), 0, 1) \\): it is 0 without a turn and from
    twice `at_most` turns on. For a target, set both options to it. Turns are easy to fill, so combine this with a
    reward for the outcome.

    Args:
        at_most (`int`):
            Largest number of turns that earns 1.
        at_least (`int`, *optional*, defaults to `1`):
            Smallest number of turns that earns 1.

    Example:

    ```python
    >>> from trl_grpo_rewards import turns

    >>> turn = {"role": "assistant", "content": "Is it 7?"}
    >>> turns(at_most=4)(completions=[[turn], [turn] * 4, [turn] * 6, [turn] * 8])
    [1.0, 1.0, 0.5, 0.0]

    ```
    """
    count = sum(map(is_turn, list_replies(messages)))
    return max(0.0, min(1.0, count / at_least, 2 - count / at_most))


def is_turn(reply: Message) -> bool:
    return bool(reply.get("tool_calls")) or content_text(reply.get("content")).strip() != ""


def can_read(attribute: str, low: float | None, high: float | None) -> bool:
    is_range = low is high is None or (low is not None and high is not None and low < high)
    if not is_range:
        return False
    if not attribute.isidentifier():
        return False
    return not attribute.startswith("_")


@reward(
    check=requires(
        "environment() requires the name of a public attribute, and low < high or neither of them",
        can_read,
        "Write, for example, environment('score', low=0, high=10).",
    ),
    batched=True,
)
def environment(
    environments: list[Any],
    *,
    attribute: str,
    low: float | None = None,
    high: float | None = None,
    optional: bool = False,
) -> list[Score]:
    """
    A number from the environment of each completion; with `low` and `high`, rescaled to the range from 0 to 1.

    `environments` are the objects that TRL's `GRPOTrainer` makes with `environment_factory`. A value outside `low` and
    `high` counts as the nearer one. True counts as 1. If the value is None, so is the score.

    Args:
        attribute (`str`):
            Name of the attribute or property.
        low (`float`, *optional*):
            Value that earns 0. By default, the score is the number itself.
        high (`float`, *optional*):
            Value that earns 1.
        optional (`bool`, *optional*, defaults to `False`):
            Whether the score is None for an environment that lacks the attribute, if there are several kinds of
            environments. By default, this is an error.

    Example:

    ```python
    >>> from types import SimpleNamespace
    >>> from trl_grpo_rewards import environment

    >>> games = [SimpleNamespace(moves=3), SimpleNamespace(moves=12)]
    >>> environment("moves")(completions=["", ""], environments=games)
    [3.0, 12.0]
    >>> environment("moves", low=0, high=10)(completions=["", ""], environments=games)
    [0.3, 1.0]

    ```
    """
    values = [read_attribute(environment, attribute, optional) for environment in environments]
    if low is None or high is None:
        return values
    return [None if value is None else min(1.0, max(0.0, (value - low) / (high - low))) for value in values]


def read_attribute(environment: Any, attribute: str, optional: bool) -> Score:
    if not hasattr(environment, attribute):
        if optional:
            return None
        held = sorted(name for name in getattr(environment, "__dict__", ()) if not name.startswith("_"))
        raise ValueError(
            f"environment({attribute!r}) needs an attribute '{attribute}'; a {type(environment).__name__} has "
            f"{', '.join(held) or 'none'}. Set it in __init__ or in reset(), or use optional=True if only some kinds of "
            f"environments have it."
        )
    value = getattr(environment, attribute)
    if value is not None and not isinstance(value, Real):
        raise ValueError(
            f"environment({attribute!r}) needs a number or None; '{attribute}' of a {type(environment).__name__} is {value!r}. "
            f"Store a number there."
        )
    return None if value is None else float(value)
