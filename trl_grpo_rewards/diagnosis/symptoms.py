"""The warnings about a run: the rules for its log, and for what its records say about groups. `symptoms.toml` has the texts."""

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..records.dead_groups import GroupKind
from .series import MIN_POINTS, Trend
from .signs import Signs


FEW, MIN_STEPS, LONG = 5, 20, 50  # steps for facts, for trends, and without any change for too long
MIN_GROUPS = 4 * FEW  # not all dead by chance: if half are, 5 in a row are in one of 32 cases
Findings: TypeAlias = list[dict[str, Any]] | None  # values for the sentence of each warning; None without the metric


class Anomaly(NamedTuple):
    """One warning: a few words, and details with steps, numbers, and what to do."""

    title: str
    details: str


class Symptom(NamedTuple):
    """A rule of `symptoms.toml`, which says what its fields are."""

    name: str
    least: int
    title: str
    details: str
    page: str
    holds: str
    unless: Sequence[str] = ()


SYMPTOMS_FILE = tomllib.loads(Path(__file__).with_name("symptoms.toml").read_text(encoding="utf-8"))
DEAD_GROUP_REMEDIES: dict[GroupKind, str] = SYMPTOMS_FILE["remedies"]
SYMPTOMS = [Symptom(name, **row) for name, row in SYMPTOMS_FILE["rules"].items()]
FACTS = [rule.name for rule in SYMPTOMS if rule.least == FEW]


def diagnose(signs: Signs, names: Iterable[str] = ()) -> dict[str, list[Anomaly]]:
    """Return the warnings of each rule that can diagnose this run, by the name of the rule. By default, all rules do."""
    told: dict[str, list[Anomaly]] = {}
    about: dict[str, set[str]] = {}
    for rule in SYMPTOMS:
        is_ready = signs.span[1] - signs.span[0] + 1 >= rule.least and (not names or rule.name in names)
        if is_ready and (facts := FINDERS[rule.name](signs)) is not None:
            known = {subject for other in rule.unless for subject in about.get(other, ())}
            new = [{"outcome": signs.outcome, "about": [signs.outcome], **one} for one in facts]
            new = [one for one in new if known.isdisjoint(one["about"])]
            about[rule.name] = {subject for one in new for subject in one["about"]}
            texts = ((rule.title.format(**one), rule.details.format(**one)) for one in new)
            told[rule.name] = [Anomaly(title, f"{text} See docs/symptoms.md#{rule.page}.") for title, text in texts]
    return told


def find_unpaid(signs: Signs) -> Findings:
    """The outcome reward paid nothing from the beginning, and other rewards make completions differ."""
    constant = {name: signs.constant(name) for name in signs.terms if signs.weight(name) and signs.mean(name)}
    others = [name for name, series in constant.items() if np.isnan(series.values).any()]
    if len(constant) < 2 or signs.outcome not in constant:
        return None
    score = constant[signs.outcome].values[0]
    unpaid = [name for name, series in constant.items() if {*series.values} == {score}] if score <= 0 else []
    if not unpaid:
        return []
    if not others or {*signs.dead.values} == {1.0} or signs.count_groups(signs.span[0] - 1) < MIN_GROUPS:
        return None
    count = sum(entry["completions"] for entry in signs.groups)
    told = f"all {count:,} completions" if count else "every completion"
    values = {
        "unpaid": join_names(unpaid),
        "others": join_names(others),
        "about": unpaid,
        "score": score + 0.0,
        "count": told,
    }
    return [values | {"steps": constant[signs.outcome].span}]


def join_names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def find_cut_off(signs: Signs) -> Findings:
    """Nearly all completions of the last steps were cut off."""
    names = "completions/clipped_ratio", "completions/max_length"
    latest, longest = (signs.series(name).since(signs.span[1] - FEW) for name in names)
    if not latest:
        return None
    limit = f" at {longest.values.max():.0f} tokens" if longest else ""
    return [{"share": latest.mean, "limit": limit, "steps": latest.span}] if latest.mean >= 0.95 else []


