"""Marks of parameters and of tests."""

from collections.abc import Iterable
from importlib.util import find_spec

import pytest


def slow_except(quick: Iterable, values: Iterable) -> list:
    """Return the values as parameters of a test, all but the quick ones with the mark `slow`."""
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]


HAS_GENERATORS = find_spec("reasoning_gym") is not None
needs_generators = pytest.mark.skipif(not HAS_GENERATORS, reason="reasoning-gym is not installed")
