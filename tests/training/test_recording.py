"""What a run writes: records of all ranks, on disks that are slow, full or gone; its log; and what it knows about itself."""

import datetime
import itertools
import json
import math
from pathlib import Path

import pytest
import torch
from transformers import TrainerCallback, TrainerState

from helpers.ranks import run_on_forked_ranks
from helpers.reward_functions import all_dead
from helpers.runs import train_and_read
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, parse, reward, tags
from trl_grpo_rewards.files import find_last_checkpoint
from trl_grpo_rewards.records.dead_groups import Rule
from trl_grpo_rewards.records.fields import Completion
from trl_grpo_rewards.records.files import read_records
from trl_grpo_rewards.records.runs import read_log, read_run
from trl_grpo_rewards.report import write_report
from trl_grpo_rewards.training import recording
from trl_grpo_rewards.training.groups import Generation, ScoredGroups
from trl_grpo_rewards.training.recording import Recorder, describe_dataset, gather_fields, hide_secrets


RECORD = {"rewards": {"boxed": [1.0]}, "columns": {}, "prompt_id": "a"}
"""What every record has."""


@pytest.fixture
def recorder(config):
    return Recorder(config())


def sample() -> Generation:
    """A generation with two completions of each prompt."""
    completions = [
        Completion({"prompt": one, "solution": 2 * one}, one, f"text {place}", [5, place, 1], {"lengths": 3}, {})
        for place, one in enumerate("aabb")
    ]
    rewards = torch.tensor([[1.0, 0.5], [0.0, math.nan]]).repeat(2, 1).view(-1, 2, 2)
    rule = Rule("boxed", "each", 0.25, "row")
    groups = ScoredGroups(rewards, ["boxed", "tags"], torch.tensor([1.0, 0.5]), rule, torch.arange(4).view(-1, 2))
    return Generation(completions, groups, 0)


def record(recorder: Recorder, generation: Generation) -> list[dict]:
    recorder.record(1, generation, [9.0] + [0.25, -0.25] * len(generation.groups.live))  # the log begins earlier
    return [*read_records(recorder.args.output_dir)]


def test_the_record_of_a_group_says_what_was_sampled_and_how_it_was_scored(recorder):
    first, last = record(recorder, sample())
    assert first["prompt"] == "a" and last["prompt"] == "b" and last["completions"] == ["text 2", "text 3"]
    assert [one["columns"] for one in (first, last)] == [{"solution": "aa"}, {"solution": "bb"}]
    assert last["rewards"] == {"boxed": [1.0, 0.0], "tags": [0.5, None]} and last["total"] == [1.25, 0.0]
    assert last["advantages"] == [0.25, -0.25] and last["completion_ids"] == [[5, 2, 1], [5, 3, 1]]
    assert last["outcome"] == "live" and last["weights"] == {"boxed": 1.0, "tags": 0.5} and last["duplicates"] == 0
    assert [last[name] for name in Rule._fields] == ["boxed", "each", 0.25, "row"]
    assert last["mean"] == 0.625 and last["spread"] == 1.25


def test_a_record_that_cannot_be_made_is_logged_once_and_costs_those_of_its_generation(recorder, caplog):
    def fail(_):
        raise ZeroDivisionError("in the second record")

    odd = [
        lambda: itertools.chain([RECORD], map(fail, "a")),
        lambda: [RECORD | {"columns": object()}],
        lambda: [RECORD],
    ]
    for step, make in enumerate(odd * 2, 1):
        recorder.writer.write(step, make())
    first, second = caplog.records
    assert "ZeroDivisionError" in first.message and "TypeError" in second.message
    assert [(one["step"], one["group"]) for one in read_records(recorder.args.output_dir)] == [(3, 0), (6, 0)]


class Hostile:
    def __getattribute__(self, name):
        raise RuntimeError(name)

    __repr__ = __str__ = __eq__ = __reduce_ex__ = __getattribute__


def make_odd() -> list:
    deep, cycle = {}, []
    for _ in range(5_000):
        deep = {"a": [deep]}
    cycle.append(cycle)
    return [
        deep, cycle, {(1, 2): 3}, "\ud800", "\ud83d\ude00", 10**10_000, float("nan"), float("inf"), b"\xff",
        datetime.date(2026, 1, 1), Hostile(), {1, 2}, object(), lambda: 1,
    ]  # fmt: skip


def test_training_goes_on_whatever_completions_columns_and_rewards_hold(config, problems, monkeypatch):
    odd = make_odd()

    class Odd(FilteredGRPOTrainer):
        def _generate_and_score_completions(self, inputs):
            inputs = [{**row, "odd": odd[place % len(odd)]} for place, row in enumerate(inputs)]
            return super()._generate_and_score_completions(inputs)

    def log_odd(completions, log_extra, **kwargs):
        log_extra("odd", [odd[place % len(odd)] for place in range(len(completions))])
        return [float(place) for place in range(len(completions))]

    describe = recording.describe_completions

    def describe_odd(completions, *args):
        calls = [[{"role": "assistant", "content": "a", "tool_calls": one}] for one in odd]
        return describe(
            [one._replace(content=content) for one, content in zip(completions, calls, strict=True)], *args
        )

    monkeypatch.setattr(recording, "describe_completions", describe_odd)
    size = len(odd)
    args = config(max_steps=2, per_device_train_batch_size=size, num_generations=size, gradient_accumulation_steps=1)
    trainer = Odd(demo.MODEL, [log_odd], args=args, train_dataset=problems)
    trainer.train()
    records = list(read_records(args.output_dir))
    assert [record["step"] for record in records] == [1, 2] and trainer.state.global_step == 2
    assert records[0]["logged"]["odd"][2:] == records[1]["logged"]["odd"][2:]
    assert records[0]["logged"]["odd"][2:6] == [{"[1, 2]": 3}, "\\ud800", "\\ud83d\\ude00", "<int>"]
    assert [one[0]["tool_calls"] for one in records[0]["completions"]][6:11] == [
        "NaN", "Infinity", "<bytes>", "<date>", "<Hostile>",
    ]  # fmt: skip


