"""Check that no attack is paid like an honest, correct completion."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..answers.solutions import MAX_WORDS
from ..errors import shorten_repr
from ..expressions import Reward, Sum, leave_out_witnesses
from ..function_rewards import find_functions, find_outcomes, without_asking
from ..registry import Wrapped, read_rewards
from ..traits import Findings
from .attack_completions import KINDS, RUN_ON, TEXTS
from .completions import ROUNDING, SPELLED, Rows, Tokenize, split_words
from .mixed_groups import WORTHLESS, MixedGroup
from .search import Scores
from .trials import ANSWERS, Trials, make_trials


ATTACKS = "attacks"  # title of this check
NOT_RUN = "not run: "  # beginning of the only line of a check that was not run
CHANCE = 0.1  # share of rows up to which an attack may pay by chance
LEAST = {"formless": 0.0, "formed": 0.0, "informed": CHANCE, "near": 1 / 4}  # share of rows up to which a kind may pay
NEARLY = 0.95  # share of what a right answer earns more than a wrong one, from which on an attack is paid
LARGE_SHARE = 1 / 3  # of what a right answer earns: a worthless text that earns it is a warning
LARGEST_SHARE = 1 / 2  # the same for a fault

# Completions in sentences, and why what is worthless must not earn more than what is wrong
SPOKEN = {
    "right": "a right completion",
    "wrong": "a wrong completion",
    "nothing": "an empty completion",
    "one word": "a completion of one word",
    "random words": "a completion of random words",
}
ALONE = "Without a right answer in the group, only this is learned."

QUESTIONS = TEXTS["questions"]  # for use without a dataset


class Payment(NamedTuple):
    """What an attack earns, on how many rows it pays, its share of a right answer's gain over a wrong one, and who pays it."""

    name: str
    mean: float
    paid: int
    tried: int
    share: float
    row: int | None  # the first one on which it pays
    by: int  # the place of the term that says what is right
    is_paid_by_it: bool  # whether this term alone pays it on most of the rows on which it pays

    @property
    def kind(self) -> str:
        return KINDS.get(self.name, "informed")


PUBLIC = Payment._fields[:6]  # who pays it is for the remedy alone


def count_payments(trials: Trials) -> list[Payment]:
    """Return what each attack earns on the rows whose honest completion is judged and paid, if there are any."""
    right, wrong, helpless = (trials.scores[name] for name in ANSWERS)
    low = np.where(np.isnan(wrong), right, wrong)
    weights = trials.rewards.weights
    deciding = [place for place in trials.reading if weights[place]] or np.flatnonzero(weights).tolist()
    attacks = [name for name in trials.scores if name not in ANSWERS]
    is_attacked = ~np.isnan([trials.scores[name][:, -1] for name in attacks]).all(axis=0) if attacks else True
    is_judged = is_attacked & ~np.isnan(right[:, deciding]).all(axis=1) & ~np.isnan(right[:, -1])
    is_more = is_judged & (right[:, -1] > np.nan_to_num(helpless[:, -1]))
    if is_more.any() or not trials.has_solution:  # the other rows are in the dry run
        is_judged = is_more
    gains = np.nan_to_num((right - low) * [*weights, 0.0])[is_judged].sum(axis=0)
    declared = [place for place in deciding if trials.rewards.rewards[place].is_outcome]
    outcome = max(declared[:1] or deciding, key=lambda place: gains[place], default=-1)
    payments = []
    for name in attacks:
        rows = np.flatnonzero(is_judged & ~np.isnan(trials.scores[name][:, -1]))
        if rows.size:
            scores = [each[rows] for each in (trials.scores[name], right, low, helpless)]
            payments.append(measure_payment(name, rows, outcome, *scores))
    return payments


def measure_payment(
    name: str, rows: Any, outcome: int, scores: Scores, right: Scores, low: Scores, helpless: Scores
) -> Payment:
    """Return what an attack earns on some rows: it is paid with nearly all that a right answer earns, or what the outcome pays."""
    enough = right.copy()
    if KINDS.get(name) != "near":
        enough[:, -1] -= (1 - NEARLY) * np.maximum(right - low, 0)[:, -1]
    is_paid = (scores > right + ROUNDING) | ((scores >= enough - ROUNDING) & (right > helpless + ROUNDING))
    is_most = scores > (right + helpless) / 2 + ROUNDING  # other terms take less than half
    pays = is_paid[:, -1] | (is_paid[:, outcome] & is_most[:, -1])
    paid = rows[pays].tolist()
    is_paid_by_it = bool(is_paid[pays, outcome].sum() > len(paid) / 2)
    more, gain = (float((each - low)[:, -1].sum()) for each in (scores, right))
    share = more / gain if gain > ROUNDING else 0.0
    mean = float(scores[:, -1].mean())
    return Payment(name, mean, len(paid), len(rows), share, next(iter(paid), None), outcome, is_paid_by_it)


