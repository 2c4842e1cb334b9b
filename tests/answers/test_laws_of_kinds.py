r"""Laws that hold for each kind of value: numbers in bases, families, units, names of values, chains and choices."""

import itertools
import re
from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from helpers.answer_laws import assert_none, judge
from trl_grpo_rewards import boxed
from trl_grpo_rewards.answers.mathematics.units import UNIT_OF


# A solution with a base wants that base. Digits with a base repeat digits, and do not answer the number that they are.
DIGITS = "0123456789ABCDEF"
IN_BASE = ["{}_{{{}}}", "({})_{{{}}}", "({})_{}", r"{}\text{{ base }}{}", r"{}\text{{ (base {})}}"]
BY_LETTERS = IN_BASE[:2]
"""The notations for digits with letters among them."""


def write(number: int, base: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, base)
        digits = DIGITS[digit] + digits
    return digits


@st.composite
def based_numbers(draw):
    base = draw(st.integers(2, 16).filter(lambda base: base != 10))
    return draw(st.integers(base, 30000)), base


def notations(number, base):
    digits = write(number, base)
    return [one.format(digits, base) for one in (IN_BASE if digits.isdecimal() and base < 10 else BY_LETTERS)]


@given(based_numbers(), st.integers(2, 16), st.integers(1, 99))
def test_digits_with_a_base_answer_the_same_digits_with_the_same_base_only(numbered, other, difference):
    number, base = numbered
    assume(other not in (base, 10) and other <= number)
    for gold, answer in itertools.product(notations(number, base), repeat=2):
        assert judge(gold, answer) is True, (gold, answer)
    gold = notations(number, base)[0]
    wrong = [str(number), f"{number}_{{10}}", *notations(number, other), *notations(number + difference, base)]
    assert [answer for answer in wrong if judge(gold, answer)] == []


@given(based_numbers())
def test_digits_with_a_base_do_not_answer_their_value_and_are_not_worked_out(numbered):
    number, base = numbered
    for answer in notations(number, base):
        assert not judge(str(number), answer), answer
        question = [f"Convert ${answer}$ to base 10."]
        scores = boxed(evaluated=True)(completions=[rf"\boxed{{{answer}}}"], solution=[str(number)], prompts=question)
        assert (answer, scores) == (answer, [0.0])


# A family over the integers is a set of values: its index may be renamed, shifted and negated, in any notation.
OVER_INTEGERS = [
    r", {}\in\mathbb{{Z}}", r", {} \in \mathbb Z", r", {} \in Z", ", {}∈ℤ", r" ({}\in\mathbb{{Z}})",
    r"\quad ({} \in \mathbb{{Z}})", r"\text{{ for integer }}{}", r" \text{{ for any integer }} {}",
    r", {} \text{{ is an integer}}", r" \text{{ where }} {} \text{{ is an integer}}",
]  # fmt: skip
OVER_OTHERS = [r", {}\in\mathbb{{N}}", r", {}\in\mathbb{{R}}", r" ({}\in\mathbb{{N}})", r", {} \in N"]


PI = r"\pi "


def write_family(offset, step, index, domain, of_pi):
    """Write `offset + step * index` in sixths of pi, or in integers."""

    def times(number):
        number, denominator = (Fraction(abs(number), 6) if of_pi else Fraction(abs(number))).as_integer_ratio()
        top = f"{'' if of_pi and number == 1 else number}{PI if of_pi else ''}"
        return top if denominator == 1 else rf"\frac{{{top}}}{{{denominator}}}"

    first = f"{'-' * (step < 0)}{times(step)}{index}"
    rest = "" if offset == 0 else f"{'-' if offset < 0 else '+'}{times(offset)}"
    return f"{first}{rest}" + domain.format(index)


FAMILIES = st.tuples(st.integers(-9, 9), st.integers(2, 12), st.booleans())
notations_of_families = st.tuples(
    st.integers(-2, 2), st.sampled_from((1, -1)), st.sampled_from("knmt"), st.sampled_from(OVER_INTEGERS)
)


@given(FAMILIES, notations_of_families, notations_of_families)
def test_families_with_the_same_values_are_equal(family, one, other):
    offset, step, of_pi = family
    gold, answer = (
        write_family(offset + shift * step, sign * step, index, domain, of_pi)
        for shift, sign, index, domain in (one, other)
    )
    assert judge(gold, answer) is True


@given(FAMILIES, notations_of_families, st.integers(1, 30), st.sampled_from(OVER_OTHERS))
def test_families_with_other_values_are_not(family, notation, change, domain):
    offset, step, of_pi = family
    shift, sign, index, integers = notation
    gold = write_family(offset, step, "k", OVER_INTEGERS[0], of_pi)
    wrong = [
        write_family(offset + shift * step, sign * (step + change), index, integers, of_pi),
        write_family(offset, step, index, domain, of_pi),
        write_family(offset, step, index, "", of_pi).replace(index, "3"),
    ]
    if change % step:
        wrong.append(write_family(offset + change, sign * step, index, integers, of_pi))
    assert judge(gold, gold) is True
    assert [answer for answer in wrong if judge(gold, answer)] == []


