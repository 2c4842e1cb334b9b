r"""Reading: each text becomes one value, in bounded time and depth, and each notation gives the same value."""

import time
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trl_grpo_rewards import boxed
from trl_grpo_rewards.mathematics import reader
from trl_grpo_rewards.mathematics.comparison import compare
from trl_grpo_rewards.mathematics.matching import AnswerRules
from trl_grpo_rewards.mathematics.rationals import evaluate_exactly
from trl_grpo_rewards.mathematics.reader import read, read_value
from trl_grpo_rewards.mathematics.tokens import spell
from trl_grpo_rewards.mathematics.values import (
    Builder,
    Collection,
    Dashed,
    Labelled,
    Matrix,
    Number,
    Operation,
    Quantity,
    Ratio,
    Relation,
    Symbol,
    Text,
    Time,
)
from trl_grpo_rewards.verify.equality import settle


def is_equal(one, other, **rules):
    return compare(read(one), read(other), AnswerRules(**rules))


@pytest.mark.parametrize(
    "text, kind",
    [
        ("72", Number),
        ("1{,}000", Number),
        (r"\frac\pi2", Operation),
        (r"\frac{a+b}c", Operation),
        (r"\frac{12}{5,\!525}", Operation),
        (r"\sqrt{1,250}", Operation),
        (r"2,500\pi", Operation),
        (r"\sum_{k=1}^{n} k", Operation),
        (r"\int_0^1 x \, dx", Operation),
        ("x", Symbol),
        (r"18 \text{ integers}", Quantity),
        (r"60\ \frac{\text{km}}{\text{h}}", Quantity),
        ("The answer is 22 apples", Quantity),
        ("f'(x)=2x", Relation),
        (r"P(A\mid B)=\frac12", Relation),
        (r"-2 \le x < 7", Relation),
        (r"\{x \mid -1<x<1\}", Builder),
        ("（1，2）", Collection),
        (r"(-\infty, 3]", Collection),
        (r"5\text{ feet 6 inches}", Collection),
        (r"x = 1 \pm \sqrt2", Collection),
        (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", Matrix),
        ("1:2:3", Ratio),
        (r"7:30\text{ p.m.}", Time),
        ("2020-01-02", Dashed),
        ("B. Paris", Labelled),
        (r"\text{odd}", Text),
        ("no real solutions", Text),
    ],
)
def test_a_text_becomes_a_value(text, kind):
    assert isinstance(read(text), kind)


@pytest.mark.parametrize(
    "text, value",
    [
        ("-0.5", Fraction(-1, 2)),
        (".5", Fraction(1, 2)),
        ("+007", 7),
        ("1,234,567.5", Fraction(2469135, 2)),
        ("12 000", 12000),
        ("1.234.567,89", Fraction(123456789, 100)),
        ("1e3", 1000),
        ("1.5E-2", Fraction(3, 200)),
        ("-3/4", Fraction(-3, 4)),
        (r"\frac{-1.5}{3}", Fraction(-1, 2)),
        (r"-2 \frac{1}{3}", Fraction(-7, 3)),
        ("2 1/3", Fraction(7, 3)),
        (r"0.1\overline{6}", Fraction(1, 6)),
        (r"-0.\overline{9}", -1),
        (r"2.5 \times 10^{4}", 25000),
        (r"2.5\text{ million}", 2500000),
        ("1011_2", 11),
        (r"\binom{5}{2}", 10),
        (r"\sqrt{\frac{4}{9}}", Fraction(2, 3)),
    ],
)
def test_a_number_is_read_exactly(text, value):
    assert evaluate_exactly(read(text)) == value


@pytest.mark.parametrize(
    "text",
    ["", "+", "1/", "5 6", r"\frac{1}", "(1", "1)", "{", r"\text{seventy", "5 or", r"5\text{ or more}", "5 false"]
    + [r"\lim_{x \to 0} x", r"5\text{ k}", "Tom has 22 apples", "5 remainder 2", r"5\text{ out of 6}"],
)  # fmt: skip
def test_what_is_no_answer_is_not_read(text):
    assert read(text) is None


def test_each_text_is_read_once(monkeypatch):
    texts = []

    class CountingReader(reader.Reader):
        def __init__(self, tokens):
            texts.append("".join(token.text for token in tokens))
            super().__init__(tokens)

    monkeypatch.setattr(reader, "Reader", CountingReader)
    reader.read_cached.cache_clear()
    answers = [rf"\boxed{{{k}\sqrt{{2}} + x}}" for k in range(1, 7)] + [r"\boxed{5 or more}", r"\boxed{(3,4]}"]
    for _ in range(2):
        assert boxed()(completions=answers, solution=[r"x+\sqrt{8}"] * 8).count(1.0) == 1
    assert len(texts) == len(set(texts)) == 9


PIECES = [*"0123456789+-*/^_=<>|!,;:.'()[]{} $xyABie\\&%", "\\frac", "\\sqrt", "\\left", "\\right", "\\text{", "\\pm",
          "\\cup", "\\{", "\\}", "\\begin{pmatrix}", "\\end{pmatrix}", "\\\\", "\\sin", "\\int_0^1", "\\sum_{k=1}^{5}",
          " and ", " or ", " apples", "^\\circ", "\\infty", "\\le", "\\in", "10:30", "\\mathbb{R}", "个", "²"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=40))