def count_by_chance(trials: Trials, tried: int) -> float:
    """Return on how many rows the most frequent solution may be right, with two standard errors."""
    if not trials.has_solution:
        return 0.0
    answers = Counter(repr(row.get(SPELLED) or row.get(trials.found.column)) for row in trials.found.rows)
    share = (max(answers.values()) - 1) / max(1, answers.total() - 1)
    return tried * share + 2 * math.sqrt(tried * share * (1 - share))


def check_attacks(trials: Trials) -> Findings:
    """Check that no attack is paid like an honest, correct completion."""
    found = Findings(ATTACKS, warnings=[*trials.late])
    if not leave_out_witnesses(trials.rewards).columns and not trials.has_solution:
        found.warnings.append("No reward reads a dataset column, so form alone earns the full reward.")
    is_form_known = trials.found.is_solved or not trials.found.unpaid
    payments = count_payments(trials) if is_form_known else []
    if not payments:
        found.lines.append(
            f"{NOT_RUN}no completion that was made earns these rewards. Add a column 'completion' with right ones."
        )
        found.is_run = False
        return found
    found.data["attacks"] = [dict(zip(PUBLIC, payment, strict=False)) for payment in payments]
    for payment in payments:
        on_rows = f", which pays on {payment.paid} of {payment.tried} rows" if payment.paid else ""
        found.lines.append(f"{payment.mean:8.3f} {payment.name}{on_rows}")
    found.warnings += list_paid_brevity(trials, payments)
    add_groups(found, trials, payments[0].by)
    small = add_paid_attacks(found, trials, [payment for payment in payments if payment.name != RUN_ON])
    if trials.has_solution:
        worthless = [payment for payment in small if payment.kind in ("formless", "formed")]
        for share, text in [*list_small_payments(trials, worthless), *list_form_payments(trials)]:
            is_fault = share >= LARGEST_SHARE - ROUNDING and trials.found.is_certain
            (found.faults if is_fault else found.warnings).append(text)
    return found


def add_paid_attacks(found: Findings, trials: Trials, payments: list[Payment]) -> list[Payment]:
    """Add the attacks that are paid on more rows than chance explains, those with one remedy together, and return the others."""
    attacked = max((payment.tried for payment in payments), default=0)
    paid: dict[tuple[bool, str], list[Payment]] = defaultdict(list)
    others = []
    for payment in payments:
        if payment.paid <= max(LEAST[payment.kind] * attacked, count_by_chance(trials, payment.tried)):
            others.append(payment)
            continue
        often = (LARGEST_SHARE if payment.kind == "informed" else CHANCE) * payment.tried - ROUNDING
        is_fault = payment.paid >= often and payment.kind != "near" and trials.found.is_certain
        paid[is_fault, write_remedy(trials, payment)].append(payment)
    for (is_fault, remedy), (first, *alike) in paid.items():
        same = f" The same holds for {', '.join(repr(payment.name) for payment in alike)}." if alike else ""
        end = trials.texts[first.row or 0][first.name][-30:]
        shown = f"; it ends with {shorten_repr(end)} in row {first.row}" if end else ""
        (found.faults if is_fault else found.warnings).append(
            f"The attack '{first.name}' earns as much as an honest, correct completion under {trials.rewards}, on {first.paid} of "
            f"{first.tried} rows{shown}.{same} {remedy}"
        )
    return others


def add_groups(found: Findings, trials: Trials, outcome: int) -> None:
    """Add what worthless completions earn in groups of equal ones, where a term compares the completions of a group."""
    for group in trials.mixed:
        single, others = (group.average(name)[-1] for name in (group.single, group.others))
        found.lines.append(
            f"{single:8.3f} {SPOKEN[group.single]} among seven equal {group.others} ones, each {others:.3f}"
        )
    if paid := list_paid_in_groups(trials, outcome):
        (found.faults if trials.found.is_certain else found.warnings).extend(paid)
    elif trials.mixed:
        found.warnings += list_paid_noise(trials, outcome)


