"""Ranks: groups whose rows are on several ones, and how many worker processes each may have."""

import contextlib
import os
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from .batch import Batch, scatter
from .scores import Score


RankShare: TypeAlias = tuple[
    Sequence[int], list[Score], dict[str, list[Any]]
]  # rows of a rank, scores, logged columns


def gather_and_score_groups(
    batch: Batch,
    score: Callable[[Batch], list[Score]],
    score_alone: Callable[[Batch], dict[Hashable, list[Score]]] = lambda batch: {},
) -> list[Score]:
    """Score the rows of this rank in whole groups. `score_alone` scores what no other rank can: environments stay."""
    if "trainer_state" not in batch.hooks or world_size() == 1:
        return score(batch.find_groups())
    own_columns = {name: list(values) for name, values in batch.columns.items()}
    own_columns.pop("environments", None)
    parts = gather_results(lambda: (own_columns, score_alone(batch)))
    columns, scored = map(join_ranks, zip(*parts, strict=True))
    whole = Batch.build(columns, batch.hooks, scored=scored).find_groups()
    rank = rank_index()
    shares: list[RankShare] = gather_results(lambda: score_share_of_groups(whole, rank, len(parts), score))
    sizes = [len(part["completions"]) for part, _ in parts]
    first = sum(sizes[:rank])
    own_rows = slice(first, first + batch.size)
    for column in sorted(set().union(*(logged for *_, logged in shares))):
        values = [(rows, logged[column]) for rows, _, logged in shares if column in logged]
        batch.logged[column] = scatter(whole.size, values)[own_rows]
    return scatter(whole.size, ((rows, scores) for rows, scores, _ in shares))[own_rows]


def join_ranks(parts: Sequence[Mapping[Any, list[Any]]]) -> dict[Any, list[Any]]:
    """Return the lists of all ranks under each name, one after the other."""
    joined = {}
    for name in parts[0]:
        joined[name] = [*chain.from_iterable(part[name] for part in parts)]
    return joined


def score_share_of_groups(whole: Batch, rank: int, ranks: int, score: Callable[[Batch], list[Score]]) -> RankShare:
    """Score every `ranks`-th group, so that the ranks' shares differ by at most one group."""
    rows = [row for row, group in enumerate(whole.groups or ()) if group % ranks == rank]
    scores = score(whole.select(rows)) if rows else []
    logged = {name: [values[row] for row in rows] for name, values in whole.logged.items()}
    return rows, scores, logged


def gather_results(compute: Callable[[], Any]) -> list[Any]:
    """Return the results of all ranks. If one rank has an error, all ranks raise it, so that none waits."""
    from accelerate.utils import gather_object

    result = own_error = message = None
    try:
        result = compute()
    except Exception as error:
        own_error = error
        message = f"{type(error).__name__}: {error} {' '.join(getattr(error, '__notes__', ()))}"
    gathered = gather_object([(result, message)])
    if own_error is not None:
        raise own_error
    for rank, (_, text) in enumerate(gathered):
        if text is not None:
            raise RuntimeError(f"A reward failed on rank {rank}: {text}. The output of that rank has the traceback.")
    return [result for result, _ in gathered]


def world_size() -> int:
    """Return the number of ranks, which is 1 without a process group. This does not import torch."""
    if sys.modules.get("torch") is None:
        return 1
    from torch import distributed

    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_world_size()
    return 1


def rank_index() -> int:
    if world_size() == 1:
        return 0
    from torch import distributed

    return distributed.get_rank()


CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # in which Linux gives the CPU quota of a container


def count_workers() -> int:
    """Return how many workers a pool has: one for each core that this rank may use, or as the environment says."""
    ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return int(os.environ.get("TRL_GRPO_REWARDS_WORKERS", "0")) or max(1, count_cores() // ranks)


def count_cores() -> int:
    """Return how many cores this process may use, by its affinity and its container's quota if they are known."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):  # "max 100000" means that there is no quota
        quota, period = map(int, CPU_QUOTA.read_text().split())
        count = min(count, max(1, quota // period))
    return count
