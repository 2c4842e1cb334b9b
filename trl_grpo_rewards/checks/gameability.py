"""Check that no attack is paid like an honest, correct completion."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..answers.solutions import MAX_WORDS
from ..expressions import Reward, leave_out_witnesses
from ..faults import shorten_repr
from ..function_rewards import find_functions
from ..registry import read_rewards
from ..traits import Findings
from .attack_completions import KINDS, RUN_ON
from .completions import ROUNDING, SPELLED, Tokenize, find_outcomes, split_words
from .trials import ANSWERS, Trials, average, make_trials, without_asking


ATTACKS = "attacks"  # title of this check
NOT_RUN = "not run: "  # beginning of the only line of a check that was not run
CHANCE = 0.1  # share of rows up to which an attack may pay by chance
LEAST = {"formless": 0.0, "formed": 0.0, "informed": CHANCE, "near": 1 / 4}  # share of rows up to which a kind may pay
NEARLY = 0.95  # share of what a right answer earns more than a wrong one, from which on an attack is paid
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
    """What an attack earns, on how many rows it pays, its share of a right answer's gain over a wrong one, and a row."""

    name: str
    mean: float
    paid: int
    tried: int
    share: float
    row: int | None  # the first one on which it pays


def count_payments(trials: Trials) -> list[Payment]:
    """Return what each attack earns on the rows whose honest completion is judged and paid, if there are any."""
    right, wrong, helpless = (trials.scores[name] for name in ANSWERS)
    base, deciding = np.where(np.isnan(wrong), right, wrong), find_deciding(trials)
    is_judged = ~np.isnan(right[:, deciding]).all(axis=1) & ~np.isnan(right[:, -1])
    is_paid_more = right[:, -1] > np.nan_to_num(helpless[:, -1])
    if not trials.has_solution or (is_judged & is_paid_more).any():  # the other rows are in the dry run
        is_judged &= is_paid_more
    gains = np.nan_to_num((right - base) * [*trials.rewards.weights, 0.0])[is_judged].sum(axis=0)
    declared = [place for place in deciding if trials.rewards.rewards[place].is_outcome]
    outcome = declared[0] if declared else max(deciding, key=lambda place: gains[place], default=-1)
    payments = []
    for name in [name for name in trials.scores if name not in ANSWERS]:
        tried = is_judged & ~np.isnan(trials.scores[name][:, -1])
        score, best, least, low = (one[tried] for one in (trials.scores[name], right, helpless, base))
        enough = best if KINDS.get(name) == "near" else best - (1 - NEARLY) * np.maximum(best - low, 0)
        paid = is_paid(score, best, enough, least)[:, -1]
        is_most = (score > (best + least) / 2 + ROUNDING)[:, -1]  # other terms take less than half
        paid |= is_paid(score, best, best, least)[:, outcome] & is_most
        total, more, gain = (float(one[:, -1].sum()) for one in (score, score - low, best - low))
        if tried.any():
            share = more / gain if gain > ROUNDING else 0.0
            rows = np.flatnonzero(tried)[paid].tolist()
            payments.append(Payment(name, total / len(score), len(rows), len(score), share, next(iter(rows), None)))
    return payments


def find_deciding(trials: Trials) -> list[int]:
    """Return the places of the terms that read the answer, or of all that are paid if none does."""
    paying = [place for place, weight in enumerate(trials.rewards.weights) if weight]
    return [place for place in paying if trials.list_readers(trials.rewards.rewards[place])] or paying


def is_paid(score: Any, right: Any, enough: Any, helpless: Any) -> Any:
    """Whether attacks earn more than the right completion, or enough where a right one beats the helpless one."""
    return (score > right + ROUNDING) | ((score >= enough - ROUNDING) & (right > helpless + ROUNDING))


def count_by_chance(trials: Trials, tried: int) -> float:
    """Return on how many rows the most frequent solution may be right, with two standard errors."""
    if not trials.has_solution:
        return 0.0
    answers = Counter(repr(row.get(SPELLED) or row.get(trials.column)) for row in trials.found.rows)
    often, count = answers.most_common(1)[0][1], answers.total()
    share = (often - 1) / max(1, count - 1)
    return tried * share + 2 * math.sqrt(tried * share * (1 - share))


