"""A simulator of the log of TRL's GRPO trainer: a run that learns, and runs that fail in ways that have a name."""

import math
import random
from collections.abc import Callable
from typing import Any


def ramp(start: float, end: float, begin: float = 0.0) -> Callable[[float], float]:
    """Return a curve from start to end, which is flat until the share `begin` of the run."""
    return lambda at: (
        start + (end - start) * (1 - math.exp(-3 * max(0.0, at - begin) / (1 - begin))) / (1 - math.exp(-3))
    )


def bump(start: float, top: float, end: float) -> Callable[[float], float]:
    """Return a curve that rises to its top and falls again."""
    return lambda at: ramp(start, top)(2 * at) if at < 0.5 else ramp(top, end)(2 * at - 1)


HEALTHY: dict[str, Callable[[float], float]] = {
    "accuracy": ramp(0.2, 0.75),
    "format": ramp(0.5, 0.95),
    "held_out": ramp(0.2, 0.7),
    "dead": ramp(0.3, 0.45),
    "length": ramp(120, 150),
    "clipped": ramp(0.08, 0.04),
    "entropy": ramp(0.6, 0.3),
    "kl": ramp(0.001, 0.12),
    "grad_norm": ramp(0.5, 0.35),
    "clip_ratio": ramp(0.005, 0.02),
    "step_time": ramp(10, 11),
}
"""The curves of a run that learns, over the share of its steps."""

flat, stuck = ramp(0.3, 0.3), ramp(0.0, 0.0)
SITUATIONS: dict[str, dict[str, Callable[[float], float]]] = {
    "unpaid": {"accuracy": stuck, "held_out": stuck, "format": stuck},
    "cut_off": {"clipped": ramp(1.0, 1.0)},
    "dead": {"accuracy": stuck, "format": stuck, "dead": ramp(1.0, 1.0), "held_out": stuck},
    "not_finite": {"grad_norm": lambda at: math.nan if at > 0.7 else 0.4},
    "truncation": {"clipped": ramp(0.08, 0.55), "length": ramp(120, 230)},
    "mostly_dead": {"accuracy": ramp(0.03, 0.04), "held_out": ramp(0.03, 0.04), "dead": ramp(0.8, 0.9), "format": ramp(0.9, 0.95)},
    "held_out_fall": {"held_out": bump(0.3, 0.6, 0.3)},
    "form": {"accuracy": ramp(0.25, 0.25), "held_out": ramp(0.25, 0.25), "format": ramp(0.2, 0.95)},
    "entropy": {"entropy": ramp(0.6, 0.01), "accuracy": ramp(0.2, 0.45), "held_out": ramp(0.2, 0.4)},
    "kl": {"kl": lambda at: 0.05 * math.exp(max(0.0, 10 * (at - 0.55)))},
    "gradient": {"grad_norm": lambda at: 40.0 if round(at * 100) in (31, 52, 53, 77, 90) else 0.4},
    "longer": {"length": ramp(120, 260), "format": ramp(0.9, 0.9), "accuracy": flat, "held_out": flat},
    "clipping": {"clip_ratio": ramp(0.02, 0.5)},
    "slower": {"step_time": ramp(10, 28)},
}  # fmt: skip
"""What is different in runs that fail, by the name of the rule that should find it."""


def simulate(situation: str = "", seed: int = 0, *, steps: int = 100, every: int = 1) -> list[dict[str, Any]]:
    """Return the log of a run with 8 groups of 8 completions in each step, an entry for `every` steps, and evaluations."""
    rng, curves, log = random.Random(f"{situation} {seed}"), HEALTHY | SITUATIONS.get(situation, {}), []

    def share(name: str, at: float, count: int) -> float:
        mean = (
            min(max(curves[name](at) * rng.gauss(1, 0.1), 0.0), 1.0) if 0 < curves[name](at) < 1 else curves[name](at)
        )
        return sum(rng.random() < mean for _ in range(count)) / count

    def vary(name: str, at: float, spread: float = 0.1) -> float:
        return curves[name](at) * math.exp(rng.gauss(0, spread))

    for step in range(every, steps + 1, every):
        at = step / steps
        means = {name: share(name, at, 64 * every) for name in ("accuracy", "format")} | {
            "short": 0.5 - vary("length", at) / 2000
        }
        entry: dict[str, Any] = {
            "step": step,
            "loss": rng.gauss(0, 0.01),
            "learning_rate": 1e-6,
            "grad_norm": vary("grad_norm", at, 0.5),
        }
        for name, mean in means.items():
            entry |= {f"rewards/{name}/mean": mean, f"rewards/{name}/std": math.sqrt(max(mean * (1 - mean), 0.0))}
        entry |= {
            "reward": sum(means.values()),
            "frac_reward_zero_std": share("dead", at, 8 * every),
            "completions/mean_length": vary("length", at, 0.05),
            "completions/max_length": 256.0,
            "completions/clipped_ratio": share("clipped", at, 64 * every),
            "entropy": vary("entropy", at),
            "kl": vary("kl", at, 0.2),
            "clip_ratio/region_mean": vary("clip_ratio", at, 0.3),
            "step_time": vary("step_time", at),
        }
        log.append(entry)
        if step % max(5, every) == 0:
            score = share("held_out", at, 128)
            log.append(
                {"step": step, "eval_runtime": 1.0, "eval_rewards/accuracy/mean": score, "eval_reward": score + 0.5}
            )
    return log
