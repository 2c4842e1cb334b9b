"""Sums of counted tokens, and what is logged of them."""

from trl_grpo_rewards.training.metric_means import TokenCounts, add_counts, describe_counts


def test_counts_are_added_name_by_name():
    assert add_counts(TokenCounts(1, 2, 3, 4), TokenCounts(10, 20, 30, 40).times(2)) == TokenCounts(21, 42, 63, 84)
    assert add_counts(TokenCounts()) == TokenCounts()


def test_padding_is_a_ratio_of_all_passes():
    logged = describe_counts(TokenCounts(100, 110, 300, 50), TokenCounts(100, 130, 300, 0))
    assert logged == {
        "tokens_needed": 100, "tokens_computed": 110, "tokens_padded": 300, "tokens_skipped": 50,
        "tokens_needed_without_gradient": 100, "tokens_computed_without_gradient": 130,
        "tokens_padded_without_gradient": 300, "tokens_skipped_without_gradient": 0, "padding": 1.2,
    }  # fmt: skip
    assert "tokens_needed_without_gradient" not in describe_counts(TokenCounts(1, 1, 1), TokenCounts())


def test_a_step_without_a_live_row_has_no_ratio():
    assert "padding" not in describe_counts(TokenCounts(0, 2, 300), TokenCounts())