@st.composite
def sets_of_classes(draw):
    """Return classes of integers modulo a number, each with its own multiple of the modulus: 1 and 4 mod 6 are 1 mod 3."""
    modulus = draw(st.integers(1, 6))
    rests = draw(st.sets(st.integers(0, modulus - 1), min_size=1, max_size=3))
    steps = {rest: modulus * draw(st.integers(1, 2)) for rest in sorted(rests)}
    parts = [(rest + modulus * k, step) for rest, step in steps.items() for k in range(step // modulus)]
    return frozenset(rest + modulus * k for rest in rests for k in range(60 // modulus)), draw(st.permutations(parts))


@given(sets_of_classes(), sets_of_classes(), st.sampled_from(["{}k+{}", r"{}k\pi+\frac{{{}\pi}}{{1}}", "x={}k+{}"]))
def test_families_are_equal_if_they_have_the_same_values_together(one, other, form):
    domain = OVER_INTEGERS[0].format("k")
    texts = [", ".join(form.format(step, rest) for rest, step in parts) + domain for _, parts in (one, other)]
    assert judge(texts[0], texts[0]) is True
    assert judge(*texts) is (one[0] == other[0]), texts


@given(st.integers(2, 30), st.integers(0, 29), st.integers(-2, 2), st.integers(1, 28), st.sampled_from(OVER_INTEGERS))
def test_a_congruence_is_a_family(modulus, rest, shift, change, domain):
    rest %= modulus
    congruences = [
        form.format(rest + shift * modulus, modulus)
        for form in (r"x\equiv {}\pmod{{{}}}", "x ≡ {} (mod {})", r"x \equiv {} \mod {}")
    ]
    family = "x=" + write_family(rest, modulus, "k", domain, False)
    wrong = [rf"x\equiv {rest}\pmod{{{modulus + change}}}"]
    wrong += [rf"x\equiv {rest + change}\pmod{{{modulus}}}"] if change % modulus else []
    for gold, answer in itertools.product([congruences[0], family], [*congruences, family]):
        assert judge(gold, answer) is True, (gold, answer)
    for gold, answer in itertools.product([congruences[0], family], wrong):
        assert not judge(gold, answer), (gold, answer)


# An answer may omit the unit of the solution. If it names one, this must be the same. A sum is no number with a unit.
# Signs such as % and $ have their own places, and "in" is another word as well.
UNITS = [(unit, word) for word, unit in UNIT_OF.items() if re.fullmatch(r"[A-Za-z]+", word) and word != "in"]
BARE = [r"m/s", r"m^2", r"m/s^2", r"J/K", r"V/m", r"N/m", r"km", r"kJ/mol", r"km/h", r"kg", r"cm^3"]
BARE += [word for _, word in UNITS]


FORMS = ["{} {}", r"{}\ \mathrm{{{}}}", r"{}\text{{ {}}}"]
AMOUNTS = ["5", "2.5", r"\frac{5}{2}", r"3\times 10^{8}"]


def test_an_answer_may_omit_the_unit():
    """Each unit is tried after a number, and in one of the other forms with one of the numbers."""
    broken = []
    for place, unit in enumerate(BARE):
        form, number = FORMS[place % 3], AMOUNTS[place % 4]
        for gold, right in {FORMS[0].format("5", unit): "5", form.format(number, unit): number}.items():
            verdicts = [judge(gold, answer) for answer in (right, "6", gold)]
            broken += [f"{gold}: {verdicts}"] * (verdicts != [True, False, True])
    assert_none(broken, 2 * len(BARE))


def test_an_answer_with_another_unit_or_number_is_wrong():
    different = [(gold, answer) for gold, answer in itertools.permutations(UNITS, 2) if gold[0] != answer[0]]
    pairs = []
    for form in FORMS[::2]:
        pairs += [(form.format(5, gold[1]), form.format(5, answer[1])) for gold, answer in different[::271]]
        pairs += [(form.format(5, unit), form.format(6, unit)) for unit in BARE]
    assert_none([f"{gold} # {answer}" for gold, answer in pairs if judge(gold, answer)], len(pairs))


def test_a_sum_before_a_letter_is_no_quantity():
    letters = [unit for unit in BARE if len(unit) == 1] + ["mg", "m/s", "m^2"]  # they may be products of variables
    pairs = [(f"5 {unit}", f"3+2 {unit}") for unit in letters]
    for unit in letters:
        pairs += [(f"3+2 {unit}", "5"), (f"20-5 {unit}", "15"), (f"(3+2 {unit},1)", "(5,1)")]
    assert_none([f"{gold} # {answer}" for gold, answer in pairs if judge(gold, answer)], len(pairs))


# Values with names are matched by name, however the names are written.
NAMES = [
    ("max", "min"), ("width", "length"), ("Tom", "Ann"), ("Alice", "Bob"), ("Area", "perimeter"), ("mean", "mode"),
]  # fmt: skip
NAMED = [r"\text{{{}}} = {}", r"\text{{{} = }}{}", r"\text{{{}}}: {}", r"\text{{{}: }}{}", "{}: {}", "{} = {}"]
JOINED = [", ", "; ", r",\ ", r"\text{ and }", r"\quad "]


def test_values_with_names_are_matched_by_name():
    broken = []
    for form, join, (one, other) in itertools.product(NAMED, JOINED, NAMES):
        for first, second in [("5", "-3"), (r"\frac{1}{2}", "7"), ("12", "20")]:
            gold = form.format(one, first) + join + form.format(other, second)
            right = form.format(other, second) + join + form.format(one, first)
            swapped = form.format(one, second) + join + form.format(other, first)
            verdicts = [judge(gold, answer) for answer in (gold, right, swapped)]
            if verdicts[:2] != [True, True] or verdicts[2]:
                broken.append(f"{gold}: {verdicts[0]}; reordered: {verdicts[1]}; names swapped: {verdicts[2]}")
    assert_none(broken, len(NAMED) * len(JOINED) * len(NAMES) * 3)


def test_names_of_values_are_the_same_in_every_notation():
    for form, other in itertools.permutations(NAMED, 2):
        gold = f"{form.format('width', 5)}, {form.format('length', 8)}"
        assert judge(gold, f"{other.format('length', 8)}, {other.format('width', 5)}") is True, (form, other)
        assert not judge(gold, f"{other.format('length', 5)}, {other.format('width', 8)}"), (form, other)


# A chain of equations is right if it is true and ends in the solution, which may have a unit.
OPERATIONS = {
    "+": lambda one, other: one + other, "-": lambda one, other: one - other,
    r"\times": lambda one, other: one * other, r"\cdot": lambda one, other: one * other,
}  # fmt: skip
ENDS = [
    "{}", r"{} \text{{ clips}}", r"{}\text{{ cm}}", r"\${}", "{} dollars", r"{}\,\text{{km/h}}",
    r"{} \text{{ minutes}}",
]  # fmt: skip


@given(
    st.integers(2, 99),
    st.integers(2, 99),
    st.sampled_from([*OPERATIONS]),
    st.sampled_from(ENDS),
    st.integers(1, 9),
    st.sampled_from(["", "x = ", r"\text{Total} = "]),
)
def test_a_chain_ends_in_the_solution_and_is_true(one, other, operation, end, difference, name):
    value = OPERATIONS[operation](one, other)
    assume(value > 0)
    right, wrong = (
        f"{name}{one} {operation} {other} = {end.format(number)}" for number in (value, value + difference)
    )
    for gold in (str(value), end.format(value)):
        assert (gold, right, judge(gold, right)) == (gold, right, True)
        assert not judge(gold, wrong), (gold, wrong)
    assert not judge(str(value + difference), wrong), wrong


# The letter of a choice answers for its option, whatever that says.
OPTIONS = """none of these, a circle, both I and II, not enough information, cannot be determined, False, two, an odd number,
    the number is even, all of the above, infinitely many, no real solution, I only, 12 cm, at least 3, more than half, neither,
    never, about 5 years, only one of them, it is undefined, 12, less than twice the sum, because if zero, true, a real one""".replace(
    "\n   ", ""
).split(", ")
CHOICES = [r"\textbf{{({})}}\ \text{{{}}}", r"\text{{({}) {}}}", "({}) {}", "{}. {}", r"\textbf{{({}) }} \text{{{}}}"]
CHOICES += [r"\text{{{}. {}}}", r"\mathrm{{({})}} \text{{{}}}", "{}) {}", r"\text{{({})}}\ {}"]


def test_a_choice_may_have_any_text():
    broken = []
    for form, option, letter in itertools.product(CHOICES, OPTIONS, "BCE"):
        text = form.format(letter, option)
        verdicts = [judge(letter, text), judge(text, letter), judge(text, f"({letter})"), judge(text, text)]
        wrong = [judge("D", text), judge(text, "D"), judge(form.format("D", option), letter)]
        if verdicts != [True] * 4 or any(wrong):
            broken.append(f"{text}: {verdicts}, and with another letter {wrong}")
    assert_none(broken, len(CHOICES) * len(OPTIONS) * 3)
