"""Two ranks: rows that move, images on one of them, widths that differ, changes, and machines without a shared disk."""

import itertools
import shutil
from unittest.mock import patch

import pytest
import torch.distributed as dist
from trl import GRPOTrainer

from helpers import stand_in_vllm
from helpers.changes import CHANGES, compare_changes, subclass
from helpers.gradients import SGD, DropReference, Reference, difference
from helpers.passes import live_rows, train_and_count
from helpers.ranks import config, gather, on_two_ranks, trainer_of
from helpers.reward_functions import mostly_dead, one_of_four
from helpers.runs import get_metric
from helpers.vision_parts import dataset
from helpers.vision_training import ROWS, compare, train
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, demo


def making(folder):
    """Makes configurations whose folders have the same names on both ranks."""
    runs = itertools.count()
    return lambda cls=FilteredGRPOConfig, **options: config(
        folder, cls, **{"output_dir": str(folder / f"run-{next(runs)}"), **options}
    )


CHANGED_ON_RANKS = {
    "advantages": ("skip", "drop"),
    "advantages of tokens": ("skip", "drop"),
    "advantages of a rank": ("skip",),
    "completions": ("skip",),
    "rewards": ("skip",),
    "loss": ("auto",),
}
"""Changes of the objective, and the modes that have the gradient of TRL."""

LAID_OUT = ("qwen2.5-vl", "gemma4", "lfm2-vl", "llava-next", "idefics3")
"""One model for each way in which a batch's pixels belong to rows, next to LLaVA's, which the small batches have."""


@on_two_ranks
def test_images_on_one_rank_only_have_the_gradient_of_trl(folder):
    """
    Skip, with images on one rank only in some of the steps, and drop with a KL term.

    TRL's table of completions gathers images from the ranks that have some, which hangs where others have none.
    """
    options = {"log_multimodal": False, "num_generations": 4}
    options |= {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2}
    small = {**options, "per_device_train_batch_size": 1, "gradient_accumulation_steps": 8}
    apart = dataset(0, 0, 1, 1, 1, 1, 0, 0, size=16)  # four prompts a batch: two on each rank
    make = making(folder)
    for layout, split in [*((one, options) for one in LAID_OUT), ("llava", small), ("idefics3", small)]:
        assert compare(Reference, make, layout, apart, **split) <= 1e-6
    mixed = dataset(*ROWS["one or two"], size=16)
    assert compare(DropReference, make, "qwen2.5-vl", mixed, beta=0.1, **options, **SGD) <= 1e-6


@on_two_ranks
def test_images_are_resampled_on_two_ranks(folder):
    """Rounds of fresh prompts with and without images, whose rows move between the ranks."""
    options = {"zero_variance": "drop", "max_resample_rounds": 2, "beta": 0.1, "max_steps": 2, **SGD}
    options |= {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "num_generations": 4}
    for layout in ("qwen2.5-vl", "idefics3", "gemma4"):
        problems = dataset(*ROWS["none or one"], size=32)
        gradients, trainer = train(FilteredGRPOTrainer, making(folder), layout, problems, **options)
        assert all(gradient.isfinite().all() for step in gradients for gradient in step.values())
        rounds = get_metric(trainer, "resample_rounds")
        assert gather(rounds) == [rounds, rounds] and max(rounds) > 0


class Narrow(stand_in_vllm.StandIn):
    """Completions of the second rank have at most half as many tokens."""

    def generate(self, *args, **kwargs):
        logprobs, ids, known, other = super().generate(*args, **kwargs)
        most = 8 if dist.get_rank() else 16
        return logprobs, [one[:most] for one in ids], [one[:most] for one in known], other


def uneven(completions, **kwargs):
    """Four of twelve rows are live on the first rank and all on the second, so that narrow rows move to the wide ones."""
    dead = 0 if dist.get_rank() else 8
    return [0.5 if row < dead else float(row % 2) for row in range(len(completions))]


@on_two_ranks
def test_gradient_with_the_correction_of_vllm_where_ranks_differ_in_width(folder):
    """There is no pass over dead rows."""
    problems, quiet, live = demo.arithmetic("train", size=64), 0, 0
    for loss, mode in (
        ("vespo", "token_truncate"),
        ("vespo", "sequence_mask"),
        ("dapo", "token_mask"),
        ("grpo", "token_mask"),
    ):
        options = {"loss_type": loss, "reward": uneven}
        with patch.object(stand_in_vllm, "StandIn", Narrow):
            expected, _, _ = train_and_count(Reference, making(folder), problems, mode, **options)
            got, trainer, passes = train_and_count(FilteredGRPOTrainer, making(folder), problems, mode, **options)
        assert difference(got, expected) <= 1e-6
        quiet, live = quiet + passes.quiet, live + sum(live_rows(trainer))
    assert sum(gather(quiet)) == live