def find_dead_stretch(signs: Signs) -> Findings:
    """No group of the last steps taught anything, and the run has not simply learned to solve them all."""
    (first, last), about, lessons = signs.span, signs.terms, Counter[GroupKind]()
    lively = [one["step"] for one in signs.groups if one["lessons"]["live"]]
    live = max(lively if signs.groups else signs.dead.lasts[signs.dead.values < 1].tolist(), default=first - 1)
    for one in signs.groups:
        lessons.update(one["lessons"] if one["step"] > live else ())
    dead, means = signs.dead.since(live), signs.mean(signs.outcome).since(live)
    kind: GroupKind = "unscored"
    if lessons:
        ((kind, count),) = lessons.most_common(1)
    elif means:  # a few of the groups may be of another kind
        kind = "failed" if means.values.max() <= 0 else "solved" if means.mean >= 0.8 else "flat"
    patience = signs.patience * (1 if signs.groups or live < first else 2)
    is_few = last - live < max(patience, (last - first + 1) / 10 * (live >= first))
    if not signs.dead or is_few or signs.count_groups(live) < MIN_GROUPS / FEW * signs.patience:
        return [] if signs.dead else None
    if live >= first and kind == "solved":
        return []
    told = f"{f'{count} of {lessons.total()} groups' if lessons else 'all'} were {kind!r}"
    remedy = DEAD_GROUP_REMEDIES[kind].format(outcome=signs.outcome)
    if kind == "flat" and not lessons:  # a log does not say whether some are solved and the others are failed
        told = f"all completions of a prompt earned the same, {means.mean:.2g} on average by {signs.outcome}"
        remedy = "Use prompts that are solved now and then, or make the rewards finer."
    lesson = f"No group was live in {dead.span}, so nothing was learned"
    if dead.values.min() < 1:
        lesson = f"{signs.outcome} was the same for all completions of each prompt in {dead.span}, so only other rewards were learned"
        about = [signs.outcome]
    return [{"about": about, "lesson": lesson, "told": told, "remedy": remedy}]


def find_not_finite(signs: Signs) -> Findings:
    """Values are NaN or infinite. Gradients overflow in float16 without harm, at first and now and then."""
    found = []
    for name in ("loss", "grad_norm", "kl", "entropy"):
        values = [(entry["step"], entry[name]) for entry in signs.log if isinstance(entry.get(name), float)]
        steps = [step for step, value in values if not math.isfinite(value) and step - signs.since >= FEW]
        at_end, share = (FEW, 0.1) if name == "grad_norm" else (1, 0.005)
        is_at_end = len(steps) >= at_end and all(step in steps for step, _ in values[-at_end:])
        if is_at_end or len(steps) > max(at_end, share * len(values)):
            found.append({"name": name, "first": steps[0], "count": f"{len(steps)} of {len(values)}"})
    return found if signs.log else None


def find_unscored(signs: Signs) -> Findings:
    """A reward stopped giving scores, or never gave any. A reward may be of a few rows only, with None for the others."""
    found, first, scored = [], signs.span[0], {name: signs.mean(name) for name in signs.terms}
    for name, means in scored.items():
        last = max(entry["step"] for entry in [*signs.groups, *signs.log] if f"rewards/{name}/mean" in entry)
        since = means.last + 1 if means else first
        least = FEW if name == signs.outcome or not any(scored.values()) else MIN_STEPS
        if means:  # ten times as long as it usually takes to get a score
            least = math.ceil(10 * (since - first) / (means.lasts - means.firsts + 1).sum())
        if last - since + 1 >= least:
            found.append({"about": [name], "name": name, "since": since, "last": last})
    return found if signs.terms else None


def find_lost_gradient(signs: Signs) -> Findings:
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


def find_held_out_fall(signs: Signs) -> Findings:
    """The score on held-out problems has fallen since its best, and the reward in training has risen."""
    rewards, sets = signs.series("reward"), {name: one for name, one in signs.held_out().items() if len(one) > 4}
    if rewards.trend is None or not sets:
        return None
    found, least = [], 0.05 * abs(rewards.values).max()
    for name, fall in ((name, one.find_fall()) for name, one in sets.items()):
        falls_too = fall and rewards.mean_during(fall[1]) < rewards.mean_during(fall[0]) - least
        if fall and rewards.trend.sign > 0 and not falls_too:
            ends = {"where": name and f" of {name}", "best": fall[0], "worst": fall[1]}
            found.append(ends | rewards.trend._asdict())
    return found


