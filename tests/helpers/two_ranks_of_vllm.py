"""The scenarios that test_vllm_server.py runs on two ranks: TRL's server mode, with a client that answers in this process."""

import pytest
import torch
import torch.distributed as dist
from transformers import AutoTokenizer
from trl.generation import vllm_generation

from helpers.models import load_layer
from helpers.reward_functions import mostly_dead
from helpers.two_ranks import trainer_of
from trl_grpo_rewards import FilteredGRPOTrainer, demo
from trl_grpo_rewards.records.files import read_records


TOKENIZER = AutoTokenizer.from_pretrained(demo.MODEL)


class Client:
    """What TRL asks of its client of a vLLM server. The main process has one, with a model and weights of its own."""

    made: list["Client"] = []

    def __init__(self, **server):
        self.model = load_layer()
        self.random = torch.Generator().manual_seed(0)
        self.requests, self.answers, self.weights_received = [], [], 0
        self.made.append(self)

    def init_communicator(self, device):
        pass

    def reset_prefix_cache(self):
        pass

    def get_server_info(self):
        return {"model_config": {"logprobs_mode": "processed_logprobs"}}

    @torch.no_grad()
    def update_named_params(self, metadata, named_params):
        own = dict(self.model.named_parameters())
        for (name, parameter), (announced, _, shape) in zip(named_params, metadata, strict=True):
            assert name == announced and list(parameter.shape) == shape
            own.pop(name).copy_(parameter)
        assert not own
        self.weights_received += 1

    def generate(self, prompts, n, max_tokens, temperature, **options):
        self.requests.append(len(prompts))
        sampled = [one for prompt in prompts for one in self.sample(prompt, n, max_tokens, temperature)]
        self.answers += [[prompts[place // n], ids] for place, (ids, _) in enumerate(sampled)]
        logprobs = [[[value] for value in known] for _, known in sampled]
        return {"prompt_ids": prompts, "completion_ids": [ids for ids, _ in sampled], "logprobs": logprobs}

    @torch.no_grad()
    def sample(self, prompt, n, max_tokens, temperature):
        """Return `n` completions of a prompt, and the log-probabilities of their tokens."""
        rows, known = torch.tensor([prompt] * n), []
        for _ in range(max_tokens):
            logprobs = (self.model(rows).logits[:, -1] / temperature).log_softmax(-1)
            drawn = torch.multinomial(logprobs.exp(), 1, generator=self.random)
            rows, known = torch.cat([rows, drawn], 1), [*known, logprobs.gather(1, drawn)]
        ids, values = rows[:, len(prompt) :].tolist(), torch.cat(known, 1).tolist()
        end = TOKENIZER.eos_token_id
        lengths = [one.index(end) + 1 if end in one else max_tokens for one in ids]
        return [(one[:most], value[:most]) for one, value, most in zip(ids, values, lengths, strict=True)]


def tokenize(prompt):
    return TOKENIZER.apply_chat_template(prompt, add_generation_prompt=True, return_dict=False)


def serve(folder, **options) -> dict:
    """Train through TRL's own generation in server mode, and return what the client answered and each rank scored."""
    scored = []

    def score(prompts, completions, completion_ids, **kwargs):
        scored.extend([tokenize(prompt), ids] for prompt, ids in zip(prompts, completion_ids, strict=True))
        return mostly_dead(prompts, completions)

    Client.made.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vllm_generation, "is_vllm_available", lambda: True)
        patch.setattr(vllm_generation, "VLLMClient", Client)
        options = {"use_vllm": True, "vllm_mode": "server", "max_steps": 4, "learning_rate": 0.01} | options
        trainer = trainer_of(FilteredGRPOTrainer, folder, [score], output_dir=str(folder), **options)
        trainer.train()
    history = [entry for entry in trainer.state.log_history if "groups/dead" in entry]
    seen = {
        "scored": scored,
        "weights": [parameter.double().sum().item() for parameter in trainer.model.parameters()],
        "dead": [entry["groups/dead"] for entry in history],
        "rounds": [entry.get("groups/resample_rounds", 0) for entry in history],
        "largest": max(entry["sampling/sampling_logp_difference/max"] for entry in history),
        "clients": len(Client.made),
    }
    if dist.get_rank() == 0:
        (client,) = Client.made
        seen |= {"requests": client.requests, "answers": client.answers, "updates": client.weights_received}
        seen["recorded"] = [
            [[tokenize(record["prompt"]), ids] for ids in record["completion_ids"]] for record in read_records(folder)
        ]
    return seen


def skip(folder) -> dict:
    return serve(folder)


def resample(folder) -> dict:
    return serve(folder, zero_variance="drop", max_resample_rounds=2)


def resample_selectively(folder) -> dict:
    """Groups of eight on 24 rows, of which the second is on both ranks."""
    options = {"num_generations": 8, "per_device_train_batch_size": 12}
    return serve(folder, zero_variance="drop", max_resample_rounds=2, selective=True, **options)
