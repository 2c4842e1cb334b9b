"""`trl-grpo-rewards report` as a user runs it."""

import json
import re

from helpers.made_runs import story, with_log, written
from helpers.runs import train_and_read
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


def test_bad_input_is_one_line(run_here, tmp_path):
    torn = tmp_path / "torn.jsonl"
    torn.write_text('{"run": 1, "step": 1, "gro')
    for arguments, message in [
        ([tmp_path / "nowhere"], "error: A report needs a run of .*nowhere. does not exist. Pass the output_dir"),
        ([torn], "error: .* contain no complete record. Choose the folder of a run that trained"),
        ([torn, "--out", tmp_path / "no" / "x.html"], "error: .* does not exist. Create it"),
        ([torn, "--out", tmp_path], "error: .* Choose a file in it"),
    ]:
        done = run_here(lambda given=arguments: main([*map(str, given)]))
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert re.match(message, done.stderr)


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
