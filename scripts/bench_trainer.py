r"""Compare the cost of a step under TRL's `GRPOTrainer` and under ours. To compare what they learn, run `study.py`.

    python scripts/bench_trainer.py                              # updates, with 0 to 95 % dead groups
    torchrun --nproc_per_node 2 scripts/bench_trainer.py         # the same on two ranks
    python scripts/bench_trainer.py --model 0.5B --bf16          # a larger model with random weights, on a GPU
    python scripts/bench_trainer.py --base bare --modes skip     # the cost of group records
    python scripts/bench_trainer.py --iterations 2               # with old log-probabilities
    python scripts/bench_trainer.py --beta 0.1 --modes drop      # with a KL term
    python scripts/bench_trainer.py --host                       # work of the CPU for 512 completions of 16,384 tokens
    python scripts/bench_trainer.py --drawing 1000000            # the cost of selective sampling of prompts
    python scripts/bench_trainer.py --mixed_model mixed-model    # on demo.MIXED, with the model for it

Runs of both trainers alternate (A B A B ...) in one process, with the same prompts and initial weights, so that other
load on the machine affects both. Ratios are medians over pairs. In every step, a scripted reward makes a fixed share of
the groups dead, chosen at random.
"""

import argparse
import contextlib
import os
import random
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import bench_records
import numpy as np
import torch
from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, demo
from trl_grpo_rewards.training import placement
from trl_grpo_rewards.training import rows as rows_of
from trl_grpo_rewards.training.drawing import SelectiveStream


SHAPES = {
    "small": {"hidden_size": 256, "intermediate_size": 768, "num_hidden_layers": 6, "num_attention_heads": 4},
    "0.5B": {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16},
}
MODES = {
    "trl": (GRPOTrainer, GRPOConfig, {}),
    "keep": (FilteredGRPOTrainer, FilteredGRPOConfig, {"zero_variance": "keep"}),
    "skip": (FilteredGRPOTrainer, FilteredGRPOConfig, {"zero_variance": "skip"}),
    "drop": (FilteredGRPOTrainer, FilteredGRPOConfig, {"zero_variance": "drop"}),
    "bare": (FilteredGRPOTrainer, FilteredGRPOConfig, {"zero_variance": "skip", "group_records": False}),
    "resample": (FilteredGRPOTrainer, FilteredGRPOConfig, {"zero_variance": "drop", "max_resample_rounds": 2}),
    "selective": (FilteredGRPOTrainer, FilteredGRPOConfig, {"selective": True}),
}


class StepClock(TrainerCallback):
    """
    Measures the seconds of each step, and of its generation and scoring. Counts the tokens of forward passes outside
    generation, with and without gradient, and the micro-batches with gradient.
    """

    def __init__(self, trainer: GRPOTrainer) -> None:
        self.steps, self.inner = [], {}
        self.counts = {"tokens": 0, "tokens without gradient": 0, "micro-batches": 0}
        for name in ("_generate_single_turn", "_calculate_rewards", "_generate_and_score_completions"):
            setattr(trainer, name, self.time_calls(name, getattr(trainer, name)))
        for model in filter(None, (trainer.model, trainer.ref_model)):
            model.register_forward_pre_hook(self.count, with_kwargs=True)
        trainer.add_callback(self)

    def time_calls(self, name, method):
        def call(*args, **kwargs):
            start = now()
            try:
                return method(*args, **kwargs)
            finally:
                self.inner[name] = self.inner.get(name, 0.0) + now() - start

        return call

    def count(self, model, args, kwargs) -> None:
        if "labels" not in kwargs:  # generation
            return
        self.counts["tokens" if torch.is_grad_enabled() else "tokens without gradient"] += kwargs["input_ids"].numel()
        self.counts["micro-batches"] += torch.is_grad_enabled()

    def on_step_begin(self, args, state, control, **kwargs) -> None:
        self.inner, self.start = {}, now()

    def on_step_end(self, args, state, control, **kwargs) -> None:
        total = now() - self.start
        whole = self.inner.get("_generate_and_score_completions", 0.0)
        self.steps.append(
            {
                "step": total,
                "generation": self.inner.get("_generate_single_turn", 0.0),
                "scoring": self.inner.get("_calculate_rewards", 0.0),
                "update": total - whole,
            }
        )

    def medians(self) -> dict[str, float]:
        steps = self.steps[1:]  # the first one warms up
        seconds = {name: statistics.median(step[name] for step in steps) for name in steps[0]}
        return seconds | {name: count / len(self.steps) for name, count in self.counts.items()}


