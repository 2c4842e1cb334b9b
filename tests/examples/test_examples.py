"""The examples run as they are, with fewer steps."""

import importlib
import json
import sys

import pytest
import torch

from helpers.paths import TESTS
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
    before, after = load("programs").main(str(tmp_path / "run"), max_steps=10)
    assert after > before + 0.1
    records = list(read_records(tmp_path / "run"))
    assert len(records) == 10 * 16 and any(one["logged"]["passes/failure"] for one in records)
    assert "passes/failure" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.slow
def test_calculator(load, tmp_path):
    results = load("calculator").main(str(tmp_path / "run"), max_steps=12, warm_up_steps=300)
    assert results["calls"][1] > results["calls"][0] + 0.2
    records = list(read_records(tmp_path / "run"))
    assert any(message["role"] == "tool" for one in records for text in one["completions"] for message in text)
    assert "tool_errors" in records[0]["rewards"] and (tmp_path / "run" / "report.html").exists()


@pytest.mark.slow
def test_guess_number(load, tmp_path):
    before, after = load("guess_number").main(str(tmp_path / "run"), max_steps=16)
    assert after > before + 0.05
    records = list(read_records(tmp_path / "run"))
    assert {record["outcome_reward"] for record in records} == {"Game"} and len(records) == 9 * 16
    assert max(len(text) for record in records for text in record["completions"]) >= 7  # three guesses


def test_rules_of_the_game(load):
    game = load("guess_number").Game()
    game.reset(secret=4)
    assert [game.guess(2), game.guess(6), game.guess(4)] == ["higher", "lower", "right"] and game.get_reward() == 1.0
    with pytest.raises(ValueError, match="over"):
        game.guess(4)