@pytest.mark.parametrize("failing", [0, 1])
def test_a_rank_that_cannot_describe_its_rows_costs_the_records_of_all(failing):
    assert run_on_forked_ranks(lambda rank: gather_fields(None if rank == failing else [])) == [None, []]


# --- the log


def test_the_file_grows_to_the_entries_of_the_trainer_and_earlier_evaluations(config, problems):
    class Look(TrainerCallback):
        seen: list[int] = []

        def on_step_begin(self, args, state, control, **kwargs):
            self.seen.append(len(read_log(args.output_dir)))

    args = config(max_steps=2, eval_strategy="steps", eval_steps=1)
    data = {"train_dataset": problems, "eval_dataset": problems.select(range(2))}
    trainer = FilteredGRPOTrainer(demo.MODEL, boxed(), args=args, callbacks=[Look()], **data)
    trainer.evaluate()
    trainer.train()
    log = read_log(args.output_dir)
    assert [entry["step"] for entry in log] == [0, 1, 1, 2, 2, 2] and Look.seen == [1, 3]
    assert log[1:] == trainer.state.log_history
    assert "eval_reward" in log[0] and log[1]["entropy"] > 0 and "train_runtime" in log[-1]


@pytest.mark.slow
def test_a_run_that_resumes_keeps_the_entries_up_to_its_checkpoint(config, problems, tmp_path):
    options = {"output_dir": str(tmp_path / "out"), "save_strategy": "steps", "save_steps": 2}
    train_and_read(config, problems, boxed(), max_steps=3, **options)
    args = config(max_steps=4, **options)
    trainer = FilteredGRPOTrainer(demo.MODEL, boxed(), args=args, train_dataset=problems)
    trainer.train(resume_from_checkpoint=str(tmp_path / "out" / "checkpoint-2"))
    assert [entry["step"] for entry in read_log(tmp_path / "out")] == [1, 2, 3, 4, 4]
    assert find_last_checkpoint(tmp_path / "out").endswith("checkpoint-4")


def test_other_ranks_write_nothing(config):
    args = config()
    recorder = Recorder(args)
    state = TrainerState(global_step=1, log_history=[{"step": 1}], is_world_process_zero=False)
    recorder.on_log(args, state, None)
    recorder.on_train_begin(args, state, None)
    recorder.on_log(args, state, None)
    assert recorder.early == [] and not Path(args.output_dir).exists()


# --- the description


@reward
def curt(completion: str, *, most: int = 9) -> float:
    return float(len(completion) <= most)


def test_a_run_can_be_told_from_its_folder(config, problems):
    rewards = boxed(evaluated=True, name="accuracy") + 0.5 * tags("think") - 0.1 * curt(most=7)
    args = config(learning_rate=1e-4, hub_token="secret", save_strategy="steps", save_steps=1)
    held_out = problems.select(range(8))
    trainer = FilteredGRPOTrainer(demo.MODEL, rewards, args=args, train_dataset=problems, eval_dataset=held_out)
    assert not Path(args.output_dir, "run.json").exists()  # written when training begins
    trainer.train()
    run = read_run(args.output_dir)
    assert parse(run["rewards"]) == rewards and run["is_expression"]
    assert run["modules"] == [__name__] and run["model"] == demo.MODEL
    assert run["dataset"]["name"] == "trl_grpo_rewards.demo.arithmetic" and run["dataset"]["rows"] == 64
    assert run["held_out"] == {"": 8}
    assert run["options"]["learning_rate"] == 1e-4 and run["options"]["zero_variance"] == "auto"
    assert run["versions"].keys() >= {"trl_grpo_rewards", "trl", "torch"} and run["first_step"] == 1
    assert "secret" not in Path(args.output_dir, "run.json").read_text()
    page = write_report(args.output_dir, Path(args.output_dir, "report.html")).read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    facts = dict(data["runs"][0]["facts"])
    assert facts["Rewards"] == str(rewards) and facts["Model"] == demo.MODEL


def test_functions_that_are_not_ours_are_told_by_name(config, problems):
    args = config(reward_weights=[1.0, 0.5])
    trainer = FilteredGRPOTrainer(demo.MODEL, [boxed(), all_dead], args=args, train_dataset=problems)
    assert trainer.run["rewards"] == "1 * boxed + 0.5 * all_dead" and not trainer.run["is_expression"]


def test_a_dataset_tells_what_it_knows():
    assert describe_dataset(None) is None
    assert describe_dataset(iter(()))["rows"] is None


def test_secrets_in_nested_options_are_hidden():
    options = {
        "token": "hf_1",
        "dtype": "auto",
        "device_map": {"": 0},
        "more": [{"API_KEY": "sk", "key": None, "n": 1}],
    }
    assert hide_secrets(options) == {
        "token": "<TOKEN>", "dtype": "auto", "device_map": {"": 0}, "more": [{"API_KEY": "<API_KEY>", "key": None, "n": 1}]
    }  # fmt: skip
