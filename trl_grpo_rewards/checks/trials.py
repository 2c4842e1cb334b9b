"""What do the rewards pay? Honest completions, wrong ones and attacks, scored on rows of the dataset."""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..expressions import Reward, Score, add, score_known_groups
from .example_completions import NO_ANSWER, WORTHLESS, attacks, honest, words_in, worthless
from .findings import Findings, parts


if TYPE_CHECKING:
    from datasets import Dataset
    from trl import GRPOConfig

ROUNDING = 1e-9

ATTACKED = 16
"""Rows on which attacks are tried."""

TRIED = 128
"""Rows on which right and wrong answers are tried."""

NEAR = 0.9
"""What outcome rewards must give the dataset's own solutions on average."""

SHARE = 0.1
"""Share of rows on which an attack may pay by chance."""

EXAMPLES: tuple[dict[str, Any], ...] = (
    {"prompt": "Ann has 48 pens and buys half as many again. How many has she?", "solution": "72"},
    {"prompt": "A rope of 7 metres is cut into 4 equal parts. How long is each, in metres?", "solution": "1.75"},
    {"prompt": "What share of a day is 16 hours, as a fraction?", "solution": "\\frac{2}{3}"},
)
"""Questions for rewards of the answer, where there is no dataset."""


def without_asking(rewards: Reward) -> Reward | None:
    """Return the terms that ask no server and no person; None if all do."""
    kept = tuple((weight, reward) for weight, reward in rewards.terms if not reward.asks)
    return add(kept) if kept else None


def scored(
    rewards: Reward, rows: Sequence[Mapping], texts: Sequence[str], tokens: Callable, seconds: Counter | None = None
) -> list[list[Score]]:
    """
    Of each term, and last of the total, the scores of the texts, each on its row; equal rows in a row are a group.

    The time that each term takes is added to `seconds`, by its place.
    """
    prompts = [row.get("prompt") for row in rows]
    chat = bool(prompts) and isinstance(prompts[0], list)
    columns = {name: [row[name] for row in rows] for name in rows[0] if name not in ("prompt", "completion")}
    columns |= {
        "prompts": prompts,
        "completions": [[{"role": "assistant", "content": text}] if chat else text for text in texts],
        "completion_ids": [tokens(text) for text in texts],
        "trainer_state": SimpleNamespace(global_step=0, max_steps=1, epoch=0.0),
    }
    changes = [place > 0 and row is not rows[place - 1] for place, row in enumerate(rows)]
    groups = [*accumulate(map(int, changes))]
    by_term = []
    for place, term in enumerate(rewards.rewards):
        start = time.perf_counter()
        by_term.append(score_known_groups(term, columns, groups))
        if seconds is not None:
            seconds[place] += time.perf_counter() - start
    return [*by_term, [rewards.total(row) for row in zip(*by_term, strict=True)]]


def words(text: str) -> list[int]:
    """Stand-ins for token ids where there is no tokenizer."""
    return [*range(words_in(text))]


def reads_solution(rewards: Reward) -> bool:
    return any("solution" in part.columns for part in parts(rewards))


def pays(rewards: Reward, rows: Sequence[Mapping], tokens: Callable = words) -> dict[str, tuple[int, int, float]]:
    """
    Of each attack on how many rows it pays, on how many it was tried, and its mean total.

    It pays where it earns more than an honest right completion, or as much, unless that earns no more than a helpless
    one does. Attacks that are wrong in content alone count where a reward reads the solution. Nothing is tried where a
    reward cannot judge the honest one, or reads no solution and is not pleased by it.
    """
    counted: dict[str, list] = {}
    reads, brought = reads_solution(rewards), worthless(rewards)
    for row in rows:
        made = attacks(rewards, row, lambda text: len(tokens(text)))
        texts = [honest(rewards, row, lambda text: len(tokens(text))), NO_ANSWER, *made.values()]
        *by_term, (right, helpless, *scores) = scored(rewards, [row] * len(texts), texts, tokens)
        if any(term[0] is None for term in by_term) or (not reads and right <= (helpless or 0.0)):
            continue
        for name, score in zip(made, scores, strict=True):
            if score is None or not (reads or name in WORTHLESS or name in brought):
                continue
            paid = score > right + ROUNDING or (
                score >= right - ROUNDING and helpless is not None and right > helpless + ROUNDING
            )
            seen = counted.setdefault(name, [0, 0, 0.0])
            seen[:] = seen[0] + paid, seen[1] + 1, seen[2] + score
    return {name: (paid, tried, total / tried) for name, (paid, tried, total) in counted.items()}


