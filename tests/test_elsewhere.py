"""Rewards in a child of the asynchronous trainer, and in the command line of TRL."""

import asyncio
import json
from types import SimpleNamespace

import pytest
from trl.scripts import grpo

from helpers.example_rewards import brackets, rank_in_group, shared
from helpers.processes import FRESH, Forked, run_in_spawned_child
from trl_grpo_rewards import appeal, boxed, clip, demo, gate, keywords, length, pattern, route, tags


EXPRESSIONS = [
    boxed(partial=0.5) + 0.5 * boxed(name="correct"),
    tags("think") - 0.25 * tags("think", "answer", partial=True, name="form"),
    0.1 * length(12) + length(4, unit="words", name="words") + length(30, unit="chars", name="chars"),
    2 * pattern(r"\d+") + keywords(any=("so",)),
    gate(brackets() + tags("think"), by=boxed()) + clip(brackets(name="more"), high=0.5),
    route("kind", {"math": boxed()}, default=tags("think")) + shared(),
    0.5 * (brackets() + tags("think")) * boxed() - appeal(boxed(), to=brackets(), refused=True, name="appealed"),
    gate(shared(), by=boxed(), otherwise=-1.0) - 0.5 * rank_in_group(of=length(20, unit="chars")),
]

GROUP = {
    "prompts": ["4?"] * 4,
    "completions": [[{"role": "assistant", "content": text}] for text in (r"<think>[1]</think>\boxed{4}", r"so \boxed{5}", "4", "")],
    "completion_ids": [[1] * 12, [1] * 6, [1], []],
}  # fmt: skip
COLUMNS = {"solution": ["4"] * 4, "kind": ["math"] * 4}


def score_by_the_rollout_loop(reward_funcs):
    """What TRL's child process does with a finished group, by TRL's own method."""
    from accelerate import PartialState
    from trl.experimental.async_grpo.async_rollout_worker import _AsyncRolloutLoop
    from trl.trainer.utils import get_callable_name

    PartialState(cpu=True)  # as the child does, for its logger
    loop = object.__new__(_AsyncRolloutLoop)  # its constructor wants a vLLM server
    loop.reward_funcs = reward_funcs
    loop.reward_func_names = [get_callable_name(function) for function in reward_funcs]
    loop._env_reward_types, loop._provides_rollout_reward = [], False
    group = SimpleNamespace(
        prompts=GROUP["prompts"],
        completions=GROUP["completions"],
        completions_ids=GROUP["completion_ids"],
        reward_kwargs=COLUMNS,
        tool_call_counts=[0] * 4,
        tool_failure_counts=[0] * 4,
        completions_sequences=[[SimpleNamespace(input_ids=[1], completion_mask=[1], old_log_probs=[0.0])] for _ in range(4)],
        env_rewards=[None] * 4,
        rollout_rewards=[None] * 4,
        model_version=0,
        group_id=0,
    )  # fmt: skip
    samples = asyncio.run(loop._score_group(group))
    return [sample.metrics["reward"] for sample in samples]


def scored_one_by_one(values, queue):
    queue.put([score_by_the_rollout_loop([value]) for value in values])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trl.experimental.TRLExperimentalWarning")
def test_the_asynchronous_trainer_gives_every_expression_the_same_total(monkeypatch):
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    scores = run_in_spawned_child(scored_one_by_one, EXPRESSIONS, context=FRESH)
    for value, found in zip(EXPRESSIONS, scores, strict=True):
        assert found == pytest.approx(value.explain(**GROUP, **COLUMNS).totals), value


@pytest.mark.slow
def test_the_command_line_of_trl_takes_a_reward_of_the_users_module(tmp_path):
    (tmp_path / "my_rewards.py").write_text(
        "from trl_grpo_rewards import boxed, reward, tags\n\n@reward(grouped=True)\ndef shorter(completions):\n"
        "    return [-len(text) / 100 for text in completions]\n\n"
        "total = boxed() + 0.5 * tags('think') + 0.1 * shorter()\n"
    )
    (tmp_path / "data").mkdir()
    rows = demo.arithmetic(size=16).to_list()
    (tmp_path / "data" / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = "--dataset_name data --output_dir out --max_steps 2 --use_cpu True --bf16 False --report_to none"
    options += " --logging_steps 1 --max_completion_length 32 --num_generations 4 --per_device_train_batch_size 8"
    given = ("--reward_funcs", "my_rewards.total", "--model_name_or_path", demo.MODEL, *options.split())
    run = Forked(grpo.__file__, *given, cwd=tmp_path).wait()
    assert run.returncode == 0, run.stderr[-4000:]
    assert "rewards/boxed+tags+shorter/mean" in run.stdout
    assert (tmp_path / "out" / "model.safetensors").exists()
