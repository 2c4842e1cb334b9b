"""The batch of TRL as rows: every key that TRL puts into it is known, and padded with its neutral value at its side."""

import ast
import inspect
import os

import pytest
import torch
from trl import GRPOConfig, GRPOTrainer

from helpers.marks import slow_except
from helpers.reward_functions import half_dead
from helpers.runs import roll_out
from helpers.stand_in_vllm import with_vllm
from helpers.vision_models import LAYOUTS
from helpers.vision_parts import dataset
from helpers.vision_training import ROWS, train
from trl_grpo_rewards import FilteredGRPOTrainer, demo
from trl_grpo_rewards.training.rows import BOTH_WIDE, COMPLETION_WIDE, IMAGES, KNOWN_KEYS, PROMPT_WIDE, stack, unstack


os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"  # rollout functions


def keys_in_the_source() -> set[str]:
    """What TRL's method puts into its output, by its source."""
    source = ast.parse(inspect.getsource(GRPOTrainer._generate_and_score_completions).replace("\n    ", "\n").strip())
    keys = set()
    for node in ast.walk(source):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith("output["):
            keys.add(ast.literal_eval(node.targets[0].slice))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "output":
            keys |= {ast.literal_eval(key) for key in node.value.keys}
    return keys


CONFIGURATIONS = {
    "plain": {},
    "vLLM by token": {"mode": "token_mask"},
    "vLLM by sequence": {"mode": "sequence_mask"},
    "KL": {"beta": 0.1},
    "old": {"num_iterations": 2, "max_steps": 4},
    "environment": {"rollout_func": roll_out},
    "masked": {"mask_truncated_completions": True},
    **{layout: {"layout": layout} for layout in LAYOUTS},
}


def batches_of(monkeypatch, config, name) -> list[dict]:
    """What TRL's trainer makes of two generations under a configuration."""
    seen, plain = [], GRPOTrainer._generate_and_score_completions

    def watched(self, inputs):
        output = plain(self, inputs)
        seen.append((self, output))
        return dict(output)

    monkeypatch.setattr(GRPOTrainer, "_generate_and_score_completions", watched)
    options = dict(CONFIGURATIONS[name])
    if "layout" in options:
        train(GRPOTrainer, config, options["layout"], dataset(*ROWS["one or two"]), gradient_accumulation_steps=1)
    else:
        mode, rollout_func = options.pop("mode", None), options.pop("rollout_func", None)
        trainer = GRPOTrainer(
            demo.MODEL,
            half_dead,
            args=config(GRPOConfig, **{"max_steps": 2, **options}),
            train_dataset=demo.arithmetic(size=16),
            rollout_func=rollout_func,
        )
        (with_vllm(trainer, mode) if mode else trainer).train()
    return seen


def test_every_key_of_trl_is_known():
    assert {"advantages", "pixel_values", "tool_mask", "importance_sampling_ratio"} <= keys_in_the_source()
    assert keys_in_the_source() <= KNOWN_KEYS


@pytest.mark.parametrize("name", slow_except(CONFIGURATIONS.keys() - LAYOUTS.keys() | {"idefics3"}, CONFIGURATIONS))
def test_every_tensor_is_padded_with_its_neutral_value_at_its_side(config, monkeypatch, name):
    """Batches of two steps differ in width; each is taken apart, put together with the other, and found again."""
    seen = batches_of(monkeypatch, config, name)
    pad = seen[0][0]._tokenizer.pad_token_id
    batches = [output for _, output in seen if output["advantages"].size(0) > 1][:2]
    rows = [unstack(batch, keeps_positions=True) for batch in batches]
    whole = stack(rows[0] + rows[1], pad)
    assert whole.keys() == batches[0].keys() | batches[1].keys() <= KNOWN_KEYS
    prompts = whole["prompt_ids"].size(1)
    start = 0
    for batch in batches:
        count, width = batch["completion_ids"].shape
        mine = slice(start, start + count)
        start += count
        used = int(batch["completion_mask"].sum(1).max()) or width
        for key in batch.keys() & {*PROMPT_WIDE, *COMPLETION_WIDE, *BOTH_WIDE}:
            got, expected = whole[key][mine], batch[key]
            before = prompts - batch["prompt_ids"].size(1) if key in PROMPT_WIDE or key in BOTH_WIDE else 0
            own = expected[:, : expected.size(1) - (0 if key in PROMPT_WIDE else max(0, width - used))]
            if key in COMPLETION_WIDE:
                mask = batch["completion_mask"][:, : own.size(1)].bool()
                own, found = own[mask], got[:, : own.size(1)][mask]
                assert torch.equal(found.nan_to_num(), own.nan_to_num())
            else:
                assert torch.equal(got[:, before : before + own.size(1)], own)
            neutral = {"prompt_ids": pad, "completion_ids": pad, "tool_mask": 1, "importance_sampling_ratio": 1}
            assert (got[:, :before] == neutral.get(key, 0)).all()
            assert (got[:, before + own.size(-1) :] == neutral.get(key, 0)).all() or key in COMPLETION_WIDE
        assert torch.equal(whole["advantages"][mine], batch["advantages"])
    for key in whole.keys() & {*IMAGES}:
        assert whole[key].size(0) == sum(batch[key].size(0) for batch in batches)
    again = unstack(whole, keeps_positions=True)
    assert [row.keys() for row in again] == [row.keys() for row in rows[0] + rows[1]]


def test_a_row_has_no_padding_and_knows_its_place_in_the_batch_of_trl():
    mask = torch.tensor([[0, 0, 1], [1, 1, 1]])
    one = {
        "prompt_ids": 5 * mask,
        "prompt_mask": mask,
        "completion_ids": 5 * mask.flip(1),
        "completion_mask": mask.flip(1),
        "token_type_ids": torch.cat([mask, mask.flip(1)], 1),
        "advantages": torch.ones(2),
    }
    rows = unstack(one)
    assert [(len(row["prompt_ids"]), len(row["completion_ids"])) for row in rows] == [(1, 1), (3, 3)]
    assert all(row["token_type_ids"].tolist() == [1] * len(row["token_type_ids"]) for row in rows)
    assert [row["prompt_width"] for row in rows] == [3, 3]
    assert [row["prompt_width"] for row in unstack(stack(rows[:1], 0))] == [3]  # also where it is stacked alone


def test_an_unknown_key_is_named(config, problems, monkeypatch):
    plain = GRPOTrainer._generate_and_score_completions
    monkeypatch.setattr(
        GRPOTrainer,
        "_generate_and_score_completions",
        lambda self, inputs: plain(self, inputs) | {"halves": torch.ones(len(inputs), 2)},
    )
    trainer = FilteredGRPOTrainer(demo.MODEL, half_dead, args=config(), train_dataset=problems)
    with pytest.raises(ValueError, match="TRL's batch has the key 'halves', .* Set packing=False"):
        trainer.train()
    kept = config(packing=False)
    FilteredGRPOTrainer(demo.MODEL, half_dead, args=kept, train_dataset=problems).train()
