"""What is released agrees with the repository: the wheel, the sdist, the pages, and the files about the release."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from helpers.paths import ROOT


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
NOT_RELEASED = (".git", ".*cache", ".hypothesis", ".venv", "*.egg-info", "__pycache__", "build", "dist", "runs")
"""What git ignores, or is git's own."""

BUILD = """
import sys
from setuptools import build_meta
print(getattr(build_meta, sys.argv[1])(sys.argv[2]))
"""


def build(kind: str, source: Path, out: Path) -> Path:
    """Build a wheel or an sdist with the build backend of the project."""
    command = [sys.executable, "-c", BUILD, f"build_{kind}", str(out)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return out / done.stdout.splitlines()[-1]


def list_files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The files of the repository that are released, without what a build leaves behind."""
    folder = tmp_path_factory.mktemp("release") / "repository"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_RELEASED))
    return folder


@pytest.fixture(scope="module")
def files(copy):
    return list_files(copy)


@pytest.fixture(scope="module")
def sdist(copy, files):
    """The unpacked sdist."""
    with tarfile.open(build("sdist", copy, copy.parent)) as archive:
        archive.extractall(
            copy.parent, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {})
        )  # from 3.11.4 on
    return copy.parent / f"trl_grpo_rewards-{PROJECT['version']}"


@pytest.fixture(scope="module")
def wheel(sdist, files):
    """The wheel, which is built from the sdist, as it is for users. The files of the sdist are listed before."""
    return ZipFile(build("wheel", sdist, sdist.parent))


def test_every_place_names_the_same_version():
    version = PROJECT["version"]
    heading = re.search(r"^## (\d.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert heading.split(" - ") == [version, str(citation["date-released"])] and str(citation["version"]) == version
    assert f"Version {version.rpartition('.')[0]} " in (ROOT / "SECURITY.md").read_text()
    assert f"git tag v{version} && git push origin v{version}" in (ROOT / "CONTRIBUTING.md").read_text()
    if os.environ.get("GITHUB_REF_TYPE") == "tag":  # what the workflow is about to publish
        assert os.environ["GITHUB_REF_NAME"] == f"v{version}"
    assert [one["name"] for one in citation["authors"]] == [one["name"] for one in PROJECT["authors"]]
    assert citation["license"] == PROJECT["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_the_pages_name_only_extras_and_addresses_that_exist():
    extras = {*PROJECT["optional-dependencies"]}
    readme = PAGES[0].read_text()
    for page in PAGES:
        text = page.read_text()
        assert {*re.findall(r"pip install[^\n`]*(?<!trl)\[(\w+)\]", text)} <= extras, page.name
    assert all(url in readme for url in PROJECT.get("urls", {}).values())


def test_the_readme_names_the_oldest_versions():
    readme = PAGES[0].read_text()
    (trl,) = [one for one in map(Requirement, PROJECT["dependencies"]) if one.name == "trl"]
    assert f"TRL {str(trl.specifier).removeprefix('>=')}" in readme
    python = PROJECT["requires-python"].removeprefix(">=")
    assert f"Python {python} or newer" in readme
    listed = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert listed and all(version in SpecifierSet(PROJECT["requires-python"]) for version in listed)


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package(wheel, files):
    packaged = {name for name in wheel.namelist() if ".dist-info/" not in name and not name.endswith("/")}
    assert packaged == {name for name in files if name.startswith("trl_grpo_rewards/")}
    assert {"trl_grpo_rewards/py.typed", "trl_grpo_rewards/demo/model/model.safetensors"} <= packaged
    (licence,) = [name for name in wheel.namelist() if name.endswith("licenses/LICENSE")]
    assert wheel.read(licence) == (ROOT / "LICENSE").read_bytes()
    (entries,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert "trl-grpo-rewards = trl_grpo_rewards.cli.main:main" in wheel.read(entries).decode()


@pytest.mark.slow
def test_the_sdist_has_every_file_and_can_run_the_tests(sdist, files):
    made = {name for name in list_files(sdist) if "egg-info" in name} | {"PKG-INFO", "setup.cfg"}
    assert list_files(sdist) - made - {name for name in list_files(sdist) if name.startswith("build/")} == files - {
        ".gitignore"
    }
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
    command += [f"tests/test_{name}.py" for name in ("release", "public_api", "parsing")]
    environment = {**os.environ, "PYTHONPATH": str(sdist)}
    run = subprocess.run(command, cwd=sdist, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0 and " passed" in run.stdout, run.stdout[-3000:]


def test_every_package_that_is_imported_is_declared():
    """What only some rewards or trackers need is an extra, or comes with the environment or engine that is used."""
    imported = {
        name.split(".")[0]
        for file in (ROOT / "trl_grpo_rewards").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    } - {*sys.stdlib_module_names, "trl_grpo_rewards"}
    declared = {canonicalize_name(Requirement(one).name) for one in PROJECT["dependencies"]}
    optional = {
        canonicalize_name(Requirement(one).name)
        for extra in PROJECT["optional-dependencies"].values()
        for one in extra
    }
    distributions = {"yaml": "pyyaml"}
    names = {canonicalize_name(distributions.get(name, name)) for name in imported}
    foreign = {"huggingface-hub"}  # which transformers brings
    assert declared <= names and names - declared - foreign <= optional
