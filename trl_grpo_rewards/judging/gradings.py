"""The result of a grading prompt."""

from dataclasses import dataclass, field
from typing import Any


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


def describe_grading(grading: Grading) -> str:
    """Return the judge's reason, or the error that prevented a verdict."""
    return grading.reason if grading.error is None else f"no verdict: {grading.error}"
