"""Whether the rows of a prompt can share its tokens in a model, and how."""

from functools import partial
from typing import Any

import torch
from accelerate import Accelerator
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS as MASKS

from .attention import attend_unpadded, chain_rows, has_unpadded_attention, let_attend, pad_rows
from .passes import Layout, Sharing
from .positions import find_base, list_library_classes, takes_positions
from .trl_members import has_fused_head


KINDS = (
    "full_attention",
    "sliding_attention",
    "chunked_attention",
)  # of layers in which only attention sees other tokens
PADDED = ("sdpa", "eager", "flex_attention")
FLASH = "flash"  # is in the names of all implementations of FlashAttention
HALF = (torch.float16, torch.bfloat16)
STEP = 256  # on a GPU, sequences have a multiple of this number of tokens, so that kernels and allocations repeat


def find_sharing(model: Any, accelerator: Accelerator, pad_to_multiple_of: int | None) -> Sharing | str:
    """Return how rows share tokens in a model, or why they cannot."""
    base = find_base(model)
    config = base.config.get_text_config()
    if obstacle := find_obstacle(model, base, config):
        return obstacle
    let_attend(config._attn_implementation)
    sharing = Sharing(
        choose_layout(config, accelerator, model.dtype),
        multiple=pad_to_multiple_of or 1,
        keeps_scores=config._attn_implementation == "eager",
    )
    return sharing._replace(cost=1.0, step=STEP) if accelerator.device.type == "cuda" else sharing


def find_obstacle(model: Any, base: Any, config: Any) -> str:
    """Return why a model cannot share tokens, or nothing."""
    implementation = config._attn_implementation
    has_tower = hasattr(base.config, "vision_config")
    kinds = getattr(config, "layer_types", None) or ()
    adapters = getattr(model, "peft_config", {}).values()
    if not has_fused_head():
        return "trl 1.15 or newer is needed to share it"
    if not takes_positions(model, has_images=False):
        return "the positions of its tokens cannot be given to this model"
    if other := next((kind for kind in kinds if kind not in KINDS), None):
        return f"the model has layers of the kind {other!r}"
    if any(getattr(adapter, "alora_invocation_tokens", None) for adapter in adapters):
        return "activated LoRA looks for its tokens in whole rows"
    if not calls_interface(base) or implementation == "eager" and has_tower:
        return f"the {implementation} attention of {type(base).__name__} does not go through transformers' AttentionInterface"
    if implementation not in PADDED and (FLASH not in implementation or implementation not in MASKS):
        return f"attn_implementation={implementation!r} is not known. attn_implementation='sdpa' shares prompts"
    return ""


def calls_interface(base: Any) -> bool:
    """Return whether the attention of a model is looked up by the name of its implementation."""
    return bool(list_library_classes(base)[0]._can_set_attn_implementation())


def choose_layout(config: Any, accelerator: Accelerator, dtype: torch.dtype) -> Layout:
    """Return how rows are laid out for attention. On a GPU, kernels wait for launches, so each layer has one call."""
    if FLASH in config._attn_implementation:
        return chain_rows
    if accelerator.device.type != "cuda" or config._attn_implementation != "sdpa":
        return pad_rows
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(accelerator.mixed_precision, dtype)
    if dtype in HALF and not getattr(config, "attention_dropout", 0) and has_unpadded_attention():
        return partial(chain_rows, kernel=attend_unpadded)
    return partial(pad_rows, is_whole=True)
