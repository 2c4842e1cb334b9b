"""TRL's training batch of tensors, split into rows, dicts of one completion without its padding, and stacked again."""

import math
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional

from .paths import Path, read_path
from .trl_members import utils


TensorBatch: TypeAlias = dict[str, Any]
TensorRow: TypeAlias = dict[str, Any]
DataRow: TypeAlias = dict[str, Any]  # of the dataset
TokenIds: TypeAlias = list[list[int]]  # of prompts or completions
PAD_TOKEN_ID = None  # placeholder for the id of the padding token, which depends on the tokenizer
PROMPT_WIDE = {"prompt_ids": PAD_TOKEN_ID, "prompt_mask": 0}  # (rows, prompt tokens), padded on the left

# Tensors of shape (rows, completion tokens), padded on the right. A ratio per sequence has the shape (rows, 1).
COMPLETION_WIDE = {
    "completion_ids": PAD_TOKEN_ID,
    "completion_mask": 0,
    "tool_mask": 1,
    "old_per_token_logps": 0.0,
    "ref_per_token_logps": 0.0,
    "sampling_per_token_logps": 0.0,
    "importance_sampling_ratio": 1.0,
}

BOTH_WIDE = {"token_type_ids": 0, "mm_token_type_ids": 0}  # (rows, all tokens), padded on both sides

IMAGES = {  # tensors with one entry per image, tile or patch, or with one entry per row that holds all its images
    "pixel_values": 0.0,
    "image_grid_thw": 0,
    "image_position_ids": -1,
    "pixel_attention_mask": 0,
    "spatial_shapes": 0,
    "image_sizes": 0,
}

IMAGE_COUNTS = ("num_images", "num_tiles")  # lists with one number per row
PER_ROW = ("advantages", "live", "prompt_width")  # advantages may be of tokens; `prompt_width` is that of TRL
WHOLE_BATCH = ("num_items_in_batch",)  # values of the whole generation batch, the same in every part of it
KNOWN_KEYS = {*PROMPT_WIDE, *COMPLETION_WIDE, *BOTH_WIDE, *IMAGES, *IMAGE_COUNTS, *PER_ROW, *WHOLE_BATCH}


def has_entry_per_row(row_or_batch: TensorRow | TensorBatch) -> bool:
    """Return whether one entry holds all images of a row, as in Idefics. TRL looks only at the number of entries."""
    pixels = row_or_batch.get("pixel_values")
    return isinstance(pixels, Tensor) and pixels.dim() == 5 and "image_sizes" not in row_or_batch


def join_parts(batch: TensorBatch, name: str) -> Tensor:
    """Return the `ids` or the `mask` of all tokens."""
    return torch.cat([batch[f"prompt_{name}"], batch[f"completion_{name}"]], 1)


class Facts(NamedTuple):
    """What is known of a row on the host."""

    prompt: int  # number of columns from the first one on that is not masked
    completion: int  # number of columns up to the last one that is not masked
    tokens: int  # that are not masked
    loss_tokens: int
    is_wide: bool  # rotary embeddings depend on the width of the batch
    path: Path | None  # None if the row has an image or a masked token between others


def read_facts(batch: TensorBatch, limit: float) -> list[Facts]:
    """Return the facts about each row, for which the host waits once."""
    prompt = batch["prompt_ids"].size(1)
    width = batch["completion_ids"].size(1)
    of_loss = batch["prompt_mask"] * 0, batch["completion_mask"] * batch.get("tool_mask", 1)
    on_device = join_parts(batch, "ids"), join_parts(batch, "mask"), torch.cat(of_loss, 1).long()
    on_host = torch.stack(on_device).tolist()
    widths = batch.get("prompt_width", [prompt] * len(on_host[0]))  # in which TRL counts positions
    is_text = not batch.keys() & {*BOTH_WIDE, "pixel_values"}
    return [
        Facts(
            prompt - (mask.index(1) if 1 in mask[:prompt] else prompt),
            width - (mask[::-1].index(1) if 1 in mask[prompt:] else width),
            sum(mask),
            sum(of_loss),
            max(widths) + width >= limit,
            read_path(ids, mask, prompt, own - prompt) if is_text else None,
        )
        for ids, mask, of_loss, own in zip(*on_host, widths, strict=True)
    ]


