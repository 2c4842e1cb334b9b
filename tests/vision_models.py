"""Vision-language models with random weights, one for each way in which TRL lays out the pixels of a batch.

Everything is made here: characters are tokens, and PIL prepares the images, since torchvision is not required.
"""

import random
import string
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import transformers
from datasets import Dataset, Features, List, Value
from datasets import Image as ImageColumn
from PIL import Image
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from torch.nn.functional import pad
from transformers import BatchFeature, PreTrainedTokenizerFast
from transformers.image_processing_utils import BaseImageProcessor
from transformers.image_utils import make_flat_list_of_images
from transformers.processing_utils import ImagesKwargs


SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
TOWER = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}


def chat_template(image: str) -> str:
    return (
        "{% for message in messages %}<s>{{ message['role'] }}\n"
        "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
        "{% if part['type'] == 'image' %}" + image + "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}"
        "</s>\n{% endfor %}{% if add_generation_prompt %}<s>assistant\n{% endif %}"
    )


def make_tokenizer(image: str, *more: str, **special: str) -> PreTrainedTokenizerFast:
    """A token for every character, for every special token and for `more`; `image` stands for an image in a prompt."""
    tokens = [*SPECIAL, *special.values(), *more, *string.ascii_letters, *string.digits, *" .,?!+=<>\n"]
    vocabulary = {token: index for index, token in enumerate(dict.fromkeys(tokens))}
    characters = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    characters.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    characters.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=characters,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens=special,
        chat_template=chat_template(image),
        padding_side="left",
    )
    tokenizer.add_tokens(list(more), special_tokens=True)
    return tokenizer


def text(tokenizer: PreTrainedTokenizerFast, model_type: str, **options) -> dict:
    return {
        **TOWER,
        "model_type": model_type,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "vocab_size": len(tokenizer),
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        **options,
    }


class ImagesOnly(transformers.ProcessorMixin):
    """A processor without its part for videos, which requires torchvision, and without its part for sounds."""

    @classmethod
    def get_attributes(cls):
        return ["image_processor", "tokenizer"]

    def __init__(self, *parts, **options):
        super().__init__(*parts, **{name: part for name, part in options.items() if part is not None})


class TextRows:
    """TRL passes None for a row without images, where transformers expects an empty list."""

    def fetch_images(self, images):
        return [] if images is None else super().fetch_images(images)


def make_processor(name: str, *parts, **options):
    return type(name, (getattr(transformers, name), ImagesOnly), {})(*parts, **options)


def make_images(name: str, **options):
    return type(name, (TextRows, getattr(transformers, name)), {})(**options)


def qwen2_5_vl():
    tokenizer = make_tokenizer(
        "<|vision_start|><|image_pad|><|vision_end|>",
        image_token="<|image_pad|>",
        video_token="<|video_pad|>",
        start_token="<|vision_start|>",
        end_token="<|vision_end|>",
    )
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}
    vision = {"depth": 2, "hidden_size": 16, "num_heads": 2, "intermediate_size": 32, "out_hidden_size": 16}
    config = transformers.Qwen2_5_VLConfig(
        text_config=text(tokenizer, "qwen2_5_vl_text", rope_parameters=rope),
        vision_config={**vision, "patch_size": 4, "window_size": 16, "fullatt_block_indexes": [1]},
        image_token_id=tokenizer.image_token_id,
        video_token_id=tokenizer.video_token_id,
        vision_start_token_id=tokenizer.start_token_id,
        vision_end_token_id=tokenizer.end_token_id,
    )
    size = {"shortest_edge": 64, "longest_edge": 256}
    pixels = make_images("Qwen2VLImageProcessorPil", patch_size=4, merge_size=2, size=size)
    return transformers.Qwen2_5_VLForConditionalGeneration(config), make_processor(
        "Qwen2_5_VLProcessor", pixels, tokenizer
    )


def gemma4():
    tokenizer = make_tokenizer(
        "<image>",
        image_token="<image>",
        boi_token="<boi>",
        eoi_token="<eoi>",
        audio_token="<audio>",
        boa_token="<boa>",
        eoa_token="<eoa>",
    )
    text_config = text(
        tokenizer,
        "gemma4_text",
        layer_types=["sliding_attention", "full_attention"],
        global_head_dim=8,
        hidden_size_per_layer_input=4,
        vocab_size_per_layer_input=len(tokenizer) + 1,
    )
    vision = {
        **TOWER,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "patch_size": 2,
        "pooling_kernel_size": 2,
        "position_embedding_size": 300,
    }
    config = transformers.Gemma4Config(
        text_config=text_config,
        vision_config=vision,
        audio_config=None,
        image_token_id=tokenizer.image_token_id,
        boi_token_id=tokenizer.boi_token_id,
        eoi_token_id=tokenizer.eoi_token_id,
        audio_token_id=tokenizer.audio_token_id,
        video_token_id=None,
    )
    pixels = make_images("Gemma4ImageProcessorPil", patch_size=2, pooling_kernel_size=2, max_soft_tokens=70)
    return transformers.Gemma4ForConditionalGeneration(config), make_processor(
        "Gemma4Processor", None, pixels, tokenizer, None
    )