def list_paid_brevity(trials: Trials, payments: list[Payment]) -> Iterator[str]:
    """Yield a sentence on each term of a user that pays an empty completion more than any answer, as terms for length do."""
    is_tried = trials.has_solution and "nothing" in trials.scores
    if not is_tried or any(payment.paid for payment in payments if payment.name == "nothing"):
        return
    weights = [*trials.rewards.weights, 1.0]
    empty, right, wrong = (trials.average(name) * weights for name in ("nothing", "right", "wrong"))
    is_most = empty > np.maximum(right, wrong) + ROUNDING
    for place in list_own_terms(trials, payments[0].by):
        if is_most[place] and not trials.compared[place]:
            yield (
                f"The term {write_term(trials, place)} pays an empty completion {empty[place]:.3g}, and a right one of "
                f"{len(trials.texts[0]['right'])} characters {right[place]:.3g}. {ALONE} {write_gate(trials, place, payments[0].by)}"
            )


def list_paid_noise(trials: Trials, outcome: int) -> Iterator[str]:
    """Yield a sentence on each term of a user that pays what is worthless more than the equal wrong completions of its group."""
    groups = [group for group in trials.mixed if group.others == "wrong" and group.single in WORTHLESS]
    for place in [place for place in list_own_terms(trials, outcome) if trials.compared[place]]:
        weight = trials.rewards.weights[place]
        group = max(groups, key=lambda group: weight * group.compare("wrong")[place])  # noqa: B023
        noise, wrong = (weight * group.average(name)[place] + 0.0 for name in (group.single, "wrong"))  # without -0
        if noise > wrong + ROUNDING:
            yield (
                f"In a group with seven equal wrong completions, the term {write_term(trials, place)} pays {SPOKEN[group.single]} "
                f"{noise:.3g}, and the wrong ones {wrong:.3g} each. {ALONE} {write_gate(trials, place, outcome)}"
            )


def list_paid_in_groups(trials: Trials, outcome: int) -> list[str]:
    """Return a sentence on the group in which a worthless completion earns most more than a right one, or as much."""
    found = []
    for group in [group for group in trials.mixed if "right" in group.earned]:
        *more, total = group.compare("right")
        gains = np.multiply(more, trials.rewards.weights) * trials.compared
        if total >= -ROUNDING and gains.max() > ROUNDING:
            found.append((float(total), group, int(gains.argmax())))
    if not found:
        return []
    _, group, place = max(found, key=lambda one: one[0])
    single, others = (group.average(name)[-1] for name in (group.single, group.others))
    return [
        f"In a group of eight, {SPOKEN[group.single]} earns {single:.3g} and each of seven equal {group.others} ones {others:.3g} "
        f"under {trials.rewards}: the term {write_term(trials, place)} prefers what is worthless. "
        f"{write_group_remedy(trials, group, place, outcome)}"
    ]


def write_group_remedy(trials: Trials, group: MixedGroup, place: int, outcome: int) -> str:
    if place == outcome:
        return "Let it pay a right completion most in every group."
    if max(trials.rewards.weights[place] * group.average(name)[place] for name in group.earned) <= ROUNDING:
        return "Subtract less of it."  # a gate would subtract it from right answers alone
    return write_gate(trials, place, outcome)


def list_own_terms(trials: Trials, outcome: int) -> list[int]:
    """Return the places of the paid terms with a function of the user's own, except the one that says what is right."""
    paid = [place for place, weight in enumerate(trials.rewards.weights) if weight and place != outcome]
    functions = {place: find_functions(trials.rewards.rewards[place]) for place in paid}
    return [place for place in paid if any(function.factory.is_foreign for function in functions[place])]


def write_term(trials: Trials, place: int) -> str:
    return str(Sum((trials.rewards.terms[place],)))


def write_gate(trials: Trials, place: int, outcome: int) -> str:
    term, by = (write_argument(trials.rewards.rewards[one]) for one in (place, outcome))
    return f"To count it for right answers only, replace it by gate({term}, by={by})."


def list_small_payments(trials: Trials, payments: list[Payment]) -> list[tuple[float, str]]:
    """Return what the most rewarding attack earns of what a right answer earns, if that is much, and a sentence on it."""
    largest = max(payments, key=lambda payment: payment.share, default=None)
    if largest is None or largest.share < LARGE_SHARE - ROUNDING:
        return []
    text = (
        f"The attack '{largest.name}' is worthless, but under {trials.rewards} it earns {largest.share:.0%} of the "
        f"gap between a wrong and a right answer. {write_remedy(trials, largest)}"
    )
    return [(largest.share, text)]


