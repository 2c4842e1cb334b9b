"""Check that no attack is paid like an honest, correct completion."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..expressions import Reward, leave_out_witnesses
from ..faults import shorten_repr
from ..function_rewards import find_functions
from ..registry import read_rewards
from ..traits import Findings
from .attack_completions import KINDS, RUN_ON
from .completions import ROUNDING, Tokenize, find_outcomes, split_words
from .trials import ANSWERS, Trials, average, make_trials, without_asking


ATTACKS = "attacks"  # title of this check
CHANCE = 0.1  # share of rows up to which an attack may pay by chance
LARGE_SHARE, LARGEST_SHARE = 1 / 3, 1 / 2  # of a right answer's gain: worthless text with it is a warning, a fault

WORK_OUT = (
    "Require an answer that is worked out, for example with boxed(evaluated=True).",
    "Accept only an answer that is worked out.",
)
SINGLE = "Require a single answer, for example with boxed(box='only').", "Read a single answer, such as the last one."
# What to do about an attack: about rewards of this package, and about one of the user's own.
REMEDIES = dict.fromkeys(("question restated", "prompt echoed"), WORK_OUT)
REMEDIES |= dict.fromkeys(("many boxes", "right between wrong answers"), SINGLE)

QUESTIONS: tuple[dict[str, Any], ...] = (  # questions for rewards that read the solution, for use without a dataset
    {"prompt": "Ann has 48 pens and buys half as many again. How many has she?", "solution": "72"},
    {"prompt": "A rope of 7 metres is cut into 4 equal parts. How long is each, in metres?", "solution": "1.75"},
    {"prompt": "What share of a day is 16 hours, as a fraction?", "solution": "\\frac{2}{3}"},
)


class Payment(NamedTuple):
    """What an attack earns, on how many rows it pays, and its share of a right answer's gain over a wrong one."""

    name: str
    mean: float
    paid: int
    tried: int
    share: float


def count_payments(trials: Trials) -> list[Payment]:
    """Return what each attack earns on the rows whose honest completion is judged and paid, if there are any."""
    paying = [place for place, weight in enumerate(trials.rewards.weights) if weight]
    outcome = next((place for place in paying if trials.rewards.rewards[place].is_outcome), -1)
    right, wrong, helpless = (trials.scores[name] for name in ANSWERS)
    is_judged = ~np.isnan(right[:, [*paying, -1]]).any(axis=1)
    is_paid_more = right[:, -1] > np.nan_to_num(helpless[:, -1])
    if not trials.has_solution or (is_judged & is_paid_more).any():  # the other rows are in the dry run
        is_judged &= is_paid_more
    base = np.where(np.isnan(wrong), right, wrong)
    payments = []
    for name in [name for name in trials.scores if name not in ANSWERS]:
        tried = is_judged & ~np.isnan(trials.scores[name][:, -1])
        score, best, least, low = (one[tried] for one in (trials.scores[name], right, helpless, base))
        paid = is_paid(score, best, least)
        is_most = (score > (best + least) / 2 + ROUNDING)[:, -1]  # other terms take less than half
        total, more, gain = (float(one[:, -1].sum()) for one in (score, score - low, best - low))
        if tried.any():
            counts = int((paid[:, -1] | (paid[:, outcome] & is_most)).sum()), len(score)
            payments.append(Payment(name, total / len(score), *counts, more / gain if gain > ROUNDING else 0.0))
    return payments


def is_paid(score: Any, right: Any, helpless: Any) -> Any:
    """Whether attacks earn more than the right completion, or as much as a right one that beats the helpless one."""
    return (score > right + ROUNDING) | ((score >= right - ROUNDING) & (right > helpless + ROUNDING))


