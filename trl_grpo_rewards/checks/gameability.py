"""Check that no attack earns as much as an honest, correct completion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..expressions import Reward
from ..function_rewards import find_functions
from ..scores import Score
from .example_completions import NO_ANSWER, WORTHLESS, attacks, collect_worthless, honest
from .example_scores import (
    ROUNDING,
    Tokenize,
    compute_means,
    has_solution,
    score_texts,
    split_words,
    take_rows,
    without_asking,
)
from .findings import Findings


if TYPE_CHECKING:
    from datasets import Dataset

ATTACKS = "attacks"
"""Title of this check."""

MAX_ROWS = 16
"""Largest number of rows on which attacks are tried."""

CHANCE = 0.1
"""Share of rows up to which an attack may pay by chance."""

EXAMPLES: tuple[dict[str, Any], ...] = (
    {"prompt": "Ann has 48 pens and buys half as many again. How many has she?", "solution": "72"},
    {"prompt": "A rope of 7 metres is cut into 4 equal parts. How long is each, in metres?", "solution": "1.75"},
    {"prompt": "What share of a day is 16 hours, as a fraction?", "solution": "\\frac{2}{3}"},
)
"""Questions for rewards that read the solution, for use without a dataset."""


@dataclass
class Payments:
    """
    What an attack earns.

    Args:
        paid (`int`):
            Number of rows on which it pays.
        tried (`int`):
            Number of rows on which it was tried.
        total (`float`):
            Sum of its totals.
    """

    paid: int = 0
    tried: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float:
        return self.total / self.tried


def count_payments(
    rewards: Reward, rows: Sequence[Mapping[str, Any]], tokens: Tokenize = split_words
) -> dict[str, Payments]:
    """
    Return what each attack earns, by its name.

    A row is left out if a reward cannot judge its honest completion. It is also left out if no reward reads the solution
    and the honest completion earns no more than one without an answer. Attacks with a good form count only if a reward
    reads the solution.
    """
    payments: dict[str, Payments] = {}
    reads_solution, declared = has_solution(rewards, rows), collect_worthless(rewards)
    for row in rows:
        made = attacks(rewards, row, lambda text: len(tokens(text)))
        texts = [honest(rewards, row, lambda text: len(tokens(text))), NO_ANSWER, *made.values()]
        *by_term, (right, helpless, *scores) = score_texts(rewards, [row] * len(texts), texts, tokens)
        if right is None or any(term[0] is None for term in by_term):
            continue
        if not reads_solution and right <= (helpless or 0.0):
            continue
        for name, score in zip(made, scores, strict=True):
            if score is not None and (reads_solution or name in WORTHLESS or name in declared):
                payment = payments.setdefault(name, Payments())
                payment.paid += is_paid(score, right, helpless)
                payment.tried += 1
                payment.total += score
    return payments


def is_paid(score: float, right: float, helpless: Score) -> bool:
    """
    Whether an attack pays: it earns more than the right completion, or as much as a right completion that earns more
    than the helpless one.
    """
    is_right_paid = helpless is not None and right > helpless + ROUNDING
    return score > right + ROUNDING or (score >= right - ROUNDING and is_right_paid)


def check_attacks(rewards: Reward, dataset: "Dataset", tokens: Tokenize = split_words) -> Findings:
    """Check that no attack earns as much as an honest, correct completion."""
    found = Findings(ATTACKS)
    if not any(function.columns for function in find_functions(rewards)):
        found.warnings.append("No reward reads a dataset column, so form alone earns the full reward.")
    payments = count_payments(rewards, take_rows(dataset, MAX_ROWS), tokens)
    if not payments:
        found.lines.append("no attack was tried, because no honest completion could be made that earns these rewards")
    found.data["attacks"] = [
        {"name": name, "mean": one.mean, "paid": one.paid, "tried": one.tried} for name, one in payments.items()
    ]
    for name, payment in payments.items():
        on_rows = f", which pays on {payment.paid} of {payment.tried} rows" if payment.paid else ""
        found.lines.append(f"{payment.mean:8.3f} {name}{on_rows}")
        if payment.paid:
            is_fault = payment.paid > CHANCE * payment.tried
            (found.faults if is_fault else found.warnings).append(describe_attack(rewards, name, payment))
    return found


def describe_attack(rewards: Reward, name: str, payment: Payments) -> str:
    """Return the message for an attack that pays."""
    remedies = {
        "question restated": "Require an answer that is worked out, for example with boxed(evaluated=True).",
        "many boxes": "Require a single answer, for example with boxed(box='only').",
        "form without an answer": "Give the answer more weight, or pay form only with it: gate(..., by=boxed()).",
    }
    return (
        f"The attack '{name}' earns at least as much under {rewards} as an honest, correct completion, on "
        f"{payment.paid} of {payment.tried} rows. "
        + remedies.get(name, "Give the answer more weight, or pay the rest only with it: gate(..., by=boxed()).")
    )


def assert_not_gameable(
    reward: Reward, rows: Sequence[Mapping[str, Any]] = EXAMPLES, tokens: Tokenize = split_words
) -> None:
    """
    Assert that no attack earns as much as an honest, correct completion. Use it in the tests of your own rewards.

    Args:
        reward ([`Reward`]):
            A reward or an expression. Terms that ask a judge are left out.
        rows (`list[dict]`, *optional*):
            Rows as in a dataset: `prompt` and the columns that the reward reads. If an honest, correct completion cannot
            be made from the `solution`, the row needs one as `completion`.
        tokens (`Callable`, *optional*):
            Returns the token ids of a text. By default each word is a token.

    Raises:
        `AssertionError`: an attack pays, or the reward reads the solution but an honest completion earns no more than a
            helpless one.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, tags
    >>> from trl_grpo_rewards.checks import assert_not_gameable

    >>> assert_not_gameable(boxed() + 0.2 * tags("think"))
    >>> assert_not_gameable(0.2 * boxed() + tags("think") - 0.2 * boxed(partial=1.0, name="box"))
    Traceback (most recent call last):
    AssertionError: Under 0.2 * boxed() + tags('think') - 0.2 * boxed(partial=1.0, name='box'), ...

    ```
    """
    offline = without_asking(reward)
    if offline is None:
        return
    payments = {name: payment for name, payment in count_payments(offline, rows, tokens).items() if payment.paid}
    table = "; ".join(f"{name} on {one.paid} of {one.tried} rows ({one.mean:.3f})" for name, one in payments.items())
    assert not payments, f"Under {offline}, these attacks earn as much as an honest, correct completion: {table}."
    means = compute_means(offline, rows, tokens)
    right, helpless = means["right"][-1], means["helpless"][-1]
    assert not has_solution(offline, rows) or offline.is_grouped or right > helpless, (
        f"Under {offline}, an honest, correct completion must earn more than 'I do not know.'; got {right} and "
        f"{helpless}. Pass rows that the reward can judge, with a correct 'completion' if it cannot be made from the "
        f"'solution'."
    )
