"""The stand-in for pytest does what pytest does."""

import math

import numpy as np
import pytest

from trl_grpo_rewards.sandbox.programs.inside import pytest_stand_in as ours


NUMBERS = (
    0, 1, 1.0, 1 + 5e-7, 1 + 2e-6, 1e-13, 1e-11, -1, math.inf, -math.inf, math.nan, 1e300, True, 10**30, 2 + 1e-9j,
)  # fmt: skip


@pytest.mark.parametrize(
    "options", [{}, {"rel": 1e-3}, {"abs": 1e-3}, {"rel": 1e-9, "abs": 1e-9}, {"nan_ok": True}, {"rel": 0}]
)
def test_numbers_are_close_as_in_pytest(options):
    for expected in NUMBERS:
        for found in NUMBERS:
            same = found == pytest.approx(expected, **options)
            assert (found == ours.Approx(expected, **options)) == same, (found, expected)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ([1.0, 2.0], [1.0, 2.0 + 1e-9]), ([1.0, 2.0], [1.0, 2.1]), ([1.0], [1.0, 2.0]), ([1.0, 2.0], [1.0]),
        ((1.0,), (1.0 + 1e-9,)), ({"a": 1.0}, {"a": 1.0 + 1e-9}), ({"a": 1.0}, {"a": 1.1}), ({"a": 1.0}, {"b": 1.0}),
        ("text", "text"), ("text", "texts"), (None, None), (np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-9])),
        (1.0, "1.0"), (1.0, None),
    ],
)  # fmt: skip
def test_collections_are_close_as_in_pytest(expected, found):
    assert (found == ours.Approx(expected)) == bool(np.all(found == pytest.approx(expected)))


def test_raises():
    with ours.raises(ValueError, match="b.d") as raised:
        raise ValueError("a bad one")
    assert raised.type is ValueError and str(raised.value) == "a bad one" and raised.match("one$")
    assert isinstance(ours.raises((KeyError, TypeError), int, None).value, TypeError)
    for kinds, match, error in ((KeyError, None, ValueError("x")), (ValueError, "other", ValueError("x"))):
        with pytest.raises((ValueError, AssertionError)):
            with ours.raises(kinds, match=match):
                raise error
    with pytest.raises(AssertionError, match="was not raised"):
        with ours.raises(ValueError):
            pass
