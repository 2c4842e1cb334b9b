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


def assemble(name: str, tokenizer, pixels, processor: str = "", of_processor: dict | None = None, **options):
    """Return a model of this name with these options, and its processor."""
    config = getattr(transformers, f"{name}Config")(**options)
    made = processor_class(processor or f"{name}Processor")(pixels, tokenizer, **(of_processor or {}))
    return getattr(transformers, f"{name}ForConditionalGeneration")(config), made


def qwen(name: str, text_type: str, vision: dict, processor: str, rope: dict | None = None, tokenizer=None, **options):
    names = {"image": "image_pad", "video": "video_pad", "start": "vision_start", "end": "vision_end"}
    special = {f"{name}_token": f"<|{token}|>" for name, token in names.items()}
    tokenizer = tokenizer or make_tokenizer("<|vision_start|><|image_pad|><|vision_end|>", **special)
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1], **(rope or {})}
    size = {"shortest_edge": 64, "longest_edge": 256}
    return assemble(
        name,
        tokenizer,
        make_images("Qwen2VLImageProcessorPil", patch_size=4, merge_size=2, size=size),
        processor,
        text_config=text(tokenizer, text_type, rope_parameters=rope, **options),
        vision_config={"depth": 2, "hidden_size": 16, "num_heads": 2, "patch_size": 4, **vision},
        vision_start_token_id=tokenizer.start_token_id,
        vision_end_token_id=tokenizer.end_token_id,
        **ids(tokenizer, "image", "video"),
    )


def qwen2_5_vl():
    vision = {"intermediate_size": 32, "out_hidden_size": 16, "window_size": 16, "fullatt_block_indexes": [1]}
    return qwen("Qwen2_5_VL", "qwen2_5_vl_text", vision, "Qwen2_5_VLProcessor")


def gemma4():
    names = ("image", "boi", "eoi", "audio", "boa", "eoa")
    tokenizer = make_tokenizer("<image>", **{f"{name}_token": f"<{name}>" for name in names})
    own = {"global_head_dim": 8, "hidden_size_per_layer_input": 4, "vocab_size_per_layer_input": len(tokenizer) + 1}
    vision = {**TOWER, "num_key_value_heads": 2, "head_dim": 8, "patch_size": 2, "pooling_kernel_size": 2}
    return assemble(
        "Gemma4",
        tokenizer,
        make_images("Gemma4ImageProcessorPil", patch_size=2, pooling_kernel_size=2, max_soft_tokens=70),
        text_config=text(tokenizer, "gemma4_text", layer_types=["sliding_attention", "full_attention"], **own),
        vision_config={**vision, "position_embedding_size": 300},
        audio_config=None,
        video_token_id=None,
        **ids(tokenizer, *names[:4]),
    )


def gemma3():
    tokenizer = make_tokenizer("<boi>", image_token="<image>", boi_token="<boi>", eoi_token="<eoi>")
    own = {"layer_types": ["sliding_attention", "full_attention"], "query_pre_attn_scalar": 8}
    return assemble(
        "Gemma3",
        tokenizer,
        make_images("Gemma3ImageProcessorPil", size={"height": 8, "width": 8}),
        of_processor={"image_seq_length": 4},
        text_config=text(tokenizer, "gemma3_text", **own),
        vision_config={**SIGLIP, "image_size": 8, "vision_use_head": False},
        mm_tokens_per_image=4,
        image_token_index=tokenizer.image_token_id,
        boi_token_index=tokenizer.boi_token_id,
        eoi_token_index=tokenizer.eoi_token_id,
    )


def lfm2_vl():
    places = [f"<|img_row_{row}_col_{col}|>" for row in range(1, 3) for col in range(1, 3)]
    ends = ["<|image_start|>", "<|image_end|>", "<|img_thumbnail|>"]
    tokenizer = make_tokenizer("<image>", *places, *ends, image_token="<image>")
    return assemble(
        "Lfm2Vl",
        tokenizer,
        Lfm2VlImages(),
        text_config=text(tokenizer, "lfm2", layer_types=["conv", "full_attention"], block_auto_adjust_ff_dim=False),
        vision_config={**SIGLIP, "model_type": "siglip2_vision_model", "num_patches": 16},
        image_token_id=tokenizer.image_token_id,
        projector_hidden_size=16,
    )


def internvl():
    names = {"start_image": "img", "end_image": "/img", "context_image": "IMG_CONTEXT", "video": "video"}
    tokenizer = make_tokenizer("<IMG_CONTEXT>", **{f"{name}_token": f"<{token}>" for name, token in names.items()})
    size = {"height": 8, "width": 8}
    return assemble(
        "InternVL",
        tokenizer,
        make_images("GotOcr2ImageProcessorPil", size=size, crop_to_patches=True, max_patches=4),
        of_processor={"image_seq_length": 4},
        text_config=text(tokenizer, "qwen2"),
        vision_config={**TOWER, "image_size": [8, 8], "patch_size": [2, 2]},
        image_token_id=tokenizer.context_image_token_id,
        image_seq_length=4,
    )


def llava(name: str = "Llava", images: str = "CLIPImageProcessorPil", **options):
    tokenizer = make_tokenizer("<image>", image_token="<image>")
    vision = {**TOWER, "model_type": "clip_vision_model", "image_size": 8, "patch_size": 4, "projection_dim": 16}
    default = {"patch_size": 4, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    return assemble(
        name,
        tokenizer,
        make_images(images, size={"shortest_edge": 8}, crop_size=8, **options),
        of_processor=default,
        text_config=text(tokenizer, "qwen2"),
        vision_config=vision,
        image_token_index=tokenizer.image_token_id,
        image_seq_length=4,
        **options,
    )


def llava_next():
    return llava("LlavaNext", "LlavaNextImageProcessorPil", image_grid_pinpoints=[[8, 16], [16, 8], [16, 16]])


def idefics3():
    places = [f"<row_{row}_col_{col}>" for row in range(1, 3) for col in range(1, 3)]
    ends = ["<global-img>", "<fake_token_around_image>"]
    tokenizer = make_tokenizer("<image>", *places, *ends, image_token="<image>")
    return assemble(
        "Idefics3",
        tokenizer,
        make_images("Idefics3ImageProcessorPil", size={"longest_edge": 16}, max_image_size={"longest_edge": 8}),
        of_processor={"image_seq_len": 4},
        text_config=text(tokenizer, "llama"),
        vision_config={**TOWER, "image_size": 8, "patch_size": 2},
        image_token_id=tokenizer.image_token_id,
        scale_factor=2,
    )


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
    Return the model of this name and its processor, the same in every call.

    They are saved to the folder, from which TRL loads the reference model of a KL term.
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
