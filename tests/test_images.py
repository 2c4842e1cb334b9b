"""Images train as in TRL, whatever the way in which a model's pixels are laid out."""

import math
from pathlib import Path

import pytest
import torch
from test_gradient import DropReference, Gradients, Reference, all_dead, difference
from trl import GRPOConfig, GRPOTrainer
from vision_models import LAYOUTS, make
from vision_parts import dataset

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer


ROWS = {
    "one": (1,),
    "one or two": (1, 2, 2, 1),
    "none or one": (0, 1, 1, 0),
    "none or one, batch by batch": (0, 0, 0, 0, 1, 1, 1, 1),
}
"""Number of images of each row, in order. A batch has four prompts; the first and the third are dead."""

TOKEN_TYPES = ("mm_token_type_ids", "token_type_ids")
PIXELS = (
    "pixel_values",
    "image_grid_thw",
    "image_position_ids",
    "pixel_attention_mask",
    "spatial_shapes",
    "image_sizes",
)
SGD = {"learning_rate": 0.01, "optim": "sgd", "weight_decay": 0.0}


def tolerance(layout: str) -> float:
    return 5e-6 if layout == "gemma4" else 1e-6  # some of Gemma4 is float32 in any model


def number(prompt) -> int:
    content = prompt[-1]["content"]
    text = content if isinstance(content, str) else content[-1]["text"]
    return int(text.split()[1])


def variety(completion) -> float:
    return len(set(completion[0]["content"])) / 16


def half_dead(prompts, completions, **kwargs):
    """Groups of even prompts are worth 0.7 throughout, which float32 does not represent."""
    pairs = zip(prompts, completions, strict=True)
    return [0.7 if number(prompt) % 2 == 0 else variety(completion) for prompt, completion in pairs]


def third_dead(prompts, completions, **kwargs):
    pairs = zip(prompts, completions, strict=True)
    return [0.7 if number(prompt) % 3 == 2 else variety(completion) for prompt, completion in pairs]


def check_inputs(model, args, inputs):
    """Check that the token types mark exactly the image tokens of the input."""
    for key in TOKEN_TYPES:
        if inputs.get(key) is not None and inputs["input_ids"].shape == inputs[key].shape:
            assert torch.equal(inputs[key] == 1, inputs["input_ids"] == model.config.image_token_id)


def without_empty_images(model, args, inputs):
    """TRL gives empty pixels to a model where a whole micro-batch is text, which none but LLaVA-Next computes."""
    pixels = inputs.get("pixel_values")
    if pixels is not None and not pixels.any():
        inputs = {key: value for key, value in inputs.items() if key not in PIXELS}
    return args, inputs


