"""Texts that look for the cheapest way to be paid for a constraint. A person would pay none of them."""

import pytest

from helpers.instructed import pay, read_texts
from trl_grpo_rewards import instructions


CHEATS = read_texts("cheats.txt")
EACH = [(name, given, text) for name, (given, texts) in CHEATS.items() for text in texts]


def test_no_cheat_is_paid():
    assert len(EACH) > 200
    for name, given, text in EACH:
        assert pay(name, given, text) == pay(name, given, text, partial=True) == 0.0, (name, text)


@pytest.mark.parametrize("loose", [False, True])
@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u200b", "\u2060\ufeff", "\u3164", "\u2800", ".", "***", "😀", "<think>a b c d e f</think>", "<think>So"])  # fmt: skip
def test_nothing_is_paid_for_nothing(text, loose):
    for name, (given, _) in CHEATS.items():
        assert pay(name, given, text, loose=loose) == 0.0, name


def test_no_constraints_are_not_paid():
    for names, arguments in (([], []), (None, None), ("[]", "[]"), ("", "")):
        columns = {"instruction_id_list": [names], "kwargs": [arguments]}
        assert instructions()(completions=["So it is."], **columns) == [None]


def test_constraints_that_forbid_are_not_met_by_hiding():
    few = {"relation": "less than", "num_words": 3, "num_sentences": 2}
    for kind in ("words", "sentences"):
        given = {name: few[name] for name in ("relation", f"num_{kind}")}
        for text in ("One. Two. Three.", "O\u200bne. Two\u2060. Three."):
            assert pay(f"length_constraints:number_{kind}", given, text) == 0.0
    no_e = {"letter": "e", "let_frequency": 1, "let_relation": "less than"}
    assert pay("keywords:letter_frequency", no_e, "Thе sun") == 0.0  # with a Cyrillic letter
    rare = {"keyword": "sun", "frequency": 1, "relation": "less than"}
    assert pay("keywords:frequency", rare, "the s\u200bun") == 0.0
