"""What a reader sees of a text."""

from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import exact, instructions, keywords, pattern, tags
from trl_grpo_rewards.constraints.splitting import count_letter, has_any_word, has_content, unfold
from trl_grpo_rewards.visible import drop_invisible


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


BLANKS = ["\u200b", "\u2060", "\ufeff", "\u00ad", "\u200e", "\u2800", "\u3164", "\0", "&nbsp;", " \n", ""]


def test_tags_with_nothing_to_see_in_them_are_empty():
    texts = [f"<think>{blank}</think>4" for blank in BLANKS]
    assert tags("think")(completions=[*texts, "<think>+</think>4"]) == [0.0] * len(BLANKS) + [1.0]


def test_words_are_found_whatever_invisible_is_in_them_and_however_accents_are_written():
    texts = ["ra\u200bin", "rain", "snow"]
    assert keywords(none=["rain"])(completions=texts) == [0.0, 0.0, 1.0]
    assert pattern("rain")(completions=texts) == [1.0, 1.0, 0.0]
    assert keywords(all=["caf\u00e9"])(completions=["cafe\u0301"]) == [1.0]
    assert exact()(completions=["Cafe\u0301 Noir"], solution=["Caf\u00e9 Noir"]) == [1.0]


MARKS_ALONE = [
    ("length_constraints:number_sentences", {"num_sentences": 10, "relation": "at least"}, "Rain. . . . . . . . . ."),
    ("length_constraints:number_sentences", {"num_sentences": 3, "relation": "at least"}, "Rain falls. 😀. 😀."),
    ("length_constraints:number_words", {"num_words": 10, "relation": "at least"}, "a _ _ _ _ _ _ _ _ _"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 3}, "* a\n* .\n* ."),
    ("detectable_content:number_placeholders", {"num_placeholders": 3}, "a [.] [.] [.]"),
    ("length_constraints:nth_paragraph_first_word", {"num_paragraphs": 3, "nth_paragraph": 1, "first_word": "rain"}, "rain\n\n.\n\n."),
]  # fmt: skip


def test_parts_made_of_marks_do_not_count():
    for name, arguments, text in MARKS_ALONE:
        filled = text.replace("_", "bee").replace(".", "bee.").replace("😀", "bee")
        columns = {"instruction_id_list": [[name]] * 2, "kwargs": [[arguments]] * 2}
        assert instructions()(completions=[text, filled], **columns) == [0.0, 1.0], name
