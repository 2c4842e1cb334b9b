"""Forms: what satisfies two of them, and how they write a completion."""

import pytest

from trl_grpo_rewards.forms import ContradictoryForms, Form


def test_a_merged_form_has_what_both_ask_for():
    one = Form(tags=("think",), words=("so",), without=("sorry",))
    other = Form(tags=("think", "answer"), words=("so", "thus"), length=(9, "words"), answer="#### {}")
    merged = Form(("think", "answer"), False, ("so", "thus"), ("sorry",), "", (9, "words"), "#### {}")
    assert one.merge(other) == other.merge(one) == merged and one.merge(Form()) == one


@pytest.mark.parametrize("one, other, message", [
    (Form(words=("so",)), Form(without=("so",)), "one needs the text 'so'"),
    (Form(tags=("think",)), Form(tags=("plan",)), "one needs the tags"),
    (Form(tags=("think",), prefilled=True), Form(tags=("think",)), "the tag <think> to be open already"),
    (Form(length=(9, "words")), Form(length=(8, "words")), "one needs the length"),
    (Form(choices="AB"), Form(choices="ABC"), "one needs the choices 'AB', and another 'ABC'"),
])  # fmt: skip
def test_what_no_completion_has_is_said(one, other, message):
    for first, second in ((one, other), (other, one)):
        with pytest.raises(ContradictoryForms):
            first.merge(second)
    with pytest.raises(ContradictoryForms, match=message):
        one.merge(other)


def test_a_form_wraps_its_parts_in_its_tags():
    assert Form().wrap("w", "f") == "w\nf"
    assert Form(tags=("a",), prefilled=True).wrap("w", "f") == "w</a>\nf"
    assert Form(tags=("a", "b", "c")).wrap("w", "f") == "<a>w</a>\n<b>w</b>\n<c>f</c>"
    assert Form().write_answer("7") == "\\boxed{7}" and Form(answer="#### {}").write_answer("7") == "#### 7"
