"""No completion and no solution can hold or end a run by being evaluated."""

import time

import pytest
from datasets import Dataset

from helpers.hostile_answers import CONTENTS, GOLDS, list_answers
from trl_grpo_rewards import answer, boxed, exact, instructions, json_fields, json_text, tool_calls
from trl_grpo_rewards.checks import check


REWARDS = [boxed(), boxed(evaluated=True), answer(), answer(tolerance=1e-6), boxed(tolerance=0.01)]
SECONDS = 1.0  # of a core, for one verdict; nearly all take less than a twentieth
# These were evaluated for seconds or without end, here or by math-verify
BEYOND = [
    r"\sum_{i=1}^{500}\sum_{j=1}^{500}\sum_{k=1}^{500} ijk", r"\prod_{i=1}^{500}\sum_{j=1}^{500}\sum_{k=1}^{i} jk",
    r"9^{9^{9^9}}", r"x \cdot 9^{9^{9^9}}", r"\binom{10^9}{5 \cdot 10^8}", r"\sum_{i=1}^{10^9} i", r"\sum_{i=1}^{10^9} x^i",
    r"7^{10^{10}} \bmod 13", r"\sin(10^{100000})", r"\Gamma(10^9)", r"e^{e^{e^{e^{10}}}}", r"\zeta(10^9)",
    r"\lfloor 10^{10^9} / 7 \rfloor", r"(x + 3)^{9^{9^9}}", r"0.\overline{" + "142857" * 900 + "}", "0x" + "F" * 5000,
    "2020-01-" + "1" * 5000, "1" * 5000, "1.5e99999", r"\frac{1}{" + "3" * 5000 + "}", "(" * 500 + "x" + ")" * 500,
]  # fmt: skip


def spend(reward, text, solution, **columns):
    """Return the score of a text, whose time is bounded."""
    start = time.process_time()
    (score,) = reward(completions=[text], solution=[solution], **columns)
    assert time.process_time() - start < SECONDS, text[:200]
    return score


@pytest.mark.parametrize("start", [0, 3000])
def test_no_text_in_any_place_of_the_grammar_holds_or_ends_a_run(start):
    """Long digits, deep levels and nested sums, as an answer and as a solution."""
    boxed()(completions=[r"\boxed{a \wr b}"], solution=["5"])  # starts math-verify
    tried = [*list_answers(6007, start)]
    assert len(tried) > 100 and {name.partition(" in ")[0] for name, *_ in tried} == CONTENTS.keys()
    for place, (_, text, gold) in enumerate(tried):
        reward = REWARDS[place % len(REWARDS)]
        assert spend(reward, rf"It is \boxed{{{text}}}", gold) in (0.0, 1.0, None)
        assert spend(reward, rf"It is \boxed{{{gold}}}", text) in (0.0, 1.0, None)


@pytest.mark.parametrize("gold", GOLDS)
def test_what_is_beyond_the_limits_is_unread_and_math_verify_is_not_asked(gold):
    for reward in (boxed(), answer(tolerance=1e-6)):
        logged = {}
        completions, solution = [rf"\boxed{{{text}}}" for text in BEYOND], [gold] * len(BEYOND)
        scores = reward(completions=completions, solution=solution, log_metric=logged.__setitem__)
        assert scores == [0.0] * len(BEYOND) and logged[f"{reward.name}/second_opinions"] == 0


def test_solutions_beyond_the_limits_are_unread_and_check_names_them():
    for text in BEYOND[:2]:
        assert boxed()(completions=[rf"\boxed{{{text}}}", r"\boxed{5}", "5"], solution=[text] * 3) == [None] * 3
    rows = {"prompt": [f"What is {n}?" for n in range(len(BEYOND))], "solution": BEYOND}
    start = time.process_time()
    faults = [fault for one in check(boxed(evaluated=True), Dataset.from_dict(rows)) for fault in one.faults]
    assert any("cannot be read" in fault or "unreadable" in fault for fault in faults), faults
    assert time.process_time() - start < 30


@pytest.mark.parametrize("text", ["1" * 5000, "1e99999", "[" * 500 + "]" * 500, "-" + "9" * 4301])
def test_long_numbers_in_json_and_other_texts_end_no_run(text):
    call = f'<tool_call>{{"name": "f", "arguments": {{"a": {text}}}}}</tool_call>'
    calls = ['[{"name": "f", "arguments": {"a": 1}}]']
    assert tool_calls()(completions=[call], tool_calls=calls) in ([0.0], [None])
    for reward in (json_fields(), json_fields(partial=True), exact()):
        assert reward(completions=[f'{{"a": {text}}}'], solution=['{"a": 1}']) == [0.0]
        assert reward(completions=['{"a": 1}'], solution=[f'{{"a": {text}}}'])[0] in (0.0, None)
    assert json_text({"type": "object"})(completions=[f'{{"a": {text}}}'])[0] in (0.0, 1.0)
    asked = {"instruction_id_list": [["detectable_format:json_format"]], "kwargs": [[{}]]}
    assert instructions()(completions=[f'{{"a": {text}}}'], **asked)[0] in (0.0, 1.0, None)
