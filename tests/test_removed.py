"""Asking for what is gone is one sentence that says what to use instead. This file goes with `removed.py`."""

import pytest

from trl_grpo_rewards import FilteredGRPOConfig, code, parse
from trl_grpo_rewards.removed import REMOVED


def load(module, name):
    exec(f"from trl_grpo_rewards{module} import {name}")


ASKED = {
    "bridges": (lambda: load(".bridges", "as_rubric"), ImportError),
    "drop_dead_groups": (lambda: load(".training.async_grpo", "drop_dead_groups"), ImportError),
    "gym": (lambda: load("", "gym"), ImportError),
    "as_rubric": (lambda: load("", "as_rubric"), ImportError),
    "from_rubric": (lambda: load("", "from_rubric"), ImportError),
    "reasoning": (lambda: load(".demo", "reasoning"), ImportError),
    "code.backend=hf": (lambda: code(backend="hf"), ValueError),
    "code.backend=http": (lambda: parse("code(backend='http://localhost:8080')"), ValueError),
    "code.language": (lambda: code(language="cpp"), TypeError),
    "code.max_concurrency": (lambda: code(max_concurrency=8), TypeError),
    "code.retries": (lambda: parse("code(retries=2)"), TypeError),
    "witness": (lambda: FilteredGRPOConfig("out", witness="boxed()"), TypeError),
    "witness_share": (lambda: FilteredGRPOConfig("out", witness_share=0.5), TypeError),
}

COMMANDS = {
    "live": ["report", "out", "--live", "--port", "8000"],
    "reasoning_gym": ["train", "--dataset_name", "reasoning_gym:countdown"],
    "gym": ["check", "--rewards", "gym(partial=False)"],
    "witness": ["train", "--witness", "boxed()"],
    "witness_share": ["train", "--config", "mine.yaml"],
}


@pytest.mark.parametrize("name", ASKED)
def test_python_says_what_to_use_instead(name):
    ask, error = ASKED[name]
    with pytest.raises(error) as raised:
        ask()
    assert str(raised.value) == REMOVED[name]


def test_a_command_says_what_to_use_instead(tmp_path, command):
    (tmp_path / "mine.yaml").write_text("rewards: boxed()\nwitness_share: 0.5\n")
    for name, arguments in COMMANDS.items():
        done = command(*arguments)
        assert (done.returncode, done.stdout, done.stderr.strip()) == (2, "", f"error: {REMOVED[name]}")


def test_every_sentence_is_said():
    assert {*ASKED, *COMMANDS} == {*REMOVED}
    assert all(text.endswith(".") and ": " in text for text in REMOVED.values())
