"""Passes of the model over dead completions: none, with gradient or without, and no empty micro-batch."""

import os

import pytest
import torch
from trl import GRPOTrainer

from helpers.gradients import SGD, DropReference, Reference, difference
from helpers.marks import slow_except
from helpers.models import save_layer
from helpers.passes import live_rows, train_and_count
from helpers.reward_functions import all_dead, first_summand, half_dead, one_of_four
from helpers.runs import roll_out
from helpers.stand_in_vllm import with_vllm
from trl_grpo_rewards import FilteredGRPOTrainer
from trl_grpo_rewards.texts import completion_text


pytestmark = pytest.mark.compared
MODES = ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask")
os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"  # rollout functions


def compare(config, problems, mode=None, reference=Reference, **options):
    """Our trainer has the gradient of the reference. Return it, and the passes of both."""
    given = {"zero_variance": "drop"} if reference is DropReference else {}
    expected, theirs, all_passes = train_and_count(reference, config, problems, mode, **options)
    got, trainer, passes = train_and_count(FilteredGRPOTrainer, config, problems, mode, **given, **options)
    assert list(trainer._logs["completion"]) == list(theirs._logs["completion"])
    assert difference(got, expected) <= 1e-6
    return trainer, passes, all_passes


@pytest.mark.slow
@pytest.mark.parametrize("mode, loss_type", [*zip(MODES, ("luspo", "vespo", "grpo", "dapo"), strict=True)])
def test_gradient_with_the_correction_of_vllm_needs_no_pass_over_dead_rows(config, problems, mode, loss_type):
    trainer, passes, all_passes = compare(config, problems, mode, loss_type=loss_type)
    assert all_passes.quiet == 2 * 16 and passes.quiet == sum(live_rows(trainer)) < 2 * 16


@pytest.mark.slow
def test_gradient_with_old_log_probabilities_needs_no_pass_over_dead_rows(config, problems):
    trainer, passes, all_passes = compare(config, problems, num_iterations=2, max_steps=4, **SGD)
    assert all_passes.quiet == 2 * 16 and passes.quiet == sum(live_rows(trainer)) < 2 * 16


@pytest.mark.parametrize("mode", slow_except(["token_mask"], [None, "token_mask"]))
def test_gradient_with_a_kl_term_needs_no_pass_over_dead_rows(config, problems, mode):
    trainer, passes, all_passes = compare(config, problems, mode, DropReference, beta=0.1, **SGD)
    assert all_passes.quiet == (1 + (mode is not None)) * 2 * 16
    assert passes.quiet == (1 + (mode is not None)) * sum(live_rows(trainer))


def test_nothing_is_computed_of_a_batch_without_a_live_group(config, problems):
    _, _, passes = train_and_count(FilteredGRPOTrainer, config, problems, "token_mask", all_dead)
    assert passes.quiet == 0 and passes.calls == [1] * 2  # a filler a step, since the optimizer steps all the same


@pytest.mark.parametrize("rows, parts", [pytest.param(1, 16, marks=pytest.mark.slow), (4, 4)])
def test_gradient_takes_no_micro_batch_without_a_live_row(config, problems, rows, parts):
    options = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": parts, "max_steps": 4}
    trainer, passes, all_passes = compare(config, problems, reward=one_of_four, **options)
    assert len(all_passes.calls) == 4 * parts
    live = live_rows(trainer)
    assert len(passes.calls) <= sum(max(1, int(kept)) for kept in live) and len(passes.calls) < 2 * parts
    assert sum(passes.calls) - live.count(0) == sum(live)
    step_times = [entry["step_time"] for entry in trainer.state.log_history if "step_time" in entry]
    assert len(step_times) == 4


def said_by_the_environment(prompts, said, **kwargs):
    return [0.5 if first_summand(p) % 2 == 0 else count / 8 for p, count in zip(prompts, said, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("loss_type", ["dapo", "luspo"])
def test_gradient_with_a_rollout_function_needs_no_pass_over_dead_rows(config, problems, loss_type):
    options = {"num_iterations": 2, "max_steps": 4, "reward": said_by_the_environment, "loss_type": loss_type, **SGD}
    options |= {"learning_rate": 1e-3}  # gradients of luspo are large
    trainer, passes, all_passes = compare(config, problems, rollout_func=roll_out, **options)
    assert passes.quiet == sum(live_rows(trainer)) < all_passes.quiet == 2 * 16


def test_rewards_are_asked_once_and_the_tables_have_the_right_rows(config, problems):
    asked = []

    def measure(completion):
        return len(completion_text(completion).replace("<|unk|>", ""))  # TRL 1.14 logs texts without special tokens

    def counted(prompts, completions, log_extra, **kwargs):
        asked.append(len(prompts))
        log_extra("length", [measure(completion) for completion in completions])
        return half_dead(prompts, completions)

    _, trainer, _ = train_and_count(FilteredGRPOTrainer, config, problems, "token_mask", counted)
    assert asked == [16] * 2
    assert [measure(one) for one in trainer._logs["completion"]] == list(trainer._logs["extra"]["length"])
    ratio = [entry["sampling/importance_sampling_ratio/mean"] for entry in trainer.state.log_history[:-1]]
    drift = [entry["sampling/sampling_logp_difference/mean"] for entry in trainer.state.log_history[:-1]]
    assert all(0.5 < one < 1.5 for one in ratio) and all(0.01 < one < 0.2 for one in drift)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [None, "token_mask"])
def test_evaluation_is_that_of_trl(config, problems, mode):
    def evaluated(trainer_class):
        torch.manual_seed(0)
        data = {"train_dataset": problems, "eval_dataset": problems.select(range(6))}
        trainer = trainer_class(save_layer(), half_dead, args=config(), **data)
        trainer = with_vllm(trainer, mode) if mode else trainer
        torch.manual_seed(0)
        return {name: value for name, value in trainer.evaluate().items() if "reward" in name or "loss" in name}

    theirs, ours = evaluated(GRPOTrainer), evaluated(FilteredGRPOTrainer)
    assert ours == pytest.approx(theirs, abs=1e-6) and "eval_loss" in ours
