"""A reward for following instructions that a rule can check."""

from collections import Counter
from itertools import chain, zip_longest
from typing import Any, TypeAlias

from ..constraints.table import Constraint, UnreadableConstraint, drop_arrays, list_verdicts, read_constraints
from ..registry import reward
from ..scores import LogExtra, LogMetric, Score
from ..texts import completion_text, prompt_text, strip_reasoning
from ..traits import Findings


__all__ = ["instructions"]
SHOWN_REASONS = 5  # largest number of reasons why rows cannot be read that a check shows
RowConstraints: TypeAlias = list[Constraint] | UnreadableConstraint  # or the reason why they cannot be read


def read_rows(names: list[Any], arguments: list[Any]) -> list[RowConstraints]:
    """Return the constraints of each row. Equal neighbors, such as a group, are read once."""
    rows: list[RowConstraints] = []
    last = None
    for columns in zip(map(drop_arrays, names), map(drop_arrays, arguments), strict=True):
        try:
            rows.append(rows[-1] if columns == last else read_constraints(*columns))
        except UnreadableConstraint as error:
            rows.append(error)
        last = columns
    return rows


def examine_instructions(rows: list[dict[str, Any]], instruction_id_list: str, kwargs: str) -> Findings:
    """Count the constraints of a dataset, and the rows that cannot be read."""
    try:
        found = read_rows([row[instruction_id_list] for row in rows], [row.get(kwargs) for row in rows])
    except ImportError as error:
        return Findings(faults=[str(error)])
    readable = [row for row in found if isinstance(row, list)]
    counts = Counter(constraint.name for constraint in chain.from_iterable(readable))
    reasons = Counter(str(row) for row in found if isinstance(row, UnreadableConstraint))
    lines = list_counts(len(rows), counts, reasons)
    if not reasons:
        return Findings(lines=lines)
    fault = (
        f"instructions() must be able to read the constraints of each row; {reasons.total():,} of {len(rows):,} rows are "
        f"unreadable, most often because {reasons.most_common(1)[0][0]}. Their completions get None. Remove these rows, "
        f"or write their constraints as IFEval does."
    )
    if counts:
        return Findings("", lines, [fault])
    return Findings("", lines, faults=[fault])


def list_counts(rows: int, counts: Counter[str], reasons: Counter[str]) -> list[str]:
    lines = [f"{rows:,} rows with {counts.total():,} constraints of {len(counts):,} kinds"]
    if rows:
        lines.append(f"{reasons.total() / rows:7.2%} unreadable")
    lines += [f"          {reason} ({count:,} rows)" for reason, count in reasons.most_common(SHOWN_REASONS)]
    return lines


@reward(batched=True, outcome=True, solves=lambda row: None, examines=examine_instructions)
def instructions(
    completions: list[Any],
    instruction_id_list: list[Any],
    log_metric: LogMetric,
    log_extra: LogExtra,
    kwargs: list[Any] | None = None,
    prompts: list[Any] | None = None,
    *,
    partial: bool = False,
    loose: bool = False,
) -> list[Score]:
    r"""
    1 if the completion meets all constraints of its row, else 0; None if one of them is unknown or cannot be read.

    The constraints are the 25 of [IFEval](https://huggingface.co/papers/2311.07911), and the 58 of IFBench and the 29 of its
    training set, IF-RLVR ([Generalizing Verifiable Instruction Following](https://huggingface.co/papers/2507.02833)), such as
    a number of words, forbidden words, a title or a language. The column `instruction_id_list` has the ids of a row, and the column `kwargs` has a dict of arguments for
    each. The column of ids may also have one dict for each constraint, such as `{"id": "punctuation:no_comma"}` or
    `{"id": "keywords:existence", "keywords": ["sun"]}`; then `kwargs` is not needed. Both columns may have JSON text.
    Only the text after the reasoning counts. Verdicts are those of the official programs, except where a person would
    not agree with them; `docs/judges.md` lists these cases, and the rules for words and sentences.

    Logs `instructions/met` (share of the constraints that are met) and `instructions/unreadable_rows` for each batch,
    and the column `instructions/missed` in the table of completions: the constraints that are not met.

    Args:
        partial (`bool`, *optional*, defaults to `False`):
            Pay the share of the constraints that are met.
        loose (`bool`, *optional*, defaults to `False`):
            A constraint is also met if it is met without the first line, the last line, both, or the asterisks of the
            text. This is IFEval's loose accuracy. It forgives an introduction such as "Sure, here it is:".

    Raises:
        `ImportError`: a row needs a package that is not installed, such as `langdetect` for languages. The extra
            `instructions` installs them.

    Example:

    ```python
    >>> from trl_grpo_rewards import instructions

    >>> ids = ["punctuation:no_comma", "length_constraints:number_words"]
    >>> columns = {"instruction_id_list": [ids] * 2, "kwargs": [[{}, {"relation": "at least", "num_words": 4}]] * 2}
    >>> instructions()(completions=["Red, green, and blue", "Red and green and blue"], **columns)
    [0.0, 1.0]
    >>> instructions(partial=True)(completions=["Red, green, and blue", "Red"], **columns)
    [0.5, 0.5]

    ```
    """
    rows = read_rows(instruction_id_list, [None] * len(completions) if kwargs is None else kwargs)
    scores: list[Score] = []
    missed: list[str] = []
    met: list[bool] = []
    for completion, row, prompt in zip_longest(completions, rows, prompts or []):
        if isinstance(row, UnreadableConstraint):
            scores.append(None)
            missed.append(f"unreadable: {row}")
            continue
        verdicts = list_verdicts(strip_reasoning(completion_text(completion)), row, loose, prompt_text(prompt))
        scores.append(sum(verdicts) / len(verdicts) if partial else float(all(verdicts)))
        missed.append(", ".join(asked.name for asked, is_met in zip(row, verdicts, strict=True) if not is_met))
        met += verdicts
    if met:
        log_metric("met", sum(met) / len(met))
    log_metric("unreadable_rows", scores.count(None))
    log_extra("missed", missed)
    return scores
