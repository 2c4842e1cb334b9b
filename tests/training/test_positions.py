"""Which models see where a token stands, of the configurations in transformers and of models that are run."""

import pytest
import torch
from transformers import (
    BloomConfig,
    Gemma3Config,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    OPTConfig,
    Phi3Config,
    Qwen2VLConfig,
    Qwen3Config,
)

from trl_grpo_rewards.training.positions import has_relative_positions


LONG = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 48, "long_factor": [2.0] * 48}


@pytest.mark.parametrize(
    "config, is_relative",
    [
        (Qwen3Config(), True),
        (LlamaConfig(rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}), True),
        (Gemma3Config(), True),
        (Qwen2VLConfig(), True),
        (LlamaConfig(rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}), False),
        (Phi3Config(rope_parameters=LONG, original_max_position_embeddings=64, max_position_embeddings=128), False),
        (GPT2Config(), False),
        (OPTConfig(), False),
        (BloomConfig(), False),
    ],
    ids=lambda value: getattr(value, "model_type", None),
)
def test_only_rotary_embeddings_of_fixed_scale_are_relative(config, is_relative):
    assert has_relative_positions(config) is is_relative


@pytest.mark.parametrize(
    "model",
    [
        LlamaForCausalLM(
            LlamaConfig(
                vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2
            )
        ).double(),
        GPT2LMHeadModel(GPT2Config(vocab_size=32, n_embd=16, n_layer=1, n_head=2)).double(),
    ],
    ids=["Llama", "GPT-2"],
)
def test_padding_before_a_text_changes_only_models_that_see_positions(model):
    ids = torch.tensor([[5, 7, 9]])
    padded = torch.tensor([[0, 0, 0, 5, 7, 9]])
    with torch.no_grad():
        alone = model.eval()(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
        moved = model(input_ids=padded, attention_mask=(padded > 0).long()).logits[:, 3:]
    assert torch.allclose(alone, moved, atol=1e-6) is has_relative_positions(model.config)
