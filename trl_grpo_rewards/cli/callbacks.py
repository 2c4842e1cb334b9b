"""What a run has changed: measured on held-out problems before and after, as a small table."""

import time
from dataclasses import dataclass

from transformers import Trainer, TrainerCallback
from transformers.trainer_callback import ProgressCallback

from ..batch import completion_text, prompt_text


@dataclass(frozen=True)
class Measurement:
    """
    Rewards on held-out problems, and a completion for each of a few of them.

    Args:
        rows (`dict[str, float]`):
            What the table shows, by name.
        completions (`dict[str, str]`):
            Prompt to completion.
    """

    rows: dict[str, float]
    completions: dict[str, str]


def measure(trainer: Trainer) -> Measurement:
    """Evaluate the trainer's model on its `eval_dataset`, sampled as in training."""
    metrics = trainer.evaluate()
    rows = {name: metrics[f"eval_rewards/{name}/mean"] for name in trainer.reward_func_names}
    rows |= {"reward": metrics["eval_reward"], "dead groups": metrics.get("eval_groups/dead")}
    completions: dict[str, str] = {}
    for prompt, completion in zip(trainer._logs["prompt"], trainer._logs["completion"], strict=True):
        completions.setdefault(prompt_text(prompt), completion_text(completion))
    return Measurement(rows | {"seconds": metrics["eval_runtime"]}, completions)


class BeforeAndAfter(TrainerCallback):
    """Measures when training begins and ends, inside of it: sharded models can be evaluated nowhere else."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer

    def on_train_begin(self, args, state, control, **kwargs):
        self.before = measure(self.trainer)
        self.start = time.monotonic()

    def on_train_end(self, args, state, control, **kwargs):
        self.seconds = time.monotonic() - self.start
        self.after = measure(self.trainer)

    def report(self, shown: int = 3) -> str:
        """The table of both measurements, and the completions of a few problems before and after."""
        before, after, steps = self.before, self.after, self.trainer.state.global_step
        width = max(len("held-out problems"), *map(len, before.rows))
        lines = [f"Trained to step {steps} in {self.seconds:.0f} s.", ""]
        lines.append(f"{'held-out problems':{width}}  {'before':>8}  {'after':>8}")
        for name, value in before.rows.items():
            if value is not None and after.rows[name] is not None:
                lines.append(f"{name:{width}}  {value:8.3f}  {after.rows[name]:8.3f}")
        both = [prompt for prompt in before.completions if prompt in after.completions]
        for prompt in both[:shown]:
            lines += ["", prompt, f"  before: {before.completions[prompt]}", f"  after:  {after.completions[prompt]}"]
        return "\n".join(lines)


class RewardProgress(ProgressCallback):
    """The progress bar, with the reward and the share of dead groups on it instead of every metric in print."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero and self.training_bar is not None and "reward" in (logs or {}):
            self.training_bar.set_postfix(reward=f"{logs['reward']:.3f}", dead=f"{logs.get('groups/dead', 0):.2f}")
