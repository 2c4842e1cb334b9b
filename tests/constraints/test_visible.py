"""What a reader sees of a text."""

from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.constraints.visible import count_letter, drop_invisible, has_any_word, has_content, unfold


@given(st.text(alphabet="aб 1.\u200b\u200d\u2060\ufeff\u00ad\ufe0f"))
def test_invisible_characters_change_nothing(text):
    assert drop_invisible(text) == "".join(one for one in text if one in "aб 1.")
    assert has_content(drop_invisible(text)) == any(one in text for one in "aб1")


def test_a_disguised_word_is_found_and_another_word_is_not():
    disguised = ["bad", "BAD!", "bаd", "ｂａｄ", "𝐛𝐚𝐝", "b\u0332a\u0332d\u0332", "ⓑad", "a bαd day"]
    assert [text for text in disguised if not has_any_word(["good", "bad"], text)] == []
    others = ["badly", "bd", "вад", "b\u00e4d", "ба д", "ab", "été", "bad_"]
    assert [text for text in others if has_any_word(["bad"], text)] == []


def test_letters_are_counted_in_disguise():
    assert count_letter("e", "Еve, eve, ｅ") == 5 and count_letter("e", "Ева") == 0
    assert unfold("ｎｏ") == "no"
