r"""Compare the cost of a live completion under TRL's `AsyncGRPOTrainer` with and without `drop_dead_groups`.

    python scripts/bench_async.py                # 22, 53 and 77 % dead groups
    python scripts/bench_async.py --passes 4     # selective drawing learns in the first pass

No vLLM and no GPU: a server in this process speaks vLLM's protocol and answers at once, and each prompt has a pass
rate from a beta distribution. Runs of all sides alternate, with the same prompts, pass rates and initial weights. A run
ends once TRL has counted as many groups as `--passes` passes over the prompts have. Everything that a run takes is
divided by the number of live completions that it trains on. The update's seconds are the median step's, times the steps.
Ratios are medians over rounds.
"""

import argparse
import os
import random
import statistics
import sys
import tempfile
from pathlib import Path


os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the worker computes at the same time
sys.path.append(str(Path(__file__).parents[1] / "tests"))

import numpy as np
import torch
from bench_trainer import load_model
from transformers import AutoTokenizer, PrinterCallback, TrainerCallback
from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer
from trl.experimental.async_grpo.async_grpo_trainer import DataCollatorForRollout

from helpers.async_training import NoTransfer, run_completion_server, use_cpu
from trl_grpo_rewards import boxed, demo
from trl_grpo_rewards.training.async_grpo import drop_dead_groups


SIDES = {"trl": None, "drop": {}, "selective": {"selective": True}}
SPREADS = {0.22: 1.0, 0.53: 0.3, 0.77: 0.1}
"""Parameter of the beta distribution of pass rates for each share of dead groups of eight."""


class EndWorker(TrainerCallback):
    """Ends the process of TRL's worker, which otherwise tries to deliver its completions for 15 seconds."""

    def on_train_end(self, args, state, control, **kwargs) -> None:
        self.worker.stop = self.worker._process.terminate  # TRL calls it next


def make_answers(spread: float, words: float):
    """Return a function that answers a prompt: right with the prompt's pass rate, with a lognormal number of words."""
    rates, rng = {}, np.random.default_rng(0)

    def complete(a: int, b: int) -> str:
        rate = rates.setdefault((a, b), random.Random(f"{a} {b}").betavariate(spread, spread))
        thoughts = " so" * int(min(rng.lognormal(np.log(words) - 0.5, 1.0), 4 * words))
        return f"{thoughts} \\boxed{{{a + b if rng.random() < rate else 0}}}"

    return complete


def run_side(side: str, folder: str, url: str, args: argparse.Namespace) -> dict[str, float]:
    """Train, and return the sums over the run."""
    batches, end_worker = [], EndWorker()
    collate = DataCollatorForRollout.torch_call

    def count(self, examples):
        batches.append([bool(sample["advantage"]) for row in examples[0] for sample in row.samples])
        return collate(self, examples)

    training = AsyncGRPOConfig(
        folder, use_cpu=True, bf16=False, dtype="float32", gradient_checkpointing=False, num_generations=8,
        per_device_train_batch_size=16, gradient_accumulation_steps=2, token_budget=args.budget, learning_rate=1e-6,
        num_train_epochs=args.passes, logging_steps=1, save_strategy="no", report_to="none", disable_tqdm=True,
        vllm_server_base_url=url, max_inflight_tasks=64, queue_maxsize=256, max_staleness=10**6, weight_sync_steps=1000,
    )  # fmt: skip
    trainer = AsyncGRPOTrainer(
        args.folder, reward_funcs=boxed(), args=training, train_dataset=demo.arithmetic("train", size=args.prompts),
        weight_transfer=NoTransfer(), callbacks=[end_worker],
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    end_worker.worker = trainer.rollout_worker
    if SIDES[side] is not None:
        drop_dead_groups(trainer, **SIDES[side])
    DataCollatorForRollout.torch_call = count
    try:
        trainer.train()
    finally:
        DataCollatorForRollout.torch_call = collate
    steps = [entry for entry in trainer.state.log_history if "perf/fwd_bwd_s" in entry]
    update = len(steps) * statistics.median(step["perf/fwd_bwd_s"] + step["perf/optimizer_s"] for step in steps)
    trained = [live for batch in batches[:-1] for live in batch]  # the last one was formed ahead
    return {
        "steps": len(steps),
        "update": update,
        "forwarded tokens": sum(step["batch/forwarded_tokens_per_step"] for step in steps),
        "trained tokens": sum(step["batch/trained_tokens_per_step"] for step in steps),
        "live": sum(trained),
        "completions": len(trained),
        "groups": len(trainer._trained_groups),  # dead groups that were dropped count too
    }


def compare(share: float, args: argparse.Namespace) -> None:
    rounds = []
    for _ in range(args.pairs):
        sides = {}
        for side in SIDES:
            with (
                run_completion_server(make_answers(SPREADS[share], args.words)) as server,
                tempfile.TemporaryDirectory() as folder,
            ):
                sides[side] = run_side(side, folder, server.url, args)
        rounds.append(sides)
    names = ("steps", "update", "forwarded tokens", "trained tokens", "groups")
    for side in SIDES:
        live = statistics.median(sides[side]["live"] / sides[side]["completions"] for sides in rounds)
        ratios = (
            statistics.median(
                (sides[side][name] / sides[side]["live"]) / (sides["trl"][name] / sides["trl"]["live"])
                for sides in rounds
            )
            for name in names
        )
        seconds = statistics.median(sides[side]["update"] for sides in rounds)
        print(
            f"| {share:.0%} | {side} | {live:.2f} |",
            " | ".join(f"{ratio:.2f}" for ratio in ratios),
            f"| {seconds:.1f} s, {rounds[0][side]['steps']} steps, {rounds[0][side]['live']} live |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", choices=["demo", "small"], default="demo")
    parser.add_argument("--dead", type=float, nargs="+", choices=[*SPREADS], default=[*SPREADS])
    parser.add_argument("--prompts", type=int, default=48)
    parser.add_argument("--passes", type=float, default=2, help="passes over the prompts")
    parser.add_argument("--words", type=float, default=60, help="mean number of words of a completion")
    parser.add_argument("--budget", type=int, default=2048, help="TRL's token_budget: tokens of a micro-batch")
    parser.add_argument("--pairs", type=int, default=3, help="rounds")
    args = parser.parse_args()
    torch.set_num_threads(1)
    use_cpu()
    args.bf16, args.mixed_model = False, None
    with tempfile.TemporaryDirectory() as args.folder:
        model = load_model(args)
        if args.model == "demo":
            args.folder = model
        else:
            model.save_pretrained(args.folder)
            AutoTokenizer.from_pretrained(demo.MODEL).save_pretrained(args.folder)
        print(f"model {args.model}, {args.prompts} prompts, {args.passes:g} passes; ratios to TRL per live completion")
        print("| dead | side | live | steps | update | forwarded tokens | trained tokens | groups | in all |")
        print("|---" * 9 + "|")
        for share in args.dead:
            compare(share, args)


if __name__ == "__main__":
    main()
