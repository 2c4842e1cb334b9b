"""The trainer's log, written while the run goes on."""

import pytest
from transformers import TrainerCallback

from helpers.runs import train_and_read
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo
from trl_grpo_rewards.files import find_last_checkpoint
from trl_grpo_rewards.records.logs import read_log
from trl_grpo_rewards.training.run_log import RunLog


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
    class State:
        is_world_process_zero, global_step, log_history = False, 1, [{"step": 1}]

    args = config()
    log = RunLog()
    log.on_log(args, State(), None)
    log.on_train_begin(args, State(), None)
    log.on_log(args, State(), None)
    assert log.early == [] and read_log(args.output_dir) == []
