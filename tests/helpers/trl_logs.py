"""Logs as TRL's own trainer writes them."""

import json
import math


def entry(step, right=0.25, style=0.5, *, weight=0.5, **more):
    """An entry of training in TRL's log."""
    return {
        "step": step, "epoch": step / 60, "loss": 0.1, "reward": right + weight * style, "reward_std": 0.4, "entropy": 2 - step / 100,
        "rewards/correct/mean": right, "rewards/correct/std": math.sqrt(right * (1 - right)), "rewards/style/mean": style,
        "rewards/style/std": 0.1, "completions/mean_length": 40.0, "completions/min_length": 3.0,
        "completions/max_length": 64.0, "completions/clipped_ratio": 0.125, "frac_reward_zero_std": 0.25,
        "grad_norm": 1.0, "step_time": 2.0, "num_tokens": 900.0 * step, **more,
    }  # fmt: skip


def evaluation(step, right, prefix="eval_"):
    times = {f"{prefix}runtime": 2.0, f"{prefix}samples_per_second": 50.0}
    return {
        "step": step,
        **times,
        **{f"eval_{name}": value for name, value in entry(1, right).items() if name != "step"},
    }


def saved(folder, log, **more):
    folder.mkdir(parents=True, exist_ok=True)
    state = {"global_step": 60, "max_steps": 60, "log_history": log, **more}
    text = log if isinstance(log, str) else json.dumps(state)
    (folder / "trainer_state.json").write_text(text)
    return folder
