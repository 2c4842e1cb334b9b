"""Rewards that several tests use, and a hypothesis strategy for expressions of rewards."""

import asyncio

from hypothesis import strategies as st

from trl_grpo_rewards import (
    Reward,
    appeal,
    boxed,
    clip,
    column,
    gate,
    keywords,
    length,
    pattern,
    reward,
    route,
    schedule,
    share,
    tags,
)


@reward
def brackets(completion: str, *, at_least: int = 1) -> float:
    """1 if there are citations."""
    return float(completion.count("[") >= at_least)


@reward(grouped=True)
def rank_in_group(
    prompt: str,
    completions: list[str],
    messages: list,
    completion_ids: list,
    solution: str,
    unit: str = "m",
    *,
    of: Reward,
) -> list[float]:
    assert [[{"role": "assistant", "content": text}] for text in completions] == messages
    assert (prompt, unit) == (f"{solution}?", "m")
    return [len(of) - sorted(of).index(score) + len(ids) / 10 for score, ids in zip(of, completion_ids, strict=True)]


@reward(grouped=True)
async def shared(completions: list[str]) -> list[float]:
    await asyncio.sleep(0.01)
    return [float(len(completions))] * len(completions)


@reward
def options(
    completion: str, *, a: int = 0, b: str | None = None, c: tuple = (), d: dict | None = None, e: bool = False
) -> float:
    return 0.0


finite = st.floats(allow_nan=False, allow_infinity=False)
plain = st.one_of(st.none(), st.booleans(), st.integers(), finite, st.text(max_size=8))
of_rows = st.builds(column, st.sampled_from(["rubric", "it's", "\\", "a b"]))
trees = st.recursive(plain | of_rows, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)
points = st.lists(st.tuples(st.integers(0, 1000), finite), min_size=1, max_size=4, unique_by=lambda p: p[0])
leaves = st.one_of(
    st.builds(boxed, partial=finite, tolerance=st.none() | st.floats(0, 1), solution=st.sampled_from(["solution", "it's"])),
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
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(share, inner),
        st.builds(
            lambda r, to, **o: appeal(r, to=to, **o),
            inner,
            inner,
            refused=st.booleans(),
            budget=st.floats(0, 1),
        ),
        st.builds(
            lambda r, points, form: schedule(r, steps=form(sorted(points))),
            inner,
            points,
            st.sampled_from([list, dict]),
        ),
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
