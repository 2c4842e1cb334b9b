"""Passes of a model: which rows go through it together, as one sequence of different tokens, and what its head scores."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakSet

import torch
from torch import Tensor, nn

from .attention import ROWS, SIMILAR, Member, Rows, move
from .paths import Path, list_shared, measure_passes
from .placement import PASSES_PER_BUDGET, Size, count_padded, plan_micro_batches, split_in_order
from .positions import Positioned, find_base
from .trl_members import utils


Logps: TypeAlias = tuple[Tensor, Tensor | None, Tensor | None]  # of tokens, their entropies, load-balancing loss
Layout: TypeAlias = Callable[[Sequence[Member], int], Rows]
# Arguments of TRL's `_get_per_token_logps_and_entropies` after the model, which Unsloth passes by position.
LOGPS_ARGUMENTS = ("input_ids", "attention_mask", "logits_to_keep", "batch_size", "compute_entropy")


class Sharing(NamedTuple):
    """How a model computes rows that share tokens."""

    lay_out: Layout
    cost: float = 1 / PASSES_PER_BUDGET  # another pass is worth it if it saves more than this part of the largest one
    step: int = 1  # large sequences have a multiple of this number of tokens, so that few shapes occur
    multiple: int = 1  # and all have a multiple of this one
    keeps_scores: bool = False  # attention keeps a number for each pair of tokens for the backward pass


class Packed(NamedTuple):
    """Rows as one sequence of their different tokens, and what is scored of it."""

    tokens: Tensor  # (1, tokens)
    positions: Tensor
    columns: Tensor  # (scored,): the column that predicts each completion token
    targets: Tensor  # (1, scored)
    places: Tensor  # (scored,): of completion tokens in a tensor (rows, width)
    shape: tuple[int, int]  # that of this tensor
    rows: Rows

    def to(self, device: torch.device) -> "Packed":
        tensors: dict[str, Any] = {name: move(getattr(self, name), device) for name in self._fields[:5]}
        return self._replace(**tensors, rows=self.rows.to(device))


class Pass(NamedTuple):
    """Rows that go through the model together."""

    rows: list[int]  # their places, in the order of the sequence
    tokens: int  # with padding
    paths: Sequence[Path] = ()  # of rows that share tokens
    sharing: Sharing | None = None

    def build(self, width: int, device: torch.device) -> Packed | None:
        """Return the sequence of rows that share tokens, with log-probabilities of so many completion tokens."""
        return None if self.sharing is None else pack(self.paths, self.tokens, width, self.sharing).to(device)


def pack(paths: Sequence[Path], length: int, width: int, sharing: Sharing) -> Packed:
    """Return sorted rows as a sequence of a length, with log-probabilities of so many completion tokens."""
    tokens, positions, columns = list[int](), list[int](), list[int]()
    scored, targets, places, members = list[int](), list[int](), list[int](), list[Member]()
    for row, (path, shared) in enumerate(zip(paths, list_shared(paths), strict=True)):
        own = path.columns - shared
        if own > 0:
            members.append(Member(columns[:shared], len(tokens), own))
        columns = [*columns[:shared], *range(len(tokens), len(tokens) + own)]
        tokens += path.tokens[shared : path.columns]
        positions += range(path.first + shared, path.first + path.columns)
        scored += columns[path.prompt - 1 :]
        targets += path.tokens[path.prompt :]
        places += range(row * width, row * width + len(path.tokens) - path.prompt)
    members = members or [Member([], 0, length)]
    fill = [0] * (length - len(tokens))
    ids, at, predicting, predicted, cells = (
        torch.tensor(own, dtype=torch.long) for own in (tokens + fill, positions + fill, scored, targets, places)
    )
    rows = sharing.lay_out(members, length)
    return Packed(ids[None], at[None], predicting, predicted[None], cells, (len(paths), width), rows)


def plan_passes(
    sizes: list[Size],
    paths: list[Path] | None,
    sharing: Sharing | None,
    max_tokens: int,
    max_batches: int,
    max_rows: int,
) -> list[Pass]:
    """Split rows into passes, in which they share tokens if they can."""
    if not sharing or not paths:
        plan = plan_micro_batches(sizes, max_tokens, max_batches, max_rows)
        return [Pass(places, count_padded(sizes, [places])) for places in plan]
    order = sorted(range(len(paths)), key=paths.__getitem__)
    ordered = [paths[place] for place in order]
    measure = measure_passes(ordered, find_multiple(sharing, max_tokens))
    most = max_tokens * (SIMILAR if sharing.keeps_scores else 1.0)  # padding of similar rows has scores, too
    while (
        len(plan := split_in_order([*range(len(order))], measure, most, len(order), sharing.cost * most)) > max_batches
    ):
        most *= 1.125
    tokens = [next(islice(measure(places[-1] + 1), len(places) - 1, None)) for places in plan]
    passes = [
        Pass([order[place] for place in places], count, [ordered[place] for place in places], sharing)
        for places, count in zip(plan, tokens, strict=True)
    ]
    return sorted(passes, key=lambda one: -one.tokens)


def find_multiple(sharing: Sharing, max_tokens: int) -> int:
    """Return the number of which sequences have a multiple of tokens: an eighth of the largest ones at most."""
    step = sharing.step
    while step > 1 and 8 * step > max_tokens:
        step //= 2
    return math.lcm(step, sharing.multiple)


KEPT: ContextVar[Any] = ContextVar("kept", default=None)
"""The columns whose hidden states the head of a model is given: a slice, or a tensor (columns,)."""

BACKBONES: WeakSet[nn.Module] = WeakSet()
"""Those whose outputs are cut to [`KEPT`]."""


def cut_outputs(model: nn.Module | None) -> None:
    """Let the head of a model be given only the columns that are scored. On a CPU, TRL's would compute all columns."""
    if model is None or not hasattr(utils, "add_fused_lm_head"):
        return
    backbone = find_base(model).base_model
    if backbone not in BACKBONES:
        BACKBONES.add(backbone)
        backbone.register_forward_hook(cut_output)


