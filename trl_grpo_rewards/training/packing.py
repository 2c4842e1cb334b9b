"""Passes over the rows that are needed, with little padding: without gradient, and the micro-batches of optimizer steps."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType, gather_object, send_to_device
from torch import Tensor, nn

from .config import ROW_MEANS, FilteredGRPOConfig
from .means import Weights, add_shares
from .passes import LOGPS_ARGUMENTS, Logps, Scorer, Sharing, pack, plan_shared, score_packed, score_padded, takes_rows
from .paths import count_different, list_groups
from .placement import Batch, Size, list_orders, plan_batches, spread_groups
from .positions import Positioned, find_limit, takes_positions
from .rows import (
    BOTH_WIDE,
    IMAGE_COUNTS,
    IMAGES,
    TensorBatch,
    TensorRow,
    has_images,
    join_parts,
    silence,
    stack,
    unstack,
)
from .sharing import find_sharing


logger = logging.getLogger(__name__)
SEPARATE = "The run is correct but slower: the prompt of a group is computed for each of its completions, because {}."
REPLICATED = {DistributedType.NO, DistributedType.MULTI_CPU, DistributedType.MULTI_GPU}  # one rank can run alone
# What is counted, once for every pass: the different tokens of live rows, the tokens that are computed (with padding),
# the tokens of TRL's batches (every row is as wide as the longest one), and those of dead rows in TRL's batches.
TOKENS = ("needed", "computed", "padded", "skipped")


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
    scored: Any = (0,) * len(TOKENS)  # tokens of passes without gradient since the last `pack`

    def stack(self, rows: list[TensorRow]) -> TensorBatch:
        return stack(rows, self.pad_token_id, self.args.pad_to_multiple_of)

    def build(self, rows: list[TensorRow], tokens: int = 0, sharing: Sharing | None = None) -> TensorBatch:
        """Return the micro-batch of rows, with positions of tokens, or with a sequence of `tokens` tokens that they share."""
        batch = self.stack(rows)
        batch.pop("live", None)
        completion = batch["completion_ids"].size(1)
        device = batch["completion_ids"].device
        if widths := batch.pop("prompt_width", None):
            prompt = batch["prompt_ids"].size(1)
            firsts = torch.tensor(widths)[:, None] - prompt  # the columns of TRL's wider batch
            positions = (torch.arange(prompt + completion) + firsts).clamp(min=0)
            batch["position_ids"] = positions.to(device, non_blocking=True)
        if sharing:
            packed = pack([row["facts"].path for row in rows], tokens, completion, sharing)
            batch["packed"] = send_to_device(packed, device, non_blocking=True)
        return batch

    def unstack(self, batch: TensorBatch) -> list[TensorRow]:
        return unstack(batch, self.keeps_positions, self.limit)

    def measure_row(self, row: TensorRow) -> Size:
        step = self.args.pad_to_multiple_of or 1
        return Size(*(-(-len(row[key]) // step) * step for key in ("prompt_ids", "completion_ids")))

    def choose_sharing(self, rows: list[TensorRow]) -> Sharing | None:
        """Return how rows share tokens. None of them may have images or holes, or a width that decides embeddings."""
        can_share = all(row["facts"].path and not row["facts"].is_wide for row in rows)
        return self.sharing if can_share else None

    def plan(
        self, rows: list[TensorRow], sharing: Sharing | None, max_tokens: int, max_passes: int, max_rows: int
    ) -> list[Batch]:
        if sharing:
            return plan_shared([row["facts"].path for row in rows], sharing, max_tokens, max_passes)
        return plan_batches(list_orders([*map(self.measure_row, rows)]), max_tokens, max_passes, max_rows)

    def score(self, score: Scorer, model: nn.Module, batch: TensorBatch, rows: list[int]) -> Logps:
        """Return what a model says of some rows of a batch of TRL, 0 for padding and NaN for other rows."""
        batch = {name: value for name, value in batch.items() if value is not None and value is not False}
        ids, mask, completion = (batch.pop(name) for name in LOGPS_ARGUMENTS[:3])
        count, width = ids.shape
        prompt = ids.size(1) - completion
        batch_size = batch.pop("batch_size", count)
        has_entropy = batch.pop("compute_entropy", False)
        for name, value in (("ids", ids), ("mask", mask)):
            batch |= {f"prompt_{name}": value[:, :prompt], f"completion_{name}": value[:, prompt:]}
        every = self.unstack(batch)
        own = [every[row] for row in rows]
        sharing = self.choose_sharing(every) if takes_rows(model) else None
        limits = math.ceil(len(rows) / batch_size), batch_size if has_images(every) else len(rows)
        plan = self.plan(own, sharing, batch_size * width, *limits)
        counts = count_needed(own), sum(one.tokens for one in plan), count * width, (count - len(rows)) * width
        self.scored = np.add(self.scored, counts)
        parts = [([rows[place] for place in one.places], one.tokens, sharing) for one in plan]
        if self.accelerator.distributed_type not in REPLICATED:  # all ranks need the same number of passes
            parts += [(rows[:1] or [0], 0, None)] * (max(gather_object([len(plan)])) - len(plan))
        batches = (self.build([every[row] for row in part], tokens, how) for part, tokens, how in parts)
        said: list[Any] = [run_pass(score, model, batch, has_entropy) for batch in batches]

        def collect(place: int) -> Tensor:
            found = [each[place] for each in said] or [torch.zeros((), device=ids.device)]
            whole = found[0].new_full((count, completion), torch.nan)
            whole[rows] = 0.0
            for (part, *_), values in zip(parts, found, strict=False):
                whole[part, : values.size(1)] = values[:, :completion]
            return whole

        return collect(0), collect(1) if has_entropy else None, None

    def stop_sharing(self, reason: str) -> None:
        self.sharing = None
        if self.accelerator.is_main_process:
            logger.warning(SEPARATE.format(reason))

    def pack(self, parts: list[TensorBatch]) -> tuple[list[TensorBatch], dict[str, float]]:
        """Return the micro-batches of a generation, and what is logged of it as `groups/...`."""
        # As many micro-batches, one after another, are of the same optimizer step, wherever the generation begins.
        span = math.gcd(self.args.steps_per_generation, self.args.gradient_accumulation_steps)
        span = 1 if self.keeps_rows else span
        steps = [self.pack_step(parts[start : start + span]) for start in range(0, len(parts), span)]
        batches, rows, tokens = zip(*steps, strict=True)
        own = np.sum(tokens, 0) * self.args.num_iterations, self.scored
        self.scored = (0,) * len(TOKENS)
        counts = np.sum(gather_object([own]), 0)
        counted = {"rows_computed": sum(rows)}
        for suffix, each in zip(("", "_without_gradient"), counts, strict=True):
            counted |= {
                f"tokens_{name}{suffix}": count for name, count in zip(TOKENS, each, strict=True) if each.any()
            }
        needed, computed, *_ = counts.sum(0)
        return sum(batches, []), counted | ({"padding": computed / needed} if needed else {})

    def pack_step(self, parts: list[TensorBatch]) -> tuple[list[TensorBatch], int, list[int]]:
        """Return the live rows of a step in few micro-batches, the rows that all ranks compute, and own [`TOKENS`]."""
        rows = [row for part in parts for row in self.unstack(part)]
        live = [row for row in rows if row["live"]]
        size, width = join_parts(parts[0], "ids").shape
        tokens = [count_needed(live), 0, width * len(rows), width * (len(rows) - len(live))]
        ranks = self.gather_facts(rows, live, width * size)
        sharing = self.sharing if all(ranks.can_share) else None
        if not self.must_stay(ranks, sharing):
            live = self.spread(live, sharing, fmean(ranks.needed))
        plan = self.plan(live, sharing, max(ranks.budget), len(parts), size if any(ranks.images) else len(live))
        weights, fills = self.weigh_plan(plan, live, ranks.images, len(parts))
        filler = choose_filler(rows)
        plan += [Batch([], 0)] * (len(weights) - len(plan))
        batches = []
        for planned, weight, is_filled in zip(plan, weights, fills, strict=True):
            own_rows = [live[place] for place in planned.places] + [filler][:is_filled]
            built = self.build(own_rows, planned.tokens, None if is_filled else sharing)
            batches.append({**built, "weights": weight})
        if not self.keeps_rows:
            self.set_loss_scales(batches, len(parts), len(rows))
        tokens[1] = sum(one.tokens for one in plan) + sum(fills or [True]) * self.measure_row(filler).total
        none = Weights(0, 0, len(ranks.images), len(parts))
        silent = {**self.build([filler]), "silent": True, "loss_scale": 0.0, "weights": none}
        computed = sum(weight.rows + weight.fillers for weight in weights or [none])
        return [dict(silent) for _ in parts[len(batches) :]] + batches, computed, tokens

    def gather_facts(self, rows: list[TensorRow], live: list[TensorRow], budget: int) -> "RankFacts":
        """Return what all ranks say of the rows of a step."""
        is_wide = any(row["facts"].is_wide for row in rows)
        images = has_images(rows) + has_images(live)
        facts = RankFacts(budget, count_needed(live), self.choose_sharing(rows) is not None, is_wide, images)
        return RankFacts(*zip(*gather_object([facts]), strict=True))

    def must_stay(self, ranks: "RankFacts", sharing: Sharing | None) -> bool:
        """Whether rows cannot go to another rank, whose padding would change positions, but not those of models with images."""
        counts_padding = self.keeps_positions and not (sharing or any(ranks.images))
        return self.keeps_rows or any(ranks.is_wide) or counts_padding

    def weigh_plan(
        self, plan: list[Batch], rows: list[TensorRow], images: Sequence[int], count: int
    ) -> tuple[list["Weights"], list[bool]]:
        """Return the weights of the micro-batches of all ranks in the place of `count`, and where this rank has a filler."""
        own = [(len(one.places), sum(rows[place]["facts"].loss_tokens for place in one.places)) for one in plan]
        shares = [*zip_longest(*gather_object([own]), fillvalue=(0, 0))]
        fills = [[not rows for rows, _ in share] for share in shares]
        if fills and max(images) == 1:  # only dead rows have one
            # The vision tower has a gradient of 0 in TRL. Without an image it would have none, and optimizers would skip it.
            fills[-1] = [True] * len(images)
        weights = [add_shares(*pair, count / len(shares)) for pair in zip(shares, fills, strict=True)]
        return weights, [fill[self.accelerator.process_index] for fill in fills]

    def spread(self, rows: list[TensorRow], sharing: Sharing | None, most: float) -> list[TensorRow]:
        """Spread rows over the ranks. Rows that share tokens stay together, unless they have more than `most`."""
        groups = [[place] for place in range(len(rows))]
        weights = [self.measure_row(row).total for row in rows]
        if sharing:
            paths = [row["facts"].path for row in rows]
            groups = list_groups(paths, most)
            weights = [count_different(paths[place] for place in group) for group in groups]
        return spread_groups([[rows[place] for place in group] for group in groups], weights, self.accelerator)

    def set_loss_scales(self, batches: list[TensorBatch], count: int, rows: int) -> None:
        """Let `count` losses of `rows` rows on each rank have one denominator, that of live rows if others are dropped."""
        # TRL divides a loss by rows or tokens of a micro-batch, and by the number of micro-batches and of ranks.
        ranks = self.accelerator.num_processes
        counted = sum(batch["weights"].rows for batch in batches) if self.is_drop else rows * ranks
        for batch in batches:
            if self.args.loss_type in ROW_MEANS:
                batch["loss_scale"] = len(batch["advantages"]) * count * ranks / counted
            elif self.is_drop and self.has_mean:
                # The sum over tokens keeps its denominator, the number of tokens of the generation.
                scale = batch["loss_scale"] = count * ranks / len(batches) / batch["weights"].ranks
                items = batch["num_items_in_batch"]
                batch["num_items_in_batch"] = (items if items.device.type == "mps" else items.double()) * scale


def build_packer(trainer: Any) -> Packer:
    args = trainer.args
    sharing = find_sharing(trainer.model, trainer.accelerator, args.pad_to_multiple_of)
    if trainer.aux_loss_enabled:
        sharing = "the load-balancing loss of a mixture of experts counts each token of a row"
    if args.neftune_noise_alpha:
        sharing = "neftune_noise_alpha makes noise that depends on the width of a batch"
    if "passes" in trainer._changes:
        sharing = f"{trainer._changes['passes']} is given whole rows"
    packer = Packer(
        trainer.accelerator,
        args,
        pad_token_id=trainer._tokenizer.pad_token_id,
        is_drop=trainer.zero_variance == "drop",
        has_mean=trainer.aux_loss_enabled or args.entropy_coef != 0,
        keeps_rows=trainer._plan.keeps_rows,
        keeps_positions=not takes_positions(trainer.model, has_images=True),
        limit=find_limit(trainer.model),
    )
    if isinstance(sharing, Sharing):
        packer.sharing = sharing
    elif args.packing:
        packer.stop_sharing(sharing)
    return packer


def run_pass(score: Scorer, model: nn.Module, batch: TensorBatch, has_entropy: bool) -> Logps:
    if "packed" in batch:
        return score_packed(score, model, batch["packed"], has_entropy)
    told = Positioned(model, position_ids=batch["position_ids"]) if "position_ids" in batch else model
    others = {name: value for name, value in batch.items() if name in {*BOTH_WIDE, *IMAGES, *IMAGE_COUNTS}}
    ids = join_parts(batch, "ids")
    mask = join_parts(batch, "mask")
    keep = batch["completion_ids"].size(1)
    others |= {"batch_size": len(ids), "compute_entropy": has_entropy}  # by name: TRL 1.14 takes no other way
    return score_padded(score, told, keep, ids, mask, keep, **others)


class RankFacts(NamedTuple):
    """What a rank says of its rows of a step, or a tuple of what each rank says."""

    budget: Any  # tokens of a micro-batch of TRL
    needed: Any  # tokens
    can_share: Any
    is_wide: Any  # whether rotary embeddings depend on the width of the batch
    images: Any  # 2 if live rows have some, 1 if only dead rows have


def choose_filler(rows: list[TensorRow]) -> TensorRow:
    """Return a silent row: a short one with an image, if there is one."""
    # TRL takes a value of one token for one of a sequence.
    keys = [(not row.get("num_images"), row["facts"].completion < 2, row["facts"].tokens) for row in rows]
    return silence(rows[keys.index(min(keys))])


def count_needed(rows: list[TensorRow]) -> int:
    """Return the number of tokens of rows that must be computed."""
    paths = [row["facts"].path for row in rows]
    return sum(row["facts"].tokens for row in rows) if None in paths else count_different(paths)
