"""How often each prompt is answered right over time, and what that says about the size of groups.

A prompt is kept if its id is among the smallest: as ids are hashes, that is a random sample of which every group is
seen, drawn without knowing how many prompts are to come.
"""

import math
from collections import Counter
from typing import Any

from ..batch import prompt_text
from ..records.beta import beta, power
from .trends import Stretch, Timeline, passes


PROMPTS = 1000
"""Prompts of the sample, at least; at most twice as many."""

CELLS = 32
"""Stretches of one prompt's history at most."""

ROWS = 160
"""Prompts on the map at most."""

COLUMNS = 48
"""Stretches of steps on the map at most."""

SIZES = (2, 4, 8, 16, 32, 64)
"""Completions a group might have."""


class Prompt:
    """One prompt: its beginning, where it was solved first, and how often it was answered right."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.solved: int | None = None
        self.groups = 0
        self.history = Timeline(CELLS)

    def add(self, step: int, passed: list[bool]) -> None:
        self.groups += 1
        if self.solved is None and all(passed):
            self.solved = step
        stretch = Stretch(step, step)
        stretch.see("pass", passed)
        self.history.add(stretch)

    @property
    def last_rate(self) -> float:
        return [*self.history][-1].mean("pass")

    def since(self, step: int) -> tuple[int, int]:
        """How many completions were right, and how many there were, in stretches that reach past the step."""
        late = [stretch for stretch in self.history if stretch.last > step]
        return sum(stretch.sums["pass", "sum"] for stretch in late), sum(stretch.count("pass") for stretch in late)


class Prompts:
    """The prompts of a run, or a sample of them; `ids` are all."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.kept: dict[str, Prompt] = {}
        self.border: str | None = None
        self.first, self.last = 0, 0

    def add(self, record: dict[str, Any]) -> None:
        prompt, passed = record.get("prompt_id"), passes(record)
        self.first, self.last = self.first or record["step"], record["step"]
        if prompt is None or not passed:
            return
        self.ids.add(prompt)
        if self.border is not None and prompt > self.border:
            return
        if prompt not in self.kept:
            self.kept[prompt] = Prompt(label(record))
        self.kept[prompt].add(record["step"], passed)
        if len(self.kept) > 2 * PROMPTS:
            self._thin()

    def _thin(self) -> None:
        self.kept = {prompt: self.kept[prompt] for prompt in sorted(self.kept)[:PROMPTS]}
        self.border = max(self.kept)

    def shown(self) -> list[Prompt]:
        """Those on the map: drawn among the ones with a history, the first to be solved on top."""
        again = [prompt for _, prompt in sorted(self.kept.items()) if prompt.groups > 1]
        some = (again or [prompt for _, prompt in sorted(self.kept.items())])[:ROWS]
        return sorted(some, key=lambda prompt: (prompt.solved or math.inf, -prompt.last_rate))


def label(record: dict[str, Any]) -> str:
    """The beginning of the prompt, or its id where no text was kept."""
    text = " ".join(prompt_text(record.get("prompt")).split())
    return (text[:80] + "…" if len(text) > 80 else text) or record["prompt_id"]


def heatmap(prompts: Prompts) -> dict[str, Any]:
    """A row for each prompt that is shown, and in it of each stretch of steps the pass rate as last seen by then."""
    shown = prompts.shown()
    wide = max((prompt.history.width for prompt in shown), default=1)
    while (prompts.last - 1) // wide - (prompts.first - 1) // wide >= COLUMNS:
        wide *= 2
    places = range((prompts.first - 1) // wide, (prompts.last - 1) // wide + 1)
    return {
        "steps": [[max(place * wide + 1, prompts.first), min((place + 1) * wide, prompts.last)] for place in places],
        "prompts": [[prompt.label, prompt.solved] for prompt in shown],
        "rates": [carried(prompt.history, wide, places) for prompt in shown],
        "of": len(prompts.ids),
        "again": max((prompt.groups for prompt in shown), default=0) > 1,
    }


def carried(history: Timeline, wide: int, places: range) -> list[float | None]:
    """The pass rate of each place, which is the one before where the prompt was not asked."""
    passed, of = Counter(), Counter()
    for stretch in history:
        place = (stretch.first - 1) // wide
        passed[place] += stretch.sums["pass", "sum"]
        of[place] += stretch.count("pass")
    rates: list[float | None] = []
    for place in places:
        rates.append(round(passed[place] / of[place], 3) if of[place] else rates[-1] if rates else None)
    return rates


def dead_share(passed: int, of: int, size: int) -> float:
    """
    Share of groups of `size` in which all are right or all are wrong, of those drawn from completions that were seen.

    An unbiased estimate of p^k + (1 - p)^k, for the rate p at which the prompt is answered right.
    """
    return (math.comb(passed, size) + math.comb(of - passed, size)) / math.comb(of, size)


def prior(seen: list[tuple[int, int]]) -> tuple[float, float]:
    """The beta distribution of pass rates over prompts, by its first two moments, of which both are unbiased."""
    pairs = [one for one in seen if one[1] > 1] or [(1, 2)]
    mean = sum(passed / of for passed, of in pairs) / len(pairs)
    square = sum(passed * (passed - 1) / (of * (of - 1)) for passed, of in pairs) / len(pairs)
    return beta(mean, square)


def dead_share_beyond(passed: int, of: int, size: int, prior: tuple[float, float]) -> float:
    """
    The same for more completions than were seen, where the rate p is what prompts alike may have.

    The observed rate would not do: eight wrong answers do not say that sixty-four would all be wrong.
    """
    right, wrong = prior[0] + passed, prior[1] + of - passed
    return power(right, wrong, size) + power(wrong, right, size)


def group_sizes(prompts: Prompts) -> dict[str, Any]:
    """Of each size the share of dead groups and the live groups per completion, by the last quarter of the steps."""
    start = prompts.last - (prompts.last - prompts.first + 1) / 4
    seen = [(int(passed), of) for passed, of in (prompt.since(start) for prompt in prompts.kept.values()) if of]
    if not seen:
        return {"sizes": [], "most": None, "prompts": 0, "since": 0}
    sizes = [{"size": size, **expected(seen, size)} for size in SIZES]
    highest = max(one["live"] for one in sizes)
    most = max(one["size"] for one in sizes if one["live"] >= highest - 1e-9)
    return {
        "sizes": sizes,
        "most": most if highest > 1e-9 else None,
        "prompts": len(seen),
        "since": math.floor(start) + 1,
    }


def expected(seen: list[tuple[int, int]], size: int) -> dict[str, Any]:
    """What groups of a size would be like, and whether that is a guess for most prompts."""
    beta = prior(seen)
    shares = [dead_share(*one, size) if size <= one[1] else dead_share_beyond(*one, size, beta) for one in seen]
    dead = sum(shares) / len(shares)
    return {"dead": dead, "live": (1 - dead) / size, "guess": sum(of < size for _, of in seen) > len(seen) / 2}
