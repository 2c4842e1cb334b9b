"""tags: closed-form scores, attacks, and linear time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import tags


def score(completion, *names, **options):
    return tags(*names, **options)(completions=[completion])[0]


@pytest.mark.parametrize(
    "completion, paid",
    [
        ("<think>a</think>", 1.0),
        ("<think>a</think>4", 1.0),
        ("\n <think>\na\n</think>\n\nanswer\n", 1.0),
        ("<think>a < b</think>x", 1.0),
        ("Well, <think>a</think>4", 0.0),
        ("<think></think>4", 0.0),
        ("<think> \n </think>4", 0.0),
        ("<think>a", 0.0),
        ("a</think>4", 0.0),
        ("</think>a<think>", 0.0),
        ("<think>a</think><think>b</think>", 0.0),
        ("<think><think>a</think></think>", 0.0),
        ("<think>a</think></think>", 0.0),
        ("<Think>a</Think>", 0.0),
        ("<thinking>a</thinking>", 0.0),
        ("<think >a</think>", 0.0),
        ("", 0.0),
    ],
)
def test_one_tag_then_any_text(completion, paid):
    assert score(completion, "think") == paid


@pytest.mark.parametrize(
    "completion, strict, partial",
    [
        ("<think>a</think><answer>b</answer>", 1.0, 1.0),
        (" <think>a</think>\n\n<answer>b</answer> \n", 1.0, 1.0),
        ("<think>a</think> so <answer>b</answer>", 0.0, 0.5),
        ("<think>a</think><answer>b</answer> done", 0.0, 0.5),
        ("<answer>b</answer>", 0.0, 0.5),
        ("<think>a</think>", 0.0, 0.5),
        ("<answer>b</answer><think>a</think>", 0.0, 0.0),
        ("<think>a<answer>b</answer></think>", 0.0, 0.5),
        ("<think></think><answer>b</answer>", 0.0, 0.5),
        ("<think>a</think><answer></answer>", 0.0, 0.5),
        ("x<think>a</think><answer>b</answer>", 0.0, 0.5),
        ("<think>a</think><answer>b</answer><answer>c</answer>", 0.0, 0.5),
        ("<think><answer></think></answer>", 0.0, 0.5),
        ("nothing", 0.0, 0.0),
    ],
)
def test_two_tags_in_order_and_nothing_else(completion, strict, partial):
    assert score(completion, "think", "answer") == strict
    assert score(completion, "think", "answer", partial=True) == partial


@pytest.mark.parametrize(
    "completion, paid",
    [("a</think>4", 1.0), ("\na\n</think>\n4", 1.0), ("<think>a</think>4", 0.0), ("</think>4", 0.0), ("a", 0.0)],
)
def test_the_template_may_have_opened_the_first_tag(completion, paid):
    assert score(completion, "think", prefilled=True) == paid


def test_three_tags_share_evenly():
    assert score("<a>1</a><b></b><c>3</c>", "a", "b", "c", partial=True) == pytest.approx(2 / 3)


@pytest.mark.parametrize("names", [(), ("think", "think"), ("<think>",), ("",), ("a b",)])
def test_names_are_checked(names):
    with pytest.raises(ValueError, match="without brackets: tags\\('think', 'answer'\\)"):
        tags(*names)


@given(st.lists(st.sampled_from(["<a>", "</a>", "<b>", "</b>", "x", " "]), max_size=10).map("".join))
def test_partial_is_whole_exactly_where_strict_is(text):
    for names in (("a",), ("a", "b")):
        strict, partial = score(text, *names), score(text, *names, partial=True)
        assert (strict == 1.0) == (partial == 1.0) and 0.0 <= partial <= 1.0


@pytest.mark.parametrize("unit", ["<think>", "</think>", "<answer>\n", "<", "\n"])
def test_a_hostile_megabyte_costs_no_more_than_its_length(unit):
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    assert score(text, "think", "answer", partial=True) == 0.0
    assert time.process_time() - start < 1.0  # a quadratic scan takes hours
