"""TRL's asynchronous trainer without groups whose rewards are all equal."""

import queue
from functools import partial
from multiprocessing import get_context
from typing import Any

from transformers import TrainerCallback
from trl.experimental.async_grpo import AsyncGRPOTrainer
from trl.experimental.async_grpo.async_rollout_worker import AsyncRolloutWorker, _AsyncRolloutLoop

from ..records.kinds import TOLERANCE, Kind, is_dead, kind_of_group
from .trl_members import ASYNC_TRAINER, ROLLOUT_LOOP, ROLLOUT_LOOP_ATTRIBUTES, ROLLOUT_WORKER, check_members
from .validation import find_outcome


class LiveRolloutLoop(_AsyncRolloutLoop):
    """
    TRL's rollout loop, which runs in a separate process, without dead groups.

    The only change with respect to TRL's loop is that `_score_group` returns no sample of a dead group and reports what
    every group is.

    Args:
        scored (`multiprocessing.Queue`):
            Takes the id of every group, and `"live"` or the kind of dead group.
        tolerance (`float`):
            Largest difference between the rewards of a dead group.
        outcome_reward (`str`, *optional*):
            Name of the reward that says which completions are right.
        **kwargs:
            The arguments of TRL's loop.
    """

    def __init__(self, *, scored: Any, tolerance: float, outcome_reward: str | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_members(self, ROLLOUT_LOOP_ATTRIBUTES)
        self._scored, self._tolerance = scored, tolerance
        self._outcome = find_outcome(outcome_reward, self.reward_func_names, self.reward_funcs)
        self._scored.cancel_join_thread()  # a trainer that has ended no longer reads

    async def _score_group(self, group):
        samples = await super()._score_group(group)
        kind = self._kind(samples)
        for name, is_kind in {"dead": kind != "live", "solved": kind == "solved", "failed": kind == "failed"}.items():
            self._rates[f"groups/{name}"][0] += is_kind  # shares, as TRL's worker sends them
            self._rates[f"groups/{name}"][1] += 1
        self._scored.put((group.group_id, kind))
        return samples if kind == "live" else []

    def _kind(self, samples: list) -> Kind:
        """Return what a group is."""
        if not samples:
            return "unscored"
        outcome = f"rewards/{self.reward_func_names[self._outcome]}"
        totals, outcomes = ([sample.metrics[name] for sample in samples] for name in ("reward", outcome))
        return kind_of_group(is_dead(totals, self._tolerance), totals, outcomes)


class DroppedGroups(TrainerCallback):
    """
    Counts dropped groups among those that TRL has trained on.

    TRL finds the end of an epoch and the place to resume from by that number. The worker runs ahead of the trainer, so a
    dropped group counts once a later one has been trained on.

    Args:
        trainer ([`~trl.experimental.async_grpo.AsyncGRPOTrainer`]):
            The trainer whose worker drops groups.
        scored (`multiprocessing.Queue`):
            Gives the id and the kind of every group.
        patience (`int`):
            Number of consecutive dead groups after which training stops.
    """

    def __init__(self, trainer: AsyncGRPOTrainer, scored: Any, patience: int) -> None:
        self.trainer, self.scored, self.patience = trainer, scored, patience
        self.ahead: set[int] = set()
        self.in_a_row: list[str] = []

    def on_optimizer_step(self, args, state, control, **kwargs) -> None:  # TRL reads the number at the end of the step
        self.read()
        self.count(before=max(self.trainer._trained_groups, default=0))

    def read(self) -> None:
        while True:
            try:
                group, kind = self.scored.get_nowait()
            except queue.Empty:
                return
            if kind == "live":
                self.in_a_row = []
            else:
                self.ahead.add(group)
                self.in_a_row.append(kind)

    def count(self, before: float) -> None:
        now = {group for group in self.ahead if group < before}
        self.ahead -= now
        self.trainer._trained_groups |= now
        self.trainer._last_groups_trained += len(now)  # TRL logs only those that it trained on

    def check(self) -> None:
        """
        Check that waiting for a live group makes sense.

        Raises:
            `RuntimeError`: too many consecutive groups were dead. It is raised in the trainer's process, since TRL's
                worker waits forever for a process that has ended by itself.
        """
        self.read()
        if len(self.in_a_row) >= self.patience:
            counts = ", ".join(f"{self.in_a_row.count(kind)} {kind}" for kind in dict.fromkeys(self.in_a_row))
            raise RuntimeError(
                f"The last {len(self.in_a_row)} groups were all dead ({counts}), so there is nothing to train on. Resume "
                f"from the last checkpoint with prompts that are sometimes answered right, find out why groups are "
                f"unscored if they are, or wait longer: drop_dead_groups(trainer, patience=...)."
            )


def drop_dead_groups(
    trainer: AsyncGRPOTrainer,
    *,
    patience: int = 256,
    tolerance: float = TOLERANCE,
    outcome_reward: str | None = None,
) -> None:
    """
    Make TRL's asynchronous trainer train on live groups only. Call it before `trainer.train()`.

    Dead groups are dropped in the process that scores them, and the trainer waits for others, so every step is full of
    groups that teach something. `groups/dead`, `groups/solved` and `groups/failed` are logged as shares of all groups.
    TRL's own reward metrics cover the groups that it trains on.

    Args:
        trainer ([`~trl.experimental.async_grpo.AsyncGRPOTrainer`]):
            A trainer with TRL's own worker, which starts when training starts.
        patience (`int`, *optional*, defaults to `256`):
            The run stops with an error after this many consecutive dead groups.
        tolerance (`float`, *optional*, defaults to `1e-6`):
            Largest difference between the rewards of a dead group.
        outcome_reward (`str`, *optional*):
            Name of the reward that says which completions are right. By default it is the first reward that is
            registered as an outcome, and without one the first reward.

    Raises:
        `TypeError`: the trainer's worker is not TRL's, or already drops groups.
        `ValueError`: `patience` is not positive, the worker has started, or no reward is named `outcome_reward`.

    Example:

    ```python
    trainer = AsyncGRPOTrainer("Qwen/Qwen3-4B", reward_funcs=boxed() + 0.2 * tags("think"), train_dataset=problems)
    drop_dead_groups(trainer)
    trainer.train()
    ```
    """
    if patience < 1:
        raise ValueError(f"drop_dead_groups() requires patience of at least 1; got {patience}.")
    worker = trainer.rollout_worker
    if worker is None:  # only the first rank has one
        return
    check_members(_AsyncRolloutLoop, ROLLOUT_LOOP)
    check_members(trainer, ASYNC_TRAINER)
    if not isinstance(worker, AsyncRolloutWorker) or worker._loop_cls is not _AsyncRolloutLoop:
        raise TypeError(
            f"drop_dead_groups() changes the loop of TRL's AsyncRolloutWorker, but the trainer has {worker!r} with "
            f"another loop. Call it only once, and leave `rollout_worker` out or drop the groups in your own loop."
        )
    check_members(worker, ROLLOUT_WORKER)
    if worker._process is not None:
        raise ValueError("The trainer's worker has started already. Call drop_dead_groups() before train().")
    functions = worker._loop_kwargs["reward_funcs"]
    if not worker._loop_kwargs.get(
        "environment_factory"
    ):  # environments add rewards of their own in the other process
        find_outcome(outcome_reward, [getattr(function, "__name__", "") for function in functions], functions)
    scored = get_context("spawn").Queue()
    dropped = DroppedGroups(trainer, scored, patience)
    trainer.add_callback(dropped)
    check_health = worker.check_health

    def check_health_and_groups(stale_after_s: float) -> None:  # TRL asks while it waits for samples
        check_health(stale_after_s)
        dropped.check()

    worker._loop_cls = partial(LiveRolloutLoop, scored=scored, tolerance=tolerance, outcome_reward=outcome_reward)
    worker.check_health = check_health_and_groups
