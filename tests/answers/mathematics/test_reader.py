r"""Reading: bounded in time and depth, total, and once for each text."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.tables import read_tables
from trl_grpo_rewards import boxed
from trl_grpo_rewards.answers.mathematics import grammar
from trl_grpo_rewards.answers.mathematics.grammar import GRAMMAR, read, read_uncached
from trl_grpo_rewards.answers.mathematics.kinds import commands
from trl_grpo_rewards.answers.mathematics.matching import AnswerRules
from trl_grpo_rewards.answers.mathematics.reader import Reader
from trl_grpo_rewards.answers.mathematics.tokens import MAX_DIGITS, MAX_TOKENS, Unreadable, spell_symbols, tokenize
from trl_grpo_rewards.answers.verification import settle


def test_each_text_is_read_once(monkeypatch):
    texts = []

    class CountingReader(Reader):
        def __init__(self, tokens, *rest):
            texts.append("".join(token.text for token in tokens))
            super().__init__(tokens, *rest)

    monkeypatch.setattr(grammar, "Reader", CountingReader)
    grammar.read_cached.cache_clear()
    answers = [rf"\boxed{{{k}\sqrt{{2}} + x}}" for k in range(1, 7)] + [r"\boxed{5 or more}", r"\boxed{(3,4]}"]
    for _ in range(2):
        assert boxed()(completions=answers, solution=[r"x+\sqrt{8}"] * 8).count(1.0) == 1
    assert len(texts) == len(set(texts)) == 9


PIECES = [*"0123456789+-*/^_=<>|!,;:.'()[]{} $xyABie\\&%", "\\frac", "\\sqrt", "\\left", "\\right", "\\text{", "\\pm",
          "\\cup", "\\{", "\\}", "\\begin{pmatrix}", "\\end{pmatrix}", "\\\\", "\\sin", "\\int_0^1", "\\sum_{k=1}^{5}",
          " and ", " or ", " apples", "^\\circ", "\\infty", "\\le", "\\in", "10:30", "\\mathbb{R}", "个", "²"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=40))
def test_reading_is_total_and_comparison_reflexive(text):
    value = read_uncached(text)
    assert value is None or settle(text, text, AnswerRules()) is True
    assert isinstance(spell_symbols(text), str)


@pytest.mark.slow
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join), st.sampled_from([40, 2_000, 64_000]))
@example("A) ", 2_000)
@example("B. ", 2_000)
@example("4个", 2_000)
@example("\\sqrt", 64_000)
@example("1 ft ", 64_000)
def test_no_text_takes_long(piece, size):
    text = piece * (size // len(piece))
    start = time.process_time()
    settle(text, text, AnswerRules()), settle("5", text, AnswerRules()), spell_symbols(text)
    assert time.process_time() - start < 1.0


def test_brackets_have_partners():
    for text in ("a(b{c)}d", "a(b", "a)b"):
        with pytest.raises(Unreadable):
            Reader(tokenize(text), GRAMMAR).match_brackets()


def test_deep_texts_are_not_read():
    for text in ("(" * 400 + "x" + ")" * 400, "-" * 400 + "x", "1" + "/2" * 400):
        assert read_uncached(text) is None, text[:9]


def test_numbers_are_bounded():
    assert read_uncached("9" * (MAX_DIGITS + 1) + "x") is read_uncached("1e99999") is None
    assert settle("9" * (MAX_DIGITS + 1), "0" + "9" * (MAX_DIGITS + 1), AnswerRules()) is True


# --- texts and their values; what the values are equal to is in tests/answers/cases.txt --------------------------------


UNREAD = ["", *(text for (text,) in read_tables("answers/mathematics/texts.txt")["not read"])]
UNREAD += [rf"{command}{{x}} + 1" for command in [*commands.UNREADABLE_COMMANDS, "\\foo"]]


def test_what_is_not_complete_or_no_answer_is_not_read():
    assert [text for text in UNREAD if read(text) is not None] == []


@pytest.mark.parametrize("text", [
    "$for all integers k 12", r"\text{number of ways}c{5}{4}$", r"9.8 \mathrm{m\,s^{-- 2}}", "5040!",
    "open word letter",
])  # fmt: skip
def test_odd_texts_raise_no_error(text):
    for gold, answer in [(text, text), (text, "5"), ("5", text)]:
        assert settle(gold, answer, AnswerRules(evaluated=True)) in (True, False, None)


# --- tokens: spellings that mean the same become the same tokens ------------------------------------------------------


def find_texts(text):
    return [token.text for token in tokenize(text)]


TABLES = read_tables("answers/mathematics/texts.txt")


def test_spellings_have_the_same_tokens():
    for spellings in TABLES["the same tokens"]:
        plain = [[text.replace("1,000", "1000") for text in find_texts(one) if text not in "{}"] for one in spellings]
        assert all(one == plain[0] for one in plain), spellings


def test_a_text_is_cut_into_tokens():
    assert [[text, *find_texts(text)] for text, *_ in TABLES["tokens"]] == TABLES["tokens"]


def test_a_token_knows_whether_space_is_before_it_and_whether_it_is_upright():
    assert [(token.spaced, token.upright) for token in tokenize(r"5 x\mathrm{m}")] == [
        (False, False), (True, False), (False, True),
    ]  # fmt: skip


def test_too_many_tokens_and_open_braces_are_not_read():
    for text in ("1 + " * MAX_TOKENS, r"\text{" * 100, r"\text{open", "{" * 100):
        with pytest.raises(Unreadable):
            tokenize(text)


def test_a_text_in_one_spelling():
    assert spell_symbols(r" \text{ Paris }. ") == spell_symbols("**Paris**") == "Paris"
    assert (
        spell_symbols(r"\frac12") != spell_symbols(r"\frac{12}")
        and spell_symbols("x  +  1") == spell_symbols("x+1") == "x+1"
    )
    assert spell_symbols(r"\alpha b") == r"\alpha b" and spell_symbols("5 6") == "5 6"
    assert spell_symbols("open {") == "open {"
