"""Rows as one sequence: what each token sees in attention, which tokens are scored, and which rows go together."""

import random
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention
from transformers.masking_utils import sdpa_mask, sliding_window_causal_mask_function

from helpers.unpadded_kernels import attend
from trl_grpo_rewards.training.attention import chain_rows, pad_rows
from trl_grpo_rewards.training.passes import Sharing, pack, plan_shared
from trl_grpo_rewards.training.paths import FEWEST, Path, count_different, list_groups, read_path
from trl_grpo_rewards.training.placement import plan_moves


SHARING = Sharing(pad_rows)
tokens = st.lists(st.integers(0, 2), min_size=1, max_size=6)
rows = st.builds(
    lambda first, prompt, own: Path(first, prompt + own, len(prompt)), st.integers(0, 1), tokens, st.just([]) | tokens
)
sets_of_rows = st.lists(rows, min_size=1, max_size=8)


def attend_unpadded(query, key, value, mask, **options):
    lengths = [options[f"{name}_{of}"] for name in ("cu_seq_lens", "max_length") for of in "qk"]
    window = (options["sliding_window"] or 0) - 1, 0
    parts = (one[0].transpose(0, 1) for one in (query, key, value))
    return attend(*parts, *lengths, causal=True, window_size=window)[None], None


def attend_padded(query, key, value, mask, **options):
    return scaled_dot_product_attention(
        query, key, value, mask, is_causal=mask is None and query.size(2) > 1
    ).transpose(1, 2), None


LAYOUTS = {
    "own tokens": pad_rows,
    "whole rows": partial(pad_rows, is_whole=True),
    "without padding": partial(chain_rows, kernel=attend_unpadded),
}


def pack_and_list_pasts(paths, layout, more=0):
    """Return rows as one sequence, and for each column those that its token must see, the last one being its own."""
    pasts = {}

    def lay_out(members, length):
        for one in members:
            pasts.update(
                {
                    one.columns[end]: one.columns[: end + 1]
                    for end in range(len(one.columns) - one.own, len(one.columns))
                }
            )
        return LAYOUTS[layout](members, length)

    paths, width = sorted(paths), max(len(path.tokens) - path.prompt for path in paths)
    packed = pack(paths, max(1, count_different(paths)) + more, width, SHARING._replace(lay_out=lay_out))
    return packed, pasts


@given(sets_of_rows, st.sampled_from([*LAYOUTS]))
def test_each_completion_token_is_predicted_by_what_is_before_it_in_its_row(paths, layout):
    packed, pasts = pack_and_list_pasts(paths, layout)
    scored = (one.flatten().tolist() for one in (packed.columns, packed.targets, packed.places))
    found = {}
    for column, target, place in zip(*scored, strict=True):
        seen, positions = (values[0, pasts[column]].tolist() for values in (packed.tokens, packed.positions))
        found[divmod(place, packed.shape[1])] = seen, positions, target
    assert found == {
        (row, end - prompt): (own[:end], [*range(first, first + end)], own[end])
        for row, (first, own, prompt) in enumerate(sorted(paths))
        for end in range(prompt, len(own))
    }


@given(sets_of_rows, st.sampled_from([*LAYOUTS]), st.sampled_from([None, 3]), st.integers(0, 5))
def test_attention_sees_the_row_before_each_token_and_nothing_else(paths, layout, window, more):
    packed, pasts = pack_and_list_pasts(paths, layout, more)
    length = packed.tokens.size(1)
    states = torch.randn(3, 1, 2, length, 8, dtype=torch.float64)  # queries, keys and values
    options = {"mask_function": sliding_window_causal_mask_function(window), "local_size": window} if window else {}
    rows = packed.rows.add_masks(sdpa_mask, batch_size=1, q_length=length, kv_length=length, device="cpu", **options)
    output = rows.attend(attend_padded, *states, sliding_window=window)
    assert output.shape == (1, length, 2, 8) and not output.isnan().any()  # padding, too
    for column, past in pasts.items():
        keys, values = states[1:, 0, :, past[-(window or length) :]]
        expected = scaled_dot_product_attention(states[0, 0, :, column, None], keys, values)
        assert torch.allclose(output[0, column], expected[:, 0])


pairs = st.tuples(st.integers(0, 2), st.integers(0, 2)).map(list)


@given(st.lists(st.builds(lambda prompt, own: Path(0, prompt + own, 2), pairs, st.just([]) | tokens), min_size=1))
def test_needed_tokens_are_the_different_beginnings_that_rows_of_a_prompt_predict_from(paths):
    predicting = [path for path in paths if len(path.tokens) > path.prompt]
    beginnings = {(end, *path.tokens[: max(end, 2)]) for path in predicting for end in range(1, len(path.tokens))}
    assert count_different(paths) == len(beginnings)


def test_prompts_share_what_they_have_in_common_if_it_is_much():
    for common, shared in ((FEWEST - 1, 0), (FEWEST, FEWEST)):
        system = [*range(common)]
        paths = [Path(0, [*system, 100 + one, 200, 201], common + 1) for one in range(3)]
        assert count_different(paths) == 3 * (common + 2) - 2 * shared
        other = [path._replace(first=place) for place, path in enumerate(paths)]
        assert count_different(other) == 3 * (common + 2)  # at other positions


