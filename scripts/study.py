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
import math
import os
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import torch
import varied_problems
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, boxed, demo, tags
from trl_grpo_rewards.records.files import read_records


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

LAST = 4
"""Number of evaluations at the end of a run whose mean is its final accuracy."""


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
            output_dir=folder, use_cpu=True, bf16=False, gradient_checkpointing=False, report_to="none", seed=seed,
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
        groups = [] if mode == "TRL" else list(read_records(folder))
    predicted = [[group["epoch"], group["predicted_live"], is_mixed(group)] for group in groups if "epoch" in group]
    return {"task": name, "mode": mode, "seed": seed, "seen": course.seen, "live": course.live, "predicted": predicted}


def is_mixed(group: dict) -> bool:
    """Whether a group has right and wrong completions."""
    return len({score >= 1 for score in group["rewards"]["accuracy"]}) == 2


def smooth(seen: list) -> list[float]:
    """Return the accuracies averaged over three neighbouring evaluations, or over two at both ends."""
    return [statistics.mean(row[3] for row in seen[max(0, place - 1) : place + 2]) for place in range(len(seen))]


def final_accuracy(result: dict) -> float:
    return statistics.mean(row[3] for row in result["seen"][-LAST:])


def cost_of_level(result: dict, level: float, column: int) -> float:
    """Return the interpolated generations (column 0), seconds (1) or tokens (2) to reach a level, or infinity if never."""
    seen, accuracies = result["seen"], smooth(result["seen"])
    for place in range(1, len(seen)):
        low, high = accuracies[place - 1 : place + 1]
        if low < level <= high:
            before, after = seen[place - 1][column], seen[place][column]
            return before + (level - low) / (high - low) * (after - before)
    return math.inf


LEVELS = (0.5, 0.8, 1.0)
"""Levels of accuracy, as shares of the way from the start to the final accuracy of TRL under the same seed."""


def relative_costs(task: str, mode: str, runs: dict, level: float, column: int) -> list[float]:
    """Return the cost of a level for each seed, relative to TRL's. A whole run is the cost of a level never reached."""
    found = []
    for seed in seeds_of(task, mode, runs):
        theirs, mine = runs[task, "TRL", seed], runs[task, mode, seed]
        start = theirs["seen"][0][3]
        wanted = start + level * (final_accuracy(theirs) - start)
        costs = [min(cost_of_level(one, wanted, column), one["seen"][-1][column]) for one in (mine, theirs)]
        found.append(costs[0] / costs[1])
    return found


def seeds_of(task: str, mode: str, runs: dict) -> list[int]:
    """Return the seeds with a run in this mode and one of TRL."""
    return sorted(seed for kind, other, seed in runs if (kind, other) == (task, mode) and (task, "TRL", seed) in runs)


T_VALUES = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 12: 2.20, 16: 2.13}
"""Quantiles of Student's distribution for intervals of 95 %, by the number of seeds."""


def find_interval(values: list[float]) -> tuple[float, float]:
    """Return the mean and half of the width of its 95 % interval."""
    if len(values) < 2:
        return statistics.mean(values), math.inf
    t_value = T_VALUES[max(count for count in T_VALUES if count <= len(values))]
    return statistics.mean(values), t_value * statistics.stdev(values) / len(values) ** 0.5


def format_ratio(ratios: list[float]) -> str:
    """Return the geometric mean of ratios and its 95 % interval."""
    mean, half = find_interval([math.log(ratio) for ratio in ratios])
    return f"{math.exp(mean):.2f} ({math.exp(mean - half):.2f} to {math.exp(mean + half):.2f})"


def format_difference(differences: list[float]) -> str:
    mean, half = find_interval(differences)
    return f"{mean:+.3f} ({mean - half:+.3f} to {mean + half:+.3f})"


def make_table(task: str, runs: dict) -> str:
    """Return the table of a task: ratios and differences to TRL under the same seed."""
    heads = [f"{unit} to {level:.0%}" for level in LEVELS for unit in ("seconds", "tokens")]
    lines = [f"| {task} | {' | '.join(heads)} | final accuracy | live, first epoch |", "|---" * (len(heads) + 3) + "|"]
    for mode in MODES:
        seeds = seeds_of(task, mode, runs)
        if mode == "TRL" or not seeds:
            continue
        cells = [
            format_ratio(relative_costs(task, mode, runs, *one)) for one in [(x, y) for x in LEVELS for y in (1, 2)]
        ]
        cells.append(
            format_difference(
                [final_accuracy(runs[task, mode, x]) - final_accuracy(runs[task, "TRL", x]) for x in seeds]
            )
        )
        cells.append(
            format_difference([live_share(task, mode, x, runs) - live_share(task, "TRL", x, runs) for x in seeds])
        )
        lines.append(f"| {mode} | {' | '.join(cells)} |")
    theirs = [runs[task, "TRL", seed] for seed in seeds_of(task, "TRL", runs)]
    start, end = (
        statistics.mean(values)
        for values in zip(*((one["seen"][0][3], final_accuracy(one)) for one in theirs), strict=True)
    )
    seconds, tokens = (statistics.mean(one["seen"][-1][column] for one in theirs) for column in (1, 2))
    live = statistics.mean(live_share(task, "TRL", seed, runs) for seed in seeds_of(task, "TRL", runs))
    lines.append(
        f"\nTRL: accuracy from {start:.3f} to {end:.3f} in {seconds:.0f} s and {tokens:,.0f} tokens, {live:.2f} of the groups "
        f"of the first epoch are live (means of {len(theirs)} seeds)."
    )
    return "\n".join(lines)


