"""Rules about trends: what rose, fell or stayed in a run as a whole."""

import math
import re
from typing import Any

import numpy as np

from .series import MIN_POINTS, Series, Trend
from .signs import Signs
from .table import DEAD_GROUP_REMEDIES, LONG, MIN_GROUPS, MIN_STEPS, REASONS_OF_NO_RISE, RuleFindings


PENALTY = re.compile("penal|overlong|length|long|short|repet|trunc|limit|cost", re.IGNORECASE)  # may never be due


# --- scores that fall, or rise alone


def find_held_out_fall(signs: Signs) -> RuleFindings:
    """The score on held-out problems has fallen since its best, and the reward in training has risen."""
    rewards, sets = signs.series("reward"), {name: one for name, one in signs.held_out().items() if len(one) > 4}
    if rewards.trend is None or not sets:
        return None
    falls = {name: fall for name, one in sets.items() if (fall := one.find_fall())}
    if rewards.trend.sign <= 0:
        return []
    return [
        {"where": name and f" of {name}", "best": fall[0], "worst": fall[1], **rewards.trend._asdict()}
        for name, fall in falls.items()
        if not has_fallen_too(rewards, *fall)
    ]


def has_fallen_too(rewards: Series, best: Series, worst: Series) -> bool:
    least = 0.05 * abs(rewards.values).max()
    return rewards.mean_during(worst) < rewards.mean_during(best) - least


def find_form_gain(signs: Signs) -> RuleFindings:
    """Another reward rises while the outcome falls, or stays low for long after the other one has made half of its way."""
    outcome, others = signs.mean(signs.outcome), [name for name in signs.terms if name != signs.outcome]
    if outcome.trend is None or not others:
        return None
    if signs.is_better_held_out():
        return []
    names = [*filter(signs.weight, others)]
    if fall := outcome.find_fall():
        values = {"verb": "falls", "best": fall[0].mean, "worst": fall[1].mean}
        gains = {name: find_gain(signs, name, fall[0].first - 1) for name in names}
    else:
        values = {"verb": "stays", "best": outcome.trend.start, "worst": outcome.trend.end}
        gains = {name: find_gain_alone(signs, name, outcome) for name in names}
    return [{"name": name, **values, **gain._asdict()} for name, gain in gains.items() if gain]


def find_gain(signs: Signs, name: str, since: int = 0) -> Trend | None:
    """Return the trend of a reward after a step if it pays more and more."""
    gain = signs.mean(name).since(since).trend
    return gain if gain and gain.sign * signs.weight(name) > 0 else None


def find_gain_alone(signs: Signs, name: str, outcome: Series) -> Trend | None:
    """Return the trend of a reward that pays much more, while the outcome is low, and long after it stays so."""
    gain = None if outcome.is_near_top(0.5) else find_gain(signs, name)
    if gain is None or abs(gain.end - gain.start) <= 0.2:
        return None
    later = outcome.since(signs.mean(name).find_middle(gain))
    is_long = len(later) > 1 and later.last - later.first >= LONG - 1
    return gain if is_long and not any(map(is_rising, (outcome, later))) else None


def is_rising(series: Series) -> bool:
    return series.trend is not None and series.trend.score >= 2


def find_length_growth(signs: Signs) -> RuleFindings:
    """Completions grow, and a held-out score, or else the outcome in training, falls, or none of them rises."""
    lengths, scores = signs.series("completions/mean_length").trend, list_judged_scores(signs)
    if lengths is None or not scores:
        return None
    falls = {what: fall for what, one in scores.items() if (fall := one.find_fall())}
    least = 1.2 if falls else 1.5
    if lengths.sign < 1 or lengths.end < least * lengths.start or signs.is_better_held_out():
        return []
    trained = signs.mean(signs.outcome)
    ends = describe_longer_falls(scores, falls) if falls else describe_longer(lengths, trained, scores)
    return [{**ends, **lengths._asdict()}] if ends else []


def list_judged_scores(signs: Signs) -> dict[str, Series]:
    """Return the held-out scores, or else the outcome in training, if they are long enough."""
    sets = {f"the held-out score{name and f' of {name}'}": one for name, one in signs.held_out().items()}
    long = {what: one for what, one in sets.items() if one.trend}
    trained = signs.mean(signs.outcome)
    return long or ({signs.outcome: trained} if trained.trend else {})


def describe_longer_falls(scores: dict[str, Series], falls: dict[str, tuple[Series, Series]]) -> dict[str, Any]:
    """Return what falls, unless another score has risen."""
    if any(one.is_learned() for what, one in scores.items() if what not in falls):
        return {}
    what, (best, worst) = next(iter(falls.items()))
    return {"verb": "worse", "what": what, "best": best.mean, "worst": worst.mean}