def without_completions(dataset: "Dataset", most: int) -> list[dict[str, Any]]:
    """The first rows; a column `completion` of a dataset is no honest completion of these rewards."""
    rows = dataset.select(range(min(most, len(dataset))))
    return [{name: value for name, value in row.items() if name != "completion"} for row in rows]


def check_attacks(rewards: Reward, dataset: "Dataset", tokens: Callable = words) -> Findings:
    """Whether something that is worth nothing earns what an honest right completion earns."""
    found = Findings("attacks")
    rows = without_completions(dataset, ATTACKED)
    if not any(part.columns for part in parts(rewards)):
        found.warnings.append("No reward looks at an answer: form alone earns all there is.")
    seen = pays(rewards, rows, tokens)
    if not seen:
        found.lines.append("none was tried: no completion could be made that these rewards pay")
    for name, (paid, count, total) in seen.items():
        found.lines.append(f"{total:8.3f} {name}" + (f", which pays on {paid} of {count} rows" if paid else ""))
        if paid > SHARE * count:
            found.faults.append(fault(rewards, name, paid, count))
        elif paid:
            found.warnings.append(fault(rewards, name, paid, count))
    return found


def fault(rewards: Reward, name: str, paid: int, count: int) -> str:
    remedies = {
        "question restated": "Ask for an answer that is worked out: boxed(evaluated=True).",
        "many boxes": "Ask for one box: boxed(box='only').",
        "form without an answer": "Give the answer more weight, or pay form only with it: gate(..., by=boxed()).",
    }
    return (
        f"An attack, {name}, earns as much under {rewards} as an honest right completion, on {paid} of {count} rows. "
        + remedies.get(name, "Give the answer more weight, or pay the rest only with it: gate(..., by=boxed()).")
    )


def assert_not_gameable(
    reward: Reward, rows: Sequence[Mapping[str, Any]] = EXAMPLES, tokens: Callable[[str], list] = words
) -> None:
    """
    Assert that no attack earns what an honest right completion earns; for the tests of your own rewards.

    Args:
        reward ([`Reward`]):
            A reward or an expression; what asks a judge is left out.
        rows (`list[dict]`, *optional*):
            Rows as of a dataset: `prompt`, the columns that the reward reads, and under `completion` an honest right
            one where it cannot be made of the `solution`.
        tokens (`Callable`, *optional*):
            Token ids of a text; without it, a token is a word.

    Raises:
        `AssertionError`: an attack pays, or an honest completion earns no more than a helpless one though the reward
            reads the solution.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, tags
    >>> from trl_grpo_rewards.checks import assert_not_gameable

    >>> assert_not_gameable(boxed() + 0.2 * tags("think"))
    >>> assert_not_gameable(0.2 * boxed() + tags("think") - 0.2 * boxed(partial=1.0, name="box"))
    Traceback (most recent call last):
    AssertionError: Under 0.2 * boxed() + tags('think') - 0.2 * boxed(partial=1.0, name='box') ...

    ```
    """
    reward = without_asking(reward)
    if reward is None:
        return
    paid = {name: counts for name, counts in pays(reward, rows, tokens).items() if counts[0]}
    table = "; ".join(f"{name} on {count} of {tried} rows ({mean:.3f})" for name, (count, tried, mean) in paid.items())
    assert not paid, f"Under {reward} these earn as much as an honest right completion: {table}."
    means = tried(reward, rows, tokens)
    right, helpless = means["right"][-1], means["helpless"][-1]
    assert not reads_solution(reward) or reward.is_grouped or right > helpless, (
        f"Under {reward} an honest right completion earns {right}, and 'I do not know.' {helpless}. Give rows that the "
        f"reward can judge, with a right one under 'completion' where it cannot be made of the 'solution'."
    )


