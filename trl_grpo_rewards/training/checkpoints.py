"""The checkpoint that a run is resumed from, on which all ranks agree, and the metric of the best checkpoint."""

import copy
import logging
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from accelerate.utils import DistributedType, broadcast_object_list, gather_object
from transformers import EarlyStoppingCallback

from ..errors import CheckpointMismatch
from ..expressions import Reward
from ..files import choose_last_checkpoint, describe_fault, find_last_checkpoint
from ..records.runs import list_facts, read_run
from .config import FilteredGRPOConfig, Unnamed, choose_metric


logger = logging.getLogger(__name__)
KEPT = ("Rewards", "Model", "Dataset", "Learning rate", "Seed")  # facts that a resumed run should not change
OWN_METRICS = ("entropy", "epoch", "kl", "loss", "reward", "runtime")  # TRL's metrics that are named by one word
LIBRARIES = ("transformers", "trl", "trl_grpo_rewards")  # whose callbacks and trainers log no other metric of one word


def agree_on_checkpoint(resume: Any, args: FilteredGRPOConfig, run: dict[str, Any], accelerator: Accelerator) -> Any:
    """Return the checkpoint to resume from. All ranks raise if it is not complete; the first warns of differences."""
    if resume is True:
        (resume,) = broadcast_object_list([choose_last_checkpoint(args.output_dir) or True])
    if resume is None or isinstance(resume, bool):  # transformers starts anew, or says that there is none
        return resume
    folder = Path(resume)
    file = "rng_state.pth" if args.world_size == 1 else f"rng_state_{args.process_index}.pth"
    fault = describe_unfit(folder, accelerator.distributed_type == DistributedType.DEEPSPEED)
    seen = gather_object([(fault, None if (folder / file).exists() else file)])
    for fault, _ in seen:
        if fault:
            raise CheckpointMismatch(fault)
    if args.process_index == 0:
        warn_of_missing(folder, [missing for _, missing in seen if missing])
        warn_of_differences(folder, run)
    return resume


def describe_unfit(folder: Path, has_deepspeed: bool) -> str:
    """Return why a run cannot be resumed from a folder, or nothing."""
    if not folder.is_dir():
        return f"resume_from_checkpoint must be the folder of a checkpoint, or True for the last one; there is no '{folder}'."
    fault = describe_fault(folder, has_deepspeed)
    if not fault:
        return ""
    last = find_last_checkpoint(folder.parent, lambda other: not describe_fault(other, has_deepspeed))
    return f"{fault} {f'Resume {last!r}, or start' if last else 'Start'} a new run from its weights."


def warn_of_missing(folder: Path, files: list[str]) -> None:
    if files:
        logger.warning(
            f"The checkpoint in {folder} must have the random state of each rank for a run to go on exactly; it has "
            f"no {' and no '.join(files)}, so other completions are sampled. Resume with as many ranks as saved it."
        )


def warn_of_differences(folder: Path, run: dict[str, Any]) -> None:
    before = list_facts(read_run(folder.parent) or {})
    now = list_facts(run)
    unlike = [name for name in KEPT if name in before and before[name] != now.get(name, before[name])]
    if unlike:
        changes = ", ".join(f"{name} (before: {before[name]}; now: {now[name]})" for name in unlike)
        logger.warning(
            f"The resumed run differs from the interrupted one: {changes}. If this is not intended, change it back."
        )


def resume_order(repeated: Any, epoch: float, batch_size: int) -> int:
    """Advance TRL's sampler, which no checkpoint contains, and return the number of micro-batches before it."""
    for _ in range(math.floor(epoch)):
        next(iter(repeated), None)  # the sampler shuffles when the first row is taken
    return round(epoch * len(repeated) / batch_size)


def check_metric(
    args: FilteredGRPOConfig,
    reward_funcs: list[Any],
    names: Sequence[str],
    eval_dataset: Any,
    users: Sequence[type] = (object,),
) -> None:
    """Refuse a `metric_for_best_model` that is surely not logged. Plain functions and classes of users may log any name."""
    if args.metric_for_best_model is None or args.eval_strategy == "no":
        return
    metric = args.metric_for_best_model.removeprefix("eval_")
    sets = [*eval_dataset] if isinstance(eval_dataset, dict) else []
    fault = ""
    if is_never_logged(metric, reward_funcs, names, users) or (sets and metric == "loss"):
        fault = f"metric_for_best_model must be a metric of the evaluation; got {args.metric_for_best_model!r}."
    elif isinstance(args.metric_for_best_model, Unnamed) and len(sets) > 1:
        fault = (
            f"With several evaluation sets, metric_for_best_model must be named, since TRL logs the rewards of all "
            f"sets under the same names and keeps those of the last set ({sets[-1]!r})."
        )
    if fault:
        losses = [f"{name}_loss" for name in sets] or ["loss"]
        listed = [f"eval_{logged}" for logged in [*(f"rewards/{name}/mean" for name in names), "reward", *losses]]
        raise ValueError(
            f"{fault} Set it to one of {', '.join(listed)}, or to another metric that is logged with eval_ in front."
        )


def is_never_logged(metric: str, functions: Sequence[Any], names: Sequence[str], users: Sequence[type]) -> bool:
    """Whether an evaluation surely logs no such metric. Rewards log theirs with their name in front."""
    if metric.startswith("rewards/"):
        return bool(names) and metric not in {f"rewards/{name}/{part}" for name in names for part in ("mean", "std")}
    if metric in OWN_METRICS or not all(isinstance(function, Reward) for function in functions):
        return False
    return metric in names or (metric.isalpha() and not users)


def name_metric(trainer: Any, outcome: str) -> FilteredGRPOConfig:
    """Return the configuration of a trainer with `outcome` as the metric if one is needed and none is set."""
    found = trainer.args
    args = copy.copy(found)
    if any(isinstance(one, EarlyStoppingCallback) for one in trainer.callback_handler.callbacks):
        args.metric_for_best_model = choose_metric(args)
    classes = [type(trainer), *map(type, trainer.callback_handler.callbacks)]
    users = [one for one in classes if one.__module__.partition(".")[0] not in LIBRARIES]
    check_metric(args, trainer.reward_funcs, trainer.reward_func_names, trainer.eval_dataset, users)
    if not isinstance(args.metric_for_best_model, Unnamed):
        return found
    if args.process_index == 0:
        logger.warning(
            f"metric_for_best_model is not set: the best checkpoint is the one with the highest {outcome}. TRL would "
            f"take the lowest eval_loss, which says little about a policy."
        )
    args.metric_for_best_model = outcome
    args.greater_is_better = True
    return args
