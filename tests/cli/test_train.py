"""`trl-grpo-rewards train` as a user starts it: in a process of its own."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch
from accelerate.commands import accelerate_cli

from helpers.paths import ROOT, SCRIPTS
from helpers.processes import Forked
from helpers.runs import train_and_read
from trl_grpo_rewards import boxed, demo
from trl_grpo_rewards.cli.job import describe_steps
from trl_grpo_rewards.cli.train import describe_processes, use_all_cores
from trl_grpo_rewards.distributed import count_cores


SMALL = ["--per_device_train_batch_size", "32", "--eval_prompts", "4"]
SHORT = [*SMALL, "--max_steps", "2", "--save_steps", "1"]


COMMAND = (sys.executable, "-m", "trl_grpo_rewards.cli", "train")


def train_forked(*arguments, cwd):
    return Forked("train", *arguments, cwd=cwd).wait()


def write_reward(folder, step: int, does: str) -> list[str]:
    """Write a reward that does something in a step, and return the options of a run with it."""
    (folder / "mine.py").write_text(f"""
import os, signal
from trl_grpo_rewards import reward

@reward(batched=True)
def mine(completions: list, trainer_state) -> list[float]:
    if trainer_state.global_step == {step}:
        {does}
    return [0.0] * len(completions)
