r"""Families of values: the index may have another name, another start and the other direction."""

import pytest

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.families import Family, Residue


@pytest.mark.parametrize(
    "one, other, verdict",
    [
        (r"2k\pi, k \in \mathbb{Z}", r"2n\pi, n \in \mathbb{Z}", True),
        (r"2k\pi, k \in \mathbb{Z}", r"\{2k\pi \mid k \in \mathbb{Z}\}", True),
        (r"2k\pi, k \in \mathbb{Z}", r"\{x \mid x = 2k\pi, k \in \mathbb{Z}\}", True),
        (r"\pi + 2k\pi, k \in \mathbb{Z}", r"\pi - 2n\pi \text{ for all integers } n", True),
        (r"\pi + 2k\pi, k \in \mathbb{Z}", r"3\pi + 2k\pi, k \in \mathbb{Z}", True),
        (r"\pi + 2k\pi, k \in \mathbb{Z}", r"\pi + k\pi, k \in \mathbb{Z}", False),
        (r"2k + 1, k \in \mathbb{N}", r"2k - 1, k \in \mathbb{N}^+", True),
        (r"2k + 1, k \in \mathbb{N}", r"2k - 1, k \in \mathbb{N}", False),
        (r"2k + 1, k \in \mathbb{N}", r"2k + 1, k \in \mathbb{Z}", False),
        (r"k\pi, 1 + k\pi, k \in \mathbb{Z}", r"1 + n\pi, n\pi, n \in \mathbb{Z}", True),
        (r"(k\pi, \pi + k\pi), k \in \mathbb{Z}", r"(\pi + n\pi, 2\pi + n\pi), n \in \mathbb{Z}", True),
        (r"3 \pmod 5", r"8 \pmod 5", True),
        (r"3 \pmod 5", r"3 \pmod 7", False),
        (r"x \equiv 3 \pmod 5", r"x = 5k + 3, k \in \mathbb{Z}", True),
        (r"n \equiv 1, 5 \pmod 6", r"n \equiv 5 \pmod 6, n \equiv 1 \pmod 6", True),
    ],
)
def test_families_with_the_same_values(one, other, verdict):
    assert is_equal(one, other) is is_equal(other, one) is verdict


def test_what_is_a_family():
    family = read(r"2k\pi, k \in \mathbb{Z}")
    assert isinstance(family, Family) and (family.index, family.domain) == ("k", "Z")
    assert isinstance(read(r"3 \pmod 5"), Residue) and not isinstance(read(r"5, k \in \mathbb{Z}"), Family)
