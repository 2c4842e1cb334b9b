"""pattern and keywords."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import keywords, pattern


@pytest.mark.parametrize(
    "options, completion, paid",
    [
        ({"regex": r"\d+"}, "12", 1.0),
        ({"regex": r"\d+"}, "none", 0.0),
        ({"regex": r"\d+", "at_least": 2}, "12", 0.0),
        ({"regex": r"\d+", "at_least": 2}, "12 and 3", 1.0),
        ({"regex": "aa", "at_least": 2}, "aaa", 0.0),
        ({"regex": "^so", "flags": "im"}, "First.\nSo it is.", 1.0),
        ({"regex": "^so"}, "First.\nSo it is.", 0.0),
        ({"regex": "a.b", "flags": "s"}, "a\nb", 1.0),
        ({"regex": r"\p{Han}"}, "漢", 1.0),
        ({"regex": ""}, "", 1.0),
    ],
)
def test_pattern(options, completion, paid):
    assert pattern(**options)(completions=[completion]) == [paid]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"regex": "("}, "regex='\\(', which is no expression: missing \\).* Correct it."),
        ({"regex": "a", "flags": "iq"}, "flags='iq'; there are a, i, m, s and x"),
        ({"regex": "a", "at_least": 0}, "at_least=0, which every text reaches"),
    ],
)
def test_pattern_checks_its_options(options, message):
    with pytest.raises(ValueError, match=message):
        pattern(**options)


@pytest.mark.parametrize(
    "options, completion, paid",
    [
        ({"all": ("because", "so")}, "So it is, BECAUSE.", 1.0),
        ({"all": ("because", "so")}, "because", 0.0),
        ({"any": ("because", "so")}, "because", 1.0),
        ({"any": ("because", "so")}, "sofa becauses", 0.0),
        ({"none": ("sorry",)}, "fine", 1.0),
        ({"none": ("sorry",)}, "Sorry!", 0.0),
        ({"all": ("a",), "any": ("b", "c"), "none": ("d",)}, "a, c", 1.0),
        ({"all": ("a",), "any": ("b", "c"), "none": ("d",)}, "a, c, d", 0.0),
        ({"all": ("c++",)}, "I like C++.", 1.0),
        ({"all": ("on the other hand",)}, "On the other hand, no.", 1.0),
        ({"all": ("straße",)}, "STRASSE", 1.0),
        ({"all": ("a.c",)}, "abc", 0.0),
    ],
)
def test_keywords(options, completion, paid):
    assert keywords(**options)(completions=[completion]) == [paid]


@pytest.mark.parametrize("options", [{}, {"all": ("",)}, {"any": []}])
def test_keywords_needs_words(options):
    with pytest.raises(ValueError, match="no words, or an empty one"):
        keywords(**options)


def test_keywords_wants_lists():
    with pytest.raises(TypeError, match="Option 'all' of 'keywords' is 'because'; it takes tuple"):
        keywords(all="because")


@given(st.text(min_size=1, max_size=8).filter(lambda word: word.casefold().strip()), st.text(max_size=20))
def test_a_word_between_spaces_occurs(word, around):
    assert keywords(all=(word,))(completions=[f"{around} {word} {around}"]) == [1.0]
