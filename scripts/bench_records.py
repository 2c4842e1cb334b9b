r"""Measure the cost of the records of one generation: in the training thread, in the writing thread, and in memory.

    python scripts/bench_records.py                                                  # 512 completions of 16,384 tokens
    torchrun --nproc_per_node 2 scripts/bench_records.py --completions 256           # the same on two ranks
    python scripts/bench_records.py --no-text --no-ids                               # numbers and columns only

The completions are synthetic. `--completions` is the number per rank. The time of a rank includes waiting for others.
"""

import argparse
import contextlib
import ctypes
import gc
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from accelerate.utils import gather

from trl_grpo_rewards import FilteredGRPOConfig
from trl_grpo_rewards.records.dead_groups import Rule
from trl_grpo_rewards.records.fields import Completion
from trl_grpo_rewards.training.generation import Generation
from trl_grpo_rewards.training.recorder import Recorder
from trl_grpo_rewards.training.scored_groups import ScoredGroups


GROUP = 8


def make_completions(count: int, length: int, rank: int) -> tuple[list[dict], list[str], list[str], list[list[int]]]:
    """Return dataset rows, prompts, texts and token ids, as TRL passes them to rewards."""
    generator = torch.Generator().manual_seed(rank)
    ids = [torch.randint(0, 150_000, (length,), generator=generator).tolist() for _ in range(count)]
    prompts = [f"{(rank * count + row) // GROUP} " + "q" * 600 for row in range(count)]
    inputs = [{"prompt": prompt, "solution": "42"} for prompt in prompts]
    texts = ["x = 3 and so " * (length // 4) + str(row) for row in range(count)]
    return inputs, prompts, texts, ids


def complete(row: dict, prompt: str, text: str, ids: list[int]) -> Completion:
    return Completion(row, prompt, text, ids, {"lengths": len(ids), "truncated": True}, {})


def score_at_random(ids: list[list[int]]) -> ScoredGroups:
    """Return the groups of all ranks with random scores."""
    keys = gather(torch.tensor([hash(tuple(one)) for one in ids])).view(-1, GROUP)
    rewards = torch.rand((*keys.shape, 1), generator=torch.Generator().manual_seed(0))
    return ScoredGroups(rewards, ["boxed"], torch.ones(1), Rule("boxed"), keys)


def read_mib(field: str) -> float:
    """Return the memory of this process in MiB: at present (`VmRSS`) or at its peak (`VmHWM`)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) / 1024


class Clock:
    """Prints the seconds of each part, and adds up those of the training thread."""

    def __init__(self, rank: int) -> None:
        self.rank, self.total, self.start = rank, 0.0, read_mib("VmRSS")

    def time(self, name: str, function: Callable[[], Any], is_training: bool = True) -> Any:
        start = time.perf_counter()
        result = function()
        seconds = time.perf_counter() - start
        self.total += seconds * is_training
        self.show(name, seconds)
        return result

    def show(self, name: str, seconds: float) -> None:
        print(f"rank {self.rank}  {name:52} {seconds:7.3f} s  {read_mib('VmRSS') - self.start:+7.0f} MiB", flush=True)


def measure_records(args: argparse.Namespace, folder: str, rank: int) -> None:
    config = FilteredGRPOConfig(
        folder, use_cpu=True, bf16=False, group_records_text=args.text, group_records_ids=args.ids,
        num_generations=GROUP, per_device_train_batch_size=args.completions,
    )  # fmt: skip
    recorder, columns = Recorder(config), make_completions(args.completions, args.tokens, rank)
    clock = Clock(rank)
    groups = clock.time("training thread: hash completions", lambda: score_at_random(columns[3]))
    generation = Generation([*map(complete, *columns)], groups, rank)
    record = partial(recorder.record, 1, generation, [0.0] * groups.totals.numel())
    clock.time("training thread: describe, gather and hand over", record)
    clock.time("until everything is on disk", recorder.flush, is_training=False)
    del generation, record
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # memory that was freed is returned, and not counted
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    size = sum(file.stat().st_size for file in Path(folder).rglob("*.jsonl"))
    print(
        f"rank {rank}  training thread {clock.total:.3f} s in total, {size / 1e6:.1f} MB written, "
        f"{read_mib('VmRSS') - clock.start:+.0f} MiB kept, {read_mib('VmHWM') - clock.start:+.0f} MiB peak",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--completions", type=int, default=512, help="number of completions per rank")
    parser.add_argument("--tokens", type=int, default=16_384, help="number of tokens per completion")
    parser.add_argument("--text", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--ids", action=argparse.BooleanOptionalAction, default=True)
    args = parser.parse_args()
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    with tempfile.TemporaryDirectory() as folder:
        measure_records(args, folder, int(os.environ.get("RANK", "0")))
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
