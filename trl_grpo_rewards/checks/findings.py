"""The findings of a check: lines to read, warnings, and faults that should stop a run."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Findings:
    """
    The findings of one check.

    Args:
        title (`str`):
            What was checked.
        lines (`list[str]`):
            Results to read.
        warnings (`list[str]`):
            Problems that may be intended.
        faults (`list[str]`):
            Problems that cannot be intended. Each says what was expected, what was found and what to do.
        is_run (`bool`):
            Whether the check was run. If not, the only line says why.
        data (`dict`):
            Results as values, which the lines show as text: `attacks` or `dry_run`.
    """

    title: str
    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    is_run: bool = True
    data: dict[str, Any] = field(default_factory=dict)


def skip(reason: str, titles: Iterable[str]) -> list[Findings]:
    """Return the findings of checks that were not run."""
    return [Findings(title, [f"not run: {reason}"], is_run=False) for title in titles]


def as_text(findings: list[Findings]) -> str:
    """Return all findings as text, with the faults at the end."""
    sections = ["\n".join([f"{one.title}:", *(f"  {line}" for line in one.lines)]) for one in findings]
    return "\n\n".join([*sections, verdict(findings)])


def verdict(findings: list[Findings]) -> str:
    """Return the warnings, the faults and the number of faults as text."""
    faults = [text for one in findings for text in one.faults]
    lines = [f"warning: {text}" for one in findings for text in one.warnings] + [f"fault: {text}" for text in faults]
    count = f"{len(faults)} fault{'s' * (len(faults) != 1)} found." if faults else "No fault found."
    return "\n\n".join([*lines, count])
