"""The same rewards in the other trainers of TRL: each trains a step, and pays what a plain call pays."""

import importlib
import importlib.util
import json
import os
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch


os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import RLOOConfig, RLOOTrainer

from helpers.paths import TESTS
from helpers.runs import small_config
from trl_grpo_rewards import boxed, code, demo, gate, reward, schedule, shortest, tags


SEEN: list = []


@reward(batched=True)
def witness(prompts: list, completions: list, solution: list) -> list[float]:
    """Notes what it gets. Its scores differ, so that there is something to learn."""
    SEEN.append((completions, solution))
    return [index % 2 for index in range(len(completions))]


@reward
async def polite(completion: str) -> float:
    return float("please" in completion)


@reward(batched=True)
async def ran(completions: list) -> list[float]:
    """Runs a program for each completion."""
    programs = ["```python\nprint(input())\n```"] * len(completions)
    return [
        float(score)
        for score in await code()(completions=programs, tests=[{"inputs": ["1"], "outputs": ["1"]}] * len(programs))
    ]


REWARDS = boxed() + 0.2 * tags("think") + 0.5 * gate(shortest(boxed()), by=tags("think"))
PLAIN = boxed(name="accuracy") + 0.5 * witness()


def build(path, name, folder, rewards, problems, model=demo.MODEL, **options):
    """Return a trainer of TRL with the bundled model."""
    module = pytest.importorskip(path)
    config = small_config(folder, getattr(module, f"{name}Config"), **options)
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    return getattr(module, f"{name}Trainer")(
        model, reward_funcs=rewards, args=config, train_dataset=problems, processing_class=tokenizer
    )


def has_changed(trainer):
    before = AutoModelForCausalLM.from_pretrained(demo.MODEL, dtype=torch.float32).state_dict()
    after = trainer.model.state_dict()
    assert all(value.isfinite().all() for value in after.values())
    return any(not torch.equal(before[name], after[name].float()) for name in before)


@pytest.mark.parametrize("path, name", [("trl", "RLOO"), ("trl.experimental.gmpo", "GMPO")])
@pytest.mark.parametrize(
    "rewards",
    [REWARDS, REWARDS + schedule(polite(), ((0, 1.0), (9, 0.0)), name="polite") + 0.5 * witness()],
    ids=["grouped", "asynchronous, by step"],
)
def test_rloo_and_variants_of_grpo_take_every_reward(tmp_path, problems, path, name, rewards):
    options = {"reward_weights": rewards.weights, "learning_rate": 1e-3, "max_steps": 1, "max_completion_length": 48}
    trainer = build(path, name, tmp_path, rewards.rewards, problems, **options)
    trainer.train()
    logged = {key.split("/")[1] for key in trainer.state.log_history[0] if key.startswith("rewards/")}
    assert logged == {one.name for one in rewards.rewards}
    assert "polite" not in logged or has_changed(trainer)


def test_a_sum_is_one_reward_for_them(tmp_path, problems):
    trainer = build("trl", "RLOO", tmp_path, REWARDS, problems, max_completion_length=48)
    trainer.train()
    assert f"rewards/{REWARDS.name}/mean" in trainer.state.log_history[0]
    assert isinstance(trainer, RLOOTrainer) and isinstance(trainer.args, RLOOConfig)


