"""The README as a user reads it: its Python runs, and its tables name what there is."""

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest
from trl import GRPOConfig

import trl_grpo_rewards
from trl_grpo_rewards import FilteredGRPOConfig
from trl_grpo_rewards.registry import REGISTRY, Maker


README = (Path(__file__).parent.parent / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_examples_run(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = dict(REGISTRY)
    try:
        exec(compile(example, "README.md", "exec"), {"__name__": "readme"})
    finally:
        REGISTRY.clear()
        REGISTRY.update(before)


def test_there_are_examples():
    assert len(EXAMPLES) == 4


def test_the_table_of_rewards_is_complete_and_its_options_are_right():
    table = dict(re.findall(r"^\| `(\w+)\((.*?)\)` \|", README, flags=re.MULTILINE))
    public = {name for name in trl_grpo_rewards.__all__ if isinstance(getattr(trl_grpo_rewards, name), Maker)}
    assert table.keys() == public
    for name, options in table.items():
        declared = [
            str(p).split(":")[0] for p in inspect.signature(getattr(trl_grpo_rewards, name)).parameters.values()
        ]
        named = [option.split("=")[0] for option in re.split(r", (?![^(]*\))", options) if option]
        declared = [p.split("=")[0].strip() for p in declared]
        assert named[:-1] == declared[: len(named) - 1] if "..." in named else [*named, "name"] == declared


def test_the_table_of_options_is_complete():
    added = {field.name: field.default for field in fields(FilteredGRPOConfig)}
    added = {name: added[name] for name in added.keys() - {field.name for field in fields(GRPOConfig)}}
    rows = dict(re.findall(r"^\| `(\w+)` \| `(.*?)` \|", README, flags=re.MULTILINE))
    assert {name: eval(default) for name, default in rows.items()} == added
