"""Expressions as text: what they build, and what they are refused for."""

import pickle

import pytest
from hypothesis import given

from helpers.example_rewards import expressions, options
from trl_grpo_rewards import boxed, column, gate, keywords, length, parse, pattern, tags


@pytest.mark.parametrize(
    "text, value",
    [
        ("boxed", boxed()),
        (" boxed( ) ", boxed()),
        ("boxed(partial=.5) + 0.5 * boxed(name='correct')", boxed(partial=0.5) + 0.5 * boxed(name="correct")),
        ("boxed() + tags('think') * 2 - length(64)", boxed() + 2 * tags("think") - length(64)),
        ("2 * boxed * tags('a') * (0.5 * length(9) - tags('b'))", 2 * boxed() * tags("a") * (0.5 * length(9) - tags("b"))),
        ("boxed() * ((tags('a') * 3) * length(9))", 3 * boxed() * tags("a") * length(9)),
        ("-(boxed + 0.5 * tags('think'))", -boxed() - 0.5 * tags("think")),
        ("gate(tags('a', 'b'), by=boxed)", gate(tags("a", "b"), by=boxed())),
        ("keywords(all=['a', 'b'], none=('c',))", keywords(all=("a", "b"), none=("c",))),
        ("options(a=-3, b=None, c=(1, (2.5, 'x')), d={'k': boxed(), 2: []}, e=True)",
         options(a=-3, c=(1, (2.5, "x")), d={"k": boxed(), 2: ()}, e=True)),
        ("options(c=(column('x'),), d={'k': [column(\"it's\")]})", options(c=(column("x"),), d={"k": (column("it's"),)})),
        ("pattern('''multi\nline''')", pattern("multi\nline")),
        ("boxed()\n  + 0.5 * 2 * tags('think')\n", boxed() + tags("think")),
    ],
)  # fmt: skip
def test_parse_builds_what_python_builds(text, value):
    assert parse(text) == value
    assert parse(str(value)) == value


@pytest.mark.parametrize("text, message", [
    ("boxxed()", "There is no reward 'boxxed'. Did you mean 'boxed'\\? .* The available rewards are .*boxed, "),
    ("zzz", "no reward 'zzz'. If it is a text, write it in quotes. To use a function of your own, put @reward above it and"),
    ("boxed() + 0,2 * tags('a')", "expression: a comma is outside a call, and numbers are written with a point"),
    ("boxed(), tags('a')", "are not a valid expression: a comma is outside a call"),
    ("boxed() +", "are not a valid expression: invalid syntax"),
    ("boxed(", "are not a valid expression: '\\(' was never closed"), ("", "are not a valid expression"),
    ("boxed() tags('a')", "are not a valid expression"), ("0.5", "'0.5' is not a reward"),
    ("'boxed'", "is not a reward"), ("boxed() * 'a'", "cannot be computed"), ("2 * 3", "'2 \\* 3' is not a reward"),
    ("2 * 'a'", "cannot be computed"), ("boxed()) + (tags('a')", "are not a valid expression: unmatched"),
    ("-'a'", "cannot be computed"), ("-column('a')", "cannot be computed"), ("column('a')", "is not a reward"),
    ("2 * column('a')", "cannot be computed"),
    ("options(c=(column(),))", r"'column\(\)' does not name a column, as column\('rubric'\) does. Rewards are"),
    ("options(c=(column('a', 'b'),))", "does not name a column"),
    ("options(c=(column(boxed),))", "does not name a column"),
    ("boxed(evaluated=true)", "'true' must be written as in Python: True"),
    ("boxed(tolerance=null)", "'null' must be written as in Python: None"),
    ("boxed() / 2", "'boxed\\(\\) / 2' cannot be read"), ("boxed().name", "cannot be read"),
    ("__import__('os').system('true')", "cannot be read"), ("[r for r in ()]", "cannot be read"),
    ("boxed(**{'partial': 1})", "cannot be read"), ("lambda: 0", "cannot be read"),
    ("boxed(partial=1e999)", "Option 'partial' of 'boxed' must be a finite number; got inf"),
    ("boxed(partal=1)", "Reward 'boxed' has no option 'partal'.*Did you mean 'partial'"),
    ("boxed() + boxed()", "Two rewards are named 'boxed'"),
])  # fmt: skip
def test_what_is_no_expression_of_rewards_is_refused(text, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


@given(expressions)
def test_every_reward_is_read_back_from_its_text(value):
    again = parse(str(value))
    assert again == value and hash(again) == hash(value) and str(again) == str(value)
    assert pickle.loads(pickle.dumps(value)) == value


HUGE = "1" + "0" * 400
ODD = [
    f"{HUGE} * boxed()", f"-{HUGE} * boxed()", f"{HUGE} + 0.5", f"0.5 * {HUGE} * boxed()", f"length(target={HUGE})",
    f"clip(boxed(), low=-{HUGE}, high=1)", f"gate(boxed(), by=boxed(), at_least={HUGE})", "1" * 5_000 + " * boxed()",
    "1e308 * (1e308 * boxed())", "boxed() + 1e308 * (10 * tags('a'))", "tags('a', partial=True, partial=False)",
    " + ".join(["boxed()"] * 20_000), " * ".join(["boxed()"] * 20_000), "boxed() * 1e308 * boxed() * 1e308", "1 - boxed()",
    "-" * 900 + "boxed()", "-" * 50_000 + "boxed()", "(" * 5_000, "\ud800",
    "boxed(\0)", "'" + "a" * 1_000_000, boxed(), None, b"boxed()", 5, ["boxed()"], float("nan"),
]  # fmt: skip


def test_anything_else_is_refused_in_three_parts():
    for text in ODD:
        with pytest.raises((ValueError, TypeError)) as caught:
            parse(text)
        kind, message = type(caught.value), str(caught.value)
        assert kind in (ValueError, TypeError) and 60 < len(message) < 1_500 and message.count(". ") >= 1, message


def test_calls_inside_each_other_are_read_or_refused():
    for depth in (150, 199, 1_000):
        try:
            parse("clip(" * depth + "boxed()" + ", low=0, high=1)" * depth)
        except ValueError as error:
            assert "nested" in str(error)
