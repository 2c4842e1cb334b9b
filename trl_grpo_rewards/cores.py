"""How many worker processes this process may have."""

import contextlib
import os
from pathlib import Path


CPU_QUOTA_FILES = [
    ["/sys/fs/cgroup/cpu.max"],
    ["/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"],
]
"""Files in which Linux gives the CPU quota of a container, for both versions of control groups."""


def count_workers() -> int:
    """Return how many workers a pool has: one for each core that this rank may use, or as the environment says."""
    ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return int(os.environ.get("TRL_GRPO_REWARDS_WORKERS", "0")) or max(1, count_cores() // ranks)


def count_cores() -> int:
    """Return how many cores this process may use, by its affinity and its container's quota if they are known."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for files in CPU_QUOTA_FILES:
        with contextlib.suppress(OSError, ValueError):  # "max 100000" and -1 mean that there is no quota
            quota, period = map(int, " ".join(Path(file).read_text() for file in files).split())
            count = min(count, max(1, quota // period)) if quota > 0 else count
    return count
