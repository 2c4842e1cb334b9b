"""The options of the trainer, and which of them contradict each other."""

import math
import pickle
from copy import copy

import pytest
from trl import GRPOConfig

from trl_grpo_rewards import FilteredGRPOConfig
from trl_grpo_rewards.training.config import ROW_MEANS, check_config, list_obstacles, resolve_zero_variance


def test_by_default_dead_groups_are_skipped_and_all_else_is_as_in_trl(config):
    args = config()
    check_config(args)
    assert list_obstacles(args) == [] and resolve_zero_variance(args)[0] == "skip"
    ours = {*FilteredGRPOConfig.__annotations__}
    changed = {
        name
        for name, field in GRPOConfig.__dataclass_fields__.items()
        if field.default != FilteredGRPOConfig.__dataclass_fields__[name].default
    }
    assert not changed and not ours & {*GRPOConfig.__dataclass_fields__}
    assert all(FilteredGRPOConfig.__dataclass_fields__[name].metadata["help"] for name in ours)


SAVES = "zero_variance='drop' to leave them out of the objective and save their passes"
NO_ENTROPY = "entropy_coef=0.0 and use_adaptive_entropy=False"
OBSTACLES = [
    (
        {"loss_type": "bnpo"},
        "the denominator of loss_type='bnpo'",
        "loss_type to one of ('grpo', 'sapo',",
        "short row",
    ),
    ({"beta": 0.1}, "the KL term (beta=0.1)", "beta=0.0", ""),
    ({"entropy_coef": 0.01}, "the entropy bonus", NO_ENTROPY, ""),
    ({"use_adaptive_entropy": True}, "the entropy bonus", NO_ENTROPY, "may have no completion left"),
    ({"top_entropy_quantile": 0.2}, "the threshold of top_entropy_quantile=0.2", "top_entropy_quantile=1.0", ""),
    ({"aux": True}, "the load-balancing loss of a mixture of experts", "router_aux_loss_coef=0.0", ""),
    *(
        (
            {**options, "loss_type": loss},
            what,
            remedy,
            f"loss_type='{loss}' weights a micro-batch with all that is in its",
        )
        for loss in ROW_MEANS
        for options, what, remedy in (
            ({"entropy_coef": 0.1}, "the entropy bonus", NO_ENTROPY),
            ({"aux": True}, "the load-balancing loss of a mixture of experts", "router_aux_loss_coef=0.0"),
        )
    ),
]
"""Options under which dead groups have a gradient, what has it, what switches it off, and why "drop" is no way out, if so."""


@pytest.mark.parametrize("options, what, remedy, reason", OBSTACLES)
def test_an_option_under_which_dead_groups_have_a_gradient_rules_out_skip(config, options, what, remedy, reason):
    has_aux_loss = options.get("aux", False)
    options = {name: value for name, value in options.items() if name != "aux"}

    def resolve(mode):
        return resolve_zero_variance(config(**options, zero_variance=mode), has_aux_loss)

    mode, said = resolve("auto")
    assert (mode, resolve("keep")) == ("keep", ("keep", ""))
    assert said.startswith(
        f"zero_variance='auto' keeps TRL's behaviour: {what} gives groups of equal rewards a gradient."
    )
    assert remedy in said and said.endswith("to save their passes and keep TRL's gradient.")
    assert ("TRL's micro-batches, which therefore keep their rows" in said) == ("beta" not in options)
    with pytest.raises(ValueError) as caught:
        resolve("skip")
    assert str(caught.value).startswith(
        f"zero_variance='skip' leaves groups of equal rewards out of the update, but {what} gives them a gradient, so the "
        f"objective would change. Set zero_variance='keep' to train on them as TRL does,"
    )
    assert (SAVES in str(caught.value)) == (SAVES in said) == (not reason) and remedy in str(caught.value)
    if not reason:
        assert resolve("drop") == ("drop", "")
        return
    with pytest.raises(ValueError) as caught:
        resolve("drop")
    assert str(caught.value).startswith(f"zero_variance='drop' cannot leave {what} to live rows: ")
    assert reason in str(caught.value) and f"Set {remedy}" in str(caught.value)


LEAVE_OUT = {"zero_variance_by": "outcome", "max_resample_rounds": 2}
CONTRADICTIONS = [
    *(
        (
            {"packing": False, "zero_variance": mode},
            f"packing=False keeps TRL's micro-batches, but zero_variance={mode!r} takes rows out of them. Set packing=True, "
            f"or zero_variance='keep'.",
        )
        for mode in ("skip", "drop")
    ),
    *(
        (
            {"zero_variance": mode, name: value},
            f"{name}={value!r} leaves out groups that TRL would train on, but zero_variance={mode!r} keeps TRL's "
            f"objective. Set zero_variance='drop'.",
        )
        for mode in ("auto", "skip", "keep")
        for name, value in LEAVE_OUT.items()
    ),
    *(
        (
            {
                "zero_variance": "drop",
                "max_resample_rounds": 3,
                "scale_rewards": scale,
                "multi_objective_aggregation": way,
            },
            f"max_resample_rounds=3 samples a batch in several rounds, but scale_rewards={scale!r} with "
            f"multi_objective_aggregation={way!r} scales rewards by the whole batch. Set scale_rewards to 'group' or "
            f"'none' and multi_objective_aggregation to 'sum_then_normalize', or max_resample_rounds=0.",
        )
        for scale, way in (("batch", "sum_then_normalize"), ("group", "normalize_then_sum"))
    ),
]


@pytest.mark.parametrize("options, message", CONTRADICTIONS)
def test_options_that_contradict_each_other_are_refused(config, options, message):
    with pytest.raises(ValueError) as caught:
        check_config(config(**options))
    assert str(caught.value) == message


def test_options_that_fit_together_are_taken(config):
    assert resolve_zero_variance(config(packing=False)) == ("keep", "")
    whole = {"scale_rewards": "batch"}, {"multi_objective_aggregation": "normalize_then_sum"}
    for options in ({}, LEAVE_OUT, *whole, {"max_resample_rounds": 3, "scale_rewards": "none"}):
        check_config(config(zero_variance="drop", **options))


TOLERANCE = (
    "zero_variance_tolerance must be at least 0 and finite; got {}. Set it to the largest difference between the rewards "
    "of a dead group, such as 1e-6."
)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"zero_variance": "dropp"}, "zero_variance must be one of 'auto', 'skip', 'drop', 'keep'; got 'dropp'."),
        ({"unscored": "zero"}, "unscored must be one of 'term', 'row'; got 'zero'."),
        (
            {"zero_variance_by": "boxed"},
            "zero_variance_by must be one of 'total', 'outcome'; got 'boxed'. To name a reward, use outcome_reward.",
        ),
        ({"max_resample_rounds": -1}, "max_resample_rounds must be at least 0; got -1. Set it to 0 to sample once."),
        ({"zero_variance_tolerance": -1.0}, TOLERANCE.format("-1.0")),
        ({"zero_variance_tolerance": math.nan}, TOLERANCE.format("nan")),
        ({"zero_variance_tolerance": math.inf}, TOLERANCE.format("inf")),
    ],
)
def test_a_value_that_an_option_cannot_have_is_refused(config, options, message):
    with pytest.raises(ValueError) as caught:
        config(**options)
    assert str(caught.value) == message


def test_a_config_survives_another_process(config):
    assert pickle.loads(pickle.dumps(args := config(seed=5))) == copy(args) == args
