"""FilteredGRPOTrainer through `train()`: advantages of worked examples, metrics, and what it refuses."""

import math

import pytest
import torch
from datasets import Dataset
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer
from trl import GRPOConfig

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, boxed, demo, gate, length, reward, tags
from trl_grpo_rewards.diagnosis.signs import Signs
from trl_grpo_rewards.diagnosis.symptoms import diagnose
from trl_grpo_rewards.texts import completion_text


def scripted(*rewards):
    """A TRL reward function, one of ours where a list is given per name, that pays what the script says."""

    def function(completions, **kwargs):
        return list(rewards)[: len(completions)]

    return function


def trained(config, problems, reward_funcs, **options):
    trainer = FilteredGRPOTrainer(demo.MODEL, reward_funcs, args=config(**options), train_dataset=problems)
    trainer.train()
    return trainer


def advantages(trainer):
    return list(trainer._logs["advantages"])


def logged(trainer, name):
    return [entry[name] for entry in trainer.state.log_history if name in entry]


# Worked examples in circulation, group by group: rewards, their mean, and the advantages (r - mean) / (std + 1e-4)
# with the sample standard deviation.
WORKED = [
    ([1, 1, 1, 1, 0, 0, 0, 0], 0.5, [0.94] * 4 + [-0.94] * 4, 0.01),
    ([1, 0, 0, 1], 0.5, [0.8659, -0.8659, -0.8659, 0.8659], 5e-5),
    ([0, 0, 1, 1], 0.5, [-0.8659, -0.8659, 0.8659, 0.8659], 5e-5),
    ([1.5, 1, 0, 0], 0.625, None, None),
    ([1.5, 0, 1.5, 0, 1, 1.5, 0.5, 1.5], 0.9375, None, None),  # a chapter in circulation prints 0.875
    ([1, 1, 1, 1], 1.0, [0.0] * 4, 0.0),
    ([0.7] * 8, 0.7, [0.0] * 8, 0.0),
]


@pytest.mark.parametrize("size", [4, 8])
def test_the_worked_examples_of_the_sources(config, problems, size):
    """The examples of one size are groups of one step, and each is normalised apart."""
    examples = [example for example in WORKED if len(example[0]) == size]
    script = [reward for rewards, *_ in examples for reward in rewards]
    options = {"per_device_train_batch_size": len(script), "num_generations": size}
    trainer = trained(config, problems, scripted(*script), **options)
    assert logged(trainer, "reward") == [pytest.approx(sum(mean for _, mean, *_ in examples) / len(examples))]
    for place, (rewards, mean, expected, within) in enumerate(examples):
        found = advantages(trainer)[place * size : (place + 1) * size]
        std = torch.tensor(rewards, dtype=torch.float32).std().item()
        exact = [(r - mean) / (std + 1e-4) if max(rewards) > min(rewards) else 0.0 for r in rewards]
        assert found == pytest.approx(exact, abs=1e-4)
        if expected:
            assert found == pytest.approx(expected, abs=within)


