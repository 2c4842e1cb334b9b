"""What `check` says of rewards that compare the completions of a group."""

import re
import time
from difflib import SequenceMatcher

import pytest
from datasets import Dataset

from trl_grpo_rewards import boxed, demo, distinct, gate, reward, share, shortest
from trl_grpo_rewards.checks import check, trials


DATA = demo.arithmetic(size=64)


@reward(grouped=True)
def unlike_others(prompt: str, completions: list) -> list[float]:
    return [float(completions.count(completion) == 1) for completion in completions]


@reward(grouped=True)
def far_from_others(prompt: str, completions: list) -> list[float]:
    count = max(1, len(completions) - 1)
    return [sum(1 - SequenceMatcher(None, a, b).ratio() for b in completions) / count for a in completions]


@reward(grouped=True)
def as_most_do(prompt: str, completions: list) -> list[float]:
    return [completions.count(completion) / len(completions) for completion in completions]


@reward(grouped=True)
def least_text(prompt: str, completions: list) -> list[float]:
    shortest = min(map(len, completions))
    return [float(len(completion) == shortest) for completion in completions]


@reward(grouped=True)
def right_and_unlike(prompt: str, completions: list, solution: str) -> list[float]:
    """Its own gate."""
    is_right = [completion.endswith(f"\\boxed{{{solution}}}") for completion in completions]
    return [
        float(right) * (1 + 0.5 / completions.count(one)) for right, one in zip(is_right, completions, strict=True)
    ]


@reward(grouped=True)
def right_or_unlike(prompt: str, completions: list, solution: str) -> list[float]:
    is_right = [completion.endswith(f"\\boxed{{{solution}}}") for completion in completions]
    return [float(right) + 1.5 / completions.count(one) for right, one in zip(is_right, completions, strict=True)]


@reward(grouped=True)
def far_in_bigrams(prompt: str, completions: list) -> list[float]:
    """One minus the mean of the Jaccard indices with the others, where texts without a bigram are like nothing."""
    pairs = [{*zip(text.split(), text.split()[1:], strict=False)} for text in completions]
    alike = [[len(one & other) / max(1, len(one | other)) for other in pairs] for one in pairs]
    own = [float(bool(one)) for one in pairs]
    return [1 - (sum(row) - mine) / max(1, len(pairs) - 1) for row, mine in zip(alike, own, strict=True)]


@reward(grouped=True)
def share_of_length(prompt: str, completions: list) -> list[float]:
    least = min(map(len, completions))
    return [least / max(1, len(completion)) for completion in completions]


@reward(grouped=True)
def brief_among_right(prompt: str, completions: list, solution: str) -> list[float]:
    """The length reward of Kimi k1.5."""
    low, high = min(map(len, completions)), max(map(len, completions))
    values = [0.5 - (len(text) - low) / (high - low) if high > low else 0.0 for text in completions]
    is_right = [text.endswith(f"\\boxed{{{solution}}}") for text in completions]
    return [value if right else min(0.0, value) for value, right in zip(values, is_right, strict=True)]


@reward(grouped=True)
def minus_copies(prompt: str, completions: list) -> list[float]:
    return [-float(completions.count(completion) > 1) for completion in completions]


def find(rewards, data=DATA):
    found = check(rewards, data)
    return [
        [text for one in found for text in getattr(one, kind) if "group" in text] for kind in ("faults", "warnings")
    ]


@pytest.mark.parametrize(
    "term, said",
    [
        (2 * unlike_others(), "earns 2 and each of seven equal right ones 1 "),
        (3 * far_from_others(), "earns 3 and each of seven equal right ones 1"),
        (2 * distinct(), "earns 2 and each of seven equal right ones 1 "),
        (-2 * as_most_do(), "earns -0.25 and each of seven equal right ones -0.75 "),
        (2 * as_most_do(), "a right completion earns 1.25 and each of seven equal wrong ones 1.75 "),
        (1 * least_text(), "an empty completion earns 1 and each of seven equal right ones 1 "),
        (2 * far_in_bigrams(), "an empty completion earns 2 and each of seven equal right ones 1.29 "),
        (2 * share_of_length(), "a completion of one word earns 2 and each of seven equal right ones 1"),
        (2 * minus_copies(), "a wrong completion earns 0 and each of seven equal right ones -1 "),
    ],
)
def test_what_is_worthless_must_not_earn_more_than_what_is_right_in_its_group(term, said):
    (fault,), _ = find(boxed(evaluated=True) + term)
    assert re.search(said, fault) and f"the term {term} prefers what is worthless" in fault
    if term.weights[0] < 0 or term == 2 * minus_copies():
        assert fault.endswith("Subtract less of it.")
        return
    assert fault.endswith(f"gate({term.rewards[0]}, by=boxed(evaluated=True)).")
    gated = term.weights[0] * gate(term.rewards[0], by=boxed(evaluated=True))
    faults, _ = find(boxed(evaluated=True) + gated)
    assert not faults


