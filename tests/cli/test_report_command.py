"""`trl-grpo-rewards report` as a user runs it."""

import json
import re

import pytest

from helpers.made_runs import story, with_log, written
from helpers.runs import train_and_read
from helpers.trl_logs import entry, evaluation, saved
from trl_grpo_rewards import boxed
from trl_grpo_rewards.cli.report import describe_report, main, summarize_report


def test_the_page_of_a_run_is_written_next_to_its_groups_or_elsewhere(run_here, config, problems, tmp_path, capsys):
    trainer, _ = train_and_read(config, problems, boxed())
    folder = trainer.args.output_dir
    capsys.readouterr()  # the log of the run
    done = run_here(lambda: main([folder]))
    assert done.returncode == 0 and done.stdout.endswith(f"\nThe report is in {folder}/report.html.\n")
    found = run_here(lambda: main([folder, "--json"]))
    assert found.returncode == 0 and json.loads(found.stdout)["page"] == f"{folder}/report.html"
    other = run_here(lambda: main([folder, "--out", str(tmp_path / "page.html")]))
    assert other.returncode == 0 and (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    again = run_here(lambda: main([f"{folder}/groups", "--out", str(tmp_path / "again.html")]))
    assert again.returncode == 0 and (tmp_path / "again.html").read_text() == (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    "logged, ends",
    [({1: 30.0, 40: 10.0}, "30.000  10.000"), ({20: 30.0, 30: 10.0}, "30.000  10.000"), ({20: 30.0}, "–  30.000")],
)
def test_scores_and_metrics_of_all_rewards_are_in_the_summary(run_here, tmp_path, logged, ends):
    log = with_log(tmp_path / "run", steps=40) / "log.jsonl"
    metrics = [
        {"step": step, "reward": 1.0, "style/chars": value, "style/zero": 0.0, "cpu": 9.0}
        for step, value in logged.items()
    ]
    log.write_text(log.read_text() + "".join(json.dumps(one) + "\n" for one in metrics))
    shown = run_here(lambda: main(["run"])).stdout
    assert re.search(r"^boxed \(training\) .*\nstyle \(training\) +0\.\d+ +0\.\d+$", shown, re.MULTILINE)
    assert re.search(rf"^style/chars +{ends}$", shown, re.MULTILINE)
    assert "style/zero" not in shown and "cpu" not in shown
    (found,) = json.loads(run_here(lambda: main(["run", "--json"])).stdout)["runs"]
    last = found["changes"][-1]
    assert last["name"] == "style/chars" and last["margin"] is None
    assert [last["start"], last["end"]] == [30.0 if len(logged) > 1 else None, [*logged.values()][-1]]


SFT = [{"step": step, "loss": 1.0, "mean_token_accuracy": 0.5} for step in range(1, 9)]
DPO = [{"step": step, "loss": 1.0, "rewards/chosen": 1.0, "rewards/rejected": 0.0} for step in range(1, 9)]


def test_bad_input_is_one_line(run_here, tmp_path):
    torn = tmp_path / "torn.jsonl"
    torn.write_text('{"run": 1, "step": 1, "gro')
    logs = {"sft": SFT, "dpo": DPO, "early": [], "before": [evaluation(0, 0.5)], "cut": '{"log_history": [{"step": 1'}
    states = {name: saved(tmp_path / name / "checkpoint-8", log) / "trainer_state.json" for name, log in logs.items()}
    saved(tmp_path / "runs" / "b" / "checkpoint-60", [entry(1)])
    written(tmp_path / "runs" / "a", story(steps=1))
    (tmp_path / "runs" / "notes").mkdir()
    (tmp_path / "tables" / "completions").mkdir(parents=True)
    (tmp_path / "tables" / "completions" / "completions_00001.parquet").touch()
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "README.md").write_text("# A run")
    for arguments, message in [
        ([tmp_path / "nowhere"], "error: A report needs a run of .*nowhere' is neither a folder nor a log. Pass the output_dir"),
        ([tmp_path / "runs"], "error: .*runs' contains a, b, notes. Pass the output_dir"),
        ([tmp_path / "runs" / "notes"], "error: .*notes' contains nothing. Pass the output_dir"),
        ([states["sft"]], "error: .*json' has no logged step of training with 'reward', but 'loss', 'mean_token_accuracy'. Pass"),
        ([states["dpo"].parent], "error: .* with 'reward', but 'loss', 'rewards/chosen', 'rewards/rejected'. Pass"),
        ([states["early"].parents[1]], "error: .*has no logged step of training .*, but nothing. Pass"),
        ([states["before"]], "error: .*has no logged step of training"),
        ([states["cut"].parents[1]], "error: .*trainer_state.json' has no .* one of its checkpoints"),
        ([tmp_path / "tables" / "completions"], "error: .* contains completions_00001.parquet. .* or a trainer_state.json."),
        ([tmp_path / "list.json"], "error: .*list.json' has no logged step of training"),
        ([tmp_path / "README.md"], "error: .*README.md' is neither a folder nor a log. Pass the output_dir"),
        ([torn], "error: .* contain no complete record. Choose the folder of a run that trained"),
        ([torn, "--out", tmp_path / "no" / "x.html"], "error: .* does not exist. Create it"),
        ([torn, "--out", tmp_path], "error: .* Choose a file in it"),
    ]:  # fmt: skip
        done = run_here(lambda given=arguments: main([*map(str, given)]))
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert re.match(message, done.stderr), done.stderr


