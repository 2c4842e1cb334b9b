r"""Compare the modes for dead groups: how many seconds and generated tokens each needs to reach a held-out accuracy.

    python scripts/make_demo_model.py --mixed --output_dir mixed-model
    python scripts/study.py --mixed_model mixed-model --jobs 2   # makes the runs that study.jsonl does not have
    python scripts/study.py --seeds 0                            # shows the results

There are two tasks: the bundled sums, and `demo.MIXED` with problems of different difficulty. Each combination of task,
mode and seed is a separate run in a process with one thread, and adds one line to the file. Seconds are the CPU time of
training steps without evaluation, so parallel runs do not affect them. Tables and a picture (which needs matplotlib)
compare each mode with TRL's `GRPOTrainer` under the same seed.
"""

import argparse
import json
import math
import os
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import torch
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, boxed, demo, tags
from trl_grpo_rewards.records.files import read_records


MODES = {
    "TRL": None,
    "skip": {"zero_variance": "skip"},
    "drop": {"zero_variance": "drop"},
    "drop, resampling": {"zero_variance": "drop", "max_resample_rounds": 2},
    "selective, skip": {"selective": True, "zero_variance": "skip"},
    "selective, drop": {"selective": True, "zero_variance": "drop"},
    "selective, drop, resampling": {"selective": True, "zero_variance": "drop", "max_resample_rounds": 2},
}
TASKS = {
    "sums": {"level": 0.90, "max_steps": 48, "max_completion_length": 64},
    "mixed": {"level": None, "max_steps": 48, "max_completion_length": 72},  # the final accuracy of TRL
}
EVERY = 4
"""Steps between two evaluations."""

LAST = 4
"""Number of evaluations at the end of a run whose mean is its final accuracy."""

PROMPTS, GROUPS, SIZE = 192, 16, 8
"""Number of training prompts, of groups per step, and of completions per group. An epoch has twelve steps."""


class Course(TrainerCallback):
    """Records the CPU seconds, the generated tokens and the held-out accuracy every few steps of a run."""

    def __init__(self, trainer: GRPOTrainer) -> None:
        self.trainer, self.seconds, self.tokens, self.seen = trainer, 0.0, 0, []
        self.calculate = trainer._calculate_rewards
        trainer._calculate_rewards = self.count_tokens
        trainer.add_callback(self)

    def count_tokens(self, inputs, prompts, completions, completion_ids):
        if self.trainer.model.training:
            self.tokens += sum(map(len, completion_ids))
        return self.calculate(inputs, prompts, completions, completion_ids)

    def on_step_begin(self, args, state, control, **kwargs) -> None:
        if state.global_step == 0:
            self.evaluate(0)
        self.start = time.process_time()

    def on_step_end(self, args, state, control, **kwargs) -> None:
        self.seconds += time.process_time() - self.start
        if state.global_step % EVERY == 0:
            self.evaluate(state.global_step)

    def evaluate(self, step: int) -> None:
        accuracy = self.trainer.evaluate()["eval_rewards/accuracy/mean"]
        self.seen.append([step, self.seconds, self.tokens, accuracy])


