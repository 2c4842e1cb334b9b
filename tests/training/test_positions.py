"""The positions that cut prompts get, in models that count columns and in models that do not."""

import math

import pytest
import torch
from peft import LoraConfig, PrefixTuningConfig, PromptTuningConfig, get_peft_model

from helpers.architectures import build_model
from helpers.vision_models import llava
from trl_grpo_rewards.training.positions import find_limit, takes_positions


def build(name):
    return build_model(name, vocab_size=32, pad_token_id=0, eos_token_id=1, bos_token_id=1)


@pytest.mark.parametrize("name, limit", [("dense", math.inf), ("llama, dynamic", 18), ("phi3, longrope", 18)])
def test_a_model_computes_the_same_without_the_padding_before_a_prompt(name, limit):
    model = build(name).eval()
    assert takes_positions(model, has_images=True) and find_limit(model) == limit
    padded = torch.tensor([[0] * 17 + [5, 7, 9], [0] * 16 + [6, 5, 7, 9]])
    with torch.no_grad():
        mask = (padded > 0).long()
        expected = model(input_ids=padded, attention_mask=mask).logits[:, -3:]
        cut = {"input_ids": padded[:, 16:], "attention_mask": mask[:, 16:]}
        got = model(**cut, position_ids=torch.arange(16, 20).repeat(2, 1)).logits[:, -3:]
    assert torch.allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["gpt2", "opt", "bloom", "mamba", "recurrent_gemma", "deepseek_v4"])
def test_models_that_cannot_be_told_keep_their_padding(name):
    assert not takes_positions(build(name), has_images=True)


@pytest.mark.parametrize("name", ["gpt_neox", "gemma3_text", "bamba", "falcon_h1", "lfm2", "qwen3_5_text"])
def test_models_with_rotation_are_told_also_if_they_have_states_without_padding(name):
    assert takes_positions(build(name), has_images=True) and find_limit(build(name)) == math.inf


def test_models_with_images_or_virtual_tokens_keep_their_padding():
    assert not takes_positions(llava()[0], has_images=True)
    assert takes_positions(get_peft_model(build("dense"), LoraConfig(r=1, target_modules=["q_proj"])), has_images=True)
    for config_class in (PromptTuningConfig, PrefixTuningConfig):
        model = get_peft_model(build("phi3, longrope"), config_class(task_type="CAUSAL_LM", num_virtual_tokens=4))
        assert not takes_positions(model, has_images=True) and find_limit(model) == 18 - 4
