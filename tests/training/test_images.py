"""Images train as in TRL, whatever the way in which a model's pixels are laid out."""

import pytest
from trl import GRPOTrainer

from helpers.gradients import SGD, DropReference, Reference, difference
from helpers.marks import slow_except
from helpers.reward_functions import all_dead
from helpers.vision_models import LAYOUTS
from helpers.vision_parts import dataset
from helpers.vision_training import ROWS, compare, gap, number, train, variety
from trl_grpo_rewards import FilteredGRPOTrainer
from trl_grpo_rewards.training.trl_members import has_fused_head


SLOW_EXCEPT_ONE = slow_except(["qwen2.5-vl"], LAYOUTS)
UNLIKE = ["qwen2.5-vl", "idefics3", "gemma4"]
"""One layout with a row of pixels for each patch, one for each completion, and one for each image."""


def rows_of(layout):
    """Return numbers of images. With Idefics3, TRL cannot train on rows without an image next to rows with two."""
    return (1, 2, 2, 1) if layout == "idefics3" else (0, 2, 1, 1, 1, 0, 2, 1)


def third_dead(prompts, completions, **kwargs):
    pairs = zip(prompts, completions, strict=True)
    return [0.7 if number(prompt) % 3 == 2 else variety(completion) for prompt, completion in pairs]


@pytest.mark.parametrize("rows", slow_except(["none or one"], ["one", "none or one", "none or one, batch by batch"]))
@pytest.mark.parametrize("layout", slow_except(UNLIKE[:1], UNLIKE))
def test_images_under_skip_have_the_gradient_of_trl(config, layout, rows):
    assert compare(Reference, config, layout, dataset(*ROWS[rows])) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("layout", UNLIKE)
def test_images_under_skip_train_row_by_row_where_log_probabilities_are_old(config, layout):
    options = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 8, "num_iterations": 2, **SGD}
    options |= {"num_generations": 2, "max_steps": 4}
    assert compare(Reference, config, layout, dataset(*rows_of(layout)), **options) <= 1e-6


@pytest.mark.parametrize("layout", SLOW_EXCEPT_ONE)
def test_images_under_drop_train_as_if_the_dead_had_not_been(config, layout):
    options = {"beta": 0.1, **SGD, "learning_rate": 3e-3}  # gradients of Gemma4 are large
    assert compare(DropReference, config, layout, dataset(*rows_of(layout)), **options) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("layout", UNLIKE)
def test_images_of_rows_that_fill_up_add_nothing_to_a_kl_term(config, layout):
    """Of 8 micro-batches of one row, 4 have none to compute."""
    options = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 8, "num_generations": 2}
    options |= {"beta": 0.1, **SGD}
    assert compare(DropReference, config, layout, dataset(*ROWS["one or two"]), **options) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("layout", UNLIKE)
def test_images_of_dead_groups_alone_leave_no_gradient(config, layout):
    got, _ = train(FilteredGRPOTrainer, config, layout, dataset(*rows_of(layout)), all_dead)
    assert all(gradient.norm() == 0 for step in got for gradient in step.values())


@pytest.mark.slow
@pytest.mark.parametrize("layout", UNLIKE)
def test_images_under_keep_train_as_in_trl(config, layout):
    assert compare(GRPOTrainer, config, layout, dataset(1, 2), beta=0.1) <= 1e-6


@pytest.mark.parametrize("layout", SLOW_EXCEPT_ONE)
def test_images_are_resampled_or_refused(config, layout):
    """It trains, or is refused at construction. Rounds differ in the lengths of prompts and the sizes of images."""
    options = {"zero_variance": "drop", "max_resample_rounds": 2, "beta": 0.1}
    try:
        _, trainer = train(FilteredGRPOTrainer, config, layout, dataset(*rows_of(layout), size=32), **options)
    except ValueError as error:
        assert "max_resample_rounds" in str(error) and "image" in str(error)
        return
    history = trainer.state.log_history[:-1]
    assert max(entry["groups/resample_rounds"] for entry in history) > 0
    assert max(abs(entry.get("kl", 0.0)) for entry in history) < 1e-9  # the learning rate is 0


@pytest.mark.slow
def test_images_stay_with_their_rows_where_the_live_have_as_many_as_they_are_rows(config):
    """Idefics3 has a row of pixels for each completion; TRL tells this from a row for each image by their numbers."""
    options = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 3, "reward": third_dead}
    assert compare(Reference, config, "idefics3", dataset(2, 2, 2, 2, 0, 0, size=6), **options) <= 1e-6


@pytest.mark.slow
def test_images_may_be_a_column_of_one_each(config):
    problems = dataset(1)
    single = problems.map(lambda row: {"image": row["images"][0]}, remove_columns="images")
    assert compare(Reference, config, "qwen2.5-vl", single) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("layout", UNLIKE[:2])
def test_images_of_dead_rows_alone_leave_vision_a_gradient_of_zero(config, layout):
    """Optimizers with momentum or weight decay step on a gradient of 0, and not on none at all."""
    options = {
        "gradient_accumulation_steps": 1,
        "per_device_train_batch_size": 16,
        "max_steps": 3,
        "optim": "adamw_torch",
    }
    options |= {"learning_rate": 0.01, "weight_decay": 0.1}
    problems = dataset(1, 0, 1, 0)  # the first and the third of four prompts are dead
    _, theirs = train(Reference, config, layout, problems, **options)
    _, ours = train(FilteredGRPOTrainer, config, layout, problems, **options)
    expected, got = theirs.model.state_dict(), ours.model.state_dict()
    assert difference([got], [expected]) <= 1e-6
    assert max(entry["groups/dead"] for entry in ours.state.log_history if "groups/dead" in entry) >= 0.5


WITHOUT_STATES = [one for one in LAYOUTS if one != "lfm2-vl"]  # which has convolutions


@pytest.mark.parametrize("layout", slow_except(["qwen2.5-vl"], WITHOUT_STATES))
def test_a_model_for_images_that_is_trained_on_text_shares_prompts(config, layout):
    text = dataset(0).remove_columns("images")
    expected, theirs = train(Reference, config, layout, text)
    got, ours = train(FilteredGRPOTrainer, config, layout, text)
    assert list(ours._logs["completion"]) == list(theirs._logs["completion"])
    assert gap(got, expected) <= 1e-6
    if not has_fused_head():
        pytest.skip("TRL before 1.15 shares no tokens")
    logged = ours.state.log_history[0]
    assert logged["groups/tokens_computed"] == logged["groups/tokens_needed"] and ours._packer.sharing is not None
