"""TRL's training batch of tensors, split into rows, dicts of one completion without its padding, and stacked again."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .paths import Path, read_path
from .trl_members import utils


TensorBatch = dict[str, Any]
TensorRow = dict[str, Any]
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


def count_rows(batch: TensorBatch) -> int:
    return len(batch["advantages"])


def split_images(batch: TensorBatch) -> TensorBatch:
    """Return the batch with a list of one tensor per row wherever a tensor concatenates the images of all rows."""
    return batch if has_entry_per_row(batch) else utils.split_pixel_values_by_grid(batch)


def has_entry_per_row(row_or_batch: TensorRow | TensorBatch) -> bool:
    """Return whether one entry holds all images of a row, as in Idefics. TRL looks only at the number of entries."""
    pixels = row_or_batch.get("pixel_values")
    return isinstance(pixels, Tensor) and pixels.dim() == 5 and "image_sizes" not in row_or_batch


def unstack(batch: TensorBatch, keeps_positions: bool = False, limit: float = math.inf) -> list[TensorRow]:
    """Split a batch of TRL into rows, whose tensors are views. `keeps_positions` and `limit` are those of the packer."""
    for key in sorted(batch.keys() - KNOWN_KEYS):
        raise ValueError(
            f"TRL's batch has the key {key!r}, which FilteredGRPOTrainer cannot split into rows. The keys that it can "
            f"split are {', '.join(sorted(KNOWN_KEYS))}. Set packing=False to train without splitting, or open an issue "
            f"with the key and your version of TRL."
        )
    batch = {key: value for key, value in split_images(batch).items() if value is not None}
    facts = read_facts(batch)
    prompt, width = batch["prompt_ids"].size(1), batch["completion_ids"].size(1)
    widths = batch.get("prompt_width", [prompt])
    is_wide = max(widths) + width >= limit
    images = batch.get("num_images", [0] * len(facts))
    rows = []
    if not keeps_positions:
        batch.setdefault("prompt_width", [prompt] * len(facts))
    for index, (own, count) in enumerate(zip(facts, images, strict=True)):
        start = 0 if keeps_positions else prompt - max(1, own.prompt)
        length = width if is_wide else own.completion
        if not length:  # a masked completion keeps its tokens if it has images, since some may stand for an image
            length = width if count else 1
        row = {key: slice_value(key, value, index, start, prompt, length) for key, value in batch.items()}
        rows.append({**row, "facts": own})
    return rows


class Facts(NamedTuple):
    """What is known of a row on the host."""

    prompt: int  # number of columns up to the first that is not masked
    completion: int  # number of columns up to the last one that is not masked
    tokens: int  # that are not masked
    loss_tokens: int
    path: Path | None  # None if the row has an image or a masked token between others


def read_facts(batch: TensorBatch) -> list[Facts]:
    """Return the facts about each row, for which the host waits once."""
    prompt, mask = batch["prompt_ids"].size(1), batch["completion_mask"]
    wide = [torch.cat([batch[f"prompt_{name}"], batch[f"completion_{name}"]], 1).long() for name in ("ids", "mask")]
    counted = torch.cat([*wide, (mask * batch.get("tool_mask", 1)).sum(1, keepdim=True).long()], 1).tolist()
    columns, facts = wide[0].size(1), []
    is_text = not batch.keys() & {*BOTH_WIDE, "pixel_values"}
    for index, row in enumerate(counted):
        ids, real = row[:columns], row[columns : 2 * columns]
        before, after = real[:prompt], real[prompt:]
        width = batch.get("prompt_width", [prompt] * len(counted))[
            index
        ]  # that of TRL, in which positions are counted
        facts.append(
            Facts(
                prompt - before.index(1) if 1 in before else 0,
                len(after) - after[::-1].index(1) if 1 in after else 0,
                sum(real),
                row[-1],
                read_path(ids, real, prompt, width - prompt) if is_text else None,
            )
        )
    return facts


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
    merged: TensorBatch = utils.unsplit_pixel_values_by_grid(batch)
    return merged


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
    if key in BOTH_WIDE:
        before = [row[key][: row["prompt_ids"].size(0)] for row in fill_missing(key, rows)]
        after = [row[key][row["prompt_ids"].size(0) :] for row in fill_missing(key, rows)]
        return torch.cat([utils.pad(before, 0, "left", multiple), utils.pad(after, 0, "right", multiple)], 1)
    neutral = {**PROMPT_WIDE, **COMPLETION_WIDE}[key]
    values = [row[key] for row in fill_missing(key, rows)]
    if key == "importance_sampling_ratio" and all(value.size(0) == 1 for value in values):
        multiple = None  # one ratio per sequence
    side = "left" if key in PROMPT_WIDE else "right"
    return utils.pad(values, pad_token_id if neutral is PAD_TOKEN_ID else neutral, side, multiple)


def fill_missing(key: str, rows: list[TensorRow]) -> list[TensorRow]:
    """Return the rows with neutral values where the key is missing."""
    example = next(row[key] for row in rows if key in row)
    neutral = {**COMPLETION_WIDE, **BOTH_WIDE}.get(key, 0)

    def fill(row: TensorRow) -> TensorRow:
        width = row["completion_ids"].size(0) + (row["prompt_ids"].size(0) if key in BOTH_WIDE else 0)
        return row if key in row else {**row, key: example.new_full((width,), neutral)}

    return [fill(row) for row in rows]


def pad_images(key: str, rows: list[TensorRow]) -> list[Tensor]:
    """Return one tensor per row. Their shapes differ in the number of entries only."""
    example: Tensor = next(row[key] for row in rows if key in row and row[key].size(0))
    one_entry = any(map(has_entry_per_row, rows))
    shape = [max(row[key].size(dim) for row in rows if key in row) for dim in range(1, example.dim())]

    def pad(row: TensorRow) -> Tensor:
        value: Tensor = row.get(key, example[:0])
        count = 1 if one_entry and key not in row else value.size(0)
        if [count, *shape] == [*value.shape]:
            return value
        whole = example.new_full((count, *shape), IMAGES[key])
        whole[(slice(value.size(0)), *(slice(width) for width in value.shape[1:]))] = value
        return whole

    return [pad(row) for row in rows]


def silence(row: TensorRow) -> TensorRow:
    """Return the row as a filler that adds nothing to any sum over completion tokens. With images, it stays whole."""
    if not row.get("num_images"):  # three tokens, since TRL takes a completion of one for a value per sequence
        prompt = row["prompt_ids"].size(0)
        widths = [key for key in (*COMPLETION_WIDE, "advantages") if key in row and row[key].dim()]
        last = {key: row[key][-1:] for key in PROMPT_WIDE}
        ratio = "importance_sampling_ratio"  # may be one per sequence
        first = {key: row[key][:1] if key == ratio else row[key][[0, -1]] for key in widths}
        both = {key: row[key][[prompt - 1, prompt, -1]] for key in BOTH_WIDE if key in row}
        row = {**row, **last, **first, **both, "prompt_mask": torch.ones_like(last["prompt_mask"])}
        row["completion_mask"] = torch.ones_like(first["completion_mask"])
    row = {**row, "advantages": torch.zeros_like(row["advantages"])}
    row["tool_mask"] = torch.zeros_like(row["completion_mask"])  # masks the loss, not the attention
    return row
