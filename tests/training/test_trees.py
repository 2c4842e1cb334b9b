"""Rows that share tokens: the tokens of trees, their masks, and models that say the same of them as of whole rows."""

import random
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from accelerate.utils import DistributedType
from hypothesis import given
from hypothesis import strategies as st
from trl import GRPOTrainer
from trl.trainer import utils

from helpers.architectures import ARCHITECTURES, build_model
from helpers.marks import slow_except
from helpers.models import load_layer
from helpers.reward_functions import half_dead
from trl_grpo_rewards import FilteredGRPOTrainer
from trl_grpo_rewards.training import packing
from trl_grpo_rewards.training.packing import Packer
from trl_grpo_rewards.training.placement import Size, plan_moves
from trl_grpo_rewards.training.trees import (
    Pass,
    Path,
    Sharing,
    build_mask,
    count_different,
    find_sharing,
    list_groups,
    plan_passes,
    plan_sequences,
    read_paths,
)


if not hasattr(utils, "add_fused_lm_head"):
    pytest.skip("TRL before 1.15 shares no tokens", allow_module_level=True)

SHARING = Sharing({"full_attention": None}, even=1e9)
CPU = torch.device("cpu")
tokens = st.lists(st.integers(0, 2), min_size=1, max_size=6)
rows = st.builds(lambda first, prompt, own: Path(first, prompt + own, len(prompt)), st.integers(0, 1), tokens, tokens)
sets_of_rows = st.lists(rows, min_size=1, max_size=8)


@given(sets_of_rows)
def test_different_tokens_are_those_that_differ_in_themselves_or_before(paths):
    beginnings = {(path.first, *path.tokens[:end]) for path in paths for end in range(1, len(path.tokens) + 1)}
    assert count_different(paths) == len(beginnings)


def test_one_token_is_copied_where_rows_part():
    for one, other, count in (([1, 2, 3],) * 2 + (3,), ([1, 2, 3], [1, 2, 3, 4], 4), ([1, 2, 3], [1, 2, 4], 5)):
        _, sizes = plan_sequences([Path(0, one, 1), Path(0, other, 1)], 100, SHARING)
        assert sizes == [Size(0, count)]


@given(sets_of_rows, st.integers(1, 40), st.sampled_from([1, 4]))
def test_each_token_of_a_tree_sees_the_row_before_it_and_predicts_the_next_one(paths, most, multiple):
    sharing = SHARING._replace(multiple=multiple, even=30)
    sequences, sizes = plan_sequences(paths, most, sharing)
    assert sorted(sum(sequences, [])) == [*range(len(paths))]
    assert all(len(own) == 1 or size.total < most + multiple for own, size in zip(sequences, sizes, strict=True))
    width, columns = max(len(path.tokens) for path in paths), max(sizes).total
    ordered = [[paths[row] for row in own] for own in sequences]
    tree = Pass(sum(sequences, []), columns * len(sequences), ordered, sharing).build(width, CPU)
    assert tree.tokens.size(1) == columns and columns % multiple == 0
    sees = build_mask(tree, None, torch.float32)[:, 0] == 0
    assert sees.any(2).all()  # or attention would be undefined
    found = {}
    for row, end in (tree.sources >= 0).nonzero().tolist():
        one, last = divmod(tree.sources[row, end].item(), columns - 1)
        assert tree.is_scored[one, last + 1]
        seen, positions = (values[one, sees[one, last]].tolist() for values in (tree.tokens, tree.positions))
        found[row, end] = (seen, positions, tree.tokens[one, last + 1].item())
    assert found == {
        (row, end - prompt): (own[:end], [*range(first, first + end)], own[end])
        for row, (first, own, prompt) in enumerate(sum(ordered, []))
        for end in range(prompt, len(own))
    }


def test_a_window_reaches_as_far_back_in_a_row_as_in_the_model():
    paths = [Path(5, [1, 2, 3, 4, own], 4) for own in (7, 8)]
    tree = Pass([0, 1], 7, [paths], SHARING).build(1, CPU)
    assert tree.tokens.tolist() == [[1, 2, 3, 4, 7, 4, 8]]
    sees = build_mask(tree, 3, torch.float32)[0, 0] == 0
    assert [row.nonzero().flatten().tolist() for row in sees] == [
        [0],
        [0, 1],
        [0, 1, 2],
        [1, 2, 3],
        [2, 3, 4],
        [1, 2, 5],
        [2, 5, 6],
    ]