def gemma3():
    tokenizer = make_tokenizer("<boi>", image_token="<image>", boi_token="<boi>", eoi_token="<eoi>")
    config = transformers.Gemma3Config(
        text_config=text(
            tokenizer, "gemma3_text", layer_types=["sliding_attention", "full_attention"], query_pre_attn_scalar=8
        ),
        vision_config={**TOWER, "model_type": "siglip_vision_model", "image_size": 8, "patch_size": 2},
        mm_tokens_per_image=4,
        image_token_index=tokenizer.image_token_id,
        boi_token_index=tokenizer.boi_token_id,
        eoi_token_index=tokenizer.eoi_token_id,
    )
    pixels = make_images("Gemma3ImageProcessorPil", size={"height": 8, "width": 8})
    return transformers.Gemma3ForConditionalGeneration(config), make_processor(
        "Gemma3Processor", pixels, tokenizer, image_seq_length=4
    )


class Lfm2VlOptions(ImagesKwargs, total=False):
    return_row_col_info: bool


class Lfm2VlImages(TextRows, BaseImageProcessor):
    """LFM2-VL's own requires torchvision. Tiles of 8 by 8 pixels, as many as an image holds, and a thumbnail."""

    valid_kwargs = Lfm2VlOptions
    model_input_names = ["pixel_values", "pixel_attention_mask", "spatial_shapes"]
    tile_size = 8
    encoder_patch_size = 2
    downsample_factor = 2
    use_thumbnail = True

    def preprocess(self, images, return_tensors="pt", **options):
        tiles, grids, sizes = [], [], []
        for image in make_flat_list_of_images(self.fetch_images(images)):
            rows, cols = max(1, image.height // 8), max(1, image.width // 8)
            grids.append((rows, cols))
            sizes.append([8, 4])
            if rows * cols > 1:
                whole = image.resize((8 * cols, 8 * rows))
                corners = [(8 * col, 8 * row) for row in range(rows) for col in range(cols)]
                tiles += [patches(whole.crop((left, top, left + 8, top + 8))) for left, top in corners]
            tiles.append(patches(image.resize((4, 8))))
        data = {
            "pixel_values": torch.stack([pad(tile, (0, 0, 0, 16 - len(tile))) for _, tile in tiles]),
            "pixel_attention_mask": torch.stack([(torch.arange(16) < len(tile)).long() for _, tile in tiles]),
            "spatial_shapes": torch.tensor([shape for shape, _ in tiles]),
            "image_rows": torch.tensor([rows for rows, _ in grids]),
            "image_cols": torch.tensor([cols for _, cols in grids]),
            "image_sizes": torch.tensor(sizes),
        }
        return BatchFeature(data)


def patches(tile) -> tuple[tuple[int, int], torch.Tensor]:
    """How many rows and columns of 2 by 2 pixels there are, and these."""
    pixels = torch.tensor(np.array(tile.convert("RGB")) / 255, dtype=torch.float32)
    rows, cols = pixels.size(0) // 2, pixels.size(1) // 2
    return (rows, cols), pixels.view(rows, 2, cols, 2, 3).transpose(1, 2).reshape(rows * cols, 12)


def lfm2_vl():
    places = [f"<|img_row_{row}_col_{col}|>" for row in range(1, 3) for col in range(1, 3)]
    ends = ["<|image_start|>", "<|image_end|>", "<|img_thumbnail|>"]
    tokenizer = make_tokenizer("<image>", *places, *ends, image_token="<image>")
    config = transformers.Lfm2VlConfig(
        text_config=text(tokenizer, "lfm2", layer_types=["conv", "full_attention"], block_auto_adjust_ff_dim=False),
        vision_config={**TOWER, "model_type": "siglip2_vision_model", "patch_size": 2, "num_patches": 16},
        image_token_id=tokenizer.image_token_id,
        projector_hidden_size=16,
    )
    return transformers.Lfm2VlForConditionalGeneration(config), make_processor(
        "Lfm2VlProcessor", Lfm2VlImages(), tokenizer
    )


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
    return transformers.InternVLForConditionalGeneration(config), make_processor(
        "InternVLProcessor", pixels, tokenizer, image_seq_length=4
    )


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
    processor = make_processor(
        f"{name}Processor",
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
    processor = make_processor("Idefics3Processor", pixels, tokenizer, image_seq_len=4)
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
    torch.manual_seed(0)
    model, processor = LAYOUTS[name]()
    for parameter in model.parameters():  # Gemma3 projects images with zeros at first, which makes all of them alike
        if parameter.ndim == 2 and not parameter.any():
            torch.nn.init.normal_(parameter, std=0.02)
    processor.chat_template = processor.tokenizer.chat_template
    model = model.to(getattr(torch, dtype))
    if folder:
        model.save_pretrained(folder)
        processor.save_pretrained(folder)
        model = type(model).from_pretrained(folder, dtype=model.dtype)
    return model, processor


def dataset(*images: int, size: int = 16) -> Dataset:
    """
    Prompts that say `Add 0`, `Add 1` and so on, with images of 8 to 16 pixels a side.

    Args:
        *images (`int`):
            How many images the rows have, from the beginning again after the last of these.
        size (`int`, *optional*, defaults to `16`):
            Number of rows.
    """
    generator = random.Random(0)

    def image() -> Image.Image:
        shape = generator.choice([(8, 8), (8, 16), (16, 8), (12, 16), (16, 16)])
        return Image.frombytes("RGB", shape, generator.randbytes(3 * shape[0] * shape[1]))

    rows = [
        {
            "prompt": [{"role": "user", "content": f"Add {row} to {row + 1}."}],
            "images": [image() for _ in range(images[row % len(images)])],
        }
        for row in range(size)
    ]
    messages = [{"role": Value("string"), "content": Value("string")}]
    return Dataset.from_list(rows, features=Features({"prompt": messages, "images": List(ImageColumn())}))
