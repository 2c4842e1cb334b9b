"""What a failure says."""

import sys

import pytest

from trl_grpo_rewards.programs.inside.runner import describe_call, describe_error, find_failing_line, show


@pytest.fixture(autouse=True)
def digits():
    """The process of a program has no limit of digits, and that of the tests keeps its own."""
    limit = sys.get_int_max_str_digits()
    yield
    sys.set_int_max_str_digits(limit)


def test_values_are_shown_shortened_and_never_slowly():
    assert show([1, "a"]) == "[1, 'a']" and len(show("x" * 9999)) == 203
    assert show(10**100_000) == "<int>"

    class Loud:
        def __repr__(self):
            raise ValueError

    assert show(Loud()) == "<Loud>"


def test_calls_and_errors():
    class Stack:
        pass

    assert describe_call(None) == ""
    assert describe_call(Stack, (1,), {"b": 2}, "returned", [3]) == "; the last call, Stack(1, b=2), returned [3]"
    assert describe_call(Stack, (), {}, "raised", KeyError("x")) == "; the last call, Stack(), raised KeyError: 'x'"
    assert describe_call(Stack, (), {}, "did not return") == "; the last call, Stack(), did not return"
    assert describe_error(ValueError("a\nb")) == "b" and describe_error(AssertionError()) == "AssertionError"


def test_errors_outside_the_tests_have_no_line():
    try:
        raise ValueError
    except ValueError as error:
        assert find_failing_line(error) == ""