def check_attacks(trials: Trials) -> Findings:
    """Check that no attack is paid like an honest, correct completion."""
    found = Findings(ATTACKS, warnings=[*trials.late])
    if not leave_out_witnesses(trials.rewards).columns and not trials.has_solution:
        found.warnings.append("No reward reads a dataset column, so form alone earns the full reward.")
    is_form_known = trials.found.is_solved or not trials.found.unpaid
    if not (payments := count_payments(trials) if is_form_known else []):
        found.lines.append(
            f"{NOT_RUN}no completion that was made earns these rewards. Add a column 'completion' with right ones."
        )
        found.is_run = False
        return found
    found.data["attacks"] = [payment._asdict() for payment in payments]
    small: list[Payment] = []
    paid: dict[tuple[bool, str], list[Payment]] = defaultdict(list)
    attacked = max(payment.tried for payment in payments)
    for payment in payments:
        on_rows = f", which pays on {payment.paid} of {payment.tried} rows" if payment.paid else ""
        found.lines.append(f"{payment.mean:8.3f} {payment.name}{on_rows}")
        if payment.name == RUN_ON:  # most published rewards pay for it
            continue
        kind = KINDS.get(payment.name, "informed")
        if payment.paid > max(LEAST[kind] * attacked, count_by_chance(trials, payment.tried)):
            is_often = payment.paid > (LARGEST_SHARE if kind == "informed" else CHANCE) * payment.tried - ROUNDING
            is_fault = is_often and kind != "near" and trials.found.is_certain
            paid[is_fault, write_remedy(trials, payment.name)].append(payment)
        elif kind in ("formless", "formed"):
            small.append(payment)
    for (is_fault, remedy), (first, *others) in paid.items():
        same = f" The same holds for {', '.join(repr(one.name) for one in others)}." if others else ""
        end = trials.texts[first.row or 0][first.name][-30:]
        shown = f"; it ends with {shorten_repr(end)} in row {first.row}" if end else ""
        (found.faults if is_fault else found.warnings).append(
            f"The attack '{first.name}' is paid like an honest, correct completion under {trials.rewards}, on {first.paid} of "
            f"{first.tried} rows{shown}.{same} {remedy}"
        )
    largest = max(small, key=lambda one: one.share, default=None)
    if trials.has_solution and largest and largest.share >= LARGE_SHARE - ROUNDING:
        is_fault = largest.share >= LARGEST_SHARE - ROUNDING and trials.found.is_certain
        (found.faults if is_fault else found.warnings).append(
            f"The attack '{largest.name}' is worthless, but under {trials.rewards} it earns {largest.share:.0%} of what a "
            f"right answer earns more than a wrong one. {write_remedy(trials, largest.name)}"
        )
    if trials.has_solution:
        add_form_payments(found, trials)
    return found


def add_form_payments(found: Findings, trials: Trials) -> None:
    """Add each term that reads the answer, or else the sum, if it pays much for any wrong answer in the right form."""
    terms = {reward: place for place, (weight, reward) in enumerate(trials.rewards.terms) if weight > 0}
    earned = {reward: measure_form(trials, place) for reward, place in terms.items()}
    earned = {reward: pair for reward, pair in earned.items() if trials.list_readers(reward)} | {
        trials.rewards: sum(trials.rewards.weights[place] * earned[reward] for reward, place in terms.items())
    }
    shares = {reward: float(wrong / right) for reward, (wrong, right) in earned.items() if right > ROUNDING}
    whole = shares.pop(trials.rewards, 0.0) if len(terms) > 1 else 0.0
    shares = {reward: share for reward, share in shares.items() if LARGE_SHARE - ROUNDING <= share < 1}
    if not shares and LARGEST_SHARE + ROUNDING < whole < 1:
        shares = {trials.rewards: whole}
    for reward, share in shares.items():
        is_fault = share >= LARGEST_SHARE - ROUNDING and trials.found.is_certain
        (found.faults if is_fault else found.warnings).append(
            f"A wrong answer in the right form earns {share:.0%} of a right one from {reward}, whatever it is. A "
            f"model can learn the form alone. Pay less for it."
        )


def measure_form(trials: Trials, place: int) -> Any:
    """Return what any wrong answer in the right form, and a right one, earn from a term above what nothing earns."""
    attacked = ~np.isnan(trials.scores["a wrong answer"][:, -1])
    scores = {name: np.nan_to_num(each[attacked, place]) for name, each in trials.scores.items()}
    wrong = np.minimum(scores["wrong"], scores["a wrong answer"])
    if trials.list_readers(trials.rewards.rewards[place]):  # the others may pay for the form of a usual number
        wrong = np.minimum(wrong, scores.get("an absurd answer", wrong))
    floor = np.where(scores["right"] > 0, np.maximum(scores["helpless"], 0), scores["helpless"])
    return (np.array([wrong, scores["right"]]) - floor).sum(axis=1)


def write_remedy(trials: Trials, attack: str) -> str:
    if KINDS.get(attack) == "near":
        return "If it is not meant to be, compare more strictly."
    rewards = leave_out_witnesses(trials.rewards)
    functions = [*find_functions(rewards)]
    if REMEDIES.get(attack) is WORK_OUT and any(one.options.get("evaluated") for one in functions):
        return "Check that prompts and solutions are not swapped, and that no solution repeats its prompt."
    deciding = find_outcomes(rewards) + trials.list_readers(rewards)
    is_own = any(one.factory.is_foreign for one in deciding)
    is_long = any(len(str(one).split()) > MAX_WORDS for one in trials.solutions)
    if REMEDIES.get(attack) is SINGLE and is_own and is_long:
        return "Let it pay less for what the answer does not contain, as an F score does."
    if attack in REMEDIES:
        return REMEDIES[attack][is_own]
    if is_own and len(rewards.rewards) == 1:
        return f"Let {deciding[0]} pay for nothing but a right answer."
    if not trials.has_solution and all(one.factory.is_foreign for one in functions):
        return "Check its sign, and limit what it pays for."
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
