"""Completions in every shape that TRL passes, and batches of them."""

import numpy
import pytest

from trl_grpo_rewards import keywords, reward
from trl_grpo_rewards.batch import Batch


@reward
def echo(completion: str, log_extra) -> float:
    log_extra("text", completion)
    return 0.0


@reward
def asked(prompt: str, log_extra) -> float:
    log_extra("text", prompt)
    return 0.0


@reward
def count_messages(messages: list) -> float:
    return float(len(messages))


def logged(maker, **call):
    columns = {}
    maker()(**call, log_extra=lambda column, values: columns.update({column: values}))
    return columns[f"{maker.__name__}/text"]


TOOL_USE = [
    {"role": "assistant", "content": "Let me see.", "tool_calls": [{"name": "add"}]},
    {"role": "tool", "name": "add", "content": "4"},
    {"role": "assistant", "content": "It is 4."},
]


@pytest.mark.parametrize("completion, text", [
    ("as it is", "as it is"), ([{"role": "assistant", "content": "one message"}], "one message"),
    ({"role": "assistant", "content": "not in a list"}, "not in a list"), ([{"content": "no role"}], "no role"),
    (TOOL_USE, "It is 4."), (TOOL_USE[:2], "Let me see."),
    ([{"role": "assistant", "content": None, "tool_calls": []}], ""), ([{"role": "assistant"}], ""),
    ([{"role": "tool", "content": "only a tool"}], ""), ([], ""),
    ([{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}], "ab"),
    ([{"role": "assistant", "content": [{"type": "image", "image": "x"}, {"type": "text", "text": "c"}]}], "c"),
    ([{"role": "assistant", "content": [{"type": "text", "text": None}, "plain"]}], "plain"),
])  # fmt: skip
def test_a_completion_gives_its_text(completion, text):
    assert logged(echo, completions=[completion]) == [text]


@pytest.mark.parametrize("prompt, text", [
    ("2 + 2?", "2 + 2?"),
    ([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}], "2 + 2?"),
    ([{"role": "user", "content": "first"}, {"role": "assistant", "content": "a"}], "first"),
    ([{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "what?"}]}], "what?"),
    ([{"role": "system", "content": "only this"}], "only this"), ([], ""),
])  # fmt: skip
def test_a_prompt_gives_what_the_user_asked(prompt, text):
    assert logged(asked, prompts=[prompt], completions=["x"]) == [text]


def test_messages_are_a_list_in_both_formats():
    assert count_messages()(completions=["text", TOOL_USE]) == [1.0, 3.0]


@pytest.mark.parametrize(
    "column, found",
    [(["4"], "1 values"), ("44", "a str"), ({"a": 1, "b": 2}, "a dict"), (5, "a int"), (["4"] * 3, "3 values")],
)
def test_a_column_of_another_length_is_refused(column, found):
    with pytest.raises(
        ValueError, match=f"A call with 2 completions has {found} in 'solution'. Pass a list with one entry"
    ):
        keywords(all=("a",))(completions=["a", "b"], solution=column)


def test_an_empty_batch_has_no_scores():
    assert keywords(all=("a",))(completions=[]) == []


def test_rows_taken_log_none_for_the_others():
    batch = Batch.from_call({"completions": ["a", "b", "c"]}).enter("reward")
    taken = batch.select([2, 0])
    assert taken.columns["completions"] == ["c", "a"]
    taken.log_extra("column", ["C", "A"])
    taken.enter("reward").select([1]).enter("inner").log_extra("column", ["a"])
    assert batch.log.columns == {"reward/column": ["A", None, "C"], "reward/inner/column": ["a", None, None]}


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


@pytest.mark.parametrize(
    "completion",
    [
        b"bytes", 5, [5], [None], float("nan"), {"role": "assistant", "content": 5}, [{"role": "assistant", "content": 5}],
        [{"role": "assistant", "content": [5]}], [{"role": "assistant", "content": [{"type": "text", "text": 5}]}],
    ],
    ids=str,
)  # fmt: skip
def test_a_completion_of_a_wrong_type_is_refused_in_one_sentence(completion):
    calls = [(echo(), {"completions": [completion]})]
    if completion != {"role": "assistant", "content": 5}:
        calls.append((asked(), {"completions": ["a"], "prompts": [completion]}))
    for scored, data in calls:
        with pytest.raises(
            TypeError, match=r"must be a text or a list of (messages|parts); got .*Pass a text, or mess"
        ):
            scored(**data)
