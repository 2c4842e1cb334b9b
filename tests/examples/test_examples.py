"""The examples run as they are, with fewer steps."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import huggingface_hub
import pytest
import torch

from helpers.browser import read_packed
from helpers.local_http import run_local_server
from helpers.paths import TESTS
from trl_grpo_rewards import code
from trl_grpo_rewards.checks.contract import check_readiness
from trl_grpo_rewards.records.files import read_records
from trl_grpo_rewards.registry import REGISTRY


EXAMPLES = TESTS.parent / "examples"


@pytest.fixture
def load(monkeypatch):
    """Imports an example as a module."""
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    before = dict(REGISTRY)
    yield importlib.import_module
    for file in EXAMPLES.glob("*.py"):
        sys.modules.pop(file.stem, None)
    REGISTRY.clear()
    REGISTRY.update(before)


def test_no_example_is_forgotten():
    tested = {name.removeprefix("test_") for name in globals()}
    assert {file.stem for file in EXAMPLES.glob("*.py")} - {"warm_up"} <= tested


@pytest.mark.slow
def test_judged_maths(load, server, tmp_path):
    server(score=8)
    trainer = load("judged_maths").main(server.base_url, "m", str(tmp_path / "run"), max_steps=2)
    records = list(read_records(tmp_path / "run"))
    paid = [pair for one in records for pair in zip(one["rewards"]["accuracy"], one["rewards"]["clear"], strict=True)]
    assert {right for right, _ in paid} == {0.0, 1.0} and {clear for right, clear in paid if not right} == {0.0}
    assert all(clear > 0.8 for right, clear in paid if right)
    assert 0 < server.calls <= sum(right > 0 for right, _ in paid)  # identical completions are judged once
    assert trainer.state.global_step == 2


def test_images(load, tmp_path):
    trainer = load("images").main(output_dir=str(tmp_path), max_steps=2)
    records = list(read_records(tmp_path))
    assert len(records) == 2 * 3 and {record["columns"]["colour"] for record in records} == {"red", "green", "blue"}
    assert any(score > 0 for record in records for score in record["rewards"]["names_colour"])
    fresh = load("images").make_model()[0].state_dict()
    assert all(one.isfinite().all() for one in trainer.model.state_dict().values())
    assert any(not torch.equal(fresh[name], one) for name, one in trainer.model.state_dict().items())


@pytest.mark.filterwarnings("ignore")  # of what reasoning-gym imports
def test_reasoning_gym_tasks(load, tmp_path):
    pytest.importorskip("reasoning_gym", reason="reasoning-gym is not installed")
    example = load("reasoning_gym_tasks")
    rows = example.make_dataset(size=20)
    tasks = [json.loads(entry) for entry in rows["entry"]]
    assert [one["metadata"]["source_dataset"] for one in tasks] == ["chain_sum"] * 20 + ["products"] * 20
    answers = [one["answer"] for one in tasks]
    texts = [*answers, "I do not know.", "6*4*1*1", " ".join(answers), "__import__('os').abort()", ""]

    def pay(completions):
        return example.own_rule()(completions=completions, entry=rows["entry"])

    assert pay([rf"<think>1 + 1</think>\boxed{{{one}}}" for one in answers]) == [1.0] * 40
    assert pay([rf"\boxed{{{one}}} \boxed{{{one}0.5}}" for one in answers]) == pay(answers) == [0.0] * 40
    assert pay(rows["prompt"]) == [0.0] * 40
    for text in texts:
        assert pay([rf"\boxed{{{text}}}"] * 40) == [float(text == one) for one in answers]
    trainer = example.main(output_dir=str(tmp_path), max_steps=1)
    (record, *others) = read_records(tmp_path)
    assert trainer.state.global_step == 1 and len(others) == 3
    assert record["rewards"].keys() == {"own_rule"} and record["columns"]["entry"] in example.make_dataset()["entry"]


@pytest.mark.slow
def test_programs(load, tmp_path):
    before, after = load("programs").main(str(tmp_path / "run"), max_steps=3)
    assert after > before
    records = list(read_records(tmp_path / "run"))
    assert len(records) == 3 * 16 and any(one["logged"]["passes/failure"] for one in records)
    assert "passes/failure" in read_packed(tmp_path / "run" / "report.html", "records")


@pytest.mark.slow
def test_calculator(load, tmp_path):
    results = load("calculator").main(str(tmp_path / "run"), max_steps=2, warm_up_steps=150)
    assert results["calls"][1] > results["calls"][0] + 0.05
    records = list(read_records(tmp_path / "run"))
    assert any(message["role"] == "tool" for one in records for text in one["completions"] for message in text)
    assert "tool_errors" in records[0]["rewards"] and (tmp_path / "run" / "report.html").exists()


@pytest.mark.slow
def test_guess_number(load, tmp_path):
    shares = load("guess_number").main(str(tmp_path / "run"), max_steps=1, warm_up_steps=90)
    records = list(read_records(tmp_path / "run"))
    assert {record["outcome_reward"] for record in records} == {"Game"} and len(records) == 9
    assert all(0 < share < 1 for share in shares)
    assert {score for record in records for score in record["rewards"]["Game"]} == {0.0, 1.0}
    assert max(len(text) for record in records for text in record["completions"]) >= 7  # three guesses


def test_rules_of_the_game(load):
    game = load("guess_number").Game()
    game.reset(secret=4)
    assert [game.guess(2), game.guess(6), game.guess(4)] == ["higher", "lower", "right"] and game.get_reward() == 1.0
    with pytest.raises(ValueError, match="over"):
        game.guess(4)


SUM = "print(sum(map(int, input().split())))"

PROGRAMS = {
    "right": (SUM, 1.0),
    "wrong": (f"{SUM}; print(7)", 0.0),
    "crashed": (f"{SUM}; raise ValueError", 0.0),
    "killed": (f"{SUM}; import os; os.kill(os.getpid(), 9)", 0.0),
    "flooded": (f"{SUM}; print('x' * 5000)", 0.0),
    "endless": (f"{SUM}; import time; time.sleep(9)", 0.0),
    "out of luck": (f"{SUM}  # the server fails", None),
    "odd": (f"{SUM}  # the server replies in an odd form", None),
}
"""Programs with their scores on a server."""


def grade(backend, programs):
    """Return the scores of programs, as TRL asks for them."""
    value = code(backend=backend, output_bytes=1000, max_failures=1.0)
    prompts = [[{"role": "user", "content": "Add."}]] * len(programs)
    completions = [[{"role": "assistant", "content": f"```python\n{program}\n```"}] for program in programs]
    tests = [{"inputs": ["1 2", "40 2"], "outputs": ["3", "42"]}] * len(programs)
    return value(prompts=prompts, completions=completions, completion_ids=[[0]] * len(programs), tests=tests)


def run_process(command, text, program, folder):
    """Run a program as a scripted server does: return its exit code, what it wrote, and whether it was too slow."""
    process = subprocess.Popen(command, cwd=folder, stdin=-1, stdout=-1, stderr=-1, text=True)
    try:
        output, errors = process.communicate(text, timeout=0.2 if "time.sleep(9)" in program else 60.0)
    except subprocess.TimeoutExpired:
        process.kill()
        return -9, *process.communicate(), True
    return process.returncode, output, errors, False


def check_sandbox(backend, requests):
    scores = grade(backend, [program for program, _ in PROGRAMS.values()])
    assert dict(zip(PROGRAMS, scores, strict=True)) == {name: score for name, (_, score) in PROGRAMS.items()}
    assert check_readiness(code(backend=backend)).faults == []
    expected = re.compile(rb'"42(?:\\n)?"')  # names of files may begin with 42
    assert not any(expected.search(request.body) for request in requests)  # what is expected stays here


def test_fusion_sandbox(load, tmp_path):
    def answer(connection):
        body = json.loads(connection.body)
        if "server fails" in body["code"]:
            return connection.send({"status": "SandboxError", "message": "busy", "run_result": None}, 500)
        exit_code, output, errors, is_late = run_process(
            [sys.executable, "-c", body["code"]], body["stdin"], body["code"], tmp_path
        )
        status = "odd" if "odd form" in body["code"] else "TimeLimitExceeded" if is_late else "Finished"
        result = {"status": status, "return_code": exit_code, "stdout": output, "stderr": errors}
        overall = "Success" if status == "Finished" and exit_code == 0 else "Failed"
        connection.send({"status": overall, "message": "", "compile_result": None, "run_result": result})

    with run_local_server(answer) as server:
        load("fusion_sandbox").FusionSandbox.url = server.url
        check_sandbox("fusion_sandbox:FusionSandbox", server.requests)
    assert json.loads(server.requests[0].body)["memory_limit_MB"] == 1024
    assert grade("fusion_sandbox:FusionSandbox", [SUM]) == [None]  # the server is down
    (fault,) = check_readiness(code(backend="fusion_sandbox:FusionSandbox")).faults
    assert "Start a Sandbox Fusion server" in fault


@pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("python3") or not hasattr(huggingface_hub, "SandboxPool"),
    reason="the scripted server runs commands for Linux, and needs a client with SandboxPool",
)
def test_hf_sandbox(load, tmp_path, monkeypatch):
    """The client is that of huggingface_hub, the server is scripted in the form of version 2.4."""
    user, started, ended = {"type": "user", "id": "1", "name": "someone"}, [], []

    def answer(connection):
        match connection.command, connection.path.partition("?")[0].split("/"):
            case _ if connection.headers["Authorization"] != "Bearer hf_of_a_test":
                connection.send({"error": "refused by the script"}, 401)
            case "GET", [*_, "whoami-v2"]:
                connection.send(user)
            case "GET", [*_, "jobs", "someone"]:
                connection.send([])
            case "POST", [*_, "jobs", "someone"]:
                started.append(name := f"job{len(started)}")
                status = {"stage": "RUNNING", "exposeUrls": [f"{server.url}/{name}--49983.jobs"]}
                connection.send({"id": name, "owner": user, "status": status, **json.loads(connection.body)})
            case "POST", [*_, name, "cancel"]:
                ended.append(name)
                connection.send({})
            case "GET", [*_, "health"]:
                connection.send({"status": "ok", "protocol": 3})
            case "POST", [*_, "sandboxes"]:
                box = tempfile.mkdtemp(dir=tmp_path)
                connection.send({"sandboxes": [{"id": os.path.basename(box), "token": "t"}], "rejected": 0})
            case "DELETE", [*_, "sandboxes", box]:
                shutil.rmtree(tmp_path / box)
                connection.send({"deleted": True})
            case _, [*_, box, "files", "write"]:
                (tmp_path / box / "program.py").write_bytes(connection.body)
                connection.send({})
            case _, [*_, box, "exec"]:
                run_command(connection, tmp_path / box)

    def run_command(connection, box):
        body, program = json.loads(connection.body), (box / "program.py").read_text()
        if "server fails" in program:
            return connection.send({"error": "no such sandbox"}, 403)
        command = ["/bin/sh", "-c", body["cmd"]]
        exit_code, output, errors, is_late = run_process(command, body["stdin"], program, box)
        ended = {"exit_code": exit_code} if exit_code >= 0 else {"exit_code": None, "signal": -exit_code}
        events = [{"event": "stdout", "data": output}, {"event": "ping"}, {"event": "stderr", "data": errors}]
        events += [] if "odd form" in program else [{"event": "exit", **ended, "timed_out": is_late}]
        connection.send("".join(f"{json.dumps(event)}\n" for event in events), content_type="application/x-ndjson")

    monkeypatch.setenv("HF_TOKEN", "hf_of_a_test")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HOME", str(tmp_path / "cache"))
    with run_local_server(answer) as server:
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", server.url)
        monkeypatch.setattr(huggingface_hub.hf_api.api, "endpoint", server.url)
        load("hf_sandbox").JobsSandbox.machines = 2
        check_sandbox("hf_sandbox:JobsSandbox", server.requests)
        assert grade("hf_sandbox:JobsSandbox", [f"{SUM}; import mmap; mmap.mmap(-1, 3 << 30)"]) == [0.0]
        assert len(started) == 4 and {*started} == {*ended} and [*tmp_path.iterdir()] == [tmp_path / "cache"]
        monkeypatch.setenv("HF_TOKEN", "hf_of_someone_else")
        assert grade("hf_sandbox:JobsSandbox", [SUM]) == [None]
        assert len(check_readiness(code(backend="hf_sandbox:JobsSandbox")).faults) == 1
