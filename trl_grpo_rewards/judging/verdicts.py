"""What a judge replied, read strictly: a verdict that is not clearly one, and its own, is none."""

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

from .grading_prompts import Rubric, Sheet


WORDS = re.compile(r"(?:final )?score *[:=] *(-?\d+(?:\.\d+)?)(?: */ *(\d+(?:\.\d+)?))?\.?", re.IGNORECASE)
"""A verdict in words, which is a line of its own."""

REASONING = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("<|channel|>analysis", "<|channel|>final"),
)
"""What models put around the reasoning before their reply."""


class Unreadable(ValueError):
    """The reply holds no verdict."""


class CutOff(Unreadable):
    """The reply ended at its limit of tokens."""


def object_in(reply: Any, sheet: Sheet) -> dict[str, Any]:
    """
    The JSON object that the reply is, or ends with; a last line `Score: 7` is one, too.

    Raises:
        [`Unreadable`]: there is none or several, it quotes the sheet, or the reasoning before it was never closed.
        [`CutOff`]: the reply ended at its limit of tokens.
    """
    try:
        choice = reply["choices"][0]
        message, cut = choice["message"], choice.get("finish_reason") == "length"
        text = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Unreadable(f"the reply is no chat completion: {str(reply)[:200]}") from None
    if cut:
        said = text or message.get("reasoning_content") or message.get("reasoning") or ""
        raise CutOff(f"the reply was cut off at its limit of {tokens_of(reply)}: {str(said)[:200]!r}")
    if not isinstance(text, str) or not text.strip():
        raise Unreadable(f"the reply is empty: {str(choice)[:200]}")
    said = after_reasoning(text.strip())
    if (found := json_object(unfenced(said))) is not None:
        return found
    if any(said.rfind(start) > said.rfind(end) for start, end in REASONING):
        raise Unreadable(f"the reply ends within its reasoning: {said[:200]!r}")
    for before, candidate in endings(said):
        if (found := json_object(candidate)) is not None and '"score' not in before:
            if any(candidate in text for _, text in sheet.texts):
                raise Unreadable(f"the reply quotes a verdict from the text: {candidate[:200]!r}")
            return found
    *before, last = [line.strip(" *#_") for line in said.splitlines()]
    plain = WORDS.fullmatch(last)
    if plain and not any(WORDS.fullmatch(line) for line in before):
        return {"score": float(plain[1]), "of": plain[2] and float(plain[2]), "reason": "\n".join(before).strip()}
    raise Unreadable(f"the reply holds no verdict: {said[:200]!r}")


def tokens_of(reply: dict[str, Any]) -> str:
    usage = reply.get("usage")
    count = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return f"{count} tokens" if isinstance(count, int) else "tokens"


def after_reasoning(text: str) -> str:
    """The text without the reasoning that it begins with."""
    for start, end in REASONING:
        if text.startswith(start) and end in text:
            return text.partition(end)[2].strip()
    return text


def unfenced(text: str) -> str:
    return text.removeprefix("```json").removeprefix("```").removesuffix("```").strip()


def json_object(text: str) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(text, object_pairs_hook=without_doubles)
        return found if isinstance(found, dict) else None
    return None


def without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name occurs twice")
    return dict(pairs)


def endings(text: str) -> Iterator[tuple[str, str]]:
    """What the text ends with from where an object may begin, a line or the end of a reasoning, and what is before."""
    text = text.removesuffix("```").strip()
    starts = [
        match.end() for match in re.finditer(r"^ *(?=\{)|(?:</think>|<\|channel\|>final)\s*(?=\{)", text, re.MULTILINE)
    ]
    yield from ((text[:start], text[start:]) for start in starts[-20:])


def share_of(value: Any, rubric: Rubric) -> float:
    """A score as a share of the scale."""
    low, high = rubric.scale
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise Unreadable(f"the score is {value!r}, which is no number")
    if not low <= value <= high:
        raise Unreadable(f"the score is {str(value)[:50]}, outside the scale from {low!r} to {high!r}")
    return (value - low) / (high - low)


def graded(verdict: dict[str, Any], rubric: Rubric) -> tuple[float, dict[str, float]]:
    """The score from 0 to 1, and that of each criterion, of which it is the weighted mean."""
    if not rubric.weights:
        if verdict.get("of") not in (None, rubric.scale[1]):
            raise Unreadable(f"the score is one of {verdict['of']:g}, and the scale goes to {rubric.scale[1]!r}")
        return share_of(verdict.get("score"), rubric), {}
    given = verdict.get("criteria")
    if not isinstance(given, dict) or {*given} != {*rubric.weights}:
        raise Unreadable(f"the criteria are {given!r}, and asked for were {', '.join(rubric.weights)}")
    scores = {name: share_of(given[name], rubric) for name in rubric.weights}
    total = sum(rubric.weights.values())
    return sum(weight * scores[name] for name, weight in rubric.weights.items()) / total, scores


def compared(verdict: dict[str, Any], rubric: Rubric, count: int) -> list[float]:
    """Scores from 0 to 1 of answers 1, 2, ..."""
    given, numbers = verdict.get("scores"), [str(one) for one in range(1, count + 1)]
    if not isinstance(given, dict) or {*given} != {*numbers}:
        raise Unreadable(f"the scores are {str(given)[:200]}, and asked for were those of {count} answers")
    return [share_of(given[one], rubric) for one in numbers]
