"""What a judge replied, read strictly: a verdict that is not clearly one is none."""

import contextlib
import json
import math
import re
from collections.abc import Iterator
from typing import Any

from .sheets import Rubric


PLAIN = re.compile(r"(?:final )?score *[:=] *(-?\d+(?:\.\d+)?)(?: */ *\d+)?\.?", re.IGNORECASE)
"""The last line of a reply in words."""


class Unreadable(ValueError):
    """The reply holds no verdict."""


def object_in(reply: Any) -> dict[str, Any]:
    """
    The JSON object that the reply is, or ends with; a last line `Score: 7` is one, too.

    Raises:
        [`Unreadable`]: there is none, the reasoning before it was never closed, or the reply was cut off.
    """
    try:
        choice = reply["choices"][0]
        text, cut = choice["message"]["content"], choice.get("finish_reason") == "length"
    except (KeyError, IndexError, TypeError):
        raise Unreadable("the reply is no chat completion") from None
    if not isinstance(text, str) or not text.strip():
        raise Unreadable("the reply is empty")
    if cut:
        raise Unreadable(f"the reply was cut off at its limit of tokens: {text[:200]!r}")
    said = text.strip()
    if said.startswith("<think>"):
        said = said.partition("</think>")[2].strip()
    for candidate in candidates(said):
        with contextlib.suppress(ValueError, RecursionError):
            if isinstance(found := json.loads(candidate), dict):
                return found
    before, _, line = said.rpartition("\n")
    if (plain := PLAIN.fullmatch(line.strip(" *#_"))) and before.rfind("<think>") <= before.rfind("</think>"):
        return {"score": float(plain[1]), "reason": before.strip()}
    raise Unreadable(f"the reply holds no verdict: {said[:200]!r}")


def candidates(text: str) -> Iterator[str]:
    """The text, and if it is not all within a reasoning that never ended, what it ends with from a line with a `{`."""
    text = text.removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    yield text
    if text.rfind("<think>") <= text.rfind("</think>"):
        text = text.rpartition("</think>")[2]
        yield text
        starts = [match.start() for match in re.finditer(r"^ *\{", text, re.MULTILINE)]
        yield from (text[start:] for start in starts[-20:])


def number(value: Any, rubric: Rubric) -> float:
    """A score as a share of the scale."""
    low, high = rubric.scale
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Unreadable(f"the score is {value!r}, which is no number")
    if not low <= value <= high:
        raise Unreadable(f"the score is {value!r}, outside the scale from {low:g} to {high:g}")
    return (value - low) / (high - low)


def graded(verdict: dict[str, Any], rubric: Rubric) -> tuple[float, dict[str, float]]:
    """The score from 0 to 1, and that of each criterion, of which it is the weighted mean."""
    if not rubric.weights:
        return number(verdict.get("score"), rubric), {}
    given = verdict.get("criteria")
    if not isinstance(given, dict) or {*given} != {*rubric.weights}:
        raise Unreadable(f"the criteria are {given!r}, and asked for were {', '.join(rubric.weights)}")
    scores = {name: number(given[name], rubric) for name in rubric.weights}
    total = sum(rubric.weights.values())
    return sum(weight * scores[name] for name, weight in rubric.weights.items()) / total, scores


def compared(verdict: dict[str, Any], rubric: Rubric, count: int) -> list[float]:
    """Scores from 0 to 1 of answers 1, 2, ..."""
    given, numbers = verdict.get("scores"), [str(one) for one in range(1, count + 1)]
    if not isinstance(given, dict) or {*given} != {*numbers}:
        raise Unreadable(f"the scores are {given!r}, and asked for were those of {count} answers")
    return [number(given[one], rubric) for one in numbers]


def reason(verdict: dict[str, Any]) -> str:
    return str(verdict.get("reason", ""))
