"""No count of how hard the package is to read passes its limit. To see what is over one: `python scripts/measure_code.py --worst 20`."""

import ast
import sys

import pytest

from helpers.paths import TESTS


sys.path.insert(0, str(TESTS.parent / "scripts"))
from measure_code import LIMITS, PACKAGE, count_files, count_tokens, measure_function


SAMPLE = '''
"""A docstring."""
first, second = 1, 2


def judge(values):
    """Another one."""
    for value in values:
        if value > 1 and value < 3:
            continue
        elif value:
            return [one for one in values if one]
    return None
'''


@pytest.fixture(scope="module")
def numbers():
    return count_files(PACKAGE).numbers


@pytest.mark.parametrize("name", LIMITS)
def test_no_count_is_over_its_limit(name, numbers):
    assert 0 < numbers[name] <= LIMITS[name]


def test_a_sample_is_counted_by_hand(tmp_path):
    (tmp_path / "one.py").write_text(SAMPLE)
    (tmp_path / "two.py").write_text("def judge():\n    pass\n")
    count = count_files(tmp_path)
    tree = ast.parse(SAMPLE)
    judge = measure_function(tree.body[2], "one.py")
    assert judge == (1 + 2 + 1 + 1 + 2, 1 + 1 + 2 + 1 + 2, "one.py:6 judge")
    assert count_tokens(SAMPLE, tree) == (7 + 6 + 5 + 9 + 1 + 3 + 10 + 2, 8)
    assert (count.pairs, count.shared) == (1, {"judge": ["one.py", "two.py"]})
