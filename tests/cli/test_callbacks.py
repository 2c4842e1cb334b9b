"""What a run has changed, as the scripts show it."""

import math
import re
from types import SimpleNamespace

import pytest
import torch

from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, tags
from trl_grpo_rewards.cli.callbacks import BeforeAndAfter, RewardProgress, describe_change, measure


ARGS = SimpleNamespace(enable_jit_checkpoint=False)


class Trainer:
    """What the callbacks ask of a trainer, with metrics of our choice."""

    reward_func_names = ["boxed", "tags"]
    state = SimpleNamespace(global_step=7, max_steps=7)

    def __init__(self, accuracy, dead=0.25, completions=("4", "5", "6")):
        self.metrics = {
            "eval_rewards/boxed/mean": accuracy,
            "eval_rewards/tags/mean": 0.5,
            "eval_reward": accuracy + 0.1,
            **({} if dead is None else {"eval_groups/dead": dead}),
        }
        prompts = [[{"role": "user", "content": text}] for text in ("2 + 2?", "2 + 2?", "3 + 3?")]
        answers = [[{"role": "assistant", "content": text}] for text in completions]
        self._logs = {"prompt": prompts, "completion": answers}

    def _score(self, boxed, tags):
        rewards = torch.tensor([boxed, tags]).T[None]
        return SimpleNamespace(rewards=rewards, totals=rewards.sum(2))

    def evaluate(self):
        accuracy = self.metrics["eval_rewards/boxed/mean"]
        self._score([accuracy] * 2, [0.0, 1.0])
        self._score([2 * accuracy, math.nan], [0.5, 0.5])
        return self.metrics


def test_a_measurement_has_a_row_of_each_reward_and_a_completion_of_each_prompt():
    measured = measure(Trainer(0.75))
    assert measured.rows == {"boxed": 0.75, "tags": 0.5, "reward": 0.85, "dead groups": 0.25}
    assert measured.completions == {"2 + 2?": "4", "3 + 3?": "6"}
    assert measured.means == {"boxed": [0.75, 1.5], "tags": [0.5, 0.5], "reward": [1.25, 2.0]}


@pytest.mark.parametrize(
    "dead, has_dead, begun, first, after",
    [
        (0.25, True, 0, "before", "after: "),
        (None, False, 0, "before", "after: "),
        (0.25, True, 6, "step 6", "after: "),
    ],
)
def test_the_report_compares_the_end_with_the_beginning(dead, has_dead, begun, first, after):
    trainer = Trainer(0.25, dead)
    callback = BeforeAndAfter(trainer)
    callback.on_train_begin(ARGS, SimpleNamespace(global_step=begun), None)
    trainer.metrics, trainer._logs = Trainer(0.75, dead).metrics, Trainer(0.75, dead, ("four", "5", "six"))._logs
    callback.on_train_end(ARGS, trainer.state, None)
    shown = callback.report(examples=1)
    rows = {line[:17].strip(): line[17:].split() for line in shown.splitlines() if line[17:].strip()}
    assert rows["boxed"] == ["0.250", "0.750", "+0.750", "±", "0.490"]
    assert rows["tags"] == ["0.500", "0.500", "+0.000", "±", "0.000"]
    assert rows["reward"][:2] == ["0.350", "0.850"] and ("dead groups" in rows) == has_dead
    assert shown.startswith("Trained to step 7 in 0 s.")
    assert shown.endswith(f"2 + 2?\n  {first}: 4\n  {after} four") and "3 + 3?" not in shown
    assert re.search(f"^held-out problems +{first} +after", shown, re.MULTILINE)


def test_a_change_has_an_interval_over_the_prompts_that_have_scores():
    before = [0.0, 1.0, 0.25, math.nan]
    assert describe_change(before, before) == "+0.000 ± 0.000"
    assert describe_change(before, [1.0, 1.0, math.nan, 1.0]) == "+0.500 ± 0.980"  # 1.96 standard errors of 0 and 1
    assert describe_change(before, [math.nan, 1.0, math.nan, 1.0]) == ""  # one prompt says nothing


def test_prompts_are_paired_over_all_batches_of_an_evaluation(tmp_path):
    args = small_config(tmp_path, per_device_eval_batch_size=8, max_completion_length=4)
    problems = demo.arithmetic("test", size=6)
    trainer = FilteredGRPOTrainer(
        demo.MODEL, boxed() + tags("think"), args=args, train_dataset=problems, eval_dataset=problems
    )
    first, second = measure(trainer), measure(trainer)
    assert {name: len(means) for name, means in first.means.items()} == {"boxed": 6, "tags": 6, "reward": 6}
    assert [*first.completions] == [*second.completions]  # the same order


def test_the_progress_bar_has_the_reward_and_the_share_of_dead_groups():
    seen = []
    progress = RewardProgress()
    progress.training_bar = SimpleNamespace(set_postfix=lambda **values: seen.append(values))
    for is_main, logs in [
        (True, {"reward": 0.5, "groups/dead": 0.125}),
        (True, {"loss": 1.0}),
        (False, {"reward": 1.0}),
    ]:
        progress.on_log(None, SimpleNamespace(is_world_process_zero=is_main), None, logs=logs)
    assert seen == [{"reward": "0.500", "dead": "0.12"}]
