"""The scenarios that test_ranks.py and test_grid.py run on two ranks. Each returns what its rank saw."""

import asyncio
import os
import pickle
import random
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from helpers.chat_server import Scripted
from helpers.gradients import compare_drop
from helpers.grid import compare
from helpers.metric_means import compare_means
from helpers.models import save_layer
from helpers.ranks import write_rank
from helpers.reward_functions import live_if_odd, mostly_dead
from helpers.runs import find_lists_of_ids, small_config
from helpers.settings import RANKS
from trl_grpo_rewards import (
    FilteredGRPOConfig,
    FilteredGRPOTrainer,
    Reward,
    appeal,
    boxed,
    clip,
    code,
    column,
    demo,
    exact,
    gate,
    instructions,
    keywords,
    length,
    ranking,
    reward,
    route,
    share,
    shortest,
)
from trl_grpo_rewards.errors import CheckpointMismatch
from trl_grpo_rewards.records.files import read_records
from trl_grpo_rewards.texts import completion_text
from trl_grpo_rewards.training import checkpoints


MODEL = save_layer()  # before the ranks join, since then only the first one would save
SEEN = []


@reward(grouped=True)
def relative(prompt: str, completions: list[str], solution: str, log_extra, log_metric) -> list[float]:
    """How much shorter a completion is than the longest of its group."""
    SEEN.append([prompt, solution, completions])
    log_extra("members", [len(completions)] * len(completions))
    log_metric("groups", 1)
    return [max(map(len, completions)) - len(completion) for completion in completions]


@reward(grouped=True)
async def compared(prompt: str, completion_ids: list[list[int]], *, delay: float = 0.0) -> list[float]:
    await asyncio.sleep(delay)
    return [sum(sum(ids) < sum(others) for others in completion_ids) for ids in completion_ids]


@reward
def on_rank_zero(completion: str) -> float:
    return float(dist.get_rank() == 0)


@reward(grouped=True)
def best_of(prompt: str, completions: list[str], *, by: Reward, fail_on: int = -1) -> list[float]:
    if dist.get_rank() == fail_on:
        raise RuntimeError("out of order")
    return [float(score == max(by)) for score in by]


def config(folder, cls=FilteredGRPOConfig, **options):
    """Six rows a rank and groups of four: the second of three groups straddles the ranks."""
    args = small_config(folder, cls, **{"per_device_train_batch_size": 6, "per_device_eval_batch_size": 6, **options})
    assert args.world_size == 2
    return args


def trainer_of(cls, folder, funcs, data=None, size=32, model=MODEL, **options):
    args = config(folder, FilteredGRPOConfig if cls is FilteredGRPOTrainer else GRPOConfig, **options)
    if isinstance(funcs, Reward) and cls is GRPOTrainer:
        args.reward_weights, funcs = funcs.weights, funcs.rewards
    if data is None:
        data = demo.arithmetic("train", size=size).add_column("rate", [row % 5 / 4 for row in range(size)])
    return cls(model, funcs, args=args, train_dataset=data, eval_dataset=data.select(range(6)))


def whole_groups(folder) -> dict:
    """Grouped rewards, plain and async, under both trainers, in training and in evaluation."""
    total = (
        relative()
        + compared(delay=0.05)
        + compared(delay=0.0, name="quick")
        + gate(relative(name="gated"), by=keywords(any=("1",)), otherwise=-1)
        + route("solution", {"none": boxed()}, default=clip(best_of(by=compared()), high=0.5), name="routed")
    )
    runs = {}
    for cls in (GRPOTrainer, FilteredGRPOTrainer):
        trainer = trainer_of(cls, folder, total, max_steps=2, log_completions=True)
        SEEN.clear()
        trainer.train()
        seen, logs = list(SEEN), {name: list(values) for name, values in trainer._logs["rewards"].items()}
        texts = [completion_text(completion) for completion in trainer._logs["completion"]]
        extra = {name: list(values) for name, values in trainer._logs["extra"].items()}
        SEEN.clear()
        metrics = trainer.evaluate()
        runs[cls.__name__] = {
            "texts": texts,
            "rewards": logs,
            "extra": extra,
            "seen": seen,
            "seen in evaluation": list(SEEN),
            "evaluated": metrics["eval_rewards/relative/mean"],
        }
    return runs


