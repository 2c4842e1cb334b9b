"""Rewards that worthless completions can earn, and rewards that they cannot."""

import pytest
from datasets import Dataset

from helpers.checks import find_faults, make_problems
from helpers.labelled_rewards import DATA, MADE
from trl_grpo_rewards import boxed, choice, demo, gate, keywords, parse, reward, shortest, tags
from trl_grpo_rewards.checks import assert_not_gameable, check
from trl_grpo_rewards.checks.gameability import QUESTIONS, check_attacks, count_payments
from trl_grpo_rewards.checks.trials import make_trials


@reward
def contains(completion: str, solution: str) -> float:
    """Paid for the right answer anywhere: many boxes will do."""
    return float(solution in completion)


@reward
def lengthy(completion: str) -> float:
    """Paid for every character."""
    return len(completion) / 1000


OURS = [
    "boxed()", "boxed(partial=0.5)", "boxed(box='only')", "answer()", "exact()", "tags('think')",
    "tags('think', 'answer', partial=True)", "length(60)", "length(200, unit='chars')", "keywords(all=('because',))",
    "boxed() + 0.2 * tags('think') + 0.1 * length(60)", "gate(tags('think'), by=boxed())", "clip(2 * boxed(), 0.0, 1.0)",
    "shortest(boxed())", "truncated(10)", "gate(distinct(), by=boxed())", "boxed() + 0.1 * overlong(500, cache=100)",
    "cosine(boxed(), max_tokens=500)", "boxed() + 0.2 * repetition()", "boxed() + 0.1 * citations()",
    "boxed() + schedule(0.5 * tags('think'), [(0, 1.0), (10, 0.0)])", "cosine(boxed(), max_tokens=60)",
    "boxed() + 0.2 * shortest(boxed()) + 0.1 * overlong(60, cache=20) + 0.1 * truncated(60)", "overlap()",
    "xml_text()", "xml_text('name', root='item')", "boxed() + 0.2 * equations()",
    "boxed() + 0.2 * citations() + 0.1 * gate(distinct(), by=boxed(), name='distinct')",
    "boxed() + 0.2 * repetition(unit='words') + 0.1 * script('Latin')", "json_text()",
]  # fmt: skip


@pytest.mark.parametrize("expression", OURS)
def test_ours_cannot_be_gamed(expression):
    assert_not_gameable(parse(expression))


def test_choices_cannot_be_gamed():
    rows = [{"prompt": f"Which? A) 1 B) 2 C) 3 ({place})", "solution": letter} for place, letter in enumerate("ABC")]
    assert_not_gameable(choice("ABC") + 0.1 * tags("think"), rows)


@pytest.mark.parametrize(
    "expression, attack",
    [
        ("contains()", "many boxes on 3 of 3 rows"),
        ("0.1 * boxed() + lengthy()", "unclosed tags on 3 of 3 rows"),
        ("0.2 * boxed() - boxed(partial=0.5, name='other')", "nothing on 3 of 3 rows"),
    ],
)
def test_what_pays_is_named(expression, attack):
    said = f"Under .* these attacks earn as much as an honest, correct completion: .*{attack}"
    with pytest.raises(AssertionError, match=said):
        assert_not_gameable(parse(expression))


@reward
def brevity_of_my_own(completion: str) -> float:
    return max(0.0, 1 - len(completion.split()) / 20)


@pytest.mark.parametrize("weight", [0.01, 0.6])
def test_a_term_for_the_length_does_not_hide_an_attack_on_the_outcome(weight):
    brief = gate(shortest(boxed()), by=boxed())
    for brevity in (shortest(boxed()), brief, brevity_of_my_own()):
        said = find_faults(boxed() + weight * brevity, demo.arithmetic(size=64))
        assert any("'question restated' earns as much as" in fault for fault in said), brevity
    assert not find_faults(boxed(evaluated=True) + weight * brief, demo.arithmetic(size=64))


@reward
def spells_out(completion: str, prompt: str) -> float:
    return -float("+" in completion)


def test_a_penalty_hides_an_attack_if_it_takes_half_of_what_the_outcome_pays():
    for weight, faults in ((0.1, 1), (0.4, 1), (0.6, 0)):
        assert len(find_faults(boxed() + weight * spells_out(), demo.arithmetic(size=64))) == faults


def test_a_reward_that_requires_working_out_is_not_told_to():
    questions = [f"{number} + {number + 1}" for number in range(2, 6)]
    swapped = make_problems(*questions, prompts=[f"{2 * number + 1}" for number in range(2, 6)])
    (said,) = [fault for fault in find_faults(boxed(evaluated=True), swapped) if "question restated" in fault]
    assert "Check that prompts and solutions are not swapped" in said and "worked out" not in said


@pytest.mark.parametrize(
    "rewards, first, remedy",
    [
        (MADE["any_box"], "many boxes", "The same holds for 'right between wrong answers'. Read a single answer, such as the"),
        (MADE["calculates"], "question restated", "Accept only an answer that is worked out."),
        (MADE["counts_a_word"], "one phrase again and again", "Let counts_a_word() pay for nothing but a right answer."),
        (MADE["in_element"] + 2 * lengthy(), "tag spam", "pay the other terms only when it pays: gate(..., by=in_element())."),
        (boxed(evaluated=True) + 2 * lengthy(), "tag spam", "gate(..., by=boxed(evaluated=True))."),
    ],
)  # fmt: skip
def test_attacks_with_the_same_remedy_are_one_fault_and_it_fits_the_reward(rewards, first, remedy):
    said = find_faults(rewards, Dataset.from_dict(DATA["numbers"]))
    assert any(f"The attack '{first}' earns as much" in fault and remedy in fault for fault in said) and len(said) <= 4


