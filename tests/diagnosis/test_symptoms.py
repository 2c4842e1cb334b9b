"""The table of rules about a run, judged on made logs of TRL's trainer. The tests of the report have runs with records."""

import math
import re
from pathlib import Path

import pytest

from helpers.made_logs import SITUATIONS, bump, drop, ramp, simulate
from trl_grpo_rewards.diagnosis.signs import Signs
from trl_grpo_rewards.diagnosis.symptoms import diagnose
from trl_grpo_rewards.diagnosis.table import SYMPTOMS
from trl_grpo_rewards.records.dead_groups import count_lessons


DOCS = Path(__file__).parents[2] / "docs"
OF_RECORDS = {"duplicates", "constant", "weak"}
"""Rules that tests of the report find in made records, too, since they are old or need groups."""


def find(log, **options):
    return {name: found for name, found in diagnose(Signs(log, **options)).items() if found}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_each_situation_is_found_in_nine_of_ten_seeds(situation):
    found = [find(simulate(situation, seed)) for seed in range(10)]
    assert sum(situation in one for one in found) >= 9
    assert sum(len(one.keys() - {situation}) for one in found) <= 2  # and little else
    assert {*SITUATIONS} | OF_RECORDS == {rule.name for rule in SYMPTOMS}


@pytest.mark.parametrize(("steps", "every"), [(100, 1), (30, 1), (200, 10)])
def test_a_run_that_learns_has_no_warning(steps, every):
    assert not [found for seed in range(20) if (found := find(simulate(seed=seed, steps=steps, every=every)))]


@pytest.mark.parametrize("overflows", [range(1, 9), [40], [6, 25], [40, 41, 42]])
def test_overflows_in_float16_are_told_neither_while_they_come_nor_later(overflows):
    log = simulate(steps=60)
    for one in log:
        if "grad_norm" in one and one["step"] in overflows:
            one["grad_norm"] = math.inf
    assert not any(find([one for one in log if one["step"] <= step]) for step in range(5, 61))


def test_a_log_does_not_say_whether_dead_groups_of_two_kinds_are_flat():
    means = enumerate([0.25, 0, 0.5, 0.25, 0.25, 0] * 4, 1)
    log = [
        {"step": step, "frac_reward_zero_std": 1.0, "rewards/accuracy/mean": mean, "rewards/accuracy/std": 0.4}
        for step, mean in means
    ]
    ((dead,),) = find(log).values()
    assert "earned the same, 0.21 on average by accuracy" in dead.details and "flat" not in dead.details


def test_a_form_that_is_perfect_and_a_penalty_that_is_never_due_are_fine():
    always = {
        f"rewards/{name}/{part}": value
        for name, score in (("format", 1.0), ("overlong", 0.0))
        for part, value in (("mean", score), ("std", 0.0))
    }
    assert not find([{**one, **always} for one in simulate(steps=60)])


def test_a_run_that_learns_has_none_at_any_time():
    logs = [simulate(seed=seed) for seed in range(5)]
    assert not any(find([one for one in log if one["step"] <= step]) for log in logs for step in range(5, 100, 5))


