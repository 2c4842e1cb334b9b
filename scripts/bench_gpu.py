r"""Compare the steady update of TRL's `GRPOTrainer` with ours on one GPU, in four minutes and without a download.

    python scripts/bench_gpu.py --output_dir gpu
    python scripts/bench_gpu.py --output_dir gpu --shapes 0.5B --prompt 100 --time_limit 600
    python scripts/bench_gpu.py --output_dir cpu      # without a GPU: a tiny model

Models have random weights in Qwen2's shapes, and completions are random tokens. Both trainers train on the same rows, whose
lengths are drawn once and written to `lengths.json`. `--lengths FILE` uses the lengths of an earlier run. A case is one run of
each trainer, and the order of the two changes from case to case. In each run, the first steps warm up, the next ones are
timed, and two more are watched: one for synchronisations, one by the profiler. Cases come in the order of their weight. None
is started that would end after the time limit, and each one is written when it ends.

With the attention `sdpa`, TRL takes the kernels that torch chooses, which are cuDNN's on an H100 or newer, and our trainer
takes torch's kernel for rows of different lengths. With `sdpa without cuDNN`, neither has these: our rows are padded.

The script writes `table.md` and `results.json`. The table has medians of the timed steps, with their quartiles. A slow call of
attention takes more than 20 ms on the host, as when cuDNN prepares a plan for a new shape. If kernels take less than half of
a step, passes count; if they take nearly all of it, tokens count.
"""

import argparse
import functools
import importlib.util
import itertools
import json
import platform
import random
import statistics
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import bench_trainer
import torch
import transformers
import trl
from bench_trainer import GROUP, Job, Lengths, Meter, Row, keep_quiet, make_model, show

from trl_grpo_rewards.training import sharing


GPU = torch.cuda.is_available()

WARMUP, TIMED, WATCHED = 4, 8, 2
"""Numbers of steps. In the first two, our trainer also tries whether rows can share tokens."""

SLOW = 0.02
"""Seconds on the host. A call of attention that is only launched takes less than a millisecond."""

PADDED = "sdpa without cuDNN"

ATTENTION = [
    "sdpa",
    PADDED,
    "flex_attention",
    *["flash_attention_2"] * (importlib.util.find_spec("flash_attn") is not None),
]

COLUMNS = {
    "ratio": "update, ours / TRL",
    "update": "seconds: TRL, ours",
    "quartiles": "quartiles",
    "first step": "first step",
    "passes": "passes",
    "padding": "computed / needed",
    "shapes": "shapes",
    "new shapes": "new shapes a step",
    "slow calls": "slow calls a step",
    "retries": "allocator retries",
    "synchronisations": "synchronisations",
    "kernels": "kernels",
    "busy": "share of kernels",
    "peak": "peak memory",
}


class Case(NamedTuple):
    """What both trainers train, in one row of the table."""

    shape: str
    prompt: int
    attention: str
    dead: float

    def __str__(self) -> str:
        return f"{self.shape} | {self.prompt:,} | {self.attention} | {self.dead:.0%}"


class Recorded:
    """Lengths of rows that were drawn before, in the place of [`Lengths`]."""

    def __init__(self, lengths: Lengths, recorded: list[list[Row]]) -> None:
        self.cap, self.lengths = lengths.cap, lengths
        self.rows, self.recorded = len(recorded[0]), iter(recorded)

    def draw(self, rng: random.Random, groups: int) -> list[Row]:
        of_a_step = groups * GROUP == self.rows  # the dataset asks for another number
        return next(self.recorded) if of_a_step else self.lengths.draw(rng, groups)


