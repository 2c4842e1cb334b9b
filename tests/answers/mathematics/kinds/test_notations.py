r"""Laws of notations: a value of each kind is the same however it is written, and another value is another one."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from helpers.values import is_equal
from trl_grpo_rewards.answers.mathematics.grammar import read
from trl_grpo_rewards.answers.mathematics.kinds.notations import Time
from trl_grpo_rewards.answers.mathematics.kinds.sets import (
    NO_REALS,
    are_same_sets,
    complement,
    find_set,
    intersect,
    unite,
)


integers = st.integers(-999, 999)


@given(st.builds(Fraction, integers, st.integers(1, 60)))
def test_a_fraction(value):
    above, below, sign = abs(value.numerator), value.denominator, "-" if value < 0 else ""
    written = [f"{sign}{above}/{below}", rf"{sign}\frac{{{above}}}{{{below}}}"]
    written += [rf"\dfrac{{{value.numerator}}}{{{below}}}", rf"x = {sign}\frac{{{above}}}{{{below}}}"]
    written.append(rf"${sign}\tfrac{{{above}}}{{{below}}}$")
    if below > 1 and above > below:
        written.append(rf"{sign}{above // below}\frac{{{above % below}}}{{{below}}}")
    if below in (2, 4, 5, 8, 10, 20, 25, 40, 50):
        written.append(f"{float(value)}")
    assert all(is_equal(one, written[0]) is is_equal(written[0], one) is True for one in written)
    assert is_equal(f"{value + 1}", written[1]) is is_equal(written[1], f"{value + 1}") is False


@given(st.integers(1000, 10**9))
def test_a_large_number(value):
    grouped = f"{value:,}"
    for one in (*(grouped.replace(",", comma) for comma in (",", "{,}", ",\\!", "\\,")), f"{value}.0"):
        assert is_equal(one, f"{value}") is True and is_equal(one, f"{value + 1}") is False


@given(st.lists(st.integers(1, 99), min_size=3, max_size=4), st.integers(2, 9))
def test_a_ratio(terms, factor):
    ratio, scaled = ":".join(map(str, terms)), " : ".join(str(term * factor) for term in terms)
    assert is_equal(ratio, scaled) is is_equal(scaled, ratio) is True
    for place in range(1, len(terms)):
        other = [*terms[:place], terms[place] + 1, *terms[place + 1 :]]
        assert is_equal(ratio, ":".join(map(str, other))) is False
    assert is_equal(ratio, f"{terms[0]}/{terms[1]}") is False


@given(st.integers(1, 11), st.integers(0, 59), st.integers(1, 59))
def test_a_time(hour, minute, later):
    time = f"{hour}:{minute:02} pm"
    assert read(time) == Time(hour + 12, minute)
    assert is_equal(time, f"{hour + 12}:{minute:02}") is True
    assert is_equal(time, f"{hour + 12}:{(minute + later) % 60:02}") is False


# --- sets of numbers as intervals -------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 5), st.booleans(), st.booleans()), max_size=5))
def test_sets_of_numbers_follow_the_laws_of_sets(parts):
    sets = [
        find_set(read(f"{'[' if low_in else '('}{low}, {low + size + 1}{']' if high_in else ')'}"))
        for low, size, low_in, high_in in parts
    ]
    union, common = unite(*sets), intersect(*sets)
    assert are_same_sets(intersect(union, complement(union)), NO_REALS)
    assert all(are_same_sets(intersect(union, one), one) for one in sets)
    assert all(are_same_sets(unite(common, one), one) for one in sets)
    assert all(are_same_sets(one, union) == are_same_sets(union, one) for one in sets)
    for (low, size, low_in, high_in), one in zip(parts, sets, strict=True):
        high = low + size + 1
        assert (one.contains(low), one.contains(high), one.contains((low + high) / 2)) == (low_in, high_in, True)
        assert not one.contains(low - 1) and not one.contains(high + 1)