ALIKE = {
    "longer, slower, and better": {"length": ramp(120, 300), "step_time": ramp(10, 24)},
    "solved at the end": {"accuracy": ramp(0.4, 1), "dead": ramp(0.3, 1), "entropy": ramp(0.3, 1e-3), "grad_norm": ramp(0.5, 0)},
    "float16": {"grad_norm": lambda at: math.inf if at < 0.05 or at == 0.5 else 0.4},
    "form first": {"format": ramp(0, 1), "accuracy": ramp(0.1, 0.75, 0.15)},
    "some divergence": {"kl": ramp(0.001, 0.9)},
    "held out, it stays": {"held_out": bump(0.3, 0.6, 0.56)},
    "half cut off, and less": {"clipped": ramp(0.7, 0.4)},
    "noise of adapters": {"noise": 1.8},
    "small gains of a judge, and longer": {"accuracy": ramp(0.1, 0.19), "held_out": ramp(0.1, 0.19), "length": ramp(100, 220), "groups": 64},
    "one prompt in a step, mostly dead": {"groups": 1, "accuracy": ramp(0.1, 0.5), "dead": ramp(0.7, 0.5)},
    "points up to ten": {"scale": 10.0, "accuracy": ramp(0.2, 0.9), "entropy": ramp(0.5, 0.02)},
    "a distance that is closed": {"scale": -5.0, "accuracy": ramp(0.1, 0.999), "entropy": ramp(0.5, 0.004), "dead": ramp(0.1, 0.9)},
    "harder and harder prompts": {"accuracy": lambda at: (0.8, 0.6, 0.4)[min(int(3 * at), 2)] - 0.3 + (3 * at) % 1 * 0.3, "length": ramp(100, 260)},
    "form, and not yet more": {"accuracy": ramp(0.2, 0.2), "held_out": ramp(0.2, 0.2), "format": ramp(0.1, 0.6), "steps": 60},
    "a reward of one step in ten": {"format": lambda at: 0.9 if round(100 * at) % 10 == 3 else math.nan},
}  # fmt: skip
"""Runs that learn, and look like runs that fail."""


@pytest.mark.parametrize("options", ALIKE.values(), ids=[*ALIKE])
def test_what_looks_alike_and_learns_has_no_warning(options):
    assert not [found for seed in range(5) if (found := find(simulate(seed=seed, **options)))]


NEVER, AT_FIRST, ALWAYS = lambda at: math.nan, lambda at: math.nan if at > 0.5 else 0.5, ramp(0.5, 0.5)
FACTS = [
    ({"accuracy": AT_FIRST, "steps": 30}, ["unscored"]), ({"accuracy": NEVER, "steps": 5}, ["unscored"]),
    ({"accuracy": NEVER, "steps": 4}, []), ({"format": NEVER, "steps": 19}, []), ({"format": NEVER, "steps": 20}, ["unscored"]),
    ({"format": AT_FIRST, "steps": 18}, []), ({"format": AT_FIRST, "steps": 20}, ["unscored"]),
    ({"accuracy": ramp(0, 0), "format": ALWAYS, "steps": 5}, ["unpaid"]),
    ({"accuracy": ramp(0, 0), "format": ALWAYS, "steps": 19, "groups": 1}, []),
    ({"accuracy": ramp(0, 0), "format": ALWAYS, "steps": 20, "groups": 1}, ["unpaid"]),
    ({"accuracy": ramp(0, 0), "format": ALWAYS, "steps": 5, "scale": -2.0}, ["unpaid"]),
    ({"dead": ramp(1, 1), "steps": 19, "groups": 1}, []), ({"dead": ramp(1, 1), "steps": 20, "groups": 1}, ["dead"]),
    ({"grad_norm": ramp(0, 0), "dead": ramp(0.1, 0.1), "steps": 5}, ["no_gradient"]),
    ({"grad_norm": ramp(0, 0), "dead": ramp(0.9, 0.9), "steps": 190, "every": 10, "groups": 1}, []),
]  # fmt: skip
"""Runs that learn apart from what is changed, and the facts that are told of them."""


@pytest.mark.parametrize(("options", "facts"), FACTS)
def test_facts_need_few_steps_and_enough_completions(options, facts):
    told = diagnose(Signs(simulate(**options, length=ramp(150, 150))), ["unscored", "unpaid", "dead", "no_gradient"])
    assert [name for name, found in told.items() if found] == facts


@pytest.mark.parametrize(("situation", "options"), [
    ("entropy", {"scale": 10.0, "accuracy": ramp(0.12, 0.12)}), ("fall", {"scale": 10.0}), ("fall", {"scale": -5.0}),
    ("entropy_rise", {"scale": -5.0, "accuracy": ramp(0.5, 0.1)}), ("gradient", {"noise": 0.6}),
])  # fmt: skip
def test_a_situation_is_found_on_any_scale(situation, options):
    assert sum(situation in find(simulate(situation, seed, **options)) for seed in range(10)) >= 9


