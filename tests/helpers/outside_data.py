"""Data that the repository does not hold."""

import gzip
import json
import os
from pathlib import Path

import pytest


VARIABLE = "TRL_GRPO_REWARDS_DATA"
"""The environment variable that names the folder of the data. CONTRIBUTING.md says where the data come from."""


def find_outside_data(name: str) -> Path:
    """Return the path of a file of outside data. Skip the test if no folder is named; fail it if the file is missing."""
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set. CONTRIBUTING.md says which data it names.")
    path = Path(os.environ[VARIABLE]) / name
    if not path.is_file():
        pytest.fail(f"{VARIABLE} names {str(path.parent)!r}, which has no {name}. Add the file or unset the variable.")
    return path


def read_outside_data(name: str) -> list[dict]:
    """Return the rows of a gzipped file of JSON lines; see `find_outside_data`."""
    with gzip.open(find_outside_data(name), "rt") as file:
        return [json.loads(line) for line in file]
