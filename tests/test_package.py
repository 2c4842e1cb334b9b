"""The package from outside: what it exports, what importing it costs, and that nothing stands in two places."""

import subprocess
import sys

import pytest

import trl_grpo_rewards


def test_the_exported_members_are_the_public_names():
    assert trl_grpo_rewards.__all__ == sorted(trl_grpo_rewards.__all__)
    for name in trl_grpo_rewards.__all__:
        assert getattr(trl_grpo_rewards, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'boxxed'"):
        _ = trl_grpo_rewards.boxxed


def test_importing_the_package_loads_neither_torch_nor_trl():
    code = "import sys, trl_grpo_rewards as t; t.parse('gate(tags(\"a\"), by=boxed)'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"torch", "trl", "transformers", "datasets", "numpy", "sympy", "math_verify"}
    assert heavy.isdisjoint(loaded) and "trl_grpo_rewards.rewards.answers" in loaded


def test_no_module_is_named_like_an_exported_function():
    names = {module.split(".")[1] for module in sys.modules if module.startswith("trl_grpo_rewards.")}
    assert names.isdisjoint(trl_grpo_rewards.__all__)