def cut_output(backbone: nn.Module, inputs: Any, output: Any) -> Any:
    kept, states = KEPT.get(), getattr(output, "last_hidden_state", None)
    if kept is not None and states is not None:
        is_cut = isinstance(kept, slice)
        output.last_hidden_state = states[:, kept] if is_cut else states.index_select(1, kept.to(states.device))
    return output


def is_cut(model: Any) -> bool:
    return getattr(find_base(model), "base_model", None) in BACKBONES


def score_packed(score: Callable[..., Any], model: Any, packed: Packed, has_entropy: bool) -> Any:
    """Return what a method of TRL says about rows that share tokens, with 0 for padding."""
    inner = model.func if isinstance(model, Positioned) else model
    every = torch.ones_like(packed.tokens)
    count = max(1, packed.columns.numel())
    found = score(partial(run_packed, inner, packed), packed.tokens, every, count, compute_entropy=has_entropy)

    def place(values: Tensor) -> Tensor:  # connected to the model also if no row has a completion
        rows, width = packed.shape
        return values.new_zeros(rows * width).index_copy(0, packed.places, values.flatten()).view(rows, width)

    return *(None if one is None else place(one) for one in found[:2]), None


def run_packed(model: Any, packed: Packed, labels: Tensor, **inputs: Any) -> Any:
    """Call a model with rows that share tokens. A mask of ones keeps it from looking for rows in positions."""
    inputs |= {"position_ids": packed.positions, "shift_labels": packed.targets}
    with setting(ROWS, packed.rows), setting(KEPT, packed.columns):
        return model(**inputs)


def score_padded(
    score: Callable[..., Any], model: Any, ids: Tensor, mask: Tensor, keep: int, *args: Any, **options: Any
) -> Any:
    """Return what a method of TRL says about padded rows, of which the last columns `keep` are scored."""
    known = is_cut(model.func if isinstance(model, Positioned) else model)
    return score(Cut(run_padded, model, keep) if known else model, ids, mask, keep, *args, **options)


class Cut(partial[Any]):
    """A call of a model, with the attributes of the model."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.args[0], name)


def run_padded(model: Any, keep: int, labels: Tensor | None = None, fused_lm_head: bool = False, **inputs: Any) -> Any:
    """Call a model as TRL does, but for the columns that its head is given."""
    if labels is None or not fused_lm_head:
        return model(labels=labels, fused_lm_head=fused_lm_head, **inputs)
    with setting(KEPT, slice(-keep - 1, -1)):
        return model(shift_labels=labels[:, -keep:], fused_lm_head=True, **inputs)


@contextmanager
def setting(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    known = variable.set(value)
    try:
        yield
    finally:
        variable.reset(known)