def describe_longer(lengths: Trend, trained: Series, scores: dict[str, Series]) -> dict[str, Any]:
    """Return what stays, unless a score has risen, by more where completions have become much longer."""
    if is_worth_length(lengths, trained, scores):
        return {}
    what, score = next(iter(scores.items()))
    ends = score.trend
    return {"verb": "not better", "what": what, "best": ends.start, "worst": ends.end} if ends else {}


def is_worth_length(lengths: Trend, trained: Series, scores: dict[str, Series]) -> bool:
    share = 0.2 if lengths.end < 2.5 * lengths.start else 0.5
    return any(one.is_near_top() or one.has_risen(share) for one in (trained, *scores.values()))


def find_fall(signs: Signs) -> RuleFindings:
    """The outcome falls to a third of its best mean or less, and below where it began, and no held-out score rises."""
    outcome = signs.mean(signs.outcome)
    trend, fall, lowest = outcome.trend, outcome.find_fall(), outcome.values.min(initial=0.0)
    if trend is None:
        return None
    if not fall or signs.is_better_held_out():
        return []
    is_deep = fall[1].mean - lowest <= (fall[0].mean - lowest) / 3 and fall[1].mean < trend.start
    return [{"best": fall[0], "worst": fall[1]}] if is_deep else []


# --- groups and rewards without a signal


