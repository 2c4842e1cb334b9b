"""What honest programs define is there for the tests, in every style in which tests use it."""

from helpers.corpora import HONEST
from helpers.judged_programs import judge_all
from helpers.plain_python import ask_python
from trl_grpo_rewards.programs.inside.program_side import ProgramSide


LOST = {"returned queue", "format", "dict subclass"}
"""What the documentation says: methods of plain data on an object that a function returned, and a format alone."""


def test_honest_programs_are_paid():
    jobs = [(program, code, *filter(None, [entry_point])) for program, code, entry_point in HONEST.values()]
    trials = dict(zip(HONEST, judge_all(jobs), strict=True))
    lost = {style: one.failure for style, one in trials.items() if one.failure or one.passed != one.total}
    assert lost.keys() == LOST, lost
    assert len(HONEST) >= 130


OURS = {"capsys", "fixture", "fixtures", "pytest class", "async", "params"}
"""Styles for which the plain runner has no fixtures, no setup, no `pytest.param` and no event loop."""


def test_python_agrees():
    styles = [
        style
        for style, (_, code, entry_point) in HONEST.items()
        if not entry_point and style not in OURS and code[0] not in "[{"
    ]
    found = ask_python([HONEST[style][:2] for style in styles])
    assert [style for style, is_passed in zip(styles, found, strict=True) if not is_passed] == []


def test_what_the_tests_may_ask_for_is_written_down():
    assert {*ProgramSide.operations} == {
        "load",
        "call",
        "special",
        "get",
        "set",
        "delete",
        "take",
        "wait",
        "mirror",
    }