def live_share(task: str, mode: str, seed: int, runs: dict) -> float:
    """Return the share of live groups in the first epoch."""
    return statistics.mean(runs[task, mode, seed]["live"][: TASKS[task].epoch])


def make_calibration(task: str, runs: dict) -> str:
    """Return predicted and observed shares of groups with right and wrong completions, by epoch and by fifth."""
    seen = [tuple(row) for (kind, _, _), one in runs.items() if kind == task for row in one["predicted"]]
    parts = {
        f"epoch {number}": [one for one in seen if one[0] == number] for number in sorted({one[0] for one in seen})
    }
    ordered = sorted(seen, key=lambda one: one[1])
    for fifth in range(5):
        some = ordered[fifth * len(seen) // 5 : (fifth + 1) * len(seen) // 5]
        parts[f"{some[0][1]:.2f} to {some[-1][1]:.2f}"] = some
    lines = [f"| {task} | groups | predicted | observed |", "|---|---|---|---|"]
    for name, some in parts.items():
        _, chances, lives = zip(*some, strict=True)
        lines.append(f"| {name} | {len(some):,} | {statistics.mean(chances):.3f} | {statistics.mean(lives):.3f} |")
    return "\n".join(lines)


def draw_picture(runs: dict, file: Path) -> None:
    """Draw the mean accuracy over seconds and over tokens for each task, and below it the difference to TRL."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    tasks = [task for task in TASKS if seeds_of(task, "TRL", runs)]
    figure, axes = plt.subplots(
        2 * len(tasks), 2, figsize=(11, 5 * len(tasks)), squeeze=False, height_ratios=[2, 1] * len(tasks), sharey="row"
    )
    for number, task in enumerate(tasks):
        for place, (column, name, unit) in enumerate(((1, "CPU seconds", 1), (2, "generated tokens (1,000)", 1000))):
            above, below = axes[2 * number, place], axes[2 * number + 1, place]
            base = [runs[task, "TRL", seed] for seed in seeds_of(task, "TRL", runs)]
            grid = np.linspace(0, min(one["seen"][-1][column] for one in base), 60)
            ends = []
            for color, mode in enumerate(MODES):
                seeds = seeds_of(task, mode, runs)
                if not seeds:
                    continue
                mine, theirs = (
                    np.array([follow(runs[task, one, x], grid, column) for x in seeds]) for one in (mode, "TRL")
                )
                above.plot(grid / unit, np.nanmean(mine, 0), color=f"C{color}", linewidth=1.8)
                ends.append([float(np.nanmean(mine, 0)[35]), mode, f"C{color}"])
                if mode != "TRL":
                    middle, half = zip(*map(find_interval, (mine - theirs).T.tolist()), strict=True)
                    middle, half = np.array(middle), np.array(half)
                    below.plot(grid / unit, middle, color=f"C{color}", linewidth=1.6)
                    below.fill_between(
                        grid / unit, middle - half, middle + half, color=f"C{color}", alpha=0.12, linewidth=0
                    )
            ends.sort()
            low, high = above.get_ylim()
            for rank, (_, mode, color) in enumerate(ends):
                height = low + (high - low) * (0.06 + 0.09 * rank)
                above.text(
                    0.985,
                    (height - low) / (high - low),
                    mode,
                    color=color,
                    ha="right",
                    fontsize=9,
                    transform=above.transAxes,
                )
            above.set_title(f"{task}: accuracy", loc="left", fontsize=10)
            below.set_title("difference to TRL, with its 95 % interval", loc="left", fontsize=9)
            below.axhline(0, color="0.4", linewidth=0.8)
            below.set_xlabel(name)
            for axis in (above, below):
                axis.grid(alpha=0.3)
                axis.set_xlim(0, grid[-1] / unit)
    figure.tight_layout()
    figure.savefig(file, dpi=100)


def follow(result: dict, grid: list, column: int) -> list[float]:
    """Return the accuracies of a run at these seconds or tokens, and NaN after its end."""
    import numpy as np

    return np.interp(grid, [seen[column] for seen in result["seen"]], smooth(result["seen"]), right=np.nan)


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
            print(f"\n{make_table(task, runs)}")
        if any(one["predicted"] for (kind, _, _), one in runs.items() if kind == task):
            print(f"\n{make_calibration(task, runs)}")
    if args.picture:
        draw_picture(runs, args.picture)


if __name__ == "__main__":
    main()
