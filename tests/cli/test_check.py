"""`trl-grpo-rewards check` as a user runs it, on a dataset from outside."""

import json

import pytest
from transformers import AutoTokenizer

from helpers.checks import open_think
from helpers.outside_data import read_outside_data
from trl_grpo_rewards import demo


ENDINGS = """
from trl_grpo_rewards import reward

@reward
def ends(completion: str, solution: str) -> float:
    return float(completion.endswith(solution))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "column, arguments, fault",
    [
        ("answer", [], None),
        ("integers", [], None),
        (
            "integers",
            ["--import", "endings", "--rewards", "ends()"],
            "Reward 'ends' reads the column 'solution' as str, but the dataset contains int64, such as 19.",
        ),
        ("response", ["--solution_column", "solution"], "Reward 'boxed' needs the column 'solution'; found"),
        ("answer", ["--model_name_or_path", "thinking"], "Write tags('think', prefilled=True)."),
        (
            "answer",
            ["--rewards", "boxed() + 0.1 * length(300)"],
            "fault: Reward 'length' has target=300, but completions",
        ),
    ],
    ids=["sound", "integers", "integers as text", "renamed", "prefilled", "too long"],
)
def test_gsm8k_is_checked(tmp_path, command, column, arguments, fault):
    with (tmp_path / "p.jsonl").open("w") as file:
        for row in read_outside_data("gsm8k_train.jsonl.gz"):
            integer = int(row["answer"].rpartition("####")[2].replace(",", ""))
            file.write(
                json.dumps({"question": row["question"], column: integer if column == "integers" else row["answer"]})
                + "\n"
            )
    (tmp_path / "endings.py").write_text(ENDINGS)
    open_think(AutoTokenizer.from_pretrained(demo.MODEL)).save_pretrained(tmp_path / "thinking")
    given = ["--dataset_name", "json", "--data_files", "p.jsonl", "--prompt_column", "question"]
    given += ["--solution_column", column, "--model_name_or_path", demo.MODEL, "--output_dir", "out"]
    run = command("check", *given, "--max_completion_length", "256", *arguments)
    assert run.returncode == (fault is not None), run.stdout + run.stderr
    assert (fault or "7,409 read") in run.stdout + run.stderr
    assert (fault is not None) or run.stdout.endswith("No fault found.\n")
    assert not (tmp_path / "out").exists()