class Watch(Meter):
    """Counts the shapes of attention and its slow calls, and looks at the allocator, synchronisations and kernels."""

    def __init__(self, job: Job, trainer: Any) -> None:
        super().__init__(job, trainer)
        self.shapes: set[Any] = set()
        self.seen: set[Any] = set()
        self.watching: Any = nullcontext()
        self.last = WARMUP + TIMED + WATCHED

    def count(self, model: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        super().count(model, args, kwargs)
        if "fused_lm_head" in kwargs:
            self.shapes.add(kwargs["input_ids"].shape)

    def attend(self, plain: Any, query: Any, key: Any, *args: Any, **options: Any) -> Any:
        mask = options.get("attn_mask")
        shape = query.shape, key.shape, None if mask is None else mask.shape, torch.is_grad_enabled()
        start = time.perf_counter()
        output = plain(query, key, *args, **options)
        self.add("slow calls", float(time.perf_counter() - start > SLOW))
        self.add("new shapes", float(shape not in self.seen))
        self.seen.add(shape)
        return output

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if GPU:
            self.retries = torch.cuda.memory_stats().get("num_alloc_retries", 0)
            self.watching = {self.last - 2: watch_synchronisations, self.last - 1: watch_kernels}.get(
                state.global_step, nullcontext
            )()
        self.found = self.watching.__enter__()
        super().on_step_begin(args, state, control, **kwargs)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        super().on_step_end(args, state, control, **kwargs)
        self.watching.__exit__(None, None, None)
        self.steps[-1] |= self.found or {}
        if GPU:
            self.steps[-1]["retries"] = torch.cuda.memory_stats().get("num_alloc_retries", 0) - self.retries

    def sum_up(self) -> dict[str, Any]:
        """Return medians of the timed steps, and what was counted."""
        timed = self.steps[WARMUP : WARMUP + TIMED]
        names = dict.fromkeys(name for step in self.steps for name in step)
        found: dict[str, Any] = {name: statistics.median(step.get(name, 0.0) for step in timed) for name in names}
        for step in self.steps[WARMUP + TIMED :]:
            found |= {
                name: step[name] for name in ("synchronisations", "kernels", "seconds of kernels") if name in step
            }
        kinds = ("with", "without")
        found |= {
            name: sum(found.get(f"{name} {kind} gradient", 0.0) for kind in kinds) for name in ("passes", "tokens")
        }
        found |= {"first step": self.steps[0]["update"], "shapes": len(self.shapes)}
        found["quartiles"] = statistics.quantiles([step["update"] for step in timed], n=4)[::2]
        found["padding"] = sum(step.get("tokens with gradient", 0.0) for step in timed) / sum(
            step["needed"] for step in timed
        )
        if "seconds of kernels" in found:
            found["busy"] = found["seconds of kernels"] / found["update"]
        return found


@contextmanager
def watch_synchronisations() -> Iterator[dict[str, float]]:
    found: dict[str, float] = {}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        yield found
        torch.cuda.set_sync_debug_mode("default")
    found["synchronisations"] = sum("synchroniz" in str(one.message) for one in warned)


@contextmanager
def watch_kernels() -> Iterator[dict[str, float]]:
    found: dict[str, float] = {}
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profile:
        yield found
    kernels = [one for one in profile.events() if one.device_type == torch.autograd.DeviceType.CUDA]
    found["kernels"] = len(kernels)
    found["seconds of kernels"] = sum(one.time_range.elapsed_us() for one in kernels) / 1e6


def run(theirs: bool, job: Job, case: Case) -> dict[str, Any]:
    """Train with one of the trainers, and return what was measured."""
    made: list[Watch] = []

    class Watching(Watch):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(self)

    plain, has_unpadded = torch.nn.functional.scaled_dot_product_attention, sharing.has_unpadded_attention
    torch.backends.cuda.enable_cudnn_sdp(case.attention != PADDED)
    bench_trainer.Meter = Watching
    torch.nn.functional.scaled_dot_product_attention = lambda *args, **options: made[0].attend(plain, *args, **options)
    if case.attention == PADDED:
        sharing.has_unpadded_attention = lambda: False
    try:
        costs = bench_trainer.run(theirs, job)
    finally:
        bench_trainer.Meter, sharing.has_unpadded_attention = Meter, has_unpadded
        torch.nn.functional.scaled_dot_product_attention = plain
    return {**made[0].sum_up(), **{name: costs[name] for name in ("peak",) if name in costs}}


def measure(case: Case, args: argparse.Namespace, number: int, recorded: list[list[Row]]) -> dict[str, Any]:
    lengths = Lengths(args.mean, args.cap, case.prompt)
    job = Job(
        make_model(case.shape, args.bf16), lengths, rows=args.rows, accumulate=args.rows // args.micro_batch, dead=case.dead,
        steps=TIMED + WATCHED + WARMUP - bench_trainer.WARMUP, bf16=args.bf16, seed=number,
        attention=case.attention.removesuffix(PADDED.removeprefix("sdpa")),
    )  # fmt: skip
    sides = {}
    for theirs in (True, False) if number % 2 else (False, True):
        sides[theirs] = run(theirs, replace(job, lengths=Recorded(lengths, recorded)), case)  # type: ignore[arg-type]
    return {
        **case._asdict(),
        **{name: [sides[theirs].get(name) for theirs in (True, False)] for name in [*COLUMNS][1:]},
        "ratio": sides[False]["update"] / sides[True]["update"],
    }


def list_cases(args: argparse.Namespace) -> list[Case]:
    """Return all cases: short prompts first, then the kinds of attention, and half dead groups after the others."""
    cases = itertools.product(args.dead, args.attn_implementation, args.shapes, args.prompt)
    return [Case(shape, prompt, attention, dead) for dead, attention, shape, prompt in cases]


def draw_lengths(args: argparse.Namespace, case: Case) -> list[list[Row]]:
    rng = random.Random(f"{case.prompt} {args.rows}")
    lengths = Lengths(args.mean, args.cap, case.prompt)
    return [lengths.draw(rng, args.rows // GROUP) for _ in range(WARMUP + TIMED + WATCHED + 1)]


@functools.cache
def describe_device() -> str:
    return torch.cuda.get_device_name() if GPU else platform.processor() or platform.machine()


def write(rows: list[dict[str, Any]], args: argparse.Namespace) -> str:
    """Write the results of the cases that were measured, and return the table."""
    settings = {name: str(value) if isinstance(value, Path) else value for name, value in vars(args).items()}
    versions = {one.__name__: one.__version__ for one in (torch, transformers, trl)}
    about = {"device": describe_device(), "versions": versions, "settings": settings}
    lines = [
        f"{about['device']}, torch {torch.__version__}, TRL {trl.__version__}, {'bf16' if args.bf16 else 'float32'}: "
        f"{args.rows} completions of at most {args.cap:,} tokens (mean {args.mean:,}), micro-batches of {args.micro_batch}.",
        "",
        f"| shape | prompt | attention | dead | {' | '.join(COLUMNS.values())} |",
        "|---" * (len(COLUMNS) + 4) + "|",
    ]
    for row in rows:
        cells = " | ".join(show(row.get(name)) for name in COLUMNS)
        lines.append(f"| {Case(*(row[name] for name in Case._fields))} | {cells} |")
    table = "\n".join([*lines, ""])
    (args.output_dir / "table.md").write_text(table)
    (args.output_dir / "results.json").write_text(json.dumps({**about, "cases": rows}, indent=1))
    return table


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--shapes", nargs="+", default=["0.5B", "1.5B"] if GPU else ["tiny"])
    parser.add_argument("--cap", type=int, default=1024 if GPU else 64, help="maximum tokens of a completion")
    parser.add_argument("--mean", type=int, default=600 if GPU else 30, help="mean tokens of a completion")
    prompts = [100, 1000, 4000] if GPU else [20, 100]
    parser.add_argument("--prompt", type=int, nargs="+", default=prompts, help="mean tokens of a prompt")
    parser.add_argument("--rows", type=int, default=32, help="completions per step")
    parser.add_argument("--micro_batch", type=int, default=4, help="TRL's per_device_train_batch_size")
    parser.add_argument("--dead", type=float, nargs="+", default=[0.0, 0.5], help="shares of dead groups")
    parser.add_argument("--bf16", action=argparse.BooleanOptionalAction, default=GPU)
    parser.add_argument("--attn_implementation", nargs="+", default=ATTENTION if GPU else ["sdpa"])
    parser.add_argument("--lengths", type=Path, help="lengths.json of an earlier run")
    parser.add_argument(
        "--time_limit", type=float, default=240, help="start nothing that would end after these seconds"
    )
    if (count := torch.cuda.device_count()) > 1:
        parser.error(f"expected one GPU; found {count}. Set CUDA_VISIBLE_DEVICES=0.")
    return parser.parse_args()


def main() -> None:
    start = time.monotonic()
    args = read_options()
    keep_quiet(threads=1)
    args.output_dir.mkdir(parents=True, exist_ok=True)
    known = json.loads(args.lengths.read_text()) if args.lengths else {}
    rows: list[dict[str, Any]] = []
    seconds: dict[str, float] = {}
    for number, case in enumerate(list_cases(args)):
        weight = 1 + case.prompt / 1000
        expected = weight * seconds.get(case.shape, max(seconds.values(), default=0.0))
        began = time.monotonic()
        if began + expected > start + args.time_limit:
            continue
        recorded = known.setdefault(str(case.prompt), draw_lengths(args, case))
        rows.append(measure(case, args, number, [[Row(*one) for one in step] for step in recorded]))
        (args.output_dir / "lengths.json").write_text(json.dumps(known))
        write(rows, args)
        seconds[case.shape] = (time.monotonic() - began) / weight
    print(write(rows, args))


if __name__ == "__main__":
    main()
