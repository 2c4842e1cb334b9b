"""The best checkpoint is that of the outcome on held-out problems, and a metric that no reward has is refused."""

import pytest
from transformers import EarlyStoppingCallback, TrainerCallback

from helpers.agents import TOKENIZER, Solved
from helpers.models import save_layer
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, length, reward, tags
from trl_grpo_rewards.records.runs import read_run


EACH_STEP = {"eval_strategy": "steps", "eval_steps": 1, "save_strategy": "steps", "save_steps": 1}
BEST = EACH_STEP | {"load_best_model_at_end": True}
HELD_OUT = demo.arithmetic("test", size=2)
SCORES = {}


@reward(batched=True, outcome=True)
def foreseen(completions: list, trainer_state, log_metric) -> list[float | None]:
    """The score that is foreseen for this step."""
    log_metric("seen", 1.0)
    return [SCORES.get(trainer_state.global_step)] * len(completions)


def plain(completions, log_metric, **kwargs):
    log_metric("plain", 1.0)
    return [0.0] * len(completions)


@pytest.fixture
def train(config, problems):
    def run(rewards, callbacks=(), held_out=HELD_OUT, later=None, model=None, first=False, **options):
        args = config(max_completion_length=4, **options)
        kwargs = {"callbacks": [*callbacks]}
        if rewards is None:
            kwargs |= {"environment_factory": Solved, "processing_class": TOKENIZER}
        trainer = FilteredGRPOTrainer(model or save_layer(), rewards, args, problems, held_out, **kwargs)
        if later:
            trainer.add_callback(later)
        if first:
            trainer.evaluate()
        trainer.train()
        return trainer, args

    return run


def test_the_best_checkpoint_has_the_highest_outcome_and_early_stopping_follows_it(train, monkeypatch, caplog):
    monkeypatch.setattr(f"{__name__}.SCORES", {1: 0.25, 2: 0.75, 4: 0.5, 5: 0.5})  # nothing is scored in the third
    trainer, args = train(length(4) + foreseen(), [EarlyStoppingCallback(2)], max_steps=8, **BEST)
    state = trainer.state
    assert trainer.args.metric_for_best_model == "eval_rewards/foreseen/mean" and trainer.args.greater_is_better
    assert (state.best_metric, state.best_global_step, state.global_step) == (0.75, 2, 5)
    assert state.best_model_checkpoint == f"{args.output_dir}/checkpoint-2"
    assert read_run(args.output_dir)["options"]["metric_for_best_model"] == "eval_rewards/foreseen/mean"
    assert args.metric_for_best_model == "eval_reward"  # for the next trainer
    (said,) = (text for text in caplog.messages if text.startswith("metric_for_best_model"))
    assert "is not set: the best checkpoint is the one with the highest eval_rewards/foreseen/mean. TRL would" in said


CHOSEN = {
    "the first outcome": (tags("a") + boxed() + foreseen(), {}, "eval_rewards/boxed/mean"),
    "an outcome of weight 0": (tags("a") + 0 * boxed(), {}, "eval_rewards/boxed/mean"),
    "the one that is named": ([boxed(), plain], {"outcome_reward": "plain"}, "eval_rewards/plain/mean"),
    "the total if no reward is an outcome": (-1 * length(4) + tags("a"), {}, "eval_reward"),
    "an environment's": (None, {}, "eval_rewards/Solved/mean"),
}


@pytest.mark.parametrize("case", CHOSEN)
def test_the_metric_is_the_outcome_as_far_as_there_is_one(train, case):
    rewards, options, metric = CHOSEN[case]
    trainer, _ = train(rewards, **BEST, **options)
    assert trainer.args.metric_for_best_model == metric and trainer.args.greater_is_better
    assert any(metric in entry for entry in trainer.state.log_history)


