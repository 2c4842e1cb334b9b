"""Small programs end in the jail as expected, on machines of every kind."""

import json
import subprocess
import sys

import pytest

from helpers.jailed_programs import EXPECTED, list_wrong
from helpers.paths import TESTS


@pytest.mark.skipif(sys.platform != "linux", reason="the jail needs Linux")
def test_the_programs_end_as_expected():
    script = str(TESTS / "helpers" / "jailed_programs.py")
    done = subprocess.run([sys.executable, script, "1"], capture_output=True, text=True, check=True)
    results = {result["program"]: result for result in map(json.loads, done.stdout.splitlines())}
    assert {name: wrong for name, result in results.items() if (wrong := list_wrong(name, result))} == {}
    assert results.keys() == EXPECTED.keys()
