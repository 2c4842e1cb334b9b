"""The micro-batches of an optimizer step: its live rows, in few batches with little padding, spread evenly over ranks."""

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor, nn
from torch.nn import functional

from .config import ROW_MEANS, TOKEN_MEANS, FilteredGRPOConfig, list_obstacles
from .exchange import spread_groups
from .forward_passes import Logps, score_rows
from .metric_means import Weights
from .placement import Size, compute_pack_span, plan_micro_batches
from .positions import count_positions, find_limit, takes_positions
from .rows import (
    TensorBatch,
    TensorRow,
    count_loss_tokens,
    count_rows,
    count_tokens,
    has_images,
    measure_row,
    silence,
    stack,
    unstack,
)
from .self_check import compare_trees
from .token_counts import TokenCounts, add_counts, describe_counts
from .trees import (
    Forest,
    Path,
    Sharing,
    count_different,
    find_sharing,
    list_groups,
    plan_forest,
    read_paths,
)
from .trl_members import replace_members


logger = logging.getLogger(__name__)

SEPARATE = "The prompt of a group is computed for each of its completions: {}."


class PackedStep(NamedTuple):
    """The micro-batches of one optimizer step, as many as TRL made. The first ones, of one filler row, are not run."""

    batches: list[TensorBatch]
    ranks: list[int]  # how many ranks have live rows in each of the micro-batches that are not silent
    live: int  # live rows on all ranks
    rows: int  # rows on all ranks before dead ones were taken out
    computed: int  # rows that all ranks compute; if no row is live, each computes one filler row
    tokens: TokenCounts  # of this rank


