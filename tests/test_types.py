"""What a type checker says about a user's file."""

import subprocess
import sys

import pytest


RIGHT = """
from trl_grpo_rewards import Reward, boxed, clip, gate, keywords, parse, reward, tags

@reward
def cites(completion: str, *, at_least: int = 1) -> float:
    return float(completion.count("[") >= at_least)

@reward(outcome=True)
def right(completion: str, solution: str) -> float:
    return float(completion == solution)

@reward
def from_trl(prompts: list[str], completions: list[str], **kwargs: object) -> list[float]:
    return [0.0 for _ in completions]

@reward
async def words(completion: str, *, log_extra: object = None, longest: int | None = None) -> float | None:
    return None

mine: list[Reward] = [cites(), cites(at_least=2, name="c"), right(name="r", solution="answer"), from_trl(), words(longest=3)]
rewards: Reward = boxed(tolerance=0.1) + 0.2 * gate(tags("think"), by=boxed()) - clip(boxed(name="b"), high=1)
def plain(completions: list[str], **kwargs: object) -> list[float | None]:
    return [None for _ in completions]

more: list[Reward] = [boxed() + plain, plain - boxed(), keywords(all=["because"]), parse("boxed()"), cites(at_least=2), right()]
weights: list[float] = rewards.weights
"""

WRONG = {
    'boxed(tolerance="x")': 'Argument "tolerance" to "boxed" has incompatible type "str"; expected "float | None"',
    "boxed(nonsense=3)": 'Unexpected keyword argument "nonsense" for "boxed"',
    'boxed(units="metres")': 'Argument "units" to "boxed" has incompatible type',
    "gate(boxed())": 'Missing positional argument "by" in call to "gate"',
    "number: int = gate(boxed(), by=boxed())": 'expression has type "Reward", variable has type "int"',
    "boxed() + boxed": "Unsupported operand types for +",
}

SETTINGS = """
[mypy]
strict = true
[mypy-trl.*,torch.*,transformers.*,datasets.*,accelerate.*,openai.*,huggingface_hub.*]
follow_imports = skip
ignore_missing_imports = true
"""  # they take most of a minute to read, and no reward depends on them


@pytest.mark.slow
def test_options_of_rewards_are_checked_in_the_file_of_a_user(tmp_path):
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(
        "\n".join(["from right import cites, right; from trl_grpo_rewards import boxed, gate", *WRONG])
    )
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "right.py", "wrong.py"], cwd=tmp_path, capture_output=True, text=True
    )
    errors = [line for line in run.stdout.splitlines() if ": error: " in line]
    assert [line.split(":")[:2] for line in errors] == [["wrong.py", f"{line}"] for line in range(2, 2 + len(WRONG))]
    for line, message in zip(errors, WRONG.values(), strict=True):
        assert message in line
