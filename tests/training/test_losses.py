"""A loss without a gradient, steps without a live token, and what TRL gathers of a micro-batch."""

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from trl import GRPOTrainer

from helpers.gradients import SGD, compare_skip, train_for_gradients
from helpers.models import load_layer
from helpers.ranks import on_two_ranks, trainer_of
from helpers.reward_functions import half_dead
from trl_grpo_rewards import FilteredGRPOTrainer
from trl_grpo_rewards.diagnosis.signs import Signs
from trl_grpo_rewards.diagnosis.symptoms import diagnose


TRAINERS = GRPOTrainer, FilteredGRPOTrainer
STEPS = {"max_steps": 2, "gradient_accumulation_steps": 4}


def unused(prompts, **kwargs):
    raise AssertionError("a completion was sampled")


def freeze():
    return load_layer().requires_grad_(False)


def load_adapter(folder):
    get_peft_model(load_layer(), LoraConfig(r=2, target_modules=["q_proj"])).save_pretrained(folder)
    return PeftModel.from_pretrained(load_layer(), folder)  # is_trainable=False by default


@pytest.mark.parametrize("trainer", TRAINERS)
def test_a_loss_without_a_gradient_stops_the_run(trainer, config, problems):
    model = load_layer()
    model.lm_head.requires_grad_(False)
    model.model.forward = torch.no_grad()(model.model.forward)
    with pytest.raises(RuntimeError, match="does not require grad"):
        train_for_gradients(trainer, config, problems, [half_dead], model=model, **STEPS)


@pytest.mark.parametrize("beta", [0.0, 0.1])
@pytest.mark.parametrize("made", ["frozen", "adapter", "own"])
def test_an_optimizer_without_a_parameter_is_one_sentence_before_the_first_step(
    made, beta, config, problems, tmp_path
):
    model = {"frozen": freeze, "adapter": lambda: load_adapter(tmp_path / "adapter"), "own": load_layer}[made]()
    optimizer = torch.optim.SGD([{"params": []}], lr=0.1) if made == "own" else None
    args = config(beta=beta, **STEPS)
    trainer = FilteredGRPOTrainer(model, unused, args, problems, optimizers=(optimizer, None))
    with pytest.raises(ValueError, match="needs weights to train, but the optimizer has no parameter.*Unfreeze"):
        trainer.train()


def fading(completion_ids, trainer_state, **kwargs):
    """Groups are live in the first two of four steps."""
    return [sum(ids) % 1009 * (trainer_state.global_step % 4 < 2) for ids in completion_ids]


def dies(completion_ids, trainer_state, **kwargs):
    return [sum(ids) % 1009 * (trainer_state.global_step < 12) for ids in completion_ids]


TOKENS = {"grpo": "clip_ratio/region_mean", "cispo": "cispo_clip_ratio", "vespo": "vespo/phi_seq_mean"}
FADING = {"max_steps": 8, "gradient_accumulation_steps": 1, **SGD}


def train_and_log(config, problems, reward, **options):
    trainer = train_for_gradients(FilteredGRPOTrainer, config, problems, [reward], **{**FADING, **options})[1]
    return [entry for entry in trainer.state.log_history if "reward" in entry]


@pytest.mark.parametrize("loss_type, level", [*((one, "token") for one in TOKENS), ("grpo", "sequence")])
def test_a_step_without_a_live_token_logs_no_mean_over_tokens(loss_type, level, config, problems):
    names = ["entropy", TOKENS[loss_type], *["clip_ratio/low_min", "clip_ratio/high_max"] * (loss_type == "grpo")]
    options = {"zero_variance": "drop", "beta": 0.1} if loss_type == "grpo" else {}
    options["importance_sampling_level"] = level
    log = train_and_log(config, problems, fading, loss_type=loss_type, **options)
    assert [entry["groups/dead"] for entry in log] == [0, 0, 1, 1] * 2
    for name in names + ["kl"] * ("beta" in options):
        assert [entry[name] is None for entry in log] == [False, False, True, True] * 2, name
    assert all(entry["entropy"] > 0 for entry in log[:2] + log[4:6])


def test_a_log_of_several_steps_has_the_mean_of_the_live_ones(config, problems):
    single, several = (train_and_log(config, problems, fading, logging_steps=steps) for steps in (1, 4))
    entropies = [entry["entropy"] for entry in single]
    for entry, part in zip(several, (entropies[:2], entropies[4:6]), strict=True):
        assert min(part) - 1e-6 <= entry["entropy"] <= max(part) + 1e-6


def test_no_collapse_is_read_out_of_dead_steps(config, problems):
    """Groups are live for a while and then dead. The completions are as varied as before."""
    log = train_and_log(config, problems, dies, max_steps=40, max_completion_length=4, learning_rate=0.0)
    assert [entry["entropy"] is None for entry in log] == [False] * 12 + [True] * 28
    older = [{**entry, "entropy": entry["entropy"] or 0.0} for entry in log]
    for entries in (log, older):
        found = diagnose(Signs(entries, outcome="dies"))
        assert found["dead"] and not found["entropy"] and not found["not_finite"]
    collapsed = [{**entry, "entropy": 3.0 if place < 12 else 1e-3} for place, entry in enumerate(log)]
    assert diagnose(Signs(collapsed, outcome="dies"))["entropy"]


# Most rows are cut off and masked, so that a micro-batch has fewer tokens that count than rows
FEW_TOKENS = {"top_entropy_quantile": 0.5, "mask_truncated_completions": True, "max_completion_length": 2, **SGD}


def end_some(model):
    """Return options with which some completions end after a token."""
    return {"generation_kwargs": {"sequence_bias": [[[model.config.eos_token_id], 3.0]]}}


def sums(completion_ids, **kwargs):
    return [sum(ids) % 7 for ids in completion_ids]


@pytest.mark.parametrize(
    "options", [{}, {"loss_type": "bnpo"}, {"per_device_train_batch_size": 16, "max_completion_length": 4}]
)
def test_the_quantile_of_entropies_is_that_of_the_tokens(options, config, problems):
    compare_skip(config, problems, [sums], **{**FEW_TOKENS, **end_some(load_layer()), **options})


@on_two_ranks
def test_the_quantile_of_entropies_is_that_of_the_tokens_of_both_ranks(folder):
    weights = []
    for cls in TRAINERS:
        model = load_layer("float64")
        trainer = trainer_of(cls, folder, [sums], model=model, max_steps=2, **FEW_TOKENS, **end_some(model))
        trainer.train()
        weights.append(torch.cat([one.detach().flatten() for one in trainer.model.parameters()]))
    before = torch.cat([one.detach().flatten() for one in load_layer("float64").parameters()])
    change = (weights[0] - before).norm()
    assert change > 0 and (weights[1] - weights[0]).norm() <= 1e-6 * change
