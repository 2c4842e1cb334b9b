"""The meaning of words next to a value."""

from trl_grpo_rewards.mathematics.words import (
    changes,
    find_number_word,
    find_scale,
    has_role,
    is_label,
    normalize_words,
)


def test_the_meaning_of_words():
    assert find_number_word(["two", "hundred", "five"]) == 205 and find_number_word(["one", "of"]) is None
    assert find_scale("million") == 10**6 and find_scale("dozens") == 12 and find_scale("apples") is None
    assert is_label("answer") and is_label("答案是") and not is_label("不是") and not is_label("apples")
    assert normalize_words(["there", "is", "no", "solution"]) == normalize_words(["none"]) == ("no", "solution")
    assert normalize_words(["the", "boxes"]) == ("box",)
    assert has_role("Twenty", "numeral", "verb") and changes("NOT") and not changes("apples")
