"""The package from outside: what it exports, what importing it costs, and that nothing stands in two places."""

import os
import subprocess
import sys

import pytest

import trl_grpo_rewards
from trl_grpo_rewards.registry import REGISTRY


def test_the_exported_members_are_the_public_names():
    assert len(trl_grpo_rewards.__all__) == len({*trl_grpo_rewards.__all__})
    ours = {name for name, maker in REGISTRY.items() if maker.__module__.startswith("trl_grpo_rewards.rewards.")}
    assert ours <= {*trl_grpo_rewards.__all__}
    for name in trl_grpo_rewards.__all__:
        assert getattr(trl_grpo_rewards, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'boxxed'"):
        _ = trl_grpo_rewards.boxxed


def test_importing_the_package_loads_neither_torch_nor_trl():
    code = "import sys, trl_grpo_rewards as t; t.parse('gate(tags(\"a\"), by=boxed)'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"torch", "trl", "transformers", "datasets", "numpy", "sympy", "math_verify"}
    assert heavy.isdisjoint(loaded) and "trl_grpo_rewards.rewards.answers" in loaded


@pytest.mark.parametrize(
    "folder", ["", "rewards", "tools", "verify", "judging", "records", "checks", "report", "demo"]
)
def test_only_what_trains_loads_torch_or_trl(folder):
    package = f"trl_grpo_rewards.{folder}".rstrip(".")
    code = (
        "import importlib, pkgutil, sys\n"
        f"package = importlib.import_module({package!r})\n"
        "for module in pkgutil.iter_modules(package.__path__, package.__name__ + '.'):\n"
        "    if not module.ispkg and not module.name.endswith(('__main__', 'judging.client')):\n"
        "        importlib.import_module(module.name)\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert package in loaded and {"torch", "trl", "transformers", "datasets"}.isdisjoint(loaded)


def test_an_older_trl_is_refused(tmp_path):
    info = tmp_path / "trl-1.14.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: trl\nVersion: 1.14.1\n")
    run = subprocess.run(
        [sys.executable, "-c", "from trl_grpo_rewards import FilteredGRPOTrainer"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.stderr.strip().splitlines()[-1] == (
        "ImportError: FilteredGRPOTrainer requires trl 1.14.2 or newer; trl 1.14.1 is installed. Upgrade it: pip install -U trl."
    )


def test_no_module_is_named_like_an_exported_function():
    names = {module.split(".")[1] for module in sys.modules if module.startswith("trl_grpo_rewards.")}
    assert names.isdisjoint(trl_grpo_rewards.__all__)
