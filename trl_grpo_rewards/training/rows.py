"""The batch of tensors that TRL trains on, taken apart into rows and put together again.

A row is a dict with what the batch holds of one completion: the completion without its padding, the prompt with the
padding that TRL gave it (its positions stay), and the images of the row. Rows of different batches, rounds and ranks
can be stacked into one batch: every tensor is padded at its own side with its neutral value.
"""

from typing import Any

import torch
from torch import Tensor
from trl.trainer import utils


Batch = dict[str, Any]
Row = dict[str, Any]

TOKEN_ID = None
"""Stands for the id of the padding token, which the tokenizer knows."""

PROMPT_WIDE = {"prompt_ids": TOKEN_ID, "prompt_mask": 0}
"""Tensors of shape (rows, prompt tokens), padded at the left, and their neutral values."""

COMPLETION_WIDE = {
    "completion_ids": TOKEN_ID,
    "completion_mask": 0,
    "tool_mask": 1,
    "old_per_token_logps": 0.0,
    "ref_per_token_logps": 0.0,
    "sampling_per_token_logps": 0.0,
    "importance_sampling_ratio": 1.0,
}
"""Tensors of shape (rows, completion tokens), padded at the right. The ratio is (rows, 1) where it is one a sequence."""

BOTH_WIDE = {"token_type_ids": 0, "mm_token_type_ids": 0}
"""Tensors of shape (rows, prompt and completion tokens), padded at both sides."""

IMAGES = {
    "pixel_values": 0.0,
    "image_grid_thw": 0,
    "image_position_ids": -1,
    "pixel_attention_mask": 0,
    "spatial_shapes": 0,
    "image_sizes": 0,
}
"""Tensors of images, tiles or patches: as many entries a row as it has, or one entry a row that holds all its images."""

IMAGE_COUNTS = ("num_images", "num_tiles")
"""Lists of numbers, one a row."""

EACH_ROW = ("advantages", "live")
"""One value a row."""

WHOLE_BATCH = ("num_items_in_batch",)
"""Values of the whole generation batch, the same in every part of it."""

KNOWN = {*PROMPT_WIDE, *COMPLETION_WIDE, *BOTH_WIDE, *IMAGES, *IMAGE_COUNTS, *EACH_ROW, *WHOLE_BATCH}


def size(batch: Batch) -> int:
    """Number of rows."""
    return batch["advantages"].size(0)


def split_images(batch: Batch) -> Batch:
    """The batch with a list of tensors, one a row, where a tensor holds the images of all rows one after another."""
    return batch if has_entry_a_row(batch) else utils.split_pixel_values_by_grid(batch)


def has_entry_a_row(row_or_batch: Row | Batch) -> bool:
    """
    Whether all images of a row are one entry, as Idefics and SmolVLM have them: (rows, images, channels, height, width).

    TRL tells this layout by the number of entries, which may happen to be the number of images as well.
    """
    pixels = row_or_batch.get("pixel_values")
    return isinstance(pixels, Tensor) and pixels.dim() == 5 and "image_sizes" not in row_or_batch


def unstack(batch: Batch) -> list[Row]:
    """
    Take a batch apart. The tensors of the rows are views.

    Raises:
        `ValueError`: the batch has a key of unknown shape.
    """
    for key in sorted(batch.keys() - KNOWN):
        raise ValueError(
            f"TRL's batch has the key {key!r}, and FilteredGRPOTrainer does not know how it is split into rows; it knows "
            f"{', '.join(sorted(KNOWN))}. Set zero_variance='keep' to train without splitting, or report the key and your "
            f"version of TRL as an issue."
        )
    batch = {key: value for key, value in split_images(batch).items() if value is not None}
    prompt = batch["prompt_ids"].size(1)
    lengths = batch["completion_mask"].sum(1).tolist()
    images = batch.get("num_images", [0] * len(lengths))
    rows = []
    for place, (length, count) in enumerate(zip(lengths, images, strict=True)):
        if not length:  # a masked completion: with images it keeps its tokens, which may stand for some of them
            length = batch["completion_ids"].size(1) if count else 1
        rows.append({key: entry(key, value, place, prompt, length) for key, value in batch.items()})
    return rows


def entry(key: str, value: Any, place: int, prompt: int, length: int) -> Any:
    """What a batch's value holds of the row at this place."""
    if key in WHOLE_BATCH:
        return value
    if key in COMPLETION_WIDE:
        return value[place, :length]
    if key in BOTH_WIDE:
        return value[place, : prompt + length]
    if key in IMAGES and isinstance(value, Tensor):
        return value[place : place + 1]
    return value[place]


def stack(rows: list[Row], pad_token_id: int, multiple: int | None = None) -> Batch:
    """
    Put rows together as a batch that is as wide as its longest prompt and its longest completion.

    Args:
        rows (`list[dict]`):
            At least one row. What only some of them have gets its neutral value in the others.
        pad_token_id (`int`):
            Padding of token ids.
        multiple (`int`, *optional*):
            Widths of prompts and completions are multiples of it.
    """
    keys = dict.fromkeys(key for row in rows for key in row)
    if not has_images(rows):
        keys = {key: None for key in keys if key not in IMAGES and key not in IMAGE_COUNTS}
    batch = {key: stacked(key, rows, pad_token_id, multiple) for key in keys}
    return utils.unsplit_pixel_values_by_grid(batch)


