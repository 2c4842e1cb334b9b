"""`trl-grpo-rewards report` as a user runs it."""

import json

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
    nowhere = run_here(lambda: main([str(tmp_path / "nowhere")]))
    assert nowhere.returncode == 2 and nowhere.stderr.startswith("FileNotFoundError: There are no group records in ")
