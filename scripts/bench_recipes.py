"""Compare the seconds of a step under TRL's `GRPOTrainer` and under ours, in recipes of the command `train`.

    python scripts/bench_recipes.py smollm2-sums smollm2-length --steps 10 --set dtype=float32

Both trainers take turns, a step each, in one process. Seconds are those of the CPU, which other load hardly changes. An
update is a step without its generation. The first step warms up.
"""

import argparse
import statistics
import threading
import time
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOTrainer, get_peft_config

from trl_grpo_rewards.cli.job import prepare_job
from trl_grpo_rewards.cli.job_files import choose_model
from trl_grpo_rewards.cli.job_options import read_job
from trl_grpo_rewards.cli.main import read_ahead
from trl_grpo_rewards.training.trainer import FilteredGRPOTrainer


class Turns(TrainerCallback):
    """Lets one of two trainers take a step, then the other, and measures the seconds of its steps and generations."""

    def __init__(self, trainer: GRPOTrainer, own: threading.Semaphore, other: threading.Semaphore) -> None:
        self.own, self.other, self.generation, self.steps = own, other, 0.0, list[tuple[float, float]]()
        self.generate, trainer._generate = trainer._generate, self.measure
        trainer.add_callback(self)

    def measure(self, *args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        found = self.generate(*args, **kwargs)
        self.generation += time.process_time() - start
        return found

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.own.acquire()
        self.start, self.generation = time.process_time(), 0.0

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.steps.append((time.process_time() - self.start, self.generation))
        self.other.release()


def build(cls: type[GRPOTrainer], arguments: list[str], folder: Path) -> GRPOTrainer:
    """Return a trainer of a recipe. TRL's trainer takes the options that are its own."""
    job, training, model = read_job(read_ahead("train", [*arguments, "--output_dir", str(folder)]), "train")
    rewards, dataset, _ = prepare_job(job, training)
    training.model_init_kwargs = {"dtype": model.dtype}
    trainer = cls(
        choose_model(model.model_name_or_path, job.dataset_name),
        rewards,
        training,
        dataset,
        peft_config=get_peft_config(model),
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def compare(recipe: str, steps: int, options: list[str], runs: Path) -> None:
    """Print a row of the table: seconds of a step and of its update, of TRL's trainer, of ours, and the ratio."""
    arguments = ["--config", recipe, "--max_steps", str(steps), "--eval_strategy", "no", "--disable_tqdm", "true"]
    gates = threading.Semaphore(1), threading.Semaphore(0)
    kinds = GRPOTrainer, FilteredGRPOTrainer
    trainers = [build(kind, arguments + options, runs / recipe / kind.__name__) for kind in kinds]
    turns = [Turns(trainer, gates[side], gates[1 - side]) for side, trainer in enumerate(trainers)]
    threads = [threading.Thread(target=trainer.train) for trainer in trainers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole, update = zip(
        *(
            (statistics.fmean(step for step, _ in one.steps[1:]), statistics.fmean(a - b for a, b in one.steps[1:]))
            for one in turns
        ),
        strict=True,
    )
    cells = [cell for theirs, ours in (update, whole) for cell in (theirs, ours, ours / theirs)]
    print("|", recipe, "|", " | ".join(f"{cell:.3g}" for cell in cells), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recipes", nargs="+")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--set", nargs="*", default=[], metavar="OPTION=VALUE", help="options instead of the recipe's")
    parser.add_argument("--runs", type=Path, default=Path("runs/bench"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(
        "| recipe | TRL's update | our update | ratio | TRL's step | our step | ratio |\n|---|---|---|---|---|---|---|"
    )
    for recipe in args.recipes:
        compare(recipe, args.steps, [f"--{option}" for option in args.set], args.runs)


if __name__ == "__main__":
    main()
