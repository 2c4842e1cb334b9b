"""The figures of tutorials on GRPO, as TRL's loss and both trainers have them."""

import math
import re

import pytest
import torch
from trl import GRPOConfig, GRPOTrainer

from helpers.paths import ROOT
from helpers.runs import get_metric
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, demo, reward
from trl_grpo_rewards.records import read_records


PAGE = (ROOT / "docs" / "coming_from.md").read_text()
TRAINERS = [(GRPOTrainer, GRPOConfig), (FilteredGRPOTrainer, FilteredGRPOConfig)]


@reward
def tutorial_rule(prompt: str, completion: str, ground_truth: str) -> float:
    """A function `(prompt, response, ground_truth)`, renamed as the page says."""
    return float(completion.endswith(ground_truth))


def pays(*script):
    def scripted(completions, **kwargs):
        return list(script)[: len(completions)]

    return scripted


def compute_loss(config, problems, classes, *, advantage=0.0, ratio=1.0, gap=0.0, **options):
    """Return the loss of one token whose probability has changed by a ratio, and whose reference is a gap away."""
    trainer_class, config_class = classes
    args = config(config_class, loss_type="grpo", **options)
    trainer = trainer_class(demo.MODEL, pays(0.0), args=args, train_dataset=problems)
    trainer.current_gradient_accumulation_steps = 1
    ids = torch.tensor([[5, 6, 7]])
    mask = torch.ones_like(ids)
    logps, *_ = trainer._get_per_token_logps_and_entropies(trainer.model, ids, mask, 1)
    logps = logps.detach()
    inputs = {
        "prompt_ids": ids[:, :2],
        "prompt_mask": mask[:, :2],
        "completion_ids": ids[:, 2:],
        "completion_mask": mask[:, 2:],
        "advantages": torch.tensor([advantage]),
        "old_per_token_logps": logps - math.log(ratio),
        "ref_per_token_logps": logps + gap,
        "num_items_in_batch": 1,
    }
    return trainer._compute_loss(trainer.model, inputs).item()


@pytest.mark.parametrize("classes", TRAINERS, ids=lambda classes: classes[0].__name__)
@pytest.mark.parametrize(
    "ratio, advantage, counted",
    [(1.8, 1.0, 1.2), (1.4, 1.0, 1.2), (0.4, 1.0, 0.4), (0.4, -1.0, 0.8), (1.8, -1.0, 1.8)],
)
def test_a_ratio_is_clipped_where_that_makes_the_objective_smaller(
    config, problems, classes, ratio, advantage, counted
):
    loss = compute_loss(config, problems, classes, advantage=advantage, ratio=ratio)
    assert loss == pytest.approx(-counted * advantage, abs=1e-5)


@pytest.mark.parametrize("classes", TRAINERS, ids=lambda classes: classes[0].__name__)
@pytest.mark.parametrize("gap", [0.0, 0.5, -0.5])
def test_the_divergence_is_k3_which_is_0_at_equality(config, problems, classes, gap):
    loss = compute_loss(config, problems, classes, gap=gap, beta=0.04)
    expected = 0.04 * (math.exp(gap) - gap - 1)
    assert loss == pytest.approx(expected, abs=1e-6) and (expected > 0) == (gap != 0)


def test_the_function_of_a_tutorial_is_a_reward_once_it_is_renamed():
    rule = tutorial_rule(ground_truth="solution")
    assert rule(prompts=["2 + 2?"] * 2, completions=["It is 4", "5"], solution=["4", "4"]) == [1.0, 0.0]


def test_trl_refuses_a_batch_of_four_with_groups_of_eight_as_the_page_says(tmp_path):
    said = re.search(r'TRL refuses: "(.*?)"', PAGE)[1]
    for cls in (GRPOConfig, FilteredGRPOConfig):
        with pytest.raises(ValueError, match=re.escape(said)):
            cls(str(tmp_path), per_device_train_batch_size=4, num_generations=8, use_cpu=True, bf16=False)


@pytest.mark.parametrize("zero_variance, computed", [("auto", 8), ("drop", 4)])
def test_with_a_kl_term_dead_groups_are_computed_unless_they_are_dropped(config, problems, zero_variance, computed):
    args = config(beta=0.04, zero_variance=zero_variance)
    trainer = FilteredGRPOTrainer(demo.MODEL, pays(1, 0, 0, 1, 1, 1, 1, 1), args=args, train_dataset=problems)
    trainer.train()
    assert get_metric(trainer, "rows_computed") == [computed] and get_metric(trainer, "dead") == [0.5]


SCRIPT = [1.0, 0.0, 0.0, 1.0, 0.9, 1.0, 1.0, 1.0]  # a group in two halves, and one with a small difference


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
@pytest.mark.parametrize("classes", TRAINERS, ids=lambda classes: classes[0].__name__)
def test_the_scale_of_advantages_and_the_deviation_that_is_logged(config, problems, classes, scale):
    trainer_class, config_class = classes
    args = config(config_class, scale_rewards=scale)
    trainer = trainer_class(demo.MODEL, pays(*SCRIPT), args=args, train_dataset=problems)
    trainer.train()
    groups = torch.tensor(SCRIPT).view(2, 4)
    whole = groups.std().item()
    std = {"group": groups.std(dim=1, keepdim=True) + 1e-4, "batch": whole + 1e-4, "none": 1.0}[scale]
    expected = ((groups - groups.mean(dim=1, keepdim=True)) / std).flatten().tolist()
    assert list(trainer._logs["advantages"]) == pytest.approx(expected, abs=1e-4)
    assert trainer.state.log_history[0]["rewards/scripted/std"] == pytest.approx(whole, abs=1e-4)
    if trainer_class is FilteredGRPOTrainer:
        recorded = [record["std"] for record in read_records(args.output_dir)]
        assert recorded == pytest.approx(groups.std(dim=1, correction=0).tolist(), abs=1e-4)


@pytest.mark.parametrize("rewards", [[1.0] * 4 + [0.0] * 4, [1.0, 0.0, 0.0, 1.0]])
def test_texts_that_divide_by_n_have_advantages_of_one(rewards):
    group = torch.tensor(rewards)
    assert {*((group - group.mean()) / group.std(correction=0)).abs().tolist()} == {1.0}


def test_a_curriculum_keeps_the_order_of_the_dataset(config, problems):
    asked = []

    def noting(prompts, completions, **kwargs):
        asked.extend(prompts[::4])
        return [float(place % 2) for place in range(len(completions))]

    args = config(shuffle_dataset=False, max_steps=3)
    FilteredGRPOTrainer(demo.MODEL, noting, args=args, train_dataset=problems).train()
    assert asked == problems["prompt"][:6]