@pytest.mark.parametrize("situation", ["held_out_fall", "longer"])
def test_each_sentence_about_a_held_out_score_names_its_dataset(situation):
    log = []
    for one in simulate(situation):
        sets = ("easy_", "hard_") if "eval_reward" in one else ("",)
        log += [{name.replace("eval_", f"eval_{dataset}"): one[name] for name in one} for dataset in sets]
    (found,) = find(log).values()
    names = ("easy", "hard") if situation == "held_out_fall" else ("easy",)
    assert all(
        f"the held-out score of {name} " in f"{one.title} {one.details}".lower()
        for one, name in zip(found, names, strict=True)
    )


def test_a_penalty_that_is_never_due_is_no_term_that_pays_nothing():
    log = [{"rewards/overlong/mean": 0.0, "rewards/overlong/std": 0.0} | one for one in simulate(steps=40)]
    assert Signs(log).terms[0] == "overlong" and not find(log)


def test_odd_values_are_no_errors():
    odd = ["many", None, True, 10**400, -math.inf, [1]]
    log = [{name: odd[(place + number) % 6] if name != "step" else value for number, (name, value) in enumerate(one.items())}
           for place, one in enumerate(simulate())]  # fmt: skip
    assert {*find(log)} <= {rule.name for rule in SYMPTOMS} and not find([]) and not find([{"step": 30}])


@pytest.mark.parametrize("situation", ["unpaid", "cut_off", "dead", "not_finite"])
def test_facts_are_told_from_the_fifth_step_on_whatever_the_length(situation):
    entries = {"loss": 0.1, "grad_norm": float("nan")} if situation == "not_finite" else {}
    log = [one | entries for one in simulate(situation, steps=10)]
    assert [*find(log[:-1])] == [situation] and not find([one for one in log if one["step"] < 5])


KINDS = {"l": "live", "f": "failed", "s": "solved", "F": "live"}  # F: failed, and live by another reward


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (["ffff"] * 4 + ["fffl"] + ["ffff"] * 4, ""),
        (["ffff"] * 4 + ["fffl"] + ["fffs"] * 5, "No group was live in steps 6–10, so nothing was learned: 15 of 20 groups"),
        (["ffff"] * 20 + ["lfff"], ""),
        (["f"] * 19, ""),  # few groups may be dead by chance
        (["f"] * 20, "No group was live in steps 1–20, so nothing was learned: 20 of 20 groups were 'failed'."),
        (["ffFF", "FFFF", "lfff", *["FFff"] * 4, "FFFs"], "outcome was the same for all completions of each prompt in steps 4–8"),
        (["ssss"] * 5, "No group was live in steps 1–5, so nothing was learned: 20 of 20 groups were 'solved'. Use harder"),
        (["lsss"] + ["ssss"] * 5, ""),  # they were learned
    ],
)  # fmt: skip
def test_a_stretch_without_a_live_group_needs_steps_and_groups(steps, told):
    groups = []
    for step, letters in enumerate(steps, 1):
        kinds, mine = ([KINDS[one] for one in text] for text in (letters, letters.lower()))
        dead = 1 - kinds.count("live") / len(kinds)
        groups.append({"first": step, "step": step, "groups/dead": dead, "lessons": count_lessons(kinds, mine)})
    found = diagnose(Signs([], groups, outcome="outcome"), ["dead"])["dead"]
    assert [one.details.startswith(told) for one in found] == [True] * bool(told)


def test_the_docs_have_every_rule_and_an_answer_for_each():
    table = (DOCS / "commands.md").read_text().split("### Warnings of the report")[1].split("##")[0]
    rows = re.findall(r"^\| `(\w+)` \|.*symptoms\.md#([\w-]+)\) \|$", table, flags=re.MULTILINE)
    assert rows == [(rule.name, rule.page) for rule in SYMPTOMS]
    headings = re.findall("^## (.+)$", (DOCS / "symptoms.md").read_text(), flags=re.MULTILINE)
    assert {rule.page for rule in SYMPTOMS} <= {
        re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings
    }


