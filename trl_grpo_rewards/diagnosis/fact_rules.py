"""Rules about facts: the latest steps of a run, or all of them. A few steps are enough."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile
from statistics import fmean
from typing import Any

import numpy as np

from ..records.dead_groups import GroupKind
from .series import Series
from .signs import Signs
from .table import DEAD_GROUP_REMEDIES, FEW, MIN_GROUPS, MIN_STEPS, RuleFindings


# --- the outcome reward pays nothing


def find_unpaid(signs: Signs) -> RuleFindings:
    """The outcome reward paid nothing from the beginning, and other rewards make completions differ."""
    constant = {name: signs.constant(name) for name in signs.terms if signs.weight(name) and signs.mean(name)}
    if len(constant) < 2 or signs.outcome not in constant:
        return None
    unpaid = list_unpaid(constant, signs.outcome)
    others = [name for name, series in constant.items() if np.isnan(series.values).any()]
    if not unpaid:
        return []
    return [describe_unpaid(signs, unpaid, others, constant[signs.outcome])] if others and can_teach(signs) else None


def can_teach(signs: Signs) -> bool:
    """Whether some groups are live, and there are enough of them."""
    return {*signs.dead.values} != {1.0} and signs.count_groups(signs.span[0] - 1) >= MIN_GROUPS


def describe_unpaid(signs: Signs, unpaid: Sequence[str], others: Sequence[str], outcome: Series) -> dict[str, Any]:
    count = sum(entry["completions"] for entry in signs.groups)
    values = {"unpaid": join_names(unpaid), "others": join_names(others), "about": unpaid}
    values |= {"score": outcome.values[0] + 0.0, "steps": outcome.span}
    return values | {"count": f"all {count:,} completions" if count else "every completion"}


def list_unpaid(constant: dict[str, Series], outcome: str) -> list[str]:
    """Return the rewards that gave the same score as the outcome to all completions, if it gave one score of at most 0."""
    score = constant[outcome].values[0]
    return [name for name, series in constant.items() if {*series.values} == {score}] if score <= 0 else []


def join_names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


# --- the model broke

BREAKING_RATIOS = {  # how many times as large or as small a value must become, of a model that broke
    "entropy": ("the entropy", 2.5),
    "completions/mean_length": ("the mean length", 1.6),
    "kl": ("the KL divergence", 10.0),
    "grad_norm": ("the norm of the gradient", 10.0),
}


def find_broken(signs: Signs) -> RuleFindings:
    """The rewards are lost, and at the same time the text of the model or its gradient changed by a multiple."""
    outcome = signs.mean(signs.outcome)
    if not outcome:
        return None
    for before, after in list_losses(signs, outcome):
        if changes := list_changes(signs, before, after):
            values = {"about": signs.terms, "best": before.mean, "early": before.span, "worst": after.mean}
            ends = {"late": after.span, "before": before.last, "next": before.last + 1}
            return [values | ends | {"changes": join_names(changes)}]
    return []


def list_losses(signs: Signs, outcome: Series) -> Iterator[tuple[Series, Series]]:
    """Yield the outcome before and after it was lost, and with it all live groups, which only the first steps had, or the total."""
    live, first = signs.last_live, signs.span[0]
    start, end = outcome.cut(0, FEW).until(live), outcome.since(live).cut(-FEW)
    if first <= live < first + FEW and len(start) and len(end) == FEW and end.mean < min(start.mean, 0.8):
        yield start, end
    fall, totals = outcome.find_fall(), signs.series("reward")
    if fall and is_lost(outcome, *fall) and not totals.mean_during(fall[1]) >= totals.mean_during(fall[0]):
        yield fall


def is_lost(outcome: Series, before: Series, after: Series) -> bool:
    """Whether little is left of what was earned above the lowest score."""
    lowest = outcome.values.min(initial=0.0)
    return after.mean - lowest <= 0.12 * (before.mean - lowest)


def list_changes(signs: Signs, before: Series, after: Series) -> list[str]:
    """Return what else changed between two parts of a run, in words."""
    found = []
    for metric, (words, least) in BREAKING_RATIOS.items():
        early, late = (signs.series(metric).mean_during(part) for part in (before, after))
        is_less = metric in ("entropy", "completions/mean_length") and late * least <= early
        if early > 0 and (late >= least * early or is_less):
            found.append(f"{words} went from {early:.2g} to {late:.2g}")
    cut = [signs.series("completions/clipped_ratio").mean_during(part) for part in (before, after)]
    if cut[1] - cut[0] >= 0.3:
        found.append(f"the share that is cut off from {cut[0]:.0%} to {cut[1]:.0%}")
    return found


# --- completions are cut off


def find_cut_off(signs: Signs) -> RuleFindings:
    """Nearly all completions of the last steps were cut off, or most of them from the start to the end."""
    shares, longest = signs.series("completions/clipped_ratio"), signs.series("completions/max_length")
    latest = shares.since(signs.span[1] - FEW)
    if not latest:
        return None
    if latest.mean < 0.95 and not is_always_cut_off(signs, shares):
        return []
    part = latest if latest.mean >= 0.95 else shares
    limit = f" at {longest.since(part.first - 1).values.max():.0f} tokens" if longest else ""
    most = "Nearly all" if part.mean >= 0.95 else "Most"
    return [{"most": most, "share": part.mean, "limit": limit, "steps": part.span}]


def is_always_cut_off(signs: Signs, shares: Series) -> bool:
    """Whether most completions were cut off in each third of the run, and little was learned."""
    count, outcome = len(shares), signs.mean(signs.outcome)
    steps = signs.span[1] - signs.span[0] + 1
    if shares.trend is None or steps < MIN_STEPS:
        return False
    least = min(shares.cut(count * third // 3, count * (third + 1) // 3).mean for third in range(3))
    if least >= 0.75:
        return not outcome.is_near_top()
    return least >= 0.5 and steps >= 2 * MIN_STEPS and not outcome.is_learned()


# --- no group is live


def find_dead_stretch(signs: Signs) -> RuleFindings:
    """No group of the last steps taught anything, and the run has not simply learned to solve them all."""
    live, first = signs.last_live, signs.span[0]
    if not signs.dead:
        return None
    if is_short_stretch(signs, live):
        return []
    lessons = count_kinds(signs, live)
    kind = find_common_kind(signs, live, lessons)
    if live >= first and (kind == "solved" or is_learned_by_heart(signs, live)):
        return []
    dead, about = signs.dead.since(live), signs.terms
    lesson = f"No group was live in {dead.span}, so nothing was learned"
    if dead.values.min() < 1:
        lesson = f"{signs.outcome} was the same for all completions of each prompt in {dead.span}, so only other rewards were learned"
        about = [signs.outcome]
    return [{"about": about, "lesson": lesson, **explain_dead(signs, live, kind, lessons)}]


def is_learned_by_heart(signs: Signs, live: int) -> bool:
    """Whether the outcome is at its top: 1, or 0 if it is never above it, as of distances."""
    outcome = signs.mean(signs.outcome)
    is_distance = len(outcome) > 0 and outcome.values.max() <= 0
    return outcome.since(live).mean >= 0.95 or (is_distance and outcome.is_near_top(0.95))


def is_short_stretch(signs: Signs, live: int) -> bool:
    """Whether the steps since the last live group are too few, or their groups are."""
    first, last = signs.span
    was_live = live >= first
    patience = signs.patience * (2 if was_live and not signs.groups else 1)
    least = max(patience, (last - first + 1) / 10 * was_live)
    return last - live < least or signs.count_groups(live) < MIN_GROUPS / FEW * signs.patience


def count_kinds(signs: Signs, live: int) -> Counter[GroupKind]:
    """Count the groups of each kind after a step. A log does not say their kinds."""
    lessons = Counter[GroupKind]()
    for entry in signs.groups:
        lessons.update(entry["lessons"] if entry["step"] > live else ())
    return lessons


def find_common_kind(signs: Signs, live: int, lessons: Counter[GroupKind]) -> GroupKind:
    means = signs.mean(signs.outcome).since(live)
    if lessons["unscored"] < 0.9 * lessons.total():  # the others tell more, as of rewards that score some rows only
        del lessons["unscored"]
    if lessons:
        return lessons.most_common(1)[0][0]
    if not means:
        return "unscored"
    if means.values.max() <= 0:  # a few of the groups may be of another kind
        return "failed"
    return "solved" if means.mean >= 0.8 else "flat"


def explain_dead(signs: Signs, live: int, kind: GroupKind, lessons: Counter[GroupKind]) -> dict[str, str]:
    """Return what kind of groups were dead, and what to do."""
    remedy = DEAD_GROUP_REMEDIES[kind].format(outcome=signs.outcome)
    if lessons:
        return {"told": f"{lessons[kind]} of {lessons.total()} groups were {kind!r}", "remedy": remedy}
    if kind != "flat":
        return {"told": f"all were {kind!r}", "remedy": remedy}
    mean = signs.mean(signs.outcome).since(live).mean  # a log does not say whether some are solved and others failed
    return {
        "told": f"all completions of a prompt earned the same, {mean:.2g} on average by {signs.outcome}",
        "remedy": "Use prompts that are solved now and then, or make the rewards finer.",
    }


# --- values are missing


def find_not_finite(signs: Signs) -> RuleFindings:
    """Values are NaN or infinite. Gradients overflow in float16 without harm, at first and now and then."""
    found = []
    for name in ("loss", "grad_norm", "kl", "entropy"):
        values = [(entry["step"], entry[name]) for entry in signs.log if isinstance(entry.get(name), float)]
        steps = [step for step, value in values if not math.isfinite(value) and step - signs.since >= FEW]
        if is_often(name, steps, [step for step, _ in values]):
            found.append({"name": name, "first": steps[0], "count": f"{len(steps)} of {len(values)}"})
    return found if signs.log else None


def is_often(name: str, steps: Sequence[int], logged: Sequence[int]) -> bool:
    """Whether a value is missing in the last steps, or in too many of those in which it was logged."""
    at_end, share = (FEW, 0.1) if name == "grad_norm" else (1, 0.005)
    is_at_end = len(steps) >= at_end and {*logged[-at_end:]} <= {*steps}
    return is_at_end or len(steps) > max(at_end, share * len(logged))


def find_unscored(signs: Signs) -> RuleFindings:
    """A reward stopped giving scores, or never gave any. A reward may be of a few rows only, with None for the others."""
    scored, found = {name: signs.mean(name) for name in signs.terms}, []
    is_any_scored = any(scored.values())
    for name, means in scored.items():
        last = signs.find_last(f"rewards/{name}/mean")
        since = means.last + 1 if means else signs.span[0]
        least = FEW if name == signs.outcome or not is_any_scored else MIN_STEPS
        if means:  # ten times as long as it usually takes to get a score
            least = math.ceil(10 * (since - signs.span[0]) / (means.lasts - means.firsts + 1).sum())
        if last - since + 1 >= least:
            found.append({"about": [name], "name": name, "since": since, "last": last})
    return found if scored else None


def find_lost_gradient(signs: Signs) -> RuleFindings:
    """The gradient of the last steps is 0, and not because all groups of these steps are dead."""
    norms, shares = signs.series("grad_norm"), dict(zip(signs.dead.lasts, signs.dead.values, strict=True))
    known = [(step, norm) for step, norm in zip(norms.lasts.tolist(), norms.values, strict=True) if step in shares]
    lost = [step for step, _ in takewhile(lambda one: one[1] == 0, reversed(known))]
    dead = [shares[step] for step in lost]
    if len(known) < FEW:
        return None
    if len(lost) < FEW or math.prod(dead) > 0.001:  # a log has the gradient of one step in many
        return []
    return [{"since": lost[-1], "last": lost[0], "live": 1 - fmean(dead)}]
