"""The rollouts of TRL's asynchronous trainer, less the groups whose rewards are all equal."""

import queue
from functools import partial
from multiprocessing import get_context
from typing import Any

import torch
from transformers import TrainerCallback
from trl.experimental.async_grpo import AsyncGRPOTrainer
from trl.experimental.async_grpo.async_rollout_worker import AsyncRolloutWorker, _AsyncRolloutLoop

from . import group_statistics
from .trl_members import ASYNC_TRAINER, ROLLOUT_LOOP, ROLLOUT_LOOP_ATTRIBUTES, ROLLOUT_WORKER, check_members


class LiveRolloutLoop(_AsyncRolloutLoop):
    """
    TRL's rollout loop in its process of its own, which hands live groups over and says of every group what it is.

    The only change with respect to TRL's is that `_score_group` gives nothing for a dead group.

    Args:
        scored (`multiprocessing.Queue`):
            Takes the id of every group, and `"live"` or which kind of dead it is.
        tolerance (`float`):
            Largest difference between the rewards of a dead group.
        **kwargs:
            As TRL's loop takes them.
    """

    def __init__(self, *, scored: Any, tolerance: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_members(self, ROLLOUT_LOOP_ATTRIBUTES)
        self._scored, self._tolerance = scored, tolerance
        self._scored.cancel_join_thread()  # a trainer that has ended reads no more, and must not be waited for

    async def _score_group(self, group):
        samples = await super()._score_group(group)
        kind = self._kind(samples)
        for name, is_kind in {"dead": kind != "live", "solved": kind == "solved", "failed": kind == "failed"}.items():
            self._rates[f"groups/{name}"][0] += is_kind  # shares, as TRL's worker sends them
            self._rates[f"groups/{name}"][1] += 1
        self._scored.put((group.group_id, kind))
        return samples if kind == "live" else []

    def _kind(self, samples: list) -> str:
        """Whether a group is live, or else which kind of dead, by its first reward."""
        if not samples:
            return "unscored"
        first = f"rewards/{self.reward_func_names[0]}"
        totals, outcome = (torch.tensor([[one.metrics[name] for one in samples]]) for name in ("reward", first))
        dead = group_statistics.dead(totals, self._tolerance)
        kinds = {"live": ~dead, **group_statistics.kinds(dead, totals, outcome)}
        return next(kind for kind, mask in kinds.items() if mask.item())


class Dropped(TrainerCallback):
    """
    Counts dropped groups among those that TRL has trained on, by which it knows where an epoch ends and a resume begins.

    The worker runs ahead of the trainer: a dropped group counts once a later one has been trained on.

    Args:
        trainer ([`~trl.experimental.async_grpo.AsyncGRPOTrainer`]):
            Whose worker drops groups.
        scored (`multiprocessing.Queue`):
            Gives the id and the kind of every group.
        patience (`int`):
            Dead groups in a row at which there is nothing more to wait for.
    """

    def __init__(self, trainer: AsyncGRPOTrainer, scored: Any, patience: int) -> None:
        self.trainer, self.scored, self.patience = trainer, scored, patience
        self.ahead: set[int] = set()
        self.in_a_row: list[str] = []

    def on_optimizer_step(self, args, state, control, **kwargs) -> None:  # TRL looks at the end of the step
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
        self.trainer._last_groups_trained += len(now)  # what TRL logs of a step are those it trained on

    def check(self) -> None:
        """
        For a trainer that waits: is there anything to wait for?

        Raises:
            `RuntimeError`: too many groups in a row were dead. It is raised here and not where they are scored, since
                TRL's worker waits for ever for a process that has ended by itself.
        """
        self.read()
        if len(self.in_a_row) >= self.patience:
            counts = ", ".join(f"{self.in_a_row.count(kind)} {kind}" for kind in dict.fromkeys(self.in_a_row))
            raise RuntimeError(
                f"The last {len(self.in_a_row)} groups had equal rewards each ({counts}), and there is nothing to train "
                f"on. Go on from the last checkpoint with prompts that are sometimes answered right, see why groups are "
                f"unscored if they are, or wait longer: drop_dead_groups(trainer, patience=...)."
            )


def drop_dead_groups(trainer: AsyncGRPOTrainer, *, patience: int = 256, tolerance: float = 1e-6) -> None:
    """
    Let TRL's asynchronous trainer train on live groups only; before `trainer.train()`.

    Groups whose rewards are all equal, or of which fewer than two are scored, are dropped where they are scored, and the
    trainer waits for others: every step is full of groups that teach something. `groups/dead`, `groups/solved` and
    `groups/failed` are logged, as shares of all groups; solved and failed by the first reward. What TRL logs of rewards
    is of the groups that it trains on.

    Args:
        trainer ([`~trl.experimental.async_grpo.AsyncGRPOTrainer`]):
            With TRL's own worker, which starts when training does.
        patience (`int`, *optional*, defaults to `256`):
            As many groups that are dead in a row, while the trainer waits, end the run with an error.
        tolerance (`float`, *optional*, defaults to `1e-6`):
            Largest difference between the rewards of a dead group.

    Raises:
        `TypeError`: the trainer's worker is not TRL's, or drops groups already.
        `ValueError`: `patience` is not positive, or the worker has started.

    Example:

    ```python
    trainer = AsyncGRPOTrainer("Qwen/Qwen3-4B", reward_funcs=boxed() + 0.2 * tags("think"), train_dataset=problems)
    drop_dead_groups(trainer)
    trainer.train()
    ```
    """
    if patience < 1:
        raise ValueError(
            f"drop_dead_groups() has patience={patience}, and no group would be waited for. Give it 1 or more."
        )
    worker = trainer.rollout_worker
    if worker is None:  # only the first rank has one
        return
    check_members(_AsyncRolloutLoop, ROLLOUT_LOOP)
    check_members(trainer, ASYNC_TRAINER)
    if not isinstance(worker, AsyncRolloutWorker) or worker._loop_cls is not _AsyncRolloutLoop:
        raise TypeError(
            f"drop_dead_groups() changes the loop of TRL's AsyncRolloutWorker, and the trainer has {worker!r} with "
            f"another loop. Call it once, and leave `rollout_worker` out or drop the groups in that loop."
        )
    check_members(worker, ROLLOUT_WORKER)
    if worker._process is not None:
        raise ValueError("The trainer's worker has started with TRL's loop. Call drop_dead_groups() before train().")
    scored = get_context("spawn").Queue()
    dropped = Dropped(trainer, scored, patience)
    trainer.add_callback(dropped)
    check_health = worker.check_health

    def check_health_and_groups(stale_after_s: float) -> None:  # TRL asks while it waits for samples
        check_health(stale_after_s)
        dropped.check()

    worker._loop_cls = partial(LiveRolloutLoop, scored=scored, tolerance=tolerance)
    worker.check_health = check_health_and_groups
