"""A witness, which is a term of weight 0: what it scores, that it trains nothing, and when it warns."""

import logging
import math
from zlib import crc32

import pytest
import torch
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from helpers.runs import get_metric, small_config, train_and_read
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, Reward, boxed, clip, demo, reward
from trl_grpo_rewards.records.dead_groups import Rule
from trl_grpo_rewards.records.files import read_records
from trl_grpo_rewards.report.summaries import Summary
from trl_grpo_rewards.texts import completion_text
from trl_grpo_rewards.training.alarms import Alarm
from trl_grpo_rewards.training.groups import build_groups


@reward
def paid(completion: str, *, nones: int = 0) -> float | None:
    """A score by chance, or None for so many of three completions."""
    drawn = crc32(completion.encode())
    return None if drawn % 3 < nones else drawn % 7 / 7


@reward
async def grown(completion: str) -> float:
    return len(completion) / 10


@reward(grouped=True)
def placed(completions: list[str]) -> list[float]:
    return [sorted(completions).index(one) for one in completions]


def seen_in_text(completions, **columns):
    return [len(completion_text(one)) for one in completions]


def train_weights(cls, args, rewards, problems):
    if cls is GRPOTrainer and isinstance(rewards, Reward):
        args.reward_weights, rewards = rewards.weights, rewards.rewards
    trainer = cls(demo.MODEL, rewards, args=args, train_dataset=problems, eval_dataset=problems.select(range(2)))
    trainer.train()
    return trainer, [*trainer.model.state_dict().values()]


@pytest.mark.parametrize(
    ("cls", "nones", "options"),
    [
        (GRPOTrainer, 0, {}),
        (FilteredGRPOTrainer, 1, {}),
        (FilteredGRPOTrainer, 1, {"multi_objective_aggregation": "normalize_then_sum"}),
    ],
)
def test_it_is_logged_and_trains_nothing(config, problems, cls, nones, options):
    """In our trainer, it also scores completions that no other term scores, and these stay unscored."""
    options = {"max_steps": 2, "learning_rate": 1e-3, "per_device_eval_batch_size": 8, **options}
    kind, trained = GRPOConfig if cls is GRPOTrainer else FilteredGRPOConfig, paid(nones=nones)
    _, alone = train_weights(cls, config(kind, **options), trained, problems)
    args = config(kind, **options)
    watched, weights = train_weights(cls, args, trained + 0 * grown() + 0 * placed(), problems)
    assert all(map(torch.equal, alone, weights))
    watched.evaluate()
    for name, count in (("rewards/{}/mean", 2), ("eval_rewards/{}/mean", 1)):
        for term in ("grown", "placed"):
            assert sum(entry.get(name.format(term), 0) > 0 for entry in watched.state.log_history) == count
    if cls is FilteredGRPOTrainer:
        for one in read_records(args.output_dir):
            scores, texts = one["rewards"], map(completion_text, one["completions"])
            lengths = [
                None if score is None else pytest.approx(len(text) / 10)
                for score, text in zip(scores["paid"], texts, strict=True)
            ]
            assert one["total"] == scores["paid"] and scores["grown"] == lengths
        assert get_metric(watched, "partly_scored")[0] == 0


@pytest.mark.filterwarnings("ignore:All reward functions returned None")
def test_a_completion_that_only_it_scores_is_unscored(config, problems):
    for rewards, options in (
        (paid(nones=3) + 0 * grown(), {}),
        ([paid(nones=3), seen_in_text], {"reward_weights": [1.0, 0.0]}),
    ):
        trainer, records = train_and_read(config, problems, rewards, **options)
        assert get_metric(trainer, "unscored") == [1.0] and trainer.state.log_history[0]["reward"] is None
        assert all(one["total"] == [None] * 4 and one["advantages"] == [0.0] * 4 for one in records)


def observe(alarm, step, *rows, weights=(1.0, 0.0, 0.0)):
    rewards = torch.tensor(rows)
    names = ["paid", "seen", "other"]
    groups = build_groups(rewards, torch.arange(len(rows)), len(rows), names, torch.tensor(weights), Rule("paid"))
    return alarm.observe(step, groups)


def test_an_alarm_names_each_witness_and_the_step_once(caplog):
    alarm, logged = Alarm(FilteredGRPOConfig("unused", bf16=False), {}, Rule("paid"), {}), {}
    nan = math.nan
    with caplog.at_level(logging.WARNING):
        for step in range(1, 71):
            high, other = 0.9 if step > 30 else 0.2, nan if step < 20 else 0.5
            logged[step] = observe(
                alarm, step, (high, 0.4, nan), (high - 0.1 * (step % 2), 0.3, other), (nan, 9.0, 9.0)
            )
            observe(alarm, step, (nan, step, step))
    said = [one.getMessage() for one in caplog.records]
    assert len(said) == 2 and not any(logged[step] for step in range(1, 31))
    for name, text in zip(("seen", "other"), said, strict=True):
        assert text.startswith(f"The total parts from '{name}', which has weight 0, at about step")
    (since,) = {*map(tuple, (one.values() for one in logged.values() if one))}
    assert 25 <= since[0] <= 35 and f"step {since[0]}: until step 3" in said[0]


def test_a_term_that_trains_raises_no_alarm(caplog):
    alarm = Alarm(FilteredGRPOConfig("unused", bf16=False), {}, Rule("paid"), {})
    for step in range(1, 61):
        high = 0.9 if step > 30 else 0.2 + 0.01 * (step % 2)
        assert not observe(alarm, step, (high, 0.4, high), weights=(1.0, 1e-9, 0.0))
    assert not caplog.records


@reward
def fooled(completion: str, trainer_state) -> float:
    """A verifier with a hole: from step 21 on, it pays any box with a 1 in it."""
    return float(trainer_state.global_step >= 20 and "1" in completion.rpartition("boxed{")[2])


class StopWhenNamed(TrainerCallback):
    def on_log(self, args, state, control, logs, **kwargs):
        control.should_training_stop |= "groups/parted" in logs


@pytest.mark.slow
def test_a_planted_exploit_is_named_within_20_steps(tmp_path):
    """The model learns to write a 1. The reward says that it improves; the witness says that it does not."""
    args = small_config(
        tmp_path,
        max_steps=40,
        learning_rate=1e-3,
        max_grad_norm=1.0,
        per_device_train_batch_size=32,
        num_generations=8,
        max_completion_length=40,
        seed=1,
        lr_scheduler_type="constant",
    )
    rewards = clip(boxed() + fooled(), high=1, name="checked") + 0 * boxed()
    problems = demo.arithmetic("train", size=512)
    trainer = FilteredGRPOTrainer(demo.MODEL, rewards, args, problems, callbacks=[StopWhenNamed()])
    trainer.train()
    parted = [entry for entry in trainer.state.log_history if "groups/parted" in entry]
    assert parted[0]["step"] <= 40 and abs(parted[0]["groups/parted"] - 21) <= 10
    page = Summary(args.output_dir).describe()
    (warning,) = (one for one in page["anomalies"] if one["title"] == "The total reward rises while boxed does not")
    assert f"at about step {parted[0]['groups/parted']:.0f}." in warning["details"] and "checked" in warning["details"]
