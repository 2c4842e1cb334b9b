"""The warnings about a run: one table of rules for its log, and for what its records say about groups if there are any.

A fact is true of a run of any length, from its fifth step on. A trend needs twenty steps. A run that learns well has no
warnings. The trainer logs facts while it runs, and the report has all warnings.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .dead_groups import GroupKind
from .fields import is_number
from .signs import MIN_POINTS, Point, Series, Signs, Trend, find_first_parting


FEW, MIN_STEPS, LONG = 5, 20, 50
"""Numbers of steps from which facts are told, from which a run has trends, and in which nothing changes for too long."""

MIN_GROUPS = 4 * FEW
"""Number of groups that are not all dead by chance: if half are, 5 groups in a row are dead in one of 32 cases."""

REMEDIES: dict[GroupKind, str] = {
    "failed": "Read some completions. If they never reach the form that {outcome} expects, ask for it in a system prompt "
    "or add a reward that pays for a part of it. If they do, use easier prompts or more completions of each.",
    "solved": "Use harder prompts.",
    "flat": "Make the rewards finer, so that they tell the completions of one prompt apart.",
    "unscored": "Find out why {outcome} gives no score: its dataset column, or the server that it calls.",
}
"""What to do about dead groups."""

Facts: TypeAlias = list[dict[str, Any]] | None
"""The values for the sentence of each warning. None if the run does not have the metric. `about` names rewards."""


@dataclass(frozen=True)
class Anomaly:
    """One warning: a few words, and details with steps, numbers, and what to do."""

    title: str
    details: str


class Rule(NamedTuple):
    """A line of the table. `holds` is true of a run without the warning. `page` is a heading of docs/symptoms.md."""

    name: str
    metric: str
    least: int  # steps
    find: Callable[[Signs, str], Facts]
    title: str
    sentence: str
    page: str
    holds: str
    unless: tuple[str, ...] = ()  # rules above it that say more about the same reward

    def write(self, values: dict[str, Any]) -> Anomaly:
        details = self.sentence.format(**values)
        return Anomaly(self.title.format(**values), f"{details} See docs/symptoms.md#{self.page}.")


def judge(signs: Signs, names: Iterable[str] = ()) -> dict[str, list[Anomaly]]:
    """Return the warnings of each rule that can judge this run, by the name of the rule. By default, all rules do."""
    told: dict[str, list[Anomaly]] = {}
    about: dict[str, set[str]] = {}
    for rule in RULES:
        is_ready = signs.span[1] - signs.span[0] + 1 >= rule.least and (not names or rule.name in names)
        if is_ready and (facts := rule.find(signs, rule.metric)) is not None:
            known = {subject for other in rule.unless for subject in about.get(other, ())}
            new = [one for one in facts if known.isdisjoint(one.get("about", [signs.outcome]))]
            about[rule.name] = {subject for one in new for subject in one.get("about", [signs.outcome])}
            told[rule.name] = [rule.write({"outcome": signs.outcome, **one}) for one in new]
    return told


def find_unpaid(signs: Signs, metric: str) -> Facts:
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
    values = {"unpaid": join(unpaid), "others": join(others), "about": unpaid, "score": score + 0.0, "count": told}
    return [values | {"steps": constant[signs.outcome].span}]


def join(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def find_cut_off(signs: Signs, metric: str) -> Facts:
    """Nearly all completions of the last steps were cut off."""
    latest, longest = (signs.series(name).since(signs.span[1] - FEW) for name in (metric, "completions/max_length"))
    if not latest:
        return None
    limit = f" at {longest.values.max():.0f} tokens" if longest else ""
    return [{"share": latest.mean, "limit": limit, "steps": latest.span}] if latest.mean >= 0.95 else []


def find_dead_stretch(signs: Signs, metric: str) -> Facts:
    """No group of the last steps taught anything, and the run has not simply learned to solve them all."""
    first, last = signs.span
    live = int(signs.dead.lasts[signs.dead.values < 1].max(initial=first - 1))
    counts, about = "all", signs.terms
    if signs.groups:
        live = max((one["step"] for one in signs.groups if one["lessons"]["live"]), default=first - 1)
    dead, lessons = signs.dead.since(live), Counter[GroupKind]()
    for one in signs.groups:
        lessons.update(one["lessons"] if one["step"] > live else ())
    kind: GroupKind = "unscored"
    if means := signs.mean(signs.outcome).since(live):  # a few of the groups may be of another kind
        kind = "failed" if means.values.max() <= 0 else "solved" if means.mean >= 0.8 else "flat"
    if lessons:
        ((kind, count),) = lessons.most_common(1)
        counts = f"{count} of {lessons.total()} groups"
    told, remedy = f"{counts} were {kind!r}", REMEDIES[kind].format(outcome=signs.outcome)
    if kind == "flat" and not lessons:  # a log does not say whether some are solved and the others are failed
        told = f"all completions of a prompt earned the same, {means.mean:.2g} on average by {signs.outcome}"
        remedy = "Use prompts that are solved now and then, or make the rewards finer."
    patience = signs.patience * (1 if signs.groups or live < first else 2)
    is_few = last - live < max(patience, (last - first + 1) / 10 * (live >= first))
    is_few |= signs.count_groups(live) < MIN_GROUPS / FEW * signs.patience
    if not signs.dead or is_few or (live >= first and kind == "solved"):
        return [] if signs.dead else None
    lesson = f"No group was live in {dead.span}, so nothing was learned"
    if dead.values.min() < 1:
        lesson = f"{signs.outcome} was the same for all completions of each prompt in {dead.span}, so only other rewards were learned"
        about = [signs.outcome]
    return [{"about": about, "lesson": lesson, "told": told, "remedy": remedy}]


def find_not_finite(signs: Signs, metric: str) -> Facts:
    """Values are NaN or infinite. Gradients overflow in float16 without harm, at first and now and then."""
    found = []
    for name in metric.split():
        values = [(entry["step"], entry[name]) for entry in signs.log if isinstance(entry.get(name), float)]
        steps = [step for step, value in values if not math.isfinite(value) and step - signs.since >= FEW]
        at_end, share = (FEW, 0.1) if name == "grad_norm" else (1, 0.005)
        is_at_end = len(steps) >= at_end and all(step in steps for step, _ in values[-at_end:])
        if is_at_end or len(steps) > max(at_end, share * len(values)):
            found.append({"name": name, "first": steps[0], "count": f"{len(steps)} of {len(values)}"})
    return found if signs.log else None


def find_mostly_dead(signs: Signs, metric: str) -> Facts:
    """Most groups are dead at the end, and not because the run has learned to solve them."""
    shares, solved = signs.dead, signs.series("groups/solved")
    count, total = len(shares), signs.count_groups(signs.span[0] - 1)
    if count < MIN_POINTS:
        return None
    part = max(count // 4, min(count // 2, math.ceil(count * MIN_GROUPS / total)))
    end, is_known = shares.cut(-part), len(solved) == len(shares)
    is_easy = (solved if is_known else shares).cut(0, part).mean >= 0.75
    lost = end.mean - solved.cut(-part).mean if is_known else end.mean * (not signs.mean(signs.outcome).is_learned())
    outcome = signs.mean(signs.outcome).cut(-part)
    remedy = REMEDIES["solved" if outcome.mean >= 0.5 else "failed"]
    groups = signs.count_groups(end.first - 1)
    values = {
        "steps": end.span,
        "cost": f"{min(math.floor(10 * end.mean), 9)} of 10",
        "remedy": remedy.format(outcome=signs.outcome),
    }
    return [values] if end.mean - 0.7 / math.sqrt(groups) >= 0.75 and (lost >= 0.75 or is_easy) else []


def find_held_out_fall(signs: Signs, metric: str) -> Facts:
    """The score on held-out problems has fallen since its best, and the reward in training has risen."""
    rewards, sets = signs.series(metric), {name: one for name, one in signs.held_out().items() if len(one) > 4}
    if rewards.trend is None or not sets:
        return None
    found, least = [], 0.05 * abs(rewards.values).max()
    for name, fall in ((name, one.find_fall()) for name, one in sets.items()):
        falls_too = fall and rewards.mean_during(fall[1]) < rewards.mean_during(fall[0]) - least
        if fall and rewards.trend.sign > 0 and not falls_too:
            ends = {"where": name and f" of {name}", "best": fall[0], "worst": fall[1]}
            found.append(ends | rewards.trend._asdict())
    return found


def find_form(signs: Signs, metric: str) -> Facts:
    """Another reward rises while the outcome falls, or stays low for long after the other one has made half of its way."""
    outcome, others = signs.mean(signs.outcome), [name for name in signs.terms if name != signs.outcome]
    trend, fall, found = outcome.trend, outcome.find_fall(), []
    if trend is None or not others:
        return None
    if signs.is_better_held_out():
        return []
    best, worst = (fall[0].mean, fall[1].mean) if fall else (trend.start, trend.end)
    for name in filter(signs.weight, others) if fall or not outcome.is_near_top(0.5) else ():
        series, way = (
            signs.mean(name).since(fall[0].first - 1 if fall else 0),
            math.copysign(1, signs.weight(name)),
        )
        now = series.trend
        if now and now.sign * way > 0 and (fall or abs(now.end - now.start) > 0.2):
            later = outcome.since(series.find_middle(now))
            stays = trend.score < 2 and len(later) > 1 and later.last - later.first >= LONG - 1
            if fall or (stays and not (later.trend and later.trend.score >= 2)):
                verb = "falls" if fall else "stays"
                found.append({"name": name, "verb": verb, "best": best, "worst": worst, **now._asdict()})
    return found


def find_fall(signs: Signs, metric: str) -> Facts:
    """The outcome falls to a third of its best mean or less, and below where it began, and no held-out score rises."""
    outcome = signs.mean(signs.outcome)
    trend, fall, lowest = outcome.trend, outcome.find_fall(), outcome.values.min(initial=0.0)
    if trend is None:
        return None
    if not fall or signs.is_better_held_out():
        return []
    is_deep = fall[1].mean - lowest <= (fall[0].mean - lowest) / 3 and fall[1].mean < trend.start
    return [{"best": fall[0], "worst": fall[1]}] if is_deep else []


def find_lost_gradient(signs: Signs, metric: str) -> Facts:
    """The gradient of the last steps is 0, and not because all groups of these steps are dead."""
    norms, shares = signs.series(metric), dict(zip(signs.dead.lasts, signs.dead.values, strict=True))
    known = [
        (int(step), norm, shares[step]) for step, norm in zip(norms.lasts, norms.values, strict=True) if step in shares
    ]
    lost = [*takewhile(lambda one: one[1] == 0, reversed(known))]
    if len(known) < FEW:
        return None
    if len(lost) < FEW or math.prod(share for *_, share in lost) > 0.001:  # a log has the gradient of one step in many
        return []
    return [{"since": lost[-1][0], "last": lost[0][0], "live": 1 - fmean(share for *_, share in lost)}]


def find_gradient_spikes(signs: Signs, metric: str) -> Facts:
    """Some gradients are far larger than nearly all others. Steps without a live group have no gradient."""
    series = signs.series(metric)
    norms = series.values[series.values > 0]
    if len(norms) < MIN_POINTS:
        return None
    usual = float(np.median(norms))
    spread = 1.5 * float(np.median(abs(np.log(norms / usual))))  # noise is often as large as the gradient
    highest = float(np.quantile(norms, 0.9, method="weibull"))
    spikes = series.lasts[series.values > max(20 * usual, 5 * highest, usual * math.exp(min(5 * spread, 500)))]
    values = {"count": len(spikes), "usual": usual, "most": norms.max(), "first": spikes[:1].sum()}
    return [values] if len(spikes) > 2 else []


def find_length_growth(signs: Signs, metric: str) -> Facts:
    """Completions grow, and a held-out score, or else the outcome in training, falls, or none of them rises."""
    lengths, trained = signs.series(metric).trend, signs.mean(signs.outcome)
    sets = {f"the held-out score{name and f' of {name}'}": one for name, one in signs.held_out().items() if one.trend}
    sets = sets or {signs.outcome: trained}
    scores = [(name, one, trend, one.find_fall()) for name, one in sets.items() if (trend := one.trend)]
    if lengths is None or not scores:
        return None
    is_learned = signs.is_better_held_out() or any(one.is_learned() for _, one, _, fall in scores if not fall)
    name, _, trend, fall = max(scores, key=lambda one: one[3] is not None)
    least, verb = (1.2, "worse") if fall else (1.5, "not better")
    if is_learned or not (fall or not trained.is_learned()) or lengths.sign < 1 or lengths.end < least * lengths.start:
        return []
    best, worst = (fall[0].mean, fall[1].mean) if fall else (trend.start, trend.end)
    return [{"verb": verb, "what": name, "best": best, "worst": worst, **lengths._asdict()}]


def when(condition: Callable[[Signs, Trend], bool]) -> Callable[[Signs, str], Facts]:
    """Return a rule about the trend of its metric."""

    def find(signs: Signs, metric: str) -> Facts:
        trend = signs.series(metric).trend
        return None if trend is None else [trend._asdict()] if condition(signs, trend) else []

    return find


def is_falling(series: Series) -> bool:
    return bool(series.find_fall() or (series.trend and series.trend.sign < 0))


def is_slower(signs: Signs, time: Trend) -> bool:
    """Whether steps get slower by more than longer completions explain."""
    lengths = signs.series("completions/mean_length").trend
    longer = max(1.0, lengths.end / lengths.start) if lengths and lengths.start > 0 else 1.0
    return time.sign > 0 and time.end >= 1.5 * longer * time.start


def find_constant(signs: Signs, metric: str) -> Facts:
    """A reward gave one score to all completions for long, and it is not the best that it learned to earn."""
    found = []
    for name in filter(signs.weight, signs.terms):
        series, means = signs.constant(name), signs.mean(name).values
        best = means.min(initial=math.inf) if signs.weight(name) < 0 else means.max(initial=-math.inf)
        starts = np.flatnonzero(
            np.diff(series.values, prepend=math.nan)
        ).tolist()  # where the score before is another one
        for part in map(series.cut, starts, [*starts[1:], None]):
            score = float(part.values[0])
            is_harmless = signs.outcome != name and (
                score >= 1 or score == 0 and signs.mean(signs.outcome).is_learned()
            )  # as a penalty
            is_learned = score == best and (part.first > signs.span[0] or is_harmless)
            if score == score and part.last - part.first + 1 >= LONG and not is_learned:
                found.append({"about": [name], "name": name, "score": score, "steps": part.span})
    return found if signs.terms else None


def find_unscored(signs: Signs, metric: str) -> Facts:
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


def find_weak(signs: Signs, metric: str) -> Facts:
    """A reward has a large weight but almost no signal in any part of the run."""
    total, found = sum(abs(signs.weight(name)) for name in signs.terms), []
    shares = {name: series for name in signs.terms if (series := signs.series(f"{metric}/{name}")).trend}
    for name, series in shares.items():
        width, weight = len(series) // 10, abs(signs.weight(name)) / (total or 1.0)
        parts = (abs(series.cut(at, at + width).mean) for at in range(0, len(series), width))
        if weight >= 0.2 and max(parts) < 0.02:
            found.append({"about": [name], "name": name, "weight": weight, "share": series.mean, "steps": series.span})
    return found if shares else None


def find_partings(signs: Signs, metric: str) -> Facts:
    """The total rises while a reward of weight 0 does not. The sentence names the reward that most of the rise is from."""
    points = {name: [one for one in signs.groups if is_number(one.get(f"{metric}/{name}"))] for name in signs.terms}
    found = []
    for name, known in points.items():
        pairs = [Point(one["first"], one[f"witnessed/{name}"], one[f"{metric}/{name}"]) for one in known]
        if parting := find_first_parting(pairs):
            seen = [one for one in signs.groups if one["first"] <= parting.seen]
            parts = [[one for one in seen if (one["first"] > parting.since) is late] for late in (False, True)]
            means = {one: [np.nan_to_num(Signs((), part).mean(one).mean) for part in parts] for one in signs.terms}
            cause = max(means, key=lambda one: signs.weight(one) * (means[one][1] - means[one][0]))
            found.append({"name": name, "cause": cause, **parting._asdict()})
    return found if any(points.values()) else None


RULES: tuple[Rule, ...] = tuple(Rule(*row) for row in (
    ("unpaid", "rewards", FEW, find_unpaid, "{unpaid} paid nothing",
     "{unpaid} paid {score:.3g} to {count} in {steps}; all of the difference comes from {others}: the model learns {others} only. Run "
     "check, and read some completions: do they have the form that {outcome} expects?",
     "my-rewards-never-rise", "{outcome} paid for some completions."),
    ("cut_off", "completions/clipped_ratio", FEW, find_cut_off, "Nearly all completions are cut off",
     "{share:.0%} of the completions in {steps} were cut off{limit}. Raise max_completion_length, or ask for shorter answers.",
     "completions-are-cut-off", "Most completions end before the limit."),
    ("dead", "groups/dead", FEW, find_dead_stretch, "{outcome} teaches nothing at the end", "{lesson}: {told}. {remedy}",
     "reward_std-is-0-or-frac_reward_zero_std-is-1",
     "In the latest steps, {outcome} differs within groups, or most are solved.", ("unpaid",)),
    ("not_finite", "loss grad_norm kl entropy", FEW, find_not_finite, "{name} is not finite",
     "{name} was NaN or infinite in {count} entries of the log, first in step {first}. Train again from a checkpoint before "
     "it with a lower learning rate, or with bf16 instead of fp16.",
     "values-are-nan-or-the-gradient-has-spikes", "The loss, the gradient, the KL divergence and the entropy are finite."),
    ("unscored", "rewards", FEW, find_unscored, "{name} gives no score",
     "It gave no completion a finite score in steps {since}–{last}. Check what it needs, such as its dataset column or the "
     "server that it calls.",
     "everything-is-none-or-rewards-are-nan", "Every reward gives scores.", ("dead",)),
    ("no_gradient", "grad_norm", FEW, find_lost_gradient, "The gradient is 0",
     "The gradient was 0 in steps {since}–{last}, although {live:.0%} of the groups were live, so nothing was learned. Check that "
     "some weights are trained: with an adapter and gradient checkpointing, the inputs must require gradients.",
     "my-loss-is-00", "The gradient is not 0 while groups are live.", ("unscored",)),
    ("held_out_fall", "reward", MIN_STEPS, find_held_out_fall, "The held-out score{where} falls while the reward rises",
     "On held-out problems{where}, the score fell from {best.mean:.2f} in {best.span} to {worst.mean:.2f} in {worst.span}. In "
     "training, the reward went from {start:.2f} in {early} to {end:.2f} in {late}. Use the checkpoint with the best held-out "
     "score, and read completions with high rewards.",
     "the-reward-rises-but-the-accuracy-does-not", "The held-out score does not fall while the reward rises."),
    ("form", "rewards", MIN_STEPS, find_form, "{name} rises while {outcome} {verb}",
     "Between {early} and {late}, {name} went from {start:.2f} to {end:.2f}, and {outcome} from {best:.2f} to {worst:.2f}. "
     "Look for completions that score high on {name} but are wrong according to {outcome}.",
     "the-reward-rises-but-the-accuracy-does-not", "No reward rises while {outcome} falls or stays.", ("unpaid",)),
    ("parting", "witness", MIN_STEPS, find_partings, "The total reward rises while {name} does not",
     "They part at about step {since}. Until step {seen}, the total went from {trained[0]:.2f} to {trained[1]:.2f}, mostly "
     "because of {cause}, and {name} from {witness[0]:.2f} to {witness[1]:.2f}. Read completions from step {since} on that "
     "have a high total and that {name} scores low.",
     "the-reward-rises-but-the-accuracy-does-not", "The total reward and all rewards of weight 0 rise together."),
    ("truncation", "completions/clipped_ratio", MIN_STEPS,
     when(lambda signs, share: share.sign > 0 and share.end >= max(0.2, share.start + 0.1)),
     "More and more completions are cut off",
     "The share that was cut off went from {start:.0%} in {early} to {end:.0%} in {late}. Raise max_completion_length, or add "
     "a penalty such as truncated().",
     "completions-are-cut-off", "Completions are not cut off more and more.", ("cut_off",)),
    ("mostly_dead", "groups/dead", MIN_STEPS, find_mostly_dead, "Most groups teach nothing",
     "In {steps}, {cost} completions taught nothing, because all completions of their groups earned the same. {remedy}",
     "reward_std-is-0-or-frac_reward_zero_std-is-1", "Most groups are live, or were solved in this run.",
     ("dead", "unpaid")),
    ("entropy", "entropy", MIN_STEPS,
     when(lambda signs, one: one.sign < 0 and one.end < min(0.05, one.start / 10)
          and not signs.mean(signs.outcome).is_near_top()),
     "The entropy collapses",
     "It went from {start:.2g} in {early} to {end:.2g} in {late}, so the completions of a group become equal. Raise "
     "temperature or epsilon_high, or lower the learning rate.",
     "entropy-falls-to-0-or-rises", "The entropy does not collapse."),
    ("entropy_rise", "entropy", MIN_STEPS,
     when(lambda signs, one: one.sign > 0 and one.end >= 2 * one.start and is_falling(signs.mean(signs.outcome))),
     "The entropy rises while {outcome} falls",
     "It went from {start:.2g} in {early} to {end:.2g} in {late}, so the text becomes random. Lower the learning rate or "
     "temperature, and continue from an earlier checkpoint.",
     "entropy-falls-to-0-or-rises", "The entropy does not rise while {outcome} falls.", ("held_out_fall", "form")),
    ("kl", "kl", MIN_STEPS, when(lambda signs, one: one.sign > 0 and one.end > max(1.0, 5 * one.middle)),
     "The KL divergence runs away",
     "It went from {start:.2g} in {early} to {end:.2g} in {late}. Lower the learning rate, or raise beta.",
     "kl-is-not-logged-or-it-grows", "The KL divergence does not run away."),
    ("gradient", "grad_norm", MIN_STEPS, find_gradient_spikes, "The gradient has spikes",
     "In {count} entries of the log, first in step {first}, its norm was more than 20 times the usual {usual:.2g}, and up to "
     "{most:.2g}. Lower the learning rate or max_grad_norm, and read the completions of these steps.",
     "values-are-nan-or-the-gradient-has-spikes", "The gradient has no spikes."),
    ("longer", "completions/mean_length", MIN_STEPS, find_length_growth, "Completions grow longer and {verb}",
     "Between {early} and {late}, the mean length went from {start:.0f} to {end:.0f} tokens, and {what} from {best:.2f} to "
     "{worst:.2f}. Check whether a reward grows with length, and how many completions are cut off.",
     "completions-grow-but-do-not-improve", "Completions do not grow longer without being better.", ("held_out_fall",)),
    ("fall", "rewards", MIN_STEPS, find_fall, "{outcome} collapses",
     "It fell from {best.mean:.2g} in {best.span} to {worst.mean:.2g} in {worst.span}. If the prompts have not become harder, "
     "lower the learning rate, and continue from a checkpoint before the fall.",
     "the-score-falls", "{outcome} does not collapse.",
     ("unpaid", "cut_off", "dead", "not_finite", "held_out_fall", "form", "truncation", "entropy_rise", "longer")),
    ("clipping", "clip_ratio/region_mean", MIN_STEPS, when(lambda signs, share: share.end >= 0.3), "Many tokens are clipped",
     "In {late}, {end:.0%} of the tokens were clipped, and taught nothing. Lower the learning rate or num_iterations.",
     "many-tokens-are-clipped", "Few tokens are clipped."),
    ("slower", "step_time", MIN_STEPS, when(is_slower), "Steps get slower",
     "A step took {start:.3g} s in {early} and {end:.3g} s in {late}, and completions did not grow as much. Look at the time "
     "of generation and of scoring, at the memory, and at what else runs on the machine.",
     "slow-out-of-memory-or-nothing-in-wandb", "Steps do not get slower."),
    ("duplicates", "groups/duplicates", MIN_STEPS,
     when(lambda signs, share: share.sign > 0 and share.end - share.start >= 0.3 and not signs.mean(signs.outcome).is_learned()),
     "Completions become duplicates",
     "Between {early} and {late}, the share of completions that equal another one of their group went from {start:.0%} to "
     "{end:.0%}, and {outcome} did not rise. Raise the temperature or lower the learning rate.",
     "entropy-falls-to-0-or-rises", "Completions do not become duplicates without being right."),
    ("constant", "rewards", LONG, find_constant, "{name} is constant",
     "It was {score:.3g} for every completion in {steps}. A constant reward has no training signal. Read some of the "
     "completions, and check what the reward expects of them.",
     "my-rewards-never-rise", f"No reward is constant for {LONG} steps, unless at its best score.", ("dead", "unpaid")),
    ("weak", "groups/signal", MIN_STEPS, find_weak, "{name} has a large weight but little signal",
     "It has {weight:.0%} of the weight and {share:.1%} of the signal in {steps}, because its scores hardly differ within a "
     "group. Make its scores finer, or lower its weight.",
     "my-rewards-never-rise", "Every reward with a large weight has a signal.", ("unpaid", "constant", "unscored")),
))  # fmt: skip
"""All rules, and below the names of those that judge runs of any length. A rule stands below those in its `unless`."""

FACTS = [rule.name for rule in RULES if rule.least == FEW]