@on_two_ranks
def test_gradient_takes_no_micro_batch_without_a_live_row_on_two_ranks(folder):
    """With a row a micro-batch, a rank runs as many as it has live rows."""
    problems, options = demo.arithmetic("train", size=64), {"per_device_train_batch_size": 1, "max_steps": 6}
    options |= {"gradient_accumulation_steps": 8, "reward": one_of_four}
    expected, _, _ = train_and_count(Reference, making(folder), problems, **options)
    got, trainer, passes = train_and_count(FilteredGRPOTrainer, making(folder), problems, **options)
    assert difference(got, expected) <= 1e-6
    assert len(passes.calls) <= min(sum(max(1, int(kept)) for kept in live_rows(trainer)), 6 * 8 / 2 - 1)


def add_on_one_rank(self, plain, inputs):
    output = plain(inputs)
    return {**output, "advantages": output["advantages"] + 0.5 * dist.get_rank()}


@on_two_ranks
def test_changes_have_the_gradient_of_trl_on_two_ranks(folder):
    """One group of three straddles the ranks."""
    problems = demo.arithmetic("train", size=64)
    made = {**CHANGES, "advantages of a rank": (CHANGES["advantages"][0], add_on_one_rank)}
    for name, modes in CHANGED_ON_RANKS.items():
        classes = [subclass(cls, *made[name]) for cls in (GRPOTrainer, FilteredGRPOTrainer)]
        for mode in modes:
            options = {"zero_variance": mode, "num_iterations": 2, "max_steps": 4, "per_device_train_batch_size": 6}
            found, trainer, reference = compare_changes(making(folder), problems, *classes, mostly_dead, **options)
            assert found <= 1e-6, name
            if name == "advantages":
                expected = [one + 0.5 for one in reference._logs["advantages"]]
                assert [*trainer._logs["advantages"]] == pytest.approx(expected)


# --- machines


def machine(folder, **options):
    """A trainer on a machine with a disk of its own, which draws its prompts."""
    options = {"zero_variance": "drop", "max_resample_rounds": 2, "save_on_each_node": True} | options
    options |= {"save_strategy": "steps", "save_steps": 3, "gradient_accumulation_steps": 1, "learning_rate": 0.01}
    own = folder / f"machine-{dist.get_rank()}"
    return trainer_of(FilteredGRPOTrainer, folder, [mostly_dead], output_dir=str(own), **options), own


def copy_weights(folder, checkpoint) -> None:
    """transformers 5.23 writes the weights of a checkpoint on the first rank alone; here the user copies them."""
    dist.barrier()
    for name in ("config.json", "model.safetensors"):
        own = folder / f"machine-{dist.get_rank()}" / checkpoint / name
        if not own.exists():
            shutil.copy(folder / "machine-0" / checkpoint / name, own)


@on_two_ranks(machines=2)
def test_machines_without_a_shared_disk_resume_with_whole_groups(folder):
    """A run on two disks, and the rest of it from the checkpoint of each."""
    first, own = machine(folder, max_steps=6)
    first.train()
    copy_weights(folder, "checkpoint-6")
    assert (own / "checkpoint-6" / "prompts.npz").exists()
    (second, _), seen = machine(folder, max_steps=9), []
    plain = second._generate
    second._generate = lambda prompts: (seen.append([prompt[0]["content"] for prompt in prompts]), plain(prompts))[1]
    second.train(resume_from_checkpoint=str(own / "checkpoint-6"))
    calls = [[*one, *other] for one, other in zip(*gather(seen), strict=True)]
    assert len(calls) >= 3 and len({*gather(second._prompts.position)}) == 1
    assert all(len({*rows[place : place + 4]}) == 1 for rows in calls for place in range(0, len(rows), 4))


@on_two_ranks(machines=2)
def test_a_machine_without_the_place_among_the_prompts_ends_the_run(folder):
    """The second machine has what TRL writes and not the place among the prompts."""
    first, own = machine(folder, max_steps=3)
    first.train()
    copy_weights(folder, "checkpoint-3")
    if dist.get_rank():
        (own / "checkpoint-3" / "prompts.npz").unlink()
    second, _ = machine(folder, max_steps=6)
    said = r"All ranks must draw the same prompts.* on rank 1\. If the machines do not share a disk, train with save_on_ea"
    with pytest.raises(RuntimeError, match=said):
        second.train(resume_from_checkpoint=str(own / "checkpoint-3"))


@on_two_ranks
def test_streams_that_come_apart_end_the_run(folder):
    """The streams of prompts differ from the third step on, for whatever reason."""
    trainer, _ = machine(folder, max_steps=6, save_strategy="no")
    plain = trainer._prompts.check_ranks

    def check():
        if dist.get_rank() and trainer.state.global_step == 2:
            trainer._prompts.draw()
        plain()

    trainer._prompts.check_ranks = check
    with pytest.raises(RuntimeError, match="All ranks must draw the same prompts"):
        trainer.train()
    assert trainer.state.global_step < 6
