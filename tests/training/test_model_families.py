"""Models of several families, which learn positions, rotate them or count them otherwise, have TRL's gradient."""

import pytest
import torch
from transformers import (
    AutoTokenizer,
    BloomConfig,
    BloomForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    OPTConfig,
    OPTForCausalLM,
)
from trl import GRPOTrainer

from helpers.gradients import SGD, difference, train_for_gradients
from helpers.reward_functions import half_dead
from trl_grpo_rewards import FilteredGRPOTrainer, demo


TOKENIZER = AutoTokenizer.from_pretrained(demo.MODEL)
IDS = {"vocab_size": len(TOKENIZER), "pad_token_id": TOKENIZER.pad_token_id}
IDS |= dict.fromkeys(("eos_token_id", "bos_token_id"), TOKENIZER.eos_token_id)
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, **IDS}
SURE = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}  # without dropout
MODELS = {
    "GPT-2": lambda: GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=2, **SURE, **IDS)),
    "OPT": lambda: OPTForCausalLM(OPTConfig(ffn_dim=64, word_embed_proj_dim=32, dropout=0.0, **SMALL)),
    "Gemma 3": lambda: Gemma3ForCausalLM(
        Gemma3TextConfig(intermediate_size=64, head_dim=16, num_key_value_heads=1, sliding_window=8, **SMALL)
    ),
    "GPT-NeoX": lambda: GPTNeoXForCausalLM(GPTNeoXConfig(intermediate_size=64, **SMALL)),
    "Bloom": lambda: BloomForCausalLM(BloomConfig(hidden_size=32, n_layer=2, n_head=2, **IDS)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_gradient_of_other_families(config, problems, name, tmp_path):
    torch.manual_seed(0)
    MODELS[name]().double().save_pretrained(tmp_path / "model")
    options = {"model": str(tmp_path / "model"), "processing_class": TOKENIZER, "beta": 0.1, "max_steps": 2, **SGD}
    expected, _ = train_for_gradients(GRPOTrainer, config, problems, [half_dead], **options)
    got, trainer = train_for_gradients(FilteredGRPOTrainer, config, problems, [half_dead], **options)
    assert difference(got, expected) <= 1e-6
    assert trainer._packer.keeps_positions == (name not in ("Gemma 3", "GPT-NeoX"))
    logged = [entry for entry in trainer.state.log_history if "groups/padding" in entry]
    assert all(entry["groups/tokens_computed"] <= entry["groups/tokens_padded"] for entry in logged) and logged
