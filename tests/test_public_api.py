"""The pages that say what is public and where everything is name exactly what there is."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from trl_grpo_rewards import rewards


ROOT = Path(__file__).parents[1]
FOLDERS = sorted(file.parent.name for file in (ROOT / "trl_grpo_rewards").glob("*/__init__.py"))
TABLE = (ROOT / "docs" / "writing.md").read_text().split("## Public names")[1]
ROWS = re.findall(r"^\| `([\w.]+)` \| (.+) \|$", TABLE, flags=re.MULTILINE)
NAMES = {module: re.findall(r"`(\w+)`", names) for module, names in ROWS}
PACKAGES = [
    "trl_grpo_rewards",
    *(f"trl_grpo_rewards.{name}" for name in ("checks", "records", "report", "demo")),
]
DEEPER = ["trl_grpo_rewards.sandbox.protocol"]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_table_lists_exactly_what_a_public_package_exports(package):
    in_the_readme = rewards.__all__ if package == "trl_grpo_rewards" else []
    assert sorted([*NAMES[package], *in_the_readme]) == sorted(import_module(package).__all__)


def test_the_table_lists_no_other_modules():
    assert [*NAMES] == [*PACKAGES, *DEEPER]
    for module in DEEPER:
        assert NAMES[module] and all(hasattr(import_module(module), name) for name in NAMES[module])


def test_the_map_for_contributors_names_every_folder():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert sorted(re.findall(r"^\| `trl_grpo_rewards/(\w+)/` \|", page, flags=re.MULTILINE)) == FOLDERS
