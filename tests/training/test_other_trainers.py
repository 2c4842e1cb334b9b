"""The same rewards in the other trainers of TRL: each trains a step, and pays what a plain call pays."""

import importlib
import itertools
import json
import os
import re
import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention


os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

import trl
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import RLOOConfig, RLOOTrainer

from helpers.local_http import Connection, run_local_server
from helpers.runs import small_config
from trl_grpo_rewards import boxed, code, column, demo, gate, instructions, reward, schedule, shortest, tags


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


def build(path, name, folder, rewards, problems, drop=(), **options):
    """Return a trainer of TRL with the bundled model, without the options of small_config that its configuration lacks."""
    module = pytest.importorskip(path)
    cls = getattr(module, f"{name}Config")
    config = small_config(folder, lambda **all: cls(**{key: all[key] for key in all if key not in drop}), **options)
    model = AutoModelForCausalLM.from_pretrained(demo.MODEL, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    return getattr(module, f"{name}Trainer")(
        model=model, reward_funcs=rewards, args=config, train_dataset=problems, processing_class=tokenizer
    )


def has_changed(trainer):
    before = AutoModelForCausalLM.from_pretrained(demo.MODEL, dtype=torch.float32).state_dict()
    after = trainer.model.state_dict()
    assert all(value.isfinite().all() for value in after.values())
    return any(not torch.equal(before[name], after[name].float()) for name in before)


@pytest.mark.parametrize("path, name", [("trl", "RLOO"), ("trl.experimental.gmpo", "GMPO")])
def test_rloo_and_variants_of_grpo_take_every_reward(tmp_path, problems, path, name):
    """Grouped ones, one that is asynchronous, and one that changes with the step."""
    rewards = REWARDS + schedule(polite(), ((0, 1.0), (9, 0.0)), name="polite") + 0.5 * witness()
    options = {"reward_weights": rewards.weights, "learning_rate": 1e-3, "max_steps": 1, "max_completion_length": 48}
    trainer = build(path, name, tmp_path, rewards.rewards, problems, **options)
    trainer.train()
    logged = {key.split("/")[1] for key in trainer.state.log_history[0] if key.startswith("rewards/")}
    assert logged == {one.name for one in rewards.rewards}
    assert has_changed(trainer)


def test_a_sum_is_one_reward_for_them(tmp_path, problems):
    trainer = build("trl", "RLOO", tmp_path, REWARDS, problems, max_completion_length=48)
    trainer.train()
    assert f"rewards/{REWARDS.name}/mean" in trainer.state.log_history[0]
    assert isinstance(trainer, RLOOTrainer) and isinstance(trainer.args, RLOOConfig)


@pytest.mark.parametrize("path, name", [("trl", "GRPO"), ("trl", "RLOO"), ("trl_grpo_rewards", "FilteredGRPO")])
def test_terms_of_a_sum_without_their_weights_are_noticed_once(tmp_path, problems, caplog, path, name):
    weighted = boxed() + 0.2 * tags("think")
    for rewards, weights, said in [(weighted, None, 1), (weighted, [1.0, 1.0], 0), (boxed() + tags("think"), None, 0)]:
        caplog.clear()
        options = {"max_steps": 2, "max_completion_length": 16, "reward_weights": weights}
        build(path, name, tmp_path, rewards.rewards, problems, **options).train()
        assert (
            sum("with the weights [1.0, 0.2], but reward_weights is not set" in one for one in caplog.messages) == said
        )


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
    trainer = build(path, name, tmp_path, PLAIN.rewards, problems.select(range(8)), drop, **options)
    trainer.train()
    assert SEEN and has_changed(trainer)
    completions, solutions = SEEN[-1]
    assert len(completions) == len(solutions) and isinstance(completions[0], list | str)


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

    def answer(connection: Connection) -> None:
        if not connection.body:  # TRL asks for the health and for the model
            return connection.send({"data": [{"id": demo.MODEL, "max_model_len": 1024}]})
        prompt = tokenizer.decode(json.loads(connection.body)["prompt"])
        a, b = map(int, re.search(r"What is (\d+) \+ (\d+)", prompt).groups())
        ids = tokenizer(f"<think>.</think>\\boxed{{{a + b if next(count) % 2 else 0}}}").input_ids
        ids.append(tokenizer.eos_token_id)
        connection.send({"choices": [{"token_ids": ids, "logprobs": {"token_logprobs": [-0.5] * len(ids)}}]})

    with run_local_server(answer) as server:
        yield server.url


def attend_one_by_one(query, key, value, starts_q, starts_k, longest_q, longest_k, softmax_scale=None, **options):
    """
    Compute causal attention over packed sequences, with queries and keys aligned at their ends. Tensors have the
    shape (tokens, heads, size).
    """
    outputs = []
    ends = zip(starts_q.tolist(), starts_q.tolist()[1:], starts_k.tolist(), starts_k.tolist()[1:], strict=False)
    for start_q, end_q, start_k, end_k in ends:
        parts = query[start_q:end_q], key[start_k:end_k], value[start_k:end_k]
        behind = (end_k - start_k) - (end_q - start_q)
        mask = torch.ones(end_q - start_q, end_k - start_k).tril(behind).bool()
        heads_first = (part.transpose(0, 1)[None] for part in parts)
        out = scaled_dot_product_attention(*heads_first, mask, scale=softmax_scale, enable_gqa=True)
        outputs.append(out[0].transpose(0, 1))
    return torch.cat(outputs)


def load_asynchronous_trainer() -> list[ModuleType]:
    """Return the modules of TRL's asynchronous trainer. Only TRL 1.14, which has other attention, is skipped."""
    if hasattr(trl, "AsyncGRPOTrainer"):  # stable from TRL 1.18 on, in a module of its own
        return [trl, sys.modules[trl.AsyncGRPOTrainer.__module__]]
    if trl.__version__.startswith("1.14."):
        pytest.skip("TRL 1.14 has other attention")
    names = ("async_grpo_config", "async_grpo_trainer", "async_rollout_worker", "packing")
    return [importlib.import_module(f"trl.experimental.async_grpo.{name}") for name in names]


def find_name(modules: list[ModuleType], name: str):
    return next(getattr(module, name) for module in modules if hasattr(module, name))


@pytest.mark.slow
def test_the_asynchronous_trainer_trains_on_a_sum_and_on_criteria_of_rows(
    tmp_path, problems, server, chat_server, monkeypatch
):
    """Every second row asks for the digit 0. The scripted judge grants the criterion that ends with the right answer."""
    modules = load_asynchronous_trainer()
    config_class, trainer_class = (find_name(modules, f"AsyncGRPO{kind}") for kind in ("Config", "Trainer"))
    # vLLM is not installed here, TRL asks CUDA for the peak speed, and its packed attention is a GPU kernel that it downloads.
    attention = SimpleNamespace(flash_attn_varlen_func=attend_one_by_one)
    replaced = {
        "is_vllm_available": lambda *args, **kwargs: True,
        "get_peak_flops_per_device": lambda accelerator, dtype: None,
        "_flash_attn": lambda: attention,
    }
    for module, (name, value) in itertools.product(modules, replaced.items()):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, value)
    args = config_class(
        str(tmp_path), use_cpu=True, bf16=False, dtype="float32", gradient_checkpointing=False, num_generations=4,
        per_device_train_batch_size=8, gradient_accumulation_steps=1, max_completion_length=32, max_steps=2,
        learning_rate=1e-3, logging_steps=1, save_strategy="no", report_to="none", disable_tqdm=True,
        vllm_server_base_url=server, weight_sync_steps=1, max_inflight_tasks=8,
    )  # fmt: skip
    rewards = boxed() + 0.2 * tags("think") + 0.1 * shortest(boxed()) + ran()
    chat_server()
    graded = [instructions(), chat_server.judge(rubric=column("rubric"))]
    wanted = [[{"keywords": ["boxed{0}" if row % 2 else "boxed"]}] for row in range(len(problems))]
    rubrics = [[{"criterion": f"Says {answer}", "points": 3}, f"Not {answer}."] for answer in problems["solution"]]
    columns = {
        "instruction_id_list": [["keywords:existence"]] * len(problems), "kwargs": wanted, "rubric": [*map(json.dumps, rubrics)]
    }  # fmt: skip
    for name, values in columns.items():
        problems = problems.add_column(name, values)
    transfer = NoTransfer()
    trainer = trainer_class(
        demo.MODEL, reward_funcs=[rewards, *graded], args=args, train_dataset=problems, weight_transfer=transfer
    )
    trainer.train()
    history = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert len(history) == 2 and transfer.sent > 0 and has_changed(trainer)
    for entry in history:
        assert 1.2 <= entry[f"rewards/{rewards.name}"] <= 2.25
        assert 0.5 < entry["rewards/instructions"] < 1 and 0 < entry["rewards/judge"] < 1
