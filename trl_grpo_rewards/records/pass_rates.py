"""Pass rates of prompts, from the records of an earlier run or from a table in lines of JSON."""

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .fields import hash_prompt
from .files import find_record_files, read_records


CONFIDENCE = 1.645
"""Number of standard deviations on each side of a pass rate. The interval then has a confidence of 90 %."""


class PassRate(NamedTuple):
    """
    How many completions of a prompt were right.

    Args:
        right (`float`):
            Number of right completions. In a table it is the pass rate times the samples.
        samples (`int`):
            Number of completions that were scored.
    """

    right: float
    samples: int

    @property
    def rate(self) -> float:
        return self.right / self.samples

    @property
    def interval(self) -> tuple[float, float]:
        """The Wilson interval of the pass rate with a confidence of 90 %."""
        square = CONFIDENCE**2 / self.samples
        middle = (self.rate + square / 2) / (1 + square)
        spread = math.sqrt(square * (self.rate * (1 - self.rate) + square / 4)) / (1 + square)
        return max(middle - spread, 0.0), min(middle + spread, 1.0)


def count_right(scores: Iterable[float | None]) -> PassRate:
    """Return how many of these scores of the outcome reward are at least 1, and how many are numbers."""
    known = [score for score in scores if score is not None and score == score]
    return PassRate(sum(score >= 1 for score in known), len(known))


def read_pass_rates(source: str | Path) -> dict[str, PassRate]:
    """
    Return the pass rate of each prompt, by the prompt's id.

    Args:
        source (`str` or `Path`):
            The output directory of a run, its folder of records, one file of them, or a table as [`append_pass_rates`]
            writes it. The counts of a prompt that occurs more than once are added.

    Raises:
        `FileNotFoundError`: the folder has no records.
        `ValueError`: a line of the table cannot be read.
    """
    source = Path(source)
    counts = read_table(source) if source.is_file() and not is_record_file(source) else count_records(source)
    rates: dict[str, PassRate] = {}
    for prompt, found in counts:
        before = rates.get(prompt, PassRate(0, 0))
        rates[prompt] = PassRate(before.right + found.right, before.samples + found.samples)
    return {prompt: rate for prompt, rate in rates.items() if rate.samples}


def is_record_file(source: Path) -> bool:
    with source.open("rb") as lines:
        return next(lines, b"").startswith(b'{"run": ')


def count_records(source: Path) -> Iterator[tuple[str, PassRate]]:
    """Yield the id and the pass rate of each group in the records of a run."""
    find_record_files(source)
    for record in read_records(source):
        scores = record["rewards"]
        name = record.get("outcome_reward")  # records of early versions lack it
        prompt = record.get("dataset_prompt_id", record["prompt_id"])
        yield prompt, count_right(scores[name] if name in scores else next(iter(scores.values()), []))


def read_table(source: Path) -> Iterator[tuple[str, PassRate]]:
    """Yield the id and the pass rate of each prompt in a table."""
    with source.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield read_line(line, f"Line {number} of '{source}'")


def read_line(line: str, place: str) -> tuple[str, PassRate]:
    try:
        row = json.loads(line)
        prompt, rate, samples = row["prompt"], row["pass_rate"], row["samples"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(
            f"{place} must be JSON with prompt, pass_rate and samples, but it is {line.strip()[:80]!r}. Write a table "
            f"with trl-grpo-rewards pass-rates, or pass the output folder of a run."
        ) from None
    if not isinstance(samples, int) or samples < 1:
        raise ValueError(
            f"{place} must have samples as a whole number of at least 1, but it has {samples!r}. Write how many "
            f"completions were scored, or leave out the line."
        )
    return hash_prompt(prompt), PassRate(check_rate(rate, place) * samples, samples)


def check_rate(rate: Any, place: str) -> float:
    """
    Return an expected pass rate.

    Raises:
        `ValueError`: it is not a number from 0 to 1.
    """
    is_number = isinstance(rate, (int, float)) and not isinstance(rate, bool)
    if is_number and 0 <= rate <= 1:
        return float(rate)
    if is_number and 1 < rate <= 100:
        remedy = "Divide percentages by 100."
    else:
        number = "Write it as a number. " if isinstance(rate, str) else ""
        remedy = f"{number}If it is not known, write None in a column, or leave out the line of a table."
    raise ValueError(f"{place} must have a pass rate from 0 to 1, but it has {rate!r}. {remedy}")


def drop_cut_line(path: Path) -> None:
    """Remove the end of a table after its last whole line. A process that was killed can leave half a line."""
    with path.open("r+b") as file:
        file.truncate(file.read().rfind(b"\n") + 1)


def append_pass_rates(path: Path, rows: Iterable[tuple[Any, PassRate]]) -> None:
    """Add prompts to a table, with their pass rates, how many samples these are from, and a 90 % interval."""
    with path.open("a", encoding="utf-8") as file:
        for prompt, rate in rows:
            low, high = rate.interval
            facts = {"pass_rate": rate.rate, "samples": rate.samples, "low": round(low, 4), "high": round(high, 4)}
            file.write(json.dumps({"prompt": prompt, **facts}) + "\n")
