r"""Reading: bounded in time and depth, total, and once for each text."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trl_grpo_rewards import boxed
from trl_grpo_rewards.mathematics import grammar
from trl_grpo_rewards.mathematics.grammar import GRAMMAR, read_value
from trl_grpo_rewards.mathematics.matching import AnswerRules
from trl_grpo_rewards.mathematics.reader import Reader
from trl_grpo_rewards.mathematics.tokens import MAX_DIGITS, Unreadable, spell, tokenize
from trl_grpo_rewards.verify.verification import settle


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
    value = read_value(text)
    assert value is None or settle(text, text, AnswerRules()) is True
    assert isinstance(spell(text), str)


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
    settle(text, text, AnswerRules()), settle("5", text, AnswerRules()), spell(text)
    assert time.process_time() - start < 1.0


def test_brackets_have_partners():
    for text in ("a(b{c)}d", "a(b", "a)b"):
        with pytest.raises(Unreadable):
            Reader(tokenize(text), GRAMMAR).match_brackets()


def test_deep_texts_are_not_read():
    for text in ("(" * 400 + "x" + ")" * 400, "-" * 400 + "x", "1" + "/2" * 400):
        assert read_value(text) is None, text[:9]


def test_numbers_are_bounded():
    assert read_value("9" * (MAX_DIGITS + 1) + "x") is read_value("1e99999") is None
    assert settle("9" * (MAX_DIGITS + 1), "0" + "9" * (MAX_DIGITS + 1), AnswerRules()) is True
