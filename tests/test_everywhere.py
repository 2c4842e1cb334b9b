"""Every reward of the library, on every kind of completion, from every caller; and on texts made to be slow."""

import math
from types import SimpleNamespace

import pytest
from transformers import TrainerState

from helpers.every_reward import OURS, samples
from helpers.processes import run_in_spawned_child
from helpers.slow_texts import list_slow_texts
from trl_grpo_rewards import FilteredGRPOTrainer, demo
from trl_grpo_rewards.training.trainer import Sampling


def test_no_reward_is_forgotten(server):
    assert samples(server).keys() == OURS.keys()


def said(text, **more):
    return {"role": "assistant", "content": text, **more}


TEXT = "<think>2 + 2 = 4</think>so \\boxed{4} [1]\n```python\nprint(4)\n```"
ROW = {
    "solution": "4",
    "kind": "math",
    "sources": ["one"],
    "tests": '{"inputs": [""], "outputs": ["4"]}',
    "entry": '{"answer": "4", "metadata": {"source_dataset": "chain_sum"}}',
    "tool_calls": [],
    "instruction_id_list": ["punctuation:no_comma"],
}
"""All columns that the rewards ask for."""

CALLED = said("", tool_calls=[{"type": "function", "function": {"name": "add", "arguments": {"a": 2}}}])
KINDS = {
    "string": TEXT,
    "messages": [said(TEXT)],
    "tool messages": [CALLED, {"role": "tool", "name": "add", "content": "4"}, said(TEXT)],
    "a tool without an answer": [CALLED, {"role": "tool", "name": "add", "content": "4"}],
    "content parts": [said([{"type": "text", "text": TEXT[:20]}, {"type": "image"}, {"type": "text", "text": TEXT[20:]}])],
    "empty string": "",
    "empty message": [said("")],
    "no message": [],
    "None": None,
    "message of None": [said(None)],
    "parts of None": [said([{"type": "text", "text": None}])],
}  # fmt: skip
READ_CALLS = ("tool_calls", "turns")
GAME = SimpleNamespace(score=2)
WITH_TEXT = ("string", "messages", "tool messages", "content parts")


def batch(completion):
    """A group of two completions of one kind."""
    columns = {name: [value] * 2 for name, value in ROW.items()}
    rows = {"prompts": ["2 + 2?"] * 2, "completions": [completion] * 2, "completion_ids": [[1] * 5, [1] * 12]}
    return rows | columns | {"environments": [GAME] * 2}


def outcome(value, **arguments):
    """The scores, or the error that the caller sees."""
    try:
        return value(**arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def as_trl_calls(value, completion):
    hooks = {"log_extra": lambda column, values: None, "log_metric": lambda metric, number: None}
    return outcome(value, **batch(completion), **hooks, trainer_state=TrainerState(global_step=5))


def test_scores_of_a_plain_call(server):
    scores = {
        (name, kind): as_trl_calls(value, KINDS[kind]) for name, value in samples(server).items() for kind in KINDS
    }
    assert all(is_scored(found) for found in scores.values()), scores
    for name, kind in scores:
        if name in READ_CALLS and "tool" in kind:
            assert kind != "tool messages" or scores[name, kind] != scores[name, "string"]
            continue
        assert scores[name, kind] == scores[name, "string" if kind in WITH_TEXT else "None"], (name, kind)


def is_scored(found):
    return isinstance(found, list) and len(found) == 2 and all(one is None or math.isfinite(one) for one in found)


@pytest.mark.slow
def test_the_trainer_gets_the_same_scores(server, config, problems):
    values = samples(server)
    rewards = sum(values.values())
    arguments = config(num_generations=2)  # as many as `batch` has rows
    trainer = FilteredGRPOTrainer(demo.MODEL, rewards, args=arguments, train_dataset=with_columns(problems))
    trainer.state.global_step, trainer.environments = 5, [GAME] * 2
    for kind, completion in KINDS.items():
        columns = batch(completion)
        trainer._sampling = Sampling([{"prompt": "2 + 2?", **ROW} for _ in columns["completions"]])
        groups = trainer._score(
            trainer._calculate_rewards, columns["prompts"], columns["completions"], columns["completion_ids"]
        )
        by_name = dict(zip(trainer.reward_func_names, groups.rewards.flatten(0, 1).T.tolist(), strict=True))
        for value in values.values():
            plain = as_trl_calls(value, completion)
            assert by_name[value.name] == pytest.approx(
                [math.nan if one is None else one for one in plain], nan_ok=True
            ), (kind, value)


def with_columns(problems):
    for name in ROW.keys() - {*problems.column_names}:
        problems = problems.add_column(name, [ROW[name]] * len(problems))
    return problems


def outcomes(values, kinds, queue):
    queue.put([outcome(value, **batch(completion)) for value in values for completion in kinds])


@pytest.mark.slow
def test_a_spawned_child_gives_the_same_scores(server):
    values = list(samples(server).values())
    found = iter(run_in_spawned_child(outcomes, values, list(KINDS.values())))
    for value in values:
        for kind, completion in KINDS.items():
            expected = outcome(value, **batch(completion))
            assert next(found) == expected, (kind, value)
            if value.name == "schedule":
                assert (
                    "ValueError: schedule() needs the optimizer step, but this call has no 'trainer_state'" in expected
                )
            else:
                assert is_scored(expected), (kind, value, expected)


@pytest.mark.slow
def test_no_text_is_slow():
    """0.02 s is what the slowest takes on an idle machine; ten times that leaves room for a busy one."""
    assert list_slow_texts(limit=0.2) == []