def run_training(task: str, mode: str, seed: int, mixed_model: str | None) -> dict:
    torch.set_num_threads(1)
    if task == "sums":
        model, kinds = demo.MODEL, None
        rewards = boxed(evaluated=True, name="accuracy") + 0.5 * tags("think", name="format")
    else:
        model, kinds, rewards = mixed_model, demo.MIXED, 1.0 * boxed(evaluated=True, name="accuracy")
    options = {name: value for name, value in TASKS[task].items() if name != "level"}
    with tempfile.TemporaryDirectory() as folder:
        training = (GRPOConfig if mode == "TRL" else FilteredGRPOConfig)(
            output_dir=folder, use_cpu=True, bf16=False, gradient_checkpointing=False, report_to="none", seed=seed,
            save_strategy="no", disable_tqdm=True, logging_steps=1, lr_scheduler_type="constant", learning_rate=2.5e-4,
            num_generations=SIZE, per_device_train_batch_size=GROUPS * SIZE, num_generations_eval=2, per_device_eval_batch_size=256,
            reward_weights=rewards.weights, **(MODES[mode] or {}), **options,
        )  # fmt: skip
        trainer = (GRPOTrainer if mode == "TRL" else FilteredGRPOTrainer)(
            model, rewards.rewards, args=training,
            train_dataset=demo.arithmetic("train", size=PROMPTS, seed=seed, kinds=kinds),
            eval_dataset=demo.arithmetic("test", size=128, seed=seed, kinds=kinds),
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        course = Course(trainer)
        trainer.train()
        groups = [] if mode == "TRL" else list(read_records(folder))
    predicted = [
        [group["step"], group["predicted_live"], group["outcome"] == "live"]
        for group in groups
        if "predicted_live" in group
    ]
    dead = "frac_reward_zero_std" if mode == "TRL" else "groups/dead"
    live = [1 - entry[dead] for entry in trainer.state.log_history if dead in entry]
    return {"task": task, "mode": mode, "seed": seed, "seen": course.seen, "live": live, "predicted": predicted}


def smooth(seen: list) -> list[float]:
    """Return the accuracies averaged over three neighbouring evaluations, or over two at both ends."""
    return [statistics.mean(row[3] for row in seen[max(0, place - 1) : place + 2]) for place in range(len(seen))]


def final_accuracy(result: dict) -> float:
    return statistics.mean(row[3] for row in result["seen"][-LAST:])


def cost_of_level(result: dict, level: float, column: int) -> float:
    """Return the interpolated steps (column 0), seconds (1) or tokens (2) to reach a level, or infinity if never."""
    seen, accuracies = result["seen"], smooth(result["seen"])
    for place in range(1, len(seen)):
        low, high = accuracies[place - 1 : place + 1]
        if low < level <= high:
            before, after = seen[place - 1][column], seen[place][column]
            return before + (level - low) / (high - low) * (after - before)
    return math.inf


def relative_costs(task: str, mode: str, runs: dict, column: int) -> list[float]:
    """Return the cost of the level for each seed, relative to TRL's cost, or to TRL's whole run if that is shorter."""
    found = []
    for seed in seeds_of(task, runs):
        theirs = runs[task, "TRL", seed]
        level = level_of(task, runs)
        base = min(cost_of_level(theirs, level, column), theirs["seen"][-1][column])
        if (task, mode, seed) in runs:
            found.append(cost_of_level(runs[task, mode, seed], level, column) / base)
    return found


def level_of(task: str, runs: dict) -> float:
    """Return the accuracy to reach. By default it is the lowest final accuracy of TRL over seeds."""
    return TASKS[task]["level"] or min(final_accuracy(runs[task, "TRL", seed]) for seed in seeds_of(task, runs))


def seeds_of(task: str, runs: dict) -> list[int]:
    return sorted(seed for kind, mode, seed in runs if (kind, mode) == (task, "TRL"))


def format_range(values: list[float]) -> str:
    """Return the median and the range over seeds. "never" stands for a run that does not reach the level."""
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})".replace("inf", "never")


