"""The options of the trainer, and which of them contradict each other."""

import math
import pickle
from copy import copy

import pytest
from trl import GRPOConfig

from trl_grpo_rewards import FilteredGRPOConfig
from trl_grpo_rewards.training.config import ROW_MEANS, list_dead_gradients, make_plan


def test_by_default_dead_groups_are_skipped_and_all_else_is_as_in_trl(config):
    args = config()
    assert list_dead_gradients(args) == [] and make_plan(args) == ("skip", True, False, "")
    ours, theirs = ({**cls.__dataclass_fields__} for cls in (FilteredGRPOConfig, GRPOConfig))
    assert all(ours[name].default == field.default for name, field in theirs.items())
    own = {*FilteredGRPOConfig.__annotations__}
    assert not own & {*theirs} and all(ours[name].metadata["help"] for name in own)


SAVES = "zero_variance='drop' to leave them out of the objective and save their passes"
NO_ENTROPY = ("the entropy bonus", "entropy_coef=0.0 and use_adaptive_entropy=False")
EXPERTS = ("the load-balancing loss of a mixture of experts", "router_aux_loss_coef=0.0")
OBSTACLES = [
    (
        {"loss_type": "bnpo"},
        "the denominator of loss_type='bnpo'",
        "loss_type to one of ('grpo', 'sapo',",
        "short row",
    ),
    ({"beta": 0.1}, "the KL term (beta=0.1)", "beta=0.0", ""),
    ({"entropy_coef": 0.01}, *NO_ENTROPY, ""),
    ({"use_adaptive_entropy": True}, *NO_ENTROPY, "may have no completion left"),
    ({"top_entropy_quantile": 0.2}, "the threshold of top_entropy_quantile=0.2", "top_entropy_quantile=1.0", ""),
    ({"aux": True}, *EXPERTS, ""),
    *(
        ({**options, "loss_type": loss}, *named, f"loss_type='{loss}' weights a micro-batch with all that is in its")
        for loss in ROW_MEANS
        for options, named in (({"entropy_coef": 0.1}, NO_ENTROPY), ({"aux": True}, EXPERTS))
    ),
]
"""Options under which dead groups have a gradient, what has it, what switches it off, and why "drop" is no way out, if so."""


@pytest.mark.parametrize("options, what, remedy, reason", OBSTACLES)
def test_an_option_under_which_dead_groups_have_a_gradient_rules_out_skip(config, options, what, remedy, reason):
    options = dict(options)
    has_aux_loss = options.pop("aux", False)

    def resolve(mode):
        try:
            plan = make_plan(config(**options, zero_variance=mode), has_aux_loss=has_aux_loss)
            return plan.zero_variance, plan.reason
        except ValueError as error:
            return "refused", str(error)

    found = {mode: resolve(mode) for mode in ("auto", "keep", "skip", "drop")}
    assert [mode for mode, _ in found.values()] == ["keep", "keep", "refused", "refused" if reason else "drop"]
    auto, keep, skip, drop = (said for _, said in found.values())
    assert all(what in said and remedy in said and (SAVES in said) == (not reason) for said in (auto, skip))
    assert ("TRL's micro-batches, which therefore keep their rows" in auto) == ("beta" not in options)
    assert keep == "" and reason in drop and (f"Set {remedy}" in drop and what in drop) == bool(reason)


LEAVE_OUT = {"zero_variance_by": "outcome", "max_resample_rounds": 2}
WHOLE = ({"scale_rewards": "batch"}, {"multi_objective_aggregation": "normalize_then_sum"})
CONTRADICTIONS = [
    *(
        ({"packing": False, "zero_variance": mode}, "packing=False keeps TRL's micro-batches")
        for mode in ("skip", "drop")
    ),
    *(
        (
            {"zero_variance": mode, name: value},
            f"{name}={value!r} leaves out groups that TRL would train on, but .*{mode}",
        )
        for mode in ("auto", "skip", "keep")
        for name, value in LEAVE_OUT.items()
    ),
    *(
        ({"zero_variance": "drop", "max_resample_rounds": 3, **one}, "several rounds, but .* whole batch")
        for one in WHOLE
    ),
]


@pytest.mark.parametrize("options, said", CONTRADICTIONS)
def test_options_that_contradict_each_other_are_refused(config, options, said):
    with pytest.raises(ValueError, match=f"{said}.* Set "):
        make_plan(config(**options))


def test_options_that_fit_together_are_taken(config):
    assert make_plan(config(packing=False)) == ("keep", False, False, "")
    for options in ({}, LEAVE_OUT, *WHOLE, {"max_resample_rounds": 3, "scale_rewards": "none"}):
        make_plan(config(zero_variance="drop", **options))


TOLERANCE = "zero_variance_tolerance must be at least 0 and finite; got {}. Set it to the largest difference"


@pytest.mark.parametrize(
    "options, said",
    [
        ({"zero_variance": "dropp"}, "zero_variance must be one of 'auto', 'skip', 'drop', 'keep'; got 'dropp'"),
        ({"unscored": "zero"}, "unscored must be one of 'term', 'row'; got 'zero'"),
        (
            {"zero_variance_by": "boxed"},
            "one of 'total', 'outcome'; got 'boxed'. To name a reward, use outcome_reward",
        ),
        ({"max_resample_rounds": -1}, "max_resample_rounds must be at least 0; got -1. Set it to 0 to sample once"),
        *(({"zero_variance_tolerance": one}, TOLERANCE.format(one)) for one in (-1.0, math.nan, math.inf)),
    ],
)
def test_a_value_that_an_option_cannot_have_is_refused(config, options, said):
    with pytest.raises(ValueError, match=said):
        config(**options)


def test_a_config_survives_another_process(config):
    assert pickle.loads(pickle.dumps(args := config(seed=5))) == copy(args) == args
