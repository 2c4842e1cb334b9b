"""The script that runs the gradient tests with the source of TRL, here a stand-in without tests to run."""

import pytest


@pytest.fixture
def source(tmp_path):
    package = tmp_path / "source" / "trl"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from importlib.metadata import version\n__version__ = version('trl')\n")
    (package.parent / "VERSION").write_text("9.9.0.dev0\n")
    return package.parent


@pytest.mark.parametrize("option, outcome", [("--version", "pass"), ("--no-such-option", "fail")])
def test_the_version_of_the_source_is_printed_with_the_outcome(script, source, option, outcome):
    run = script("trl_checkout.py", "--trl", source, option)
    assert run.stdout == f"The gradient tests {outcome} with trl 9.9.0.dev0 in {source}.\n"
    assert (run.returncode == 0) == (outcome == "pass")
