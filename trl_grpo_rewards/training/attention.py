"""Rows inside attention. All else of a model is given one sequence, which has what rows have in common only once."""

import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import torch
from accelerate.utils import send_to_device
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface, TrainingArguments
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from .trl_members import utils


try:
    from torch.nn.attention.varlen import varlen_attn
except ImportError:  # before torch 2.10
    varlen_attn = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)
Attention: TypeAlias = Callable[..., Any]  # an implementation, as transformers calls it
LENGTHS = ("cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k")  # that FlashAttention is told of rows
SIMILAR = 0.75  # a row of a padded call has at least this part of the queries of the longest one


class Member(NamedTuple):
    """The columns of a row in a sequence. The last ones are its own. Those before are columns of other rows, too."""

    columns: list[int]
    own: int
    past: int = 0  # columns, of a prompt that another row asks about


class Call(NamedTuple):
    """A call of attention: columns of the sequence (rows, tokens), padded on the right, where no token sees padding."""

    queries: Tensor | None  # None means the whole sequence, in its own order
    keys: Tensor
    lengths: dict[str, Any] = {}  # what a kernel without padding is told about the rows


@dataclass(frozen=True)
class Rows:
    """Rows of a sequence. The layers of a model are given this object in the place of a mask."""

    calls: list[Call]
    # Where each token's output (tokens,) is among the outputs of all calls. None means the same order.
    places: Tensor | None = None
    kernel: Attention | None = None  # in the place of the model's implementation of attention
    masks: tuple[Any, ...] = (None,)
    window: int | None = None

    def to(self, device: torch.device, **options: Any) -> "Rows":
        calls, places = send_to_device((self.calls, self.places), device, **options)
        return replace(self, calls=calls, places=places)

    def add_masks(self, make_mask: Callable[..., Any], **options: Any) -> "Rows":
        """Return these rows for layers whose masks are made with some options."""
        if self.places is None:  # the kernel has no mask
            return replace(self, window=options.get("local_size"))
        options |= {"batch_size": 1, "attention_mask": None, "kv_offset": 0}
        widths = [(one.keys.size(1), one.queries.size(1)) for one in self.calls if one.queries is not None]
        masks = (options | {"q_length": own, "kv_length": all, "q_offset": all - own} for all, own in widths)
        return replace(self, masks=tuple(make_mask(**own) for own in masks))

    def attend(self, call: Attention, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        """Return what attention says of a sequence, (1, tokens, heads, width), from tensors (1, heads, tokens, width)."""
        if self.places is None and options.get("sliding_window") != self.window:
            raise ValueError("the mask and the kernel of a layer have different windows")
        outputs = []
        for (queries, keys, lengths), mask in zip(self.calls, self.masks, strict=True):
            own = query if queries is None else gather_rows(query, queries)
            every = own, gather_rows(key, keys), gather_rows(value, keys), mask
            outputs.append((self.kernel or call)(*every, **options, **lengths)[0].flatten(0, 1))
        output = torch.cat(outputs)
        return (output if self.places is None else output.index_select(0, self.places))[None]


def gather_rows(sequence: Tensor, columns: Tensor) -> Tensor:
    """Return (rows, heads, tokens, width) of (1, heads, tokens, width), given columns (rows, tokens)."""
    every = sequence[0].transpose(0, 1).index_select(0, columns.flatten())
    return every.view(*columns.shape, *every.shape[1:]).transpose(1, 2)


def pad_rows(members: Sequence[Member], tokens: int, *, is_whole: bool = False) -> Rows:
    """
    Return the calls of attention for a sequence of `tokens` tokens. Each call has rows of similar lengths.

    If `is_whole`, queries are whole rows, so that a causal mask can be left out. Else they are what comes after the past.
    """
    alike: dict[int, list[Member]] = {}
    for member in members:
        alike.setdefault(0 if is_whole else member.past, []).append(member)
    places = torch.zeros(tokens + 1, dtype=torch.long)  # the last one is that of padding
    calls = list[Call]()
    start = 0
    for before, every in sorted(alike.items()):
        for rows in split_by_length(every, before):
            keys = utils.pad([torch.tensor(row.columns) for row in rows], tokens, "right")
            queries = keys[:, before:]
            places[queries.flatten()] = torch.arange(start, start + queries.numel())
            start += queries.numel()
            calls.append(Call(queries.clamp(max=tokens - 1), keys.clamp(max=tokens - 1)))
    return Rows(calls, places[:-1])


def split_by_length(members: Sequence[Member], before: int) -> Iterator[list[Member]]:
    """Yield rows with similar numbers of tokens after the first ones, the longest rows first."""
    ordered = sorted(members, key=lambda member: -len(member.columns))
    start = 0
    lengths = [len(member.columns) - before for member in ordered]
    for end in range(1, len(ordered) + 1):
        if end == len(ordered) or lengths[end] < SIMILAR * lengths[start]:
            yield ordered[start:end]
            start = end


def chain_rows(members: Sequence[Member], tokens: int, kernel: Attention | None = None) -> Rows:
    """Return one call for all rows of a sequence. Its kernel is told their lengths."""
    counts = [row.own for row in members], [len(row.columns) for row in members]
    starts = (torch.tensor([0, *accumulate(own)], dtype=torch.int32) for own in counts)
    keys = torch.tensor([[column for row in members for column in row.columns]])
    lengths = dict(zip(LENGTHS, (*starts, *map(max, counts)), strict=True))
    return Rows([Call(None, keys, lengths)], kernel=kernel)


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
    plain: Attention | None,
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
    options.pop("position_ids", None)  # FlashAttention would look for rows in the positions of the sequence
    return attention_mask.attend(call, query, key, value, *args, **options), None


def attend_unpadded(query: Tensor, key: Tensor, value: Tensor, mask: None, **options: Any) -> tuple[Tensor, None]:
    """The attention of SDPA without padding: torch's own build of FlashAttention."""
    if options.get("dropout") or any(options.get(name) is not None for name in ("softcap", "s_aux", "position_bias")):
        raise ValueError("torch's attention to rows of different lengths has no dropout, softcapping, sinks or biases")
    own: Any = [one[0].transpose(0, 1) for one in (query, key, value)]
    if torch.is_autocast_enabled(query.device.type):
        own = [one.to(torch.get_autocast_dtype(one.device.type)) for one in own]
    lengths = (options[name] for name in LENGTHS)
    window = (options.get("sliding_window") or 0) - 1, 0  # tokens before a query: -1 for all
    is_grouped = query.size(1) != key.size(1)
    output: Any = varlen_attn(*own, *lengths, scale=options.get("scaling"), window_size=window, enable_gqa=is_grouped)
    return output[None], None


def has_unpadded_attention() -> bool:
    """Return whether the installed torch has attention to rows of different lengths, with windows and grouped queries."""
    needed = {"window_size", "enable_gqa"}
    return varlen_attn is not None and needed <= inspect.signature(varlen_attn).parameters.keys()


@contextmanager
def avoid_cudnn(args: TrainingArguments) -> Iterator[None]:
    """Keep SDPA from using cuDNN's kernels."""
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