@settings(deadline=None)
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
@settings(deadline=None, max_examples=150)
def test_no_text_takes_long(piece, size):
    text = piece * (size // len(piece))
    start = time.process_time()
    settle(text, text, AnswerRules()), settle("5", text, AnswerRules()), spell(text)
    assert time.process_time() - start < 1.0


integers = st.integers(-999, 999)
fractions = st.builds(Fraction, integers, st.integers(1, 60))


@given(fractions)
@settings(deadline=None)
def test_a_fraction_has_one_value_in_every_notation(value):
    above, below, sign = abs(value.numerator), value.denominator, "-" if value < 0 else ""
    written = [
        f"{sign}{above}/{below}",
        rf"{sign}\frac{{{above}}}{{{below}}}",
        rf"\dfrac{{{value.numerator}}}{{{below}}}",
    ]
    written += [rf"${sign}\tfrac{{{above}}}{{{below}}}$", rf"x = {sign}\frac{{{above}}}{{{below}}}"]
    if below > 1 and above > below:
        written.append(rf"{sign}{above // below}\frac{{{above % below}}}{{{below}}}")
    if below in (2, 4, 5, 8, 10, 20, 25, 40, 50):
        written.append(f"{float(value)}")
    assert all(is_equal(one, written[0]) is is_equal(written[0], one) is True for one in written)
    assert is_equal(f"{value + 1}", written[1]) is is_equal(written[1], f"{value + 1}") is False


@given(st.integers(1000, 10**9))
@settings(deadline=None)
def test_a_large_number_has_one_value_in_every_notation(value):
    grouped = f"{value:,}"
    for one in (
        grouped,
        grouped.replace(",", "{,}"),
        grouped.replace(",", ",\\!"),
        grouped.replace(",", "\\,"),
        f"{value}.0",
    ):
        assert is_equal(one, f"{value}") is True and is_equal(one, f"{value + 1}") is False


@given(integers, st.integers(1, 50), st.booleans(), st.booleans())
@settings(deadline=None)
def test_an_interval_has_one_value_in_every_notation(low, size, has_low, has_high):
    high = low + size
    opening, closing = "[" if has_low else "(", "]" if has_high else ")"
    below, above = "\\le" if has_low else "<", "\\leq" if has_high else "<"
    written = [
        f"{opening}{low}, {high}{closing}",
        rf"\left{opening}{low},{high}\right{closing}",
        f"{low} {below} x {above} {high}",
        rf"x \in {opening}{low}, {high}{closing}",
        rf"\{{x \mid {low} {below} x {above} {high}\}}",
        rf"\{{x : {low} {below} x {above} {high}\}}",
        rf"x {'≥' if has_low else '>'} {low} \text{{ and }} x {'≤' if has_high else '<'} {high}",
        f"{opening}{low}, {low + size / 2}] \\cup ({low + size / 2}, {high}{closing}",
    ]
    assert all(is_equal(one, other) is True for one in written for other in written)
    wrong = f"{'(' if has_low else '['}{low}, {high}{closing}"
    assert all(is_equal(one, wrong) is is_equal(wrong, one) is False for one in written)


@given(st.lists(integers, min_size=2, max_size=4, unique=True))
@settings(deadline=None)
def test_a_vector_and_a_set_have_one_value_in_every_notation(items):
    listed, cells = ", ".join(map(str, items)), r" \\ ".join(map(str, items))
    vectors = [rf"\langle {listed} \rangle", rf"\begin{{pmatrix}} {cells} \end{{pmatrix}}"]
    vectors += [f"({listed})", rf"\left[\begin{{array}}{{c}} {cells} \end{{array}}\right]"]
    if len(items) == 3:
        vectors.append("+".join(rf"({item})\mathbf{{{name}}}" for item, name in zip(items, "ijk", strict=True)))
        vectors.append(f"[{listed}]")
    assert all(is_equal(one, other) is True for one in vectors for other in vectors)
    backwards = ", ".join(map(str, items[::-1]))
    assert is_equal(f"({listed})", f"({backwards})") is False
    sets = [rf"\{{{listed}\}}", rf"\{{{backwards}\}}", listed, backwards, rf"{listed.replace(', ', ' or ')}"]
    assert all(is_equal(one, other) is True for one in sets for other in sets)
    assert is_equal(rf"\{{{listed}\}}", rf"\{{{listed}, 1000\}}") is False


@given(st.lists(st.integers(1, 99), min_size=3, max_size=4), st.integers(2, 9))
@settings(deadline=None)
def test_a_ratio_is_compared_term_by_term(terms, factor):
    ratio, scaled = ":".join(map(str, terms)), " : ".join(str(term * factor) for term in terms)
    assert is_equal(ratio, scaled) is is_equal(scaled, ratio) is True
    for place in range(1, len(terms)):
        other = [*terms[:place], terms[place] + 1, *terms[place + 1 :]]
        assert is_equal(ratio, ":".join(map(str, other))) is False
    assert is_equal(ratio, f"{terms[0]}/{terms[1]}") is False
