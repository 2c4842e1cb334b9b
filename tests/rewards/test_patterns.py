"""What occurs in a completion: expressions, words, citations, equations."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import citations, equations, keywords, pattern
from trl_grpo_rewards.rewards import patterns


@pytest.mark.parametrize(
    "options, completion, paid",
    [
        ({"regex": r"\d+"}, "12", 1.0), ({"regex": r"\d+"}, "none", 0.0),
        ({"regex": r"\d+", "at_least": 2}, "12", 0.0), ({"regex": r"\d+", "at_least": 2}, "12 and 3", 1.0),
        ({"regex": "aa", "at_least": 2}, "aaa", 0.0), ({"regex": "aa", "at_least": 2}, "aaaa", 1.0),
        ({"regex": "A"}, "a", 0.0), ({"regex": "^so", "flags": "im"}, "First.\nSo it is.", 1.0),
        ({"regex": "^so"}, "First.\nSo it is.", 0.0), ({"regex": "a.b", "flags": "s"}, "a\nb", 1.0),
        ({"regex": r"\p{Han}"}, "漢", 1.0), ({"regex": ""}, "", 1.0),
    ],
)  # fmt: skip
def test_pattern(options, completion, paid):
    assert pattern(**options)(completions=[completion]) == [paid]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"regex": "("}, "a valid regular expression; got regex='\\(': missing \\)"),
        ({"regex": "a", "flags": "iq"}, "supports the flags a, i, m, s and x; got flags='iq'"),
    ],
)
def test_pattern_checks_its_options(options, message):
    with pytest.raises(ValueError, match=message):
        pattern(**options)


@pytest.mark.parametrize("at_least, paid", [(1, 0.0), (2, 0.0)])
def test_a_pattern_that_takes_too_long_is_no_match_and_is_named_once(at_least, paid, caplog):
    patterns.warn_of_slow.cache_clear()
    slow = pattern("(b+)+$|ok", at_least=at_least, timeout=0.05)
    start = time.thread_time()
    assert slow(completions=["b" * 60_000 + "a", "b" * 60_000 + "c", "ok ok"]) == [paid, paid, 1.0]
    assert time.thread_time() - start < 1.0
    (record,) = caplog.records
    assert "'(b+)+$|ok' was stopped after 0.05 s. The text counts as not matching" in record.message


@pytest.mark.parametrize(
    "options, completion, paid",
    [
        ({"all": ("because", "so")}, "So it is, BECAUSE.", 1.0), ({"all": ("because", "so")}, "because", 0.0),
        ({"any": ("because", "so")}, "because", 1.0), ({"any": ("because", "so")}, "sofa becauses", 0.0),
        ({"none": ("sorry",)}, "fine", 1.0), ({"none": ("sorry",)}, "Sorry!", 0.0),
        ({"all": ("a",), "any": ("b", "c"), "none": ("d",)}, "a, c", 1.0),
        ({"all": ("a",), "any": ("b", "c"), "none": ("d",)}, "a, c, d", 0.0), ({"all": ("c++",)}, "I like C++.", 1.0),
        ({"all": ("on the other hand",)}, "On the other hand, no.", 1.0), ({"all": ("straße",)}, "STRASSE", 1.0),
        ({"all": ("a.c",)}, "abc", 0.0),
    ],
)  # fmt: skip
def test_keywords(options, completion, paid):
    assert keywords(**options)(completions=[completion]) == [paid]


@pytest.mark.parametrize("options", [{}, {"all": ("",)}, {"any": []}])
def test_keywords_needs_words(options):
    with pytest.raises(ValueError, match="requires at least one word"):
        keywords(**options)


def test_keywords_wants_lists():
    with pytest.raises(TypeError, match="Option 'all' of 'keywords' must be of type tuple"):
        keywords(all="because")


@given(st.text(min_size=1, max_size=8).filter(lambda word: word.casefold().strip()), st.text(max_size=20))
def test_a_word_between_spaces_occurs(word, around):
    assert keywords(all=(word,))(completions=[f"{around} {word} {around}"]) == [1.0]


@pytest.mark.parametrize(
    "completion, cites",
    [
        ("So it is [1].", True), ("[2, 3]", True), ("[2-4]", True), ("as shown[12]", True), ("(Smith, 2020)", False),
        ("<think>none</think> [1]", True), ("<think>[1]</think> none", False), ("wet.[1][2]", True),
        ("(see [1])", True), ("**wet [1]**", True), ("<answer>wet [1] </answer>", True), ("vitamin C[1]", True),
        ("x[1] = 3", False), ("so x[1] is", False), ("rows[1] = 3", False), ("a = [1, 2]", False),
        ("np.zeros([3, 4])", False), ("[1](http://x)", False), ("[2020]", False), ("[0]", False), ("[a]", False),
        ("[1", False), ("(2020)", False), (r"\sqrt[3]{8}", False), (r"\[4\]", False),
        ("", False),
    ],
)  # fmt: skip
def test_what_is_a_citation(completion, cites):
    assert citations()(completions=[completion]) == [float(cites)]


SOURCES = ["On water", "On fire", "On air"]


@pytest.mark.parametrize("completion, paid", [
    ("[1] [2] [3]", 1.0), ("[4]", 0.0), ("[1] [1] [4]", 0.5), ("[1-4]", 0.5), ("none", 0.0),
    ("".join(f"[{n}]" for n in range(1, 301)), 0.01),
])  # fmt: skip
@pytest.mark.parametrize("column", [SOURCES, "\n\n".join(SOURCES)])
def test_the_share_of_citations_that_exist(completion, paid, column):
    assert citations(sources="found")(completions=[completion], found=[column]) == [paid]


def test_sources_stand_in_a_column():
    value = citations(sources="found")
    assert value.columns == {"found"} and citations().columns == frozenset()
    assert value(completions=["[1]", "[1]"], found=[None, []]) == [None, 0.0]
    assert value(completions=["[1]", "[1], [2]"], found=[[None], ["", "two"]]) == [0.0, 0.5]
    with pytest.raises(ValueError, match="needs the column 'found'"):
        value(completions=["[1]"])
    with pytest.raises(ValueError, match="to be a list of texts, .* got 3. Convert the column"):
        value(completions=["[1]"], found=[3])


@pytest.mark.parametrize(
    "completion, held, occurs",
    [
        ("48 / 2 = 24", 1.0, 1.0), (r"<think>$3 \times 4 = 12$</think>12", 1.0, 1.0),
        ("1 + 1 = 3 and 1 + 2 = 3", 0.5, 1.0), ("1 + 2 = 4\n" * 9 + "1 + 1 = 2", 0.5, 1.0),
        ("1 = 1, 2 + 2 = 2 + 2", 0.0, 1.0), ("E = mc^2", 0.0, 1.0),
        (r"\begin{align} x &= \frac12 \end{align}", 0.0, 1.0), ("a == b, a <= b, a => b, a != b", 0.0, 0.0),
        ("= 4", 0.0, 0.0), ("4", 0.0, 0.0), ("", 0.0, 0.0),
    ],
)  # fmt: skip
def test_equations_hold_or_occur(completion, held, occurs):
    assert equations()(completions=[completion]) == [held]
    assert equations(hold=False)(completions=[completion]) == [occurs]
