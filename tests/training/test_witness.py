"""A witness, which is a term of weight 0: what it scores, and that it trains nothing."""

from zlib import crc32

import pytest
import torch
from trl import GRPOConfig, GRPOTrainer

from helpers.runs import get_metric, train_and_read
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, Reward, demo, reward
from trl_grpo_rewards.records.files import read_records
from trl_grpo_rewards.texts import completion_text


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
