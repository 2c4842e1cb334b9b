"""Marks of parameters and of tests."""

from collections.abc import Iterable

import pytest


def slow_except(quick: Iterable, values: Iterable) -> list:
    """Return the values as parameters of a test, all but the quick ones with the mark `slow`."""
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]
