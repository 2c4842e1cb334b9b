"""Judges that are moved by something else than the answer."""

import re

import pytest

from helpers.checks import make_problems
from trl_grpo_rewards import boxed, gate, reward, tags
from trl_grpo_rewards.checks.gameability import REQUESTS, check_judges


ASKED: list[str] = []
DATA = make_problems("71", "82", "93", "104", "115")


def is_right(text: str, solution: str) -> float:
    ASKED.append(text)
    return float(f"boxed{{{solution}}}" in text)


@reward
async def upright(completion: str, solution: str) -> float:
    return is_right(completion, solution)


@reward
async def vain(completion: str, solution: str) -> float:
    return max(is_right(completion, solution), 0.5 * ("perfect" in completion))


@reward
async def likes_length(completion: str, solution: str) -> float:
    return 0.5 * is_right(completion, solution) + min(len(completion) / 4000, 0.5)


@reward
async def hasty(completion: str, solution: str) -> float:
    return max(
        is_right(completion, solution), float(completion.endswith(f"{{not {solution}}}")), 0.4 * (completion == "")
    )


@reward
async def undecided(completion: str, solution: str) -> float:
    return 0.5 + 0 * is_right(completion, solution)


@reward(grouped=True, asks=True)
def first_is_best(completions: list[str], solution: str) -> list[float]:
    return [is_right(text, solution) * (1 - 0.1 * place) for place, text in enumerate(completions)]


@reward
async def unreachable(completion: str, solution: str) -> float:
    raise OSError("no route to host")


@pytest.mark.parametrize(
    "rewards, moved",
    [
        (upright(), []),
        (vain(), ["flattery"]),
        (likes_length(), ["length"]),
        (boxed() + 0.2 * gate(hasty(), by=boxed()), ["the answer denied", "an empty text"]),
        (first_is_best(), ["order"]),
    ],
    ids=str,
)
def test_what_moves_a_judge_is_a_warning(rewards, moved):
    ASKED.clear()
    said = []
    found = check_judges(rewards, DATA, said.append)
    assert [re.search(" is moved by (.*?), by at", text)[1] for text in found.warnings] == moved and not found.faults
    assert re.search(r": \d+ requests about 3 rows of the dataset\.$", said[0])
    assert rewards.is_grouped or len(ASKED) == int(re.search(r"(\d+) requests", said[0])[1]) <= REQUESTS
    assert len(found.lines) == 6 and "1.000" in found.lines[0] or rewards == likes_length()


def test_a_judge_that_cannot_tell_or_cannot_be_asked_is_named():
    (warning,) = check_judges(undecided(), DATA, len).warnings
    assert warning == "undecided() gave right answers 0.500 and wrong ones 0.500 on average. Use a stronger judge."
    (fault,) = check_judges(unreachable(), DATA, len).faults
    assert "unreachable() raised OSError: no route to host" in fault


@pytest.mark.parametrize(
    "rewards, data",
    [
        (boxed() + tags("a"), DATA),
        (upright(), DATA.remove_columns("solution").add_column("solution", [None] * 5)),
        (sum((upright(name=f"{one}") for one in range(1, 4)), upright(name="0")), DATA),
    ],
    ids=["no judge", "no solution", "too many"],
)
def test_nobody_is_asked_without_need(rewards, data):
    ASKED.clear()
    found = check_judges(rewards, data, lambda text: pytest.fail(text))
    assert not found.is_run and not ASKED
