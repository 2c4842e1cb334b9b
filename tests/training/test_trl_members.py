"""The list of what this package uses of TRL beyond its documented interface is complete, and one error names what is missing."""

import ast
import functools
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import trl
from trl import GRPOTrainer
from trl.trainer import utils

import trl_grpo_rewards
from helpers.paths import ROOT
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, files
from trl_grpo_rewards.files import INSTALL_TRL, NEWEST_TESTED, OLDEST_SUPPORTED
from trl_grpo_rewards.training import trl_members
from trl_grpo_rewards.training.trl_members import (
    ATTRIBUTES,
    CALLED,
    METHODS,
    PARTS,
    UTILITIES,
    check_trl,
    warn_of_newer_trl,
)


PACKAGE = Path(trl_grpo_rewards.__file__).parent
DOCUMENTED = {
    *("accelerator", "args", "eval_dataset", "model", "processing_class", "state", "train_dataset"),
    *("add_callback", "compute_loss", "evaluate", "train"),
}
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
    assert used - DOCUMENTED <= {*ATTRIBUTES, *METHODS, *CALLED}
    assert methods - DOCUMENTED - {"__init__", "_tag_names", "get_train_dataloader"} <= {*METHODS}
    for name in METHODS:
        assert name in methods | used, f"{name} is listed and not used"
    assert {*CALLED} <= used | {*PARTS} <= used | {*CALLED, *METHODS} | DOCUMENTED
    for name in ATTRIBUTES:
        assert name in used, f"{name} is listed and not used"
    elsewhere = {name for file in PACKAGE.rglob("*.py") for name in re.findall(r"\btrainer\.(_\w+)", file.read_text())}
    of_trl = {name for name in elsewhere if re.search(rf"self\.{name}\b", inspect.getsource(GRPOTrainer))}
    assert of_trl and of_trl <= {*ATTRIBUTES}


def test_every_function_of_trl_is_listed():
    called = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "utils":
                called.add(node.attr)
            if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "trl":
                assert node.module == "trl" and {one.name for one in node.names} <= {*trl.__all__}, file
            assert not isinstance(node, ast.Import) or not any(one.name.startswith("trl.") for one in node.names), file
    assert called == {*UTILITIES}


@pytest.mark.parametrize(
    "owner, name",
    [(GRPOTrainer, "_generate"), (utils, "split_pixel_values_by_grid")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_member_that_trl_has_moved_is_named_when_the_trainer_is_built(config, problems, monkeypatch, owner, name):
    monkeypatch.delattr(owner, name)
    with pytest.raises(ImportError, match=f"requires '{name}' of .*, which trl .* has and trl .* lacks. Install a ve"):
        FilteredGRPOTrainer("no/model", boxed(), args=config(), train_dataset=problems)


# --- parameters


LOGPS = "_get_per_token_logps_and_entropies"


@pytest.mark.parametrize(
    "name, parameters, found",
    [
        ("_generate", "self, prompts, images", "(prompts, images)"),
        ("_generate", "self, images=None, prompts=None", "(images, prompts)"),
        ("_generate", "self, *, prompts, images", "(prompts, images)"),
        ("_calculate_rewards", "self, inputs, prompts, completions", "(inputs, prompts, completions)"),
        ("_get_train_sampler", "self", "()"),
        ("_prepare_inputs", "self, generation_batch, mode='train'", "(generation_batch, mode)"),
        (LOGPS, "self, model, attention_mask, input_ids, logits_to_keep", "(model, attention_mask, input_ids, logits_to"),
        (LOGPS, "self, model, batch, **kwargs", "(model, batch, ...)"),
    ],
)  # fmt: skip
def test_parameters_that_trl_has_changed_are_named_when_the_trainer_is_built(
    config, problems, monkeypatch, name, parameters, found
):
    monkeypatch.setattr(GRPOTrainer, name, eval(f"lambda {parameters}: None"))
    with pytest.raises(ImportError) as caught:
        FilteredGRPOTrainer("no/model", boxed(), args=config(), train_dataset=problems)
    assert f"requires that GRPOTrainer.{name} takes (" in str(caught.value) and f"it is {found}" in str(caught.value)


def test_methods_that_pass_everything_on_are_accepted():
    def wrap(method):
        return lambda self, *args, **kwargs: method(self, *args, **kwargs)

    for around in (wrap, lambda method: functools.wraps(method)(wrap(method))):
        methods = {name: around(getattr(GRPOTrainer, name)) for name in (*METHODS, *CALLED)}
        check_trl(FilteredGRPOTrainer, type("Between", (GRPOTrainer,), methods))


# --- versions --------------------------------------------------------------------------------------------------------


@pytest.fixture
def warned(monkeypatch, caplog):
    """The warnings with a version of TRL."""

    def warn(installed):
        caplog.clear()
        warn_of_newer_trl.cache_clear()
        for module in (files, trl_members):
            monkeypatch.setattr(module, "find_version", lambda name: installed if name == "trl" else "0.3.0")
        for _ in range(2):
            warn_of_newer_trl()
        return [record.message for record in caplog.records]

    yield warn
    warn_of_newer_trl.cache_clear()


def test_a_newer_minor_version_of_trl_is_warned_about_once(warned):
    major, minor = NEWEST_TESTED
    for tested in (f"{major}.{minor}.9", f"{major}.{minor}.0rc1", f"{major}.{minor - 1}.0", f"{major - 1}.99.0"):
        assert warned(tested) == []
    for newer in (f"{major}.{minor + 1}.0.dev0", f"{major}.{minor + 10}.0", f"{major + 1}.0"):
        assert warned(newer) == [
            f"trl {newer} is installed, but trl_grpo_rewards 0.3.0 was tested with trl {major}.{minor} and older. "
            f"Compare a short run with GRPOTrainer, or pip install 'trl<{major}.{minor + 1}'."
        ]


BETWEEN = "{}.{} to {}.{}".format(*OLDEST_SUPPORTED, *NEWEST_TESTED)
IMPORT = """
import sys
try:
    from trl_grpo_rewards{} import FilteredGRPOTrainer
except ImportError as error:
    print(error, {{"trl", "torch"}} & {{*sys.modules}} or "")
"""


@pytest.mark.parametrize("installed", ["0.24.0", "1.10.0", "1.13.2"])
@pytest.mark.parametrize(
    "command",
    [["-c", IMPORT.format("")], ["-c", IMPORT.format(".training")], ["-m", "trl_grpo_rewards.cli", "train"]],
    ids=["package", "folder", "command"],
)
def test_trl_is_not_imported_if_it_is_too_old(tmp_path, installed, command):
    metadata = tmp_path / f"trl-{installed}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: trl\nVersion: {installed}\n")
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, *command], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    said = done.stdout + done.stderr
    assert f"works with trl {BETWEEN}, but trl {installed} is installed. Run {INSTALL_TRL}." in said
    assert said.count("\n") == 1 and said.rstrip().endswith("'.")


def test_the_oldest_supported_version_is_that_of_the_dependencies():
    oldest = re.search(r'"trl>=(\d+)\.(\d+)\.0"', (ROOT / "pyproject.toml").read_text())
    assert tuple(map(int, oldest.groups())) == OLDEST_SUPPORTED


def test_the_readme_names_the_newest_tested_version():
    tested = re.search(r"with TRL (?:[\d.]+ and )?(\d+)\.(\d+)", (ROOT / "README.md").read_text())
    assert tuple(map(int, tested.groups())) == NEWEST_TESTED
