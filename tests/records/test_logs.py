"""Logs of any run of a GRPO trainer: of older versions of TRL, other programs and trackers."""

import csv
import json
from pathlib import Path

import pytest

from helpers.made_logs import simulate
from helpers.trl_logs import saved
from trl_grpo_rewards.records.runs import find_run, read_log
from trl_grpo_rewards.report.pages import write_page


LOG = simulate("dead", steps=40)  # an entry of training for each step, and evaluations
TITLE = "accuracy gives no signal at the end"


def to_old(entry):
    """Return an entry as TRL 0.14 logs it."""
    names = {f"rewards/{name}/mean": f"rewards/{name}" for name in ("accuracy", "format", "short")}
    names |= {f"eval_{name}": f"eval_{old}" for name, old in names.items()} | {
        "completions/mean_length": "completion_length"
    }
    kept = {"step", "loss", "grad_norm", "kl", "reward", "eval_reward", "eval_runtime", *names}
    return {names.get(name, name): value for name, value in entry.items() if name in kept}


def to_tracked(entry):
    """Return an entry as transformers sends it to a tracker."""
    named = {
        f"eval/{name[5:]}" if name.startswith("eval_") else f"train/{name}": value for name, value in entry.items()
    }
    step = named.pop("train/step")
    return {**named, "train/global_step": step, "_step": 3 * step}


def write_lines(file: Path, rows) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def write_csv(file: Path, rows, step="train/global_step", prefix="") -> Path:
    names = dict.fromkeys(name for row in rows for name in row)
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, [prefix * (name != step) + name for name in names])
        writer.writeheader()
        writer.writerows({prefix * (name != step) + name: value for name, value in row.items()} for row in rows)
    return file


def write_events(folder: Path, rows) -> Path:
    board = pytest.importorskip("torch.utils.tensorboard")
    with board.SummaryWriter(str(folder / "runs" / "Nov29_host")) as writer:
        for row in rows:
            for name, value in row.items():
                if name not in ("train/global_step", "_step"):
                    writer.add_scalar(name, value, row["train/global_step"])
    return folder


def write_list(file: Path, rows) -> Path:
    file.write_text(json.dumps([*rows]))
    return file


SWIFT = [
    {**{name: entry[name] for name in entry if name != "step"}, "global_step/max_steps": f"{entry['step']}/40"}
    for entry in LOG
]
TRACKED = [*map(to_tracked, LOG)]
WRITERS = {
    "a list": lambda folder: write_list(folder / "log.json", LOG),
    "ms-swift, a file": lambda folder: write_lines(folder / "logging.jsonl", SWIFT),
    "ms-swift, a folder": lambda folder: write_lines(folder / "logging.jsonl", SWIFT).parent,
    "Weights & Biases, lines": lambda folder: write_lines(folder / "history.jsonl", TRACKED),
    "Weights & Biases, a CSV": lambda folder: write_csv(folder / "export.csv", TRACKED),
    "Weights & Biases, a chart": lambda folder: write_csv(
        folder / "export.csv", [{"Step": row["train/global_step"], **row} for row in TRACKED], "Step", "my-run - "
    ),
    "TensorBoard": lambda folder: write_events(folder, TRACKED),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_a_log_of_any_program_has_the_same_page(name, tmp_path):
    source = WRITERS[name](tmp_path)
    (expected,) = write_page(saved(tmp_path / "trl", LOG), tmp_path / "page.html")
    (run,) = write_page(source, tmp_path / "page.html")
    assert run["anomalies"][0]["title"] == TITLE and run["points"]["mean"] == pytest.approx(
        expected["points"]["mean"], rel=1e-3
    )
    assert run["verdict"] == expected["verdict"] and run["held_out"][0]["steps"] == expected["held_out"][0]["steps"]


@pytest.mark.parametrize("situation", ["", "unpaid", "longer", "kl"])
def test_a_log_of_trl_0_14_is_judged_like_a_new_one(situation, tmp_path):
    log = simulate(situation)
    (run,) = write_page(saved(tmp_path, [*map(to_old, log)]), tmp_path / "page.html")
    (expected,) = write_page(saved(tmp_path / "new", log), tmp_path / "page.html")
    titles = [one["title"] for one in run["anomalies"]]
    assert {name for name, _ in run["weights"]} == {"accuracy", "format", "short"} and any(run["points"]["length"])
    if situation != "unpaid":  # it needs the standard deviations, which are not in such a log
        assert titles == [one["title"] for one in expected["anomalies"]]


def test_one_chart_of_tensorboard_is_a_log_of_one_metric(tmp_path):
    rows = [
        {"Wall time": 1e9 + entry["step"], "Step": entry["step"], "Value": entry["reward"]}
        for entry in LOG
        if "reward" in entry
    ]
    file = write_csv(tmp_path / "run-x-tag-train_reward.csv", rows, "Step")
    (run,) = write_page(file, tmp_path / "page.html")
    assert len(run["points"]["mean"]) == 40 and run["weights"] == [] and run["changes"][0]["what"] == "Total reward"


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("metrics.jsonl", '{"step": 1, "critic/rewards/mean": 0.5}\n', "no logged step of training with 'reward', but 'critic/rewards/mean'"),
        ("export.csv", "epoch,accuracy\n1,0.5\n", "a CSV needs a column 'Step' or 'train/global_step'"),
        ("console.log", "{'loss': 0.1}\n", "is neither a folder nor a log"),
    ],
)  # fmt: skip
def test_what_is_no_log_is_named_with_the_line_that_saves_one(name, text, found, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises((ValueError, FileNotFoundError)) as error:
        find_run(tmp_path / name)
    assert found in str(error.value)
    line = str(error.value).split("in Python: ")[1]
    assert line == 'Path("log.json").write_text(json.dumps(trainer.state.log_history))'


def test_rows_of_one_step_are_one_entry_in_any_order(tmp_path):
    rows = [{"_step": 5, "train/global_step": 2, "train/reward": 0.5}, {"train/global_step": 1, "train/reward": 0.25}]
    rows += [
        {"train/global_step": 2, "train/kl": 0.1, "eval/reward": 0.75},
        {"note": 1},
        "x",
        {"_step": -1, "train/kl": 1},
    ]
    log = read_log(write_lines(tmp_path / "history.jsonl", rows))
    assert log == [
        {"reward": 0.25, "step": 1},
        {"reward": 0.5, "kl": 0.1, "step": 2},
        {"eval_reward": 0.75, "step": 2},
    ]
