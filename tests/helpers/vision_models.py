"""Vision-language models with random weights, one for each way in which TRL lays out the pixels of a batch."""

import copy
import functools
from collections.abc import Callable
from pathlib import Path

import torch
import transformers

from helpers.vision_parts import TOWER, Lfm2VlImages, make_images, make_tokenizer, processor_class, text


SIGLIP = {**TOWER, "model_type": "siglip_vision_model", "patch_size": 2}


def ids(tokenizer, *names: str) -> dict[str, int]:
    return {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in names}


def qwen(name: str, text_type: str, vision: dict, processor: str, rope: dict | None = None, tokenizer=None, **options):
    tokenizer = tokenizer or make_tokenizer(
        "<|vision_start|><|image_pad|><|vision_end|>",
        image_token="<|image_pad|>",
        video_token="<|video_pad|>",
        start_token="<|vision_start|>",
        end_token="<|vision_end|>",
    )
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1], **(rope or {})}
    config = getattr(transformers, f"{name}Config")(
        text_config=text(tokenizer, text_type, rope_parameters=rope, **options),
        vision_config={"depth": 2, "hidden_size": 16, "num_heads": 2, "patch_size": 4, **vision},
        **ids(tokenizer, "image", "video"),
        vision_start_token_id=tokenizer.start_token_id,
        vision_end_token_id=tokenizer.end_token_id,
    )
    size = {"shortest_edge": 64, "longest_edge": 256}
    pixels = make_images("Qwen2VLImageProcessorPil", patch_size=4, merge_size=2, size=size)
    model = getattr(transformers, f"{name}ForConditionalGeneration")(config)
    return model, processor_class(processor)(pixels, tokenizer)


def qwen2_vl():
    return qwen("Qwen2VL", "qwen2_vl_text", {"embed_dim": 16, "mlp_ratio": 2}, "Qwen2VLProcessor")


def qwen2_5_vl():
    vision = {"intermediate_size": 32, "out_hidden_size": 16, "window_size": 16, "fullatt_block_indexes": [1]}
    return qwen("Qwen2_5_VL", "qwen2_5_vl_text", vision, "Qwen2_5_VLProcessor")


def qwen3_5(name: str = "Qwen3_5", text_type: str = "qwen3_5_text", **options):
    vision = {"intermediate_size": 32, "out_hidden_size": 16, "num_position_embeddings": 64}
    return qwen(
        name,
        text_type,
        vision,
        "Qwen3VLProcessor",
        {"partial_rotary_factor": 1.0, "mrope_interleaved": True},
        layer_types=["linear_attention", "full_attention"],
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        linear_num_key_heads=2,
        linear_num_value_heads=2,
        **options,
    )


def qwen3_5_moe():
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
    return qwen3_5("Qwen3_5Moe", "qwen3_5_moe_text", shared_expert_intermediate_size=16, **experts)


def gemma4():
    names = ("image", "boi", "eoi", "audio", "boa", "eoa")
    tokenizer = make_tokenizer("<image>", **{f"{name}_token": f"<{name}>" for name in names})
    text_config = text(
        tokenizer,
        "gemma4_text",
        layer_types=["sliding_attention", "full_attention"],
        global_head_dim=8,
        hidden_size_per_layer_input=4,
        vocab_size_per_layer_input=len(tokenizer) + 1,
    )
    vision = {**TOWER, "num_key_value_heads": 2, "head_dim": 8, "patch_size": 2, "pooling_kernel_size": 2}
    config = transformers.Gemma4Config(
        text_config=text_config,
        vision_config={**vision, "position_embedding_size": 300},
        audio_config=None,
        video_token_id=None,
        **ids(tokenizer, *names[:4]),
    )
    pixels = make_images("Gemma4ImageProcessorPil", patch_size=2, pooling_kernel_size=2, max_soft_tokens=70)
    processor = processor_class("Gemma4Processor")(pixels, tokenizer)
    return transformers.Gemma4ForConditionalGeneration(config), processor


def gemma3():
    tokenizer = make_tokenizer("<boi>", image_token="<image>", boi_token="<boi>", eoi_token="<eoi>")
    config = transformers.Gemma3Config(
        text_config=text(
            tokenizer, "gemma3_text", layer_types=["sliding_attention", "full_attention"], query_pre_attn_scalar=8
        ),
        vision_config={**SIGLIP, "image_size": 8, "vision_use_head": False},
        mm_tokens_per_image=4,
        image_token_index=tokenizer.image_token_id,
        boi_token_index=tokenizer.boi_token_id,
        eoi_token_index=tokenizer.eoi_token_id,
    )
    pixels = make_images("Gemma3ImageProcessorPil", size={"height": 8, "width": 8})
    processor = processor_class("Gemma3Processor")(pixels, tokenizer, image_seq_length=4)
    return transformers.Gemma3ForConditionalGeneration(config), processor


