"""Runs of vision-language models, and their gradients next to those of TRL."""

import math
from pathlib import Path
from unittest.mock import patch

import torch
from trl import GRPOConfig, GRPOTrainer

from helpers.gradients import DropReference, Gradients, Reference, difference
from helpers.vision_models import make
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer


ROWS = {
    "one": (1,),
    "one or two": (1, 2, 2, 1),
    "none or one": (0, 1, 1, 0),
    "none or one, batch by batch": (0, 0, 0, 0, 1, 1, 1, 1),
}
"""Number of images of each row, in order. A batch has four prompts; the first and the third are dead."""

SMALL = {"max_steps": 2, "gradient_accumulation_steps": 2, "shuffle_dataset": False, "max_completion_length": 6}

TOKEN_TYPES = ("mm_token_type_ids", "token_type_ids")
PIXELS = (
    "pixel_values",
    "image_grid_thw",
    "image_position_ids",
    "pixel_attention_mask",
    "spatial_shapes",
    "image_sizes",
)


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


def compute_in_float64(module):
    """Make a module compute in float64 what Gemma4 computes in float32 in any precision."""
    double = patch.object(torch.Tensor, "float", torch.Tensor.double)

    def start(*given) -> None:
        double.start()

    def stop(*given) -> None:
        double.stop()

    module.register_forward_pre_hook(start)
    module.register_forward_hook(stop, always_call=True)


def train(trainer_class, config, layout, problems, reward=half_dead, **options):
    """The gradients of all steps, and the trainer, where `config` makes configurations in a folder."""
    gradients, ours = Gradients(), trainer_class is FilteredGRPOTrainer
    args = config(cls=FilteredGRPOConfig if ours else GRPOConfig, **{**SMALL, **options})
    folder = Path(args.output_dir) / "model" if args.beta else None  # TRL loads the reference model from a folder
    model, processor = make(layout, "float64", folder)
    compute_in_float64(model.model)
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


def compare(reference, config, layout, problems, **options):
    expected, theirs = train(reference, config, layout, problems, **options)
    vision = [gradient for step in expected for name, gradient in step.items() if "vis" in name]
    assert vision and max(gradient.abs().max() for gradient in vision) > 1e-6
    mode = {Reference: "skip", DropReference: "drop", GRPOTrainer: "keep"}[reference]
    got, ours = train(FilteredGRPOTrainer, config, layout, problems, **options, zero_variance=mode)
    assert list(ours._logs["completion"]) == list(theirs._logs["completion"])  # the same random stream
    dead = [entry["groups/dead"] for entry in ours.state.log_history if "groups/dead" in entry]
    assert 0 < max(dead) and min(dead) < 1
    return gap(got, expected)