""")
    return [*SMALL, "--import", "mine", "--rewards", "mine()", "--no_check", "--eval_prompts", "0"]


@pytest.mark.slow
def test_the_main_job_ends_with_a_table_and_refuses_to_run_over_it(tmp_path, command):
    run = Forked(accelerate_cli.__file__, "launch", SCRIPTS / "train.py", *SHORT, cwd=tmp_path).wait()
    assert run.returncode == 0, run.stderr
    rows = dict(re.findall(r"^(accuracy|format|reward|dead groups) +([\d.]+) +[\d.]+", run.stdout, re.MULTILINE))
    assert rows.keys() == {"accuracy", "format", "reward", "dead groups"}
    assert float(rows["accuracy"]) <= 0.6  # of 32 completions, on average 0.3
    assert run.stdout.count("  before: ") == run.stdout.count("  after:  ") == 3
    assert "Trained to step 2 in" in run.stdout and "The model is in runs/addition." in run.stdout
    assert run.stdout.endswith("The report is in runs/addition/report.html.\n")
    assert "<title>Training report</title>" in (tmp_path / "runs/addition/report.html").read_text()
    assert re.search(r"Evaluating held-out problems: .*\bTraining: .*2/2.*reward=", run.stderr, re.DOTALL)  # the bars
    assert "Warning" not in run.stderr  # others warn of names that they will remove
    assert (tmp_path / "runs/addition/model.safetensors").exists()
    described = json.loads((tmp_path / "runs/addition/run.json").read_text())
    assert described["rewards"].startswith("boxed(evaluated=True, name='accuracy') + 0.5 * tags(")
    assert described["job"]["eval_prompts"] == 4 and described["model"] == demo.MODEL
    assert "# Model Card for addition" in (tmp_path / "runs/addition/README.md").read_text()

    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    again = command("train", *SHORT)
    assert again.returncode == 2
    assert again.stderr.strip().splitlines()[-1] == (
        "error: The output directory 'runs/addition' contains an earlier run, which a new run would overwrite. "
        "To continue it, pass --resume_from_checkpoint auto, which starts anew if there is no checkpoint. Otherwise "
        "choose another --output_dir, or remove the directory."
    )
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == written

    lost = command("train", *SHORT, "--resume_from_checkpoint", "runs/addition/checkpoint-9")
    assert (
        "'runs/addition/checkpoint-9' is not a complete checkpoint: it has no trainer_state.json, which" in lost.stderr
    )
    assert ": runs/addition/checkpoint-1, runs/addition/checkpoint-2. Pass --resume_from_checkpoint" in lost.stderr


def start_and_wait(*arguments, cwd):
    """Start a run, and return its process when it has written its first groups."""
    process = Forked("train", *arguments, cwd=cwd)
    deadline = time.monotonic() + 300
    while not [*cwd.glob("runs/addition/groups/*")] and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    return process


@pytest.mark.slow
def test_one_command_starts_and_continues_whenever_it_was_interrupted(tmp_path):
    options = [*SMALL, "--no_check", "--eval_prompts", "0", "--save_steps"]
    process = start_and_wait(*options, "100", "--max_steps", "100", "--resume_from_checkpoint", "auto", cwd=tmp_path)
    process.send_signal(signal.SIGINT)
    interrupted = process.wait()
    assert interrupted.returncode == 130, interrupted
    said = r"Interrupted at step \d+\. No checkpoint was saved\. To start over in the same folder, add"
    assert re.search(said, interrupted.stderr), interrupted
    for choice in ("auto", "true"):  # from the start, and from the checkpoint that is left
        resumed = train_forked(*options, "2", "--max_steps", "4", "--resume_from_checkpoint", choice, cwd=tmp_path)
        assert resumed.returncode == 0 and "Trained to step 4." in resumed.stdout, resumed.stderr
        assert "but these differ" not in resumed.stderr
        state = tmp_path / "runs/addition/checkpoint-4/trainer_state.json"
        assert json.loads(state.read_text())["global_step"] == 4
        state.unlink()  # as if killed while it was written


@pytest.mark.slow
def test_a_run_that_saves_weights_only_is_not_continued(tmp_path, command):
    options = write_reward(tmp_path, 1, "raise KeyboardInterrupt")
    options += ["--save_steps", "1", "--save_only_model", "true", "--resume_from_checkpoint", "auto"]
    stopped, again = command("train", *options), command("train", *options)
    said = "The last checkpoint is runs/addition/checkpoint-1. To continue, start a new run from its weights"
    assert stopped.returncode == 130 and said in stopped.stderr
    assert again.returncode == 2 and "no scheduler.pt, which save_only_model leaves out. The complete" in again.stderr


@pytest.mark.slow
def test_a_warning_has_a_line_of_its_own_above_the_bar(tmp_path):
    options = write_reward(tmp_path, 6, "os.kill(os.getpid(), signal.SIGTERM)")
    run = train_forked(*options, "--max_steps", "100", cwd=tmp_path)
    said = r"Interrupted at step 6\. No checkpoint was saved\."
    assert run.returncode == 130 and re.search(said, run.stderr), run.stderr
    warned = "^mine gives no signal at the end. No group was live in steps 1–5"
    assert re.search(warned, run.stderr, re.MULTILINE), run.stderr
    assert run.stderr.count("No group was live") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "loaded, number", [("libtorch", signal.SIGTERM), ("libarrow", signal.SIGHUP)]
)  # while it imports, and later
def test_a_signal_before_training_is_one_sentence(tmp_path, loaded, number):
    command = [*COMMAND, "--max_steps", "100"]
    heard = partial(
        signal.signal, number, signal.SIG_DFL
    )  # nohup, under which the tests may run, makes SIGHUP ignored
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    while loaded not in Path(f"/proc/{process.pid}/maps").read_text() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(number)
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 130 and "Traceback" not in said
    assert said.endswith("trl-grpo-rewards train was interrupted.\n") or "Interrupted at step " in said


def test_an_interrupt_within_exec_has_the_exit_code_of_others(tmp_path):
    (tmp_path / "interrupted.py").write_text('exec("raise KeyboardInterrupt")')
    command = [*COMMAND, "--rewards", "boxed", "--import", "interrupted"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (run.returncode, run.stderr) == (130, "\ntrl-grpo-rewards train was interrupted.\n")


@pytest.mark.slow
def test_a_checkpoint_in_time_ends_the_run_and_a_finished_run_has_no_other_step(tmp_path, command):
    options = [*SMALL, "--no_check", "--resume_from_checkpoint", "auto", "--max_steps"]
    process = start_and_wait(*options, "500", "--save_steps", "500", "--enable_jit_checkpoint", "true", cwd=tmp_path)
    process.send_signal(signal.SIGTERM)
    ended = process.wait()
    (checkpoint,) = tmp_path.glob("runs/addition/checkpoint-*")
    assert ended.returncode == 130, ended.stderr
    assert f"The last checkpoint is runs/addition/{checkpoint.name}." in ended.stderr
    assert "Trained to" not in ended.stdout
    assert not (tmp_path / "runs/addition/model.safetensors").exists()
    step = int(checkpoint.name.split("-")[1])
    resumed = train_forked(*options, step + 1, cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    first = f"step {step}" if step else "before"  # it may be interrupted while it samples for the first time
    assert re.search(rf"^held-out problems +{first} +after +change", resumed.stdout, re.MULTILINE)
    again = command("train", *options, step + 1)
    assert again.returncode == 0, again.stderr
    assert f"No step was left to train: the run had ended at step {step + 1}." in again.stdout
    assert re.search(rf"^held-out problems +step {step + 1}$", again.stdout, re.MULTILINE)
    assert "after" not in again.stdout and "change" not in again.stdout


EXAMPLE = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 4, "num_generations": 8}
ROW = r"^\| `(\w+)=(\d+)` \| (\d+) \| (\d+) \| ([\d/]+) \| (\d+) \|$"


def test_the_first_lines_say_how_many_prompts_and_completions_a_step_has(command):
    options = [part for name, value in EXAMPLE.items() for part in (f"--{name}", value)]
    run = command(
        "train", *options, "--rewards", "length(9999)", "--steps_per_generation", 8
    )  # no completion is so long
    assert run.returncode == 1 and run.stdout.splitlines()[1] == (
        "A generation samples 8 prompts with 8 completions each (64), for 2 updates, each from 32 completions."
    )


def test_the_first_lines_say_what_learns_and_offer_a_recipe_if_nobody_chose(command):
    job = ["train", "--rewards", "length(9999)", "--per_device_train_batch_size", 8]  # no completion is so long
    rate = "The learning rate is 1e-06, for all weights. This is TRL's default. To train your own data with the values of a recipe, add it"
    assert command(*job, "--model_name_or_path", demo.MODEL).stdout.splitlines()[2].startswith(rate)
    chosen = [*job, "--model_name_or_path", demo.MODEL, "--learning_rate", "1e-5", "--use_peft"]
    assert command(*chosen).stdout.splitlines()[2] == "The learning rate is 1e-05, for an adapter."


@pytest.mark.parametrize("row", re.findall(ROW, (ROOT / "docs" / "symptoms.md").read_text(), re.MULTILINE))
def test_the_table_of_the_docs_has_the_figures_of_runs(config, problems, row):
    name, value, completions, prompts, steps, learned = row
    options = {**EXAMPLE, name: int(value), "max_completion_length": 2}
    said = describe_steps(config(**options))
    if steps == "1" and learned == completions:
        shape = f"{prompts} prompts with {options['num_generations']} completions each ({completions})"
        assert said == f"Each step samples {shape}, and updates the weights once."
    else:
        assert said.startswith(f"A generation samples {prompts} prompts with ")
        assert f"({completions}), for {steps} update" in said and said.endswith(f"from {learned} completions.")
    last = 2 * max(1, int(Fraction(steps)))
    trainer, records = train_and_read(config, problems, boxed(), **options, max_steps=last)
    assert len(records) == int(prompts) * last / Fraction(steps) and trainer.state.global_step == last
    assert {*(record["step"] for record in records)} == {*range(1, last + 1, max(1, int(Fraction(steps))))}


CPU, GPU = (SimpleNamespace(device=torch.device(name), world_size=1) for name in ("cpu", "cuda"))
ACCELERATE, TORCHRUN = {"ACCELERATE_MIXED_PRECISION": "no"}, {"TORCHELASTIC_RUN_ID": "none"}


@pytest.mark.parametrize(
    "launcher, training, threads",
    [
        (ACCELERATE, CPU, count_cores()),
        (TORCHRUN | {"LOCAL_WORLD_SIZE": "2"}, CPU, max(1, count_cores() // 2)),
        (TORCHRUN | {"LOCAL_WORLD_SIZE": "1000"}, CPU, 1),
        (ACCELERATE, GPU, 1),
        ({}, CPU, 1),
    ],
    ids=["one process", "two processes", "more processes than cores", "on a GPU", "not launched"],
)
def test_a_launched_process_on_a_cpu_gets_its_share_of_the_cores(monkeypatch, launcher, training, threads):
    for name in ("ACCELERATE_MIXED_PRECISION", "TORCHELASTIC_RUN_ID", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in launcher.items():
        monkeypatch.setenv(name, value)
    said, remedy = describe_processes(training), "To start two, write accelerate launch --multi_gpu --num_processes 2."
    assert said.startswith(f"1 process on the {training.device.type.upper()}.")
    assert (remedy in said) == bool(training is CPU and launcher)
    torch.set_num_threads(1)
    use_all_cores(training)
    assert torch.get_num_threads() == threads
    torch.set_num_threads(1)  # as in all tests


FEW = ["--max_steps", "2", "--max_completion_length", "3", "--no_check"]


@pytest.mark.slow
def test_beside_busy_programs_training_uses_the_cores_that_are_free(tmp_path, command, monkeypatch):
    """Otherwise threads that wait for a busy core spin: a run of a minute took twenty."""
    (tmp_path / "threads.py").write_text(
        "import torch\n\ndef threads(completions, **kwargs):\n"
        "    print('threads:', torch.get_num_threads())\n    return [0.0] * len(completions)\n"
    )
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # a user's choice stays
    before, count = torch.get_num_threads(), 2 * psutil.cpu_count()
    torch.set_num_threads(2)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        shown = command("train", "--import", "threads", "--rewards", "threads()", *SMALL, *FEW)
    finally:
        torch.set_num_threads(before)
        for one in busy:
            one.kill()
            one.wait()
    assert shown.returncode == 0, shown.stderr
    assert re.findall(r"threads: (\d+)", shown.stdout)[-1] == "1"
    assert "training uses 1 thread while they do" in shown.stderr


@pytest.mark.slow
def test_a_full_disk_is_called_one(tmp_path):
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    small = tmp_path / "small"
    small.mkdir()
    job = [*SHORT, "--no_check", "--output_dir", str(small / "run")]
    train = shlex.join([*COMMAND, *job])
    script = f"mount -t tmpfs -o size=3m tmpfs {shlex.quote(str(small))} && echo mounted && {train}"
    run = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", script], capture_output=True, text=True)
    if "mounted" not in run.stdout:
        pytest.skip(f"this machine mounts no small disk: {run.stderr.strip()[-100:]}")
    said = f"^error: The disk of '{small / 'run'}' is full \\(\\d+ bytes are left\\), so a file of the run was not written: "
    assert run.returncode == 1 and re.search(said, run.stderr, re.MULTILINE), run.stderr


def test_a_tracker_that_cannot_be_set_up_is_one_sentence(tmp_path, command, monkeypatch):
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "taken"))
    run = command("train", *SHORT, "--no_check", "--report_to", "tensorboard")
    assert run.returncode == 2 and "Traceback" not in run.stderr
    said = "error: A tracker of --report_to tensorboard raised FileExistsError: .*taken.*[.] Set the tracker up, for example by its "
    assert re.fullmatch(f"{said}login, or train without it: --report_to none[.]", run.stderr.splitlines()[-1])
    assert not any((tmp_path / "runs/addition").iterdir())  # the same command works once the tracker does
