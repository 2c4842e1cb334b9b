"""Rows inside attention. All else of a model is given one sequence, which has what rows have in common only once."""

import inspect
import logging
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import accumulate
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface, TrainingArguments
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS


logger = logging.getLogger(__name__)
SIMILAR = 0.75  # a row of a padded call has at least this part of the queries of the longest one
BLOCK = 128  # rows of FlexAttention have a multiple of this number of tokens, since it compiles for each new shape


class Member(NamedTuple):
    """The columns of a row in a sequence: some that rows before it have, and then its own, which are its queries."""

    shared: list[int]
    start: int
    own: int

    @property
    def length(self) -> int:
        return len(self.shared) + self.own

    @property
    def columns(self) -> list[int]:
        return [*self.shared, *range(self.start, self.start + self.own)]


class Rows(ABC):
    """Rows of a sequence. The layers of a model are given this object in the place of a mask."""

    @abstractmethod
    def to(self, device: torch.device) -> "Rows": ...

    @abstractmethod
    def add_masks(self, make_mask: Callable[..., Any], **options: Any) -> "Rows":
        """Return these rows for layers whose masks are made with some options."""

    @abstractmethod
    def attend(self, call: Callable[..., Any], query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        """Return what attention says of a sequence, (1, tokens, heads, width), from tensors (1, heads, tokens, width)."""


class Call(NamedTuple):
    """Columns of the sequence for one call of attention, (rows, tokens). Padding is on the right, where no token sees it."""

    queries: Tensor
    keys: Tensor


@dataclass(frozen=True)
class PaddedRows(Rows):
    """Rows in calls of attention for rows of similar lengths that have as many tokens in common."""

    calls: list[Call]
    places: Tensor  # where the outputs of the sequence (tokens,) are among those of all calls
    masks: list[Any] = field(default_factory=list)

    def to(self, device: torch.device) -> "PaddedRows":
        calls = [Call(*(move(columns, device) for columns in call)) for call in self.calls]
        return replace(self, calls=calls, places=move(self.places, device))

    def add_masks(self, make_mask: Callable[..., Any], **options: Any) -> "PaddedRows":
        masks = []
        for queries, keys in self.calls:
            own, every = queries.size(1), keys.size(1)
            lengths = {"q_length": own, "kv_length": every, "q_offset": every - own, "kv_offset": 0}
            masks.append(make_mask(**{**options, **lengths, "batch_size": 1, "attention_mask": None}))
        return replace(self, masks=masks)

    def attend(self, call: Callable[..., Any], query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        outputs = []
        for (queries, keys), mask in zip(self.calls, self.masks, strict=True):
            parts = gather_rows(query, queries), gather_rows(key, keys), gather_rows(value, keys)
            outputs.append(call(*parts, mask, **options)[0].flatten(0, 1))
        return torch.cat(outputs).index_select(0, move(self.places, query.device))[None]


@dataclass(frozen=True)
class UnpaddedRows(Rows):
    """Rows in one call of attention, whose kernel takes the lengths of rows. Queries are the sequence as it is."""

    keys: Tensor  # columns of all rows, one after the other
    ends: Tensor  # (2, rows + 1): the columns of queries and of keys at which rows end, after 0
    longest: tuple[int, int]  # row of queries, and of keys
    kernel: Callable[..., Any] | None = None  # in the place of the model's implementation
    window: int | None = None

    def to(self, device: torch.device) -> "UnpaddedRows":
        return replace(self, keys=move(self.keys, device), ends=move(self.ends, device))

    def add_masks(self, make_mask: Callable[..., Any], **options: Any) -> "UnpaddedRows":
        return replace(self, window=options.get("local_size"))

    def attend(self, call: Callable[..., Any], query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        if options.get("sliding_window") != self.window:
            raise ValueError(
                f"a layer has a window of {self.window or options['sliding_window']} tokens in one place only"
            )
        own = self.to(query.device)
        options |= {"cu_seq_lens_q": own.ends[0], "cu_seq_lens_k": own.ends[1]}
        options |= {"max_length_q": own.longest[0], "max_length_k": own.longest[1]}
        keys, values = (gather_rows(one, own.keys[None]) for one in (key, value))
        output: Tensor = (self.kernel or call)(query, keys, values, None, **options)[0]
        return output


def gather_rows(sequence: Tensor, columns: Tensor) -> Tensor:
    """Return (rows, heads, tokens, width) of (1, heads, tokens, width), given columns (rows, tokens)."""
    rows, tokens = columns.shape
    every = sequence[0].transpose(0, 1).index_select(0, move(columns, sequence.device).flatten())
    return every.view(rows, tokens, *every.shape[1:]).transpose(1, 2)


def move(tensor: Tensor, device: torch.device) -> Tensor:
    return tensor.to(device, non_blocking=True)


def pad_rows(members: Sequence[Member], tokens: int, *, is_whole: bool = False, multiple: int = 1) -> PaddedRows:
    """
    Return the calls for rows of a sequence with so many tokens.

    If `is_whole`, queries are whole rows, so that a causal mask can be left out. Else they are what no row before has.
    """
    alike: dict[int, list[Member]] = {}
    for member in members:
        alike.setdefault(0 if is_whole else len(member.shared), []).append(member)
    calls, places, start = list[Call](), torch.zeros(tokens, dtype=torch.long), 0
    for before, every in sorted(alike.items()):
        for rows in split_by_length(every, before):
            width = -(-(rows[0].length - before) // multiple) * multiple  # of queries
            keys = torch.zeros(len(rows), before + width, dtype=torch.long)
            for place, row in enumerate(rows):
                columns = torch.tensor(row.columns)
                keys[place, : row.length] = columns
                outputs = torch.arange(row.length - row.own, row.length) - before
                places[columns[-row.own :]] = outputs + start + place * width
            start += len(rows) * width
            calls.append(Call(keys[:, before:], keys))
    return PaddedRows(calls, places)


def split_by_length(members: Sequence[Member], before: int) -> Iterator[list[Member]]:
    """Yield rows with similar numbers of tokens after the first ones, the longest rows first."""
    ordered, start = sorted(members, key=lambda member: -member.length), 0
    for end in range(1, len(ordered) + 1):
        if end == len(ordered) or ordered[end].length - before < SIMILAR * (ordered[start].length - before):
            yield ordered[start:end]
            start = end


def chain_rows(members: Sequence[Member], tokens: int, kernel: Callable[..., Any] | None = None) -> UnpaddedRows:
    """Return the call for rows of a sequence with so many tokens. Padding is a row of its own."""
    filled = members[-1].start + members[-1].own if members else 0
    every = [*members, *[Member([], filled, tokens - filled)] * (tokens > filled)]
    counts = [row.own for row in every], [row.length for row in every]
    ends = torch.tensor([[0, *accumulate(own)] for own in counts], dtype=torch.int32)
    keys = torch.tensor([column for row in every for column in row.columns])
    return UnpaddedRows(keys, ends, (max(counts[0]), max(counts[1])), kernel)


ROWS: ContextVar[Rows | None] = ContextVar("rows", default=None)
"""The rows of the sequence that a model is called with, while it makes masks. Layers keep them for recomputation."""


def let_attend(implementation: str) -> None:
    """Let an implementation of attention take rows in the place of a mask. Calls with a mask are as before."""
    plain = ALL_ATTENTION_FUNCTIONS.get(implementation)
    if getattr(plain, "func", None) is not attend:
        AttentionInterface.register(implementation, partial(attend, plain))
        make_mask = ALL_MASK_ATTENTION_FUNCTIONS[implementation]
        AttentionMaskInterface.register(implementation, partial(make_masks, make_mask))


def make_masks(plain: Callable[..., Any], *args: Any, **options: Any) -> Any:
    rows = ROWS.get()
    return plain(*args, **options) if rows is None else rows.add_masks(plain, **options)


def attend(
    plain: Callable[..., Any] | None,
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Any,
    *args: Any,
    **options: Any,
) -> Any:
    if plain is None:  # eager attention is a function next to the module of a model
        plain = vars(sys.modules[type(module).forward.__module__])["eager_attention_forward"]
    call = partial(plain, module)
    if not isinstance(attention_mask, Rows):
        return call(query, key, value, attention_mask, *args, **options)
    options.pop("position_ids", None)  # those of the sequence, in which FlashAttention would look for rows
    return attention_mask.attend(call, query, key, value, *args, **options), None


def attend_unpadded(query: Tensor, key: Tensor, value: Tensor, mask: None, **options: Any) -> tuple[Tensor, None]:
    """The attention of SDPA without padding: torch's own build of FlashAttention."""
    from torch.nn.attention.varlen import varlen_attn

    if options.get("dropout") or any(options.get(name) is not None for name in ("softcap", "s_aux", "position_bias")):
        raise ValueError("torch's attention to rows of different lengths has no dropout, softcapping, sinks or biases")
    if torch.is_autocast_enabled(query.device.type):
        query, key, value = (one.to(torch.get_autocast_dtype(one.device.type)) for one in (query, key, value))
    window = options.get("sliding_window") or 0
    lengths: list[Any] = [options[f"{name}_{of}"] for name in ("cu_seq_lens", "max_length") for of in "qk"]
    output: Any = varlen_attn(
        query[0].transpose(0, 1),
        key[0].transpose(0, 1),
        value[0].transpose(0, 1),
        *lengths,
        scale=options.get("scaling"),
        window_size=(window - 1, 0),  # tokens before a query: -1 for all
        enable_gqa=query.size(1) != key.size(1),
    )
    return output[None], None


def has_unpadded_attention() -> bool:
    """Return whether the installed torch has attention to rows of different lengths, with windows and grouped queries."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return False
    return {"window_size", "enable_gqa"} <= inspect.signature(varlen_attn).parameters.keys()


@contextmanager
def avoid_cudnn(args: TrainingArguments) -> Iterator[None]:
    """Let SDPA take other kernels than those of cuDNN."""
    was_enabled = torch.backends.cuda.cudnn_sdp_enabled()  # type: ignore[no-untyped-call]
    if was_enabled and torch.cuda.is_available():
        tell_of_cudnn(args.pad_to_multiple_of)
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(was_enabled)


@cache
def tell_of_cudnn(multiple: int | None) -> None:
    """Say once why kernels are avoided, and warn of a width that they get wrong (pytorch/pytorch#196678)."""
    logger.warning(
        "Training does without the attention of cuDNN, which prepares a plan of up to a second for each new shape of a batch."
    )
    if multiple and multiple % 128 == 64:
        logger.warning(
            f"pad_to_multiple_of={multiple} gives batches widths in which the attention of cuDNN returns NaN gradients on H100 "
            f"and H200 with torch 2.11 to 2.13. This trainer does without it. With trl.GRPOTrainer, take 128."
        )
