"""Rewards as values: arithmetic, printing, hashing, and the two doors."""

import asyncio
import copy
import functools
import inspect
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from trl.trainer.utils import is_async_callable

from trl_grpo_rewards import boxed, clip, exact, gate, keywords, length, parse, pattern, reward, route, shortest, tags
from trl_grpo_rewards.expressions import Sum
from trl_grpo_rewards.function_rewards import find_functions


@reward
def first(completion: str) -> float | None:
    return {"n": None}.get(completion[:1], float(completion.count("a")))


@reward
def second(completion: str) -> float | None:
    return {"n": None}.get(completion[-1:], float(completion.count("b")))


@reward
async def slow(completion: str) -> float:
    await asyncio.sleep(0.01)
    return float(len(completion))


def of_lists(completions, solution, **kwargs):
    return [float(one == own) for one, own in zip(completions, solution, strict=True)]


async def awaits_lists(completions, **kwargs):
    return of_lists(completions, **kwargs)


def by_keyword(*, completions, solution, unknown=None, **kwargs):
    return of_lists(completions, solution)


def only_ids(completion_ids, **kwargs):
    return [float(len(ids)) for ids in completion_ids]


def scaled(completions, scale, solution, **kwargs):
    return [scale * score for score in of_lists(completions, solution)]


def one_text(completion):
    return 1.0


class Scorer:
    def __call__(self, completions, solution, **kwargs):
        return of_lists(completions, solution)

    def method(self, completions, solution, **kwargs):
        return of_lists(completions, solution)

    def one_text(self, completion):
        return 1.0


class AsyncScorer:
    async def __call__(self, completions: "Unknown", solution, **kwargs):  # noqa: F821
        return of_lists(completions, solution)


TEXTS = ["ab", "aab", "n b", "a n", "n"]


def test_a_sum_gives_what_trl_computes_from_its_terms():
    total = first() + 0.5 * second()
    assert (total.rewards, total.weights) == ([first(), second()], [1.0, 0.5])
    assert total(completions=TEXTS) == [1.5, 2.5, 0.5, 1.0, None]
    total.rewards.clear()  # they are fresh lists
    assert (len(total.rewards), first().rewards, (2 * first()).weights) == (2, [first()], [2.0])


def test_a_term_of_weight_0_scores_no_completion_that_no_other_term_scores():
    """Unlike in TRL, where the total is 0."""
    for total in (first() + 0 * second(), 0 * (second() - first(name="other")) + first(), first() - 0.0 * second()):
        assert total(completions=TEXTS) == [1.0, 2.0, None, 1.0, None] and parse(str(total)) == total
        assert total.explain(TEXTS).totals == total(completions=TEXTS)
    assert (0 * first() + 0 * second())(completions=TEXTS) == [0.0, 0.0, 0.0, 0.0, None]
    assert str(0 * (first() * second())) == "0.0 * first() * second()"
    assert clip(first() + 0 * second(), high=1.0)(completions=TEXTS) == [1.0, 1.0, None, 1.0, None]


def test_arithmetic():
    a, b = first(), second()
    assert 1 * a is a and a * 1.0 is a
    assert a - b == a + -1 * b == a + -b != b - a
    assert -1 * -a == a
    assert (a + b) * 2 == 2 * a + 2 * b
    assert 0.5 * (2 * a) == a
    assert a + (b + slow()) == (a + b) + slow()
    assert sum([a, b, slow()]) == a + b + slow()
    assert (a + b).name == "first+second" and (3 * a).name == "first"