@dataclass
class Packer:
    """Runs passes without gradient, and forms the micro-batches of a generation anew. Every rank must call it."""

    accelerator: Accelerator
    args: FilteredGRPOConfig
    pad_token_id: int
    is_drop: bool = False  # denominators of losses count live rows only
    keeps_rows: bool = False  # each micro-batch has TRL's rows, and only its padding is cut
    keeps_positions: bool = False  # prompts keep their padding, because the model cannot be told positions
    limit: float = math.inf  # completions keep their padding in batches with at least as many columns
    sharing: Sharing | None = None  # how rows share what they have in common, unless they cannot
    tried: int = 0  # how often it was tried whether they can
    scored: TokenCounts = TokenCounts()  # of passes without gradient since the last generation was packed

    def stack(self, rows: list[TensorRow]) -> TensorBatch:
        return stack(rows, self.pad_token_id, self.args.pad_to_multiple_of)

    def build(self, rows: list[TensorRow], forest: Forest | None = None, places: Sequence[int] = ()) -> TensorBatch:
        """Return the micro-batch of these rows, with positions of tokens, and with the tree of some sequences."""
        batch = self.stack(rows)
        widths, completion = batch.pop("prompt_width", None), batch["completion_ids"].size(1)
        if widths:
            prompt = batch["prompt_ids"].size(1)
            cut = torch.tensor(widths, device=batch["prompt_ids"].device) - prompt
            batch["position_ids"] = count_positions(prompt + completion, cut)
        if forest and places:
            batch["tree"] = forest.build(places, completion, batch["prompt_ids"].device)
        return batch

    def unstack(self, batch: TensorBatch) -> list[TensorRow]:
        return unstack(batch, self.keeps_positions, self.limit)

    def check_sharing(
        self, score: Callable[..., Logps], model: nn.Module, prompts: list[list[int]], ids: list[list[int]], size: int
    ) -> None:
        """Try once with the longest group whether its rows can share tokens, and again when rows exceed a window first."""
        if self.sharing is None:
            return
        lengths = [len(prompt) + len(own) for prompt, own in zip(prompts, ids, strict=True)]
        start = lengths.index(max(lengths)) // size * size
        longest = max(gather_object([max(lengths)]))
        tried = 1 + sum(longest > window for window in self.sharing.windows.values() if window)
        if tried > self.tried and longest + 6 < self.limit:  # embeddings may keep what they computed for wider rows
            self.tried, rows = tried, slice(start, start + size)
            own = prompts[rows], ids[rows], self.args.per_device_train_batch_size, self.accelerator.distributed_type
            faults = [*filter(None, gather_object([compare_trees(score, model, self.sharing, *own)]))]
            if faults:
                self.sharing = None
                if self.accelerator.is_main_process:
                    logger.warning(SEPARATE.format(faults[0]))

    def score(
        self, score: Callable[..., Logps], model: nn.Module, batch: TensorBatch, rows: list[int], is_counted: bool
    ) -> Logps:
        """Run passes without gradient over some rows, see [`score_rows`]."""
        kind, multiple = self.accelerator.distributed_type, self.args.pad_to_multiple_of
        own = (self.keeps_positions, self.limit, multiple, self.sharing)
        logps, counts = score_rows(score, model, batch, rows, kind, *own)
        if is_counted:
            self.scored = add_counts(self.scored, counts)
        return logps

    def pack(self, parts: list[TensorBatch]) -> tuple[list[TensorBatch], dict[str, float]]:
        """Return the micro-batches of a generation, and what is logged of it as `groups/...`."""
        if self.keeps_rows:
            steps = [self.cut_padding(part) for part in parts]
            counts = gather_object([[sum(map(count_loss_tokens, self.unstack(part))) for part in parts]])
            for step, tokens in zip(steps, zip(*counts, strict=True), strict=True):
                step.batches[0]["weights"] = Weights(sum(tokens), step.rows)
        else:
            span = compute_pack_span(self.args.steps_per_generation, self.args.gradient_accumulation_steps)
            steps = [self.pack_step(parts[start : start + span]) for start in range(0, len(parts), span)]
            for step in steps:
                set_loss_scales(step, self.args.loss_type, self.is_drop, self.accelerator.num_processes)
        own = add_counts(*(step.tokens for step in steps)).times(self.args.num_iterations), self.scored
        self.scored = TokenCounts()
        with_gradient, without_gradient = (add_counts(*each) for each in zip(*gather_object([own]), strict=True))
        counted: dict[str, float] = {"rows_computed": sum(step.computed for step in steps)}
        counted |= describe_counts(with_gradient, without_gradient)
        return [batch for step in steps for batch in step.batches], counted

    def cut_padding(self, part: TensorBatch) -> PackedStep:
        """Return a micro-batch of TRL at the width of its own rows."""
        rows = [{key: value for key, value in row.items() if key != "live"} for row in self.unstack(part)]
        paths, count = self.read(rows), len(rows) * self.accelerator.num_processes
        batch, needed = self.build(rows), count_needed(rows, paths)
        if self.sharing is not None and paths is not None and not self.is_wide(rows):
            forest = plan_forest(paths, count_computed(batch), self.sharing)
            ordered = [rows[row] for sequence in forest.sequences for row in sequence]
            batch = min(batch, self.build(ordered, forest, range(len(forest.sequences))), key=count_computed)
        tokens = TokenCounts(needed, count_computed(batch), count_padded_tokens(part))
        return PackedStep([batch], [self.accelerator.num_processes], count, count, count, tokens)

    def pack_step(self, parts: list[TensorBatch]) -> PackedStep:
        """Return the live rows of one optimizer step in few micro-batches, each at most as large as TRL's largest one."""
        rows = [row for part in parts for row in self.unstack(part)]
        filler = silence(min(rows, key=count_tokens))
        # The shortest row with an image. If no row has an image, it is the shortest row.
        with_image = silence(min(rows, key=lambda row: (not row.get("num_images"), self.measure_row(row).total)))
        own = [row for row in rows if row["live"]]
        paths, budget = self.read(own), max(map(count_padded_tokens, parts))
        needed, shares = count_needed(own, paths), self.sharing is not None and paths is not None
        facts = gather_object([(budget, needed, shares, self.is_wide(rows), has_images(own), has_images(rows))])
        budgets, all_needed, share, are_wide, has_live_images, has_any_images = zip(*facts, strict=True)  # of ranks
        # The padding of another rank would change positions, but not those of models with images.
        stays = any(are_wide) or self.keeps_positions and not any(has_any_images)
        sharing = self.sharing if all(share) and not stays else None
        groups, weights = [[row] for row in own], [self.measure_row(row).total for row in own]
        if sharing and paths:  # single rows would leave what they share
            parted = list_groups(paths, sum(all_needed) / len(all_needed))
            groups = [[own[place] for place in group] for group in parted]
            weights = [count_different(paths[place] for place in group) for group in parted]
        live = own if stays else spread_groups(groups, weights, self.accelerator)
        max_rows = count_rows(parts[0]) if any(has_any_images) else max(1, len(live))
        shared = self.read(live) if sharing else None  # in another order, and with rows of other ranks
        forest = plan_forest(shared, max(budgets), sharing) if sharing and shared else None
        sizes = forest.sizes if forest else [*map(self.measure_row, live)]
        sequences = forest.sequences if forest else [[row] for row in range(len(live))]
        plan = plan_micro_batches(sizes, max(budgets), len(parts), max_rows)
        members = [[live[row] for place in places for row in sequences[place]] for places in plan]
        tokens = [sum(map(count_loss_tokens, rows)) for rows in members]
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
        silent = {**self.build([with_image]), "silent": True, "weights": Weights(0, 0, len(counts), len(parts))}
        on_all = zip(*counts, strict=True), *(zip_longest(*each, fillvalue=0) for each in zip(*gathered, strict=True))
        batches = [
            {
                **self.build(rows, forest, places),
                "most_rows": max(sizes),
                "weights": Weights(sum(tokens), sum(live), sum(sizes) - sum(live), len(parts) / loud),
            }
            for places, rows, sizes, live, tokens in zip(
                plan + [[]] * (loud - len(plan)), members, *on_all, strict=True
            )
        ]
        return PackedStep(
            [dict(silent) for _ in parts[loud:]] + batches,
            ranks=[sum(place < len(sizes) for sizes in planned) for place in range(loud)],
            live=sum(map(sum, planned)),
            rows=len(rows) * len(planned),
            computed=sum(map(sum, counts)) or len(counts),
            tokens=TokenCounts(
                needed,
                sum(map(count_computed, batches or [silent])),
                sum(map(count_padded_tokens, parts)),
                sum(count_padded_tokens(part) // count_rows(part) * part["live"].count(False) for part in parts),
            ),
        )

    def is_wide(self, rows: list[TensorRow]) -> bool:
        """Return whether rotary embeddings depend on the width of these rows."""
        widths = [row.get("prompt_width", len(row["prompt_ids"])) + len(row["completion_ids"]) for row in rows]
        return bool(max(widths) >= self.limit)

    def read(self, rows: list[TensorRow]) -> list[Path] | None:
        """Return rows without their padding, or None if one has an image or a hole."""
        if not rows or has_images(rows):
            return None if rows else []
        batch = self.stack(rows)
        kinds = ("prompt", "completion")
        ids, mask = (torch.cat([batch[f"{kind}_{name}"] for kind in kinds], 1) for name in ("ids", "mask"))
        prompt = batch["prompt_ids"].size(1)
        return read_paths(ids, mask, prompt, [own - prompt for own in batch.get("prompt_width", [prompt] * len(rows))])

    def measure_row(self, row: TensorRow) -> Size:
        return measure_row(row, self.args.pad_to_multiple_of)


def build_packer(trainer: Any, zero_variance: str, has_aux_loss: bool) -> Packer:
    """Return the packer of a trainer, given what happens to dead groups."""
    obstacles = list_obstacles(trainer.args, has_aux_loss) if zero_variance == "keep" else []
    sharing = find_sharing(trainer.model, trainer.args.pad_to_multiple_of)
    if has_aux_loss:
        sharing = "the load-balancing loss of a mixture of experts counts each token of a row"
    if "passes" in trainer._changes:
        sharing = f"{trainer._changes['passes']} is given whole rows"
    if isinstance(sharing, str) and trainer.args.packing and trainer.accelerator.is_main_process:
        logger.warning(SEPARATE.format(sharing))
    return Packer(
        trainer.accelerator,
        trainer.args,
        trainer._tokenizer.pad_token_id,
        is_drop=zero_variance == "drop",
        keeps_rows=any(obstacle.is_of_micro_batch for obstacle in obstacles),
        keeps_positions=not takes_positions(trainer.model),
        limit=find_limit(trainer.model),
        sharing=sharing if isinstance(sharing, Sharing) else None,
    )


def count_needed(rows: list[TensorRow], paths: list[Path] | None) -> int:
    """Return the number of different tokens of rows, or of all tokens if nothing is known of what rows share."""
    return sum(map(count_tokens, rows)) if paths is None else count_different(paths)


def count_computed(batch: TensorBatch) -> int:
    """Return the number of tokens that the model computes of a micro-batch."""
    return batch["tree"].tokens.numel() if "tree" in batch else count_padded_tokens(batch)


def count_padded_tokens(batch: TensorBatch) -> int:
    """Return the number of tokens of a batch, with padding."""
    tokens: int = batch["prompt_ids"].numel() + batch["completion_ids"].numel()
    return tokens


def set_loss_scales(step: PackedStep, loss_type: str, is_drop: bool, ranks: int) -> list[TensorBatch]:
    """
    Set the factor of the loss of each micro-batch, and return the micro-batches.

    TRL divides a loss by the rows or the tokens of a micro-batch, and by the number of micro-batches and of ranks. The
    factor restores the denominator of all rows (`"skip"`), or sets it to the denominator of the live rows (`"drop"`).
    """
    count, silent = len(step.batches), len(step.batches) - len(step.ranks)
    for place, batch in enumerate(step.batches):
        del batch["live"]
        if is_drop and not step.live:
            batch["loss_scale"] = 0.0
        elif loss_type in ROW_MEANS:
            batch["loss_scale"] = count_rows(batch) * count * ranks / (step.live if is_drop else step.rows)
        elif is_drop and place >= silent:
            # A mean over micro-batches and ranks: the entropy bonus. The denominator of the loss is the number of tokens
            # of the generation.
            batch["loss_scale"] = count / len(step.ranks) * ranks / step.ranks[place - silent]
            if loss_type in TOKEN_MEANS:
                batch["num_items_in_batch"] = batch["num_items_in_batch"] * batch["loss_scale"]
    return step.batches


@contextmanager
def pad_gathered(accelerator: Accelerator, rows: int, scale: float = 1.0) -> Iterator[None]:
    """Let TRL gather NaN for rows that this rank lacks of `rows`, and losses times `scale`, as it returns them."""
    gather = accelerator.gather

    def pad(value: Tensor) -> Tensor:
        missing = rows - value.size(0) if value.dim() == 1 else 0
        value = value if value.dim() else value * scale
        padded: Tensor = gather(functional.pad(value, (0, missing), value=torch.nan) if missing > 0 else value)
        return padded

    with replace_members(accelerator, gather=pad):
        yield


def skip_constant(backward: Callable[..., None], loss: Tensor, **kwargs: object) -> None:
    """Run a backward pass unless the loss is a constant, as that of a silent micro-batch. DeepSpeed refuses constants."""
    if loss.requires_grad:
        backward(loss, **kwargs)