def test_rows_with_holes_are_not_shared():
    ids = torch.tensor([[0, 5, 6, 7, 8, 0], [4, 5, 6, 7, 8, 9]])
    assert read_paths(ids, (ids > 0).long(), 3, [2, 0]) == [Path(3, [5, 6, 7, 8], 2), Path(0, [4, 5, 6, 7, 8, 9], 3)]
    for hole in ([1, 0, 1, 1, 1, 1], [1, 1, 1, 0, 1, 1], [0, 0, 0, 1, 1, 1]):
        assert read_paths(ids, torch.tensor([[1] * 6, hole]), 3, [0, 0]) is None


def draw(prompt: int, groups: int, rng: random.Random) -> list[Path]:
    """Return rows with completions of lognormal lengths, of 150 tokens on average."""
    drawn = []
    for _ in range(groups):
        shared, center = rng.choices(range(10), k=prompt), 4.8 + rng.gauss(0, 0.45)
        lengths = [min(512, max(4, round(rng.lognormvariate(center, 0.45)))) for _ in range(8)]
        drawn += [Path(0, shared + rng.choices(range(1000), k=length), prompt) for length in lengths]
    return drawn


@pytest.mark.parametrize("prompt", [50, 200, 1000, 4000])
@pytest.mark.parametrize("even, of_trl, most", [(1e9, 2, 1.11), (1e9, 8, 1.04), (1152, 8, 1.25)])
def test_few_tokens_are_computed_twice(prompt, even, of_trl, most):
    """With attention for nothing, and as in a tiny model. Micro-batches of TRL with few rows split groups."""
    rng, different, computed = random.Random(0), 0, 0
    for _ in range(8):
        paths = draw(prompt, 8, rng)
        sizes = [Size(path.prompt, len(path.tokens) - path.prompt) for path in paths]
        budget = of_trl * max(len(path.tokens) for path in paths)
        passes = plan_passes(sizes, paths, SHARING._replace(even=even), budget, 64 // of_trl, 64)
        computed += sum(one.tokens for one in passes)
        different += count_different(paths)
    assert different <= computed <= most * different


def test_masks_and_scores_of_attention_are_no_larger_than_they_may_be():
    paths = draw(200, 2, random.Random(0))
    sizes, longest = [Size(200, len(path.tokens) - 200) for path in paths], max(len(path.tokens) for path in paths)
    for keeps_scores in (False, True):
        sharing = SHARING._replace(keeps_scores=keeps_scores)
        passes = plan_passes(sizes, paths, sharing, 4 * longest, 4, 16)
        widths = [count_different(own, copied=1) for one in passes for own in one.sequences]
        assert len(widths) < len(paths) and (max(widths) <= longest) == keeps_scores
    paths.append(Path(0, [1] * 8193, 1))  # its width would be that of a mask
    assert all(one.sharing is None for one in plan_passes([*sizes, Size(1, 8192)], paths, SHARING, 20_000, 4, 17))


def test_experts_count_as_far_as_a_token_passes_them():
    found = [find_sharing(build_model("qwen3_moe", vocab_size=97, pad_token_id=0, **more), None) for more in
             ({}, {"num_experts": 8})]  # fmt: skip
    assert 0 < found[1].even - found[0].even < 0.2 * found[0].even


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


score = partial(
    GRPOTrainer._get_per_token_logps_and_entropies.__wrapped__,
    SimpleNamespace(accelerator=SimpleNamespace(autocast=nullcontext)),
)


EXACT = {*"codegen gptj opt".split()}
"""Models that are not told positions, but would be right."""

QUICK = ["dense", "mistral", "gemma2", "gpt_oss", "lfm2", "falcon, ALiBi"]


def compare(
    name: str, implementation: str | None = None, change=None, dtype="float32", seed=0, times=1, scale=1, **changes
) -> tuple[bool, str]:
    """Return whether a model shares tokens, and the fault that is found if it does, with changes of it or of sharing."""
    rng = random.Random(seed)
    model = build_model(name, vocab_size=97, pad_token_id=0, eos_token_id=1, bos_token_id=1)
    prompt, one, other, third = (
        rng.choices(range(3, 90), k=length) for length in (13, 5 * times, 9 * times, 4 * times)
    )
    model.to(getattr(torch, dtype)).set_experts_implementation("eager")
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(scale)
    if implementation:
        model.set_attn_implementation(implementation)
    utils.add_fused_lm_head(model, outputs=("log_probs", "entropy"))
    if change:
        model.model.forward = partial(change, model.model.forward, model.get_input_embeddings())
    found = find_sharing(model, None)
    sharing = SHARING if isinstance(found, str) else found
    rows = [prompt] * 4, [one, other, [*one[:2], *third], list(other)]
    args = SimpleNamespace(per_device_train_batch_size=1, pad_to_multiple_of=None)
    packer = Packer(
        SimpleNamespace(distributed_type=DistributedType.NO, mixed_precision="no"),
        args,
        0,
        sharing=sharing._replace(**changes),
    )
    return sharing is found, packer.compare(score, model, *rows)


@pytest.mark.parametrize("name", slow_except(QUICK, [one for one in ARCHITECTURES if one != "llama, dynamic"]))
def test_models_say_the_same_of_rows_that_share_tokens_or_are_found_out(name, monkeypatch):
    monkeypatch.setattr(packing, "MOST", 1e-5)
    monkeypatch.setattr(packing, "MOST_OF_NOISE", (0, 0))
    shares, fault = compare(name)
    assert bool(fault) == (name == "falcon, ALiBi" or not shares and name not in EXACT), fault


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # by torch's compiler
def test_blocks_are_as_right_as_masks():
    assert not compare("dense", "flex_attention")[1]


def test_a_wrong_window_is_found_out():
    assert not compare("mistral")[1] and not compare("dense", "eager")[1]
    for window in (None, 7, 9):
        assert "differ by" in compare("mistral", windows={"sliding_attention": window})[1]


def drop_positions(plain, embed, position_ids=None, **inputs):
    return plain(**inputs)


def drop_mask(plain, embed, attention_mask=None, **inputs):
    return plain(**inputs)


def add_columns(plain, embed, input_ids, **inputs):
    return plain(inputs_embeds=embed(input_ids) + torch.arange(input_ids.size(1))[:, None] % 2 / 500, **inputs)


def shift(by):
    """Positions of completions are off."""

    def forward(plain, embed, position_ids=None, **inputs):
        return plain(position_ids=None if position_ids is None else position_ids + by * (position_ids >= 13), **inputs)

    return forward


def see(change_mask):
    """Tokens that are shared see more than they should."""

    def forward(plain, embed, attention_mask=None, **inputs):
        if attention_mask is not None and attention_mask.dim() == 4:
            attention_mask = attention_mask.clone()
            change_mask(attention_mask)
        return plain(attention_mask=attention_mask, **inputs)

    return forward


def see_prompt(mask):
    mask[..., :13, :13] = 0


def see_other_rows(mask):
    size = mask.size(-1)
    mask.masked_fill_(torch.ones(size, size, dtype=torch.bool).tril(), 0)


PLANTED = {
    "window - 1": ("mistral", {"windows": {"sliding_attention": 7}}), "window + 1": ("mistral", {"windows": {"sliding_attention": 9}}),
    "positions + 1": ("dense", {"change": shift(1)}), "positions - 1": ("dense", {"change": shift(-1)}),
    "both sides": ("dense", {"change": see(see_prompt)}), "other rows": ("dense", {"change": see(see_other_rows)}),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_rounding_is_no_fault_and_planted_faults_are_found(dtype):
    for seed in range(3):
        for name, scale in (
            ("dense", 1),
            ("mistral", 40),
            ("qwen3", 40),
        ):  # log-probabilities as far apart as in real models
            shares, said = compare(name, dtype=dtype, seed=seed, times=4, scale=scale)
            assert shares and not said, (name, seed)
    for seed in range(2):
        for fault, (name, changes) in PLANTED.items():
            assert "differ by" in compare(name, dtype=dtype, seed=seed, times=4, **changes)[1], (fault, seed)


@pytest.mark.parametrize("change", [drop_positions, drop_mask, add_columns])
def test_a_model_that_is_changed_is_found_out(change):
    assert "differ by" in compare("dense", change=change)[1]


def test_a_run_stops_sharing_where_it_would_be_wrong(config, problems, caplog):
    def train(window):
        trainer = FilteredGRPOTrainer(load_layer(), half_dead, args=config(max_steps=1), train_dataset=problems)
        sharing = trainer._packer.sharing
        trainer._packer.sharing = sharing._replace(windows={"full_attention": window})
        trainer.train()
        return trainer._packer.sharing is not None, trainer.state.log_history[0]["groups/tokens_computed"]

    assert train(None)[0] and not caplog.text
    (is_shared, computed), (_, fewer) = train(3), train(None)
    assert not is_shared and fewer < computed
    said = "The run is correct but slower: the prompt of a group is computed for each of its completions, because log-probabilities"
    assert said in caplog.text


def test_what_rules_out_sharing_is_said_once(config, problems, caplog):
    model = load_layer()
    model.config._attn_implementation = "flash_attention_2"
    trainer = FilteredGRPOTrainer(model, half_dead, args=config(), train_dataset=problems)
    assert trainer._packer.sharing is None and caplog.text.count("attn_implementation='sdpa' shares prompts") == 1
