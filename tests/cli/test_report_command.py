"""`trl-grpo-rewards report` as a user runs it."""

import json
import re

from helpers.made_runs import story, with_log, written
from helpers.runs import train_and_read
from helpers.trl_logs import entry, evaluation, saved
from trl_grpo_rewards import boxed
from trl_grpo_rewards.cli.report import main


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
        ([tmp_path / "nowhere"], "error: A report needs a run of .*nowhere' does not exist. Pass the output_dir"),
        ([tmp_path / "runs"], "error: .*runs' contains a, b. Pass one of these, such as .*/a."),
        ([tmp_path / "runs" / "notes"], "error: .*notes' is empty. Pass the output_dir"),
        ([states["sft"]], "error: .*json' is the log of another trainer, with 'loss', 'mean_token_accuracy' and without 'reward'"),
        ([states["dpo"].parent], "error: .*, with 'loss', 'rewards/chosen', 'rewards/rejected' and without 'reward'. Pass"),
        ([states["early"].parents[1]], "error: .*has no logged step of training, or is cut off. Train for at least logging_steps"),
        ([states["before"]], "error: .*has no logged step of training"),
        ([states["cut"].parents[1]], "error: .*trainer_state.json' has no .* is cut off. .* or pass an earlier checkpoint."),
        ([tmp_path / "tables" / "completions"], "error: .* contains completions_00001.parquet. .* or a trainer_state.json."),
        ([tmp_path / "list.json"], "error: .*list.json' has no logged step of training"),
        ([tmp_path / "README.md"], "error: .*README.md' is neither a log nor a record. Pass the output_dir"),
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