def test_a_reward_model_stands_beside_ours_in_one_tuple(config, problems, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    shape = AutoConfig.from_pretrained(demo.MODEL, num_labels=1, pad_token_id=tokenizer.pad_token_id)
    AutoModelForSequenceClassification.from_config(shape).save_pretrained(tmp_path / "judge-of-taste")
    tokenizer.save_pretrained(tmp_path / "judge-of-taste")
    rewards = boxed(evaluated=True), str(tmp_path / "judge-of-taste")
    trainer = trained(config, problems, rewards, num_generations=8, reward_weights=[1.0, 0.5])
    ours, theirs = (trainer._logs["rewards"][name] for name in ("boxed", "judge-of-taste"))
    total = [one + 0.5 * other for one, other in zip(ours, theirs, strict=True)]
    assert {*ours} <= {0.0, 1.0} and len({*theirs}) > 2
    assert advantages(trainer) == pytest.approx(normalised(total), abs=1e-4)


def normalised(rewards):
    rewards = torch.tensor(rewards)
    return ((rewards - rewards.mean()) / (rewards.std() + 1e-4)).tolist()


def test_the_metrics_of_every_kind_of_group(config, problems, caplog):
    """Dead groups are skipped without a word."""
    nan = None
    script = [1, 1, 1.5, 1] + [1] * 4 + [0] * 4 + [0.7] * 4 + [nan, 0.5, nan, nan] + [nan] * 4
    trainer = trained(config, problems, scripted(*script), per_device_train_batch_size=24)
    metrics = {name: logged(trainer, f"groups/{name}")[0] for name in ("dead", "solved", "failed", "flat", "unscored")}
    assert metrics == pytest.approx(
        {"dead": 5 / 6, "solved": 1 / 6, "failed": 1 / 6, "flat": 1 / 6, "unscored": 2 / 6}
    )
    assert logged(trainer, "groups/spread") == [pytest.approx(0.5 / 6)]
    assert logged(trainer, "groups/rows_kept") == logged(trainer, "groups/rows_computed") == [4.0]
    assert logged(trainer, "groups/partly_scored") == [0.0]
    assert 0.0 <= logged(trainer, "groups/duplicates")[0] <= 1.0
    assert trainer.zero_variance == "skip"
    assert not [record for record in caplog.records if record.name == "trl_grpo_rewards.training.trainer"]


def test_a_sum_is_unpacked_into_functions_and_weights(config, problems):
    total = boxed(name="accuracy") + 0.5 * tags("think", name="format") - 0.25 * length(16, name="size")
    args = config(max_steps=2, max_completion_length=48)
    trainer = FilteredGRPOTrainer(demo.MODEL, total, args=args, train_dataset=problems)
    trainer.train()
    assert trainer.reward_func_names == ["accuracy", "format", "size"]
    assert trainer.reward_weights.tolist() == [1.0, 0.5, -0.25]
    assert args.reward_weights is None
    means = [logged(trainer, f"rewards/{name}/mean") for name in ("accuracy", "format", "size")]
    for step, reward_mean in enumerate(logged(trainer, "reward")):
        assert reward_mean == pytest.approx(means[0][step] + 0.5 * means[1][step] - 0.25 * means[2][step], abs=1e-5)
    shares = [logged(trainer, f"groups/signal/{name}")[0] for name in ("accuracy", "format", "size")]
    assert sum(shares) == pytest.approx(1.0)
    one = trained(config, problems, [total], max_steps=2, max_completion_length=48)  # the same as one function
    assert one.reward_func_names == ["accuracy+format+size"]
    assert advantages(one) == pytest.approx(advantages(trainer), abs=1e-5)


@reward
async def counted(completion: str) -> float:
    return float(len(completion))


@reward
def sometimes(completion: str, prompt: str) -> float | None:
    return None if "1" in completion else 1.0


@reward
def size(completion: str) -> float:
    return float(len(completion))


@reward
def ignored(completion: str) -> None:
    return None


def expected_advantages(trainer, score):
    rows = torch.tensor([score(completion_text(completion)) for completion in trainer._logs["completion"]]).view(-1, 4)
    mean = rows.nanmean(1, keepdim=True)
    count = (~rows.isnan()).sum(1, keepdim=True)
    std = (((rows - mean) ** 2).nansum(1, keepdim=True) / (count - 1)).sqrt()
    return ((rows - mean) / (std + 1e-4)).nan_to_num().flatten().tolist()


def test_a_none_beside_a_score_counts_as_zero_or_leaves_the_row_out(config, problems):
    total = size() + 10 * sometimes() + 0 * ignored()
    term = trained(config, problems, total, per_device_train_batch_size=16)
    assert advantages(term) == pytest.approx(
        expected_advantages(term, lambda text: len(text) + (0.0 if "1" in text else 10.0)), abs=1e-3
    )
    row = trained(config, problems, total, per_device_train_batch_size=16, unscored="row")
    assert advantages(row) == pytest.approx(
        expected_advantages(row, lambda text: math.nan if "1" in text else len(text) + 10.0), abs=1e-3
    )
    assert logged(term, "groups/partly_scored") == logged(row, "groups/partly_scored")
    assert 0 < logged(row, "groups/partly_scored")[0] < 1


def test_evaluation_is_not_filtered(config, problems):
    data = {"train_dataset": problems, "eval_dataset": problems.select(range(4))}
    trainer = FilteredGRPOTrainer(demo.MODEL, scripted(*[1] * 8), args=config(per_device_eval_batch_size=8), **data)
    metrics = trainer.evaluate()
    assert metrics["eval_groups/dead"] == metrics["eval_groups/solved"] == metrics["eval_reward"] == 1.0
    trainer.train()
    single = FilteredGRPOTrainer(demo.MODEL, boxed(), args=config(num_generations_eval=1), **data)
    assert "eval_groups/dead" not in single.evaluate()  # one completion is no group


@pytest.mark.skipif(not torch.accelerator.is_available(), reason="TRL's defaults (bf16) need an accelerator")
def test_without_args_the_defaults_name_the_run(problems, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    trainer = FilteredGRPOTrainer(demo.MODEL, boxed(), train_dataset=problems)
    assert trainer.args.output_dir == "model-GRPO" and trainer.zero_variance == "skip"


def test_arguments_are_checked_before_the_model_loads(config, problems):
    """The test beside each check has its other messages."""
    renamed, stream = problems.rename_column("solution", "answer"), problems.to_iterable_dataset()
    blind = {"one": problems, "two": problems.remove_columns("solution")}
    unlike = [counted(), gate(counted(name="b"), by=boxed())]
    entropy = {"zero_variance": "drop", "loss_type": "grpo", "entropy_coef": 0.1}
    for rewards, dataset, options, message in (
        ([tags("a"), boxed], problems, {}, "the reward factory 'boxed'"),
        ([boxed(), boxed(partial=0.5)], problems, {}, "Two rewards are named 'boxed'"),
        (boxed() + tags("a"), problems, {"reward_weights": [1.0, 2.0]}, "have weights, but reward_weights="),
        ("boxed()", problems, {}, r"as the id of a reward model. Write parse\('boxed\(\)'\)\.$"),
        (unlike, renamed, {}, "'boxed' needs .* found 'answer', 'prompt'"),
        (boxed(), problems, {"eval_dataset": blind}, "Reward 'boxed' needs the column 'solution'; found 'prompt'"),
        (boxed(), Dataset.from_list([]), {}, "must have at least one row; it is empty"),
        (boxed(), stream, {"zero_variance": "drop", "max_resample_rounds": 1}, "requires a dataset that can be index"),
        (boxed(), problems, {"outcome_reward": "nope"}, "must be the name of a reward; the rewards are 'boxed'"),
        (boxed(), problems, {"max_resample_rounds": 1}, "max_resample_rounds=1 leaves out groups"),
        (boxed(), problems, entropy, "cannot leave the entropy bonus to live rows"),
        (
            boxed(),
            problems,
            {"cls": OwnConfig},
            "of type FilteredGRPOConfig or GRPOConfig; got OwnConfig. Write .* or derive",
        ),
    ):
        held_out = options.pop("eval_dataset", None)
        with pytest.raises((TypeError, ValueError), match=message):
            FilteredGRPOTrainer("no/model", rewards, config(**options), dataset, held_out)


class OwnConfig(GRPOConfig):
    pass


def test_a_plain_config_trains_as_ours_with_its_defaults(config, problems):
    options = {"learning_rate": 1e-3, "max_steps": 2, "steps_per_generation": 2, "eval_strategy": "steps"}
    options |= {"load_best_model_at_end": True, "save_strategy": "steps", "eval_steps": 1, "save_steps": 1}
    losses = []
    for cls in (FilteredGRPOConfig, GRPOConfig):
        args = config(cls, **options, per_device_eval_batch_size=4)
        trainer = FilteredGRPOTrainer(demo.MODEL, boxed() + tags("think"), args, problems, problems.select(range(2)))
        trainer.train()
        assert type(args) is cls and type(trainer.args) is FilteredGRPOConfig
        losses.append(logged(trainer, "grad_norm"))
    assert losses[0] == losses[1] and any(losses[0])


def test_the_end_of_a_training_says_where_its_groups_are(config, problems, capsys):
    trainer = trained(config, problems, boxed())
    folder = trainer.args.output_dir
    said = f"The groups are in {folder}/groups. To read them, run trl-grpo-rewards report {folder}.\n"
    assert capsys.readouterr().out.endswith(said)
    trained(config, problems, boxed(), group_records=False)
    assert "groups are in" not in capsys.readouterr().out


@pytest.mark.slow
def test_the_bundled_task_is_learned(config, problems):
    trainer = trained(
        config,
        demo.arithmetic("train"),
        boxed(name="accuracy") + 0.5 * tags("think", name="format"),
        per_device_train_batch_size=64,
        num_generations=8,
        max_completion_length=64,
        max_steps=20,
        learning_rate=5e-4,
        lr_scheduler_type="constant",
    )
    accuracy = logged(trainer, "rewards/accuracy/mean")
    assert accuracy[0] < 0.45 and sum(accuracy[-4:]) / 4 > 0.65
    kept, computed = logged(trainer, "groups/rows_kept"), logged(trainer, "groups/rows_computed")
    assert kept == computed and kept[-1] < 60 < kept[0]
    warnings = diagnose(Signs(trainer.state.log_history, outcome="accuracy"))
    assert len(warnings) > 12 and not [name for name, found in warnings.items() if found and name != "slower"]
