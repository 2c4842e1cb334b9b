"""The positions that cut prompts get, in models that count columns and in models that do not."""

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    BloomForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
)

from helpers.vision_models import llava
from trl_grpo_rewards import demo
from trl_grpo_rewards.training.positions import count_positions, takes_positions


SMALL = {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
DYNAMIC = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}
MODELS = {
    "rotary": LlamaForCausalLM(LlamaConfig(**SMALL, num_attention_heads=2)),
    "rotary and dynamic": LlamaForCausalLM(
        LlamaConfig(**SMALL, num_attention_heads=2, rope_parameters=DYNAMIC, max_position_embeddings=8)
    ),
    "learned": GPT2LMHeadModel(GPT2Config(vocab_size=32, n_embd=16, n_layer=1, n_head=2)),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_computes_the_same_without_the_padding_before_a_prompt(name):
    model = MODELS[name].double().eval()
    assert takes_positions(model)
    padded = torch.tensor([[0] * 9 + [5, 7, 9], [0] * 8 + [6, 5, 7, 9]])
    with torch.no_grad():
        mask = (padded > 0).long()
        expected = model(input_ids=padded, attention_mask=mask).logits[:, -3:]
        cut = {"input_ids": padded[:, 8:], "attention_mask": mask[:, 8:]}
        got = model(**cut, position_ids=count_positions(4, torch.tensor([8, 8]))).logits[:, -3:]
        moved = model(**cut).logits[:, -3:]
    assert torch.allclose(got, expected, atol=1e-12)
    assert name != "learned" or not torch.allclose(moved, expected, atol=1e-4)  # so the positions are needed


def test_positions_of_columns_that_were_added_are_not_negative():
    assert count_positions(3, torch.tensor([2, 0, -2])).tolist() == [[2, 3, 4], [0, 1, 2], [0, 0, 0]]


def test_models_that_cannot_be_told_keep_their_padding():
    bundled = AutoModelForCausalLM.from_pretrained(demo.MODEL)
    assert takes_positions(bundled)
    assert not takes_positions(llava()[0])
    assert takes_positions(get_peft_model(bundled, LoraConfig(r=1, target_modules=["q_proj"])))
    small = {"vocab_size": 32, "hidden_size": 16}
    assert not takes_positions(BloomForCausalLM(BloomConfig(**small, n_layer=1, n_head=2)))
    assert not takes_positions(MambaForCausalLM(MambaConfig(**small, num_hidden_layers=1)))
