"""Warnings about a run in which nothing is learned. One callback also ends the run."""

import logging
from collections import deque
from collections.abc import Mapping
from statistics import fmean
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ..records.dead_groups import GroupKind, Rule, count_lessons
from .signs import Signs
from .symptoms import diagnose
from .table import FACTS


logger = logging.getLogger(__name__)
MAX_STEPS = 200  # number of the latest steps that alarms look at. The report looks at all of them.
HOPELESS = ("not_finite", "broken", "dead", "held_out_fall")  # the rules whose warnings end a run


class Alarm(TrainerCallback):
    """Warns once of each fact that the report would warn of."""

    def __init__(
        self, args: TrainingArguments, metrics: Mapping[str, list[float]], rule: Rule, weights: dict[str, float]
    ) -> None:
        self.args = args
        self.outcome = rule.outcome_reward
        self.weights = weights
        self.metrics = metrics  # those that TRL collects until it logs them
        self.groups: deque[dict[str, Any]] = deque(maxlen=MAX_STEPS)
        self.told: set[str] = set()

    def observe(self, step: int, kinds: list[GroupKind], by_outcome: list[GroupKind], completions: int) -> None:
        """Remember the groups of a step: their kinds, also by the outcome alone, and how many completions they have."""
        dead = 1 - kinds.count("live") / len(kinds)
        entry = {"first": step, "step": step, "completions": completions, "groups/dead": dead}
        self.groups.append({**entry, "lessons": count_lessons(kinds, by_outcome)})

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        known = {name: [value for value in values if value == value] for name, values in self.metrics.items()}
        entry = {name: fmean(values) for name, values in known.items() if values}
        self.judge([*state.log_history, {**entry, "step": state.global_step}])

    def on_log(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self.judge(state.log_history)

    def judge(self, log: list[dict[str, Any]]) -> None:
        since = self.groups[0]["first"] - 1 if self.groups else 0  # a resumed run is judged by its own steps
        signs = Signs(log[-MAX_STEPS:], list(self.groups), since=since, outcome=self.outcome, weights=self.weights)
        for name, found in diagnose(signs, FACTS).items() if self.args.process_index == 0 else ():
            if found and name not in self.told:
                self.told.add(name)
                remedy = f"To read the groups, run trl-grpo-rewards report {self.args.output_dir}."
                logger.warning(f"{found[0].title}. {found[0].details} {remedy}")


class StopOnWarning(TrainerCallback):
    """
    Ends a run that is hopeless. It saves a checkpoint, and a warning says why. It also works with TRL's own trainer.

    A run ends if no group is live for many steps, if the model broke, if values are not finite, or if the held-out score
    falls while the reward rises, as the report would warn of it. Only steps of this training count, not those before a
    resume.

    Args:
        outcome (`str`, *optional*):
            Name of the reward that says what is right. By default, the first reward whose name sounds like it, such as
            `accuracy_reward`, and otherwise the first reward.
        patience (`int`, *optional*, defaults to `20`):
            Number of steps without a live group. They must have four times as many groups. Once a group was live, twice as
            many steps, and a tenth of the run.

    Raises:
        `ValueError`: `patience` is below 1.

    ```python
    >>> from trl_grpo_rewards import StopOnWarning
    >>> callback = StopOnWarning("boxed", patience=50)  # FilteredGRPOTrainer(..., callbacks=[callback])

    ```
    """

    def __init__(self, outcome: str = "", patience: int = 20) -> None:
        if patience < 1:
            raise ValueError(f"patience must be at least 1; got {patience}. Set it to a number of steps.")
        self.outcome = outcome
        self.patience = patience
        self.start = 0

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self.start = state.global_step

    def on_log(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        signs = Signs(state.log_history, outcome=self.outcome, patience=self.patience, since=self.start)
        found = [one for told in diagnose(signs, HOPELESS).values() for one in told]
        if not found or control.should_training_stop:
            return
        control.should_save = control.should_training_stop = True  # every rank has the same metrics
        if state.is_world_process_zero:
            logger.warning(
                f"StopOnWarning ends the run at step {state.global_step} and saves a checkpoint. {found[0].title}. "
                f"{found[0].details}"
            )
