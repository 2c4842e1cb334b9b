"""The scenarios that test_rank_rows.py runs on two ranks. Each rank can stand for a machine with its own disk."""

import itertools
import resource
import shutil
from unittest.mock import patch

import torch
import torch.distributed as dist
from accelerate import Accelerator
from trl import GRPOTrainer

from helpers import stand_in_vllm
from helpers.changes import CHANGES, compare_changes, subclass
from helpers.gradients import SGD, DropReference, Reference, difference
from helpers.passes import live_rows, train_and_count
from helpers.reward_functions import mostly_dead, one_of_four
from helpers.two_ranks import config, trainer_of
from helpers.vision_parts import dataset
from helpers.vision_training import ROWS, compare, train
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, demo
from trl_grpo_rewards.training import placement
from trl_grpo_rewards.training.rows import count_tokens, unstack


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


def images(folder) -> dict:
    """
    Skip compare TRL, with images on one rank only in some of the steps; drop with a KL term.

    TRL's table of completions gathers images from the ranks that have some, which hangs where others have none.
    """
    options = {
        "log_multimodal": False,
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 2,
        "num_generations": 4,
    }
    apart = dataset(0, 0, 1, 1, 1, 1, 0, 0, size=16)  # four prompts a batch: two on each rank
    make = making(folder)
    found = {layout: compare(Reference, make, layout, apart, **options) for layout in LAID_OUT}
    small = {**options, "per_device_train_batch_size": 1, "gradient_accumulation_steps": 8}
    found |= {f"{layout}, small": compare(Reference, make, layout, apart, **small) for layout in ("llava", "idefics3")}
    mixed = dataset(*ROWS["one or two"], size=16)
    dropped = compare(DropReference, make, "qwen2.5-vl", mixed, beta=0.1, **options, **SGD)
    return {"skip": found, "drop": dropped}


def images_resampled(folder) -> dict:
    """Rounds of fresh prompts with and without images, whose rows move between the ranks."""
    options = {"zero_variance": "drop", "max_resample_rounds": 2, "beta": 0.1, "max_steps": 2, **SGD}
    options |= {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "num_generations": 4}
    rounds = {}
    for layout in ("qwen2.5-vl", "idefics3", "gemma4"):
        problems = dataset(*ROWS["none or one"], size=32)
        gradients, trainer = train(FilteredGRPOTrainer, making(folder), layout, problems, **options)
        assert all(gradient.isfinite().all() for step in gradients for gradient in step.values())
        history = trainer.state.log_history[:-1]
        rounds[layout] = [entry["groups/resample_rounds"] for entry in history]
    return {"rounds": rounds}


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


def widths(folder) -> dict:
    """The correction of vLLM where the ranks' batches differ in width, with no pass over dead rows."""
    differences, quiet, live = [], 0, []
    for loss, mode in (
        ("vespo", "token_truncate"),
        ("vespo", "sequence_mask"),
        ("dapo", "token_mask"),
        ("grpo", "token_mask"),
    ):
        options = {"loss_type": loss, "per_device_train_batch_size": 6, "reward": uneven}

        problems = demo.arithmetic("train", size=64)
        with patch.object(stand_in_vllm, "StandIn", Narrow):
            expected, _, _ = train_and_count(Reference, making(folder), problems, mode, **options)
            got, trainer, passes = train_and_count(FilteredGRPOTrainer, making(folder), problems, mode, **options)
        differences.append(difference(got, expected))
        quiet, live = quiet + passes.quiet, live + live_rows(trainer)
    return {"differences": differences, "quiet": quiet, "live": sum(live)}


def micro_batches(folder) -> dict:
    """With a row a micro-batch, a rank runs as many as it has live rows."""
    problems, options = demo.arithmetic("train", size=64), {"per_device_train_batch_size": 1, "max_steps": 6}
    options |= {"gradient_accumulation_steps": 8, "reward": one_of_four}
    expected, _, _ = train_and_count(Reference, making(folder), problems, **options)
    got, trainer, passes = train_and_count(FilteredGRPOTrainer, making(folder), problems, **options)
    return {"difference": difference(got, expected), "calls": len(passes.calls), "live": live_rows(trainer)}


def add_on_one_rank(self, plain, inputs):
    output = plain(inputs)
    return {**output, "advantages": output["advantages"] + 0.5 * dist.get_rank()}


def changes(folder) -> dict:
    """Changes of the objective, where one group of three straddles the ranks."""
    problems, differences = demo.arithmetic("train", size=64), {}
    made = {**CHANGES, "advantages of a rank": (CHANGES["advantages"][0], add_on_one_rank)}
    for name, modes in CHANGED_ON_RANKS.items():
        classes = [subclass(cls, *made[name]) for cls in (GRPOTrainer, FilteredGRPOTrainer)]
        for mode in modes:
            options = {"zero_variance": mode, "num_iterations": 2, "max_steps": 4, "per_device_train_batch_size": 6}
            found = compare_changes(making(folder), problems, *classes, mostly_dead, **options)
            differences[f"{name}, {mode}"], trainer, reference = found
            if name == "advantages":
                logged = {"advantages": [*trainer._logs["advantages"]], "of TRL": [*reference._logs["advantages"]]}
    return {"differences": differences, **logged}


