"""TRL's asynchronous trainer without groups whose rewards are all equal."""

import queue
from collections.abc import Iterator
from functools import partial
from itertools import count
from multiprocessing import get_context
from multiprocessing.queues import Queue
from typing import Any, TypeAlias

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from trl.experimental.async_grpo import AsyncGRPOTrainer
from trl.experimental.async_grpo.async_rollout_worker import AsyncRolloutWorker, _AsyncRolloutLoop

from ..records.dead_groups import DEFAULT_TOLERANCE, GroupKind, is_dead, kind_of_group
from .async_prompts import KeptStream, Lesson
from .config import check_selective
from .drawing import SelectiveStream, read_prior
from .trl_members import ASYNC_TRAINER, ROLLOUT_LOOP, ROLLOUT_LOOP_ATTRIBUTES, ROLLOUT_WORKER, check_members
from .validation import find_outcome


KindQueue: TypeAlias = "Queue[tuple[int, GroupKind, Lesson | None]]"
"""Carries the id, the kind and the lesson of every group from the worker's process to the trainer's."""


class LiveRolloutLoop(_AsyncRolloutLoop):
    """
    TRL's rollout loop, which runs in a separate process, without dead groups.

    The only changes with respect to TRL's loop are that `_score_group` returns no sample of a dead group and reports the
    kind of every group, and that the iterator over the dataset draws prompts selectively if there is a stream.

    Args:
        kinds (`multiprocessing.Queue`):
            Receives the id and the kind of every group, and its lesson if there is a stream.
        tolerance (`float`):
            Largest difference between the rewards of a dead group.
        outcome_reward (`str`, *optional*):
            Name of the reward that says which completions are right.
        stream ([`SelectiveStream`], *optional*):
            Draws the prompts, from its position on.
        **kwargs:
            The arguments of TRL's loop.
    """

    def __init__(
        self,
        *,
        kinds: KindQueue,
        tolerance: float,
        outcome_reward: str | None,
        stream: SelectiveStream | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_members(self, ROLLOUT_LOOP_ATTRIBUTES)
        self._kinds, self._tolerance = kinds, tolerance
        self._outcome = find_outcome(outcome_reward, self.reward_func_names, self.reward_funcs)
        self._kinds.cancel_join_thread()  # a trainer that has ended no longer reads
        self._stream, self._drawn = stream, dict[int, tuple[int, int, int]]()  # of each group that is not scored yet
        if stream is not None:
            self._dataset_iter = self._draw_rows(stream)

    def _draw_rows(self, stream: SelectiveStream) -> Iterator[dict[str, Any]]:
        """Yield the row of each group. TRL numbers groups in the order in which it takes rows."""
        for group in count():
            start = stream.position
            (row,) = stream.draw(1)
            self._drawn[group] = row, start, stream.position
            yield self.dataset[row]

    async def _score_group(self, group: Any) -> list[Any]:
        samples: list[Any] = await super()._score_group(group)
        kind, lesson = self._find_kind(samples), None
        if self._stream is not None:
            outcomes = self._read_outcomes(samples)
            scored = [score for score in outcomes if score == score]
            right = sum(score >= 1 for score in scored)
            lesson = Lesson(*self._drawn.pop(group.group_id), right, len(scored))
            self._stream.learn([lesson.row], [lesson.right], [lesson.scored])
        for name, is_kind in {"dead": kind != "live", "solved": kind == "solved", "failed": kind == "failed"}.items():
            self._rates[f"groups/{name}"][0] += is_kind  # TRL's worker sends a sum and a count
            self._rates[f"groups/{name}"][1] += 1
        self._kinds.put((group.group_id, kind, lesson))
        return samples if kind == "live" else []

    def _find_kind(self, samples: list[Any]) -> GroupKind:
        """Return the kind of a group."""
        if not samples:
            return "unscored"
        totals = [sample.metrics["reward"] for sample in samples]
        return kind_of_group(is_dead(totals, self._tolerance), totals, self._read_outcomes(samples))

    def _read_outcomes(self, samples: list[Any]) -> list[float]:
        """Return the scores of the outcome reward."""
        name = f"rewards/{self.reward_func_names[self._outcome]}"
        return [sample.metrics[name] for sample in samples]


class DroppedGroups(TrainerCallback):
    """
    Count dropped groups as groups that TRL has trained on, and pass on what the worker learns about the prompts.

    TRL uses this number to find the end of an epoch and the place to resume from. The worker runs ahead of the trainer,
    so a dropped group counts once a later group has been trained on.

    Args:
        trainer ([`~trl.experimental.async_grpo.AsyncGRPOTrainer`]):
            The trainer whose worker drops groups.
        kinds (`multiprocessing.Queue`):
            Provides the id, the kind and the lesson of every group.
        patience (`int`):
            Number of consecutive dead groups after which training stops.
        kept ([`KeptStream`], *optional*):
            Learns the lessons.
    """

    def __init__(self, trainer: AsyncGRPOTrainer, kinds: KindQueue, patience: int, kept: KeptStream | None) -> None:
        self.trainer, self.kinds, self.patience, self.kept = trainer, kinds, patience, kept
        self.dropped: set[int] = set()
        self.last_dead: list[GroupKind] = []

    def on_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.read_kinds()  # before TRL reads the number at the end of the step
        self.count_dropped(before=max(self.trainer._trained_groups, default=0))

    def read_kinds(self) -> None:
        while True:
            try:
                group, kind, lesson = self.kinds.get_nowait()
            except queue.Empty:
                return
            if self.kept is not None and lesson is not None:
                self.kept.learn(group, lesson)
            if kind == "live":
                self.last_dead = []
            else:
                self.dropped.add(group)
                self.last_dead.append(kind)

    def count_dropped(self, before: int) -> None:
        """Count the dropped groups with smaller ids as trained on."""
        passed = {group for group in self.dropped if group < before}
        self.dropped -= passed
        self.trainer._trained_groups |= passed
        self.trainer._last_groups_trained += len(passed)  # TRL logs only the groups that it trained on itself

    def check_patience(self) -> None:
        """
        Stop the run if so many consecutive groups were dead that a live one is unlikely to follow.

        Raises:
            `RuntimeError`: too many consecutive groups were dead. The error is raised in the trainer's process, because
                TRL's worker waits forever if the process of its loop ends by itself.
        """
        self.read_kinds()
        if len(self.last_dead) >= self.patience:
            counts = ", ".join(f"{self.last_dead.count(kind)} {kind}" for kind in dict.fromkeys(self.last_dead))
            raise RuntimeError(
                f"The last {len(self.last_dead)} groups were all dead ({counts}), so there is nothing to train on. "
                f"Resume from the last checkpoint with prompts that the model sometimes answers right. If groups are "
                f"unscored, find out why. To wait longer, call drop_dead_groups(trainer, patience=...)."
            )


def drop_dead_groups(
    trainer: AsyncGRPOTrainer,
    *,
    patience: int = 256,
    tolerance: float = DEFAULT_TOLERANCE,
    outcome_reward: str | None = None,
    selective: bool = False,
    selective_prior: str | None = None,
) -> None:
    """
    Make TRL's asynchronous trainer train on live groups only. Call it before `trainer.train()`.

    Dead groups are dropped in the process that scores them. The trainer waits for other groups, so every step trains on
    live groups only. `groups/dead`, `groups/solved` and `groups/failed` are logged as shares of all groups. TRL's own
    reward metrics cover only the groups that it trains on.

    Args:
        trainer ([`~trl.experimental.async_grpo.AsyncGRPOTrainer`]):
            A trainer with TRL's own worker. The worker starts when training starts.
        patience (`int`, *optional*, defaults to `256`):
            The run stops with an error after this many consecutive dead groups.
        tolerance (`float`, *optional*, defaults to `1e-6`):
            Largest difference between the rewards of a dead group.
        outcome_reward (`str`, *optional*):
            Name of the reward that says which completions are right. The default is the first of these that exists:
            (1) a reward that is registered as an outcome, (2) the first reward.
        selective (`bool`, *optional*, defaults to `False`):
            Whether to draw prompts by the probability that their next group has both right and wrong completions.
            Checkpoints contain what is known about the prompts, and a resumed run continues with it.
        selective_prior (`str`, *optional*):
            What is known about the prompts before training, as in [`FilteredGRPOConfig`].

    Raises:
        `TypeError`: the trainer's worker is not TRL's, or it already drops groups.
        `ValueError`: `patience` is less than 1, the worker has started, no reward is named `outcome_reward`, or prompts
            cannot be drawn from the dataset.

    Example:

    ```python
    trainer = AsyncGRPOTrainer("Qwen/Qwen3-4B", reward_funcs=boxed() + 0.2 * tags("think"), train_dataset=problems)
    drop_dead_groups(trainer)
    trainer.train()
    ```
    """
    if patience < 1:
        raise ValueError(
            f"drop_dead_groups() requires a patience of at least 1; got {patience}. Set it to the number of consecutive "
            f"dead groups that end the run."
        )
    check_selective(selective, selective_prior)
    worker = trainer.rollout_worker
    if worker is None:  # only the first rank has one
        return
    check_members(_AsyncRolloutLoop, ROLLOUT_LOOP)
    check_members(trainer, ASYNC_TRAINER)
    if not isinstance(worker, AsyncRolloutWorker) or worker._loop_cls is not _AsyncRolloutLoop:
        raise TypeError(
            f"drop_dead_groups() requires TRL's AsyncRolloutWorker with TRL's own loop; got {worker!r} with another loop. "
            f"Call drop_dead_groups() only once, and leave out `rollout_worker` or drop the groups in your own loop."
        )
    check_members(worker, ROLLOUT_WORKER)
    if worker._process is not None:
        raise ValueError("The trainer's worker has already started. Call drop_dead_groups() before train().")
    functions = worker._loop_kwargs["reward_funcs"]
    if not worker._loop_kwargs.get("environment_factory"):  # environments add their own rewards in the other process
        find_outcome(outcome_reward, [getattr(function, "__name__", "") for function in functions], functions)
    stream = None
    if selective:
        dataset = worker._loop_kwargs["dataset"]
        if not hasattr(dataset, "__len__"):
            raise ValueError(
                "selective=True requires a dataset that can be indexed, but the trainer's dataset is a stream. Load it "
                "without streaming, or leave out selective."
            )
        group, prior = worker._loop_kwargs["num_generations"], read_prior(selective_prior, dataset)
        stream = SelectiveStream(len(dataset), 0, shuffle=False, group=group, prior=prior)
    kinds: KindQueue = get_context("spawn").Queue()
    kept = None if stream is None else KeptStream(trainer, stream)
    dropped_groups = DroppedGroups(trainer, kinds, patience, kept)
    trainer.add_callback(dropped_groups)
    check_health = worker.check_health

    def check_health_and_patience(stale_after_s: float) -> None:  # TRL calls it while it waits for samples
        check_health(stale_after_s)
        dropped_groups.check_patience()

    worker._loop_cls = partial(
        LiveRolloutLoop, kinds=kinds, tolerance=tolerance, outcome_reward=outcome_reward, stream=stream
    )
    worker.check_health = check_health_and_patience