def gate_open_on_one_rank(folder) -> dict:
    """Rows are scored where their group is owned, so that a rank may have none that is open."""
    trainer = trainer_of(FilteredGRPOTrainer, folder, gate(relative(), by=on_rank_zero(), otherwise=-1.0), max_steps=2)
    SEEN.clear()
    trainer.train()
    return {"seen": len(SEEN), "scores": list(trainer._logs["rewards"]["relative"])}


def criteria_of_rows(folder) -> dict:
    """Constraints of each row, a product and an appeal, under both trainers: what was logged, and what a call gives."""
    rewards = [instructions(partial=True), boxed() * length(8, unit="words"), appeal(exact(), to=on_rank_zero())]
    data = demo.arithmetic("train", size=32)
    lists = [["punctuation:no_comma", "length_constraints:number_words"][: 1 + row % 2] for row in range(32)]
    words = [[{}, {"num_words": 1 + row % 9, "relation": "at least"}][: 1 + row % 2] for row in range(32)]
    data = data.add_column("instruction_id_list", lists).add_column("kwargs", words)
    runs = {}
    for cls in (GRPOTrainer, FilteredGRPOTrainer):
        options = {"max_steps": 2, "log_completions": True, "max_completion_length": 24}
        trainer = trainer_of(cls, folder, rewards, data, model=demo.MODEL, **options)
        trainer.train()
        rows = [
            next(row for row in data if row["prompt"][-1]["content"] in str(text)) for text in trainer._logs["prompt"]
        ]
        call = {name: [row[name] for row in rows] for name in ("instruction_id_list", "kwargs", "solution")}
        texts = [*trainer._logs["completion"]]
        runs[cls.__name__] = {
            reward.name: [[*trainer._logs["rewards"][reward.name]], reward(completions=texts, **call)]
            for reward in rewards
        }
    return runs


def witnessed(folder) -> dict:
    """Two grouped terms of weight 0, next to terms that need whole groups."""
    total = share(keywords(any=("1",))) + appeal(boxed(), to=on_rank_zero(), refused=True, numbers=True, budget=0.5)
    total += 0 * relative() + 0 * compared()
    trainer = trainer_of(FilteredGRPOTrainer, folder, total, model=demo.MODEL, max_steps=3, log_completions=True)
    trainer.train()
    return {
        "asked": [entry["boxed/appeal/asked"] for entry in trainer.state.log_history if "reward" in entry],
        "compared": {name: [*steps] for name, steps in trainer._parting_alarm.steps.items()},
        "shares": list(trainer._logs["rewards"]["share"]),
    }


def failing(folder) -> dict:
    trainer = trainer_of(GRPOTrainer, folder, [best_of(by=compared(), fail_on=1)])
    try:
        trainer.train()
    except Exception as error:
        seen = {"type": type(error).__name__, "text": str(error), "notes": getattr(error, "__notes__", [])}
        write_rank(folder, seen)
        raise
    return {}


PATTERNS: Iterator = iter(())


def scripted(prompts, completions, **kwargs):
    """What the pattern of this batch says for each row of this rank: None, dead or alive."""
    kinds, worth = next(PATTERNS)[dist.get_rank()], {"none": None, "dead": 0.7}
    assert len(kinds) == len(completions)
    return [worth.get(kind, float(row)) for row, kind in enumerate(kinds)]


def patterns() -> list[list[list[str]]]:
    rng = random.Random(0)
    fixed = [
        [["dead"] * 6, ["dead"] * 6],
        [["none"] * 6, ["none"] * 6],
        [["dead"] * 6, ["live"] * 6],
        [["live"] * 6, ["dead"] * 6],
        [["dead"] * 5 + ["live"], ["dead"] * 6],
        [["none"] * 6, ["none"] * 5 + ["live"]],
    ]
    return fixed + [[rng.choices(["none", "dead", "live"], k=6) for _ in range(2)] for _ in range(6)]


