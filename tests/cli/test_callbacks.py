"""What a run has changed, as the command shows it."""

import re
from math import nan
from types import SimpleNamespace

import pytest
from pandas import DataFrame

from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, tags
from trl_grpo_rewards.cli.train import BeforeAndAfter, evaluate_model


@pytest.mark.parametrize("begun, first", [(0, "before"), (6, "step 6")])
def test_the_report_compares_the_end_with_the_beginning(begun, first):
    callback = BeforeAndAfter(SimpleNamespace(state=SimpleNamespace(global_step=7)))
    callback.first_step, callback.seconds = begun, 0.4
    same = {"tags": [0.5, 0.5], "dead groups": [0.0, 1.0], "reward": [1.0, nan], "none": [nan, nan]}
    callback.before, callback.after = (
        (DataFrame({"boxed": [accuracy, 2 * accuracy], **same}), {"2 + 2?": text, "3 + 3?": "6"})
        for accuracy, text in ((0.25, "4"), (0.75, "four"))
    )
    shown = callback.report(examples=1)
    rows = {line[:17].strip(): line[17:].split() for line in shown.splitlines() if line[17:].strip()}
    assert rows["boxed"] == ["0.375", "1.125", "+0.750", "±", "0.490"]  # 1.96 standard errors of 0.5 and 1
    assert rows["tags"] == ["0.500", "0.500", "+0.000", "±", "0.000"]
    assert rows["reward"] == ["1.000", "1.000"] and "none" not in rows  # one prompt says nothing
    assert rows["dead groups"] == ["0.500", "0.500"]  # shares of groups, not scores
    assert shown.startswith("Trained to step 7 in 0 s.") and "3 + 3?" not in shown
    assert shown.endswith(f"2 + 2?\n  {first}: 4\n  after:  four")
    assert re.search(f"^held-out problems +{first} +after", shown, re.MULTILINE)


def test_a_run_without_a_step_left_claims_no_change():
    trainer = SimpleNamespace(state=SimpleNamespace(global_step=6, max_steps=6), evaluate=None)  # which is not called
    callback = BeforeAndAfter(trainer)
    callback.first_step, callback.start = 6, 0.0
    callback.before = DataFrame({"boxed": [0.0, 1.0], "none": [nan, nan]}), {"2 + 2?": "4"}
    callback.on_train_end(SimpleNamespace(enable_jit_checkpoint=False), trainer.state)
    shown = callback.report().splitlines()
    assert shown[0] == "No step was left to train: the run had ended at step 6."
    assert [line.split() for line in shown[2:]] == [["held-out", "problems", "step", "6"], ["boxed", "0.500"]]


def test_prompts_are_paired_over_all_batches_of_an_evaluation(tmp_path):
    args = small_config(tmp_path, per_device_eval_batch_size=8, max_completion_length=4)
    problems = demo.arithmetic("test", size=6)
    trainer = FilteredGRPOTrainer(
        demo.MODEL, boxed() + tags("think"), args=args, train_dataset=problems, eval_dataset=problems
    )
    (means, texts), (_, other) = evaluate_model(trainer), evaluate_model(trainer)
    assert means.shape == (6, 4) and [*texts] == [*other]  # the same order
    assert means["reward"].tolist() == pytest.approx((means["boxed"] + means["tags"]).tolist())
    assert {*means["dead groups"]} <= {0.0, 1.0}
