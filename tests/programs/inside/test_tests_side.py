"""Tests run as they are written: the verdict is that of Python itself, and fewer tests never make a program pass less."""

import random

import pytest

from helpers.judged_programs import list_passing
from helpers.made_programs import FUNCTIONS, PIECES, join, make_pair
from helpers.plain_python import ask_python
from trl_grpo_rewards.programs.inside import tests_side
from trl_grpo_rewards.programs.inside.program_side import ProgramSide


def find_differences(pairs):
    ours, python = list_passing(pairs), ask_python(pairs)
    assert 0.2 * len(pairs) < sum(python) < 0.8 * len(pairs)
    return [pair for pair, one, other in zip(pairs, ours, python, strict=True) if one != other]


def test_the_verdict_on_made_programs_is_that_of_python():
    rng = random.Random(1)
    assert (
        find_differences([(program, join(pieces)) for program, pieces in (make_pair(rng) for _ in range(100))]) == []
    )


@pytest.mark.slow
def test_the_verdict_on_each_function_with_each_piece_of_tests_is_that_of_python():
    pairs = [(one, join([piece])) for name in FUNCTIONS for one in FUNCTIONS[name] for piece in PIECES[name]]
    assert find_differences(pairs) == []


def test_a_program_that_passes_all_tests_passes_fewer():
    rng, fewer = random.Random(7), {}
    while sum(map(len, fewer.values())) < 150:
        program, pieces = make_pair(rng)
        if len(pieces) > 1:
            parts = [pieces[:place] + pieces[place + 1 :] for place in range(len(pieces))]
            fewer[program, join(pieces)] = [(program, join(part)) for part in parts]
    passing = [pair for pair, is_passed in zip(fewer, list_passing(fewer), strict=True) if is_passed]
    parts = [part for pair in passing for part in fewer[pair]]
    assert len(parts) > 50 and all(list_passing(parts))


def test_what_the_program_may_ask_for_is_written_down():
    assert {*tests_side.TestsSide.operations} == {"call", "next", "readline"}


def test_what_the_tests_may_ask_for_is_written_down():
    assert {*ProgramSide.operations} == {*"load call special get set delete take wait mirror".split()}
