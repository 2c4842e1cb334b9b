"""FlashAttention's kernel for rows of different lengths, written with torch, since it runs on no CPU."""

from contextlib import contextmanager

import torch
import transformers.modeling_flash_attention_utils as flash
from transformers import PreTrainedModel

from trl_grpo_rewards.training import attention


def attend(
    q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0, softmax_scale=None, causal=False,
    window_size=(-1, -1), softcap=0.0, deterministic=False, s_aux=None,
):  # fmt: skip
    """
    Attention as FlashAttention documents it from 2.1 on: causal masks are aligned at the lower right of each row, and a
    window says how many tokens before a query are seen. Tensors have the shape (tokens, heads, width).
    """
    assert causal and not dropout_p and cu_seqlens_q.dtype == cu_seqlens_k.dtype == torch.int32
    assert (len(q), len(k), len(v)) == (cu_seqlens_q[-1], cu_seqlens_k[-1], cu_seqlens_k[-1])
    assert (max_seqlen_q, max_seqlen_k) == (cu_seqlens_q.diff().max(), cu_seqlens_k.diff().max())
    scale, repeats = softmax_scale or q.size(-1) ** -0.5, q.size(1) // k.size(1)
    ends = zip(*(one.tolist() for one in (cu_seqlens_q, cu_seqlens_k)), strict=True)
    rows, (start, first) = [], next(ends)
    for end, last in ends:
        own = q[start:end].transpose(0, 1)
        keys, values = (one[first:last].transpose(0, 1).repeat_interleave(repeats, 0) for one in (k, v))
        scores = own @ keys.transpose(1, 2) * scale
        scores = softcap * torch.tanh(scores / softcap) if softcap else scores
        at, seen = torch.arange(end - start)[:, None] + (last - first) - (end - start), torch.arange(last - first)
        sees = (seen <= at) & ((seen >= at - window_size[0]) | (window_size[0] < 0))
        scores = scores.masked_fill(~sees, -torch.inf)
        if s_aux is not None:
            scores = torch.cat([scores, s_aux[:, None, None].expand(-1, len(at), 1)], -1)
        rows.append((scores.softmax(-1)[..., : len(seen)] @ values).transpose(0, 1))
        start, first = end, last
    return torch.cat(rows)


def attend_batch(q, k, v, **options):
    """The same for rows of one length, (rows, tokens, heads, width)."""
    ends, longest = torch.arange(len(q) + 1, dtype=torch.int32) * q.size(1), q.size(1)
    return attend(*(one.flatten(0, 1) for one in (q, k, v)), ends, ends, longest, longest, **options).view_as(q)


@contextmanager
def unpadded_kernels(monkeypatch, kernel=attend):
    """Let models take `flash_attention_2`, and torch's own build of it, on a CPU."""

    def attend_of_torch(q, k, v, *lengths, scale=None, window_size=(-1, -1), enable_gqa=False):
        assert window_size[1] == 0 and enable_gqa == (q.size(1) != k.size(1))
        return kernel(q, k, v, *lengths, softmax_scale=scale, causal=True, window_size=(window_size[0], 0))

    with monkeypatch.context() as patch:
        kernels = attend_batch, kernel, None, flash._pad_input, flash._unpad_input
        patch.setattr(flash, "_loaded_implementation", None)  # it keeps the kernels that it had
        patch.setattr(flash, "_lazy_imports", lambda *args, **kwargs: kernels)
        patch.setattr(PreTrainedModel, "_flash_attn_can_dispatch", lambda self, *args, **kwargs: True)
        patch.setattr(attention, "varlen_attn", attend_of_torch)
        yield