PLAIN_TRAINERS = {
    "SDPO": ("trl.experimental.sdpo", {"num_generations": 4, "success_reward_threshold": 0.4}),
    "OnlineDPO": ("trl.experimental.online_dpo", {"num_generations": None, "max_new_tokens": 16, "missing_eos_penalty": None}),
    "A2PO": ("trl.experimental.a2po", {"num_generations": None, "num_value_samples": 2, "filter_all_incorrect": False}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN_TRAINERS)
def test_trainers_that_only_call_functions_take_rewards_that_are_not_asynchronous(tmp_path, problems, name):
    path, own = PLAIN_TRAINERS[name]
    SEEN.clear()
    options = {"learning_rate": 1e-3, "max_steps": 1, "reward_weights": PLAIN.weights, **own}
    drop = {key for key, value in options.items() if value is None}
    drop |= {"num_generations", "max_completion_length", "max_grad_norm"} - {*own} if name != "SDPO" else set()
    trainer = build_without(drop, path, name, tmp_path, PLAIN.rewards, problems.select(range(8)), **options)
    trainer.train()
    assert SEEN and has_changed(trainer)
    completions, solutions = SEEN[-1]
    assert len(completions) == len(solutions) and isinstance(completions[0], list | str)


def build_without(drop, path, name, folder, rewards, problems, **options):
    """As [`build`], without some of the options of small_config that a configuration lacks."""
    module = pytest.importorskip(path)
    cls = getattr(module, f"{name}Config")
    config = small_config(folder, lambda **all: cls(**{key: all[key] for key in all if key not in drop}), **options)
    model = AutoModelForCausalLM.from_pretrained(demo.MODEL, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    return getattr(module, f"{name}Trainer")(
        model=model, reward_funcs=rewards, args=config, train_dataset=problems, processing_class=tokenizer
    )


# --- the asynchronous trainer


class NoTransfer:
    """The sender of weights to a vLLM server. The scripted server has no weights."""

    sent = 0

    def send_weights(self, iterator) -> None:
        self.sent += len([*iterator])

    def nothing(self) -> None:
        pass

    init_weight_transfer = pause = resume = destroy = nothing


@pytest.fixture
def server():
    """Speaks vLLM's protocol: every second answer is right."""
    tokenizer, count = AutoTokenizer.from_pretrained(demo.MODEL), iter(range(10**6))

    class Handler(BaseHTTPRequestHandler):
        def reply(self, value):
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.reply({"data": [{"id": demo.MODEL, "max_model_len": 1024}]})

        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            a, b = map(int, re.search(r"What is (\d+) \+ (\d+)", tokenizer.decode(request["prompt"])).groups())
            ids = tokenizer(f"<think>.</think>\\boxed{{{a + b if next(count) % 2 else 0}}}").input_ids
            ids.append(tokenizer.eos_token_id)
            self.reply({"choices": [{"token_ids": ids, "logprobs": {"token_logprobs": [-0.5] * len(ids)}}]})

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def load_patches():
    """What tests/engines replaces in TRL so that its asynchronous trainer runs on a CPU."""
    spec = importlib.util.spec_from_file_location("engine_patches", TESTS / "engines" / "patches.py")
    patches = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(patches)
    return patches


@pytest.mark.slow
def test_the_asynchronous_trainer_trains_on_a_sum(tmp_path, problems, server, monkeypatch):
    packing = pytest.importorskip("trl.experimental.async_grpo.packing", reason="TRL 1.14 has other attention")
    from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer, async_grpo_trainer, async_rollout_worker

    for module in (async_rollout_worker, async_grpo_trainer):
        if hasattr(module, "is_vllm_available"):
            monkeypatch.setattr(module, "is_vllm_available", lambda *args, **kwargs: True)
    monkeypatch.setattr(async_grpo_trainer, "get_peak_flops_per_device", None)  # undone at the end, as is the next one
    monkeypatch.setattr(packing, "_flash_attn", None)
    load_patches().run_asynchronous_trainer_on_cpu()
    args = AsyncGRPOConfig(
        str(tmp_path), use_cpu=True, bf16=False, dtype="float32", gradient_checkpointing=False, num_generations=4,
        per_device_train_batch_size=8, gradient_accumulation_steps=1, max_completion_length=32, max_steps=2,
        learning_rate=1e-3, logging_steps=1, save_strategy="no", report_to="none", disable_tqdm=True,
        vllm_server_base_url=server, weight_sync_steps=1, max_inflight_tasks=8,
    )  # fmt: skip
    rewards = boxed() + 0.2 * tags("think") + 0.1 * shortest(boxed()) + ran()
    transfer = NoTransfer()
    trainer = AsyncGRPOTrainer(
        demo.MODEL, reward_funcs=rewards, args=args, train_dataset=problems, weight_transfer=transfer
    )
    trainer.train()
    history = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert len(history) == 2 and transfer.sent > 0 and has_changed(trainer)
    assert all(1.2 <= entry["reward"] <= 2.25 for entry in history)
