"""Passes over the rows that are needed, with little padding: without gradient, and the micro-batches of optimizer steps."""

import logging
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType, gather_object
from torch import Tensor, nn
from torch.nn import functional

from .config import ROW_MEANS, FilteredGRPOConfig, list_obstacles
from .passes import LOGPS_ARGUMENTS, Logps, Pass, Sharing, plan_passes, score_packed, score_padded, takes_rows
from .paths import Path, count_different, list_groups
from .placement import Size, compute_pack_span, spread_groups
from .positions import Positioned, count_positions, find_limit, takes_positions
from .rows import (
    BOTH_WIDE,
    IMAGE_COUNTS,
    IMAGES,
    TensorBatch,
    TensorRow,
    count_rows,
    has_images,
    silence,
    stack,
    unstack,
)
from .sharing import find_sharing
from .trl_members import replace_members


logger = logging.getLogger(__name__)
SEPARATE = "The run is correct but slower: the prompt of a group is computed for each of its completions, because {}."
REPLICATED = {DistributedType.NO, DistributedType.MULTI_CPU, DistributedType.MULTI_GPU}  # one rank can run alone
# What is counted, once for every pass: the different tokens of live rows, the tokens that are computed (with padding),
# the tokens of TRL's batches (every row is as wide as the longest one), and those of dead rows in TRL's batches.
TOKENS = ("needed", "computed", "padded", "skipped")
OF_TOKENS = ("entropy", "kl")
# Means over tokens, or over sequences if TRL has one ratio for each of them.
OF_RATIOS = ("clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean", "cispo_clip_ratio")
OF_SEQUENCES = ("vespo/phi_seq_mean",)
OF_EXTREMES = ("clip_ratio/low_min", "clip_ratio/high_max")  # of a micro-batch
OF_BATCHES = ("policy_loss", "aux_loss")


