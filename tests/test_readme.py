"""The README as a user reads it: its Python runs, and its tables name what there is."""

import re
import subprocess
import sys
from dataclasses import fields

import pytest
from trl import GRPOConfig

import trl_grpo_rewards
from helpers.paths import ROOT
from trl_grpo_rewards import FilteredGRPOConfig
from trl_grpo_rewards.function_rewards import RewardFactory
from trl_grpo_rewards.registry import REGISTRY


PAGES = {page.name: page.read_text() for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]}
README_LINES = re.sub("<!-- rewards: .*<!-- end of rewards -->", "", PAGES["README.md"], flags=re.DOTALL).count("\n")
"""Without the table of rewards, which grows with each of them."""

EXAMPLES = [
    pytest.param(example, id=f"{name}-{place}")
    for name, text in PAGES.items()
    for place, example in enumerate(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_run(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = dict(REGISTRY)
    try:
        exec(compile(example, "README.md", "exec"), {"__name__": "readme"})
    finally:
        REGISTRY.clear()
        REGISTRY.update(before)


def test_the_readme_is_short_and_its_links_lead_somewhere():
    assert len(EXAMPLES) == 10 and README_LINES <= 225
    for name, text in PAGES.items():
        folder = ROOT if name == "README.md" else ROOT / "docs"
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", text):
            assert (folder / link).exists(), f"{name} links to {link}"


def test_the_table_of_rewards_and_the_stub_are_current():
    subprocess.run([sys.executable, str(ROOT / "scripts" / "list_rewards.py"), "--check"], check=True)
    rows = re.findall(r"^\| `(\w+)\(.*\)` \| (.+) \|$", PAGES["README.md"], flags=re.MULTILINE)
    public = {name for name in trl_grpo_rewards.__all__ if isinstance(getattr(trl_grpo_rewards, name), RewardFactory)}
    assert dict(rows).keys() == public and all(len(paid) < 200 for _, paid in rows)


def test_the_table_of_options_is_complete():
    added = {field.name: field.default for field in fields(FilteredGRPOConfig)}
    added = {name: added[name] for name in added.keys() - {field.name for field in fields(GRPOConfig)}}
    rows = dict(re.findall(r"^\| `(\w+)` \| `(.*?)` \|", PAGES["trainer.md"], flags=re.MULTILINE))
    assert {name: eval(default) for name, default in rows.items()} == added
