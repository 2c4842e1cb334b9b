"""Made-up runs: records as the trainer writes them, without a model."""

import math
import random
from collections.abc import Iterator
from pathlib import Path

import torch

from trl_grpo_rewards.records.dead_groups import Rule
from trl_grpo_rewards.records.fields import describe_completions, describe_groups
from trl_grpo_rewards.records.files import GroupWriter
from trl_grpo_rewards.records.runs import LogWriter
from trl_grpo_rewards.report.trends import RunStatistics
from trl_grpo_rewards.training.groups import ScoredGroups, list_completions


EVIL = "<script>document.title='hacked'</script></script><img src=x onerror=\"document.title='hacked'\">\u2028&amp;"


def record(
    scores,
    *,
    prompt="What is 3 + 4?",
    completions=None,
    weights=None,
    lengths=None,
    alike=False,
    decides=None,
    text=True,
    model_input="",
):
    """What the trainer writes of a group with these scores, a list for each reward."""
    weights = weights or dict.fromkeys(scores, 1.0)
    rewards = torch.tensor(
        [[math.nan if score is None else score for score in row] for row in zip(*scores.values(), strict=True)],
        dtype=torch.float64,
    )
    ids = [
        [5] * (length - 1 if alike else max(length - 2, 0)) + ([] if alike else [place]) + [1]
        for place, length in enumerate(lengths or [4] * len(rewards))
    ]
    said = completions or [f"{place}: \\boxed{{7}}" for place in range(len(rewards))]
    row = {"prompt": prompt, "solution": "7"}
    count = len(said)
    completions = list_completions([row] * count, [prompt] * count, said, ids, None, {1}, {}, [model_input] * count)
    keys = torch.tensor([hash(tuple(one)) for one in ids])
    weighted = torch.tensor([*weights.values()], dtype=torch.float64)
    groups = ScoredGroups(rewards[None], [*weights], weighted, Rule(decides or next(iter(scores))), keys[None])
    advantages = (groups.totals - groups.totals.nanmean()).nan_to_num().flatten().tolist()
    (made,) = describe_groups(describe_completions(completions, has_text=text), groups.describe(advantages))
    return made


def story(right=(0.2, 0.9), style=(0.4, 0.8), tokens=(40, 40), alike=(0, 0), *, steps=100, size=8, each=4, **options):
    """A made-up run: how its pass rate, another reward, the lengths and the share of duplicates go from start to end."""
    rng = random.Random(0)
    for step in range(1, steps + 1):
        at = step / steps
        now = [start + (end - start) * at for start, end in (right, style, tokens, alike)]
        for place in range(each):
            passed = [float(rng.random() < now[0]) for _ in range(size)]
            styled = [float(rng.random() < now[1]) for _ in range(size)]
            lengths = [round(now[2] * rng.uniform(0.8, 1.2)) for _ in range(size)]
            yield (
                step,
                record(
                    {"boxed": passed, "style": styled},
                    prompt=f"What is {(step * each + place) % 40} + 4?",
                    lengths=[round(now[2])] * size if (same := rng.random() < now[3]) else lengths,
                    alike=same,
                    **options,
                ),
            )


def written(folder: Path, stepped: Iterator) -> Path:
    writer = GroupWriter(folder)
    for step, one in stepped:
        writer.write(step, [one])
    return folder


def summed(stepped: Iterator) -> RunStatistics:
    run = RunStatistics()
    for step, one in stepped:
        run.add({"step": step, "group": 0, **one})
    return run


def with_log(folder: Path, *, entropy: float = 0.5, steps: int = 40) -> Path:
    """A folder of a run, with the log of a trainer and evaluations before and after."""

    def evaluation(step, value):
        values = {"runtime": 1.0, "reward": value, "samples_per_second": 64.0, "rewards/boxed/mean": value}
        values |= {"rewards/boxed/std": 0.43, "groups/dead": 0.5}
        return {"step": step, **{f"eval_{name}": one for name, one in values.items()}}

    still = {"grad_norm": 1.5, "learning_rate": 5e-7, "step_time": 2.0}
    curves = [{"step": step, "entropy": entropy / step, "kl": 0.01 * step, **still} for step in range(1, steps + 1)]
    writer = LogWriter(folder)
    writer.start([evaluation(0, 0.25), *curves, evaluation(steps, 0.75)])
    return written(folder, story(steps=steps))