def lfm2_vl():
    places = [f"<|img_row_{row}_col_{col}|>" for row in range(1, 3) for col in range(1, 3)]
    ends = ["<|image_start|>", "<|image_end|>", "<|img_thumbnail|>"]
    tokenizer = make_tokenizer("<image>", *places, *ends, image_token="<image>")
    config = transformers.Lfm2VlConfig(
        text_config=text(tokenizer, "lfm2", layer_types=["conv", "full_attention"], block_auto_adjust_ff_dim=False),
        vision_config={**SIGLIP, "model_type": "siglip2_vision_model", "num_patches": 16},
        image_token_id=tokenizer.image_token_id,
        projector_hidden_size=16,
    )
    processor = processor_class("Lfm2VlProcessor")(Lfm2VlImages(), tokenizer)
    return transformers.Lfm2VlForConditionalGeneration(config), processor


def internvl():
    tokenizer = make_tokenizer(
        "<IMG_CONTEXT>",
        start_image_token="<img>",
        end_image_token="</img>",
        context_image_token="<IMG_CONTEXT>",
        video_token="<video>",
    )
    config = transformers.InternVLConfig(
        text_config=text(tokenizer, "qwen2"),
        vision_config={**TOWER, "image_size": [8, 8], "patch_size": [2, 2]},
        image_token_id=tokenizer.context_image_token_id,
        image_seq_length=4,
    )
    pixels = make_images(
        "GotOcr2ImageProcessorPil", size={"height": 8, "width": 8}, crop_to_patches=True, max_patches=4
    )
    processor = processor_class("InternVLProcessor")(pixels, tokenizer, image_seq_length=4)
    return transformers.InternVLForConditionalGeneration(config), processor


def llava(name: str = "Llava", images: str = "CLIPImageProcessorPil", **options):
    tokenizer = make_tokenizer("<image>", image_token="<image>")
    vision = {**TOWER, "model_type": "clip_vision_model", "image_size": 8, "patch_size": 4, "projection_dim": 16}
    config = getattr(transformers, f"{name}Config")(
        text_config=text(tokenizer, "qwen2"),
        vision_config=vision,
        image_token_index=tokenizer.image_token_id,
        image_seq_length=4,
        **options,
    )
    processor = processor_class(f"{name}Processor")(
        make_images(images, size={"shortest_edge": 8}, crop_size=8, **options),
        tokenizer,
        patch_size=4,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )
    return getattr(transformers, f"{name}ForConditionalGeneration")(config), processor


def llava_next():
    return llava("LlavaNext", "LlavaNextImageProcessorPil", image_grid_pinpoints=[[8, 16], [16, 8], [16, 16]])


def idefics3():
    tokenizer = make_tokenizer(
        "<image>",
        *[f"<row_{row}_col_{col}>" for row in range(1, 3) for col in range(1, 3)],
        "<global-img>",
        "<fake_token_around_image>",
        image_token="<image>",
    )
    config = transformers.Idefics3Config(
        text_config=text(tokenizer, "llama"),
        vision_config={**TOWER, "image_size": 8, "patch_size": 2},
        image_token_id=tokenizer.image_token_id,
        scale_factor=2,
    )
    pixels = make_images("Idefics3ImageProcessorPil", size={"longest_edge": 16}, max_image_size={"longest_edge": 8})
    processor = processor_class("Idefics3Processor")(pixels, tokenizer, image_seq_len=4)
    return transformers.Idefics3ForConditionalGeneration(config), processor


LAYOUTS: dict[str, Callable] = {
    "qwen2.5-vl": qwen2_5_vl,
    "gemma4": gemma4,
    "gemma3": gemma3,
    "lfm2-vl": lfm2_vl,
    "internvl": internvl,
    "llava": llava,
    "llava-next": llava_next,
    "idefics3": idefics3,
}
"""Makers of a model and its processor, one for each layout."""


@functools.cache
def build(name: str):
    torch.manual_seed(0)
    model, processor = LAYOUTS[name]()
    for parameter in model.parameters():  # Gemma3 projects images with zeros at first, which makes all of them alike
        if parameter.ndim == 2 and not parameter.any():
            torch.nn.init.normal_(parameter, std=0.02)
    processor.chat_template = processor.tokenizer.chat_template
    return model, processor


def make(name: str, dtype: str = "float32", folder: Path | None = None):
    """
    The model of this name and its processor, the same in every call.

    Args:
        name (`str`):
            One of `LAYOUTS`.
        dtype (`str`, *optional*, defaults to `"float32"`):
            Type of the weights.
        folder (`Path`, *optional*):
            Where to save both. TRL loads the reference model of a KL term from there.
    """
    model, processor = copy.deepcopy(build(name))
    torch.manual_seed(0)
    model = model.to(getattr(torch, dtype))
    if folder:
        model.save_pretrained(folder)
        processor.save_pretrained(folder)
        if torch.distributed.is_initialized():  # the first rank saves
            torch.distributed.barrier()
        model = type(model).from_pretrained(folder, dtype=model.dtype)
    return model, processor