def make_table(runs: dict) -> str:
    tasks = [task for task in TASKS if seeds_of(task, runs)]
    columns = [f"{task}: {column}" for task in tasks for column in ("seconds", "tokens", "accuracy")]
    lines = [f"| mode | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for mode in MODES:
        cells = []
        for task in tasks:
            mine = [final_accuracy(one) for (kind, other, _), one in runs.items() if (kind, other) == (task, mode)]
            cells += (
                [format_range(relative_costs(task, mode, runs, column)) for column in (1, 2)] if mine else ["", ""]
            )
            cells.append(format_range(mine) if mine else "")
        lines.append(f"| {mode} | {' | '.join(cells)} |")
    lines.append("")
    for task in tasks:
        theirs, level = [runs[task, "TRL", seed] for seed in seeds_of(task, runs)], level_of(task, runs)
        steps, seconds, tokens = (
            statistics.median(cost_of_level(one, level, column) for one in theirs) for column in (0, 1, 2)
        )
        never = sum(math.isinf(cost_of_level(one, level, 0)) for one in theirs)
        lines.append(
            f"{task}: TRL reaches {level:.3f} after {steps:.0f} steps, {seconds:.0f} s, {tokens:,.0f} tokens "
            f"(medians of {len(theirs)} seeds). With {never} seeds, it does not reach this level, "
            f"and the other modes are compared with its whole run."
        )
    return "\n".join(lines)


def make_calibration(runs: dict) -> str:
    """Return predicted and observed shares of live groups after the first epoch of the mixed task."""
    epoch = PROMPTS // GROUPS
    seen = [
        ((step - 1) // epoch + 1, chance, live)
        for (task, _, _), one in runs.items()
        for step, chance, live in one["predicted"]
        if task == "mixed" and step > epoch
    ]
    parts = {
        f"epoch {number}": [pair for pair in seen if pair[0] == number] for number in sorted({one[0] for one in seen})
    }
    ordered = sorted(seen, key=lambda one: one[1])
    for tenth in range(10):
        some = ordered[tenth * len(seen) // 10 : (tenth + 1) * len(seen) // 10]
        parts[f"{some[0][1]:.2f} to {some[-1][1]:.2f}"] = some
    parts["all"] = seen
    lines = ["| groups | number | predicted | observed |", "|---|---|---|---|"]
    for name, some in parts.items():
        _, chances, lives = zip(*some, strict=True)
        lines.append(f"| {name} | {len(some):,} | {statistics.mean(chances):.3f} | {statistics.mean(lives):.3f} |")
    return "\n".join(lines)


def draw_picture(runs: dict, file: Path) -> None:
    """Draw accuracy over seconds and over tokens, with the median and the range over seeds."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    tasks = [task for task in TASKS if any(kind == task for kind, _, _ in runs)]
    figure, axes = plt.subplots(len(tasks), 2, figsize=(11, 4 * len(tasks)), squeeze=False, sharey="row")
    for row, task in zip(axes, tasks, strict=True):
        for axis, column, name, unit in zip(
            row, (1, 2), ("CPU seconds", "generated tokens (1,000)"), (1, 1000), strict=True
        ):
            for color, mode in enumerate(MODES):
                mine = [one for (kind, other, _), one in runs.items() if (kind, other) == (task, mode)]
                if not mine:
                    continue
                end = min(one["seen"][-1][column] for one in mine)
                grid = np.linspace(0, end, 100)
                curves = [np.interp(grid, [seen[column] for seen in one["seen"]], smooth(one["seen"])) for one in mine]
                axis.plot(grid / unit, np.median(curves, 0), label=mode, color=f"C{color}", linewidth=1.8)
                axis.fill_between(
                    grid / unit, np.min(curves, 0), np.max(curves, 0), color=f"C{color}", alpha=0.10, linewidth=0
                )
            axis.set_xlabel(name)
            axis.set_title(task, loc="left", fontsize=10)
            axis.grid(alpha=0.3)
            axis.set_xlim(left=0)
        row[0].set_ylabel("held-out accuracy")
    axes[0][1].legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, default=Path("study.jsonl"), help="file with one line for each run")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", nargs="+", choices=[*TASKS], default=[*TASKS])
    parser.add_argument("--modes", nargs="+", choices=[*MODES], default=[*MODES])
    parser.add_argument("--mixed_model", help="folder of the model from make_demo_model.py --mixed")
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel runs")
    parser.add_argument("--picture", type=Path, help="file for the picture")
    args = parser.parse_args()
    if args.seeds and "mixed" in args.tasks and not args.mixed_model:
        parser.error(
            "The mixed task needs --mixed_model. Make one with make_demo_model.py --mixed, or choose --tasks sums."
        )

    def read_runs() -> dict:
        lines = map(json.loads, args.file.read_text().splitlines() if args.file.exists() else [])
        return {(line["task"], line["mode"], line["seed"]): line for line in lines}

    done = read_runs()
    wanted = [(task, mode, seed) for seed in range(args.seeds) for task in args.tasks for mode in args.modes]
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        running = [pool.submit(run_training, *one, args.mixed_model) for one in wanted if one not in done]
        for place, future in enumerate(as_completed(running)):
            result = future.result()
            with args.file.open("a") as file:
                file.write(json.dumps(result) + "\n")
            print(
                f"{place + 1} of {len(running)}: {result['task']}, {result['mode']}, seed {result['seed']}: {final_accuracy(result):.3f}",
                flush=True,
            )
    runs = read_runs()
    if any(mode == "TRL" for _, mode, _ in runs):
        print(f"\n{make_table(runs)}")
    if any(one["predicted"] for (task, _, _), one in runs.items() if task == "mixed"):
        print(f"\n{make_calibration(runs)}")
    if args.picture:
        draw_picture(runs, args.picture)


if __name__ == "__main__":
    main()