def find_mostly_dead(signs: Signs) -> RuleFindings:
    """Most groups are dead at the end, and not because the run has learned to solve them."""
    shares, outcome = signs.dead, signs.mean(signs.outcome)
    count, total = len(shares), signs.count_groups(signs.span[0] - 1)
    if count < MIN_POINTS:
        return None
    part = max(count // 4, min(count // 2, math.ceil(count * MIN_GROUPS / total)))
    end = shares.cut(-part)
    is_sure = end.mean - 0.7 / math.sqrt(signs.count_groups(end.first - 1)) >= 0.75
    if not is_sure or not (is_lost_signal(signs, part) or is_used_up(shares, outcome)):
        return []
    kind: Any = "solved" if outcome.cut(-part).mean >= 0.5 else "failed"
    remedy = DEAD_GROUP_REMEDIES[kind].format(outcome=signs.outcome)
    return [{"steps": end.span, "cost": f"{min(math.floor(10 * end.mean), 9)} of 10", "remedy": remedy}]


def is_lost_signal(signs: Signs, part: int) -> bool:
    """Whether most groups at the end were dead without being solved, or were solved from the start."""
    shares, solved = signs.dead, signs.series("groups/solved")
    is_known = len(solved) == len(shares)
    if (solved if is_known else shares).cut(0, part).mean >= 0.75:
        return True
    if is_known:
        return shares.cut(-part).mean - solved.cut(-part).mean >= 0.75
    return not signs.mean(signs.outcome).is_learned()


def is_used_up(shares: Series, outcome: Series) -> bool:
    """Whether most groups of the last third were dead, while the outcome stayed below its top."""
    third = len(shares) // 3
    if third < MIN_POINTS or shares.cut(-third).mean < 0.8 or outcome.is_near_top():
        return False
    trend = outcome.cut(-third).trend
    return trend is not None and trend.score < 1


def find_constant(signs: Signs) -> RuleFindings:
    """A reward gave one score to all completions for long, and it is not the best that it learned to earn."""
    found = []
    for name in filter(signs.weight, signs.terms):
        series = signs.constant(name)
        starts = np.flatnonzero(np.diff(series.values, prepend=math.nan)).tolist()  # after another score
        parts = [*map(series.cut, starts, [*starts[1:], None])]
        found += [describe_constant(name, part) for part in parts if is_stuck(signs, name, part)]
    return found if signs.terms else None


def describe_constant(name: str, part: Series) -> dict[str, Any]:
    return {"about": [name], "name": name, "score": float(part.values[0]), "steps": part.span}


def is_stuck(signs: Signs, name: str, part: Series) -> bool:
    """Whether a reward gave one score for too long, and this is neither its best nor a penalty that is never due."""
    score, steps = float(part.values[0]), part.last - part.first + 1
    if math.isnan(score) or steps < MIN_STEPS:
        return False
    return is_silent(signs, name, part) or (steps >= LONG and not is_best(signs, name, part))


def is_best(signs: Signs, name: str, part: Series) -> bool:
    """Whether one score is the best that a reward learned to earn, or from the start if it is all that there is to earn."""
    score, means = float(part.values[0]), signs.mean(name).values
    if score != (min(means) if signs.weight(name) < 0 else max(means)):
        return False
    is_due = score < 1 and (score != 0 or not signs.mean(signs.outcome).is_learned())
    return part.first > signs.span[0] or not (is_due or name == signs.outcome)


def is_silent(signs: Signs, name: str, part: Series) -> bool:
    """Whether a reward next to the outcome has paid 0 in all steps, and its name is not that of a penalty."""
    is_whole = len(part) == len(signs.mean(name))
    is_zero = part.values[0] == 0 and signs.weight(name) > 0 and not PENALTY.search(name)
    return is_whole and is_zero and name != signs.outcome and part.last - part.first + 1 >= 30


def find_weak(signs: Signs) -> RuleFindings:
    """A reward has a large weight but almost no signal in any part of the run."""
    total, found = sum(abs(signs.weight(name)) for name in signs.terms), []
    shares = {name: series for name in signs.terms if (series := signs.series(f"groups/signal/{name}")).trend}
    for name, series in shares.items():
        width, weight = len(series) // 10, abs(signs.weight(name)) / (total or 1.0)
        parts = (abs(series.cut(at, at + width).mean) for at in range(0, len(series), width))
        if weight >= 0.2 and max(parts) < 0.02:
            found.append({"about": [name], "name": name, "weight": weight, "share": series.mean, "steps": series.span})
    return found if shares else None


# --- nothing rises


def find_no_rise(signs: Signs) -> RuleFindings:
    """Neither the total reward nor the outcome has changed in the whole run, and a change would have been seen."""
    totals, outcome = signs.series("reward"), signs.mean(signs.outcome)
    known = [series for series in (totals, outcome) if series.trend]
    if not known:
        return None
    if signs.is_better_held_out() or outcome.is_near_top() or not all(series.is_flat() for series in known):
        return []
    what, series = (signs.outcome, outcome) if outcome else ("The total reward", totals)
    values = {"what": what, "mean": series.mean, "margin": 2 * series.noise / math.sqrt(len(series))}
    reason = choose_reason(signs)
    rate = signs.series("learning_rate")
    known_rate = f", which was {rate.values.max():.2g}" if rate else ""
    return [
        values
        | {
            "steps": series.span,
            "reason": REASONS_OF_NO_RISE[reason].format(live=1 - signs.dead.mean, rate=known_rate),
        }
    ]


def choose_reason(signs: Signs) -> str:
    """Return what can be said of a run that does not rise."""
    entropy, kl = signs.series("entropy").trend, signs.series("kl")
    if signs.dead.mean >= 0.7:
        return "dead"
    is_same = entropy is not None and abs(entropy.end - entropy.start) <= 0.1 * abs(entropy.start)
    if is_same and not kl.mean > 0.05:
        return "unchanged"
    return "few" if signs.count_groups(signs.span[0] - 1) < 200 else "blind"


# --- the model and the machine


def find_gradient_spikes(signs: Signs) -> RuleFindings:
    """Some gradients are far larger than nearly all others. Steps without a live group have no gradient."""
    series = signs.series("grad_norm")
    norms = series.values[series.values > 0]
    if len(norms) < MIN_POINTS:
        return None
    usual = float(np.median(norms))
    spread = 1.5 * float(np.median(abs(np.log(norms / usual))))  # noise is often as large as the gradient
    highest = float(np.quantile(norms, 0.8, method="weibull"))
    spikes = series.lasts[series.values > max(20 * usual, 5 * highest, usual * math.exp(min(5 * spread, 500)))]
    values = {"count": len(spikes), "usual": usual, "most": norms.max(), "first": spikes[:1].sum()}
    return [values] if len(spikes) > 2 else []


def is_slower(signs: Signs, times: Trend) -> bool:
    """Whether all steps of the last fifth are slow, for ten seconds or more: another process may take a few."""
    series = signs.series("step_time")
    last = series.cut(-max(len(series) // 5, 1))
    least = 1.5 * grow_lengths(signs) * times.start
    seconds = float((last.values * (last.lasts - last.firsts + 1)).sum())
    return times.sign > 0 and min(times.end, float(np.quantile(last.values, 0.1))) >= least and seconds >= 10


def grow_lengths(signs: Signs) -> float:
    """Return how many times as long completions have become, at least 1."""
    lengths = signs.series("completions/mean_length").trend
    return max(1.0, lengths.end / lengths.start) if lengths and lengths.start > 0 else 1.0
