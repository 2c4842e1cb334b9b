r"""Compare the modes for dead groups: how many seconds and generated tokens each needs to reach a held-out accuracy.

    python scripts/make_demo_model.py --mixed --output_dir mixed-model
    python scripts/make_demo_model.py --varied --steps 2000 --output_dir varied-model
    python scripts/study.py --models . --jobs 2   # makes the runs that study.jsonl does not have
    python scripts/study.py --seeds 0             # shows the results

There are three tasks: the bundled sums, `demo.MIXED` with problems of different difficulty, and the problems of
`varied_problems.py`, which are seen at most twice. Each combination of task, mode and seed is a separate run in a process
with one thread, and adds one line to the file. Seconds are the CPU time of training steps without evaluation, so parallel
runs hardly affect them. Tables and a picture (which needs matplotlib) compare each mode with TRL's `GRPOTrainer` under
the same seed.
"""

import argparse
import json
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import torch
import varied_problems
from study_picture import draw_picture
from study_tables import final_accuracy, make_table, seeds_of
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, boxed, demo, tags


MODES = {
    "TRL": None,
    "skip": {"zero_variance": "skip"},
    "skip, 2 iterations": {"zero_variance": "skip", "num_iterations": 2},
    "drop, resampling": {"zero_variance": "drop", "max_resample_rounds": 2},
    "selective": {"selective": True, "zero_variance": "skip"},
}
"""Modes that someone would choose. `skip` is what `"auto"` does in these tasks."""

GROUPS, SIZE = 16, 8
"""Number of groups per step, and of completions per group."""


@dataclass(frozen=True)
class Task:
    """
    What is trained.

    Args:
        prompts (`int`):
            Number of training prompts.
        steps (`int`):
            Number of generations of 16 groups. With two iterations, each has two optimizer steps.
        every (`int`):
            Number of generations between two evaluations.
        held_out (`int`):
            Number of held-out prompts, with two completions each.
        length (`int`):
            Largest number of tokens of a completion.
        rate (`float`):
            Learning rate.
    """

    prompts: int
    steps: int
    every: int
    held_out: int
    length: int
    rate: float = 2.5e-4

    @property
    def epoch(self) -> int:
        """Number of generations of an epoch."""
        return self.prompts // GROUPS


TASKS = {
    "sums": Task(prompts=192, steps=48, every=4, held_out=128, length=64),
    "mixed": Task(prompts=192, steps=48, every=4, held_out=128, length=72),
    "varied": Task(prompts=2048, steps=256, every=16, held_out=256, length=96, rate=1e-4),  # two epochs
}


