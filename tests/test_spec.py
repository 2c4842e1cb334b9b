"""Expressions as text: what they build, and what they are refused for."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import boxed, clip, gate, keywords, length, parse, pattern, reward, route, schedule, tags


@reward
def options(
    completion: str, *, a: int = 0, b: str | None = None, c: tuple = (), d: dict | None = None, e: bool = False
) -> float:
    return 0.0


@pytest.mark.parametrize(
    "text, value",
    [
        ("boxed", boxed()),
        (" boxed( ) ", boxed()),
        ("boxed(partial=.5) + 0.5 * boxed(name='correct')", boxed(partial=0.5) + 0.5 * boxed(name="correct")),
        ("boxed() + tags('think') * 2 - length(64)", boxed() + 2 * tags("think") - length(64)),
        ("-(boxed + 0.5 * tags('think'))", -boxed() - 0.5 * tags("think")),
        ("gate(tags('a', 'b'), by=boxed)", gate(tags("a", "b"), by=boxed())),
        ("keywords(all=['a', 'b'], none=('c',))", keywords(all=("a", "b"), none=("c",))),
        ("options(a=-3, b=None, c=(1, (2.5, 'x')), d={'k': boxed(), 2: []}, e=True)",
         options(a=-3, c=(1, (2.5, "x")), d={"k": boxed(), 2: ()}, e=True)),
        ("pattern('''multi\nline''')", pattern("multi\nline")),
        ("boxed()\n  + 0.5 * 2 * tags('think')\n", boxed() + tags("think")),
    ],
)  # fmt: skip
def test_parse_builds_what_python_builds(text, value):
    assert parse(text) == value
    assert parse(str(value)) == value


@pytest.mark.parametrize(
    "text, message",
    [
        ("boxxed()", "There is no reward 'boxxed'; there are .*boxed, .*Did you mean 'boxed'\\?"),
        ("zzz", "There is no reward 'zzz'; .*Choose one, or import the module that registers it"),
        ("boxed() +", "are not an expression: invalid syntax"),
        ("boxed(", "are not an expression: '\\(' was never closed"),
        ("", "are not an expression"),
        ("boxed() tags('a')", "are not an expression"),
        ("0.5", "'0.5' is no reward"),
        ("'boxed'", "is no reward"),
        ("boxed() * tags('a')", "is no arithmetic of rewards"),
        ("boxed() + 1", "'boxed\\(\\) \\+ 1' is no arithmetic of rewards"),
        ("2 * 3", "'2 \\* 3' is no reward"),
        ("2 * 'a'", "is no arithmetic of rewards"),
        ("boxed()) + (tags('a')", "are not an expression: unmatched"),
        ("-'a'", "has no negative"),
        ("boxed() / 2", "'boxed\\(\\) / 2' cannot be read"),
        ("boxed().name", "cannot be read"),
        ("__import__('os').system('true')", "cannot be read"),
        ("[r for r in ()]", "cannot be read"),
        ("boxed(**{'partial': 1})", "cannot be read"),
        ("lambda: 0", "cannot be read"),
        ("boxed(partial=1e999)", "Option 'partial' of 'boxed' is inf"),
        ("boxed() + boxed()", "Two rewards are named 'boxed'"),
    ],
)
def test_what_is_no_expression_of_rewards_is_refused(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


def test_options_are_told_apart_by_their_type():
    true, one, real = options(c=(True,)), options(c=(1,)), options(c=(1.0,))
    assert len({true, one, real}) == 3
    assert [str(value) for value in (true, one, real)] == [
        "options(c=(True,))",
        "options(c=(1,))",
        "options(c=(1.0,))",
    ]
    assert boxed(partial=1) == boxed(partial=1.0) == parse("boxed(partial=1)")


def test_wrong_options_are_refused_as_in_python():
    with pytest.raises(TypeError, match="Reward 'boxed' has no option 'partal'.*Did you mean 'partial'"):
        parse("tags('think') + boxed(partal=1)")
    with pytest.raises(TypeError, match="Reward 'length': missing a required argument: 'target'"):
        parse("length")


finite = st.floats(allow_nan=False, allow_infinity=False)
plain = st.one_of(st.none(), st.booleans(), st.integers(), finite, st.text(max_size=8))
trees = st.recursive(plain, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)
points = st.lists(st.tuples(st.integers(0, 1000), finite), min_size=1, max_size=4, unique_by=lambda p: p[0])
leaves = st.one_of(
    st.builds(boxed, partial=finite, tolerance=st.none() | st.floats(0, 1)),
    st.builds(lambda names, **o: tags(*names, **o), st.lists(st.sampled_from("abcde"), min_size=1, max_size=3, unique=True), prefilled=st.booleans(), partial=st.booleans()),
    st.builds(length, st.integers(5, 500), tolerance=st.integers(0, 4), unit=st.sampled_from(["tokens", "words", "chars"])),
    st.builds(pattern, st.sampled_from([r"\d+", "a|b", "'\"", r"\\boxed\{"]), at_least=st.integers(1, 9), flags=st.sampled_from(["", "i", "ms"])),
    st.builds(lambda text: keywords(any=text), st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=3)),
    st.builds(options, a=st.integers(), b=st.none() | st.text(max_size=6), c=trees.map(lambda t: (t,)), e=st.booleans()),
)  # fmt: skip
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda r, by, x: gate(r, by=by, at_least=x), inner, inner, finite),
        st.builds(lambda r, low: clip(r, low=low), inner, finite),
        st.builds(lambda r, w: w * r, inner, st.floats(-100, 100)),
        st.builds(lambda r, points: schedule(r, steps=sorted(points)), inner, points),
        st.builds(
            lambda d, o: route("kind", d, default=o),
            st.dictionaries(plain, inner, min_size=1, max_size=3),
            st.none() | inner,
        ),
        st.builds(lambda d: options(d=d), st.dictionaries(st.text(max_size=4), inner, max_size=2)),
        st.builds(lambda a, b: gate(a, by=b, name="left") - 0.5 * clip(b, high=1, name="right"), inner, inner),
    ),
    max_leaves=6,
)


@given(expressions)
def test_every_reward_is_read_back_from_its_text(value):
    again = parse(str(value))
    assert again == value and hash(again) == hash(value) and str(again) == str(value)
    assert pickle.loads(pickle.dumps(value)) == value