def ranks_have_one_model(trainer) -> bool:
    """Return whether both ranks have the same finite weights."""
    flat = torch.cat([parameter.detach().flatten() for parameter in trainer.model.parameters()])
    flats = [torch.empty_like(flat) for _ in range(2)]
    dist.all_gather(flats, flat)
    return torch.equal(*flats) and bool(flat.isfinite().all())


class Compared(TrainerCallback):
    """Notes after each generation of three steps whether both ranks have one model."""

    def __init__(self):
        self.equal = []

    def on_step_end(self, args, state, control, model=None, **kwargs):
        if state.global_step % 3 == 0:
            self.equal.append(ranks_have_one_model(self.trainer))


def dead_patterns(folder) -> dict:
    """Whatever is dead where, both ranks go on and have the same model."""
    global PATTERNS
    compared = Compared()
    options = {"learning_rate": 0.01, "gradient_accumulation_steps": 1, "max_completion_length": 4}
    options |= {"per_device_train_batch_size": 2, "steps_per_generation": 3, "lr_scheduler_type": "constant"}
    for first, loss in enumerate(("dapo", "grpo")):
        chosen = patterns()[first::2]
        PATTERNS = iter(chosen)
        steps = 3 * len(chosen)
        trainer = trainer_of(FilteredGRPOTrainer, folder, scripted, **options, loss_type=loss, max_steps=steps)
        compared.trainer = trainer
        trainer.add_callback(compared)
        trainer.train()
    return {"equal": compared.equal}


def drops(folder) -> dict:
    """Drop against TRL with the tokens of dead groups masked."""
    problems = demo.arithmetic("train", size=64)
    make = partial(config, folder)
    options = {"gradient_accumulation_steps": 2, "per_device_train_batch_size": 6, "max_steps": 2}
    return {
        "differences": [compare_drop(make, problems, **options, loss_type=loss) for loss in ("dapo", "grpo", "luspo")]
    }


def metric_means(folder) -> dict:
    """What is logged of micro-batches against the same computed again, with dead groups on either rank."""
    problems, make = demo.arithmetic("train", size=64), partial(config, folder)
    options = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 6}
    found = [
        compare_means(make, problems, **options, **more)
        for more in (
            {"zero_variance": "drop", "beta": 0.1},
            {"loss_type": "grpo", "importance_sampling_level": "sequence"},
        )
    ]
    return {"differences": [difference for difference, _ in found], "names": [sorted(names) for _, names in found]}


def resampled(folder) -> dict:
    """A batch is filled from rounds in which all ranks take part, and all have the same rows to compute."""
    options = {"zero_variance": "drop", "max_resample_rounds": 20, "max_steps": 4, "learning_rate": 0.01}
    trainer = trainer_of(FilteredGRPOTrainer, folder, [mostly_dead], gradient_accumulation_steps=1, **options)
    trainer.train()
    equal = ranks_have_one_model(trainer)
    history = [entry for entry in trainer.state.log_history if "groups/rows_computed" in entry]
    used = [int(part["completion_mask"].any(1).sum()) for part in trainer._buffered_inputs]
    dist.barrier()
    (file,) = folder.glob("*/groups/*.jsonl")  # of the main process alone
    return {
        "outcomes": [[line["step"], line["outcome"], len(line["completions"])] for line in read_records(file)],
        "equal": equal,
        "computed": [entry["groups/rows_computed"] for entry in history],
        "rounds": [entry["groups/resample_rounds"] for entry in history],
        "used": used,
        "taken": trainer._prompts.position,
    }


