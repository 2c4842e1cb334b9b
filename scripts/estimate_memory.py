"""Estimate the memory of an update by the size of the model, for all weights and for LoRA, for docs/ppo_grpo_dpo.md.

    python scripts/estimate_memory.py     # prints the table

The models are built without storage (on the device "meta"), only to count their parameters. Bytes are those of TRL's defaults: all
weights are kept in float32 and computed in bfloat16. Adapters of rank 16 are added to weights in bfloat16.
"""

from typing import NamedTuple

import torch
from torch import nn
from transformers import AutoModelForCausalLM, PreTrainedModel, Qwen2Config


GIB = 2**30
WHOLE = 4
"""Bytes of a number in float32."""

TRAINED = WHOLE + 4 + 8
"""Bytes of a trained weight in float32: itself, its gradient, and the two moments of AdamW."""

FROZEN = 2
"""Bytes of a frozen weight in bfloat16."""

RANK = 16
"""Rank of the adapters."""

TOKENS = 4096
"""Tokens of a micro-batch, such as 4 rows of 1,024."""

LOGITS = 2 + 2
"""Bytes of a logit in bfloat16: itself and its gradient."""

SIZES = {
    "0.5B": {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
             "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": True},
    "1.5B": {"hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28, "num_attention_heads": 12,
             "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": True},
    "3B": {"hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16,
           "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": True},
    "7B": {"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
           "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": False},
}  # fmt: skip
"""Shapes of Qwen2.5."""


class Memory(NamedTuple):
    """Bytes of an update."""

    weights: int  # with gradients and moments
    activations: int

    @property
    def gib(self) -> float:
        return (self.weights + self.activations) / GIB


def build(shape: dict[str, int | bool]) -> PreTrainedModel:
    """Return a model of a shape whose weights take no memory."""
    with torch.device("meta"):
        model: PreTrainedModel = AutoModelForCausalLM.from_config(Qwen2Config(**shape))
    return model


def count_weights(model: PreTrainedModel) -> int:
    return sum(weight.numel() for weight in model.parameters())


def count_adapters(model: PreTrainedModel, rank: int = RANK) -> int:
    """Return the number of weights of adapters on all linear layers but the head, as `target_modules="all-linear"` sets them."""
    layers = [
        one for one in model.modules() if isinstance(one, nn.Linear) and one is not model.get_output_embeddings()
    ]
    return sum(rank * (one.in_features + one.out_features) for one in layers)


def count_activations(model: PreTrainedModel, width: int, tokens: int = TOKENS) -> int:
    """
    Return the bytes that a pass with gradient checkpointing needs at least.

    It keeps the numbers at the entrance of each layer, of `width` bytes each, and the logits with their gradients.
    """
    shape = model.config
    kept = shape.num_hidden_layers * shape.hidden_size * width
    return tokens * (kept + shape.vocab_size * LOGITS)


def estimate(model: PreTrainedModel, *, has_adapters: bool, tokens: int = TOKENS) -> Memory:
    weights = count_weights(model)
    if has_adapters:
        held = weights * FROZEN + count_adapters(model) * TRAINED
        return Memory(held, count_activations(model, FROZEN, tokens))
    return Memory(weights * TRAINED, count_activations(model, WHOLE, tokens))


def write_table() -> str:
    lines = ["| parameters | all weights | with a reference model | LoRA |", "|---|---|---|---|"]
    for name, shape in SIZES.items():
        model = build(shape)
        every = estimate(model, has_adapters=False).gib
        reference = every + count_weights(model) * WHOLE / GIB
        adapters = estimate(model, has_adapters=True).gib
        lines.append(f"| {name} ({count_weights(model) / 1e9:.2f}) | {every:.0f} | {reference:.0f} | {adapters:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(write_table())
