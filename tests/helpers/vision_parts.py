"""What tiny vision-language models are made of: a tokenizer of characters, processors of images by PIL, a dataset.

PyPI has torchvision for CUDA alone, so nothing here requires it.
"""

import functools
import inspect
import random
import string

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
    def __init__(self, *parts, **options):
        super().__init__(*parts, **{name: part for name, part in options.items() if part is not None})


@functools.cache
def processor_class(name: str) -> type:
    """The processor of this name, without its part for videos, which requires torchvision, and for sounds."""
    full = getattr(transformers, name)
    parameters = inspect.signature(full.__init__).parameters
    absent = {part: None for part in ("feature_extractor", "video_processor") if part in parameters}
    if not absent:
        return full

    def __init__(self, image_processor=None, tokenizer=None, chat_template=None, **options):
        parts = {"image_processor": image_processor, "tokenizer": tokenizer, **absent}
        full.__init__(self, **parts, chat_template=chat_template, **options)

    return type(f"{name}OfImages", (full, ImagesOnly), {"__init__": __init__})


class TextRows:
    """TRL passes None for a row without images, where transformers expects an empty list."""

    def fetch_images(self, images):
        return [] if images is None else super().fetch_images(images)


def make_images(name: str, **options):
    return type(name, (TextRows, getattr(transformers, name)), {})(**options)


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


def dataset(*images: int, size: int = 16) -> Dataset:
    """Return rows with prompts such as `Add 0`. The numbers of images repeat from the beginning after the last one."""
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