@pytest.mark.parametrize("weight", [0.05, 0.3, 1.0])
def test_who_pays_an_attack_itself_is_told_to_compare_and_a_gate_would_not_help(weight):
    data = demo.arithmetic(size=64)
    for term in (brevity_of_my_own(), gate(brevity_of_my_own(), by=contains())):
        said = [fault for fault in find_faults(contains() + weight * term, data) if "a digit added" in fault]
        assert said and all("contains() itself pays it. Let it compare the whole answer" in fault for fault in said)
        assert not any("gate(..." in fault for fault in said)


@reward
def per_character(completion: str) -> float:
    return -float(len(completion))


@reward
def is_polite(completion: str) -> float:
    return float("damn" not in completion)


def list_brevity(rewards):
    found = check(rewards, demo.arithmetic(size=64))
    return [text for one in found for text in one.warnings if "pays an empty completion" in text]


@pytest.mark.parametrize("term", [0.3 * brevity_of_my_own(), 1e-4 * per_character(), 0.05 * shortest(is_polite())])
def test_a_term_that_pays_an_empty_completion_more_than_a_right_one_is_a_warning_unless_it_is_gated(term):
    (said,) = list_brevity(boxed(evaluated=True) + term)
    assert f"{term} pays an empty completion" in said and "only this is learned" in said
    assert said.endswith(f"gate({term.rewards[0]}, by=boxed(evaluated=True)).")
    assert not list_brevity(boxed(evaluated=True) + term.weights[0] * gate(term.rewards[0], by=boxed()))


def plain_brevity(completions, **kwargs):
    return [1 - len(messages[0]["content"]) / 4000 for messages in completions]


def test_what_a_warning_says_to_write_of_functions_for_trl_can_be_written():
    (said,) = list_brevity(boxed(evaluated=True) + plain_brevity)
    advice = said.split("for right answers only, replace it by ")[1].removesuffix(".")
    assert advice == "gate(plain_brevity, by=boxed(evaluated=True))"
    gated = eval(advice, {"gate": gate, "boxed": boxed, "plain_brevity": plain_brevity})
    assert not list_brevity(boxed(evaluated=True) + gated)


def test_a_term_that_an_empty_completion_meets_as_well_as_a_right_one_is_no_warning():
    for term in (is_polite(), 0.2 * tags("think"), -1 * is_polite()):
        assert not list_brevity(boxed(evaluated=True) + term)


@reward
def partly_for_praise(completion: str, solution: str, *, part: float) -> float:
    return max(MADE["in_box"].factory.function(completion, solution), part * ("perfect" in completion))


@pytest.mark.parametrize("part, warnings, faults", [(0.3, 0, 0), (0.4, 1, 0), (0.5, 0, 1)])
def test_a_part_for_what_is_worthless_is_a_warning_or_a_fault(part, warnings, faults):
    found = check(partly_for_praise(part=part), Dataset.from_dict(DATA["numbers"]))
    said = [[text for one in found for text in getattr(one, kind)] for kind in ("warnings", "faults")]
    assert [len(texts) for texts in said] == [warnings, faults]
    assert all("'flattery' is worthless" in text and f"it earns {part:.0%} of" in text for text in sum(said, []))


def test_rows_that_cannot_be_judged_are_asked_for():
    said = "must earn more .* got nan and .* Pass rows that the reward can judge, with a correct 'completion'"
    with pytest.raises(AssertionError, match=said):
        assert_not_gameable(choice())
    row = {"prompt": "Hello", "completion": "please"}
    assert_not_gameable(keywords(all=("please",)), [row])


@reward
def lucky(completion: str, solution: str) -> float:
    """Paid for the right answer at the end, and once for nothing at all."""
    return float(completion.endswith(f"\\boxed{{{solution}}}") or (solution == "201" and completion == ""))


@pytest.mark.parametrize("rows, kind", [(16, "warnings"), (8, "faults")])
def test_an_attack_that_pays_by_chance_is_a_warning(rows, kind):
    found = check_attacks(make_trials(lucky(), [*make_problems(*(str(200 + place) for place in range(rows)))]))
    (said,) = getattr(found, kind)
    assert said.startswith("The attack 'nothing' earns as much") and f"on 1 of {rows} rows" in said
    assert len(found.warnings + found.faults) == 1
    assert f"{1 / rows:8.3f} nothing, which pays on 1 of {rows} rows" in found.lines


def test_a_row_that_cannot_be_judged_is_left_out_of_the_count():
    rows = [*QUESTIONS, {"prompt": "Who?", "solution": None}]
    payments = {one.name: one for one in count_payments(make_trials(boxed() + tags("think"), rows))}
    tried = {payments[name].tried for name in ("nothing", "empty tags", "a wrong answer", "many boxes")}
    assert tried == {len(QUESTIONS)} and payments["nothing"].mean == 0.0
    assert count_payments(make_trials(boxed(), rows[-1:])) == []
    form = {payment.name for payment in count_payments(make_trials(tags("think"), QUESTIONS))}
    assert (
        "empty tags" in form and "a wrong answer" not in form
    )  # without a solution, only worthless completions count
