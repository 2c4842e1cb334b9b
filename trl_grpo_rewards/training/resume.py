"""The checkpoint that a run is resumed from, on which all ranks agree."""

import logging
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from accelerate.utils import DistributedType, broadcast_object_list, gather_object

from ..errors import CheckpointMismatch
from ..files import choose_last_checkpoint, describe_fault, find_last_checkpoint
from ..records.runs import describe_changes, read_run
from .config import FilteredGRPOConfig


logger = logging.getLogger(__name__)


def agree_on_checkpoint(resume: Any, args: FilteredGRPOConfig, run: dict[str, Any], accelerator: Accelerator) -> Any:
    """Return the checkpoint to resume from. All ranks raise if it is not complete; the first warns of differences."""
    if resume is True:
        (resume,) = broadcast_object_list([choose_last_checkpoint(args.output_dir) or True])
    if resume is None or isinstance(resume, bool):  # transformers starts anew, or says that there is none
        return resume
    folder, file = Path(resume), "rng_state.pth" if args.world_size == 1 else f"rng_state_{args.process_index}.pth"
    has_deepspeed = accelerator.distributed_type == DistributedType.DEEPSPEED
    fault = describe_fault(folder, has_deepspeed)
    if not folder.is_dir():
        fault = f"resume_from_checkpoint must be the folder of a checkpoint, or True for the last one; there is no {resume!r}."
    elif fault:
        last = find_last_checkpoint(folder.parent, lambda one: not describe_fault(one, has_deepspeed))
        fault = f"{fault} {f'Resume {last!r}, or start' if last else 'Start'} a new run from its weights."
    seen = gather_object([(fault, None if (folder / file).exists() else file)])
    for fault, _ in seen:
        if fault:
            raise CheckpointMismatch(fault)
    if args.process_index:
        return resume
    if missing := [file for _, file in seen if file]:
        logger.warning(
            f"The checkpoint in {folder} must have the random state of each rank for a run to go on exactly; it has "
            f"no {' and no '.join(missing)}, so other completions are sampled. Resume with as many ranks as saved it."
        )
    before = read_run(folder.parent)
    if before and (changes := describe_changes(before, run)):
        logger.warning(
            f"A resumed run should have the rewards, the dataset and the options of the interrupted one, but these "
            f"differ: {changes}. Set them as before, unless you changed them on purpose."
        )
    return resume
