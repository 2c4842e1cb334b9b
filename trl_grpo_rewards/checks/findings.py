"""What a check has found: lines to read, warnings, and faults that should stop a run."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..expressions import Reward
from ..function_rewards import FunctionReward


@dataclass
class Findings:
    """
    What one check has found.

    Args:
        title (`str`):
            What was checked.
        lines (`list[str]`):
            What there is to see.
        warnings (`list[str]`):
            What may be meant.
        faults (`list[str]`):
            What cannot be meant: what was asked, what there is, what to do.
    """

    title: str
    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def as_text(findings: list[Findings]) -> str:
    """All findings to read, the faults last."""
    sections = ["\n".join([f"{one.title}:", *(f"  {line}" for line in one.lines)]) for one in findings]
    return "\n\n".join([*sections, verdict(findings)])


def verdict(findings: list[Findings]) -> str:
    """The warnings and faults, and how many there are."""
    faults = [text for one in findings for text in one.faults]
    said = [f"warning: {text}" for one in findings for text in one.warnings] + [f"fault: {text}" for text in faults]
    count = f"{len(faults)} fault{'s' * (len(faults) != 1)} found." if faults else "No fault found."
    return "\n\n".join([*said, count])


def parts(reward: Reward, *, paid_only: bool = False) -> Iterator[FunctionReward]:
    """Yield the functions of an expression, and those inside of them. `paid_only` leaves out negative weights."""
    if isinstance(reward, FunctionReward):
        yield reward
        inner = reward.children
    else:
        inner = [term for weight, term in reward.terms if weight >= 0 or not paid_only]
    for one in inner:
        yield from parts(one, paid_only=paid_only)