def list_form_payments(trials: Trials) -> list[tuple[float, str]]:
    """Return what any wrong answer in the right form earns from terms that read the answer, or else in total, if that is much."""
    weights = trials.rewards.weights
    earned = {place: weight * measure_form(trials, place) for place, weight in enumerate(weights) if weight > 0}
    shares = {
        trials.rewards.rewards[place]: measure_share(*earned[place]) for place in trials.reading if place in earned
    }
    large = {reward: share for reward, share in shares.items() if share >= LARGE_SHARE - ROUNDING}
    whole = measure_share(*sum(earned.values(), start=np.zeros(2)))
    if not large and len(earned) > 1 and whole > LARGEST_SHARE + ROUNDING:
        large = {trials.rewards: whole}
    said = "whatever it is. A model can learn the form alone. Pay less for it."
    return [
        (share, f"A wrong answer in the right form earns {share:.0%} of a right one from {reward}, {said}")
        for reward, share in large.items()
    ]


def measure_share(wrong: float, right: float) -> float:
    """Return what part wrong answers earn of what right ones earn, or 0 if they earn as much, which is another fault."""
    return float(wrong / right) if right > max(wrong, ROUNDING) else 0.0


def measure_form(trials: Trials, place: int) -> Any:
    """Return what any wrong answer in the right form, and a right one, earn from a term above what nothing earns."""
    attacked = ~np.isnan(trials.scores["a wrong answer"][:, -1])
    scores = {name: np.nan_to_num(each[attacked, place]) for name, each in trials.scores.items()}
    names = ["wrong", "a wrong answer"]
    if place in trials.reading:  # the others may pay for the form of a usual number
        names += {"an absurd answer"} & scores.keys()
    wrong = np.min([scores[name] for name in names], axis=0)
    floor = np.where(scores["right"] > 0, np.maximum(scores["helpless"], 0), scores["helpless"])
    return (np.array([wrong, scores["right"]]) - floor).sum(axis=1)


def write_argument(reward: Reward) -> str:
    """Return a reward as an argument of another one. A function for TRL stands there by its name, as in its own code."""
    is_plain = isinstance(getattr(reward, "factory", None), Wrapped)
    return str(reward).removesuffix("()") if is_plain else str(reward)


def write_remedy(trials: Trials, payment: Payment) -> str:
    rewards = leave_out_witnesses(trials.rewards)
    functions = [*find_functions(rewards)]
    deciding = find_outcomes(rewards) + trials.list_readers(rewards)
    if deciding and any(trials.compared) and not payment.is_paid_by_it:
        return write_weights(deciding[0])
    if payment.kind == "near":
        return "If that is not intended, compare more strictly."
    is_own = any(function.factory.is_foreign for function in deciding)
    is_long = is_own and any(len(str(value).split()) > MAX_WORDS for value in trials.solutions)
    is_evaluated = any(function.options.get("evaluated") for function in functions)
    cases = {"evaluated": is_evaluated, "long": is_long, "own": is_own, "ours": True}
    for remedy in TEXTS["remedies"]:
        if payment.name in remedy["attacks"]:
            return str(next(remedy[case] for case, holds in cases.items() if holds and case in remedy))
    if is_own and len(rewards.rewards) == 1:
        return f"Let {deciding[0]} pay for nothing but a right answer."
    if not trials.has_solution and all(function.factory.is_foreign for function in functions):
        return "Check its sign, and limit what it pays for."
    payer = trials.rewards.rewards[payment.by]
    if payment.is_paid_by_it and any(function.factory.is_foreign for function in find_functions(payer)):
        return f"{payer} itself pays it. Let it compare the whole answer, for example with == instead of in."
    return write_weights(deciding[0] if deciding else None)


def write_weights(deciding: Reward | None) -> str:
    by = write_argument(deciding) if deciding else "boxed()"
    return f"Give the answer more weight, or pay the other terms only when it pays: gate(..., by={by})."


def assert_not_gameable(reward: Reward, rows: Rows | None = None, tokens: Tokenize = split_words) -> None:
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
    paid = [one for one in count_payments(trials) if one.paid and one.kind != "near"]
    table = "; ".join(f"{one.name} on {one.paid} of {one.tried} rows ({one.mean:.3f})" for one in paid)
    assert not paid, f"Under {offline}, these attacks earn as much as an honest, correct completion: {table}."
    right, helpless = (trials.average(name)[-1] for name in ("right", "helpless"))
    assert not trials.has_solution or right > helpless, (
        f"Under {offline}, an honest, correct completion must earn more than 'I do not know.'; got {right} and "
        f"{helpless}. Pass rows that the reward can judge, with a correct 'completion' if it cannot be made from the "
        f"'solution'."
    )
