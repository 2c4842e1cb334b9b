r"""Measure the work of our trainer outside the model: packing long completions, and drawing prompts selectively.

    python scripts/bench_host.py packing                     # 512 completions of 16,384 tokens
    python scripts/bench_host.py drawing --prompts 1000000   # selective sampling, relative to a step of TRL's trainer

`bench_records.py` measures the cost of group records.
"""

import argparse
import statistics
import sys
import time

import numpy as np
import torch
from bench_runs import GROUP, Job, keep_quiet, read_memory, run

from trl_grpo_rewards import demo
from trl_grpo_rewards.training import placement
from trl_grpo_rewards.training import rows as rows_of
from trl_grpo_rewards.training.drawing import SelectiveStream


def time_packing(count: int = 512, tokens: int = 16_384, most: int = 8) -> None:
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(tokens // 4, tokens, (count, 1), generator=generator)
    batch = {
        "prompt_ids": torch.ones(count, 512, dtype=torch.long),
        "prompt_mask": torch.ones(count, 512, dtype=torch.long),
        "completion_ids": torch.ones(count, tokens, dtype=torch.long),
        "completion_mask": (torch.arange(tokens) < lengths).long(),
        "advantages": torch.ones(count),
        **{name: torch.zeros(count, tokens) for name in ("old_per_token_logps", "sampling_per_token_logps")},
        "importance_sampling_ratio": torch.ones(count, tokens),
    }
    start, held = time.perf_counter(), read_memory("VmRSS")
    rows = rows_of.unstack(batch)[: count * 3 // 4]
    sizes, budget = [rows_of.measure(row) for row in rows], most * (512 + tokens)
    plan = placement.plan_micro_batches(sizes, budget, count // most, len(rows))
    packed = [rows_of.stack([rows[place] for place in places], 0) for places in plan]
    seconds, widths = time.perf_counter() - start, [part["completion_ids"].shape for part in packed]
    own = sum(value.numel() * value.element_size() for value in batch.values())
    print(
        f"{count} x {tokens} tokens, 3/4 of them live, into {len(packed)} micro-batches: {seconds:.3f} s, "
        f"{(read_memory('VmRSS') - held) / own:.2f} times the batch's memory; largest {max(a * b for a, b in widths):,} "
        f"tokens, smallest {min(a * b for a, b in widths):,}"
    )


def time_drawing(prompts: int, completions: int) -> None:
    """Compare the time of selective sampling with a step of TRL's trainer, and show its memory for each prompt."""
    count, rng = completions // GROUP, np.random.default_rng(0)
    rates, stream = rng.beta(0.3, 0.3, prompts), SelectiveStream(prompts, 0, True, GROUP)
    seconds = []
    for _ in range(1000):
        start = time.perf_counter()
        rows = stream.draw(count)
        middle = time.perf_counter()
        right = rng.binomial(GROUP, rates[rows]).tolist()
        end = time.perf_counter()
        stream.learn(rows, right, [GROUP] * count)
        seconds.append(time.perf_counter() - end + middle - start)
    seconds = seconds[500:]
    step = run("trl", Job(demo.MODEL, None, cap=64, dead=0.5, rows=completions, accumulate=1))["step"]
    held = sum(value.nbytes for value in vars(stream).values() if hasattr(value, "nbytes"))
    held += (
        prompts // count * sys.getsizeof(np.zeros(count, np.int32))
    )  # the prompts that an epoch has drawn by its end
    print(
        f"{prompts:,} prompts, {count} drawn per step: {1000 * statistics.median(seconds):.2f} ms of "
        f"{1000 * step:.0f} ms ({statistics.median(seconds) / step:.2%}), "
        f"at most {1000 * max(seconds):.0f} ms in one step; {held / prompts:.0f} bytes per prompt"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["packing", "drawing"])
    parser.add_argument("--prompts", type=int, default=1_000_000)
    parser.add_argument("--completions", type=int, default=160, help="completions of the step to compare drawing with")
    args = parser.parse_args()
    keep_quiet(threads=1)
    if args.what == "packing":
        time_packing()
    else:
        time_drawing(args.prompts, args.completions)


if __name__ == "__main__":
    main()
