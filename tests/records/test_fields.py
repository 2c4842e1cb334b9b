"""The fields of a record: what is kept of each completion, and how a group's record is made of it."""

import json

import pytest
from PIL import Image

from trl_grpo_rewards.records.fields import (
    describe_groups,
    hash_prompt,
    merge_columns,
    pack_ids,
    pack_rows,
    replace_nan,
    summarize_totals,
    unpack_ids,
)
from trl_grpo_rewards.records.kinds import Rule


NAN = float("nan")


def pack(inputs, ids=None, **options):
    count = len(inputs)
    prompts, completions = [row["prompt"] for row in inputs], [f"text {place}" for place in range(count)]
    return pack_rows(inputs, prompts, completions, ids or [[5, 1]] * count, {1}, **options)


def test_the_fields_of_a_completion():
    inputs = [{"prompt": "2 + 2?", "solution": "4", "index": 7}] * 3
    rows = pack(inputs, ids=[[5, 6, 1], [5, 6], []])
    assert [(row.prompt, row.columns, row.text) for row in rows] == [
        ("2 + 2?", {"solution": "4", "index": 7}, f"text {place}") for place in range(3)
    ]
    assert [row.length for row in rows] == [3, 2, 0] and [row.is_truncated for row in rows] == [False, True, True]
    assert [row.ids for row in rows] == [b"\5\0\0\0\6\0\0\0\1\0\0\0", b"\5\0\0\0\6\0\0\0", b""]
    (bare, *_) = pack(inputs, has_text=False, has_ids=False)
    assert bare.text is None and bare.ids is None and bare.prompt == "2 + 2?"


def test_rows_of_one_prompt_share_it_and_its_columns():
    inputs = [{"prompt": ["a"], "solution": ["4"]} for _ in range(2)] + [{"prompt": ["a"], "solution": ["5"]}]
    one, same, other = pack(inputs)
    assert one.prompt is same.prompt and one.columns is same.columns
    assert other.columns == {"solution": ["5"]} and other.prompt is not one.prompt


def test_what_json_cannot_hold_is_left_out_of_columns_and_named_in_prompts():
    image = Image.new("RGB", (2, 2))
    prompt = [{"role": "user", "content": [{"type": "image", "image": image}, {"type": "text", "text": "?"}]}]
    (row,) = pack([{"prompt": prompt, "image": image, "pair": (1, 2), "share": NAN, "names": {1: "a"}, "n": None}])
    assert row.columns == {"n": None}
    assert row.prompt[0]["content"] == [{"type": "image", "image": "<Image>"}, {"type": "text", "text": "?"}]
    assert json.loads(json.dumps(row.prompt, allow_nan=False)) == row.prompt


def test_token_ids_are_packed_and_read_in_both_forms():
    ids = [0, 1, 151_643, 2**31 - 1]
    assert pack_ids(ids) == b"".join(one.to_bytes(4, "little") for one in ids)
    (record,) = describe(pack([{"prompt": "a"}], ids=[ids]))
    assert unpack_ids(record["completion_ids"][0]) == unpack_ids(ids) == ids and unpack_ids("") == []


def describe(rows, scores=None, weights=None, totals=None, groups=1, **options):
    count = len(rows)
    return describe_groups(
        rows,
        [[1.0]] * count if scores is None else scores,
        weights or {"boxed": 1.0},
        [1.0] * count if totals is None else totals,
        [0.5] * count,
        ["live"] * groups,
        Rule("boxed", "each", 0.25, "row"),
        [*range(groups)],
        **options,
    )


def test_each_group_has_a_record_of_its_rows():
    inputs = [{"prompt": prompt, "solution": prompt} for prompt in "aabb"]
    scores = [[1.0, 0.0], [0.0, NAN], [None, 0.5], [1.0, 1.0]]
    weights = {"boxed": 1.0, "tags": 0.5}
    one, other = describe(
        pack(inputs),
        scores,
        weights,
        [1.0, NAN, None, 1.5],
        groups=2,
        predicted=[{"predicted_live": share} for share in (0.25, 0.75)],
    )
    assert one["rewards"] == {"boxed": [1.0, 0.0], "tags": [0.0, None]} and one["total"] == [1.0, None]
    assert other["rewards"] == {"boxed": [None, 1.0], "tags": [0.5, 1.0]} and other["total"] == [None, 1.5]
    assert (one["prompt"], other["prompt"]) == ("a", "b") and other["completions"] == ["text 2", "text 3"]
    assert [record["columns"] for record in (one, other)] == [{"solution": "a"}, {"solution": "b"}]
    assert [record["predicted_live"] for record in (one, other)] == [0.25, 0.75] and other["duplicates"] == 1
    assert (one["outcome_reward"], one["dead_by"], one["tolerance"], one["unscored"]) == ("boxed", "each", 0.25, "row")
    assert one["weights"] == weights and one["lengths"] == [2, 2] and one["truncated"] == [False, False]
    assert one["prompt_id"] == hash_prompt("a") != other["prompt_id"]
    assert json.loads(json.dumps(one, allow_nan=False)) == one


def test_a_record_is_made_only_when_it_is_asked_for():
    records = describe(pack([{"prompt": "a"}, {"prompt": "b"}]), groups=2)
    rows = next(records)
    assert rows["prompt"] == "a" and next(records)["prompt"] == "b" and next(records, None) is None


def test_a_record_without_texts_and_ids_has_no_such_fields():
    (record,) = describe(pack([{"prompt": "a"}] * 2, has_text=False, has_ids=False))
    assert not {"prompt", "completions", "completion_ids", "predicted_live", "row_columns"} & {*record}


@pytest.mark.parametrize(
    "totals, mean, std, spread",
    [([1.0, 0.0, 1.0, 0.0], 0.5, 0.5, 1.0), ([2.0, None, 0.0], 1.0, 1.0, 2.0), ([None, None], None, None, None)],
)
def test_totals_are_summed_up_over_those_that_are_known(totals, mean, std, spread):
    assert summarize_totals(totals) == {"total": totals, "mean": mean, "std": std, "spread": spread}


def test_columns_that_differ_within_a_group_are_kept_row_by_row():
    assert merge_columns([{"a": 1, "b": [2]}] * 2) == {"columns": {"a": 1, "b": [2]}}
    rows = [{"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 1}]
    assert merge_columns(rows) == {"columns": {"a": 1}, "row_columns": {"b": [2, 3, None]}}
    assert merge_columns(rows[::-1]) == {"columns": {"a": 1}, "row_columns": {"b": [None, 3, 2]}}


def test_nan_becomes_none_at_any_depth():
    assert replace_nan([1.0, NAN, [None, NAN, [NAN]], "a"]) == [1.0, None, [None, None, [None]], "a"]


def test_the_hash_of_a_prompt_is_the_same_in_every_run():
    assert hash_prompt("2 + 2?") == "c8b1ddca44974f9c" and len(hash_prompt([])) == 16
    message = {"role": "user", "content": "2 + 2?"}
    assert hash_prompt([message]) == hash_prompt([dict(reversed(message.items()))]) != hash_prompt("2 + 2?")
