r"""Compare the update of TRL's `GRPOTrainer` with ours on one GPU, in less than eight minutes and without a download.

    python scripts/bench_gpu.py --output_dir gpu                        # 0.5B and 1.5B in bf16, completions up to 4,096
    python scripts/bench_gpu.py --output_dir gpu --shapes 0.5B --rows 32 --time_limit 220
    python scripts/bench_gpu.py --output_dir cpu                        # without a GPU: a tiny model

Models have random weights in Qwen2's shapes, and completions are random tokens of lognormal lengths, so both trainers
train on the same rows. Their runs alternate. The first round measures every case once: prompts of several lengths with
each implementation of attention, then dead groups and a KL term. Further rounds repeat the cases while the time allows it.
The script writes `table.md` and `results.json`.

Generation is not part of these runs. The model generates a few tokens for as many rows, after the shortest prompts and with
the first implementation, and the seconds of a token, times the longest completion, are the generation of a step. This is a
little too short, because attention to more tokens takes longer. The table says which share of TRL's step it would be, and
how long a whole step of ours would take.
"""

import argparse
import importlib.util
import itertools
import json
import platform
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch._dynamo
import transformers
import trl
from bench_trainer import GROUP, Job, Lengths, Pair, compare, compare_costs, keep_quiet, make_model, read_clock, show
from transformers import AutoModelForCausalLM


CASES = [(dead, beta) for beta in (0.0, 0.1) for dead in (0.0, 0.5)]

WITHOUT_CUDNN = "sdpa without cuDNN"
"""SDPA that never takes the kernels of cuDNN, which are prepared anew for each shape of a micro-batch."""

HAS_FLASH = importlib.util.find_spec("flash_attn") is not None

COLUMNS = {
    "update": "update",
    "seconds": "seconds: TRL, ours",
    "padding with gradient": "computed / needed with gradient",
    "padding without gradient": "without gradient",
    "passes": "passes",
    "peak": "peak memory",
    "generation": "generation of TRL's step",
    "step": "step",
}


class Case:
    """A row of the table, measured again and again."""

    def __init__(self, shape: str, job: Job, seconds: float) -> None:
        self.shape, self.job, self.generation = shape, job, seconds
        self.size = sum(file.stat().st_size for file in Path(job.model).glob("*.safetensors"))
        self.size *= job.lengths.prompt + job.lengths.mean
        self.pairs: list[Pair] = []
        self.duration = 0.0

    def measure(self) -> None:
        start = time.monotonic()
        torch.backends.cuda.enable_cudnn_sdp(self.job.attention != WITHOUT_CUDNN)
        attention = self.job.attention.removesuffix(WITHOUT_CUDNN.removeprefix("sdpa"))
        self.pairs.append(compare(replace(self.job, attention=attention, seed=len(self.pairs))))
        self.duration = time.monotonic() - start

    def sum_up(self) -> dict[str, Any]:
        costs = compare_costs(self.pairs, self.job)
        theirs, ours = costs["seconds"]
        return {
            "shape": self.shape,
            "prompt": self.job.lengths.prompt,
            "attention": self.job.attention,
            "dead": self.job.dead,
            "beta": self.job.options["beta"],
            **costs,
            "generation": self.generation / (self.generation + theirs),
            "step": (self.generation + ours) / (self.generation + theirs),
        }