def tried(
    rewards: Reward, rows: Sequence[Mapping], tokens: Callable, seconds: Counter | None = None
) -> dict[str, list[float]]:
    """Mean score of each term, and last of the total, for right, wrong (another row's) and helpless completions."""
    right = [honest(rewards, row, lambda text: len(tokens(text))) for row in rows]
    texts = {"right": right, "wrong": shuffled(rows, right), "helpless": [NO_ANSWER] * len(rows)}
    means = {}
    for kind, completions in texts.items():
        means[kind] = [mean(scores) for scores in scored(rewards, rows, completions, tokens, seconds)]
    return means


def shuffled(rows: Sequence[Mapping], texts: list[str]) -> list[str]:
    """For each row the completion of the next one whose solution is another."""
    count = len(rows)
    given = []
    for place, row in enumerate(rows):
        others = ((place + step) % count for step in range(1, count))
        given.append(
            next((texts[other] for other in others if rows[other].get("solution") != row.get("solution")), NO_ANSWER)
        )
    return given


def mean(scores: Sequence[Score]) -> float:
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else float("nan")


def check_dry_run(
    rewards: Reward, dataset: "Dataset", tokens: Callable = words, config: "GRPOConfig | None" = None
) -> Findings:
    """Whether right answers earn much and wrong ones little, and how long each reward takes."""
    found = Findings("a dry run on the dataset's own solutions")
    rows = without_completions(dataset, TRIED)
    seconds: Counter = Counter()
    means = tried(rewards, rows, tokens, seconds)
    each = [1000 * seconds[place] / (len(means) * len(rows)) for place in range(len(rewards.terms))]
    names = [*(f"{weight:g} * {reward.name}" for weight, reward in rewards.terms), "total"]
    found.lines.append(f"{'':30} {'right':>8} {'wrong':>8} {'helpless':>8} {'ms each':>8}")
    for place, (name, milliseconds) in enumerate(zip(names, [*each, sum(each)], strict=True)):
        shares = " ".join(f"{means[kind][place]:8.3f}" for kind in means)
        found.lines.append(f"{name:30} {shares} {milliseconds:8.3f}")
    if size := getattr(config, "generation_batch_size", None):
        found.lines.append(f"a batch of {size} takes {sum(each) * size / 1000:.2g} s to score on this machine")
    right, wrong = means["right"][-1], means["wrong"][-1]
    found.lines.append(f"a right answer earns {right - wrong:.3f} more than a wrong one")
    for (_, reward), share in zip(rewards.terms, means["right"], strict=False):
        if reward.is_outcome and wrong < right and share < NEAR:
            found.faults.append(
                f"Reward '{reward.name}' gives the dataset's own solutions {share:.3f} on average, where they are right. See "
                f"how they are written, such as {rows[0]['solution']!r}, and what {reward} asks of an answer."
            )
    if reads_solution(rewards) and not right > wrong + ROUNDING:
        found.faults.append(
            f"Under {rewards} the dataset's own solutions earn {said(right)}, and those of other rows {said(wrong)}. See that "
            f"the column 'solution', such as {rows[0]['solution']!r}, holds what the rewards look for."
        )
    return found


def said(score: float) -> str:
    return "nothing, since they cannot be judged" if math.isnan(score) else f"{score:.3f}"
