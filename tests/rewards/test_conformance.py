r"""
Scores beside those of other libraries' rewards, where the names correspond, and where the two are meant to differ.

TRL's are called. open-r1's are compared with the formulas of its `src/open_r1/rewards.py`, written down here.
"""

import json
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trl.rewards import (
    get_cosine_scaled_reward,
    get_repetition_penalty_reward,
    get_soft_overlong_punishment,
    think_format_reward,
)

from trl_grpo_rewards import boxed, cosine, gate, overlong, pattern, repetition, shortest, tags, tool_calls


LENGTHS = st.integers(0, 300)


def of_tokens(tokens, **columns):
    return {"completions": [""], "completion_ids": [[1] * tokens], **columns}


def messages(text):
    return [{"role": "assistant", "content": text}]


@given(st.integers(2, 200), st.integers(1, 199), LENGTHS)
def test_overlong_is_the_soft_overlong_punishment_of_trl_and_up_to_the_maximum_of_ms_swift(max_tokens, cache, tokens):
    cache = min(cache, max_tokens - 1)
    (paid,) = overlong(max_tokens, cache=cache)(**of_tokens(tokens))
    assert [paid] == pytest.approx(get_soft_overlong_punishment(max_tokens, cache)([[1] * tokens]))
    assert paid == pytest.approx(max(min(-(tokens - (max_tokens - cache)) / cache, 0), -1))


@pytest.mark.parametrize("answer", ["4", "5"])
@pytest.mark.parametrize("tokens", [0, 1, 50, 99, 100, 101, 500])
def test_cosine_is_the_cosine_scaled_reward_of_trl(answer, tokens):
    columns = of_tokens(tokens, completions=[messages(rf"\boxed{{{answer}}}")], solution=["$4$"])
    theirs = get_cosine_scaled_reward(100, -1.0, -0.5, 0.25, 1.0)(**columns)
    assert cosine(boxed(), max_tokens=100, right=(1.0, 0.25))(**columns) == pytest.approx(theirs)


@pytest.mark.parametrize(
    "text, ours, theirs",
    [
        ("<think>a</think>4", 1.0, 1.0),
        ("<think>\na\n</think>\n4", 1.0, 1.0),
        ("a</think>4", 0.0, 0.0),
        ("<think>a", 0.0, 0.0),
        ("<think><think>a</think>4", 0.0, 0.0),
        ("4", 0.0, 0.0),
        # meant: nothing was thought, it was closed twice, and white space before it is none of the answer
        ("<think></think>4", 0.0, 1.0),
        ("<think>a</think></think>4", 0.0, 1.0),
        ("\n<think>a</think>4", 1.0, 0.0),
    ],
)
def test_tags_beside_the_think_format_of_trl(text, ours, theirs):
    assert tags("think")(completions=[text]) == [ours]
    assert think_format_reward([messages(text)]) == [theirs]


def tag_count(text):
    """open-r1: a quarter for each of four marks that occurs exactly once."""
    return sum(text.count(mark) == 1 for mark in ("<think>\n", "\n</think>\n", "\n<answer>\n", "\n</answer>")) / 4


@pytest.mark.parametrize(
    "text, ours, theirs",
    [
        ("<think>\na\n</think>\n<answer>\nb\n</answer>", 1.0, 1.0),
        ("<think>\na\n</think>\n", 0.5, 0.5),
        ("\n<answer>\nb\n</answer>", 0.5, 0.5),
        ("nothing", 0.0, 0.0),
        # meant: half a tag is none, line breaks are free, and a tag inside the other is no answer
        ("<think>\na", 0.0, 0.25),
        ("<think>a</think><answer>b</answer>", 1.0, 0.0),
        ("<think>\na\n<answer>\nb\n</answer>\n</think>\n", 0.5, 1.0),
    ],
)
def test_tags_in_part_beside_the_tag_count_of_open_r1(text, ours, theirs):
    assert tags("think", "answer", partial=True)(completions=[text]) == [ours]
    assert tag_count(text) == theirs


