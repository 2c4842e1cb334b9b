"""Passes of a model: which rows go through it together, as one sequence of different tokens, and what its head scores."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from .attention import ROWS, SIMILAR, Member, Rows
from .paths import Path, list_shared, measure_passes
from .placement import PASSES_PER_BUDGET, Batch, Order, plan_batches
from .positions import Positioned, find_base


Logps: TypeAlias = tuple[Tensor, Tensor | None, Tensor | None]  # of tokens, their entropies, load-balancing loss
Scorer: TypeAlias = Callable[..., Logps]  # TRL's `_get_per_token_logps_and_entropies`, or what a subclass makes of it
Layout: TypeAlias = Callable[[Sequence[Member], int], Rows]
# Arguments of TRL's `_get_per_token_logps_and_entropies` after the model, which Unsloth passes by position.
LOGPS_ARGUMENTS = ("input_ids", "attention_mask", "logits_to_keep", "batch_size", "compute_entropy")


class Sharing(NamedTuple):
    """How a model computes rows that share tokens."""

    lay_out: Layout
    cost: float = 1 / PASSES_PER_BUDGET  # another pass is worth it if it saves more than this part of the largest one
    step: int = 1  # large sequences have a multiple of this number of tokens, so that few shapes occur
    multiple: int = 1  # and all have a multiple of this one
    keeps_scores: bool = False  # attention keeps a number for each pair of tokens, so completions share no beginnings


class Packed(NamedTuple):
    """Rows as one sequence of their different tokens, and what is scored of it."""

    tokens: Tensor  # (1, tokens)
    positions: Tensor
    columns: Tensor  # (scored,): the column that predicts each completion token
    targets: Tensor  # (1, scored)
    places: Tensor  # (scored,): of completion tokens in a tensor (rows, width)
    shape: tuple[int, int]  # that of this tensor
    rows: Rows


def pack(paths: Sequence[Path], length: int, width: int, sharing: Sharing) -> Packed:
    """Return sorted rows as one sequence of `length` tokens. `width` is that of the completions in the micro-batch."""
    sequence: list[tuple[int, int]] = []  # tokens and their positions
    scored: list[tuple[int, int, int]] = []  # the columns, targets and places of completion tokens
    members: list[Member] = []
    columns: list[int] = []
    for row, (path, shared) in enumerate(zip(paths, list_shared(paths, sharing.keeps_scores), strict=True)):
        start = len(sequence)
        own = path.columns - shared
        columns = [*columns[:shared], *range(start, start + own)]
        members += [Member(columns, own, min(shared, path.prompt))] * (own > 0)
        sequence += zip(path.tokens[shared : path.columns], count(path.first + shared))
        scored += zip(columns[path.prompt - 1 :], path.tokens[path.prompt :], count(row * width))
    if fill := length - len(sequence):  # padding is a row of its own
        members.append(Member([*range(len(sequence), length)], fill))
    tokens, positions = torch.tensor(sequence + [(0, 0)] * fill).T[:, None].contiguous()
    predicting, predicted, places = torch.tensor(scored, dtype=torch.long).view(-1, 3).T.contiguous()
    rows = sharing.lay_out(members, length)
    return Packed(tokens, positions, predicting, predicted[None], places, (len(paths), width), rows)


def plan_shared(paths: list[Path], sharing: Sharing, max_tokens: int, max_passes: int) -> list[Batch]:
    """Split rows into passes in which they share tokens, with sorted rows."""
    places = sorted(range(len(paths)), key=paths.__getitem__)
    ordered = [paths[place] for place in places]
    step = min(sharing.step, 2 ** int(math.log2(max(1, max_tokens / 8))))  # small where passes are small
    shared = list_shared(ordered, sharing.keeps_scores)
    order = Order(places, measure_passes(ordered, shared, math.lcm(step, sharing.multiple)))
    most = max_tokens * (SIMILAR if sharing.keeps_scores else 1.0)  # padding of similar rows has scores, too
    return plan_batches([order], most, max_passes, len(paths), sharing.cost)


SCORED: ContextVar[Tensor | slice | None] = ContextVar("scored", default=None)
"""The columns that the head of a model is given. On a CPU, TRL's head scores all that it is given."""


def cut_columns(model: nn.Module) -> None:
    """Let a model take rows that share tokens, and give its head only the columns that are scored."""
    if not takes_rows(model):
        base = find_base(model)
        base._takes_rows = True
        base.base_model.register_forward_hook(cut_states)


def takes_rows(model: Any) -> bool:
    return getattr(find_base(model), "_takes_rows", False)


def cut_states(backbone: nn.Module, args: Any, output: Any) -> Any:
    scored = SCORED.get()
    if isinstance(scored, slice):
        output.last_hidden_state = output.last_hidden_state[:, scored]
    elif scored is not None:
        states = output.last_hidden_state
        output.last_hidden_state = states.index_select(1, scored.to(states.device))
    return output


def score_packed(score: Scorer, model: Any, packed: Packed, has_entropy: bool) -> Logps:
    """Return what a method of TRL says about rows that share tokens, with 0 for padding."""
    every = torch.ones_like(packed.tokens)
    scored = max(1, packed.columns.numel())
    said = score(partial(run_packed, model, packed), packed.tokens, every, scored, compute_entropy=has_entropy)

    def place(values: Tensor) -> Tensor:  # connected to the model also if no row has a completion
        flat = values.new_zeros(math.prod(packed.shape))
        return flat.index_copy(0, packed.places, values.flatten()).view(packed.shape)

    return place(said[0]), None if said[1] is None else place(said[1]), None


def run_packed(model: Any, packed: Packed, labels: Tensor, **inputs: Any) -> Any:
    """Call a model with rows that share tokens. Its mask of ones keeps it from looking for rows in positions."""
    inputs |= {"position_ids": packed.positions, "shift_labels": packed.targets}
    with setting(ROWS, packed.rows), setting(SCORED, packed.columns):
        return model(**inputs)


def score_padded(score: Scorer, model: Any, keep: int, *args: Any, **options: Any) -> Logps:
    """Return what a method of TRL says about the last `keep` columns of padded rows."""
    return score(Cut(model, keep=keep) if takes_rows(model) else model, *args, **options)


class Cut(Positioned):
    """A model that scores the last columns of padded rows."""

    def __call__(self, labels: Tensor, **inputs: Any) -> Any:
        inputs |= self.keywords
        keep = inputs.pop("keep")
        with setting(SCORED, slice(-keep - 1, -1)):  # from the end, since PEFT may put virtual tokens before a row
            return self.func(shift_labels=labels[:, -keep:], **inputs)


@contextmanager
def setting(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    known = variable.set(value)
    try:
        yield
    finally:
        variable.reset(known)
