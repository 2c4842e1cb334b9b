"""Strict reading of a judge's reply. A reply that is ambiguous, or quotes the graded text, gives no verdict."""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..texts import REASONING_MARKS, reject_duplicates
from .prompts import MARKUP, SCORE_LINE, GradingPrompt, Rubric, split_last_line


@dataclass
class Grading:
    """The value that a judge's verdict gives, or the error that prevented it; and what the calls cost."""

    value: Any = None
    reason: str = ""
    error: str | None = None
    advice: str = ""
    seconds: list[float] = field(default_factory=list)
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __str__(self) -> str:
        return self.reason if self.error is None else f"no verdict: {self.error}"


VERDICT_KEY = re.compile('"(?:score|verdict)')
"""A key of a verdict. With one before it, an object at the end is not the only verdict of a reply."""


class UnreadableReply(ValueError):
    """Raised when a reply contains no verdict."""


class QuotedReply(UnreadableReply):
    """Raised when a judge may only have repeated a verdict that stands in a graded text."""


class TruncatedReply(UnreadableReply):
    """Raised when a reply was cut off at its limit of tokens."""


def read_verdict(reply: str, prompt: GradingPrompt) -> dict[str, Any]:
    """Return the one JSON object that a reply ends with, or a last line `Score: 7`, unless it quotes a graded text."""
    text = drop_reasoning(reply.strip())
    if (found := parse_object(whole := drop_code_fence(text))) is not None:
        refuse_quote(whole, prompt)
        return found
    if any(text.rfind(start) > text.rfind(end) for start, end in REASONING_MARKS):
        raise UnreadableReply(f"the reply ends within its reasoning: {text[:200]!r}")
    for before, candidate in split_endings(text):
        if (found := parse_object(candidate)) is not None and not VERDICT_KEY.search(before):
            refuse_quote(candidate, prompt)
            return found
    *lines, last = [line.strip(MARKUP) for line in text.splitlines()]
    score = SCORE_LINE.fullmatch(last)
    if score and not any(SCORE_LINE.fullmatch(line) for line in lines):
        if any(last == split_last_line(graded)[1] for _, graded in prompt.texts):
            raise QuotedReply(f"the reply repeats the last line of the graded text: {last[:200]!r}")
        return {"score": float(score[1]), "of": score[2] and float(score[2]), "reason": "\n".join(lines).strip()}
    raise UnreadableReply(f"the reply contains no verdict: {text[:200]!r}")


def refuse_quote(verdict: str, prompt: GradingPrompt) -> None:
    """Raise [`QuotedReply`] if a verdict stands in a graded text."""
    if any(verdict in graded for _, graded in prompt.texts):
        raise QuotedReply(f"the reply quotes a verdict from the graded text: {verdict[:200]!r}")


def drop_reasoning(text: str) -> str:
    """Return the text without the reasoning that it begins with."""
    for start, end in REASONING_MARKS:
        if text.startswith(start) and end in text:
            return text.partition(end)[2].strip()
    return text


def drop_code_fence(text: str) -> str:
    return text.removeprefix("```json").removeprefix("```").removesuffix("```").strip()


def parse_object(text: str) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(text, object_pairs_hook=reject_duplicates)
        return found if isinstance(found, dict) else None
    return None


def split_endings(text: str) -> Iterator[tuple[str, str]]:
    """Split the text before each `{` that may begin its last object, on a new line or after the reasoning."""
    text = text.removesuffix("```").strip()
    starts = [
        match.end() for match in re.finditer(r"^ *(?=\{)|(?:</think>|<\|channel\|>final)\s*(?=\{)", text, re.MULTILINE)
    ]
    yield from ((text[:start], text[start:]) for start in starts[-20:])


def scale_score(value: Any, rubric: Rubric) -> float:
    """Return the score, rescaled to the range from 0 (worst) to 1 (best)."""
    low, high = rubric.scale
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise UnreadableReply(f"the score must be a number; got {value!r}")
    if not low <= value <= high:
        raise UnreadableReply(f"the score must be from {low!r} to {high!r}; got {str(value)[:50]}")
    return (value - low) / (high - low)


def read_each(given: Any, names: Iterable[str], what: str) -> dict[str, Any]:
    """Return the part of a verdict that must have a value for each of these names and for nothing else."""
    if not isinstance(given, dict) or {*given} != {*names}:
        raise UnreadableReply(f"there must be {what}; got {str(given)[:200]}")
    return given


def read_grade(verdict: dict[str, Any], rubric: Rubric) -> tuple[float, dict[str, float]]:
    """Return the score from 0 to 1, and the scores of the criteria. With criteria, the score is their weighted mean."""
    weights = rubric.weights
    if not weights:
        if verdict.get("of") not in (None, rubric.scale[1]):
            raise UnreadableReply(
                f"the score must be out of {rubric.scale[1]!r}; got a score out of {verdict['of']:g}"
            )
        return scale_score(verdict.get("score"), rubric), {}
    given = read_each(verdict.get("criteria"), weights, f"a score for each of the criteria {', '.join(weights)}")
    scores = {name: scale_score(given[name], rubric) for name in weights}
    return sum(weight * scores[name] for name, weight in weights.items()) / sum(weights.values()), scores


def read_met(verdict: dict[str, Any], prompt: GradingPrompt) -> tuple[bool, ...]:
    """Return whether the answer meets each of the criteria 1, 2, ... that a prompt asks about."""
    numbers: list[str] = json.loads(prompt.schema)["properties"]["verdicts"]["required"]
    given = read_each(verdict.get("verdicts"), numbers, f"a verdict on each of the {len(numbers)} criteria")
    if odd := [value for value in given.values() if not isinstance(value, bool)]:
        raise UnreadableReply(f"a verdict must be true or false; got {str(odd[0])[:50]!r}")
    return tuple(given[number] for number in numbers)


def read_ranking(verdict: dict[str, Any], rubric: Rubric, count: int) -> list[float]:
    """Return the scores from 0 to 1 of the answers 1, 2, ..."""
    numbers = [str(one) for one in range(1, count + 1)]
    given = read_each(verdict.get("scores"), numbers, f"a score for each of the {count} answers")
    return [scale_score(given[one], rubric) for one in numbers]
