"""Tiny models with random weights, of many architectures of transformers."""

from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel


BASE = dict(
    dtype="float64",
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=16,
    max_position_embeddings=256,
    initializer_range=0.1,
)
DROPOUT = "activation_dropout attention_dropout attention_probs_dropout_prob attn_pdrop dropout embd_pdrop"
DROPOUT += " embed_dropout hidden_dropout hidden_dropout_prob layerdrop resid_dropout resid_pdrop residual_dropout"
PLAIN = "apertus arcee biogpt bitnet cohere ernie4_5 gemma glm glm4 gpt_neox granite helium hunyuan_v1_dense llama"
PLAIN += " modernbert-decoder nemotron olmo olmo2 persimmon phi phi3 qwen3 rwkv seed_oss smollm3 stablelm starcoder2"
RANDOM = dict(initializer_range=0.3)
SINGLE = dict(dtype="float32")  # these models fail with float64
WINDOW = dict(sliding_window=8)
ROTARY = dict(rotary_dim=4, n_positions=256, n_ctx=256)
LONG = dict(rope_type="longrope", rope_theta=1e4, short_factor=[1.0] * 8, long_factor=[4.0] * 8)
MAMBA = dict(mamba_n_heads=8, mamba_d_head=8, mamba_d_state=8, mamba_n_groups=1, mamba_chunk_size=16)
DELTA = dict(linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=8, linear_value_head_dim=8)
DELTA |= dict(layer_types=["linear_attention", "full_attention"])
COMPRESSED = ["compressed_sparse_attention", "heavily_compressed_attention"]
LATENT = dict(q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8)
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)
LOCAL_EXPERTS = dict(num_local_experts=4, num_experts_per_tok=2)

# fmt: off
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "dense": dict(kind="qwen2", **RANDOM),
    "shallow": dict(kind="qwen2", num_hidden_layers=1, **RANDOM),
    "experts": dict(kind="qwen2_moe", shared_expert_intermediate_size=16, **RANDOM, **EXPERTS),
    # Positions
    **{name: {} for name in PLAIN.split()},
    "gpt2": dict(n_positions=256),
    "gpt_bigcode": dict(n_positions=256),
    "gpt_neo": dict(num_layers=2, attention_types=[[["global", "local"], 1]], window_size=8),
    "opt": dict(ffn_dim=64, word_embed_proj_dim=32),
    "xglm": dict(d_model=32, attention_heads=2, num_layers=2, ffn_dim=64, **SINGLE),
    "bloom": SINGLE,
    "mpt": dict(max_seq_len=256, expansion_ratio=2, **SINGLE),
    "falcon": dict(alibi=False, head_dim=None),
    "falcon, ALiBi": dict(alibi=True, head_dim=None),
    "gptj": ROTARY,
    "codegen": dict(num_attention_heads=4, **ROTARY),
    "llama, dynamic": dict(
        max_position_embeddings=18, rope_parameters=dict(rope_type="dynamic", factor=4.0, rope_theta=1e4)
    ),
    "phi3, longrope": dict(original_max_position_embeddings=18, rope_parameters=LONG),
    "diffllama": dict(num_key_value_heads=2),
    # Windows
    **dict.fromkeys(["cohere2", "mistral", "olmo3"], WINDOW),
    **dict.fromkeys(["gemma2", "vaultgemma"], dict(query_pre_attn_scalar=8, **WINDOW, **SINGLE)),
    "gemma3_text": dict(query_pre_attn_scalar=8, **WINDOW),
    "exaone4": dict(sliding_window_pattern=2, **WINDOW),
    "gpt_oss": dict(**WINDOW, **LOCAL_EXPERTS),
    # States
    "mamba": dict(state_size=8),
    "mamba2": dict(num_heads=8, head_dim=8, state_size=8, n_groups=1, chunk_size=16),
    "jamba": dict(
        attn_layer_period=2, attn_layer_offset=1, num_experts=2, expert_layer_period=2, use_mamba_kernels=False,
        mamba_d_state=8,
    ),
    "bamba": dict(attn_layer_indices=[1], **MAMBA),
    "falcon_h1": dict(mamba_d_ssm=64, **MAMBA),
    "granitemoehybrid": dict(
        num_experts=4, layer_types=["mamba", "attention"], shared_intermediate_size=48, **MAMBA, **LOCAL_EXPERTS
    ),
    "zamba2": dict(
        mamba_d_state=8, n_mamba_heads=8, mamba_headdim=8, chunk_size=16, num_mem_blocks=1, hybrid_layer_ids=[1],
        layers_block_type=["mamba", "hybrid"], use_mamba_kernels=False, adapter_rank=4,
    ),
    "nemotron_h": dict(
        mamba_num_heads=8, mamba_head_dim=8, ssm_state_size=8, n_groups=1, chunk_size=16, n_routed_experts=2,
        hybrid_override_pattern="M*M-", num_hidden_layers=4,
    ),
    "lfm2": dict(layer_types=["conv", "full_attention"], block_ff_dim=64, block_auto_adjust_ff_dim=False),
    "minimax": dict(num_local_experts=2, layer_types=["linear_attention", "full_attention"], block_size=16),
    "olmo_hybrid": DELTA,
    "qwen3_5_text": DELTA,
    "qwen3_next": dict(shared_expert_intermediate_size=16, **DELTA, **EXPERTS),
    "recurrent_gemma": dict(lru_width=32, attention_window_size=8, block_types=["recurrent", "attention"]),
    "deepseek_v4": dict(
        n_routed_experts=4, layer_types=COMPRESSED, compress_rates=dict.fromkeys(COMPRESSED, 4), index_n_heads=32,
        index_head_dim=8, mlp_layer_types=["moe"] * 2, **LATENT, **WINDOW, **EXPERTS,
    ),
    # Routers
    "deepseek_v3": dict(
        num_key_value_heads=2, head_dim=8, n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1,
        moe_intermediate_size=16, first_k_dense_replace=1, **LATENT,
    ),
    "qwen3_moe": EXPERTS,
    "mixtral": LOCAL_EXPERTS,
}
# fmt: on
"""By name, what a configuration has in addition to [`BASE`]: what makes the model tiny, or its kind if the name differs."""


def build_model(name: str, **ids: int) -> PreTrainedModel:
    """Return a model with a vocabulary of this size and with these ids of tokens."""
    options = BASE | dict.fromkeys(DROPOUT.split(), 0.0) | ARCHITECTURES[name] | ids
    kind = options.pop("kind", name.split(",")[0])
    config = AutoConfig.for_model(kind, **{name: value for name, value in options.items() if value is not None})
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config)
