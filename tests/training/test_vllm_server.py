"""vLLM as a server on two ranks: TRL gathers the prompts, asks once for each, and sends the completions back to the ranks."""

import pytest
import torch
import torch.distributed as dist
from transformers import AutoTokenizer
from trl.generation import vllm_generation

from helpers.models import load_layer
from helpers.ranks import gather, have_one_model, run_on_two_ranks, trainer_of
from helpers.reward_functions import mostly_dead
from helpers.runs import get_metric
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


RESAMPLED = {"zero_variance": "drop", "max_resample_rounds": 2}
SCENARIOS = {
    "skip": {},
    "resample": RESAMPLED,
    "resample over both ranks": {**RESAMPLED, "num_generations": 8, "per_device_train_batch_size": 12},
}
"""Options of a run. The second group of a generation has rows on both ranks."""


def serve(folder, scenario) -> None:
    """Train through TRL's own generation in server mode, with a client that answers in this process."""
    scored = []

    def score(prompts, completions, completion_ids, **kwargs):
        scored.extend([tokenize(prompt), ids] for prompt, ids in zip(prompts, completion_ids, strict=True))
        return mostly_dead(prompts, completions)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vllm_generation, "is_vllm_available", lambda: True)
        patch.setattr(vllm_generation, "VLLMClient", Client)
        options = {"use_vllm": True, "vllm_mode": "server", "max_steps": 4, "learning_rate": 0.01}
        options |= {"output_dir": str(folder), **SCENARIOS[scenario]}
        trainer = trainer_of(FilteredGRPOTrainer, folder, [score], **options)
        trainer.train()
    dead = get_metric(trainer, "dead")
    rounds = get_metric(trainer, "resample_rounds") or [0.0]
    assert have_one_model(trainer) and gather((dead, rounds)) == [(dead, rounds)] * 2
    assert 0 < max(dead) <= 1 and (max(rounds) > 0) == (scenario != "skip")
    drift = [entry.get("sampling/sampling_logp_difference/max", 0.0) for entry in trainer.state.log_history]
    assert max(drift) < 1e-4  # the trainer's own log-probabilities of what was sampled
    all_scored, clients = sum(gather(scored), []), gather(len(Client.made))
    assert clients == [1, 0]
    if dist.get_rank() == 0:
        (client,), size = Client.made, trainer.num_generations
        groups = [client.answers[start : start + size] for start in range(0, len(client.answers), size)]
        assert len(groups) == sum(client.requests) and client.weights_received == 4  # one request for each prompt
        assert len(client.requests) == 4 + sum(rounds)  # the ranks ask for fresh prompts in every round
        assert sorted(all_scored) == sorted(client.answers)
        recorded = [[[tokenize(one["prompt"]), ids] for ids in one["completion_ids"]] for one in read_records(folder)]
        assert sorted(recorded) == sorted(groups)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_completion_belongs_to_the_prompt_that_was_asked(tmp_path, scenario):
    run_on_two_ranks(serve, tmp_path, scenario)
