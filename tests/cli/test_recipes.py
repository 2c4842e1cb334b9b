"""The files under scripts/recipes: every option in them exists, and every expression builds."""

import sys

import pytest
import yaml
from accelerate.commands.config.config_args import load_config_from_file

from helpers.paths import SCRIPTS
from trl_grpo_rewards import parse
from trl_grpo_rewards.cli.job import read_job


RECIPES = sorted((SCRIPTS / "recipes").glob("*.yaml"))


@pytest.mark.parametrize("path", [p for p in RECIPES if not p.name.startswith("accelerate")], ids=lambda p: p.stem)
def test_a_recipe_is_read_by_the_scripts(path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "--config", str(path), "--seed", "7"])
    given, training, model = read_job()
    written = yaml.safe_load(path.read_text())
    for name, value in written.items():
        owner = next(part for part in (given, training, model) if hasattr(part, name))
        assert name == "report_to" or getattr(owner, name) == value
    assert training.seed == 7
    assert str(parse(given.rewards)) == given.rewards


@pytest.mark.parametrize("path", [p for p in RECIPES if p.name.startswith("accelerate")], ids=lambda p: p.stem)
def test_a_launch_configuration_is_read_by_accelerate(path):
    config = load_config_from_file(str(path))
    assert config.num_processes == 8 * config.num_machines
    assert config.distributed_type == {1: "MULTI_GPU", 2: "DEEPSPEED"}[config.num_machines]


def test_without_arguments_it_is_the_bundled_task(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py"])
    given, training, model = read_job()
    assert given.dataset_name is model.model_name_or_path is None
    assert (training.max_steps, training.output_dir) == (60, "runs/addition")
    monkeypatch.setattr(sys, "argv", ["train.py", "--model_name_or_path=some/model", "--output_dir", "out"])
    given, training, model = read_job()
    assert (training.max_steps, training.learning_rate) == (-1, 1e-6)  # TRL's defaults
