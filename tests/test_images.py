"""Images train as in TRL, whatever the way in which a model's pixels are laid out."""

import math

import pytest
import torch
from test_gradient import DropReference, Gradients, Reference, difference
from trl import GRPOConfig, GRPOTrainer
from vision_models import LAYOUTS, dataset, make

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer


ROWS = {
    "one": (1,),
    "one or two": (1, 2),
    "none or one": (0, 1),
    "none or one, batch by batch": (0, 0, 1, 1),  # with 4 prompts in a batch that are not shuffled
}

TOKEN_TYPES = ("mm_token_type_ids", "token_type_ids")


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


class Inputs:
    """Whatever the model computes is checked: the tokens that are said to be an image's are just those."""

    def __init__(self, model):
        self.seen, self.token = 0, model.config.image_token_id
        model.register_forward_pre_hook(self.check, with_kwargs=True)

    def check(self, model, args, inputs):
        self.seen += inputs.get("pixel_values") is not None
        for key in TOKEN_TYPES:
            if inputs.get(key) is not None and inputs["input_ids"].shape == inputs[key].shape:
                assert torch.equal(inputs[key] == 1, inputs["input_ids"] == self.token)


def train(trainer_class, config, layout, problems, reward=half_dead, **options):
    """The gradients of all steps, and the trainer, where `config` makes configurations in a folder."""
    gradients = Gradients()
    config_class = FilteredGRPOConfig if trainer_class is FilteredGRPOTrainer else GRPOConfig
    args = config(
        cls=config_class,
        **{"max_steps": 2, "gradient_accumulation_steps": 2, "shuffle_dataset": False, **options},
    )
    model, processor = make(layout, "float64", f"{args.output_dir}/model")
    inputs = Inputs(model)
    trainer = trainer_class(
        model, [reward], args=args, train_dataset=problems, processing_class=processor, callbacks=[gradients]
    )
    trainer.train()
    assert inputs.seen and len(gradients.steps) == args.max_steps
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
    assert against(Reference, config, layout, dataset(*ROWS[rows])) <= 1e-6


@pytest.mark.parametrize("rows", ["one or two", "none or one"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_under_skip_train_row_by_row(config, layout, rows):
    options = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 16}
    assert against(Reference, config, layout, dataset(*ROWS[rows]), **options) <= 1e-6


@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_under_skip_train_where_log_probabilities_are_old(config, layout):
    options = {"num_iterations": 2, "max_steps": 4, "learning_rate": 0.01, "optim": "sgd", "weight_decay": 0.0}
    assert against(Reference, config, layout, dataset(1, 2), **options) <= 1e-6


@pytest.mark.parametrize("rows", ["one or two", "none or one"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_under_drop_train_as_if_the_dead_had_not_been(config, layout, rows):
    options = {"beta": 0.1, "learning_rate": 0.01, "optim": "sgd", "weight_decay": 0.0}
    assert against(DropReference, config, layout, dataset(*ROWS[rows]), **options) <= 1e-6


@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_under_keep_train_as_in_trl(config, layout):
    assert against(GRPOTrainer, config, layout, dataset(1, 2), beta=0.1) == 0.0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_are_resampled_or_refused(config, layout):
    """Trains, or is refused before anything is sampled. Rounds differ in their prompts' lengths and their images."""
    options = {"zero_variance": "drop", "max_resample_rounds": 2, "beta": 0.1, "max_steps": 3}
    try:
        _, trainer = train(FilteredGRPOTrainer, config, layout, dataset(1, 0, 2, size=32), third_dead, **options)
    except ValueError as error:
        assert "max_resample_rounds" in str(error) and "image" in str(error)
        return
    rounds = [entry["groups/resample_rounds"] for entry in trainer.state.log_history if "kl" in entry]
    assert max(rounds) > 0
    assert max(abs(entry["kl"]) for entry in trainer.state.log_history if "kl" in entry) < 1e-9


def test_images_of_live_rows_are_theirs_where_there_are_as_many_as_rows(config):
    """Idefics has a row of pixels for each row of text, which TRL takes for a row each image where the counts agree."""
    options = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 3, "reward": third_dead}
    assert against(Reference, config, "idefics3", dataset(2, 2, 0, size=6), **options) <= 1e-6


def test_images_may_be_one_to_a_row(config):
    problems = dataset(1)
    single = problems.map(lambda row: {"image": row["images"][0]}, remove_columns="images")
    assert against(Reference, config, "qwen2.5-vl", single) <= 1e-6
