"""Made-up runs: records as the trainer writes them, without a model."""

import random
from collections.abc import Iterator
from pathlib import Path

from trl_grpo_rewards.records.fields import Rule, describe_groups, pack_rows
from trl_grpo_rewards.records.files import GroupWriter
from trl_grpo_rewards.records.kinds import is_dead, kind_of_group
from trl_grpo_rewards.records.logs import LogWriter
from trl_grpo_rewards.report.trends import RunStatistics


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
):
    """What the trainer writes of a group with these scores, a list for each reward."""
    weights = weights or dict.fromkeys(scores, 1.0)
    rows = [list(row) for row in zip(*scores.values(), strict=True)]
    totals = [
        None if row == [None] * len(row) else sum(w * (s or 0.0) for w, s in zip(weights.values(), row, strict=True))
        for row in rows
    ]
    known = [total for total in totals if total is not None]
    mean = sum(known) / len(known) if known else 0.0
    ids = [
        [5] * (length - 1 if alike else max(length - 2, 0)) + ([] if alike else [place]) + [1]
        for place, length in enumerate(lengths or [4] * len(rows))
    ]
    said = completions or [f"{place}: \\boxed{{7}}" for place in range(len(rows))]
    inputs = [{"prompt": prompt, "solution": "7"}] * len(rows)
    records = describe_groups(
        pack_rows(inputs, [prompt] * len(rows), said, ids, {1}, text),
        rows,
        weights,
        totals,
        [0.0 if total is None else total - mean for total in totals],
        [kind_of_group(is_dead(totals), totals, [row[0] for row in rows])],
        Rule(decides or next(iter(scores))),
        [sum(ids.count(one) > 1 for one in ids)],
    )
    return next(records)


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
    run.end_step()
    return run


def with_log(folder: Path, *, entropy: float = 0.5, steps: int = 40) -> Path:
    """A folder of a run, with the log of a trainer and evaluations before and after."""

    def evaluation(step, value):
        return {
            "step": step,
            "eval_runtime": 1.0,
            "eval_reward": value,
            "eval_rewards/boxed/mean": value,
            "eval_groups/dead": 0.5,
        }

    curves = [
        {
            "step": step,
            "entropy": entropy / step,
            "kl": 0.01 * step,
            "grad_norm": 1.5,
            "learning_rate": 5e-7,
            "step_time": 2.0,
        }
        for step in range(1, steps + 1)
    ]
    writer = LogWriter(folder)
    writer.start([evaluation(0, 0.25), *curves, evaluation(steps, 0.75)])
    return written(folder, story(steps=steps))
