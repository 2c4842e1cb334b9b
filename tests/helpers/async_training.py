"""TRL's asynchronous trainer on a CPU, with a server that completes as its caller says in place of vLLM."""

import importlib.util
import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from transformers import AutoTokenizer

from helpers.local_http import Connection, LocalServer, run_local_server
from helpers.paths import TESTS
from trl_grpo_rewards import demo


class NoTransfer:
    """Sends no weights to the server."""

    def init_weight_transfer(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def destroy(self) -> None: ...

    def send_weights(self, iterator: Any) -> None:
        for _ in iterator:
            pass


def run_completion_server(complete: Callable[[int, int], str]) -> AbstractContextManager[LocalServer]:
    """Run a server that answers vLLM's `/v1/completions`. `complete` gets the two numbers of a `demo.arithmetic` problem."""
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)

    def answer(connection: Connection) -> None:
        if not connection.body:  # TRL asks for the health and for the model
            return connection.send({"data": [{"id": demo.MODEL, "max_model_len": 1024}]})
        prompt = tokenizer.decode(json.loads(connection.body)["prompt"])
        ids = tokenizer(complete(*read_numbers(prompt))).input_ids + [tokenizer.eos_token_id]
        connection.send({"choices": [{"token_ids": ids, "logprobs": {"token_logprobs": [-0.5] * len(ids)}}]})

    return run_local_server(answer)


def read_numbers(prompt: str) -> tuple[int, int]:
    """Return the two numbers of a `demo.arithmetic` problem."""
    first, second = re.search(r"What is (\d+) \+ (\d+)", prompt).groups()
    return int(first), int(second)


def use_cpu() -> None:
    """Replace what TRL's asynchronous trainer computes on GPUs only, as tests/engines does, until the process ends."""
    from trl.experimental.async_grpo import async_rollout_worker

    spec = importlib.util.spec_from_file_location("engine_patches", TESTS / "engines" / "patches.py")
    patches = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(patches)
    patches.run_asynchronous_trainer_on_cpu()
    async_rollout_worker.is_vllm_available = lambda: True  # the worker asks, and speaks HTTP only
