"""Words, sentences and tokens."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.constraints.splitting import list_spaced_words, list_tokens, list_words, split_sentences


TEXTS = st.text(alphabet="ab A.!?\"'”)(\n,-1:", max_size=40)


@pytest.mark.parametrize("text", [
    "One.|Two!|Three?", "Dr. Smith met Mr. J. Jones at 3.5 p.m. in the U.S. capital.|He left.",
    'He said "No."|She left (at once!).|"Why?"|So.', "What?!|Oh, well...|The end",
    "See you on Jan. 5 or 6, e.g. at 3.", "He works at Acme Inc.|The pay is good.", "1.|Milk\n2.|Eggs",
    "It was version 2.|It was good.", "“It is so.”|Then she left.", "No end\nin two lines",
    "a.b.c and file.txt are names.",
])  # fmt: skip
def test_sentences_end_where_a_reader_ends_them(text):
    assert [*split_sentences(text.replace("|", " "))] == text.split("|")


@pytest.mark.parametrize("text, tokens", [
    ("I don't know, it's 3.5%!", ["I", "do", "n't", "know", ",", "it", "'s", "3.5", "%", "!"]),
    ("He saw U.S. ships. They left.", ["He", "saw", "U.S.", "ships", ".", "They", "left", "."]),
    ("**SO**—A well-known (one)", ["*", "*", "SO", "*", "*", "—", "A", "well-known", "(", "one", ")"]),
    ("at 10:30, or 1,000", ["at", "10:30", ",", "or", "1,000"]),
    ("Wait... 'tis so", ["Wait", "...", "'", "tis", "so"]),
])  # fmt: skip
def test_tokens(text, tokens):
    assert [*list_tokens(text)] == tokens


@given(TEXTS)
def test_nothing_is_lost(text):
    for parts in (split_sentences(text), list_tokens(text)):
        assert "".join("".join(parts).split()) == "".join(text.split())


@given(TEXTS)
def test_whitespace_at_the_ends_changes_nothing(text):
    assert split_sentences(f"\n {text} \n") == split_sentences(text.strip())


@given(TEXTS)
def test_words_have_no_punctuation(text):
    assert not {*"".join([*list_words(text), *list_spaced_words(text)])} & ({*string.punctuation} - {"_"})
