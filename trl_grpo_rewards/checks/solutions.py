"""Can the right answers be read? Reads every value of the columns that rewards read."""

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ..batch import prompt_text
from ..expressions import Reward
from ..traits import ReadColumn
from .findings import Findings, parts


if TYPE_CHECKING:
    from datasets import Dataset

SHOWN = 3
"""Examples of each kind in the listing."""


def check_solutions(rewards: Reward, dataset: "Dataset", threshold: float = 0.05) -> list[Findings]:
    """
    Find out how many values of a column a reward cannot read, reads only in part, or reads as several answers.

    Args:
        rewards ([`Reward`]):
            Expression of rewards. Those with the trait `reads` are asked.
        dataset ([`~datasets.Dataset`]):
            All of its rows are read.
        threshold (`float`, *optional*, defaults to `0.05`):
            Share of values that cannot be read as a whole, above which it is a fault.

    Returns:
        `list[Findings]`: one for each column that a reward reads.
    """
    reads = {
        column: (part.name, read)
        for part in parts(rewards)
        for column, read in part.maker.traits.reads.items()
        if column in dataset.column_names
    }
    return [check_column(dataset, column, name, read, threshold) for column, (name, read) in reads.items()]


def check_column(dataset: "Dataset", column: str, reward: str, read: ReadColumn, threshold: float) -> Findings:
    values = dataset[column]
    rows: dict[str, list[int]] = defaultdict(list)
    readings = read(list(values))
    for row, reading in enumerate(readings):
        rows[reading.kind].append(row)
    contradictory = contradictory_rows(dataset["prompt"], [reading.value for reading in readings])
    different = {reading.value for reading in readings}
    found = Findings(f"{column}s", [f"{len(values):,} read, {len(different):,} different"])
    for title, examples in (
        ("unreadable", rows["not at all"]),
        ("read in part", rows["in part"]),
        ("of several answers", rows["several"]),
        ("of a prompt with others", contradictory),
    ):
        found.lines.append(f"{len(examples) / len(values):7.2%} {title}")
        found.lines += [f"          {excerpt(values[row])}" for row in examples[:SHOWN]]
    bad = rows["not at all"] + rows["in part"]
    if len(bad) > threshold * len(values):
        found.faults.append(
            f"Reward '{reward}' reads the column '{column}', and {len(bad):,} of {len(values):,} {column}s cannot be read "
            f"as a whole, such as {excerpt(values[bad[0]])} in row {bad[0]}. Put the bare answer there, leave such rows out, "
            f"or compare them as text: exact()."
        )
    elif bad:
        found.warnings.append(
            f"{len(bad):,} {column}s cannot be read as a whole. Their completions get no score, or a wrong one."
        )
    if contradictory:
        found.warnings.append(f"{len(contradictory):,} rows have a prompt with different {column}s.")
    return found


def contradictory_rows(prompts: list[Any], values: list[str | None]) -> list[int]:
    """Return the rows whose prompt occurs elsewhere with another value."""
    texts = [prompt_text(prompt) for prompt in prompts]
    answers: dict[str, set[str | None]] = defaultdict(set)
    for text, value in zip(texts, values, strict=True):
        answers[text].add(value)
    return [row for row, text in enumerate(texts) if len(answers[text]) > 1]


def excerpt(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:60]} ... {text[-35:]}"
