"""A run of TRL's asynchronous trainer against a vLLM server: `python asynchronous.py FOLDER URL live|dead`.

With `live`, every second problem gives a dead group; with `dead`, every problem does. The script writes the metrics to
FOLDER/log.json, and a line for each scored group to FOLDER/scored.jsonl.
"""

import faulthandler
import json
import os
import sys
from pathlib import Path

import patches
import requests
import torch
from datasets import Dataset
from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer

from trl_grpo_rewards import demo
from trl_grpo_rewards.training.async_grpo import drop_dead_groups


def scores(prompts, completions, alive, **kwargs):
    """Score dead groups with 2.0 and live groups with different scores below 1. TRL's worker calls this per group."""
    with Path(os.environ["SCORED"]).open("a") as file:
        print(json.dumps(alive), file=file)
    return [0.25 * (index % 4) if live else 2.0 for index, live in enumerate(alive)]


def main(folder: Path, url: str, kind: str) -> None:
    faulthandler.dump_traceback_later(float(os.environ["ENGINE_TEST_DUMP_AFTER"]), exit=True)
    torch.set_num_threads(1)
    patches.run_asynchronous_trainer_on_cpu()
    os.environ["SCORED"] = str(folder / "scored.jsonl")
    rows = demo.arithmetic("train", size=64).to_list()
    alive = [kind == "live" and bool(index % 2) for index in range(64)]
    transfer = patches.FolderTransfer(url, str(folder))
    served = requests.get(f"{url}/v1/models", timeout=60).json()["data"][0]["id"]  # a path, as the server spells it
    args = AsyncGRPOConfig(
        str(folder / "run"),
        use_cpu=True,
        bf16=False,
        dtype="float32",
        gradient_checkpointing=False,
        num_generations=4,
        per_device_train_batch_size=16,
        gradient_accumulation_steps=1,
        max_completion_length=32,
        max_steps=4,
        learning_rate=1e-3,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        seed=3,
        vllm_server_base_url=url,
        weight_sync_steps=1,
        max_inflight_tasks=16,
    )
    trainer = AsyncGRPOTrainer(
        served,
        reward_funcs=scores,
        args=args,
        train_dataset=Dataset.from_list([{**row, "alive": live} for row, live in zip(rows, alive, strict=True)]),
        weight_transfer=transfer,
    )
    drop_dead_groups(trainer, patience=16)
    trainer.train()
    (folder / "log.json").write_text(json.dumps({"history": trainer.state.log_history, "sent": transfer.sent}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
