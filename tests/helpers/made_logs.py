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


def drop(before: float, after: float, end: float = 0.6) -> Callable[[float], float]:
    """Return a curve that has another value after the share `end` of the run."""
    return lambda at: before if at <= end else after


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

flat, low, stuck = ramp(0.25, 0.25), ramp(0.03, 0.04), ramp(0.0, 0.0)
SITUATIONS: dict[str, dict[str, Callable[[float], float]]] = {
    "unpaid": {"accuracy": stuck, "held_out": stuck, "format": stuck},
    "cut_off": {"clipped": ramp(1.0, 1.0)},
    "dead": {"accuracy": stuck, "format": stuck, "dead": ramp(1.0, 1.0), "held_out": stuck},
    "not_finite": {"grad_norm": lambda at: math.nan if at > 0.7 else 0.4},
    "truncation": {"clipped": ramp(0.08, 0.55), "length": ramp(120, 230)},
    "mostly_dead": {"accuracy": low, "held_out": low, "dead": ramp(0.8, 0.9), "format": ramp(0.9, 0.95)},
    "held_out_fall": {"held_out": bump(0.3, 0.6, 0.3)},
    "form": {"accuracy": flat, "held_out": flat, "format": ramp(0.2, 0.95)},
    "entropy": {"entropy": ramp(0.6, 0.01), "accuracy": ramp(0.2, 0.45), "held_out": ramp(0.2, 0.4)},
    "kl": {"kl": lambda at: 0.05 * math.exp(max(0.0, 10 * (at - 0.55)))},
    "gradient": {"grad_norm": lambda at: 40.0 if round(at * 100) in (31, 52, 53, 77, 90) else 0.4},
    "longer": {"length": ramp(120, 260), "format": ramp(0.9, 0.9), "accuracy": flat, "held_out": flat},
    "clipping": {"clip_ratio": ramp(0.02, 0.5)},
    "slower": {"step_time": ramp(10, 28)},
    "unscored": {"accuracy": lambda at: math.nan if at > 0.5 else 0.3},
    "no_gradient": {"grad_norm": ramp(0, 0), "accuracy": flat, "held_out": flat, "format": flat},
    "entropy_rise": {"entropy": ramp(0.3, 6), "accuracy": ramp(0.3, 0.1), "held_out": ramp(0.3, 0.1), "format": flat, "length": ramp(120, 120)},
    "broken": {
        "accuracy": drop(0.5, 0.02), "held_out": drop(0.4, 0.02), "format": drop(0.7, 0.01), "entropy": drop(0.4, 6.0),
        "length": drop(130, 250), "clipped": drop(0.05, 0.97), "dead": drop(0.4, 0.9),
    },
    "no_rise": {"accuracy": flat, "held_out": flat, "format": flat, "length": ramp(120, 120)},
    "fall": {"accuracy": bump(0.2, 0.7, 0.05), "held_out": bump(0.2, 0.6, 0.05), "format": flat, "length": ramp(120, 120)},
}  # fmt: skip
"""What is different in runs that fail, by the name of the rule that should find it."""


def simulate(
    situation: str = "",
    seed: int = 0,
    *,
    steps: int = 100,
    every: int = 1,
    groups: int = 8,
    noise: float = 0.5,
    scale: float = 1.0,
    **curves: Callable[[float], float],
) -> list[dict[str, Any]]:
    """
    Return the log of a run with groups of 8 completions in each step, an entry for `every` steps, and evaluations.

    `noise` is that of gradients. Right completions earn `scale` points, and if it is negative, wrong ones do.
    """
    rng, log, curves = random.Random(f"{situation} {seed}"), [], HEALTHY | SITUATIONS.get(situation, {}) | curves

    def share(name: str, count: int) -> float:
        mean = curves[name](at)
        mean = min(max(mean * rng.gauss(1, 0.1), 0.0), 1.0) if 0 < mean < 1 else mean
        return mean if math.isnan(mean) else sum(rng.random() < mean for _ in range(count)) / count

    def vary(name: str, spread: float = 0.1) -> float:
        return curves[name](at) * math.exp(rng.gauss(0, spread))

    def pay(mean: float) -> float:
        return scale * mean if scale > 0 else scale * (1 - mean)

    for step in range(every, steps + 1, every):
        at = step / steps
        means = {name: share(name, 8 * groups * every) for name in ("accuracy", "format")}
        means["short"] = 0.5 - vary("length") / 2000
        spreads = {name: math.sqrt(max(mean * (1 - mean), 0.0)) for name, mean in means.items()}
        means["accuracy"], spreads["accuracy"] = pay(means["accuracy"]), abs(scale) * spreads["accuracy"]
        total = sum(mean for mean in means.values() if mean == mean)
        entry = {"step": step, "loss": rng.gauss(0, 0.01), "reward": total, "num_tokens": 8 * groups * 150 * step}
        for name, mean in means.items():
            entry |= {f"rewards/{name}/mean": mean, f"rewards/{name}/std": spreads[name]}
        entry |= {
            "frac_reward_zero_std": share("dead", groups * every),
            "completions/mean_length": vary("length", 0.05),
            "completions/max_length": 256.0,
            "completions/clipped_ratio": share("clipped", 8 * groups * every),
            "clip_ratio/region_mean": vary("clip_ratio", 0.3),
            "grad_norm": vary("grad_norm", noise),
            "kl": vary("kl", 0.2),
            **{name: vary(name) for name in ("entropy", "step_time")},
        }
        log.append(entry)
        if step % max(5, every) == 0:
            score = pay(share("held_out", 128))
            log.append({"step": step, "eval_runtime": 1.0, "eval_rewards/accuracy/mean": score, "eval_reward": score})
    return log