def test_several_runs_are_compared_on_one_page(run_here, tmp_path):
    runs = [str(written(tmp_path / name, story(steps=2))) for name in "ab"]
    done = run_here(lambda: main(runs))
    assert done.returncode == 0 and done.stdout.endswith("The report is in comparison.html.\n")
    assert '"name":"a"' in (tmp_path / "comparison.html").read_text()
    done = run_here(lambda: main([*runs, str(tmp_path / "c")]))
    assert done.returncode == 2 and done.stderr.startswith("error: A report needs a run of ")


def test_a_log_in_which_nothing_has_a_value_is_reported(tmp_path, command):
    log = with_log(tmp_path / "run", steps=4) / "log.jsonl"
    entries = map(json.loads, log.read_text().splitlines())
    log.write_text("".join(json.dumps({**dict.fromkeys(one), "step": one["step"]}) + "\n" for one in entries))
    assert command("report", "run").returncode == 0


# --- the summary


@pytest.fixture
def data():
    """The data of a page, as far as the summary reads it."""
    return {
        "name": "run\x1b[2J",
        "facts": [["Rewards", "boxed()"], ["Model", "m"]],
        "size": 8,
        "groups": 1280,
        "steps": [1, 40],
        "checked": True,
        "changes": [
            {"what": "Live groups", "share": True, "values": [1.0, 0.28125]},
            {"what": "Total reward", "share": False, "values": [0.5]},
        ],
        "held_out": [],
        "anomalies": [],
        "advice": "",
    }


def show(*runs):
    return summarize_report(describe_report(runs, "report.html")).splitlines()


def test_a_run_without_warnings(data):
    assert show(data) == [
        "run\\x1b[2J     start    end", "Live groups   100.0%  28.1%", "Total reward   0.500  0.500", "",
        "steps: 1-40, groups: 1,280 x 8", "",
        "start and end: the means over the first and the last tenth of the steps", "", "No warnings.",
        "The report is in report.html.",
    ]  # fmt: skip
    (found,) = json.loads(json.dumps(describe_report([data], "report.html"), allow_nan=False))["runs"]
    assert found["expression"] == "boxed()" and found["changes"][0]["end"] == 0.28125 and found["warnings"] == []


@pytest.mark.parametrize("warnings", [1, 3, 40])
def test_warnings_fit_a_screen(data, warnings):
    data |= {"anomalies": [{"title": f"Number {n}", "details": "It was constant. " * 12} for n in range(warnings)]}
    shown = show(data)
    assert len(shown) <= 32 and all(len(line) <= 80 for line in shown)
    assert shown[-2] == f"{warnings} warning{'s' * (warnings > 1)}."
    starts = sum(line.startswith("warning of run") for line in shown)
    assert starts == min(warnings, 5) and ("... and 35 more: the report" in shown) == (warnings == 40)


def test_a_short_run_is_said_to_be_short_and_a_run_without_records_what_adds_them(data):
    shown = show(data | {"checked": False, "facts": [], "advice": "use ours"})
    assert "No warnings; the run is too short for most checks." in shown
    assert "start and end: the means over the first and the last steps" in shown
    assert shown[-2] == "With group records, the report also shows every group: use ours."


def test_several_runs_are_next_to_each_other_and_many_have_a_table_each(data):
    other = data | {"name": "other", "changes": data["changes"][:1]}
    other |= {"anomalies": [{"title": "It fell", "details": "Look."}], "checked": False, "groups": 1}
    end = [
        "", "start and end: the means over the first and the last steps", "",
        "warning of other: It fell. Look.", "",
        "1 warning; some runs are too short for most checks.", "The report is in report.html.",
    ]  # fmt: skip
    assert show(data, other) == [
        "start → end       run\\x1b[2J           other", "Live groups   100.0% → 28.1%  100.0% → 28.1%",
        "Total reward   0.500 → 0.500", "", "run\\x1b[2J, steps: 1-40, groups: 1,280 x 8",
        "other, steps: 1-40, groups: 1 x 8", *end,
    ]  # fmt: skip
    last = [
        "", "other         start    end", "Live groups  100.0%  28.1%", "",
        "steps: 1-40, groups: 1 x 8", *end,
    ]  # fmt: skip
    assert show(data, data, data, other)[-len(last) :] == last


def test_held_out_values_come_first(data):
    values = [("boxed", [0.25, 0.75]), ("dead groups", [1.0, 0.5]), ("style/chars", [None, 9.0])]
    held_out = [
        {"dataset": None, "evaluations": 2, "values": values},
        {"dataset": "gsm8k", "evaluations": 1, "values": values[:1]},
    ]
    shown = show(data | {"held_out": held_out, "is_share": True, "outcome": "boxed"})
    assert shown[1:5] == [
        "boxed (held-out)          25.0%  75.0%", "dead groups (held-out)   100.0%  50.0%",
        "style/chars (held-out)        –  9.000", "boxed (held-out, gsm8k)       –  75.0%",
    ]  # fmt: skip
    assert (
        "start and end: the means over the first and the last tenth of the steps, or the first and the last evaluation"
        in shown
    )