def machine(folder, **options):
    """A trainer on a machine with a disk of its own, which draws its prompts."""
    options = {
        "zero_variance": "drop",
        "max_resample_rounds": 2,
        "selective": True,
        "save_on_each_node": True,
    } | options
    options |= {"save_strategy": "steps", "save_steps": 3, "gradient_accumulation_steps": 1, "learning_rate": 0.01}
    own = folder / f"machine-{dist.get_rank()}"
    return trainer_of(FilteredGRPOTrainer, folder, [mostly_dead], output_dir=str(own), **options), own


def drawn(trainer, run) -> list:
    """The prompts of every group that was sampled, rank by rank, while `run` runs."""
    seen = []
    plain = trainer._generate

    def watched(prompts):
        seen.append([prompt[0]["content"] for prompt in prompts])
        return plain(prompts)

    trainer._generate = watched
    run()
    ranks = [None] * dist.get_world_size()
    dist.all_gather_object(ranks, seen)
    return [[*one, *other] for one, other in zip(*ranks, strict=True)]


def copy_weights(folder, checkpoint) -> None:
    """transformers 5.23 writes the weights of a checkpoint on the first rank alone; here the user copies them."""
    dist.barrier()
    for name in ("config.json", "model.safetensors"):
        own = folder / f"machine-{dist.get_rank()}" / checkpoint / name
        if not own.exists():
            shutil.copy(folder / "machine-0" / checkpoint / name, own)


def machines(folder) -> dict:
    """A run on two disks, and the rest of it from the checkpoint of each."""
    first, own = machine(folder, max_steps=6)
    drawn(first, first.train)
    copy_weights(folder, "checkpoint-6")
    second, _ = machine(folder, max_steps=9)
    calls = drawn(second, lambda: second.train(resume_from_checkpoint=str(own / "checkpoint-6")))
    mixed = [rows[place : place + 4] for rows in calls for place in range(0, len(rows), 4)]
    mixed = [group for group in mixed if len({*group}) > 1]
    return {
        "calls": len(calls),
        "mixed": mixed,
        "taken": second._prompts.position,
        "saved": (own / "checkpoint-6" / "prompts.npz").exists(),
    }


def machine_without_files(folder) -> dict:
    """The second machine has what TRL writes and not the place among the prompts."""
    first, own = machine(folder, max_steps=3)
    first.train()
    copy_weights(folder, "checkpoint-3")
    if dist.get_rank():
        (own / "checkpoint-3" / "prompts.npz").unlink()
    second, _ = machine(folder, max_steps=6)
    try:
        second.train(resume_from_checkpoint=str(own / "checkpoint-3"))
    except RuntimeError as error:
        return {"error": str(error)}
    return {}


def streams_apart(folder) -> dict:
    """The streams of prompts differ from the third step on, for whatever reason."""
    trainer, _ = machine(folder, max_steps=6, save_strategy="no")
    plain = trainer._prompts.learn

    def learn(*args):
        plain(*args)
        if dist.get_rank() and trainer.state.global_step == 2:
            trainer._prompts.skips[:] = 9
            trainer._prompts.draw(1)

    trainer._prompts.learn = learn
    try:
        trainer.train()
    except RuntimeError as error:
        return {"error": str(error), "step": trainer.state.global_step}
    return {}


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def spread(folder) -> dict:
    """Rows of different lengths on both ranks: how many move, how many tokens they have afterwards, and what that takes."""
    accelerator = Accelerator(cpu=True)
    rank, count, width = dist.get_rank(), (96, 32)[dist.get_rank()], 16384
    lengths = torch.arange(width) < torch.linspace(width // 4, width, count)[:, None]
    batch = {
        "prompt_ids": torch.ones(count, 512, dtype=torch.long),
        "prompt_mask": torch.ones(count, 512, dtype=torch.long),
        "completion_ids": (torch.arange(count)[:, None] + 1000 * rank).repeat(1, width),
        "completion_mask": lengths.long(),
        "advantages": torch.arange(count) + 1000.0 * rank,
        **{key: torch.zeros(count, width) for key in ("old_per_token_logps", "sampling_per_token_logps")},
    }
    own = sum(value.numel() * value.element_size() for value in batch.values()) / 2**20
    before, sent = peak(), []
    plain = dist.send_object_list
    placement.dist.send_object_list = lambda rows, target: (sent.extend(rows), plain(rows, target))
    rows = unstack(batch)
    shortest = min(map(count_tokens, rows))
    rows = placement.spread_groups([[row] for row in rows], [*map(count_tokens, rows)], accelerator)
    ids = [int(row["advantages"]) for row in rows]
    assert all((row["completion_ids"] == number).all() for row, number in zip(rows, ids, strict=True))
    tokens = sum(map(count_tokens, rows))
    return {"sent": len(sent), "ids": ids, "tokens": tokens, "shortest": shortest, "own": own, "peak": peak() - before}