def check_attacks(trials: Trials) -> Findings:
    """Check that no attack is paid like an honest, correct completion."""
    found = Findings(ATTACKS)
    if not leave_out_witnesses(trials.rewards).columns and not trials.has_solution:
        found.warnings.append("No reward reads a dataset column, so form alone earns the full reward.")
    is_form_known = trials.found.is_solved or not trials.found.unpaid
    if not (payments := count_payments(trials) if is_form_known else []):
        found.lines.append("not run: no honest completion could be made that earns these rewards")
        found.is_run = False
        return found
    found.data["attacks"] = [payment._asdict() for payment in payments]
    small: list[Payment] = []
    paid: dict[tuple[bool, str], list[Payment]] = defaultdict(list)
    for payment in payments:
        on_rows = f", which pays on {payment.paid} of {payment.tried} rows" if payment.paid else ""
        found.lines.append(f"{payment.mean:8.3f} {payment.name}{on_rows}")
        if payment.name == RUN_ON:  # most published rewards pay for it
            continue
        is_often, kind = payment.paid > CHANCE * payment.tried, KINDS.get(payment.name, "informed")
        if payment.paid and (is_often or kind != "near"):
            is_fault = is_often and kind != "near" and trials.found.is_certain
            paid[is_fault, write_remedy(trials, payment.name)].append(payment)
        elif kind in ("formless", "formed"):
            small.append(payment)
    for (is_fault, remedy), (first, *others) in paid.items():
        same = f" The same holds for {', '.join(repr(one.name) for one in others)}." if others else ""
        (found.faults if is_fault else found.warnings).append(
            f"The attack '{first.name}' is paid like an honest, correct completion under {trials.rewards}, on {first.paid} of "
            f"{first.tried} rows.{same} {remedy}"
        )
    largest = max(small, key=lambda one: one.share, default=None)
    if trials.has_solution and largest and largest.share >= LARGE_SHARE - ROUNDING:
        is_fault = largest.share >= LARGEST_SHARE - ROUNDING and trials.found.is_certain
        (found.faults if is_fault else found.warnings).append(
            f"The attack '{largest.name}' is worthless, but under {trials.rewards} it earns {largest.share:.0%} of what a "
            f"right answer earns more than a wrong one. {write_remedy(trials, largest.name)}"
        )
    found.warnings += list_form_payments(trials) if trials.has_solution else []
    return found


def list_form_payments(trials: Trials) -> Iterator[str]:
    """Yield a warning for each term that reads the answer, but pays much of it for any wrong one in the right form."""
    for place, (weight, reward) in enumerate(trials.rewards.terms):
        scores = {name: each[:, place] for name, each in trials.scores.items()}
        wrong = np.minimum(scores["wrong"], scores["a wrong answer"])
        wrong = np.fmin(wrong, scores.get("an absurd answer", wrong))
        earned = np.array([wrong, scores["right"]]) - scores["helpless"]
        wrong, right = earned[:, ~np.isnan(earned).any(axis=0)].sum(axis=1)
        if weight > 0 and trials.list_readers(reward) and LARGE_SHARE * right <= wrong + ROUNDING < right:
            yield (
                f"A wrong answer in the right form earns {wrong / right:.0%} of a right one from {reward}, whatever it is. A "
                f"model can learn the form alone. Pay less for it."
            )


def write_remedy(trials: Trials, attack: str) -> str:
    if KINDS.get(attack) == "near":
        end = next(texts[attack][-30:] for texts in trials.texts if attack in texts)
        return f"If it is not meant to be, compare more strictly. It ends with {shorten_repr(end)}."
    rewards = leave_out_witnesses(trials.rewards)
    functions = [*find_functions(rewards)]
    if REMEDIES.get(attack) is WORK_OUT and any(one.options.get("evaluated") for one in functions):
        return "Check that prompts and solutions are not swapped, and that no solution repeats its prompt."
    deciding = find_outcomes(rewards) + trials.list_readers(rewards)
    is_own = any(one.factory.is_foreign for one in deciding)
    if attack in REMEDIES:
        return REMEDIES[attack][is_own]
    if is_own and len(rewards.rewards) == 1:
        return f"Let {deciding[0]} pay for nothing but a right answer."
    by = deciding[0] if deciding else "boxed()"
    return f"Give the answer more weight, or pay the rest only with it: gate(..., by={by})."


def assert_not_gameable(
    reward: Reward, rows: Sequence[Mapping[str, Any]] | None = None, tokens: Tokenize = split_words
) -> None:
    """
    Assert that no attack is paid like an honest, correct completion. Use it in the tests of your own rewards.

    Args:
        reward ([`Reward`]):
            A reward or an expression. Terms that ask a judge are left out.
        rows (`list[dict]`, *optional*):
            Rows as in a dataset: `prompt` and the columns that the reward reads. If an honest, correct completion cannot
            be made from the `solution`, the row needs one as `completion`. By default, they are three questions with
            numbers as solutions.
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
    offline = without_asking(read_rewards(reward))
    if offline is None:
        return
    if rows is None:
        columns = {function.column_of.get("solution", "solution") for function in find_functions(offline)}
        rows = [row | dict.fromkeys(columns, row["solution"]) for row in QUESTIONS]
    trials = make_trials(offline, rows, tokens, attacked=len(rows))
    paid = [one for one in count_payments(trials) if one.paid and KINDS.get(one.name) != "near"]
    table = "; ".join(f"{one.name} on {one.paid} of {one.tried} rows ({one.mean:.3f})" for one in paid)
    assert not paid, f"Under {offline}, these attacks are paid like an honest, correct completion: {table}."
    right, helpless = (average(trials.scores[name])[-1] for name in ("right", "helpless"))
    assert not trials.has_solution or right > helpless, (
        f"Under {offline}, an honest, correct completion must earn more than 'I do not know.'; got {right} and "
        f"{helpless}. Pass rows that the reward can judge, with a correct 'completion' if it cannot be made from the "
        f"'solution'."
    )
