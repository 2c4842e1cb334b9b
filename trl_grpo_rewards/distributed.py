"""Whole groups on several ranks: TRL spreads the completions of one prompt over them, and each scores its own slice.

So the rows of all ranks are gathered, every rank scores whole groups, and the scores, or an error, are gathered back.
Both collectives run on every rank in every call, in the main thread: TRL's thread for asynchronous rewards awaits
several at once, where gathers would swap data, and knows no device but the first.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .batch import Batch, Log, spread


@dataclass(frozen=True)
class Outcome:
    """What a rank has to give back: the rows it owned, their scores, what they logged; or why it failed."""

    rows: Sequence[int]
    scores: Sequence[float | None]
    columns: dict[str, list]
    error: str | None = None


def score_groups(batch: Batch, score: Callable[[Batch], list[float | None]]) -> list[float | None]:
    """Score the batch with its groups whole, wherever their rows are; outside a trainer they are all here."""
    if "trainer_state" not in batch.hooks or world_size() == 1:
        return score(batch.grouped())
    from accelerate.utils import gather_object

    # environments are bound to their rank; no other can use them
    parts = gather_object([{name: list(v) for name, v in batch.columns.items() if name != "environments"}])
    sizes = [len(part["completions"]) for part in parts]
    columns = {name: [value for part in parts for value in part[name]] for name in parts[0]}
    whole = Batch(columns, batch.hooks, range(sum(sizes)), Log(sum(sizes))).grouped()
    rank = rank_index()
    outcome, raised = owned(whole, rank, len(parts), score)
    outcomes = gather_object([outcome])
    if raised is not None:
        raise raised
    for other, failed in enumerate(outcomes):
        if failed.error is not None:
            raise RuntimeError(f"A reward failed on rank {other}: {failed.error}; its output has more.")
    first = sum(sizes[:rank])
    mine = slice(first, first + batch.size)
    for column in sorted({column for outcome in outcomes for column in outcome.columns}):
        logged = ((outcome.rows, outcome.columns[column]) for outcome in outcomes if column in outcome.columns)
        batch.log.columns[column] = spread(whole.size, logged)[mine]
    return spread(whole.size, ((outcome.rows, outcome.scores) for outcome in outcomes))[mine]


def owned(
    whole: Batch, rank: int, ranks: int, score: Callable[[Batch], list[float | None]]
) -> tuple[Outcome, Exception | None]:
    """Score the groups of this rank: every `ranks`-th, so that all have as many within one."""
    rows = [row for row, group in enumerate(whole.groups or ()) if group % ranks == rank]
    try:
        scores = score(whole.take(rows)) if rows else []
    except Exception as error:
        notes = " ".join(getattr(error, "__notes__", ()))
        return Outcome((), (), {}, f"{type(error).__name__}: {error} {notes}"), error
    columns = {column: [values[row] for row in rows] for column, values in whole.log.columns.items()}
    return Outcome(rows, scores, columns), None


def world_size() -> int:
    """Number of ranks; 1 where no process group was started, which is not done here."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 1
    return distributed.get_world_size()


def rank_index() -> int:
    return sys.modules["torch"].distributed.get_rank()
