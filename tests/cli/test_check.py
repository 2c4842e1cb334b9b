"""`trl-grpo-rewards check` as a user runs it."""

import json
import re

import pytest
from datasets import Dataset

from trl_grpo_rewards import demo
from trl_grpo_rewards.cli.job import describe_sizes


@pytest.mark.slow
def test_the_summary_and_the_details_say_the_same(command):
    gameable = ["--rewards", "boxed() + 0.2 * tags('think')"]
    shown, full = command("check", *gameable), command("check", *gameable, "--details")
    found = command("check", *gameable, "--json")
    assert shown.returncode == full.returncode == found.returncode == 1
    said = json.loads(found.stdout)
    (fault,) = said["faults"]
    assert (said["warnings"], said["expression"]) == ([], "boxed() + 0.2 * tags('think')")
    assert [fault] == [text for one in said["checks"] for text in one["faults"]]
    paid = next(one for one in said["attacks"] if one["name"] == "question restated")
    assert paid["paid"] == paid["tried"] > 0 and [one["name"] for one in said["dry_run"]] == ["boxed", "tags", "total"]
    assert f"fault: {fault}" in full.stdout and full.stdout.endswith("1 fault found.\n")
    assert f"fault: {fault}" in " ".join(shown.stdout.split())
    assert [line.split()[-2:] for line in shown.stdout.splitlines()].count(["0", "1"]) == 1
    assert shown.stdout.endswith("1 fault found. --details shows every finding.\n")
    fine = command("check", "--rewards", "boxed(evaluated=True)")
    assert fine.returncode == 0 and " ".join(fine.stdout.split()).endswith(
        "No fault found. A right completion earns 1, and the best worthless one ('nothing') 0. --details shows every finding."
    )


def test_a_broken_reward_is_a_fault_and_a_wrong_option_is_wrong_use(command, tmp_path):
    (tmp_path / "breaks.py").write_text(
        "print('imported')\n\ndef breaks(completions, **kwargs):\n    print('scored')\n    raise KeyError(completions[0])\n"
    )  # a function as TRL takes it
    run = command("check", "--import", "breaks", "--rewards", "boxed(evaluated=True) + breaks()", "--json")
    (fault,) = [text for one in json.loads(run.stdout)["checks"] for text in one["faults"]]
    assert run.returncode == 1 and "KeyError" in fault and "imported\nscored\n" in run.stderr
    assert json.loads(run.stdout)["attacks"] is json.loads(run.stdout)["dry_run"] is None
    (tmp_path / "breaks.py").rename(tmp_path / "breaks_again.py")  # a module is imported once
    shown = command("check", "--import", "breaks_again", "--rewards", "boxed(evaluated=True) + breaks()").stdout
    assert re.search(r"^attacks +0 +1\na dry run .* not run  not run$", shown, re.MULTILINE)
    wrong = command("check", "--rewards", "boxed(evaluated=1)", "--json")
    assert wrong.returncode == 2 and "evaluated" in wrong.stderr and wrong.stdout == ""


STRANGERS = """
class Orm:
    def __call__(self, completions, solution, **kwargs):
        return [float(one.endswith("#### " + right)) for one, right in zip(completions, solution)]

accuracy_orm = Orm()

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": float(solution_str.endswith("#### " + ground_truth))}

def rule_based_reward(prompt, response, ground_truth):
    return 1.0
"""


def test_objects_and_functions_of_verl_are_named_and_texts_stay_texts(command, tmp_path):
    (tmp_path / "strange.py").write_text(STRANGERS)
    rows = [
        {"prompt": f"{n} + 1? End with ####.", "solution": f"{n + 1}", "ground_truth": f"{n + 1}"} for n in range(30)
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    job = ["check", "--import", "strange", "--dataset_name", "rows.jsonl", "--rewards"]
    for rewards in ("accuracy_orm", "compute_score() + 0.5 * accuracy_orm"):
        found = json.loads(command(*job, rewards, "--json").stdout)
        assert not found["faults"] and found["dry_run"][-1]["right"] > 0
    become = "so prompts and completions become messages."
    assert become not in command(*job, "accuracy_orm").stdout
    assert become in " ".join(command(*job, "accuracy_orm", "--model_name_or_path", demo.MODEL).stdout.split())
    said = command(*job, "rule_based_reward()").stderr
    assert "rename 'response' to 'completion'" in said and "rule_based_reward(ground_truth='solution')" in said


def test_what_is_held_out_and_the_need_for_a_model_are_said(command, tmp_path):
    rows = [f'{{"prompt": "{n} + {n}?", "solution": "{2 * n}"}}\n' for n in range(19)]
    (tmp_path / "q.jsonl").write_text("".join(rows))
    batch = ["--per_device_train_batch_size", "8", "--gradient_accumulation_steps", "1"]
    given = ["check", "--dataset_name", "q.jsonl", "--rewards", "boxed(evaluated=True)", *batch]
    needed = "Set --model_name_or_path to check both. `train` needs it, too.\n"
    shown = command(*given).stdout
    assert "18 problems to train on; 1 is held out." in shown and needed in shown
    assert needed not in command(*given, "--model_name_or_path", demo.MODEL).stdout
    one, two = (Dataset.from_dict({"prompt": ["a"] * count}) for count in (1, 2))
    assert describe_sizes(one, None) == "1 problem to train on; none is held out."
    assert describe_sizes(two, two) == "2 problems to train on; 2 are held out."