def now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def read_memory(field: str) -> int:
    """Return the memory of this process in bytes: at present (`VmRSS`) or at its peak (`VmHWM`). 0 except on Linux."""
    with contextlib.suppress(OSError):
        status = Path("/proc/self/status").read_text()
        return int(status.split(f"{field}:")[1].split()[0]) * 1024
    return 0


def make_reward(share: float, size: int, world: int):
    """Return a reward function that makes this share of the groups dead. Its scores alternate in live groups."""
    rng = random.Random(0)
    rank = int(os.environ.get("RANK", "0"))

    def reward(prompts, **kwargs):
        groups = len(prompts) * world // size
        dead = {*rng.sample(range(groups), round(share * groups))}  # the same on all ranks
        rows = range(rank * len(prompts), (rank + 1) * len(prompts))
        return [float(row // size in dead or row % 2) for row in rows]

    return reward


def load_model(args: argparse.Namespace):
    if args.model == "demo":
        return args.mixed_model or demo.MODEL
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    config = Qwen3Config(
        vocab_size=len(tokenizer), num_key_value_heads=4, head_dim=64, max_position_embeddings=4096,
        tie_word_embeddings=True, pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id,
        **SHAPES[args.model],
    )  # fmt: skip
    return Qwen3ForCausalLM(config).to(torch.bfloat16 if args.bf16 else torch.float32)


def run_side(side: str, share: float, args: argparse.Namespace) -> StepClock:
    cls, config, extra = MODES[side]
    with tempfile.TemporaryDirectory() as folder:
        training = config(
            output_dir=folder, use_cpu=not torch.cuda.is_available(), bf16=args.bf16,
            report_to="none", save_strategy="no", disable_tqdm=True, logging_steps=1000, lr_scheduler_type="constant",
            max_steps=args.steps, per_device_train_batch_size=args.rows // args.accumulate, learning_rate=1e-6,
            gradient_accumulation_steps=args.accumulate, num_generations=8, max_completion_length=args.length,
            num_iterations=args.iterations, beta=args.beta, gradient_checkpointing=args.checkpointing, **extra,
        )  # fmt: skip
        trainer = cls(
            load_model(args),
            [make_reward(share, training.num_generations, int(os.environ.get("WORLD_SIZE", "1")))],
            args=training,
            train_dataset=demo.arithmetic("train", kinds=demo.MIXED if args.mixed_model else None),
            processing_class=AutoTokenizer.from_pretrained(demo.MODEL),
        )
        clock = StepClock(trainer)
        trainer.train()
    return clock


def measure_peak(side: str, share: float, args: argparse.Namespace) -> int:
    """Return the peak memory of a run in bytes, minus the memory at its start. Each run needs a new process."""
    if torch.cuda.is_available():
        run_side(side, share, args)
        return torch.cuda.max_memory_allocated()
    before = read_memory("VmRSS")
    run_side(side, share, args)
    return read_memory("VmHWM") - before


def run_in_new_process(function, *args):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def compare_updates(args: argparse.Namespace) -> None:
    world = int(os.environ.get("WORLD_SIZE", "1"))
    main = os.environ.get("RANK", "0") == "0"
    columns = ("step", "update", "generation", "scoring", "tokens", "tokens without gradient", "micro-batches")
    if main:
        print(
            f"model {args.model}, {world} rank(s), {args.rows} rows per rank, {args.length} tokens; "
            f"ratios to {args.base}"
        )
        print("| dead | mode |", " | ".join(columns), f"| peak memory | {args.base}: step, update, scoring, peak |")
        print("|---" * (len(columns) + 4) + "|")
    for share in args.dead:
        for mode in args.modes:
            pairs = [[run_side(side, share, args).medians() for side in (args.base, mode)] for _ in range(args.pairs)]
            theirs, ours = (
                median_peak(side, share, args) if world == 1 else float("nan") for side in (args.base, mode)
            )
            if not main:
                continue
            ratios = [
                statistics.median(mine[c] / base[c] if base[c] else float("nan") for base, mine in pairs)
                for c in columns
            ]
            cells = " | ".join(f"{ratio:.3f}" for ratio in [*ratios, ours / theirs])
            seconds = (statistics.median(base[c] for base, _ in pairs) for c in ("step", "update", "scoring"))
            times = ", ".join(f"{second:.3f} s" for second in seconds)
            print(f"| {share:.0%} | {mode} | {cells} | {times}, {theirs / 2**20:.0f} MB |", flush=True)


def time_host(args: argparse.Namespace) -> None:
    """Time the work of the CPU for a generation: the records (see `bench_records.py`) and the micro-batches."""
    count, tokens, most = 512, 16_384, 8
    with tempfile.TemporaryDirectory() as folder:
        bench_records.measure_records(
            argparse.Namespace(completions=count, tokens=tokens, text=True, ids=True), folder, 0
        )
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
    rows = sorted(rows_of.unstack(batch), key=rows_of.count_tokens, reverse=True)[: count * 3 // 4]
    sizes = placement.plan_micro_batch_sizes([rows_of.count_tokens(row) for row in rows], most)
    places = [sum(sizes[:part]) for part in range(len(sizes))]
    packed = [rows_of.stack(rows[start : start + size], 0) for start, size in zip(places, sizes, strict=True)]
    seconds, widths = time.perf_counter() - start, [part["completion_ids"].shape for part in packed]
    own = sum(value.numel() * value.element_size() for value in batch.values())
    print(
        f"{count} x {tokens} tokens, 3/4 of them live, into {len(packed)} micro-batches: {seconds:.3f} s, "
        f"{(read_memory('VmRSS') - held) / own:.2f} times the batch's memory; largest {max(a * b for a, b in widths):,} tokens, "
        f"smallest {min(a * b for a, b in widths):,}"
    )


def time_sampling(prompts: int, args: argparse.Namespace) -> None:
    """Compare the time of selective sampling with a step of TRL's trainer, and show its memory for each prompt."""
    count, group, rng = args.rows // 8, 8, np.random.default_rng(0)
    rates, stream = rng.beta(0.3, 0.3, prompts), SelectiveStream(prompts, 0, True, group)
    seconds = []
    for _ in range(1000):
        start = time.perf_counter()
        rows = stream.draw(count)
        middle = time.perf_counter()
        right = rng.binomial(group, rates[rows]).tolist()
        end = time.perf_counter()
        stream.learn(rows, right, [group] * count)
        seconds.append(time.perf_counter() - end + middle - start)
    seconds = seconds[500:]
    step = run_side("trl", 0.5, args).medians()["step"]
    held = sum(value.nbytes for value in vars(stream).values() if hasattr(value, "nbytes"))
    held += (
        prompts // count * sys.getsizeof(np.zeros(count, np.int32))
    )  # the prompts that an epoch has drawn by its end
    print(
        f"{prompts:,} prompts, {count} drawn per step: {1000 * statistics.median(seconds):.2f} ms of "
        f"{1000 * step:.0f} ms ({statistics.median(seconds) / step:.2%}), "
        f"at most {1000 * max(seconds):.0f} ms in one step; "
        f"{held / prompts:.0f} bytes per prompt"
    )


def median_peak(side: str, share: float, args: argparse.Namespace) -> float:
    return statistics.median(run_in_new_process(measure_peak, side, share, args) for _ in range(3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", choices=["demo", *SHAPES], default="demo")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--dead", type=float, nargs="+", default=[0.0, 0.25, 0.5, 0.75, 0.95])
    parser.add_argument(
        "--modes", nargs="+", choices=[mode for mode in MODES if mode != "trl"], default=["skip", "drop"]
    )
    parser.add_argument("--base", choices=[*MODES], default="trl", help="mode that the others are compared with")
    parser.add_argument("--rows", type=int, default=160, help="completions per rank and step")
    parser.add_argument("--accumulate", type=int, default=1, help="gradient accumulation steps")
    parser.add_argument("--iterations", type=int, default=1, help="updates on each generation")
    parser.add_argument("--beta", type=float, default=0.0, help="weight of the KL term")
    parser.add_argument("--checkpointing", action="store_true", help="recompute activations")
    parser.add_argument("--host", action="store_true", help="only time the work of the CPU for long completions")
    parser.add_argument("--length", type=int, default=64, help="maximum number of tokens of a completion")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--mixed_model", help="folder of the model from make_demo_model.py --mixed")
    parser.add_argument(
        "--drawing", type=int, metavar="PROMPTS", help="only time selective sampling from this number of prompts"
    )
    args = parser.parse_args()
    if args.host:
        time_host(args)
    elif args.drawing:
        time_sampling(args.drawing, args)
    else:
        compare_updates(args)


if __name__ == "__main__":
    main()
