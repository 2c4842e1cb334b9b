"""`trl-grpo-rewards report` as a user runs it."""

import json
import signal
import subprocess
import sys
import urllib.request

import pytest

from helpers.made_runs import story, written
from helpers.processes import build_environment
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
    assert nowhere.returncode == 2 and nowhere.stderr.startswith("error: There are no group records in ")


def test_several_runs_are_compared_on_one_page(run_here, tmp_path):
    runs = [str(written(tmp_path / name, story(steps=2))) for name in "ab"]
    done = run_here(lambda: main(runs))
    assert done.returncode == 0 and done.stdout.endswith("The report is in comparison.html.\n")
    assert '"name":"a"' in (tmp_path / "comparison.html").read_text()
    done = run_here(lambda: main([*runs, str(tmp_path / "c")]))
    assert done.returncode == 2 and done.stderr.startswith("error: There are no group records in ")


def test_the_live_page_is_served_until_ctrl_c(tmp_path):
    (tmp_path / "out").mkdir()  # a run that has not sampled anything yet
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's jobs ignore it
    )
    program += "from trl_grpo_rewards.cli.main import main; main(['report', sys.argv[1], '--live'])"
    command = [sys.executable, "-c", program, str(tmp_path / "out")]
    with subprocess.Popen(
        command, env=build_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        url = run.stdout.readline().removeprefix("The page is at ").split()[0]
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(url) as page:
            assert b"There are no groups yet." in page.read()
        run.send_signal(signal.SIGINT)
        try:
            assert run.communicate(timeout=60) == ("", "") and run.returncode == 0
        finally:
            run.kill()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--live", "--out", "x.html"], "--live serves the page and writes no file. Leave out --out, --json or --live."),
        (["--port", "8000"], "--port must be from 0 to 65535 and needs --live; got --port 8000."),
        (["--live", "--port", "65536"], "--port must be from 0 to 65535 and needs --live; got --port 65536."),
        (["--live"], "error: There is no 'nowhere'. Pass the output_dir of a run that has started."),
    ],
)  # fmt: skip
def test_options_that_cannot_work_are_refused(run_here, options, message):
    done = run_here(lambda: main(["nowhere", *options]))
    assert done.returncode == 2 and message in done.stderr
