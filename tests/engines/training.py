"""Short training runs: `accelerate launch --config_file ENGINE training.py FOLDER RUN...`, or the same with `python`.

Each run writes its model to FOLDER/<run>/model, its metrics to FOLDER/<run>/log.json, and the calls of its reward
function on each rank to FOLDER/<run>/<rank>.jsonl.
"""

import faulthandler
import importlib.util
import json
import os
import signal
import sys
from pathlib import Path

import patches
import torch
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, demo


PLAN = ("ddll", "dddl", "dddd", "lddd", "llll")
"""Dead and live groups of each step. On two ranks, rank 0 has the first two groups, and rank 1 has the last two."""

SMALL = {
    "bf16": False,
    "gradient_checkpointing": False,
    "per_device_train_batch_size": 8,
    "num_generations": 4,
    "max_completion_length": 16,
    "max_steps": len(PLAN),
    "learning_rate": 0.1,
    "lr_scheduler_type": "constant",
    "optim": "sgd",
    "max_grad_norm": 1e9,
    "logging_steps": 1,
    "save_strategy": "no",
    "shuffle_dataset": False,
    "report_to": "none",
    "disable_tqdm": True,
    "seed": 3,
}
ACCUMULATED = {
    "per_device_train_batch_size": 2,
    "gradient_accumulation_steps": 4,
    "num_iterations": 2,
    "max_steps": 2 * len(PLAN),
    "max_grad_norm": 0.1,
    "loss_type": "grpo",
    "gradient_checkpointing": True,
}
RESAMPLED = {"zero_variance": "drop", "max_resample_rounds": 2, "shuffle_dataset": True, "max_steps": 4}
SAVED = {**RESAMPLED, "optim": "adamw_torch", "learning_rate": 1e-3, "save_strategy": "steps", "save_steps": 2}
COLOCATED = {
    "per_device_train_batch_size": 16,
    "use_vllm": True,
    "vllm_mode": "colocate",
    "vllm_max_model_length": 256,
    "vllm_gpu_memory_utilization": 0.2,
}
RUNS = {
    "trl": {},
    "skip": {"zero_variance": "skip"},
    "trl-accumulated": ACCUMULATED,
    "skip-accumulated": {**ACCUMULATED, "zero_variance": "skip"},
    "keep-accumulated": {**ACCUMULATED, "zero_variance": "keep"},
    "dead": {"zero_variance": "skip", "max_steps": 2},
    "resample": RESAMPLED,
    "whole": SAVED,
    "killed": SAVED,
    "resumed": SAVED,
    "trl-vllm": COLOCATED,
    "skip-vllm": {**COLOCATED, "zero_variance": "skip"},
    "resample-vllm": {**COLOCATED, **RESAMPLED},
}


class Kill(TrainerCallback):
    """Kills its own process one step after the checkpoint."""

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == 3:
            os.kill(os.getpid(), signal.SIGKILL)


def problems(run: str) -> Dataset:
    rows = demo.arithmetic("train", size=96).to_list()
    kinds = "dld" * 32 if RUNS[run].get("shuffle_dataset") else "d" * 96 if run == "dead" else "".join(PLAN)
    return Dataset.from_list([{**row, "alive": kind == "l"} for row, kind in zip(rows, kinds, strict=False)])


def scoring(file: Path):
    """Return a reward function that logs its calls to a file. Dead groups get 0.5, which floats represent exactly."""

    def scores(prompts, completions, alive, trainer_state, **kwargs):
        rows = zip(prompts, completions, strict=True)
        texts = [prompt[-1]["content"] + completion[0]["content"] for prompt, completion in rows]
        with file.open("a") as lines:
            print(json.dumps({"step": trainer_state.global_step, "alive": alive, "texts": texts}), file=lines)
        return [0.25 * (index % 4) if live else 0.5 for index, live in enumerate(alive)]

    return scores


def train(folder: Path, run: str) -> None:
    place = folder / run
    place.mkdir(exist_ok=True)
    ours = "trl" not in run
    config = FilteredGRPOConfig if ours else GRPOConfig
    sharded = bool({"ACCELERATE_USE_DEEPSPEED", "ACCELERATE_USE_FSDP"} & {*os.environ})
    output = folder / "killed" if run == "resumed" else place
    args = config(**{**SMALL, **RUNS[run], "use_cpu": not sharded, "output_dir": str(output)})
    trainer = (FilteredGRPOTrainer if ours else GRPOTrainer)(
        demo.MODEL,
        scoring(place / f"{args.process_index}.jsonl"),
        args=args,
        train_dataset=problems(run),
        callbacks=[Kill()] if run == "killed" else [],
    )
    passes = []
    trainer.model.register_forward_pre_hook(
        lambda model, args, inputs: passes.append("fused_lm_head" in inputs), with_kwargs=True
    )
    trainer.train(resume_from_checkpoint=run == "resumed")
    (place / f"passes-{args.process_index}.json").write_text(json.dumps(sum(passes)))  # without those of generation
    trainer.save_model(str(place / "model"))
    if trainer.is_world_process_zero():
        wrapped = type(trainer.model_wrapped).__name__
        log = {"wrapped": wrapped, "world_size": args.world_size, "history": trainer.state.log_history}
        (place / "log.json").write_text(json.dumps(log))
    trainer.accelerator.wait_for_everyone()
    trainer.model_wrapped = trainer.model


def main() -> None:
    faulthandler.dump_traceback_later(float(os.environ["ENGINE_TEST_DUMP_AFTER"]), exit=True)
    torch.set_num_threads(1)
    patches.run_sharded_on_cpu()
    if importlib.util.find_spec("deepspeed"):
        patches.use_gloo_in_deepspeed()
    if importlib.util.find_spec("vllm"):
        patches.keep_weights_of_linear_layers()
    for run in sys.argv[2:]:
        train(Path(sys.argv[1]), run)
        print("ran", run, flush=True)
    sys.stdout.flush()
    os._exit(0)  # gloo threads that still run while Python shuts down can abort it


if __name__ == "__main__":
    main()
