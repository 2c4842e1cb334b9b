"""The list of what this package uses of TRL beyond its documented interface is complete, and one error names what is missing."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from trl import GRPOTrainer
from trl.trainer import utils

import trl_grpo_rewards
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo
from trl_grpo_rewards.training import trl_members
from trl_grpo_rewards.training.trl_members import ATTRIBUTES, METHODS, UTILITIES


PACKAGE = Path(trl_grpo_rewards.__file__).parent
DOCUMENTED = {"accelerator", "args", "model", "state", "train_dataset", "add_callback", "compute_loss", "train"}
"""Members of transformers' `Trainer` that its documentation describes."""


def members(module: str, class_name: str) -> tuple[set[str], set[str]]:
    """What a class reads or sets of itself and has not made itself; and the methods that it overrides or calls above."""
    (node,) = [
        node
        for node in ast.parse((PACKAGE / module).read_text()).body
        if isinstance(node, ast.ClassDef) and node.name == class_name
    ]
    methods = {child.name for child in node.body if isinstance(child, ast.FunctionDef)}
    used, own, above = set(), set(methods), set()
    for child in ast.walk(node):
        if isinstance(child, ast.Attribute) and isinstance(child.value, ast.Name) and child.value.id == "self":
            used.add(child.attr)
        if isinstance(child, ast.Attribute) and ast.unparse(child.value) == "super()":
            above.add(child.attr)
    for child in ast.walk(node):
        if (
            isinstance(child, ast.Attribute)
            and isinstance(child.ctx, ast.Store)
            and ast.unparse(child.value) == "self"
        ):
            own |= {child.attr} - {*ATTRIBUTES} - DOCUMENTED
    assert not [name for name in own - methods if re.search(rf"self\.{name}\b", inspect.getsource(GRPOTrainer))]
    overridden = {name for name in methods if hasattr(GRPOTrainer, name)}
    return used - own, above | overridden


def test_every_member_of_trl_that_the_trainer_uses_is_listed():
    used, methods = members("training/trainer.py", "FilteredGRPOTrainer")
    assert used - DOCUMENTED <= {*ATTRIBUTES, *METHODS}
    assert methods - DOCUMENTED - {"__init__", "_tag_names", "get_train_dataloader"} <= {*METHODS}
    for name in METHODS:
        assert name in methods | used, f"{name} is listed and not used"
    for name in ATTRIBUTES:
        assert name in used or name == "eos_token_ids", f"{name} is listed and not used"


def test_every_function_of_trl_is_listed():
    called = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "utils":
                called.add(node.attr)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trl."):
                assert node.module in ("trl.trainer", "trl.experimental.async_grpo") or file.name == "async_grpo.py"
    assert called == {*UTILITIES}


@pytest.mark.parametrize(
    "owner, name",
    [(GRPOTrainer, "_generate"), (utils, "split_pixel_values_by_grid")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_member_that_trl_has_moved_is_named_when_the_trainer_is_built(config, problems, monkeypatch, owner, name):
    monkeypatch.delattr(owner, name)
    with pytest.raises(ImportError, match=f"requires the members .* trl .* lacks '{name}'. Install a version"):
        FilteredGRPOTrainer("no/model", boxed(), args=config(), train_dataset=problems)


def test_an_attribute_that_trl_has_moved_is_named_when_the_trainer_is_built(config, problems, monkeypatch):
    monkeypatch.setattr(trl_members, "ATTRIBUTES", (*ATTRIBUTES, "_moved"))
    monkeypatch.setattr("trl_grpo_rewards.training.trainer.ATTRIBUTES", (*ATTRIBUTES, "_moved"))
    with pytest.raises(ImportError, match="lacks '_moved'"):
        FilteredGRPOTrainer(demo.MODEL, boxed(), args=config(), train_dataset=problems)
