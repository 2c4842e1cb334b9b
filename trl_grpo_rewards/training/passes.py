"""Passes of a model: which rows go through it together, as one sequence of different tokens, and what its head scores."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import torch
from accelerate.utils import send_to_device
from torch import Tensor, nn

from .attention import ROWS, SIMILAR, Member, Rows
from .paths import Path, list_shared, measure_passes
from .placement import PASSES_PER_BUDGET, Order, Size, list_orders, plan_batches
from .positions import find_base


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


class Pass(NamedTuple):
    """Rows that go through the model together."""

    rows: list[int]  # their places, in the order of the sequence
    tokens: int  # with padding
    paths: Sequence[Path] = ()  # of rows that share tokens
    sharing: Sharing | None = None

    def build(self, width: int, device: torch.device) -> Packed | None:
        """Return the rows as one sequence if they share tokens. `width` is that of the completions in the micro-batch."""
        if self.sharing is None:
            return None
        packed: Packed = send_to_device(pack(self.paths, self.tokens, width, self.sharing), device, non_blocking=True)
        return packed


def pack(paths: Sequence[Path], length: int, width: int, sharing: Sharing) -> Packed:
    """Return sorted rows as one sequence of `length` tokens. `width` is that of the completions in the micro-batch."""
    tokens, positions, columns, members = list[int](), list[int](), list[int](), list[Member]()
    predicting, predicted, places = list[int](), list[int](), list[int]()
    for row, (path, shared) in enumerate(zip(paths, list_shared(paths), strict=True)):
        own = path.columns - shared
        columns = [*columns[:shared], *range(len(tokens), len(tokens) + own)]
        members += [Member(columns, own)] * (own > 0)
        tokens += path.tokens[shared : path.columns]
        positions += range(path.first + shared, path.first + path.columns)
        predicting += columns[path.prompt - 1 :]
        predicted += path.tokens[path.prompt :]
        places += range(row * width, row * width + len(path.tokens) - path.prompt)
    if fill := length - len(tokens):  # padding is a row of its own
        members.append(Member([*range(len(tokens), length)], fill))
    padded = ([*one, *[0] * fill] for one in (tokens, positions))
    fields = [torch.tensor(one, dtype=torch.long) for one in (*padded, predicting, predicted, places)]
    rows = sharing.lay_out(members, length)
    return Packed(fields[0][None], fields[1][None], fields[2], fields[3][None], fields[4], (len(paths), width), rows)


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
        return [Pass(*one) for one in plan_batches(list_orders(sizes), max_tokens, max_batches, max_rows)]
    places = sorted(range(len(paths)), key=paths.__getitem__)
    order = Order(places, measure_passes([paths[place] for place in places], find_multiple(sharing, max_tokens)))
    most = max_tokens * (SIMILAR if sharing.keeps_scores else 1.0)  # padding of similar rows has scores, too
    plan = plan_batches([order], most, max_batches, max_rows, sharing.cost)
    return [Pass(*one, [paths[place] for place in one.places], sharing) for one in plan]


def find_multiple(sharing: Sharing, max_tokens: int) -> int:
    """Return the number that lengths of sequences are rounded up to a multiple of. It is small where passes are small."""
    step = sharing.step
    while step > 1 and 8 * step > max_tokens:
        step //= 2
    return math.lcm(step, sharing.multiple)


SCORED: ContextVar[Tensor | slice | None] = ContextVar("kept", default=None)
"""The columns that the head of a model is given. On a CPU, TRL's head scores all that it is given."""


def cut_columns(model: nn.Module) -> None:
    """Let a model take rows that share tokens, and give its head only the columns that are scored."""
    base = find_base(model)
    if not takes_rows(base):
        base._takes_rows = True
        base.register_forward_pre_hook(cut_labels, with_kwargs=True)
        base.base_model.register_forward_hook(cut_states)


def takes_rows(model: Any) -> bool:
    return getattr(find_base(model), "_takes_rows", False)


def cut_labels(model: nn.Module, args: Any, inputs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    kept = SCORED.get()
    if isinstance(kept, slice) and inputs.get("labels") is not None:
        inputs = {**inputs, "labels": inputs["labels"][:, kept]}
    return args, inputs


def cut_states(backbone: nn.Module, args: Any, output: Any) -> Any:
    kept = SCORED.get()
    if kept is not None:
        states = output.last_hidden_state
        if isinstance(kept, slice):
            output.last_hidden_state = states[:, kept]
        else:
            output.last_hidden_state = states.index_select(1, kept.to(states.device))
    return output


def score_packed(score: Callable[..., Any], model: Any, packed: Packed, has_entropy: bool) -> Any:
    """Return what a method of TRL says about rows that share tokens, with 0 for padding."""
    every, count = torch.ones_like(packed.tokens), max(1, packed.columns.numel())
    said = score(partial(run_packed, model, packed), packed.tokens, every, count, compute_entropy=has_entropy)

    def place(values: Tensor) -> Tensor:  # connected to the model also if no row has a completion
        flat = values.new_zeros(math.prod(packed.shape))
        return flat.index_copy(0, packed.places, values.flatten()).view(packed.shape)

    return *(None if one is None else place(one) for one in said[:2]), None


def run_packed(model: Any, packed: Packed, labels: Tensor, **inputs: Any) -> Any:
    """Call a model with rows that share tokens. Its mask of ones keeps it from looking for rows in positions."""
    inputs |= {"position_ids": packed.positions, "shift_labels": packed.targets}
    with setting(ROWS, packed.rows), setting(SCORED, packed.columns):
        return model(**inputs)


def score_padded(
    score: Callable[..., Any], model: Any, ids: Tensor, mask: Tensor, keep: int, *args: Any, **options: Any
) -> Any:
    """Return what a method of TRL says about padded rows. It scores their last `keep` columns."""
    with setting(
        SCORED, slice(-keep - 1, None)
    ):  # counted from the end, since PEFT may put virtual tokens before a row
        return score(model, ids, mask, keep, *args, **options)


@contextmanager
def setting(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    known = variable.set(value)
    try:
        yield
    finally:
        variable.reset(known)
