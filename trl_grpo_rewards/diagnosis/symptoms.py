"""The warnings about a run, by the rules for its log and for what its records say about groups."""

from collections.abc import Callable, Iterable
from typing import Any

from .fact_rules import (
    find_broken,
    find_cut_off,
    find_dead_stretch,
    find_lost_gradient,
    find_not_finite,
    find_unpaid,
    find_unscored,
)
from .series import Trend
from .signs import Signs
from .table import SYMPTOMS, Anomaly, RuleFindings, Symptom
from .trend_rules import (
    find_constant,
    find_fall,
    find_form_gain,
    find_gradient_spikes,
    find_held_out_fall,
    find_length_growth,
    find_mostly_dead,
    find_no_rise,
    find_weak,
    is_slower,
)


def diagnose(signs: Signs, names: Iterable[str] = ()) -> dict[str, list[Anomaly]]:
    """Return the warnings of each rule that can judge this run, by the name of the rule. By default, all rules do."""
    warnings: dict[str, list[Anomaly]] = {}
    about: dict[str, set[str]] = {}
    steps = signs.span[1] - signs.span[0] + 1
    for symptom in SYMPTOMS:
        is_chosen = not names or symptom.name in names
        findings = FINDERS[symptom.name](signs) if is_chosen and steps >= symptom.least else None
        if findings is not None:
            new = drop_explained(findings, signs.outcome, [about.get(other, set()) for other in symptom.unless])
            about[symptom.name] = {subject for values in new for subject in values["about"]}
            warnings[symptom.name] = [write_warning(symptom, values) for values in new]
    return warnings


def drop_explained(
    findings: Iterable[dict[str, Any]], outcome: str, explained: list[set[str]]
) -> list[dict[str, Any]]:
    """Return the findings about rewards that no earlier finding names. A finding that names no reward is about the outcome."""
    described = [{"outcome": outcome, "about": [outcome], **values} for values in findings]
    return [values for values in described if set().union(*explained).isdisjoint(values["about"])]


def write_warning(symptom: Symptom, values: dict[str, Any]) -> Anomaly:
    details = symptom.details.format(**values)
    return Anomaly(symptom.title.format(**values), f"{details} See docs/symptoms.md#{symptom.page}.")


def when(metric: str, condition: Callable[[Signs, Trend], bool]) -> Callable[[Signs], RuleFindings]:
    """Return a rule about the trend of a metric."""

    def find(signs: Signs) -> RuleFindings:
        trend = signs.series(metric).trend
        return None if trend is None else [trend._asdict()] if condition(signs, trend) else []

    return find


def is_run_away(signs: Signs, kl: Trend) -> bool:
    """Whether the divergence has grown suddenly to more than 1, or is large by its value."""
    is_large = kl.end > 3 and kl.end > 20 * kl.start
    return kl.sign > 0 and kl.end > 1 and (kl.end > 5 * kl.middle or is_large)


FINDERS: dict[str, Callable[[Signs], RuleFindings]] = {  # how each rule finds the values of its warnings
    "unpaid": find_unpaid, "not_finite": find_not_finite, "broken": find_broken, "no_gradient": find_lost_gradient,
    "cut_off": find_cut_off, "dead": find_dead_stretch, "unscored": find_unscored, "held_out_fall": find_held_out_fall,
    "gradient": find_gradient_spikes, "form": find_form_gain, "longer": find_length_growth, "fall": find_fall,
    "mostly_dead": find_mostly_dead, "constant": find_constant, "weak": find_weak, "no_rise": find_no_rise,
    "truncation": when("completions/clipped_ratio", lambda signs, one: one.sign > 0 and one.end >= max(0.2, one.start + 0.1)),
    "entropy": when("entropy", lambda signs, one: one.sign < 0 and one.end < min(0.05, one.start / 10)
                    and not signs.mean(signs.outcome).is_near_top()),
    "entropy_rise": when("entropy", lambda signs, one: one.sign > 0 and one.end >= 2 * one.start
                         and signs.mean(signs.outcome).is_falling()),
    "kl": when("kl", is_run_away),
    "clipping": when("clip_ratio/region_mean", lambda signs, one: one.end >= 0.3),
    "slower": when("step_time", is_slower),
    "duplicates": when("groups/duplicates", lambda signs, one: one.sign > 0 and one.end - one.start >= 0.3
                       and not signs.mean(signs.outcome).is_learned()),
}  # fmt: skip
