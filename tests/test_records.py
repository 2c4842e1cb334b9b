"""Group records: what a run writes, and what is read of it, whatever became of the run."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import datasets
import pytest
from conftest import small_config
from test_gradient import first_summand, form
from transformers import TrainerCallback

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, boxed, demo, length, records
from trl_grpo_rewards.calls import completion_text
from trl_grpo_rewards.loading import last_checkpoint
from trl_grpo_rewards.records import read_records


def lengths_of_some(prompts, completions, **kwargs):
    """Problems with an even first summand are dead."""
    return [
        0.7 if first_summand(prompt) % 2 == 0 else form(completion) + 0.01 * (index % 4)
        for index, (prompt, completion) in enumerate(zip(prompts, completions, strict=True))
    ]


def trained(config, problems, rewards, **options):
    trainer = FilteredGRPOTrainer(demo.MODEL, rewards, args=config(**options), train_dataset=problems)
    trainer.train()
    return trainer, list(read_records(trainer.args.output_dir))


def test_a_record_says_what_its_group_was(config, problems):
    options = {"max_steps": 3, "log_completions": True}
    trainer, lines = trained(config, problems, [lengths_of_some, boxed()], **options)
    assert [(line["run"], line["step"], line["group"]) for line in lines] == [
        (1, s, g) for s in (1, 2, 3) for g in (0, 1)
    ]
    history = [entry for entry in trainer.state.log_history if "groups/dead" in entry]
    for step, entry in enumerate(history, start=1):
        mine = [line for line in lines if line["step"] == step]
        assert sum(line["outcome"] != "live" for line in mine) / 2 == entry["groups/dead"]
        assert sum(line["spread"] for line in mine) / 2 == pytest.approx(entry["groups/spread"])
        assert sum(line["duplicates"] for line in mine) / 8 == entry["groups/duplicates"]
        assert sum(sum(line["lengths"]) for line in mine) / 8 == entry["completions/mean_length"]
        assert sum(sum(line["truncated"]) for line in mine) / 8 == entry["completions/clipped_ratio"]
        assert sum(sum(line["rewards"]["boxed"]) for line in mine) / 8 == entry["rewards/boxed/mean"]
    last = [line for line in lines if line["step"] == 3]
    asked = [line["prompt"][-1]["content"] for line in last for _ in range(4)]
    assert all(text in str(logged) for text, logged in zip(asked, trainer._logs["prompt"], strict=True))
    told = [completion_text(one) for line in last for one in line["completions"]]  # TRL 1.14 logs text
    assert told == [completion_text(logged) for logged in trainer._logs["completion"]]
    assert [value for line in last for value in line["advantages"]] == list(trainer._logs["advantages"])
    for line in lines:
        assert line["columns"] == {"solution": str(sum(map(int, line["prompt"][-1]["content"][8:-1].split(" + "))))}
        assert line["outcome_reward"] == "lengths_of_some"
        assert line["weights"] == {"lengths_of_some": 1.0, "boxed": 1.0} and [*line["rewards"]] == [*line["weights"]]
        decoded = trainer.processing_class.batch_decode(line["completion_ids"], skip_special_tokens=True)
        assert decoded == [completion[0]["content"] for completion in line["completions"]]
        assert line["total"] == pytest.approx([sum(row) for row in zip(*line["rewards"].values(), strict=True)])
        assert line["mean"] == pytest.approx(sum(line["total"]) / 4)
        assert (line["outcome"] == "live") == any(line["advantages"]) == (line["spread"] > 1e-6)
    again = trained(config, problems, [lengths_of_some, boxed()], max_steps=1)[1]
    assert [line["prompt_id"] for line in again] == [line["prompt_id"] for line in lines[:2]]


def test_records_are_a_dataset(config, problems, tmp_path):
    trainer, lines = trained(config, problems, boxed() + 0.1 * length(8), max_steps=2)
    files = f"{trainer.args.output_dir}/groups/*.jsonl"
    loaded = datasets.load_dataset("json", data_files=files, split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded["step"] == [1, 1, 2, 2] and loaded[0]["rewards"] == lines[0]["rewards"]
    assert loaded[0]["weights"] == pytest.approx({"boxed": 1.0, "length": 0.1})


def test_records_without_text_and_no_records(config, problems):
    _, lines = trained(config, problems, boxed(), group_records_text=False)
    assert len(lines) == 2 and not {"prompt", "completions"} & {*lines[0]} and lines[0]["completion_ids"]
    trainer = FilteredGRPOTrainer(demo.MODEL, boxed(), args=config(group_records=False), train_dataset=problems)
    trainer.train()
    assert not Path(trainer.args.output_dir, "groups").exists()
    with pytest.raises(FileNotFoundError, match="There are no group records in .* Name the output_dir of a run"):
        list(read_records(trainer.args.output_dir))


def test_records_hold_every_round_and_every_generation_of_a_step(config, problems):
    options = {"zero_variance": "drop", "max_resample_rounds": 20, "max_steps": 2}
    trainer, lines = trained(config, problems, [lengths_of_some], **options)
    for step in (1, 2):
        mine = [line for line in lines if line["step"] == step]
        assert [line["group"] for line in mine] == list(range(len(mine)))
        assert sum(line["outcome"] == "live" for line in mine) >= 2
    assert len(lines) == 4 + trainer._prompts.taken
    _, lines = trained(config, problems, boxed(), gradient_accumulation_steps=4, steps_per_generation=2)
    assert [(line["step"], line["group"]) for line in lines] == [(1, group) for group in range(8)]


def test_records_leave_out_what_json_cannot_hold(config, problems):
    data = problems.map(lambda row, index: {"asked": datetime(2026, 1, 1), "index": index}, with_indices=True)
    _, lines = trained(config, data, boxed())
    assert all({*line["columns"]} == {"solution", "index"} for line in lines)


def test_records_are_rotated_and_read_in_order(config, problems, monkeypatch):
    monkeypatch.setattr(records, "PART", 1)
    trainer, lines = trained(config, problems, boxed(), max_steps=3)
    files = sorted(Path(trainer.args.output_dir, "groups").iterdir())
    assert [file.name for file in files] == ["0001-0001.jsonl", "0001-0002.jsonl", "0001-0003.jsonl"]
    assert [line["step"] for line in lines] == [1, 1, 2, 2, 3, 3]
    assert list(read_records(files[1])) == lines[2:4] and list(read_records(files[0].parent)) == lines


def test_of_a_step_that_was_run_twice_the_last_attempt_is_read(config, problems, caplog):
    options = {"max_steps": 4, "save_strategy": "steps", "save_steps": 2}
    trainer, first = trained(config, problems, boxed(), **options)
    folder = Path(trainer.args.output_dir, "groups")
    text = (folder / "0001-0001.jsonl").read_text()
    (folder / "0001-0001.jsonl").write_text(text[:-100])  # as if it had been killed while writing
    again = FilteredGRPOTrainer(demo.MODEL, boxed(), args=trainer.args, train_dataset=problems)
    again.train(resume_from_checkpoint=f"{trainer.args.output_dir}/checkpoint-2")
    lines = list(read_records(trainer.args.output_dir))
    assert [(line["run"], line["step"]) for line in lines] == [
        (1, 1),
        (1, 1),
        (1, 2),
        (1, 2),
        (2, 3),
        (2, 3),
        (2, 4),
        (2, 4),
    ]
    assert [line["completions"] for line in lines] == [line["completions"] for line in first]
    assert "1 line(s) of" in caplog.text


def test_trackers_get_what_the_groups_were(config, problems):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    trainer, _ = trained(config, problems, boxed(), max_steps=2, report_to="tensorboard")
    events = EventAccumulator(str(next(Path(trainer.args.output_dir).rglob("events.out.*")).parent)).Reload()
    history = [entry for entry in trainer.state.log_history if "groups/dead" in entry]
    for name in ("groups/dead", "groups/spread", "groups/signal/boxed"):
        logged = [event.value for event in events.Scalars(f"train/{name}")]
        assert logged == pytest.approx([entry[name] for entry in history if name in entry])


def endless_run(folder: Path) -> None:
    args = small_config(
        folder, FilteredGRPOConfig, output_dir=str(folder), max_steps=10_000, save_strategy="steps", save_steps=5,
        save_total_limit=2, per_device_train_batch_size=16,
    )  # fmt: skip

    class Done(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            with (folder / "done").open("a") as file:
                file.write(f"{state.global_step}\n")

    data = demo.arithmetic("train", size=64)
    trainer = FilteredGRPOTrainer(demo.MODEL, boxed(), args=args, train_dataset=data, callbacks=[Done()])
    trainer.train(resume_from_checkpoint=last_checkpoint(folder))


def steps_done(folder: Path) -> list[int]:
    return [int(step) for step in (folder / "done").read_text().split()] if (folder / "done").exists() else []


def main(folder: Path, kills: int) -> None:
    """A run that is killed and goes on, again and again; what was read after each time."""
    rng, seen = random.Random(0), []
    for _ in range(kills):
        before = len(steps_done(folder))
        run = os.fork()  # what was imported need not be imported again
        if run == 0:
            endless_run(folder)
        while len(steps_done(folder)) < before + rng.randrange(1, 9):
            assert os.waitpid(run, os.WNOHANG) == (0, 0)
            time.sleep(0.01)
        time.sleep(0.3 * rng.random())
        os.kill(run, signal.SIGKILL)
        os.waitpid(run, 0)
        lines = list(read_records(folder))
        seen.append({"done": steps_done(folder), "places": [(line["step"], line["group"]) for line in lines]})
    (folder / "seen").write_text(json.dumps(seen))


@pytest.mark.slow
def test_records_of_finished_steps_outlive_kills(tmp_path):
    """Killed at 20 random moments and resumed: no finished step is missing, none is read twice."""
    run = subprocess.run([sys.executable, __file__, str(tmp_path), "20"], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-4000:]
    seen = json.loads((tmp_path / "seen").read_text())
    assert len(seen) == 20 and len(list((tmp_path / "groups").iterdir())) > 10
    for one in seen:
        places = {tuple(place) for place in one["places"]}
        assert len(places) == len(one["places"])
        assert {(step, group) for step in one["done"] for group in range(4)} <= places
        assert max(step for step, _ in places) <= max(one["done"]) + 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
