"""The reward for generated tasks, which bring their own rule."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import aclosing
from importlib.util import find_spec
from typing import Any

from ..batch import completion_text
from ..forms import Form
from ..programs.inside.gym_rules import read_task, write_task
from ..registry import reward
from ..sandbox.local import LocalSandbox, get_local_sandbox
from ..sandbox.protocol import Limits, RunResult, SandboxFailed
from ..scores import Score
from ..traits import Examination
from ..verify.boxes import find_boxed_answer, strip_reasoning


__all__ = ["gym"]


RULES = "programs.inside.gym_rules"
PROGRAM = f"from {RULES} import main\nmain()\n"
"""The program that scores one answer in the jail."""

MEMORY_MB = 2048
"""Memory of a rule, in megabytes. The library and what it needs take about a third of it."""

SHOWN_GENERATORS = 8
"""Largest number of generators that the check names."""


def check_gym(timeout: float) -> None:
    if timeout <= 0:
        raise ValueError(
            f"The timeout of gym() must be more than 0 seconds; got timeout={timeout}. Set it to 2, for example."
        )


def open_rules() -> LocalSandbox:
    """
    Return the jail with the rules of reasoning-gym.

    Raises:
        `ImportError`: the package is not installed.
    """
    if find_spec("reasoning_gym") is None:
        raise ImportError(
            "gym() needs reasoning-gym, which is not installed. Install it: pip install 'trl_grpo_rewards[gym]'."
        )
    return get_local_sandbox(None, [RULES], ["reasoning-gym"])


def check_rules() -> str:
    """Check that rules can run, and return how they are kept in on this machine."""
    return open_rules().find_tier()[1]


def find_answer(text: str) -> str | None:
    """Return the text in the last `<answer>` tags, or else in the last box, or None without either or if it is empty."""
    text = strip_reasoning(text)
    start = text.rfind("<answer>", 0, max(text.rfind("</answer>"), 0))
    if start == -1:
        return (find_boxed_answer(text) or "").strip() or None
    return text[start:].removeprefix("<answer>").partition("</answer>")[0].strip() or None


def write_entry(entry: Any) -> str:
    """Return a task as JSON text. A dataset may also hold it as a dict."""
    return entry if isinstance(entry, str) else write_task(entry)


def write_own_answer(row: Mapping[str, Any], entry: str) -> str | None:
    """Return the answer that a task brings, or None if it brings none."""
    try:
        answer = read_task(write_entry(row[entry]))["answer"]
    except (ValueError, TypeError):
        return None
    return f"<answer>{answer}</answer>" if answer is not None else None


def examine_tasks(rows: list[dict[str, Any]], entry: str) -> Examination:
    """Count the tasks by their generators, and those that cannot be read."""
    names: Counter[str] = Counter()
    bad: dict[int, str] = {}
    for place, row in enumerate(rows):
        try:
            names[read_task(write_entry(row[entry]))["metadata"]["source_dataset"]] += 1
        except (ValueError, TypeError) as error:
            bad[place] = str(error)
    lines = [f"{count:,} tasks of {name}" for name, count in names.most_common(SHOWN_GENERATORS)]
    faults = [
        f"Reward 'gym' needs tasks of reasoning-gym as JSON text in the column '{entry}', but {len(bad):,} of {len(rows):,} "
        f"rows cannot be read, such as row {place}: {problem}. Make the dataset with "
        f"--dataset_name reasoning_gym:NAME, or remove such rows."
        for place, problem in [*bad.items()][:1]
    ]
    return Examination(lines, [], faults)


@reward(
    batched=True,
    check=check_gym,
    outcome=True,
    asks=False,
    form=lambda: Form(answer="<answer>{}</answer>"),
    ready=check_rules,
    solves=write_own_answer,
    examines=examine_tasks,
)
async def gym(
    completions: list,
    entry: list,
    log_metric: Callable[[str, float], None],
    log_extra: Callable[[str, list], None],
    *,
    partial: bool = True,
    timeout: float = 2.0,
) -> list[Score]:
    """
    Score of the answer by the rule of its reasoning-gym task, from 0 to 1; None if the rule cannot score the task.

    [reasoning-gym](https://github.com/open-thought/reasoning-gym) generates tasks without end, and each of its
    generators has a rule of its own. The column `entry` has a task as JSON text, which
    `trl-grpo-rewards train --dataset_name reasoning_gym:NAME` and [`~trl_grpo_rewards.demo.reasoning`] write. The
    answer is the text in the last `<answer>` tags after the reasoning, or else the content of the last box. Without an
    answer, the score is 0, and the rule is not asked.

    Some rules evaluate the answer as Python. So each rule runs in the jail of [`code`], and an answer that holds code
    instead of values is wrong. An answer that takes longer than `timeout` or on which the rule raises an error is wrong,
    too, as long as the rule can score the answer that the task brings. `docs/programs.md` names the rules that pay
    for worthless answers. Logs `gym/unscored` as a count per batch, and the column `gym/problem` in the table of
    completions. This reward needs Linux and reasoning-gym: `pip install 'trl_grpo_rewards[gym]'`.

    Args:
        partial (`bool`, *optional*, defaults to `True`):
            Pay what the rule pays. Many rules pay a little for a wrong answer: for its form, or because it contains the
            right one. Without `partial`, only a full score counts, as 1, and every other one is 0.
        timeout (`float`, *optional*, defaults to `2.0`):
            CPU time limit of one answer, in seconds.

    Raises:
        `ImportError`: reasoning-gym is not installed.
        `OSError`: the machine lacks a layer of the jail other than Landlock. Nothing is scored.

    Example:

    ```python
    >>> from trl_grpo_rewards import gym, tags

    >>> gym(partial=False) + 0.1 * tags("think")
    gym(partial=False) + 0.1 * tags('think')

    ```
    """
    answers = [find_answer(completion_text(completion)) for completion in completions]
    keys = [(write_entry(task), answer) for task, answer in zip(entry, answers, strict=True)]
    different = [*dict.fromkeys((task, answer) for task, answer in keys if answer is not None)]
    rules, limits = open_rules(), Limits(timeout, MEMORY_MB)
    replies = await asyncio.gather(*(score_answer(rules, task, answer, limits) for task, answer in different))
    found = dict(zip(different, replies, strict=True))
    results = [(0.0, None) if answer is None else found[task, answer] for task, answer in keys]
    log_metric("unscored", sum(score is None for score, _ in results))
    log_extra("problem", [problem for _, problem in results])
    return [score if score is None or partial else float(score >= 1.0) for score, _ in results]


async def score_answer(rules: LocalSandbox, task: str, answer: str, limits: Limits) -> tuple[Score, str | None]:
    """Return the score of an answer, and what is wrong if there is none."""
    request = json.dumps({"task": task, "answer": answer})
    try:
        async with aclosing(rules.run(PROGRAM, [request], limits)) as results:
            return read_score(await anext(results))
    except SandboxFailed as error:
        return None, str(error)


def read_score(result: RunResult) -> tuple[Score, str | None]:
    """Return the score that a rule has written. An answer that ends the rule or takes too long is wrong."""
    if result.status != "finished" or not result.output:
        return 0.0, f"the rule {result.status} without a score"
    reply = json.loads(result.output)
    return reply.get("score"), reply.get("problem")