class Gathered:
    """Notes what the object collectives of torch bring to this rank: how many bytes, and whether token ids."""

    def __init__(self, monkeypatch):
        self.size, self.has_ids, self.to_main = 0, False, 0
        everywhere, to_one = dist.all_gather_object, dist.gather_object

        def all_gather_object(parts, value, *args, **kwargs):
            everywhere(parts, value, *args, **kwargs)
            self.note(parts)

        def gather_object(value, parts=None, *args, **kwargs):
            to_one(value, parts, *args, **kwargs)
            self.to_main += 1
            if parts is not None:
                self.note(parts)

        monkeypatch.setattr(dist, "all_gather_object", all_gather_object)
        monkeypatch.setattr(dist, "gather_object", gather_object)

    def note(self, parts: list) -> None:
        self.size += len(pickle.dumps(parts))
        given = [*map(list, Held.given)]
        self.has_ids |= any(value in given for part in parts if isinstance(part, list) for value in part)


class Held(TrainerCallback):
    """Counts the completions that this rank holds as lists of token ids at the end of a step."""

    given: set = set()
    count = 0

    def on_step_end(self, args, state, control, **kwargs):
        self.count += len(find_lists_of_ids(self.given))


def tokens(completion_ids, **kwargs):
    Held.given.update(map(tuple, completion_ids))
    return [float(sum(ids)) for ids in completion_ids]


def recorded(folder) -> dict:
    """Runs with records, without, and with a disk that fails; what each brings to this rank."""
    runs = {}
    for name in ("on", "off", "lost"):
        with pytest.MonkeyPatch.context() as patch:
            output = folder / name
            output.mkdir(exist_ok=True)
            if name == "lost":
                (output / "groups").write_text("in the way")
            options = {"group_records": name != "off", "max_steps": 2, "max_completion_length": 3, "model": demo.MODEL}
            trainer = trainer_of(FilteredGRPOTrainer, folder, [tokens], output_dir=str(output), **options)
            held, gathered = Held(), Gathered(patch)
            trainer.add_callback(held)
            trainer.train()
            logged = [entry["groups/duplicates"] for entry in trainer.state.log_history if "groups/dead" in entry]
            kept = (output / "groups").is_file()
            runs[name] = {"duplicates": logged, "held": held.count, "kept": kept, **vars(gathered)}
    if dist.get_rank() == 0:
        decode = trainer.processing_class.batch_decode
        runs["lines"] = [
            [
                line["step"],
                line["group"],
                line["duplicates"],
                [completion_text(one) for one in line["completions"]],
                decode(line["completion_ids"], skip_special_tokens=True),
            ]
            for line in read_records(folder / "on")
        ]
    return runs


class Kill(TrainerCallback):
    """Kills its rank in the third step after a checkpoint, if the folder asks for that."""

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == args.save_steps + 2 and Path(args.output_dir, "kill").exists():
            os.kill(os.getpid(), signal.SIGKILL)


def resumed(folder, func=mostly_dead, **options) -> dict:
    """A resampling run, or the rest of it from its checkpoint, in a process that has run nothing before."""
    options = {"zero_variance": "drop", "max_resample_rounds": 5, "max_steps": 6, "learning_rate": 0.01} | options
    options = {"save_strategy": "steps", "save_steps": 3, "gradient_accumulation_steps": 1, **options}
    trainer = trainer_of(FilteredGRPOTrainer, folder, [func], output_dir=str(folder), **options)
    trainer.add_callback(Kill())
    trainer.train(resume_from_checkpoint=any(folder.glob("checkpoint-*")))
    weights = [parameter.double().sum().item() for parameter in trainer.model.parameters()]
    stream = trainer._prompts
    state = {name: array.tolist() for name, array in stream.get_state().items()} if stream else {}
    carried = [entry.get("groups/carried_over", 0) for entry in trainer.state.log_history]
    return {"weights": weights, "steps": len(trainer.state.log_history), "prompts": state, "carried": carried}


def resumed_with_surplus(folder) -> dict:
    """A run that carries groups over from a step to the next, also over its checkpoint."""
    options = {"per_device_train_batch_size": 10, "num_iterations": 2, "max_steps": 8, "save_steps": 4, "seed": 4}
    return resumed(folder, live_if_odd, **options)


def resumed_selective(folder) -> dict:
    """Prompts are drawn selectively, by pass rates in a column."""
    options = {"selective": True, "selective_prior": "rate", "max_steps": 15}
    return resumed(folder, zero_variance="skip", max_resample_rounds=0, **options)


