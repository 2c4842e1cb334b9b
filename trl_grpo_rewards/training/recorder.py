"""Writing records during training: ranks send their rows to the main process, and a thread writes them there."""

import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from torch import distributed
from transformers import TrainerCallback, TrainerState, TrainingArguments

from ..distributed import rank_index, world_size
from ..records.fields import CompletionFields, describe_completions, describe_groups
from ..records.files import GroupWriter
from .config import FilteredGRPOConfig
from .generation import Generation


logger = logging.getLogger(__name__)


class Recorder(TrainerCallback):
    """Writes the records of a generation in a thread. A step ends when they are on disk, before its checkpoint is saved."""

    def __init__(self, args: FilteredGRPOConfig) -> None:
        self.args = args
        self.writer = GroupWriter(args.output_dir)
        self.thread = ThreadPoolExecutor(1, "group-records")
        self.writing: Future[None] | None = None

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, *others: Any, **kwargs: Any) -> None:
        self.writer = GroupWriter(self.args.output_dir, state.global_step + 1)

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        self.flush()

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        self.flush()
        if self.writer.lost:
            logger.warning(f"{self.writer.lost} group(s) of this run have no record. An earlier warning says why.")

    def record(self, step: int, generation: Generation, advantages: Sequence[float]) -> None:
        """Write a record of every group. The advantages of the generation come last. Every rank must call this."""
        if not self.args.group_records:
            return
        has_text, has_ids = self.args.group_records_text, self.args.group_records_ids
        mine: list[CompletionFields] | None = None
        try:
            mine = describe_completions(generation.completions, has_text, has_ids)
        except Exception as error:  # completions and columns may be anything
            self.writer.lose(0, error)  # the main process counts them
        completions = gather_fields(mine)
        if completions is None:
            self.writer.lost += len(generation.groups.kinds)
        elif completions:
            scores = generation.groups.describe([*advantages][-len(completions) :])
            self.write(step, describe_groups(completions, scores))

    def write(self, step: int, records: Iterable[dict[str, Any]]) -> None:
        """Write the records of a step in the thread. The data that they are made from must not change afterwards."""
        self.flush()
        try:
            self.writing = self.thread.submit(self.writer.write, step, records)
        except RuntimeError:  # this process can have no more threads; the executor still holds the call
            self.thread = ThreadPoolExecutor(1, "group-records")
            self.writer.write(step, records)

    def flush(self) -> None:
        """Wait until everything is written."""
        writing, self.writing = self.writing, None
        if writing is not None:
            writing.result()


def gather_fields(completions: list[CompletionFields] | None) -> list[CompletionFields] | None:
    """Return the completions of all ranks on the main process, and none on others. None of one rank is None for all."""
    if world_size() == 1:
        return completions
    parts: list[list[CompletionFields] | None] | None = [[]] * world_size() if rank_index() == 0 else None
    distributed.gather_object(completions, parts)
    return None if parts and None in parts else [one for part in parts or () for one in part or ()]
