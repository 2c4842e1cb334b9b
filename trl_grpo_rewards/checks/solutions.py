"""Can the right answers be read? Every solution of a dataset, read before a run depends on it."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from ..batch import prompt_text
from ..expressions import Reward
from ..verify import pool, units
from ..verify.equality import JOINED, Terms, separated
from ..verify.golds import read_gold
from ..verify.latex import plain, tidy
from ..verify.numerals import number
from .findings import Findings, parts


if TYPE_CHECKING:
    from datasets import Dataset

READ_GOLD = ("boxed", "answer")
"""Rewards that read the column `solution` as mathematics."""

PROBE = "0.918273645"
"""An answer that none has, so that a solution must be read to tell."""

NUMBER = re.compile(r"\d+(?:\.\d+)?")

AT_ONCE = 256

SHOWN = 3
"""Examples of each kind."""


def check_golds(rewards: Reward, dataset: "Dataset", threshold: float = 0.05) -> Findings | None:
    """
    How many solutions cannot be read, are read in part, or are several answers; None where no reward reads any.

    Args:
        rewards ([`Reward`]):
            Expression of rewards.
        dataset ([`~datasets.Dataset`]):
            All of its solutions are read.
        threshold (`float`, *optional*, defaults to `0.05`):
            Share of solutions that cannot be read, or not as a whole, above which it is a fault.
    """
    readers = [part for part in parts(rewards) if part.maker.__name__ in READ_GOLD]
    if not readers or "solution" not in dataset.column_names:
        return None
    golds = [read_gold(value) for value in dataset["solution"]]
    kinds = judged(golds)
    rows: dict[str, list[int]] = defaultdict(list)
    for row, gold in enumerate(golds):
        rows["unreadable" if gold is None else kinds[gold]].append(row)
        if gold is not None and kinds[gold] == "whole" and several(gold):
            rows["of several answers"].append(row)
    rows["of a prompt with others"] = contradicting(dataset["prompt"], golds)
    found = Findings("solutions", [f"{len(golds):,} read, {len({*golds}):,} different"])
    for kind in ("unreadable", "read in part", "of several answers", "of a prompt with others"):
        found.lines.append(f"{len(rows[kind]) / len(golds):7.2%} {kind}")
        found.lines += [f"          {shown(dataset[row]['solution'])}" for row in rows[kind][:SHOWN]]
    bad = len(rows["unreadable"]) + len(rows["read in part"])
    if bad > threshold * len(golds):
        example = (rows["unreadable"] + rows["read in part"])[0]
        found.faults.append(
            f"Reward '{readers[0].name}' reads the column 'solution', and {bad:,} of {len(golds):,} solutions cannot be "
            f"read as a whole, such as {shown(dataset[example]['solution'])} in row {example}. Put the bare answer "
            f"there, leave such rows out, or compare them as text: exact()."
        )
    elif bad:
        found.warnings.append(
            f"{bad:,} solutions cannot be read as a whole; their completions are not scored, or wrong."
        )
    if rows["of a prompt with others"]:
        found.warnings.append(f"{len(rows['of a prompt with others']):,} rows have a prompt with different solutions.")
    return found


def judged(golds: list[str | None]) -> dict[str, str]:
    """Of each different solution whether it is read as a whole, in part, or not at all, in parallel."""
    different = [gold for gold in dict.fromkeys(golds) if gold is not None]
    kinds = dict.fromkeys(different, "whole")
    symbolic = [gold for gold in different if number(value_of(gold)) is None]
    bar = tqdm(total=len(different), initial=len(different) - len(symbolic), desc="Reading solutions", disable=None)
    with bar:
        for start in range(0, len(symbolic), AT_ONCE):
            some = symbolic[start : start + AT_ONCE]
            for gold, kind in zip(some, read_in_workers(some), strict=True):
                kinds[gold] = kind
            bar.update(len(some))
    return kinds


def read_in_workers(golds: list[str]) -> Iterator[str]:
    """A solution that equals a number within it, and is not that number, was read as a fragment of itself."""
    pairs = [(gold, answer) for gold in golds for answer in (PROBE, *numbers_in(gold))]
    verdicts = dict(zip(pairs, pool.judge(pairs, Terms()), strict=True))
    for gold in golds:
        if verdicts[gold, PROBE].fault == "gold":
            yield "unreadable"
        elif not several(gold) and any(verdicts[gold, one].equal for one in numbers_in(gold)):
            yield "read in part"
        else:
            yield "whole"


def value_of(gold: str) -> str:
    """The solution without a unit, and without the name that it is given: `x = 5` is 5."""
    return plain(units.split(tidy(gold.rpartition("=")[2]))[0])


def numbers_in(gold: str) -> list[str]:
    """The first two numbers that stand in a text."""
    return [*dict.fromkeys(NUMBER.findall(gold))][:2]


def several(gold: str) -> bool:
    return len(separated(JOINED.sub(",", plain(tidy(gold)))) or ()) > 1


def contradicting(prompts: list, golds: list[str | None]) -> list[int]:
    """Rows whose prompt stands elsewhere with another solution."""
    answers: dict[str, set[str | None]] = defaultdict(set)
    texts = [prompt_text(prompt) for prompt in prompts]
    for text, gold in zip(texts, golds, strict=True):
        answers[text].add(gold)
    return [row for row, text in enumerate(texts) if len(answers[text]) > 1]


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:60]} ... {text[-35:]}"