def resumed_later(folder) -> dict:
    """A run in TRL's order, with a checkpoint in the second epoch. An epoch has two steps, and leaves a prompt out."""
    return resumed(folder, zero_variance="skip", max_resample_rounds=0, max_steps=7, size=7)


def resumed_without_parts(folder) -> dict:
    """A run of one step that is resumed without the random state of rank 1, and then without the optimizer."""
    said, errors = [], []
    checkpoints.logger.warning = said.append
    options = {"output_dir": str(folder), "save_strategy": "steps", "save_steps": 1}
    for step, part in enumerate(["", "rng_state_1.pth", "optimizer.pt"]):
        if part and dist.get_rank() == 0:
            (folder / "checkpoint-1" / part).unlink()
        dist.barrier()
        trainer = trainer_of(FilteredGRPOTrainer, folder, [mostly_dead], max_steps=step + 1, **options)
        try:
            trainer.train(resume_from_checkpoint=str(folder / "checkpoint-1") if part else None)
        except CheckpointMismatch as error:
            errors.append(str(error))
    return {"said": said, "errors": errors}


def judged(folder) -> dict:
    """Two judges and a ranking in one sum, under both trainers."""
    server = Scripted((folder / "port").read_text())
    total = server.judge(max_concurrency=4) + server.judge(name="kind", rubric="Is it kind?") + server.judge(ranking)
    runs = {}
    for cls in (GRPOTrainer, FilteredGRPOTrainer):
        trainer = trainer_of(cls, folder, total, model=demo.MODEL, log_completions=True)
        trainer.train()
        logged = trainer.state.log_history[0]
        runs[cls.__name__] = {
            "texts": [completion_text(completion) for completion in trainer._logs["completion"]],
            "rewards": {name: list(values) for name, values in trainer._logs["rewards"].items()},
            "reasons": list(trainer._logs["extra"]["ranking/reason"]),
            "calls": [logged[f"{name}/calls"] for name in ("judge", "kind", "ranking")],
        }
    return runs


def judged_by_rows(folder) -> dict:
    """A judge with a rubric of each row, of which a part is hidden in each step."""
    server = Scripted((folder / "port").read_text())
    rewards = server.judge(rubric=column("rubric"), dropout=0.5) + 0.1 * boxed()
    data = demo.arithmetic("train", size=32)
    rubrics = [
        [{"criterion": f"Has {row} or {digit}", "points": 1 + digit} for digit in range(8)] for row in range(32)
    ]
    data, options = data.add_column("rubric", rubrics), {"max_steps": 2, "log_completions": True}
    trainer = trainer_of(FilteredGRPOTrainer, folder, rewards, data, model=demo.MODEL, **options)
    trainer.train()
    verdicts, scores = (
        list(trainer._logs[kind][name]) for kind, name in (("extra", "judge/verdicts"), ("rewards", "judge"))
    )
    unreadable = [entry["judge/unreadable"] for entry in trainer.state.log_history if "judge/unreadable" in entry]
    return {"verdicts": verdicts, "scores": scores, "unreadable": unreadable}


def programs(folder) -> dict:
    """Programs are run next to a grouped reward, for which whole groups are gathered."""
    rewards = code() + 0.1 * shortest(code(), name="brief")
    options = {"per_device_train_batch_size": 12, "num_generations": 8, "max_completion_length": 64, "max_steps": 2}
    trainer = trainer_of(FilteredGRPOTrainer, folder, rewards, demo.programs(), model=demo.CODER, **options)
    trainer.train()
    logged = (
        [any("logged" in record for record in read_records(trainer.args.output_dir))] if dist.get_rank() == 0 else []
    )
    entries = [entry for entry in trainer.state.log_history if "code/runs" in entry]
    return {"logs": entries, "rewards": list(trainer._logs["rewards"]["code"]), "logged": logged}


def compare_settings(folder) -> dict:
    """What test_grid.py compares on two ranks."""
    return {setting.name: compare(setting, folder) for setting in RANKS}
