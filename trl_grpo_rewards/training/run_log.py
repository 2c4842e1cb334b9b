"""The trainer's log as a file that grows with the run, for its report."""

from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ..records.logs import LogWriter


class RunLog(TrainerCallback):
    """Writes each entry of the trainer's log to the output directory. An evaluation before training waits for it."""

    def __init__(self) -> None:
        self.early: list[dict[str, Any]] = []
        self.writer: LogWriter | None = None

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, *others: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            self.writer = LogWriter(args.output_dir or ".")
            self.writer.start([*self.early, *state.log_history])
        self.early = []

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        entry = state.log_history[-1]
        if self.writer is not None:
            self.writer.write(entry)
        elif state.is_world_process_zero:
            self.early.append(entry)