def test_without_right_answers_no_groups_are_mixed():
    prompts = Dataset.from_dict({"prompt": ["Write a poem.", "Write a story."]})
    assert find(unlike_others(), prompts) == [[], []]


def test_a_term_that_compares_right_answers_decides_nothing_next_to_an_outcome():
    found = check(boxed(evaluated=True) + 0.2 * brief_among_right(), DATA)
    assert not any(one.faults for one in found) and all(one.is_run for one in found)
    (said,) = [text for one in found for text in one.warnings]
    assert "pays an empty completion 0, and the wrong ones -0.1 each" in said
    gated = boxed(evaluated=True) + 0.2 * gate(brief_among_right(), by=boxed(evaluated=True))
    assert not any(one.faults + one.warnings for one in check(gated, DATA))


def test_a_reward_of_the_answer_is_not_gated_by_itself():
    (fault,), _ = find(right_or_unlike())
    assert "earns 1.5 and each of seven equal right ones 1.21 " in fault
    assert fault.endswith("Let it pay a right completion most in every group.")


@pytest.mark.parametrize(
    "term", [0.2 * unlike_others(), 0.2 * far_from_others(), 0.3 * least_text(), -0.1 * as_most_do()]
)
def test_what_noise_earns_among_wrong_answers_is_a_warning_unless_it_is_gated(term):
    faults, (said,) = find(boxed(evaluated=True) + term)
    assert not faults and f"{term} pays " in said and "only this is learned" in said
    gated = term.weights[0] * gate(term.rewards[0], by=boxed(evaluated=True))
    assert find(boxed(evaluated=True) + gated) == [[], []]


@pytest.mark.parametrize(
    "rewards",
    [
        boxed(evaluated=True) + 0 * unlike_others(),
        boxed(evaluated=True) + 0.2 * shortest(boxed(evaluated=True)),
        boxed(evaluated=True) + gate(shortest(boxed(evaluated=True)), by=share(boxed(evaluated=True)), at_least=0.5),
        boxed(evaluated=True) + 0.2 * distinct(),
        boxed(evaluated=True) + 0.2 * as_most_do(),
        right_and_unlike(),
    ],
)
def test_groups_that_pay_what_is_right_most_are_not_mentioned(rewards):
    assert find(rewards) == [[], []]


def test_a_function_that_takes_long_is_attacked_on_few_rows(monkeypatch):
    monkeypatch.setattr(trials, "ATTACK_SECONDS", 1e-9)
    found = next(
        one for one in check(boxed(evaluated=True) + 0.01 * far_from_others(), DATA) if one.title == "attacks"
    )
    assert {attack["tried"] for attack in found.data["attacks"]} == {2} and not found.faults


SEEN = []


@reward
def slow_for_long_texts(completion: str, solution: str) -> float:
    """As a regular expression is that takes quadratic time for tags which never close."""
    SEEN.append(len(completion))
    if len(completion) > 32_000:
        time.sleep(trials.ATTACK_SECONDS / 2)
    return float(completion.endswith(f"\\boxed{{{solution}}}"))


def test_the_longest_text_does_not_take_the_time_of_other_attacks():
    found = next(one for one in check(slow_for_long_texts(), DATA) if one.title == "attacks")
    assert max(SEEN) > 32_000 and max(attack["tried"] for attack in found.data["attacks"]) == 16


def test_a_function_that_gives_one_score_only_among_different_completions_is_not_silent():
    said = [text for one in check(boxed(evaluated=True) + 0.2 * unlike_others(), DATA) for text in one.warnings]
    assert len(said) == 1 and "to every completion that was tried" not in said[0]
