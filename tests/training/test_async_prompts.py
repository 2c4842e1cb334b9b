"""A run of TRL's asynchronous trainer that was killed continues with what it knew of its prompts, and where it was."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from transformers import TrainerCallback

from helpers.async_training import NoTransfer, read_numbers, run_completion_server, use_cpu
from helpers.processes import build_environment, find_free_port
from trl_grpo_rewards import boxed, demo
from trl_grpo_rewards.errors import CheckpointMismatch
from trl_grpo_rewards.training.async_prompts import KeptStream, Lesson
from trl_grpo_rewards.training.drawing import SelectiveStream


GROUP, SIZE = 4, 32


def make_stream(size=SIZE):
    return SelectiveStream(size, 0, shuffle=False, group=GROUP)


def make_kept(size=SIZE, start=0):
    """A stream kept by a trainer whose own state is not saved."""
    trainer = SimpleNamespace(
        _trained_groups=set(), _save_rng_state=lambda folder: None, _load_optimizer_and_scheduler=lambda folder: None,
        rollout_worker=SimpleNamespace(_loop_kwargs={"dataset_start_index": start}),
    )  # fmt: skip
    return trainer, KeptStream(trainer, make_stream(size))


def draw_and_learn(stream, groups, rng):
    """What the worker does: draw a prompt for each group, and report it once it is scored."""
    for group in groups:
        start = stream.position
        (row,) = stream.draw(1)
        right = int(rng.integers(GROUP + 1)) if row % 3 == 0 else GROUP
        yield group, Lesson(row, start, stream.position, right, GROUP)
        stream.learn([row], [right], [GROUP])


@pytest.mark.parametrize("untrained", [100, 57, 0])
def test_a_checkpoint_has_every_lesson_and_the_place_of_the_first_untrained_group(untrained, tmp_path):
    worker, (trainer, kept) = make_stream(), make_kept()
    lessons = dict(draw_and_learn(worker, range(100), np.random.default_rng(0)))
    for group, lesson in lessons.items():
        kept.learn(group, lesson)
    trainer._trained_groups |= {*range(100)} - {untrained}
    trainer._save_rng_state(str(tmp_path))
    resumed, loaded = make_kept(start=100)
    resumed._load_optimizer_and_scheduler(str(tmp_path))
    expected, got = worker.get_state(), loaded.stream.get_state()
    assert expected.pop("position") == worker.position > 2 * 100  # many prompts were skipped
    assert got.pop("position") == (lessons[untrained].start if untrained < 100 else worker.position)
    assert all(np.array_equal(expected[name], got[name]) for name in expected)
    if untrained == 100:
        assert loaded.stream.draw(50) == worker.draw(50)


def test_a_checkpoint_of_other_prompts_is_refused_and_one_without_them_is_not(tmp_path):
    trainer, kept = make_kept(start=7)
    trainer._load_optimizer_and_scheduler(None)
    assert kept.stream.position == 0
    trainer._load_optimizer_and_scheduler(str(tmp_path))  # written by a run that was not selective
    assert kept.stream.position == 7
    trainer._save_rng_state(str(tmp_path))
    with pytest.raises(CheckpointMismatch, match="resumed with the 32 prompts .* the dataset has 33"):
        make_kept(size=33)[0]._load_optimizer_and_scheduler(str(tmp_path))


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
        per_device_train_batch_size=4, gradient_accumulation_steps=1,
        token_budget=0, max_steps=12, save_strategy="steps", save_steps=8, report_to="none", disable_tqdm=True,
        vllm_server_base_url=url, max_inflight_tasks=2 * GROUP, queue_maxsize=2 * GROUP, max_staleness=100,
    )  # fmt: skip
    trainer = AsyncGRPOTrainer(
        demo.MODEL, reward_funcs=boxed(), args=args, train_dataset=demo.arithmetic("train", size=SIZE),
        weight_transfer=NoTransfer(), callbacks=[Wait()],
    )  # fmt: skip
    drop_dead_groups(trainer, selective=True)
    trainer.train(resume_from_checkpoint=mode == "resume")


def launch(folder: Path, url: str, mode: str) -> list[subprocess.Popen]:
    """Start `main` on two ranks, each in a session of its own: TRL's worker would outlive a killed trainer."""
    world = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(find_free_port())}
    environments = [{**world, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(2)]
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
def test_a_killed_run_continues_with_what_it_knew_of_its_prompts_on_two_ranks(tmp_path):
    """A resumed run asks for the prompts that the stream in the checkpoint draws. Even first numbers give dead groups."""
    prompts = [read_numbers(prompt[-1]["content"]) for prompt in demo.arithmetic("train", size=SIZE)["prompt"]]
    asked, turns = [], defaultdict(itertools.count)

    def complete(a, b):
        asked.append(prompts.index((a, b)))
        return f"\\boxed{{{a + b if a % 2 == 0 or next(turns[a, b]) % 2 else 0}}}"

    with run_completion_server(complete) as server:
        run = launch(tmp_path, server.url, "wait")
        end = time.monotonic() + 240
        while not (tmp_path / "killed here").exists() and run[0].poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        kill(run)
        assert (tmp_path / "killed here").exists(), (tmp_path / "wait.txt").read_text()
        asked.clear()
        run = launch(tmp_path, server.url, "resume")
        try:
            assert [process.wait(timeout=240) for process in run] == [0, 0], (tmp_path / "resume.txt").read_text()
        finally:
            kill(run)
    stream = make_stream()
    stream.load(tmp_path / "checkpoint-8")
    first = stream.draw(2)  # two groups are in flight at once
    assert asked[0] in first and all(asked.count(row) >= GROUP for row in first)
    assert sum(prompts[row][0] % 2 == 0 for row in asked) / len(asked) < 0.3  # half of them, if nothing is known


if __name__ == "__main__":
    main(*sys.argv[1:])
