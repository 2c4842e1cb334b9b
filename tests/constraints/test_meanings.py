"""What each constraint demands: a text that meets it, and one from which the demanded thing was taken away."""

import itertools
import time

import pytest

from helpers.instructed import pay, read_texts
from trl_grpo_rewards.constraints import formats, occurrences, sentences, training
from trl_grpo_rewards.constraints.table import CONSTRAINTS


TOPICS = (formats, occurrences, sentences, training)
MEANINGS = read_texts("meanings.txt")


def test_every_constraint_is_here_and_in_a_topic():
    assert MEANINGS.keys() == CONSTRAINTS.keys() and len(CONSTRAINTS) == 112
    assert {one.function.__module__ for one in CONSTRAINTS.values()} == {topic.__name__ for topic in TOPICS}


def test_a_text_that_lacks_what_is_demanded_is_not_paid():
    scores = {
        name: (pay(name, given, met), pay(name, given, met, loose=True), pay(name, given, missed))
        for name, (given, met, missed) in MEANINGS.items()
    }
    assert {name: found for name, found in scores.items() if found != (1.0, 1.0, 0.0)} == {}


def test_a_missing_or_unknown_argument_is_never_paid():
    for name, (given, met, _) in MEANINGS.items():
        wrong = [{**given, "unknown": 1}]
        for argument, value in given.items():
            wrong.append({key: one for key, one in given.items() if key != argument})
            wrong += [{**given, argument: one} for one in (None, [], {}, True, -1, "", float("nan"))]
            if isinstance(value, int):
                assert pay(name, {**given, argument: float(value)}, met) == 1.0, (name, argument)
        assert [arguments for arguments in wrong if pay(name, arguments, met) is not None] == [], name


def test_a_text_without_content_meets_nothing():
    texts = ("", " \n", "\u200b" * 9, "...", "*** - []", "<<>>", "😀", '""')
    scores = {
        (name, text, loose): pay(name, MEANINGS[name][0], text, loose=loose)
        for name in MEANINGS
        for text in texts
        for loose in (False, True)
    }
    assert {case: score for case, score in scores.items() if score != 0.0} == {}


def test_relations_are_opposites():
    for name, (arguments, *texts) in MEANINGS.items():
        if relation := next((key for key in arguments if key.endswith("relation")), None):
            for text in texts:
                verdicts = [pay(name, {**arguments, relation: one}, text) for one in ("at least", "less than")]
                assert sorted(verdicts) == [0.0, 1.0], (name, text)


UNITS = (
    "a", "a ", ". ", ".", "!) ", "e.g. ", "1. ", "[", "<<", "<i>", "*", "* ", "\n- ", "\n*", "'", "n't", "?!", ", ", "“", "(", '"',
    "sun", "Section 1 ", "Question 1", "p.s.", "{", "1,", "x\n\n", "a\u0301", "1\u0301", "αa", "SEPARATOR", "My Answer:", "  ", "--",
)  # fmt: skip


@pytest.mark.slow
def test_no_text_is_slow():
    for name, unit in itertools.product(MEANINGS, UNITS):
        text = f"a{unit * 8000}"[:8000]
        start = time.thread_time()
        pay(name, MEANINGS[name][0], text)
        assert time.thread_time() - start < 1, (name, unit)
