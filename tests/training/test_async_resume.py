"""A run of TRL's asynchronous trainer that was killed continues with what it knew of its prompts."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest
from transformers import TrainerCallback

from helpers.async_training import NoTransfer, read_numbers, run_completion_server, use_cpu
from helpers.processes import build_environment, find_free_port
from trl_grpo_rewards import boxed, demo
from trl_grpo_rewards.training.drawing import SelectiveStream


GROUP, SIZE = 4, 32


def main(folder: str, url: str, mode: str) -> None:
    """Train for 12 steps, with a checkpoint after 8. With `wait`, wait after 9 steps to be killed."""
    from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer

    from trl_grpo_rewards.training.async_grpo import drop_dead_groups

    class Wait(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            if mode == "wait" and state.global_step == 9:
                Path(folder, "killed here").touch()
                time.sleep(600)

    use_cpu()
    args = AsyncGRPOConfig(
        folder, use_cpu=True, bf16=False, dtype="float32", gradient_checkpointing=False, num_generations=GROUP,
        per_device_train_batch_size=8 // int(os.environ.get("WORLD_SIZE", "1")), gradient_accumulation_steps=1,
        token_budget=0, max_steps=12, save_strategy="steps", save_steps=8, report_to="none", disable_tqdm=True,
        vllm_server_base_url=url, max_inflight_tasks=2 * GROUP, queue_maxsize=2 * GROUP, max_staleness=100,
    )  # fmt: skip
    trainer = AsyncGRPOTrainer(
        demo.MODEL, reward_funcs=boxed(), args=args, train_dataset=demo.arithmetic("train", size=SIZE),
        weight_transfer=NoTransfer(), callbacks=[Wait()],
    )  # fmt: skip
    drop_dead_groups(trainer, selective=True)
    trainer.train(resume_from_checkpoint=mode == "resume")


def launch(ranks: int, folder: Path, url: str, mode: str) -> list[subprocess.Popen]:
    """Start `main` on each rank, in a session of its own: TRL's worker would outlive a killed trainer."""
    world = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(find_free_port())}
    environments = [
        {**world, "RANK": str(rank), "LOCAL_RANK": str(rank)} if ranks > 1 else {} for rank in range(ranks)
    ]
    with (folder / f"{mode}.txt").open("w") as log:
        return [
            subprocess.Popen(
                [sys.executable, __file__, str(folder), url, mode],
                env=build_environment(TRL_EXPERIMENTAL_SILENCE="1", **environment),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            for environment in environments
        ]


def kill(processes: list[subprocess.Popen]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_killed_run_continues_with_what_it_knew_of_its_prompts(ranks, tmp_path):
    """A resumed run asks for the prompts that the stream in the checkpoint draws. Even first numbers give dead groups."""
    prompts = [read_numbers(prompt[-1]["content"]) for prompt in demo.arithmetic("train", size=SIZE)["prompt"]]
    asked, turns = [], defaultdict(itertools.count)

    def complete(a, b):
        asked.append(prompts.index((a, b)))
        return f"\\boxed{{{a + b if a % 2 == 0 or next(turns[a, b]) % 2 else 0}}}"

    with run_completion_server(complete) as server:
        run = launch(ranks, tmp_path, server.url, "wait")
        end = time.monotonic() + 240
        while not (tmp_path / "killed here").exists() and run[0].poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        kill(run)
        assert (tmp_path / "killed here").exists(), (tmp_path / "wait.txt").read_text()
        asked.clear()
        run = launch(ranks, tmp_path, server.url, "resume")
        try:
            assert [process.wait(timeout=240) for process in run] == [0] * ranks, (tmp_path / "resume.txt").read_text()
        finally:
            kill(run)
    stream = SelectiveStream(SIZE, 0, shuffle=False, group=GROUP)
    stream.load(tmp_path / "checkpoint-8")
    assert {*asked[:GROUP]} <= {*stream.draw(2)}  # two groups are in flight at once
    assert sum(prompts[row][0] % 2 == 0 for row in asked) / len(asked) < 0.3  # half of them, if nothing is known


if __name__ == "__main__":
    main(*sys.argv[1:])