COMBINED = [
    (lambda a, f: a + f, "first() + {}()"), (lambda a, f: f + a, "{}() + first()"), (lambda a, f: a - f, "first() - {}()"),
    (lambda a, f: f - 2 * a, "-2.0 * first() + {}()"), (lambda a, f: sum([a, f]), "first() + {}()"),
    (lambda a, f: a * f, "first() * {}()"), (lambda a, f: f * a, "{}() * first()"),
    (lambda a, f: gate(f, by=a), "gate({}(), by=first())"), (lambda a, f: gate(a, by=f), "gate(first(), by={}())"),
    (lambda a, f: clip(f, high=1) + a, "clip({}(), high=1) + first()"),
    (lambda a, f: route("task", {"a": f}, default=a), "route(column='task', rewards={{'a': {}()}}, default=first())"),
]  # fmt: skip
"""Each way in which two rewards become one."""


@pytest.mark.parametrize(
    "function, said",
    [
        (lambda completions, **kwargs: [1.0], "a function with the name '<lambda>', which no .*. Give it a name with def."),
        (one_text, r"the plain function 'one_text' instead of a reward. Put @reward above it, and call it: one_text\(\)"),
        (Scorer().one_text, r"the object 'one_text' instead of a reward. Make a reward of it: reward\(...\)\(\)"),
        (max, r"the object 'max' instead of a reward. Make a reward of it: reward"),
        (Scorer, r"the class 'Scorer' instead of a reward. Make an object of it: Scorer\(...\)"),
        (nn.Linear(1, 1), r"the model 'Linear' .*: reward_funcs=\[\*rewards.rewards, model\]"),
        (boxed, "the reward factory 'boxed' instead of a reward. Call it"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("combine, text", COMBINED)
def test_what_trl_cannot_call_is_told_what_to_write(combine, text, function, said):
    with pytest.raises(TypeError, match=f"contains {said}"):
        combine(first(), function)


@pytest.mark.parametrize("combine, text", COMBINED)
@pytest.mark.parametrize(
    "function, name",
    [
        (of_lists, "of_lists"), (awaits_lists, "awaits_lists"), (by_keyword, "by_keyword"), (only_ids, "only_ids"),
        (functools.partial(scaled, scale=1.0), "scaled"), (Scorer(), "Scorer"), (Scorer().method, "method"),
        (AsyncScorer(), "AsyncScorer"), (functools.partial(awaits_lists), "awaits_lists"),
    ],
)  # fmt: skip
def test_what_trl_can_call_is_a_reward_wherever_one_can_be(combine, text, function, name):
    total = combine(first(), function)
    assert str(total) == text.format(name)
    assert total == combine(first(), function) == parse(str(total))
    copied = pickle.loads(pickle.dumps(total))
    call = {"solution": ["a", "c"], "completion_ids": [[1], []], "task": ["a", "a"]}
    for one in (total, copied):
        assert one.is_async == ("wait" in name or "Async" in name)
        (found,) = [each for each in find_functions(one) if each.factory.__name__ == name]
        assert found.explain(["a", "b"], **call).totals == [1.0, 0.0]
        assert one.explain(["a", "b"], **call).totals == total.explain(["a", "b"], **call).totals


def test_a_function_for_trl_with_a_weight_is_a_reward_under_the_decorator():
    assert (0.5 * reward(of_lists)()).explain(["a", "b"], solution=["a", "c"]).totals == [0.5, 0.0]
    with pytest.raises(ValueError, match="Two rewards are named 'of_lists'.* without options is named by its def"):
        first() + of_lists + functools.partial(of_lists, other=1)
    assert (of_lists + 0 * reward(functools.partial(of_lists))(name="other")).name == "of_lists+other"


@pytest.mark.parametrize("combine, message", [
    (lambda a: 0.5 + a, r"got 0.5. .* Leave it out: first\(\).$"), (lambda a: a + 1, r"cannot be added .* out: first\(\).$"),
    (lambda a: a - 1, r"out: first\(\).$"), (lambda a: 1 - a, r"out: -first\(\).$"),
    (lambda a: parse("1 - first()"), r"advantage. Leave it out: -first\(\).$"), (lambda a: a + "1", "unsupported operand"),
    (lambda a: "2" * a, "can't multiply"), (lambda a: a / 2, "unsupported operand"),
])  # fmt: skip
def test_what_is_no_arithmetic_is_refused_with_what_to_write_instead(combine, message):
    with pytest.raises(TypeError, match=message):
        combine(first())


def test_two_terms_of_one_name_are_refused():
    with pytest.raises(ValueError, match="Two rewards are named 'first'.*Rename one of them: write name='other' into"):
        first() + second() + 0.5 * first()
    with pytest.raises(ValueError, match=r"named 'first\*second'.*Rename one of them"):
        first() * second() + first() * second()
    assert (first() + first(name="again")).name == "first+again"


@pytest.mark.parametrize("value, text", [
    (first() - second(), "first() - second()"), (-first() + 2 * second(), "-first() + 2.0 * second()"),
    (-0.5 * first(), "-0.5 * first()"), (0 * first() + second(), "0.0 * first() + second()"),
    (length(256), "length(target=256)"),
    (length(256, unit="words", name="brief"), "length(target=256, unit='words', name='brief')"),
    (tags("think", "answer", partial=True), "tags('think', 'answer', partial=True)"),
    (gate(0.5 * tags("think"), by=boxed()), "gate(0.5 * tags('think'), by=boxed())"),
    (pattern(r"\d'\n"), r"""pattern(regex="\\d'\\n")"""),
])  # fmt: skip
def test_a_reward_prints_as_the_call_that_builds_it(value, text):
    assert str(value) == repr(value) == text
    assert parse(text) == value


def test_rewards_are_frozen_and_equal_ones_are_one_key():
    assert keywords(all=["a", "b"]) == keywords(all=("a", "b")) and length(256) == length(target=256, tolerance=0)
    assert len({length(256), length(256, tolerance=0), length(256, name="other"), first() + second()}) == 3
    value = clip(first() + slow(), low=0)
    assert copy.deepcopy(value) == value == pickle.loads(pickle.dumps(value))
    for one, field in ((first(), "options"), (first() + second(), "terms")):
        with pytest.raises(AttributeError):
            setattr(one, field, ())


def test_the_door_is_asynchronous_where_anything_awaits():
    columns = {"completions": ["ab", "b"], "solution": ["1", "2"], "completion_ids": [[1], [2]]}
    for value in (first() + second(), first() + slow(), gate(first(), by=slow())):
        assert not inspect.iscoroutinefunction(value.__call__) and not is_async_callable(value)
    for value in (slow(), boxed() + slow(), gate(length(2), by=slow()), clip(slow(), high=1)):
        assert value.is_async and inspect.iscoroutinefunction(value.__call__)
        assert is_async_callable(value) and is_async_callable(functools.partial(value))

        async def inside(value=value):
            return await value(**columns)

        scores = value(**columns)
        assert type(scores) is list and scores == asyncio.run(inside())
    assert (first() + 0.5 * slow())(completions=["ab", "b"]) == [2.0, 0.5]
    assert gate(slow(), by=first())(completions=["ab", "b"]) == [2.0, 0.0]


def test_an_error_outside_of_an_event_loop_is_that_of_the_reward():
    @reward
    async def fails(completion: str) -> float:
        raise KeyError("gone")

    with pytest.raises(KeyError) as caught:
        fails()(completions=["a"])
    assert caught.value.__context__ is None


def test_asynchronous_scores_of_a_batch_are_awaited_together():
    async def scored():
        return await (slow() + slow(name="again"))(completions=["x"] * 40)

    assert asyncio.run(asyncio.wait_for(scored(), timeout=0.5)) == [2.0] * 40  # one by one they would take 0.8 s


weights = st.floats(-4, 4).filter(lambda w: abs(w) > 1e-3)
names = st.sampled_from(["one", "two", "three", "four"])


@given(st.lists(st.tuples(weights, names), min_size=1, max_size=4, unique_by=lambda t: t[1]), weights)
def test_scaling_a_sum_scales_its_scores(terms, weight):
    value = sum(w * first(name=name) for w, name in terms)
    assert parse(str(value)) == value
    scaled, plain = (weight * value)(completions=TEXTS), value(completions=TEXTS)
    assert scaled == pytest.approx([score and weight * score for score in plain])
    assert isinstance(value, Sum) or value.weights == [1.0]


@given(st.lists(st.sampled_from(TEXTS), max_size=8), st.integers(0, 3))
def test_gate_never_calls_a_closed_row(texts, at_least):
    called = []

    @reward
    def watching(completion: str) -> float:
        called.append(completion)
        return 1.0

    scores = gate(watching(), by=first(), at_least=at_least, otherwise=-1)(completions=texts)
    opened = [None if score is None else score >= at_least for score in first()(completions=texts)]
    assert scores == [{True: 1.0, False: -1.0}.get(one) for one in opened]
    assert called == [text for text, is_open in zip(texts, opened, strict=True) if is_open]


# --- products -------------------------------------------------------------------------------------------------------

halves = st.sampled_from([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
parts = st.recursive(
    st.builds(lambda make, name: make(name=name), st.sampled_from([first, second]), names),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda w, r: w * r, halves, inner),
        st.builds(lambda a, b: clip(a, high=1.5, name="left") + 0.5 * clip(b, low=-1, name="right"), inner, inner),
    ),
    max_leaves=5,
)


@given(parts, parts, parts, halves)
def test_a_product_multiplies_scores_and_is_associative_and_numbers_move_through_it(a, b, c, weight):
    pairs = zip(a(completions=TEXTS), b(completions=TEXTS), strict=True)
    product = [None if None in pair else pair[0] * pair[1] for pair in pairs]
    assert (a * b)(completions=TEXTS) == product == (b * a)(completions=TEXTS)
    assert (a * b) * c == a * (b * c)
    if len(a.terms) == len(b.terms) == 1:
        assert weight * (a * b) == (weight * a) * b == a * (weight * b)
        assert -(a * b) == -a * b == a * -b


@given(parts, parts, parts)
def test_products_distribute_over_sums(a, b, c):
    left, right = clip(a, low=-9, name="left"), clip(b, low=-9, name="right")
    whole, apart = (left + right) * c, left * c + right * c
    assert whole(completions=TEXTS) == apart(completions=TEXTS)
    assert len(whole.terms) == 1 and len(apart.terms) == 2


def test_a_product_is_one_term():
    total = boxed() * tags("think") + 0.5 * second()
    assert (total.rewards, total.weights) == ([boxed() * tags("think"), second()], [1.0, 0.5])
    assert [one.name for one in total.rewards] == ["boxed*tags", "second"]
    assert ((first() + second()) * slow()).name == "(first+second)*slow"
    assert str((first() - second()) * (0.5 * slow())) == "0.5 * ((first() - second()) * slow())"


def test_a_product_has_what_its_factors_have():
    asking, grouped = slow() * boxed(), shortest(boxed()) * first()
    assert asking.is_async and asking.asks and asking.columns == {"solution"} and not asking.is_outcome
    assert grouped.is_grouped and not grouped.is_async and (boxed() * exact()).is_outcome
    assert asking(completions=["\\boxed{4}", "4"], solution=["4", "4"]) == [9.0, 0.0]
    call = {"completions": ["a", "aa"], "prompts": ["p", "p"], "completion_ids": [[1], [1, 1]]}
    assert grouped(**call, solution=["4", "4"]) == [0.0, -1.0]


def test_all_walks_through_an_expression_reach_the_factors_of_a_product():
    value = 0.5 * (first() + second()) * gate(tags("a"), by=slow())
    assert [one.factory.__name__ for one in find_functions(value)] == ["first", "second", "gate", "tags", "slow"]
    assert [one.name for one in find_functions((first() - second()) * slow(), paid_only=True)] == ["first", "slow"]