STAYS = ramp(0.25, 0.25)
AUDITED = {
    "80 % are cut off from the start to the end": ("cut_off", {"clipped": ramp(0.8, 0.8), "accuracy": ramp(0.08, 0.1), "held_out": ramp(0.08, 0.1)}),
    "60 % are, and nothing is learned": ("cut_off", {"clipped": ramp(0.6, 0.6), "accuracy": ramp(0.12, 0.12), "held_out": ramp(0.12, 0.12)}),
    "most groups are dead in the last third": ("mostly_dead", {"accuracy": lambda at: min(0.2 + at, 0.6), "dead": drop(0.4, 0.93), "held_out": ramp(0.2, 0.6)}),
    "the divergence is 4": ("kl", {"kl": lambda at: 0.02 * 200**at}),
    "three times as long, and hardly better": ("longer", {"length": ramp(100, 330), "accuracy": STAYS, "held_out": ramp(0.2, 0.25), "format": ramp(0.9, 0.9)}),
    "beta holds the model": ("no_rise", {"accuracy": ramp(0.07, 0.07), "format": STAYS, "held_out": STAYS, "entropy": ramp(0.5, 0.5), "length": ramp(120, 120)}),
    "few groups are live, and nothing rises": ("mostly_dead", {"accuracy": ramp(0.12, 0.12), "format": STAYS, "held_out": ramp(0.12, 0.12), "dead": ramp(0.85, 0.85)}),
    "the learning rate breaks the model": ("broken", {"accuracy": drop(0.2, 0.0, 0.1), "format": drop(0.5, 0.0, 0.1), "held_out": drop(0.2, 0.0, 0.1), "dead": drop(0.3, 1.0, 0.1), "entropy": drop(0.5, 6.0, 0.1), "clipped": drop(0.1, 1.0, 0.1), "length": drop(120, 256, 0.1)}),
    "from the second step on": ("broken", {"accuracy": drop(0.3, 0.0, 0.01), "format": drop(0.5, 0.0, 0.01), "held_out": drop(0.3, 0.0, 0.01), "dead": drop(0.3, 1.0, 0.01), "clipped": drop(0.1, 1.0, 0.01), "length": drop(120, 256, 0.01)}),
}  # fmt: skip
"""Faults that are constant, or below an end point, or that come first, with the rule whose sentence should come first."""


@pytest.mark.parametrize("name", AUDITED)
def test_the_first_sentence_is_the_cause(name):
    rule, options = AUDITED[name]
    first = [next(iter(find(simulate(seed=seed, **options))), "") for seed in range(10)]
    assert first.count(rule) >= 8, first


def test_a_model_that_broke_is_told_to_go_back_and_never_to_raise_a_limit():
    _, options = AUDITED["the learning rate breaks the model"]
    ((warning,), *others) = find(simulate(**options)).values()
    assert "Lower the learning rate, and continue from the last checkpoint before step" in warning.details
    assert "the entropy went from" in warning.details and not any("Raise max" in one.details for (one,) in others)


def test_a_distance_that_is_closed_is_not_dead():
    closed = {"scale": -5.0, "accuracy": lambda at: min(0.4 + at, 1.0), "dead": drop(0.1, 1.0)}
    assert "dead" not in find(simulate(**closed))


def test_a_reward_that_never_pays_is_told_from_a_log_alone():
    silent = {"rewards/cites/mean": 0.0, "rewards/cites/std": 0.0}
    log = [{**one, **silent} for one in simulate(steps=40)]
    assert [one.title for one in find(log)["constant"]] == ["cites is constant"] and len(find(log)) == 1


@pytest.mark.parametrize(("last", "is_better"), [(0.22, False), (0.45, True)])
def test_few_evaluations_are_better_only_beyond_their_interval(last, is_better):
    scores = {0: 0.2, 60: last}
    log = [
        {"step": step, "eval_runtime": 2.0, "eval_samples_per_second": 32.0, "eval_reward": score, "eval_rewards/accuracy/mean": score,
         "eval_rewards/accuracy/std": 0.4}
        for step, score in scores.items()
    ]  # fmt: skip
    assert Signs(log, outcome="accuracy").is_better_held_out() is is_better
