"""Fields of dataclasses are read from their source."""

import sys
from dataclasses import MISSING, fields

import pytest
from trl import GRPOConfig, ModelConfig, SFTConfig

from trl_grpo_rewards import FilteredGRPOConfig
from trl_grpo_rewards.cli.declared_options import read_options


@pytest.mark.parametrize(
    "module, cls",
    [
        ("trl", GRPOConfig), ("trl", ModelConfig), ("trl", SFTConfig),
        ("trl_grpo_rewards.training.config", FilteredGRPOConfig),
    ],
)  # fmt: skip
def test_names_help_and_literal_defaults_are_those_of_the_class(module, cls):
    declared = {option.name: option for option in read_options(module, cls.__name__)}
    real = {field.name: field for field in fields(cls) if field.init}
    assert [*declared] == [*real]
    for name, field in real.items():
        assert declared[name].metadata.get("help") == field.metadata.get("help")
        assert declared[name].default in (None, field.default) or field.default is MISSING


def test_imports_are_followed_through_packages_and_fields_that_are_not_options_left_out(tmp_path, monkeypatch):
    (tmp_path / "made" / "inner").mkdir(parents=True)
    (tmp_path / "made" / "__init__.py").write_text("from .inner import Two as Three\n")
    (tmp_path / "made" / "inner" / "__init__.py").write_text(
        "from ..one import One\nclass Two(One):\n    c: list[str] | None = None\n    a: int = 5\n"
    )
    (tmp_path / "made" / "one.py").write_text(
        "raise SystemExit\nclass One:\n    a: int = 4\n    b: bool = field(default=True, metadata={'help': 'B', 'x': 1 + y})\n"
        "    hidden: int = field(init=False, default=1)\n    plain = 7\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    a, b, c = read_options("made", "Three")
    assert (a.name, a.default, a.metavar, a.spellings) == ("a", 5, "NUMBER", ["--a"])
    assert (b.help, b.metadata, b.nargs) == ("B Default: true.", {"help": "B"}, "?")
    assert (c.nargs, c.metavar, c.help) == ("+", "TEXT", "==SUPPRESS==")
    assert {*b.spellings} == {"--b", "--no_b", "--no-b"} and "made" not in sys.modules


@pytest.mark.parametrize("module, name", [("no_such_package", "A"), ("trl", "NoSuchClass"), ("trl.nowhere", "A")])
def test_what_is_not_found_is_a_lookup_error(module, name):
    with pytest.raises(LookupError):
        read_options(module, name)