@dataclass
class Packer:
    """Runs passes without gradient, and forms the micro-batches of a generation anew. Every rank must call it."""

    accelerator: Accelerator
    args: FilteredGRPOConfig
    pad_token_id: int
    is_drop: bool = False  # denominators of losses count live rows only
    has_mean: bool = False  # a loss also has a mean over micro-batches, such as an entropy bonus
    keeps_rows: bool = False  # each micro-batch has TRL's rows, and only its padding is cut
    keeps_positions: bool = False  # prompts keep their padding, because the model cannot be told positions
    limit: float = math.inf  # completions keep their padding in batches with at least as many columns
    sharing: Sharing | None = None  # how rows share what they have in common, unless they cannot
    scored: Any = 0  # numbers of tokens without gradient since the last `pack`

    def stack(self, rows: list[TensorRow]) -> TensorBatch:
        return stack(rows, self.pad_token_id, self.args.pad_to_multiple_of)

    def build(self, rows: list[TensorRow], one: Pass | None = None) -> TensorBatch:
        """Return the micro-batch of these rows, with positions of tokens, or with rows that share tokens."""
        batch = self.stack(rows)
        batch.pop("live", None)
        completion, device = batch["completion_ids"].size(1), batch["completion_ids"].device
        if widths := batch.pop("prompt_width", None):
            prompt = batch["prompt_ids"].size(1)
            firsts = torch.tensor(widths) - prompt
            batch["position_ids"] = count_positions(prompt + completion, firsts).to(device, non_blocking=True)
        if packed := one and one.build(completion, device):
            batch["packed"] = packed
        return batch

    def unstack(self, batch: TensorBatch) -> list[TensorRow]:
        return unstack(batch, self.keeps_positions, self.limit)

    def is_wide(self, rows: list[TensorRow]) -> bool:
        """Return whether rotary embeddings depend on the width of these rows."""
        widths = [row.get("prompt_width", len(row["prompt_ids"])) + len(row["completion_ids"]) for row in rows]
        return bool(max(widths) >= self.limit)

    def measure_row(self, row: TensorRow) -> Size:
        step = self.args.pad_to_multiple_of or 1
        return Size(*(-(-len(row[key]) // step) * step for key in ("prompt_ids", "completion_ids")))

    def score(self, score: Callable[..., Logps], model: nn.Module, batch: TensorBatch, rows: list[int]) -> Logps:
        """Return what a model says of some rows of a batch of TRL, 0 for padding and NaN for other rows."""
        batch = {name: value for name, value in batch.items() if value is not None and value is not False}
        ids, mask, completion = (batch.pop(name) for name in LOGPS_ARGUMENTS[:3])
        (count, width), prompt = ids.shape, ids.size(1) - completion
        batch_size, has_entropy = batch.pop("batch_size", count), batch.pop("compute_entropy", False)
        for name, value in (("ids", ids), ("mask", mask)):
            batch |= {f"prompt_{name}": value[:, :prompt], f"completion_{name}": value[:, prompt:]}
        every = self.unstack(batch)
        own = [every[row] for row in rows]
        paths, sharing = read_paths(own), None if self.is_wide(every) or not takes_rows(model) else self.sharing
        limits = math.ceil(len(rows) / batch_size), batch_size if has_images(every) else max(1, len(rows))
        plan = plan_passes([*map(self.measure_row, own)], paths, sharing, batch_size * width, *limits)
        outputs: list[Tensor] = []
        for one in [*plan, *[None] * count_missing(len(plan), self.accelerator.distributed_type)]:
            part = [rows[place] for place in one.rows] if one else rows[:1] or [0]
            said = run_pass(score, model, self.build([every[row] for row in part], one), has_entropy)
            found = [each for each in said[:2] if each is not None]
            outputs = outputs or [make_result(each, rows, count, completion) for each in found]
            for whole, each in zip(outputs, found, strict=True) if one else ():
                whole[part, : each.size(1)] = each[:, :completion]
        outputs = outputs or [make_result(torch.zeros((), device=ids.device), rows, count, completion)]
        needed = count_needed(own, paths)
        counts = needed, sum(one.tokens for one in plan), count * width, (count - len(rows)) * width
        self.scored = self.scored + np.array(counts)
        return outputs[0], outputs[1] if len(outputs) > 1 else None, None

    def stop_sharing(self, reason: str) -> None:
        self.sharing = None
        if self.accelerator.is_main_process:
            logger.warning(SEPARATE.format(reason))

    def pack(self, parts: list[TensorBatch]) -> tuple[list[TensorBatch], dict[str, float]]:
        """Return the micro-batches of a generation, and what is logged of it as `groups/...`."""
        span = compute_pack_span(self.args.steps_per_generation, self.args.gradient_accumulation_steps)
        span = 1 if self.keeps_rows else span
        steps = [self.pack_step(parts[start : start + span]) for start in range(0, len(parts), span)]
        batches, computed, tokens = zip(*steps, strict=True)
        own = np.sum(tokens, 0) * self.args.num_iterations, np.zeros(len(TOKENS), int) + self.scored
        self.scored = 0
        with_gradient, without_gradient = np.sum(gather_object([own]), 0)
        counted = {"rows_computed": sum(computed)}
        counted |= {f"tokens_{name}": count for name, count in zip(TOKENS, with_gradient, strict=True)}
        if without_gradient.any():
            quiet = zip(TOKENS, without_gradient, strict=True)
            counted |= {f"tokens_{name}_without_gradient": count for name, count in quiet}
        needed, all_computed, *_ = with_gradient + without_gradient
        counted |= {"padding": all_computed / needed} if needed else {}
        return sum(batches, []), counted

    def pack_step(self, parts: list[TensorBatch]) -> tuple[list[TensorBatch], int, list[int]]:
        """Return the live rows of a step in few micro-batches, the rows that all ranks compute, and own [`TOKENS`]."""
        rows = [row for part in parts for row in self.unstack(part)]
        filler = silence(min(rows, key=lambda row: row["facts"].tokens))
        # The shortest row with an image. If no row has an image, it is the shortest row.
        with_image = silence(min(rows, key=lambda row: (not row.get("num_images"), self.measure_row(row).total)))
        live = [row for row in rows if row["live"]]
        paths, budget = read_paths(live), max(map(count_padded_tokens, parts))
        needed = count_needed(live, paths)
        facts = budget, needed, paths is None, self.is_wide(rows), has_images(live), has_images(rows)
        of_all = zip(*gather_object([facts]), strict=True)
        budgets, all_needed, are_whole, are_wide, has_live_images, has_any_images = of_all
        sharing = None if any(are_whole + are_wide) else self.sharing
        # The padding of another rank would change positions, but not those of models with images.
        stays = self.keeps_rows or any(are_wide) or self.keeps_positions and not (sharing or any(has_any_images))
        groups, weights = [[place] for place in range(len(live))], [self.measure_row(row).total for row in live]
        if sharing and paths:  # single rows would leave what they share
            groups = list_groups(paths, sum(all_needed) / len(all_needed))
            weights = [count_different(paths[place] for place in group) for group in groups]
        if not stays:
            live = spread_groups([[live[place] for place in group] for group in groups], weights, self.accelerator)
            paths = read_paths(live)  # in another order, and with rows of other ranks
        max_rows = count_rows(parts[0]) if any(has_any_images) else max(1, len(live))
        plan = plan_passes([*map(self.measure_row, live)], paths, sharing, max(budgets), len(parts), max_rows)
        members = [[live[place] for place in one.rows] for one in plan]
        tokens = [sum(row["facts"].loss_tokens for row in rows) for rows in members]
        gathered = gather_object([([*map(len, members)], tokens)])
        planned = [rows for rows, _ in gathered]  # for each rank, the rows of its micro-batches
        loud = max(map(len, planned))
        members += [[filler]] * (loud - len(plan))
        counts = [[*sizes, *[1] * (loud - len(sizes))] for sizes in planned]
        if loud and any(has_any_images) and not any(has_live_images):
            # In TRL, the vision tower has a gradient of 0 here. Without this row it would have none, and optimizers would
            # skip it.
            members[-1] = [*members[-1], with_image]
            counts = [[*sizes[:-1], sizes[-1] + 1] for sizes in counts]
        none = Weights(0, 0, len(counts), len(parts))
        silent = {**self.build([with_image]), "silent": True, "loss_scale": 0.0, "weights": none}
        on_all = zip(*counts, strict=True), *(zip_longest(*each, fillvalue=0) for each in zip(*gathered, strict=True))
        batches = [
            {
                **self.build(rows, one),
                "most_rows": max(sizes),
                "weights": Weights(sum(tokens), sum(live), sum(sizes) - sum(live), len(parts) / loud),
            }
            for one, rows, sizes, live, tokens in zip_longest(plan, members, *on_all)
        ]
        if not self.keeps_rows:
            ranks = [sum(place < len(own) for own in planned) for place in range(loud)]
            counted = sum(map(sum, planned)) if self.is_drop else len(rows) * len(planned)
            self.set_loss_scales(batches, ranks, len(parts), counted)
        tokens = [
            needed,
            sum(map(count_computed_tokens, batches or [silent])),
            sum(map(count_padded_tokens, parts)),
            sum(count_padded_tokens(part) // count_rows(part) * part["live"].count(False) for part in parts),
        ]
        computed = sum(map(sum, counts)) or len(counts)  # if no row is live, each rank computes one filler row
        return [dict(silent) for _ in parts[loud:]] + batches, computed, tokens

    def set_loss_scales(self, batches: list[TensorBatch], ranks: list[int], count: int, rows: int) -> None:
        """Let `count` losses have the denominator of all `rows`. `ranks` have live rows in each micro-batch."""
        # TRL divides a loss by rows or tokens of a micro-batch, and by the number of micro-batches and of ranks.
        total = count * self.accelerator.num_processes
        for batch, with_rows in zip(batches, ranks, strict=True):
            if self.args.loss_type in ROW_MEANS:
                batch["loss_scale"] = count_rows(batch) * total / rows
            elif self.is_drop and self.has_mean:
                # The sum over tokens keeps its denominator, the number of tokens of the generation.
                scale = batch["loss_scale"] = total / len(batches) / with_rows
                items = batch["num_items_in_batch"]
                batch["num_items_in_batch"] = (items if items.device.type == "mps" else items.double()) * scale


def build_packer(trainer: Any, zero_variance: str, has_aux_loss: bool) -> Packer:
    """Return the packer of a trainer, given what happens to dead groups."""
    obstacles = list_obstacles(trainer.args, has_aux_loss) if zero_variance == "keep" else []
    sharing = find_sharing(trainer.model, trainer.accelerator, trainer.args.pad_to_multiple_of)
    if has_aux_loss:
        sharing = "the load-balancing loss of a mixture of experts counts each token of a row"
    if trainer.args.neftune_noise_alpha:
        sharing = "neftune_noise_alpha makes noise that depends on the width of a batch"
    if "passes" in trainer._changes:
        sharing = f"{trainer._changes['passes']} is given whole rows"
    if isinstance(sharing, str) and trainer.args.packing and trainer.accelerator.is_main_process:
        logger.warning(SEPARATE.format(sharing))
    return Packer(
        trainer.accelerator,
        trainer.args,
        pad_token_id=trainer._tokenizer.pad_token_id,
        is_drop=zero_variance == "drop",
        has_mean=has_aux_loss or trainer.args.entropy_coef != 0,
        keeps_rows=any(obstacle.is_of_micro_batch for obstacle in obstacles),
        keeps_positions=not takes_positions(trainer.model, has_images=True),
        limit=find_limit(trainer.model),
        sharing=sharing if isinstance(sharing, Sharing) else None,
    )


def run_pass(score: Callable[..., Logps], model: nn.Module, batch: TensorBatch, has_entropy: bool) -> Logps:
    if "packed" in batch:
        shared: Logps = score_packed(score, model, batch["packed"], has_entropy)
        return shared
    ids, mask = join_parts(batch, "ids"), join_parts(batch, "mask")
    positions = {name: value for name, value in batch.items() if name == "position_ids"}
    others = {name: value for name, value in batch.items() if name in {*BOTH_WIDE, *IMAGES, *IMAGE_COUNTS}}
    own = {"batch_size": len(ids), "compute_entropy": has_entropy, **others}  # by name: TRL 1.14 takes no other way
    said: Logps = score_padded(
        score, Positioned(model, **positions), ids, mask, batch["completion_ids"].size(1), **own
    )
    return said


def read_paths(rows: list[TensorRow]) -> list[Path] | None:
    """Return rows without their padding, or None if one has an image or a masked token between others."""
    paths = [row["facts"].path for row in rows]
    return None if None in paths else paths


def count_needed(rows: list[TensorRow], paths: list[Path] | None) -> int:
    """Return the number of tokens of rows that must be computed."""
    return sum(row["facts"].tokens for row in rows) if paths is None else count_different(paths)


def join_parts(batch: TensorBatch, name: str) -> Tensor:
    return torch.cat([batch[f"prompt_{name}"], batch[f"completion_{name}"]], 1)


def make_result(example: Tensor, rows: list[int], count: int, width: int) -> Tensor:
    """Return a tensor for all rows of a batch, with 0 in some rows and NaN in the others."""
    whole = example.new_full((count, width), torch.nan)
    whole[rows] = 0.0
    return whole


def count_missing(passes: int, kind: DistributedType) -> int:
    """Return how many passes this rank has to add, because a sharded model needs the same number on every rank."""
    return 0 if kind in REPLICATED else max(gather_object([passes])) - passes


def count_padded_tokens(batch: TensorBatch) -> int:
    tokens: int = batch["prompt_ids"].numel() + batch["completion_ids"].numel()
    return tokens


def count_computed_tokens(batch: TensorBatch) -> int:
    tokens: int = batch["packed"].tokens.numel() if "packed" in batch else count_padded_tokens(batch)
    return tokens


@contextmanager
def pad_gathered(accelerator: Accelerator, rows: int, scale: float = 1.0) -> Iterator[None]:
    """Let TRL gather NaN for rows that this rank lacks of `rows`, and losses times `scale`, as it returns them."""
    gather = accelerator.gather
    pad_across = accelerator.pad_across_processes
    of_tokens: list[Tensor] = []  # what TRL has padded itself, since it has a value of each token

    def pad_across_processes(value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        of_tokens.append(pad_across(value, *args, **kwargs))
        return of_tokens[-1]

    def pad(value: Tensor) -> Tensor:
        is_of_rows = value.dim() == 1 and all(value is not one for one in of_tokens)
        missing = rows - value.size(0) if is_of_rows else 0
        value = value if value.dim() else value * scale
        padded: Tensor = gather(functional.pad(value, (0, missing), value=torch.nan) if missing > 0 else value)
        return padded

    with replace_members(accelerator, gather=pad, pad_across_processes=pad_across_processes):
        yield


class Weights(NamedTuple):
    """What a micro-batch weighs in means, on all ranks."""

    tokens: int  # of completions, that count in the loss
    rows: int  # without fillers
    fillers: int = 0  # that ranks without a live row compute
    batches: float = 1.0  # of TRL, for which this one stands

    def sum_up(self, name: str, mean: float, has_sequence_ratios: bool) -> tuple[float, float]:
        """Return the sum whose mean TRL has appended, and the number of its summands."""
        if name in OF_BATCHES:
            return mean, self.batches
        if name in OF_EXTREMES:  # NaN without a token, and 0 for the sequence of a filler
            return (mean, 1.0) if self.rows and not math.isnan(mean) else (0.0, 0.0)
        if name in OF_SEQUENCES or name in OF_RATIOS and has_sequence_ratios:
            of_fillers = self.fillers if name in OF_SEQUENCES else 0  # the weight of a ratio of 1 is 1
            return mean * (self.rows + self.fillers) - of_fillers, self.rows
        return mean * self.tokens, self.tokens


class MetricMeans:
    """Replaces the values that TRL appends for micro-batches by one mean, until TRL logs it and clears its lists."""

    def __init__(self, has_sequence_ratios: bool) -> None:
        self.has_sequence_ratios = has_sequence_ratios
        self.sums: dict[str, tuple[float, float]] = {}

    @contextmanager
    def weigh(self, metrics: Mapping[str, list[float]], weights: Weights | None) -> Iterator[None]:
        """Weight what is appended to metrics in the meantime."""
        lengths = {name: len(values) for name, values in metrics.items()}
        yield
        for name in (OF_TOKENS + OF_RATIOS + OF_SEQUENCES + OF_EXTREMES + OF_BATCHES) if weights else ():
            values = metrics.get(name, [])
            if weights and len(values) > lengths.get(name, 0):
                last = values.pop()
                before = self.sums[name] if values else (0.0, 0.0)
                added = weights.sum_up(name, last, self.has_sequence_ratios)
                total, count = self.sums[name] = before[0] + added[0], before[1] + added[1]
                values[:] = [total / count if count else math.nan]  # which TRL leaves out
