r"""Finding the boxed answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.verify.boxes import boxed_answer, final_part


@pytest.mark.parametrize(
    "text, box",
    [
        (r"\boxed{7}", "7"),
        (r"\fbox{7}", "7"),
        (r"Thus $\boxed{\frac{1}{2}}$.", r"\frac{1}{2}"),
        (r"\boxed{3} no, \boxed{4}", "4"),
        (r"\boxed{3} and \fbox{4}", "4"),
        (r"\fbox{4} and \boxed{3}", "3"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{a \\{b} c}", r"a \\{b} c"),
        (r"\boxed{\left\{x}", r"\left\{x"),
        (r"\boxed{\text{a {b} c}} and {more}", r"\text{a {b} c}"),
        (r"\boxed {7}", "7"),
        (r"\boxed 7", "7"),
        (r"\boxed 72.", "72"),
        (r"$\boxed 7$ is it", "7"),
        (r"\boxed{3} then \boxed{4", None),
        (r"\boxed{}", ""),
        (r"\boxed{3} \boxed{}", ""),
        (r"\boxed", None),
        (r"\boxed ", None),
        (r"\boxedX{3}", None),
        ("no box", None),
        ("", None),
        ("\\boxed{\\", None),
    ],
)
def test_the_boxed_answer(text, box):
    assert boxed_answer(text) == box


@pytest.mark.parametrize(
    "text, part",
    [
        ("no reasoning", "no reasoning"),
        ("<think>a</think>b", "b"),
        ("prefilled</think>b", "b"),
        ("<think>never closed", ""),
        ("<think>a</think>b<think>c", "b"),
        ("<think>a</think>b</think>c", "c"),
    ],
)
def test_the_part_after_the_reasoning(text, part):
    assert final_part(text) == part


@given(st.text(alphabet="\\boxedfb{} 7$<>/think", max_size=60))
def test_any_text_can_be_scanned(text):
    box = boxed_answer(final_part(text))
    assert box is None or box in text


@given(
    st.recursive(st.text(alphabet="ab 1", max_size=4), lambda t: t.map("{{{}}}".format) | st.tuples(t, t).map("".join))
)
def test_what_was_boxed_comes_back(content):
    assert boxed_answer(f"so \\boxed{{{content}}} it is") == content


def test_a_megabyte_is_read_once():
    assert boxed_answer("\\boxed{" * 150_000) is None
    assert boxed_answer("{" * 500_000 + "\\boxed{4}" + "}" * 500_000) == "4"
    assert boxed_answer("\\boxed{" + "{" * 500_000) is None
