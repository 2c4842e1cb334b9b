"""Programs in training: beside programs that attack, in records, reports, scores and checks."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOTrainer, code, demo, reward
from trl_grpo_rewards.cli.main import main
from trl_grpo_rewards.programs.cases import MODULES
from trl_grpo_rewards.records import read_records
from trl_grpo_rewards.records.runs import read_run
from trl_grpo_rewards.report.excerpts import select_fields
from trl_grpo_rewards.sandbox.local import get_local_sandbox


OPTIONS = {"per_device_train_batch_size": 16, "num_generations": 8, "max_completion_length": 64}


def train(tmp_path, rewards, **options):
    args = small_config(tmp_path, **{**OPTIONS, **options})
    trainer = FilteredGRPOTrainer(demo.CODER, rewards, args=args, train_dataset=demo.programs())
    trainer.train()
    return trainer, list(read_records(args.output_dir))


@pytest.mark.slow
def test_a_failing_case_is_in_the_record_and_in_the_report_and_is_scored_again(tmp_path, run_here):
    trainer, records = train(tmp_path, code(), max_steps=2)
    scores = [score for record in records for score in record["rewards"]["code"]]
    failures = [text for record in records for text in record["logged"]["code/failure"]]
    assert len(scores) == len(failures) == 32 and 0 < sum(scores) < 32
    assert all((text == "") == (score == 1.0) for text, score in zip(failures, scores, strict=True))
    assert any("expected" in text or text == "no code block" for text in failures)
    (fact,) = read_run(trainer.args.output_dir)["machine"].values()
    assert "library" in fact  # how programs are kept in on this machine
    shown = select_fields({**records[0], "step": 1})
    assert shown["logged"] == [["code/failure", records[0]["logged"]["code/failure"]]]
    result = run_here(lambda: main(["score", "code()", trainer.args.output_dir, "--against", "code(partial=True)"]))
    assert "code" in str(result)


def test_records_without_texts_have_no_failing_cases(tmp_path):
    _, records = train(tmp_path, code(), group_records_text=False)
    assert all("logged" not in record for record in records)


@pytest.fixture
def full_disk(tmp_path):
    folder = tmp_path / "full"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("only root can make a small disk, and only where mounting is allowed")
    with contextlib.suppress(OSError):
        (folder / "fill").write_bytes(bytes(1 << 20))
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.slow
def test_training_goes_on_if_the_disk_is_full(full_disk, monkeypatch, capsys):
    monkeypatch.setenv("TMPDIR", str(full_disk))
    trainer, records = train(full_disk, code(), max_steps=2)
    assert trainer.state.global_step == 2 and records == []
    history = [entry for entry in trainer.state.log_history if "rewards/code/mean" in entry]
    assert len(history) == 2 and max(entry["rewards/code/mean"] for entry in history) > 0


BOMBS = (
    "import os\nwhile True: os.fork()",
    "import threading\nwhile True: threading.Thread(target=threading.Event().wait).start()",
    "x = []\nwhile True: x.append(bytearray(1 << 20))",
    "while True: print('x' * 10000)",
    "import os\nos.kill(os.getppid(), 9)",
    "import os\nos.kill(-1, 9)",
    "while True: pass",
)


@reward(batched=True)
async def bombed(completions: list) -> list[float]:
    """Runs bombs in the step of the trainer, and kills a worker on the way."""
    local = get_local_sandbox(None, MODULES)
    workers = [one.process.pid for one in local.workers if one.process is not None]
    timer = threading.Timer(0.1, lambda: os.kill(workers[0], signal.SIGKILL))
    timer.start()
    blocks = [f"```python\n{BOMBS[row % len(BOMBS)]}\n```" for row in range(len(completions))]
    scores = await code(timeout=0.3)(completions=blocks, tests=[{"inputs": ["1"], "outputs": ["1"]}] * len(blocks))
    timer.join()
    return [float(score) for score in scores]


@pytest.mark.slow
def test_a_step_goes_on_beside_bombs(tmp_path):
    start = time.monotonic()
    trainer, records = train(tmp_path, code() + bombed(), max_steps=3)
    assert trainer.state.global_step == 3 and len(records) == 6 and time.monotonic() - start < 120
    assert all(score == 0 for record in records for score in record["rewards"]["bombed"])
    assert any(score == 1 for record in records for score in record["rewards"]["code"])


def test_the_asynchronous_trainer_scores_groups_in_threads():
    """It calls rewards with columns only, one group at a time."""
    row, value = demo.programs("test")[0], code()
    blocks = [f"```python\n{row['solution']}\n```", "```python\ndef f(x): return x\n```"]
    group = {"prompts": [row["prompt"]] * 2, "completions": blocks, "tests": [row["tests"]] * 2}
    with ThreadPoolExecutor(6) as threads:
        assert [*threads.map(lambda _: value(**group), range(6))] == [[1.0, 0.0]] * 6