class Course(TrainerCallback):
    """
    Records the CPU seconds, the generated tokens and the held-out accuracy every few generations of a run, and the share
    of live groups of each generation.
    """

    def __init__(self, trainer: GRPOTrainer, every: int) -> None:
        self.trainer, self.every = trainer, every * trainer.num_iterations
        self.seconds, self.tokens, self.seen, self.live = 0.0, 0, [], []
        self.generate, trainer._generate = trainer._generate, self.count_tokens
        trainer.add_callback(self)

    def count_tokens(self, prompts):
        generated = self.generate(prompts)
        if self.trainer.model.training:
            self.tokens += sum(map(len, generated[1]))
        return generated

    def on_step_begin(self, args, state, control, **kwargs) -> None:
        if state.global_step == 0:
            self.evaluate(0)
        self.start = time.process_time()

    def on_step_end(self, args, state, control, **kwargs) -> None:
        self.seconds += time.process_time() - self.start
        metrics = self.trainer._metrics["train"]
        dead = metrics.get("groups/dead", metrics["frac_reward_zero_std"])
        if (state.global_step - 1) % self.trainer.num_iterations == 0:  # this step has generated
            self.live.append(1 - dead[-1])
        if state.global_step % self.every == 0:
            self.evaluate(state.global_step // self.trainer.num_iterations)

    def evaluate(self, generation: int) -> None:
        accuracy = self.trainer.evaluate()["eval_rewards/accuracy/mean"]
        self.seen.append([generation, self.seconds, self.tokens, accuracy])


def load_task(name: str, seed: int, models: Path) -> tuple:
    """Return the model, the rewards and the two datasets of a task."""
    task = TASKS[name]
    if name == "varied":
        data = [
            varied_problems.varied_problems(*one, seed) for one in (("train", task.prompts), ("test", task.held_out))
        ]
    else:
        kinds = demo.MIXED if name == "mixed" else None
        sizes = {"train": task.prompts, "test": task.held_out}
        data = [demo.arithmetic(split, size=size, seed=seed, kinds=kinds) for split, size in sizes.items()]
    accuracy = 1.0 * boxed(evaluated=True, name="accuracy")
    if name == "sums":
        return demo.MODEL, accuracy + 0.5 * tags("think", name="format"), *data
    return str(models / f"{name}-model"), accuracy, *data


def run_training(name: str, mode: str, seed: int, models: Path) -> dict:
    torch.set_num_threads(1)
    task, options = TASKS[name], MODES[mode] or {}
    model, rewards, train_dataset, eval_dataset = load_task(name, seed, models)
    with tempfile.TemporaryDirectory() as folder:
        training = (GRPOConfig if mode == "TRL" else FilteredGRPOConfig)(
            output_dir=f"{folder}/run", use_cpu=True, bf16=False, gradient_checkpointing=False, report_to="none", seed=seed,
            save_strategy="no", disable_tqdm=True, logging_steps=1, lr_scheduler_type="constant", learning_rate=task.rate,
            num_generations=SIZE, per_device_train_batch_size=GROUPS * SIZE, num_generations_eval=2,
            per_device_eval_batch_size=256, max_steps=task.steps * options.get("num_iterations", 1),
            max_completion_length=task.length, reward_weights=rewards.weights, **options,
        )  # fmt: skip
        trainer = (GRPOTrainer if mode == "TRL" else FilteredGRPOTrainer)(
            model, rewards.rewards, args=training, train_dataset=train_dataset, eval_dataset=eval_dataset
        )
        trainer.remove_callback(PrinterCallback)
        course = Course(trainer, task.every)
        trainer.train()
    return {"task": name, "mode": mode, "seed": seed, "seen": course.seen, "live": course.live}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, default=Path("study.jsonl"), help="file with one line for each run")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--tasks", nargs="+", choices=[*TASKS], default=[*TASKS])
    parser.add_argument("--modes", nargs="+", choices=[*MODES], default=[*MODES])
    parser.add_argument("--models", type=Path, default=Path(), help="folder with mixed-model and varied-model")
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel runs")
    parser.add_argument("--picture", type=Path, help="file for the picture")
    args = parser.parse_args()
    for task in {*args.tasks} - {"sums"} if args.seeds else ():
        if not (args.models / f"{task}-model").is_dir():
            parser.error(
                f"The task {task} needs {args.models / f'{task}-model'}. Make it with make_demo_model.py --{task}."
            )

    def read_runs() -> dict:
        lines = map(json.loads, args.file.read_text().splitlines() if args.file.exists() else [])
        return {(line["task"], line["mode"], line["seed"]): line for line in lines}

    done = read_runs()
    wanted = [(task, mode, seed) for seed in range(args.seeds) for task in args.tasks for mode in args.modes]
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        running = [pool.submit(run_training, *one, args.models) for one in wanted if one not in done]
        for place, future in enumerate(as_completed(running)):
            result = future.result()
            with args.file.open("a") as file:
                file.write(json.dumps(result) + "\n")
            what = f"{result['task']}, {result['mode']}, seed {result['seed']}"
            print(f"{place + 1} of {len(running)}: {what}: {final_accuracy(result):.3f}", flush=True)
    runs = read_runs()
    for task in TASKS:
        if seeds_of(task, "TRL", runs):
            print(f"\n{make_table(task, runs, MODES, TASKS[task].epoch)}")
    if args.picture:
        draw_picture(runs, [*TASKS], args.picture)


if __name__ == "__main__":
    main()