def unstack(batch: TensorBatch, keeps_positions: bool = False, limit: float = math.inf) -> list[TensorRow]:
    """Split a batch of TRL into rows, whose tensors are views. `keeps_positions` and `limit` are those of the packer."""
    for key in sorted(batch.keys() - KNOWN_KEYS):
        raise ValueError(
            f"TRL's batch has the key {key!r}, which FilteredGRPOTrainer cannot split into rows. The keys that it can "
            f"split are {', '.join(sorted(KNOWN_KEYS))}. Set packing=False to train without splitting, or open an issue "
            f"with the key and your version of TRL."
        )
    if not has_entry_per_row(batch):
        batch = utils.split_pixel_values_by_grid(batch)  # one tensor per row where one has the images of all rows
    batch = {key: value for key, value in batch.items() if value is not None}
    facts = read_facts(batch, limit)
    prompt = batch["prompt_ids"].size(1)
    if not keeps_positions:
        batch.setdefault("prompt_width", [prompt] * len(facts))
    images = batch.get("num_images", [0] * len(facts))
    rows = []
    for index, (own, count) in enumerate(zip(facts, images, strict=True)):
        start = 0 if keeps_positions else prompt - max(1, own.prompt)
        # A masked completion keeps its tokens if it has images, since some may stand for an image.
        keeps_width = own.is_wide or count and not own.completion
        length = batch["completion_ids"].size(1) if keeps_width else max(1, own.completion)
        row = {key: slice_value(key, value, index, start, prompt, length) for key, value in batch.items()}
        rows.append({**row, "facts": own})
    return rows


def slice_value(key: str, value: Any, index: int, start: int, prompt: int, length: int) -> Any:
    """Return the part of a batch's value that belongs to one row: its prompt from `start` on, and its completion."""
    if key in WHOLE_BATCH:
        return value
    if key in PROMPT_WIDE:
        return value[index, start:]
    if key in COMPLETION_WIDE or key == "advantages" and value.dim() > 1:
        return value[index, :length]
    if key in BOTH_WIDE:
        return value[index, start : prompt + length]
    if key in IMAGES and isinstance(value, Tensor):
        return value[index : index + 1]
    return value[index]


def stack(rows: list[TensorRow], pad_token_id: int, multiple: int | None = None) -> TensorBatch:
    """Stack rows into a batch as wide as the longest prompt and the longest completion, or the next multiple."""
    keys = dict.fromkeys(key for row in rows for key in row if key != "facts")
    if not has_images(rows):
        keys = {key: None for key in keys if key not in IMAGES and key not in IMAGE_COUNTS}
    batch = {key: stack_key(key, rows, pad_token_id, multiple) for key in keys}
    return utils.unsplit_pixel_values_by_grid(batch)


def has_images(rows: list[TensorRow]) -> bool:
    return any(row.get("num_images") for row in rows)


def stack_key(key: str, rows: list[TensorRow], pad_token_id: int, multiple: int | None) -> Any:
    if key in WHOLE_BATCH:
        return rows[0][key]
    if key in IMAGE_COUNTS:
        return [row.get(key, 0) for row in rows]
    if key in PER_ROW:
        values = [row[key] for row in rows]
        if not isinstance(values[0], Tensor):
            return values
        return utils.pad(values, 0.0, "right", multiple) if values[0].dim() else torch.stack(values)
    if key in IMAGES:
        return pad_images(key, rows)
    values = fill_values(key, rows)
    if key in BOTH_WIDE:
        parts = [value.tensor_split([len(row["prompt_ids"])]) for value, row in zip(values, rows, strict=True)]
        before, after = zip(*parts, strict=True)
        return torch.cat([utils.pad(before, 0, "left", multiple), utils.pad(after, 0, "right", multiple)], 1)
    if key == "importance_sampling_ratio" and all(value.size(0) == 1 for value in values):
        multiple = None  # one ratio per sequence
    neutral, side = (PROMPT_WIDE[key], "left") if key in PROMPT_WIDE else (COMPLETION_WIDE[key], "right")
    return utils.pad(values, pad_token_id if neutral is PAD_TOKEN_ID else neutral, side, multiple)


def fill_values(key: str, rows: list[TensorRow]) -> list[Tensor]:
    """Return the tensors of tokens of a key, which are neutral where it is missing."""
    example = next(row[key] for row in rows if key in row)
    neutral = (COMPLETION_WIDE | BOTH_WIDE).get(key, 0)
    parts = ("prompt_ids", "completion_ids") if key in BOTH_WIDE else ("completion_ids",)
    widths = [sum(len(row[part]) for part in parts) for row in rows]
    return [
        row[key] if key in row else example.new_full((width,), neutral)
        for row, width in zip(rows, widths, strict=True)
    ]


def pad_images(key: str, rows: list[TensorRow]) -> list[Tensor]:
    """Return one tensor per row. Their shapes differ in the number of entries only."""
    example: Tensor = next(row[key] for row in rows if key in row and row[key].size(0))
    one_entry = any(map(has_entry_per_row, rows))
    shape = [max(row[key].size(dim) for row in rows if key in row) for dim in range(1, example.dim())]

    def pad(row: TensorRow) -> Tensor:
        value = row.get(key, example[:0])
        entries = int(one_entry and key not in row)
        missing = entries, *(most - size for most, size in zip(shape, value.shape[1:], strict=True))
        return functional.pad(value, [side for count in missing[::-1] for side in (0, count)], value=IMAGES[key])

    return [pad(row) for row in rows]


def silence(row: TensorRow) -> TensorRow:
    """Return the row as a filler that adds nothing to any sum over completion tokens."""
    zeros = torch.zeros_like(row["completion_mask"])  # which mask the loss, and not the attention
    return {**row, "advantages": torch.zeros_like(row["advantages"]), "tool_mask": zeros}