def find_form_gain(signs: Signs) -> Findings:
    """Another reward rises while the outcome falls, or stays low for long after the other one has made half of its way."""
    outcome, others, found = signs.mean(signs.outcome), [one for one in signs.terms if one != signs.outcome], []
    trend, fall, since = outcome.trend, outcome.find_fall(), 0
    if trend is None or not others:
        return None
    if signs.is_better_held_out() or not (fall or not outcome.is_near_top(0.5)):
        return []
    values = {"verb": "stays", "best": trend.start, "worst": trend.end}
    if fall:
        values, since = {"verb": "falls", "best": fall[0].mean, "worst": fall[1].mean}, fall[0].first - 1
    for name in filter(signs.weight, others):
        series = signs.mean(name).since(since)
        now = series.trend
        if now and now.sign * signs.weight(name) > 0 and (fall or abs(now.end - now.start) > 0.2):
            later = outcome.since(series.find_middle(now))
            stays = trend.score < 2 and len(later) > 1 and later.last - later.first >= LONG - 1
            if fall or (stays and not (later.trend and later.trend.score >= 2)):
                found.append({"name": name, **values, **now._asdict()})
    return found


def find_mostly_dead(signs: Signs) -> Findings:
    """Most groups are dead at the end, and not because the run has learned to solve them."""
    shares, solved, outcome = signs.dead, signs.series("groups/solved"), signs.mean(signs.outcome)
    count, total = len(shares), signs.count_groups(signs.span[0] - 1)
    if count < MIN_POINTS:
        return None
    part = max(count // 4, min(count // 2, math.ceil(count * MIN_GROUPS / total)))
    end, is_known = shares.cut(-part), len(solved) == count
    is_easy = (solved if is_known else shares).cut(0, part).mean >= 0.75
    lost = end.mean - solved.cut(-part).mean if is_known else end.mean * (not outcome.is_learned())
    if end.mean - 0.7 / math.sqrt(signs.count_groups(end.first - 1)) < 0.75 or not (lost >= 0.75 or is_easy):
        return []
    remedy = DEAD_GROUP_REMEDIES["solved" if outcome.cut(-part).mean >= 0.5 else "failed"].format(
        outcome=signs.outcome
    )
    return [{"steps": end.span, "cost": f"{min(math.floor(10 * end.mean), 9)} of 10", "remedy": remedy}]


def find_gradient_spikes(signs: Signs) -> Findings:
    """Some gradients are far larger than nearly all others. Steps without a live group have no gradient."""
    series = signs.series("grad_norm")
    norms = series.values[series.values > 0]
    if len(norms) < MIN_POINTS:
        return None
    usual = float(np.median(norms))
    spread = 1.5 * float(np.median(abs(np.log(norms / usual))))  # noise is often as large as the gradient
    highest = float(np.quantile(norms, 0.9, method="weibull"))
    spikes = series.lasts[series.values > max(20 * usual, 5 * highest, usual * math.exp(min(5 * spread, 500)))]
    values = {"count": len(spikes), "usual": usual, "most": norms.max(), "first": spikes[:1].sum()}
    return [values] if len(spikes) > 2 else []


def find_length_growth(signs: Signs) -> Findings:
    """Completions grow, and a held-out score, or else the outcome in training, falls, or none of them rises."""
    lengths, trained = signs.series("completions/mean_length").trend, signs.mean(signs.outcome)
    sets = {f"the held-out score{name and f' of {name}'}": one for name, one in signs.held_out().items() if one.trend}
    scores = [
        (what, one, one.trend, one.find_fall())
        for what, one in (sets or {signs.outcome: trained}).items()
        if one.trend
    ]
    if lengths is None or not scores:
        return None
    is_learned = signs.is_better_held_out() or any(one.is_learned() for _, one, _, fall in scores if not fall)
    what, _, trend, fall = max(scores, key=lambda one: one[3] is not None)
    least, verb = (1.2, "worse") if fall else (1.5, "not better")
    if is_learned or not (fall or not trained.is_learned()) or lengths.sign < 1 or lengths.end < least * lengths.start:
        return []
    best, worst = (fall[0].mean, fall[1].mean) if fall else (trend.start, trend.end)
    return [{"verb": verb, "what": what, "best": best, "worst": worst, **lengths._asdict()}]


def find_fall(signs: Signs) -> Findings:
    """The outcome falls to a third of its best mean or less, and below where it began, and no held-out score rises."""
    outcome = signs.mean(signs.outcome)
    trend, fall, lowest = outcome.trend, outcome.find_fall(), outcome.values.min(initial=0.0)
    if trend is None:
        return None
    if not fall or signs.is_better_held_out():
        return []
    is_deep = fall[1].mean - lowest <= (fall[0].mean - lowest) / 3 and fall[1].mean < trend.start
    return [{"best": fall[0], "worst": fall[1]}] if is_deep else []


def find_constant(signs: Signs) -> Findings:
    """A reward gave one score to all completions for long, and it is not the best that it learned to earn."""
    found = []
    for name in filter(signs.weight, signs.terms):
        series, means = signs.constant(name), signs.mean(name).values
        best = means.min(initial=math.inf) if signs.weight(name) < 0 else means.max(initial=-math.inf)
        starts = np.flatnonzero(np.diff(series.values, prepend=math.nan)).tolist()  # after another score
        for part in map(series.cut, starts, [*starts[1:], None]):
            score = float(part.values[0])
            is_due = score < 1 and (score != 0 or not signs.mean(signs.outcome).is_learned())  # 0: never as a penalty
            is_learned = score == best and (part.first > signs.span[0] or not (is_due or name == signs.outcome))
            if score == score and part.last - part.first + 1 >= LONG and not is_learned:
                found.append({"about": [name], "name": name, "score": score, "steps": part.span})
    return found if signs.terms else None


def find_weak(signs: Signs) -> Findings:
    """A reward has a large weight but almost no signal in any part of the run."""
    total, found = sum(abs(signs.weight(name)) for name in signs.terms), []
    shares = {name: series for name in signs.terms if (series := signs.series(f"groups/signal/{name}")).trend}
    for name, series in shares.items():
        width, weight = len(series) // 10, abs(signs.weight(name)) / (total or 1.0)
        parts = (abs(series.cut(at, at + width).mean) for at in range(0, len(series), width))
        if weight >= 0.2 and max(parts) < 0.02:
            found.append({"about": [name], "name": name, "weight": weight, "share": series.mean, "steps": series.span})
    return found if shares else None


def when(metric: str, condition: Callable[[Signs, Trend], bool]) -> Callable[[Signs], Findings]:
    """Return a rule about the trend of a metric."""

    def find(signs: Signs) -> Findings:
        trend = signs.series(metric).trend
        return None if trend is None else [trend._asdict()] if condition(signs, trend) else []

    return find


def grow_lengths(signs: Signs) -> float:
    """Return how many times as long completions have become, at least 1."""
    lengths = signs.series("completions/mean_length").trend
    return max(1.0, lengths.end / lengths.start) if lengths and lengths.start > 0 else 1.0


FINDERS: dict[str, Callable[[Signs], Findings]] = {  # how each rule finds the values of its warnings
    "unpaid": find_unpaid, "cut_off": find_cut_off, "dead": find_dead_stretch, "not_finite": find_not_finite,
    "unscored": find_unscored, "no_gradient": find_lost_gradient, "held_out_fall": find_held_out_fall, "form": find_form_gain,
    "mostly_dead": find_mostly_dead, "gradient": find_gradient_spikes, "longer": find_length_growth,
    "fall": find_fall, "constant": find_constant, "weak": find_weak,
    "truncation": when("completions/clipped_ratio", lambda signs, one: one.sign > 0 and one.end >= max(0.2, one.start + 0.1)),
    "entropy": when("entropy", lambda signs, one: one.sign < 0 and one.end < min(0.05, one.start / 10)
                    and not signs.mean(signs.outcome).is_near_top()),
    "entropy_rise": when("entropy", lambda signs, one: one.sign > 0 and one.end >= 2 * one.start
                         and signs.mean(signs.outcome).is_falling()),
    "kl": when("kl", lambda signs, one: one.sign > 0 and one.end > max(1.0, 5 * one.middle)),
    "clipping": when("clip_ratio/region_mean", lambda signs, one: one.end >= 0.3),
    "slower": when("step_time", lambda signs, one: one.sign > 0 and one.end >= 1.5 * grow_lengths(signs) * one.start),
    "duplicates": when("groups/duplicates", lambda signs, one: one.sign > 0 and one.end - one.start >= 0.3
                       and not signs.mean(signs.outcome).is_learned()),
}  # fmt: skip
