"""Writing records during training: ranks send their rows to the main process, and a thread writes them there."""

import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from torch import distributed
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ..distributed import rank_index, world_size
from ..records.fields import CompletionFields, pack_rows
from ..records.files import GroupWriter
from .config import FilteredGRPOConfig


logger = logging.getLogger(__name__)


class Recorder(TrainerCallback):
    """
    Collect the completions of a generation and write their records in a thread.

    The thread works on one generation at a time, so that memory stays bounded. A step ends when its records are on
    disk, and thus before its checkpoint is saved. The interpreter waits for the thread before it exits.

    Args:
        args ([`FilteredGRPOConfig`]):
            Configuration of the run.
    """

    def __init__(self, args: FilteredGRPOConfig) -> None:
        self.args = args
        self.rows: list[CompletionFields] | None = []  # None if they cannot be described
        self.writer = GroupWriter(args.output_dir)
        self.thread = ThreadPoolExecutor(1, "group-records")
        self.writing: Future[None] | None = None

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.writer = GroupWriter(self.args.output_dir, state.global_step + 1)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.flush()

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.flush()
        if self.writer.lost:
            logger.warning(f"{self.writer.lost} group(s) of this run have no record. An earlier warning says why.")

    def collect(
        self,
        inputs: list[dict],
        prompts: list,
        completions: list,
        completion_ids: list[list[int]],
        last_ids: set[int],
        logged: Mapping[str, list[Any]] | None = None,
        lengths: list[int] | None = None,
    ) -> None:
        """Keep the fields of this rank's completions until they are gathered. For the arguments, see [`pack_rows`]."""
        if self.args.group_records:
            has_text, has_ids = self.args.group_records_text, self.args.group_records_ids
            try:
                self.rows = pack_rows(
                    inputs, prompts, completions, completion_ids, last_ids, has_text, has_ids, logged, lengths
                )
            except Exception as error:  # completions and columns may be anything
                self.rows = None
                self.writer.lose(len(inputs) // self.args.num_generations, error)

    def gather(self) -> list[CompletionFields]:
        """
        Return the rows of all ranks on the main process, rank by rank, and an empty list on the other ranks.

        The list is also empty if the rows of a rank cannot be described, because groups may span ranks.

        Every rank must call this.
        """
        rows, self.rows = self.rows, []
        if not self.args.group_records or world_size() == 1:
            return rows or []
        parts: list[list[CompletionFields] | None] = [[]] * world_size() if rank_index() == 0 else []
        distributed.gather_object(rows, parts or None)
        return [row for part in parts for row in part or ()] if None not in parts else []

    def write(self, step: int, records: Iterable[dict[str, Any]]) -> None:
        """Write the records of a step in the thread. The data that they are made from must not change afterwards."""
        self.flush()
        self.writing = self.thread.submit(self.writer.write, step, records)

    def flush(self) -> None:
        """Wait until everything is written."""
        writing, self.writing = self.writing, None
        if writing is not None:
            writing.result()
