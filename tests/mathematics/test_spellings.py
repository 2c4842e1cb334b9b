"""Spellings: each sign and synonym has one usual spelling."""

from trl_grpo_rewards.mathematics.spellings import SIGNS, SYNONYMS, normalize_signs, skip_group


def test_signs_and_synonyms_lead_to_one_spelling():
    assert not {*SYNONYMS} & {*SYNONYMS.values()} and not {*SIGNS} & {*SIGNS.values()}
    assert normalize_signs("½×ℝ") == r"\frac{1}{2}\times \mathbb{R} "
    assert normalize_signs("US$5") == "$5" and normalize_signs("$5$").strip() == "5"


def test_a_group_is_skipped_with_its_braces():
    assert skip_group("{a{b}}c", 0) == 6 and skip_group("  {a}c", 0) == 5 and skip_group("c", 0) == 0
    assert skip_group("{a{b}", 0) == 5
