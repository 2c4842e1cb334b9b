"""The fields of a record: what is kept of each completion, and how a group's record is made of it."""

import base64
import json
import math

import pytest
from PIL import Image

from trl_grpo_rewards.records.fields import (
    Completion,
    describe_completions,
    describe_groups,
    drop_infinite,
    hash_prompt,
    merge_columns,
    pack_ids,
    summarize_totals,
    unpack_ids,
)


NAN = float("nan")


def complete(row, content="text", ids=(5, 1), logged=None, prompt=None):
    prompt = row["prompt"] if prompt is None else prompt
    return Completion(row, prompt, content, [*ids], {"lengths": len(ids), "bold": False}, logged or {})


def describe(*completions, groups=1, **options):
    return describe_groups(describe_completions(completions, **options), [{"outcome": "live"}] * groups)


def test_the_fields_of_a_completion():
    row = {"prompt": "2 + 2?", "solution": "4", "index": 7}
    (record,) = describe(*(complete(row, f"text {len(ids)}", ids) for ids in ([5, 6, 1], [5, 6], [])))
    assert record["columns"] == {"solution": "4", "index": 7} and record["outcome"] == "live"
    assert record["prompt"] == "2 + 2?" and record["completions"] == ["text 3", "text 2", "text 0"]
    assert record["lengths"] == [3, 2, 0] and record["bold"] == [False] * 3
    assert [*map(unpack_ids, record["completion_ids"])] == [[5, 6, 1], [5, 6], []]
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_a_record_without_texts_and_ids_has_no_such_fields():
    (record,) = describe(complete({"prompt": "a"}, logged={"note": "x"}), has_text=False, has_ids=False)
    assert {*record} == {"outcome", "prompt_id", "columns", "lengths", "bold"}


def test_completions_of_one_prompt_share_it_and_its_columns():
    rows = [{"prompt": ["a"], "solution": ["4"]} for _ in range(2)] + [{"prompt": ["a"], "solution": ["5"]}]
    one, same, other = describe_completions(map(complete, rows))
    assert one.group is same.group is other.group and one.columns is same.columns
    assert other.columns == {"solution": ["5"]}


def test_a_prompt_that_was_changed_is_known_by_both():
    (record,) = describe(complete({"prompt": "a"}, prompt="a, and more"))
    assert (record["prompt_id"], record["dataset_prompt_id"]) == (hash_prompt("a, and more"), hash_prompt("a"))
    (record,) = describe(complete({"prompt": "a"}))
    assert "dataset_prompt_id" not in record


def test_what_rewards_logged_is_a_list_with_none_for_nothing():
    (record,) = describe(complete({"prompt": "a"}, logged={"note": "x", "none": None}), complete({"prompt": "a"}))
    assert record["logged"] == {"note": ["x", None]}


def test_what_json_cannot_hold_is_left_out_of_columns_and_named_in_prompts():
    image = Image.new("RGB", (2, 2))
    prompt = [{"role": "user", "content": [{"type": "image", "image": image}, {"type": "text", "text": "?"}]}]
    row = {"prompt": prompt, "image": image, "pair": (1, 2), "share": NAN, "names": {1: "a"}, "n": None}
    (record,) = describe(complete(row))
    assert record["columns"] == {"n": None}
    assert record["prompt"][0]["content"] == [{"type": "image", "image": "<Image>"}, {"type": "text", "text": "?"}]
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_token_ids_are_packed_and_read_in_both_forms():
    ids = [0, 1, 151_643, 2**31 - 1]
    assert base64.b64decode(pack_ids(ids)) == b"".join(one.to_bytes(4, "little") for one in ids)
    assert unpack_ids(pack_ids(ids)) == unpack_ids(ids) == ids and unpack_ids("") == []


def test_each_group_has_a_record_that_is_made_only_when_it_is_asked_for():
    records = describe(*(complete({"prompt": prompt, "solution": prompt}) for prompt in "aabb"), groups=2)
    one = next(records)
    assert one["prompt"] == "a" and one["lengths"] == [2, 2] and one["prompt_id"] == hash_prompt("a")
    assert next(records)["columns"] == {"solution": "b"} and next(records, None) is None


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


def test_what_json_cannot_hold_becomes_none_at_any_depth():
    assert drop_infinite([1.0, NAN, [None, NAN, [-math.inf]]]) == [1.0, None, [None, None, [None]]]


def test_the_hash_of_a_prompt_is_the_same_in_every_run():
    assert hash_prompt("2 + 2?") == "c8b1ddca44974f9c" and len(hash_prompt([])) == 16
    message = {"role": "user", "content": "2 + 2?"}
    assert hash_prompt([message]) == hash_prompt([dict(reversed(message.items()))]) != hash_prompt("2 + 2?")