ASKED = {
    "load": BEST,
    "save": EACH_STEP | {"save_strategy": "best"},
    "stop": EACH_STEP | {"callbacks": [EarlyStoppingCallback()]},
    "stop, a class": EACH_STEP | {"callbacks": [EarlyStoppingCallback]},
    "stop, added later": EACH_STEP | {"later": EarlyStoppingCallback()},
    "stop, evaluated first": EACH_STEP | {"first": True, "callbacks": [EarlyStoppingCallback()]},
    "stop, without checkpoints": EACH_STEP | {"save_strategy": "no", "callbacks": [EarlyStoppingCallback()]},
}
NOT_ASKED = {
    "nothing": (EACH_STEP, None),
    "a metric is named": (BEST | {"metric_for_best_model": "reward"}, "reward"),
    "the loss is named": (BEST | {"metric_for_best_model": "loss"}, "loss"),
    "low is better": (BEST | {"greater_is_better": False}, "loss"),
    "a schedule follows it": (BEST | {"lr_scheduler_type": "reduce_lr_on_plateau"}, "loss"),
}
"""Options, and the metric, which TRL's trainer has as well."""


@pytest.mark.parametrize("case", [*ASKED, *NOT_ASKED])
def test_the_metric_is_chosen_where_one_is_needed_and_none_is_named(train, case, caplog):
    options, metric = NOT_ASKED.get(case) or (ASKED[case], "eval_rewards/boxed/mean")
    trainer, _ = train(boxed(), **options)
    assert trainer.args.metric_for_best_model == metric
    assert sum("metric_for_best_model is not set" in text for text in caplog.messages) == (case in ASKED)


SETS = {"one": HELD_OUT, "sets": {"easy": HELD_OUT, "hard": HELD_OUT}}


@pytest.mark.parametrize("kind", SETS)
def test_every_metric_of_an_evaluation_can_be_named_and_of_rewards_no_other(train, monkeypatch, kind):
    monkeypatch.setattr(f"{__name__}.SCORES", {1: 0.5})
    rewards, sets = [foreseen(), plain, boxed()], SETS[kind]
    trainer, _ = train(rewards, held_out=sets, **EACH_STEP)
    logged = {name for entry in trainer.state.log_history for name in entry if name.startswith("eval_")}
    assert len(logged) > 30 and logged >= {"eval_plain", "eval_foreseen/seen", "eval_groups/dead", "eval_entropy"}

    def name(metric, rewards=rewards):
        return train(rewards, held_out=sets, model="/nothing", metric_for_best_model=metric, **BEST)

    for metric in logged | {one.removeprefix("eval_") for one in logged}:
        with pytest.raises(OSError, match="nothing"):  # the model would load
            name(metric)
    wrong = ["eval_rewards/boxed", "rewards/boxd/mean", "eval_rewards/boxed/max", *(["eval_loss"] * (kind == "sets"))]
    losses = "eval_easy_loss, eval_hard_loss" if kind == "sets" else "eval_loss"
    for metric, given in [*((metric, rewards) for metric in wrong), ("boxed", boxed() + tags("a"))]:
        with pytest.raises(ValueError, match=f"got '{metric}'. Set it to one of .* eval_reward, {losses}"):
            name(metric, given)


class Accuracy(TrainerCallback):
    def on_evaluate(self, args, state, control, metrics, **kwargs):
        metrics["eval_accuracy"] = 0.5


def test_a_word_that_nothing_logs_is_refused_before_the_first_step(train):
    best = BEST | {"metric_for_best_model": "accuracy"}
    with pytest.raises(ValueError, match="got 'accuracy'. Set it to one of eval_rewards/boxed/mean, eval_rew"):
        train(boxed() + tags("a"), **best)
    trainer, _ = train(boxed(), callbacks=[Accuracy()], **best)
    assert trainer.state.best_metric == 0.5


def test_names_of_rewards_that_are_not_known_are_checked_when_training_begins(train):
    with pytest.raises(
        ValueError, match="got 'rewards/Solve/mean'. Set it to one of eval_rewards/Solved/mean, eval_rew"
    ):
        train(None, metric_for_best_model="rewards/Solve/mean", **BEST)


@pytest.mark.parametrize("options", [BEST | {"model": "/nothing"}, ASKED["stop"]])
def test_with_several_evaluation_sets_the_metric_must_be_named(train, options):
    said = r"must be named, .* keeps those of the last set \('hard'\). Set it to one of .* eval_easy_loss, eval_hard_loss, or"
    with pytest.raises(ValueError, match=said):
        train(boxed(), held_out=SETS["sets"], **options)
