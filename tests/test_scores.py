"""What a reward function may return for its completions."""

from decimal import Decimal
from fractions import Fraction

import numpy
import pytest
import torch

from trl_grpo_rewards.scores import convert_score, read_scores


@pytest.mark.parametrize("returned", [
    [1, 0.5, None], (True, 0.5, None), iter([1, Decimal("0.5"), None]), [numpy.float32(1), Fraction(1, 2), None],
    [torch.tensor(1), torch.tensor([0.5]), None],
], ids=["list", "tuple", "iterator", "other numbers", "tensors"])  # fmt: skip
def test_scores_are_floats_or_none(returned):
    scores = read_scores(returned, "it", 3)
    assert scores == [1.0, 0.5, None] and [type(score) for score in scores[:2]] == [float, float]


def test_arrays_are_lists_of_scores():
    assert (
        read_scores(numpy.array([1.0, 0.5]), "it", 2) == read_scores(torch.tensor([1.0, 0.5]), "it", 2) == [1.0, 0.5]
    )
    assert read_scores([], "it", 0) == []


@pytest.mark.parametrize("returned", [None, 1.0, "10", b"10", {0: 1.0, 1: 0.0}, {0.0, 1.0}, True, numpy.array(1.0)])
def test_what_is_no_list_is_refused(returned):
    with pytest.raises(ValueError) as caught:
        read_scores(returned, "it", 2)
    assert str(caught.value) == (
        f"Reward 'it' returned {returned!r} for 2 completions. Return a list with one number or None per completion."
    )


def test_there_is_one_score_for_each_completion():
    for returned in ([], [1.0], [1.0] * 3):
        with pytest.raises(ValueError, match=f"'it' returned {len(returned)} scores for 2 completions. Return one"):
            read_scores(returned, "it", 2)


@pytest.mark.parametrize(
    "score",
    [
        float("nan"), float("inf"), float("-inf"), "1.0", "", b"1", [1.0], {}, 1j, object(), 10**400, Decimal("NaN"),
        numpy.array([1.0, 2.0]), torch.tensor([1.0, 2.0]), torch.tensor(torch.nan),
    ],
    ids=lambda score: repr(score)[:20],
)  # fmt: skip
def test_a_score_is_a_finite_number(score):
    with pytest.raises(
        ValueError, match="Reward 'it' gave .* for row 1 of the batch. Return a finite number, or None if"
    ):
        read_scores([1.0, score], "it", 2)
    assert convert_score(-0.5, "it", 0) == -0.5
