r"""How soon a level of held-out accuracy is reached, by what is done about dead groups: seconds and generated tokens.

    python scripts/make_demo_model.py --mixed --output_dir mixed-model
    python scripts/study.py --mixed_model mixed-model --jobs 2   # makes the runs that study.jsonl does not have yet
    python scripts/study.py --seeds 0                            # shows what it has

Two tasks: the bundled sums, and `demo.MIXED`, where how hard a problem is belongs to the problem. Every mode and seed
is a run of its own in a process with one thread, and a line in the file. Seconds are those of computing in training
steps, evaluation left out, so that runs beside each other do not count. Tables and a picture (which needs matplotlib)
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
    "mixed": {"level": None, "max_steps": 48, "max_completion_length": 72},  # the level that TRL reaches at its end
}
EVERY = 4
"""Steps between two evaluations."""

LAST = 4
"""Evaluations at the end of a run that make its final accuracy."""

PROMPTS, GROUPS, SIZE = 192, 16, 8
"""Prompts to train on, groups in a step, and completions in a group: an epoch is twelve steps."""


class Course(TrainerCallback):
    """Seconds of computing and generated tokens so far, and held-out accuracy, after every few steps of a run."""

    def __init__(self, trainer: GRPOTrainer) -> None:
        self.trainer, self.seconds, self.tokens, self.seen = trainer, 0.0, 0, []
        self.calculate = trainer._calculate_rewards
        trainer._calculate_rewards = self.counted
        trainer.add_callback(self)

    def counted(self, inputs, prompts, completions, completion_ids):
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


def run(task: str, mode: str, seed: int, mixed_model: str | None) -> dict:
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
    """Accuracy as a mean of three neighbouring evaluations; of two at the ends."""
    return [statistics.mean(row[3] for row in seen[max(0, place - 1) : place + 2]) for place in range(len(seen))]


def final(result: dict) -> float:
    return statistics.mean(row[3] for row in result["seen"][-LAST:])


def reached(result: dict, level: float, column: int) -> float:
    """Steps (column 0), seconds (1) or tokens (2) until a level was reached, by interpolation; infinity if never."""
    seen, accuracies = result["seen"], smooth(result["seen"])
    for place in range(1, len(seen)):
        low, high = accuracies[place - 1 : place + 1]
        if low < level <= high:
            before, after = seen[place - 1][column], seen[place][column]
            return before + (level - low) / (high - low) * (after - before)
    return math.inf


def shares(task: str, mode: str, runs: dict, column: int) -> list[float]:
    """What a mode needs to the level, as shares of what TRL needs under the same seed, or of all of TRL's run."""
    found = []
    for seed in seeds_of(task, runs):
        theirs = runs[task, "TRL", seed]
        level = level_of(task, runs)
        base = min(reached(theirs, level, column), theirs["seen"][-1][column])
        if (task, mode, seed) in runs:
            found.append(reached(runs[task, mode, seed], level, column) / base)
    return found


def level_of(task: str, runs: dict) -> float:
    """The accuracy that counts: where none is set, that which TRL has at its end under every seed."""
    return TASKS[task]["level"] or min(final(runs[task, "TRL", seed]) for seed in seeds_of(task, runs))


def seeds_of(task: str, runs: dict) -> list[int]:
    return sorted(seed for kind, mode, seed in runs if (kind, mode) == (task, "TRL"))


def spread(values: list[float]) -> str:
    """Median, and the range over seeds; never is where a run does not reach the level."""
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})".replace("inf", "never")


def table(runs: dict) -> str:
    tasks = [task for task in TASKS if seeds_of(task, runs)]
    columns = [f"{task}: {column}" for task in tasks for column in ("seconds", "tokens", "accuracy")]
    lines = [f"| mode | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for mode in MODES:
        cells = []
        for task in tasks:
            mine = [final(one) for (kind, other, _), one in runs.items() if (kind, other) == (task, mode)]
            cells += [spread(shares(task, mode, runs, column)) for column in (1, 2)] if mine else ["", ""]
            cells.append(spread(mine) if mine else "")
        lines.append(f"| {mode} | {' | '.join(cells)} |")
    lines.append("")
    for task in tasks:
        theirs, level = [runs[task, "TRL", seed] for seed in seeds_of(task, runs)], level_of(task, runs)
        steps, seconds, tokens = (
            statistics.median(reached(one, level, column) for one in theirs) for column in (0, 1, 2)
        )
        never = sum(math.isinf(reached(one, level, 0)) for one in theirs)
        lines.append(
            f"{task}: to {level:.3f} TRL takes {steps:.0f} steps, {seconds:.0f} s, {tokens:,.0f} tokens, by the median of "
            f"{len(theirs)} seeds; in {never} it does not reach it, and the others are held against its whole run"
        )
    return "\n".join(lines)


def calibration(runs: dict) -> str:
    """Predicted and observed shares of live groups on the mixed task after the first epoch: by epoch, and by tenths."""
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


def picture(runs: dict, file: Path) -> None:
    """Accuracy against seconds and against tokens: median over seeds, and the range."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    tasks = [task for task in TASKS if any(kind == task for kind, _, _ in runs)]
    figure, axes = plt.subplots(len(tasks), 2, figsize=(11, 4 * len(tasks)), squeeze=False, sharey="row")
    for row, task in zip(axes, tasks, strict=True):
        for axis, column, name, unit in zip(
            row, (1, 2), ("seconds of computing", "generated tokens (1,000)"), (1, 1000), strict=True
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
    parser.add_argument("--file", type=Path, default=Path("study.jsonl"), help="of the runs, a line each")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", nargs="+", choices=[*TASKS], default=[*TASKS])
    parser.add_argument("--modes", nargs="+", choices=[*MODES], default=[*MODES])
    parser.add_argument("--mixed_model", help="folder of the model that make_demo_model.py --mixed has made")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--picture", type=Path, help="file to draw the courses into")
    args = parser.parse_args()
    if args.seeds and "mixed" in args.tasks and not args.mixed_model:
        parser.error(
            "The mixed task needs a model of its own. Make it with make_demo_model.py --mixed, or choose --tasks sums."
        )

    def known() -> dict:
        lines = map(json.loads, args.file.read_text().splitlines() if args.file.exists() else [])
        return {(line["task"], line["mode"], line["seed"]): line for line in lines}

    done = known()
    wanted = [(task, mode, seed) for seed in range(args.seeds) for task in args.tasks for mode in args.modes]
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        running = [pool.submit(run, *one, args.mixed_model) for one in wanted if one not in done]
        for place, future in enumerate(as_completed(running)):
            result = future.result()
            with args.file.open("a") as file:
                file.write(json.dumps(result) + "\n")
            print(
                f"{place + 1} of {len(running)}: {result['task']}, {result['mode']}, seed {result['seed']}: {final(result):.3f}",
                flush=True,
            )
    runs = known()
    if any(mode == "TRL" for _, mode, _ in runs):
        print(f"\n{table(runs)}")
    if any(one["predicted"] for (task, _, _), one in runs.items() if task == "mixed"):
        print(f"\n{calibration(runs)}")
    if args.picture:
        picture(runs, args.picture)


if __name__ == "__main__":
    main()
