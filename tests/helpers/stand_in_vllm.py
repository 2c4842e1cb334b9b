"""Stands in for vLLM, which needs an engine: completions by transformers, log-probabilities with a noise of their own."""

import hashlib

import torch
from trl.trainer.utils import pad


class StandIn:
    """What TRL asks of vLLM. Log-probabilities are the true ones with a noise, which is the same for the same completion."""

    def __init__(self, trainer, noise=0.1):
        self.trainer, self.noise = trainer, noise
        self.generating = False

    def sync_weights(self):
        pass

    def generate(self, prompts, images, num_generations, profiler=None):
        self.generating, self.trainer.use_vllm = True, False
        try:
            ids, _ = self.trainer._generate_single_turn(prompts, images, {}, num_generations)
            known = self.log_probabilities(prompts, ids)
        finally:
            self.generating, self.trainer.use_vllm = False, True
        return None, ids, [[[value] for value in row] for row in known], None

    @torch.no_grad()
    def log_probabilities(self, prompts, ids):
        rows = [torch.cat([torch.tensor(prompt), torch.tensor(one)]) for prompt, one in zip(prompts, ids, strict=True)]
        mask = pad([torch.ones_like(row) for row in rows])
        logits = self.trainer.model(input_ids=pad(rows), attention_mask=mask).logits.log_softmax(-1)
        return [self.noised(len(prompt), one, row) for prompt, one, row in zip(prompts, ids, logits, strict=True)]

    def noised(self, start, ids, logps):
        seed = int(hashlib.sha256(str(ids).encode()).hexdigest()[:8], 16)
        noise = torch.randn(len(ids), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        true = logps[torch.arange(start - 1, start - 1 + len(ids)), torch.tensor(ids)]
        return (true.double() + self.noise * noise).tolist()


def with_vllm(trainer, mode="sequence_mask", noise=0.1):
    """The trainer as `use_vllm=True` would make it, with a stand-in for the engine."""
    trainer.use_vllm, trainer.vllm_mode, trainer._last_loaded_step = True, "server", -1
    trainer.vllm_importance_sampling_mode = mode
    trainer.vllm_generation = StandIn(trainer, noise)
    return trainer