def has_images(rows: list[Row]) -> bool:
    """Whether any row has an image."""
    return any(row.get("num_images") for row in rows)


def stacked(key: str, rows: list[Row], pad_token_id: int, multiple: int | None) -> Any:
    """The batch's value of one key."""
    if key in WHOLE_BATCH:
        return rows[0][key]
    if key in IMAGE_COUNTS:
        return [row.get(key, 0) for row in rows]
    if key in EACH_ROW:
        values = [row[key] for row in rows]
        return torch.stack(values) if isinstance(values[0], Tensor) else values
    if key in IMAGES:
        return padded_images(key, rows)
    if key in BOTH_WIDE:
        before = [row[key][: row["prompt_ids"].size(0)] for row in with_neutral(key, rows)]
        after = [row[key][row["prompt_ids"].size(0) :] for row in with_neutral(key, rows)]
        return torch.cat([utils.pad(before, 0, "left", multiple), utils.pad(after, 0, "right", multiple)], 1)
    neutral = {**PROMPT_WIDE, **COMPLETION_WIDE}[key]
    values = [row[key] for row in with_neutral(key, rows)]
    if key == "importance_sampling_ratio" and all(value.size(0) == 1 for value in values):
        multiple = None  # one ratio a sequence
    side = "left" if key in PROMPT_WIDE else "right"
    return utils.pad(values, pad_token_id if neutral is TOKEN_ID else neutral, side, multiple)


def with_neutral(key: str, rows: list[Row]) -> list[Row]:
    """The rows, with neutral values where they lack the key."""
    example = next(row[key] for row in rows if key in row)
    neutral = {**COMPLETION_WIDE, **BOTH_WIDE}.get(key, 0)

    def filled(row: Row) -> Row:
        width = row["completion_ids"].size(0) + (row["prompt_ids"].size(0) if key in BOTH_WIDE else 0)
        return row if key in row else {**row, key: example.new_full((width,), neutral)}

    return [filled(row) for row in rows]


def padded_images(key: str, rows: list[Row]) -> list[Tensor]:
    """One tensor a row, all alike but for the number of their entries."""
    example = next(row[key] for row in rows if key in row and row[key].size(0))
    one_entry = any(map(has_entry_a_row, rows))
    shape = [max(row[key].size(dim) for row in rows if key in row) for dim in range(1, example.dim())]

    def filled(row: Row) -> Tensor:
        value = row.get(key, example[:0])
        count = 1 if one_entry and key not in row else value.size(0)
        if [count, *shape] == [*value.shape]:
            return value
        whole = example.new_full((count, *shape), IMAGES[key])
        whole[(slice(value.size(0)), *(slice(width) for width in value.shape[1:]))] = value
        return whole

    return [filled(row) for row in rows]


def silenced(row: Row) -> Row:
    """
    The row as a filler that adds nothing to any sum over completion tokens.

    Text is cut to two tokens. A row with images stays whole, since they belong to its tokens.
    """
    if not row.get("num_images"):
        prompt = row["prompt_ids"].size(0)
        last = {key: row[key][-1:] for key in PROMPT_WIDE}
        first = {key: row[key][:1] for key in COMPLETION_WIDE if key in row}
        both = {key: row[key][prompt - 1 : prompt + 1] for key in BOTH_WIDE if key in row}
        row = {**row, **last, **first, **both, "prompt_mask": torch.ones_like(last["prompt_mask"])}
        row["completion_mask"] = torch.ones_like(first["completion_mask"])
    row = {**row, "advantages": torch.zeros_like(row["advantages"])}
    row["tool_mask"] = torch.zeros_like(row["completion_mask"])  # a mask of the loss, not of the attention
    return row


def length(row: Row) -> int:
    """Number of tokens of the prompt, as padded by TRL, and the completion."""
    return row["prompt_ids"].size(0) + row["completion_ids"].size(0)


def select(batch: Batch, count: int, rows: list[int]) -> Batch:
    """
    Some of the `count` rows of any batch whose images are laid out as TRL does it; what is not one a row stays.

    Without an image among them, what belongs to images is left out.
    """
    images_left = any(batch["num_images"][row] for row in rows) if batch.get("num_images") else False

    def selected(value: Any) -> Any:
        if isinstance(value, Tensor) and value.dim() > 0 and value.size(0) == count:
            return value[rows]
        if isinstance(value, list) and len(value) == count:
            return [value[row] for row in rows]
        return value

    batch = {key: selected(value) for key, value in split_images(batch).items()}
    if not images_left:
        batch = {key: value for key, value in batch.items() if key not in IMAGES and key not in IMAGE_COUNTS}
    return utils.unsplit_pixel_values_by_grid(batch)