def time_generation(job: Job, tokens: int) -> float:
    """Return the seconds that the model takes to generate completions of the job's lengths, from a short generation."""
    model = AutoModelForCausalLM.from_pretrained(
        job.model, dtype="bfloat16" if job.bf16 else "float32", attn_implementation=job.attention
    ).to("cuda" if torch.cuda.is_available() else "cpu")
    ids = torch.randint(5, 100, (job.rows, job.lengths.prompt), device=model.device)
    options = {"attention_mask": torch.ones_like(ids), "do_sample": True}
    seconds = []
    for count in (2, 2, tokens):  # the first one warms up
        start = read_clock()
        model.generate(ids, min_new_tokens=count, max_new_tokens=count, **options)
        seconds.append(read_clock() - start)
    rng = random.Random(0)
    longest = [max(row.completion for row in job.lengths.draw(rng, job.rows // GROUP)) for _ in range(100)]
    return seconds[1] + (seconds[2] - seconds[1]) / (tokens - 2) * sum(longest) / len(longest)


def list_cases(args: argparse.Namespace) -> list[Case]:
    cases = []
    for shape in args.shapes:
        first = Job(
            make_model(shape, args.bf16), Lengths(args.mean, args.cap, min(args.prompt)), rows=args.rows,
            accumulate=args.rows // args.micro_batch, steps=1, bf16=args.bf16, attention=args.attn_implementation[0],
        )  # fmt: skip
        seconds = time_generation(first, args.generated)
        print(f"{shape}: a generation takes about {seconds:.1f} s", flush=True)
        for (dead, beta), prompt, attention in itertools.product(CASES, args.prompt, args.attn_implementation):
            lengths = first.lengths._replace(prompt=prompt)
            job = replace(first, lengths=lengths, attention=attention, dead=dead, options={"beta": beta})
            cases.append(Case(shape, job, seconds))
    return sorted(cases, key=lambda case: CASES.index((case.job.dead, case.job.options["beta"])))


def describe_device() -> str:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or platform.machine()


def write(cases: list[Case], args: argparse.Namespace) -> str:
    """Write the results of the cases that were measured, and return the table."""
    rows = [case.sum_up() for case in cases if case.pairs]
    settings = {name: str(value) if name == "output_dir" else value for name, value in vars(args).items()}
    about = {
        "device": describe_device(),
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__, "trl": trl.__version__},
        "settings": settings,
    }
    lines = [
        f"{about['device']}, {args.rows} completions of at most {args.cap:,} tokens (mean {args.mean:,}), micro-batches of "
        f"{args.micro_batch}, {'bf16' if args.bf16 else 'float32'}, TRL {trl.__version__}. Generation is extrapolated "
        f"from {args.generated} tokens.",
        "",
        f"| shape | prompt | attention | dead | beta | {' | '.join(COLUMNS.values())} | pairs |",
        "|---" * (len(COLUMNS) + 6) + "|",
    ]
    for row in rows:
        cells = " | ".join(show(row.get(name)) for name in COLUMNS)
        about_case = f"{row['shape']} | {row['prompt']:,} | {row['attention']} | {row['dead']:.0%} | {row['beta']}"
        lines.append(f"| {about_case} | {cells} | {len(row['pairs'])} |")
    table = "\n".join([*lines, ""])
    args.output_dir.mkdir(parents=True, exist_ok=True)
    (args.output_dir / "table.md").write_text(table)
    (args.output_dir / "results.json").write_text(json.dumps({**about, "cases": rows}, indent=1))
    return table


def read_options() -> argparse.Namespace:
    has_gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--shapes", nargs="+", default=["0.5B", "1.5B"] if has_gpu else ["tiny"])
    parser.add_argument("--cap", type=int, default=4096 if has_gpu else 256, help="maximum tokens of a completion")
    parser.add_argument("--mean", type=int, default=1500 if has_gpu else 94, help="mean tokens of a completion")
    prompts = [100, 1000, 4000] if has_gpu else [20, 200]
    parser.add_argument("--prompt", type=int, nargs="+", default=prompts, help="mean tokens of a prompt")
    parser.add_argument("--rows", type=int, default=64, help="completions per step")
    parser.add_argument("--micro_batch", type=int, default=2, help="TRL's per_device_train_batch_size")
    parser.add_argument("--generated", type=int, default=128 if has_gpu else 16, help="tokens of the short generation")
    parser.add_argument("--bf16", action=argparse.BooleanOptionalAction, default=has_gpu)
    of_gpu = [WITHOUT_CUDNN, "flex_attention", *["flash_attention_2"] * HAS_FLASH]
    implementations = ["sdpa", *(of_gpu if has_gpu else [])]
    parser.add_argument("--attn_implementation", nargs="+", default=implementations)
    parser.add_argument(
        "--time_limit", type=float, default=420, help="start nothing that would end after these seconds"
    )
    parser.add_argument("--rounds", type=int, default=5, help="pairs of runs of a case at most")
    if (count := torch.cuda.device_count()) > 1:
        parser.error(f"expected one GPU; found {count}. Set CUDA_VISIBLE_DEVICES=0.")
    return parser.parse_args()


def main() -> None:
    end = time.monotonic()
    args = read_options()
    end += args.time_limit
    keep_quiet(threads=1)
    torch._dynamo.config.recompile_limit = 1000  # each case has its own shapes
    cases = list_cases(args)
    for case in itertools.chain.from_iterable([cases] * args.rounds):
        expected = case.duration or case.size * max(other.duration / other.size for other in cases)
        if time.monotonic() + expected < end:
            case.measure()
            write(cases, args)  # an interrupted run leaves what it has measured
    print(write(cases, args))


if __name__ == "__main__":
    main()
