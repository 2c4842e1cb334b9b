"""Models of float64 that compute everything in float64, where transformers and TRL compute some steps in float32."""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch
from transformers.models.qwen2.modeling_qwen2 import Qwen2RMSNorm
from transformers.models.qwen2_moe.modeling_qwen2_moe import Qwen2MoeRMSNorm
from trl.trainer import utils


def normalize(self, hidden):
    """The forward pass of RMSNorm."""
    return self.weight * (hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


class Head:
    """The fused head of TRL, without bias."""

    @staticmethod
    def apply(hidden, weight, bias, labels, temperature, *others):
        logps = (hidden @ weight.T / temperature).log_softmax(-1)
        return logps.gather(-1, labels[:, None])[:, 0], -(logps.exp() * logps).sum(-1), None, None, None


@contextmanager
def in_own_precision():
    with ExitStack() as patches:
        for norm in (Qwen2RMSNorm, Qwen2MoeRMSNorm):
            patches.enter_context(patch.object(norm, "forward", normalize))
        patches.enter_context(patch.object(utils, "_ChunkedLogProbFunction", Head))
        yield
