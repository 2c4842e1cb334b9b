"""What a selective stream learns in the process of TRL's rollout worker, kept in the checkpoints of the trainer."""

from dataclasses import dataclass
from itertools import count
from pathlib import Path

from trl.experimental.async_grpo import AsyncGRPOTrainer

from .drawing import SelectiveStream


@dataclass(frozen=True)
class Lesson:
    """
    What a stream learns from a group.

    Args:
        row (`int`):
            The prompt.
        start, end (`int`):
            Position of the stream before and after it drew the prompt.
        right, scored (`int`):
            Number of completions that are right, and that have a score.
    """

    row: int
    start: int
    end: int
    right: int
    scored: int


class KeptStream:
    """
    The trainer's copy of the stream that the worker draws prompts from. It learns what the worker reports.

    The trainer saves it with the state of its random numbers, and loads it with its optimizer, before the worker starts.

    Args:
        trainer ([`~trl.experimental.async_grpo.AsyncGRPOTrainer`]):
            The trainer. Its methods that save and load these are replaced on this object.
        stream ([`SelectiveStream`]):
            The stream that the worker starts with.
    """

    def __init__(self, trainer: AsyncGRPOTrainer, stream: SelectiveStream) -> None:
        self.trainer, self.stream = trainer, stream
        self.ends: dict[int, int] = {}  # position after the prompt of each group was drawn
        self.save_random_state, self.load_optimizer = trainer._save_rng_state, trainer._load_optimizer_and_scheduler
        trainer._save_rng_state, trainer._load_optimizer_and_scheduler = self.save, self.load

    def learn(self, group: int, lesson: Lesson) -> None:
        self.ends[group] = lesson.end
        for position in range(lesson.start, lesson.end - 1):
            self.stream.skips[position % self.stream.size] += 1  # the worker's stream is not shuffled
        self.stream.learn([lesson.row], [lesson.right], [lesson.scored])

    def save(self, output_dir: str) -> None:
        """Save everything learned, with the position of the first group that TRL will sample again."""
        self.save_random_state(output_dir)
        first = next(group for group in count() if group not in self.trainer._trained_groups)  # as TRL finds it
        last = max((group for group in self.ends if group < first), default=None)
        if last is not None:
            self.stream.position = self.ends[last]
        self.stream.save(Path(output_dir), at_end=True)

    def load(self, checkpoint: str | None) -> None:
        self.load_optimizer(checkpoint)
        if checkpoint:  # which has no stream if the run that wrote it was not selective
            self.stream.position = self.trainer.rollout_worker._loop_kwargs["dataset_start_index"]
            self.stream.load(Path(checkpoint))