def train(trainer_class, config, layout, problems, reward=half_dead, **options):
    """The gradients of all steps, and the trainer, where `config` makes configurations in a folder."""
    gradients, ours = Gradients(), trainer_class is FilteredGRPOTrainer
    args = config(
        cls=FilteredGRPOConfig if ours else GRPOConfig,
        **{"max_steps": 2, "gradient_accumulation_steps": 2, "shuffle_dataset": False, **options},
    )
    folder = Path(args.output_dir) / "model" if args.beta else None  # TRL loads the reference model from a folder
    model, processor = make(layout, "float64", folder)
    # TRL 1.14 lets a model sample tokens that stand for images
    args.generation_kwargs = {"suppress_tokens": [model.config.image_token_id], **(args.generation_kwargs or {})}
    model.register_forward_pre_hook(check_inputs if ours else without_empty_images, with_kwargs=True)
    trainer = trainer_class(
        model, [reward], args=args, train_dataset=problems, processing_class=processor, callbacks=[gradients]
    )
    trainer.train()
    assert len(gradients.steps) == args.max_steps
    assert all(math.isfinite(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry)
    return gradients.steps, trainer


def gap(got, expected):
    """The largest relative difference of a step. Without images, a step leaves vision without gradients."""
    for left, right in zip(got, expected, strict=True):
        for name in left.keys() | right.keys():
            known = left.get(name, right.get(name))
            left.setdefault(name, torch.zeros_like(known))
            right.setdefault(name, torch.zeros_like(known))
    return difference(got, expected)


def against(reference, config, layout, problems, **options):
    expected, theirs = train(reference, config, layout, problems, **options)
    mode = {Reference: "skip", DropReference: "drop", GRPOTrainer: "keep"}[reference]
    got, ours = train(FilteredGRPOTrainer, config, layout, problems, **options, zero_variance=mode)
    assert list(ours._logs["completion"]) == list(theirs._logs["completion"])  # the same random stream
    dead = [entry["groups/dead"] for entry in ours.state.log_history if "groups/dead" in entry]
    assert 0 < max(dead) and min(dead) < 1
    return gap(got, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_have_gradients_in_trl(config, layout):
    got, _ = train(GRPOTrainer, config, layout, dataset(1))
    vision = [gradient for step in got for name, gradient in step.items() if "vis" in name]
    assert vision and all(gradient.isfinite().all() for gradient in vision)
    assert max(gradient.abs().max() for gradient in vision) > 1e-6


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_under_skip_have_the_gradient_of_trl(config, layout, rows):
    assert against(Reference, config, layout, dataset(*ROWS[rows])) <= tolerance(layout)


@pytest.mark.parametrize("rows", ["one or two", "none or one"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_under_skip_train_row_by_row(config, layout, rows):
    options = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 16}
    assert against(Reference, config, layout, dataset(*ROWS[rows]), **options) <= tolerance(layout)


@pytest.mark.parametrize("rows", ["one or two", "none or one"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_under_skip_train_where_log_probabilities_are_old(config, layout, rows):
    options = {"num_iterations": 2, "max_steps": 4, **SGD}
    assert against(Reference, config, layout, dataset(*ROWS[rows]), **options) <= tolerance(layout)


@pytest.mark.parametrize("rows", ["one or two", "none or one"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_under_drop_train_as_if_the_dead_had_not_been(config, layout, rows):
    assert against(DropReference, config, layout, dataset(*ROWS[rows]), beta=0.1, **SGD) <= tolerance(layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_of_rows_that_fill_up_add_nothing_to_a_kl_term(config, layout):
    """Of 16 micro-batches of one row, 8 have none to compute."""
    options = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 16, "beta": 0.1, **SGD}
    assert against(DropReference, config, layout, dataset(*ROWS["one or two"]), **options) <= tolerance(layout)


@pytest.mark.parametrize("rows", ["one or two", "none or one"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_of_dead_groups_alone_leave_no_gradient(config, layout, rows):
    got, _ = train(FilteredGRPOTrainer, config, layout, dataset(*ROWS[rows]), all_dead)
    assert all(gradient.norm() == 0 for step in got for gradient in step.values())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_under_keep_train_as_in_trl(config, layout):
    assert against(GRPOTrainer, config, layout, dataset(1, 2), beta=0.1) == 0.0


@pytest.mark.parametrize("rows", ["one or two", "none or one"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_are_resampled_or_refused(config, layout, rows):
    """It trains, or is refused at construction. Rounds differ in the lengths of prompts and the sizes of images."""
    beta = 0.1 if rows == "one or two" else 0.0
    options = {"zero_variance": "drop", "max_resample_rounds": 2, "beta": beta, "max_steps": 3}
    try:
        _, trainer = train(FilteredGRPOTrainer, config, layout, dataset(*ROWS[rows], size=32), **options)
    except ValueError as error:
        assert "max_resample_rounds" in str(error) and "image" in str(error)
        return
    history = trainer.state.log_history[:-1]
    assert max(entry["groups/resample_rounds"] for entry in history) > 0
    assert max(abs(entry.get("kl", 0.0)) for entry in history) < 1e-9  # the learning rate is 0


def test_images_stay_with_their_rows_where_the_live_have_as_many_as_they_are_rows(config):
    """Idefics3 has a row of pixels for each completion; TRL tells this from a row for each image by their numbers."""
    options = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 3, "reward": third_dead}
    assert against(Reference, config, "idefics3", dataset(2, 2, 2, 2, 0, 0, size=6), **options) <= 1e-6


def test_images_may_be_a_column_of_one_each(config):
    problems = dataset(1)
    single = problems.map(lambda row: {"image": row["images"][0]}, remove_columns="images")
    assert against(Reference, config, "qwen2.5-vl", single) <= 1e-6


@pytest.mark.parametrize("layout", ["qwen2.5-vl", "idefics3"])
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