def test_rows_with_holes_have_no_path():
    assert read_path([0, 5, 6, 7, 8, 0], [0, 1, 1, 1, 1, 0], 3, 2) == Path(3, [5, 6, 7, 8], 2)
    assert read_path([4, 5, 6, 7, 8, 9], [1] * 6, 3, 0) == Path(0, [4, 5, 6, 7, 8, 9], 3)
    for hole in ([1, 0, 1, 1, 1, 1], [1, 1, 1, 0, 1, 1], [0, 0, 0, 1, 1, 1], [0] * 6):
        assert read_path([1] * 6, hole, 3, 0) is None


def draw(prompt: int, groups: int, rng: random.Random) -> list[Path]:
    """Return rows with completions of lognormal lengths, of 150 tokens on average."""
    drawn = []
    for _ in range(groups):
        shared, center = rng.choices(range(10), k=prompt), 4.8 + rng.gauss(0, 0.45)
        lengths = [min(512, max(4, round(rng.lognormvariate(center, 0.45)))) for _ in range(8)]
        drawn += [Path(0, shared + rng.choices(range(1000), k=length), prompt) for length in lengths]
    return drawn


@pytest.mark.parametrize("prompt", [50, 200, 1000, 4000])
@pytest.mark.parametrize("of_trl, most", [(2, 1.1), (8, 1.03)])
def test_few_tokens_are_computed_twice(prompt, of_trl, most):
    """Micro-batches of TRL with few rows split groups."""
    rng, different, computed = random.Random(0), 0, 0
    for _ in range(8):
        paths = draw(prompt, 8, rng)
        budget = of_trl * max(len(path.tokens) for path in paths)
        plan = plan_shared(paths, SHARING, budget, 64 // of_trl)
        assert sorted(row for one in plan for row in one.places) == [*range(64)]
        assert all(one.tokens <= budget for one in plan)
        assert all(one.tokens == count_different(paths[place] for place in one.places) for one in plan)
        computed += sum(one.tokens for one in plan)
        different += count_different(paths)
    assert different <= computed <= most * different


@pytest.mark.parametrize("step, multiple", [(1, 1), (256, 1), (256, 48), (1, 100)])
def test_sequences_have_few_lengths_on_a_gpu(step, multiple):
    paths = draw(200, 8, random.Random(0))
    longest = max(len(path.tokens) for path in paths)
    plan = plan_shared(paths, SHARING._replace(step=step, multiple=multiple, cost=1.0), 8 * longest, 8)
    assert all(one.tokens % step == one.tokens % multiple == 0 and one.tokens <= 8 * longest for one in plan)
    small = plan_shared(paths, SHARING._replace(step=step), longest, 64)
    assert sum(one.tokens for one in small) <= 1.13 * sum(
        count_different(paths[place] for place in one.places) for one in small
    )


def test_rows_of_any_length_share_their_prompt():
    prompt, rng = [*range(4000)], random.Random(0)
    paths = [Path(0, prompt + rng.choices(range(1000), k=8000), 4000) for _ in range(4)]
    plan = plan_shared(paths, SHARING, 24_000, 2)
    assert [len(one.places) for one in plan] == [2, 2] and all(one.tokens == 4000 + 2 * 7999 for one in plan)


def test_scores_of_attention_are_no_more_than_those_of_trl():
    paths = draw(200, 2, random.Random(0))
    longest = max(len(path.tokens) for path in paths)
    eager = SHARING._replace(keeps_scores=True)
    for one in plan_shared(paths, eager, 4 * longest, 4):
        calls = pack([paths[place] for place in one.places], one.tokens, 1000, eager).rows.calls
        scores = sum(len(queries) * queries.size(1) * keys.size(1) for queries, keys, _ in calls)
        assert scores <= 4 * longest**2


def find_busiest(ranks: list[list[Path]], share: float) -> float:
    """Return the tokens of the rank with most, after groups or parts of them have moved."""
    parts = [[[paths[place] for place in group] for group in list_groups(paths, share)] for paths in ranks]
    weights = [[*map(count_different, own)] for own in parts]
    totals = [*map(sum, weights)]
    for source, target, place in plan_moves(weights):
        totals[source] -= weights[source][place]
        totals[target] += weights[source][place]
    return max(totals)


@pytest.mark.parametrize("prompt", [50, 200, 1000, 4000])
@pytest.mark.parametrize("groups, live, most", [(8, 1.0, 1.08), (8, 0.5, 1.15), (1, 1.0, 1.4), (1, 0.5, 5.0)])
def test_eight_ranks_have_about_as_many_different_tokens(prompt, groups, live, most):
    """The last cases have too few groups. Their parts repeat prompts, so they move only where this is better than nothing."""
    rng, found, whole = random.Random(1), 0.0, 0.0
    for _ in range(6):
        ranks = [draw(prompt, sum(rng.random() < live for _ in range(groups)), rng) for _ in range(8)]
        share = sum(map(count_different, ranks)) / 8
        found += find_busiest(ranks, share) / share / 6
        whole += find_busiest(ranks, 1e9) / share / 6
    assert found <= min(most, 1.01 * whole)
    assert prompt > 50 or groups > 1 or found < 0.7 * whole
