"""Batches of rows: their columns, their groups, and what is logged about them."""

import numpy
import pytest

from trl_grpo_rewards import keywords
from trl_grpo_rewards.batch import Batch


@pytest.mark.parametrize(
    "column, found",
    [(["4"], "1 values"), ("44", "a str"), ({"a": 1, "b": 2}, "a dict"), (5, "a int"), (["4"] * 3, "3 values")],
)
def test_a_column_of_another_length_is_refused(column, found):
    with pytest.raises(ValueError, match=f"A call with 2 completions has {found} in 'solution'. Pass a list"):
        keywords(all=("a",))(completions=["a", "b"], solution=column)


def test_an_empty_batch_has_no_scores():
    assert keywords(all=("a",))(completions=[]) == []


def test_rows_taken_log_none_for_the_others():
    batch = Batch.from_call({"completions": ["a", "b", "c"]}).enter("reward")
    taken = batch.select([2, 0])
    assert taken.columns["completions"] == ["c", "a"]
    taken.log_extra("column", ["C", "A"])
    taken.enter("reward").select([1]).enter("inner").log_extra("column", ["a"])
    assert batch.logged == {"reward/column": ["A", None, "C"], "reward/inner/column": ["a", None, None]}


def test_groups_are_runs_of_equal_prompt_and_columns():
    def groups(prompts, **columns):
        return list(
            Batch.from_call({"prompts": list(prompts), "completions": list(prompts), **columns}).find_groups().groups
        )

    assert groups("aabb") == [0, 0, 1, 1]
    assert groups("aabbaa") == [0, 0, 1, 1, 2, 2]
    assert groups("aaaabb") == [0, 0, 1, 1, 2, 2]  # one prompt drawn twice
    assert groups("aaaa", solution=[1, 1, 2, 2]) == [0, 0, 1, 1]
    assert groups("aaaa", completion_ids=[[1], [2], [3], [4]]) == [0, 0, 0, 0]
    assert groups("") == []
    nan, zeros = float("nan"), numpy.zeros
    assert groups("aabb", column=[nan, nan, 1.0, 1.0]) == groups("aabb", column=[[nan], [nan], 1, 1]) == [0, 0, 1, 1]
    assert groups("aabb", column=[zeros(2), zeros(2), zeros(3), zeros(3)]) == [0, 0, 1, 1]
