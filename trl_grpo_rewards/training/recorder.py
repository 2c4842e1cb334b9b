"""Records are written next to the training: ranks send their rows to the main process, and a thread writes them there."""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from torch import distributed
from transformers import TrainerCallback

from ..distributed import rank_index, world_size
from ..records.fields import Row, pack_rows
from ..records.files import GroupWriter
from .config import FilteredGRPOConfig


class Recorder(TrainerCallback):
    """
    Collect the completions of a generation and write their records in a thread.

    The thread works on one generation at a time, so that memory stays bounded. Everything is on disk before a step
    counts as done, and thus before its checkpoint is saved. The interpreter waits for the thread before it exits.

    Args:
        args ([`FilteredGRPOConfig`]):
            Configuration of the run.
    """

    def __init__(self, args: FilteredGRPOConfig) -> None:
        self.args = args
        self.rows: list[Row] = []
        self.writer = GroupWriter(args.output_dir)
        self.thread = ThreadPoolExecutor(1, "group-records")
        self.writing: Future | None = None

    def on_train_begin(self, args, state, control, **kwargs):
        self.writer = GroupWriter(self.args.output_dir, state.global_step + 1)

    def on_step_end(self, args, state, control, **kwargs):
        self.flush()

    def collect(self, *columns: list, last_ids: set[int]) -> None:
        """Keep what the records need of this rank's completions, given as in [`pack_rows`], until they are gathered."""
        if self.args.group_records:
            self.rows = pack_rows(*columns, last_ids, self.args.group_records_text, self.args.group_records_ids)

    def gather(self) -> list[Row]:
        """Return the rows of all ranks on the main process, rank by rank, and nothing elsewhere. All ranks call it."""
        rows, self.rows = self.rows, []
        if not self.args.group_records or world_size() == 1:
            return rows
        parts = [None] * world_size() if rank_index() == 0 else None
        distributed.gather_object(rows, parts)
        return [row for part in parts or () for row in part]

    def write(self, step: int, records: Iterable[dict[str, Any]]) -> None:
        """Hand over the records of a step. What they are made from must not change afterwards."""
        self.flush()
        self.writing = self.thread.submit(self.writer.write, step, records)

    def flush(self) -> None:
        """Wait until everything is written. Raises the error of the thread, if there is one."""
        writing, self.writing = self.writing, None
        if writing is not None:
            writing.result()