def length_reward(lengths, right):
    """open-r1, after Kimi k1.5: 0.5 to -0.5 by relative length, of which wrong answers get what is below 0."""
    if max(lengths) == min(lengths):
        return [0.0] * len(lengths)
    relative = [0.5 - (n - min(lengths)) / (max(lengths) - min(lengths)) for n in lengths]
    return [value if one else min(0, value) for value, one in zip(relative, right, strict=True)]


@given(st.lists(st.tuples(LENGTHS, st.booleans()), min_size=1, max_size=8))
def test_shortest_is_the_length_reward_of_open_r1_on_one_group(group):
    lengths, right = zip(*group, strict=True)
    scores = shortest(tags("a"))(
        completions=["<a>1</a>" if one else "" for one in right], completion_ids=[[1] * n for n in lengths]
    )
    assert scores == pytest.approx(length_reward(lengths, right))


@given(st.lists(st.integers(0, 4), max_size=40), st.integers(1, 5), st.sampled_from([1.0, 0.5]))
def test_repetition_is_the_repetition_penalty_of_trl(ids, ngram, weight):
    theirs = get_repetition_penalty_reward(ngram, -weight)([ids])
    assert (weight * repetition(ngram))(completions=[""], completion_ids=[ids]) == pytest.approx(theirs)


# --- open-r1, ms-swift and NeMo Gym: their formulas, written down here

STEP = r"(Step \d+:|^\d+\.|\n-|\n\*|First,|Second,|Next,|Finally,)"
BITS = [
    "<think>\n", "\n</think>\n", "<answer>\n", "\n</answer>", "Step 1:", "\n- a", "First,", "1. x", "so ",
    "```python\nx\n```",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(BITS), max_size=9).map("".join)
RIGHT = "<think>\na\n</think>\n<answer>\nSo\n```python\nx\n```\n</answer>"


@given(TEXTS)
def test_three_patterns_are_the_reasoning_steps_of_open_r1(text):
    steps = (1 / 3) * (pattern(STEP, name="one") + pattern(STEP, 2, name="two") + pattern(STEP, 3, name="three"))
    assert steps(completions=[text]) == [pytest.approx(min(1.0, len(re.findall(STEP, text)) / 3))]


@given(TEXTS | st.just(RIGHT))
def test_code_format_of_open_r1(text):
    theirs = r"^<think>\n.*?\n</think>\n<answer>\n.*?```python.*?```.*?\n</answer>$"
    code = pattern(r"<answer>[\s\S]*`{3}python[\s\S]*`{3}")
    paid = gate(tags("think", "answer"), by=code)(completions=[text])
    each_once = all(text.count(f"<{name}>") == text.count(f"</{name}>") == 1 for name in ("think", "answer"))
    assert paid == [float(re.match(theirs, text, re.DOTALL | re.MULTILINE) is not None)] or not each_once
    assert text != RIGHT or paid == [1.0]


CALL = st.builds(
    lambda name, arguments: {"name": name, "arguments": arguments},
    st.sampled_from("fg"),
    st.dictionaries(st.sampled_from("ab"), st.integers(0, 1), max_size=2),
)


@given(st.lists(CALL, max_size=4), st.lists(CALL, max_size=4))
def test_f1_of_calls_is_that_of_nemo_gym(made, expected):
    """Twice the number of matched calls, divided by all calls. Equal calls match, so counting them is the best matching."""
    text = "".join(f"<tool_call>{json.dumps(call)}</tool_call>" for call in made)
    count = [Counter(json.dumps(call, sort_keys=True) for call in calls) for calls in (made, expected)]
    total = len(made) + len(expected)
    f1 = 2 * (count[0] & count[1]).total() / total if total else 1.0
    assert tool_calls(score="f1")(completions=[text], tool_calls=[expected]) == [pytest.approx(f1)]
    assert tool_calls()(completions=[text], tool_calls=[expected]) == [float(f1 == 1)]  # binary_strict, xlam_fc
