"""A callback that ends a run which is hopeless."""

import logging
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState

from ..records.signs import Signs
from ..records.symptoms import judge


logger = logging.getLogger(__name__)

HOPELESS = ("dead", "not_finite", "held_out_fall")
"""The rules whose warnings end a run."""


class StopOnWarning(TrainerCallback):
    """
    Ends a run that is hopeless. It saves a checkpoint, and a warning says why. It also works with TRL's own trainer.

    A run ends if no group is live for many steps, if values are not finite, or if the held-out score falls while the reward
    rises, as the report would warn of it. Only steps of this training count, not those
    before a resume.

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
        self.outcome, self.patience, self.start = outcome, patience, 0

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self.start = state.global_step

    def on_log(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        signs = Signs(state.log_history, outcome=self.outcome, patience=self.patience, since=self.start)
        found = [one for told in judge(signs, HOPELESS).values() for one in told]
        if not found or control.should_training_stop:
            return
        control.should_save = control.should_training_stop = True  # every rank has the same metrics
        if state.is_world_process_zero:
            logger.warning(
                f"StopOnWarning ends the run at step {state.global_step} and saves a checkpoint. {found[0].title}. "
                f"{found[0].details}"
            )
