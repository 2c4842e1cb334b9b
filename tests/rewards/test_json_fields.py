"""json_fields, called as TRL calls it: what is right, and what a model might write instead."""

import json
from datetime import datetime
from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from datasets import Dataset, load_dataset
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import boxed, json_fields, json_text, tags
from trl_grpo_rewards.checks import check


GOLD = '{"name": "Ann Lee", "tickets": 2, "seats": ["A1", "A2"], "paid": true, "note": null, "to": {"city": "Oslo"}}'

RIGHT = [
    GOLD, f"```json\n{GOLD}\n```", f"  ```\n{GOLD}\n```\n", f"<think>Two.</think>\n{GOLD}", GOLD.replace(" 2,", " 2.0,"),
    GOLD.replace("Ann Lee", "ANN  lee."), json.dumps(json.loads(GOLD), sort_keys=True, indent=2),
]  # fmt: skip

WRONG = [
    GOLD.replace(" 2,", ' "2",'), GOLD.replace(" 2,", " 20,"), GOLD.replace("true", "1"), GOLD.replace("null", "false"),
    GOLD.replace('"A1", "A2"', '"A2", "A1"'), GOLD.replace('"A1", "A2"', '"A1", "A2", "A3"'), GOLD.replace("Oslo", "Rome"),
    GOLD.replace('"note": null, ', ""), GOLD.replace("{", '{"more": 1, ', 1), GOLD.replace("Ann Lee", "Ann Lee or Bob"),
    GOLD.replace("{", '{"more": null, ', 1), GOLD.replace('"city"', '"City"'), GOLD.replace('{"city": "Oslo"}', '["Oslo"]'),
    GOLD.replace('["A1", "A2"]', '{"0": "A1", "1": "A2"}'),
]  # fmt: skip

NO_OBJECTS = [
    "", f"Here it is: {GOLD}", f"{GOLD}\nDone.", f"{GOLD}{GOLD}", f"[{GOLD}]", f"```json\n{GOLD}\n```\n```json\n{GOLD}\n```",
    GOLD.replace("{", '{"tickets": 2, ', 1), GOLD.replace(" 2,", " NaN,"), GOLD.replace("}}", "},}"), "2", "null",
    f"<think>{GOLD}</think>", f"<think>{GOLD}", json.dumps(GOLD), '{"a":' * 10_000,
]  # fmt: skip


def score(completions, solution, **options):
    return json_fields(**options)(completions=completions, solution=[solution] * len(completions))


def test_an_object_with_the_fields_of_the_solution_is_right():
    assert score(RIGHT, GOLD) == score(RIGHT, GOLD, partial=True) == [1.0] * len(RIGHT)
    assert score(WRONG + NO_OBJECTS, GOLD) == [0.0] * len(WRONG + NO_OBJECTS)


def test_right_fields_are_paid_by_their_share():
    assert all(0.1 < one < 1 for one in score(WRONG, GOLD, partial=True))
    assert score(NO_OBJECTS, GOLD, partial=True) == [0.0] * len(NO_OBJECTS)
    written = ["{}", '{"a": 1}', '{"a": 1, "b": {"c": 2, "d": 0}}', '{"a": 1, "b": 0, "c": 0, "e": 0}']
    assert score(written, '{"a": 1, "b": {"c": 2, "d": 3}}', partial=True) == pytest.approx([0.1, 0.55, 0.775, 0.325])


def test_many_fields_or_items_do_not_pay():
    gold = {f"field {place}": place for place in range(10)}
    guesses = [{**gold, **{f"more {place}": place for place in range(990)}}, {"field 1": [*range(10)]}, {"": gold}]
    assert score([*map(json.dumps, guesses)], gold, partial=True) == pytest.approx([0.109, 0.1, 0.1])


def test_null_is_missing_in_a_column_of_objects():
    """Datasets fill in the fields that other rows have, and nobody is paid for those."""
    rows = Dataset.from_list([{"solution": {"a": 1, "to": {"b": 2}}}, {"solution": {"c": "x", "to": {"d": 3}}}])
    assert rows[0]["solution"]["c"] is None
    written = ['{"a": 1, "to": {"b": 2}}', '{"a": 1, "c": null, "to": {"b": 2}}', "{}", '{"c": null, "e": null}']
    assert score(written, rows[0]["solution"], partial=True) == [1.0, 1.0, 0.1, 0.1]


def test_what_libraries_make_of_texts_and_numbers_is_read(tmp_path):
    """Datasets reads texts that look like dates as dates."""
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f'{{"solution": {{"day": "2024-03-0{day}", "total": {day}}}}}\n' for day in (1, 2)))
    (gold, _) = load_dataset("json", data_files=str(file), split="train")["solution"]
    assert score(['{"day": "2024-03-01", "total": 1}', '{"day": "2024-03-02", "total": 1}'], gold) == [1.0, 0.0]
    gold = {
        "n": Decimal("1.5"),
        "seen": np.bool_(True),
        "row": np.array([1, 2]),
        "pair": (1, 2),
        "at": datetime(2024, 3, 1, 9),
    }
    right = '{"n": 1.5, "seen": true, "row": [1, 2], "pair": [1, 2], "at": "2024-03-01T09:00:00"}'
    assert score([right, right.replace("true", "1")], gold) == [1.0, 0.0]
    assert score([right], {"what": object()}) == score([right], {"what": float("nan")}) == [None]


def test_solutions_may_be_several_or_none():
    two = ['{"a": 1}', '{"a": 2}']
    assert score(['{"a": 2}', '{"a": 3}'], two) == [1.0, 0.0]
    for nothing in (None, "Ann", 4, "[1]", [], '{"a": 1, "a": 1}', "{'a': 1}"):
        assert score(['{"a": 1}'], nothing) == [None]
    assert json_fields(solution="reply")(completions=['{"a": 1}'], reply=[{"a": 1}]) == [1.0]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.text(), values), st.dictionaries(st.text(), values), st.text())
def test_only_what_equals_the_solution_is_right(gold, other, text):
    written = [json.dumps(gold), json.dumps(other), text]
    whole, parts = score(written, json.dumps(gold)), score(written, json.dumps(gold), partial=True)
    assert whole[0] == parts[0] == 1 and all((one == 1) == (part == 1) for one, part in zip(whole, parts, strict=True))
    assert parts[1] == score([json.dumps(gold)], json.dumps(other), partial=True)[0] >= 0.1


def test_the_check_knows_how_objects_are_written():
    rows = [{"prompt": f"Order {n} tickets.", "solution": f'{{"tickets": {n}, "city": "{city}"}}'}
            for n, city in enumerate(["Oslo", "Rome", "Bonn", "Lima"], 1)]  # fmt: skip
    odd = [row | {"solution": row["solution"].replace("city", "#### \\\\boxed{city}")} for row in rows]
    objects = [
        row | {"solution": {"n": place, "at": {"day": f"2024-03-0{place}"}}} for place, row in enumerate(rows, 1)
    ]
    json_rewards = (
        json_fields(),
        json_fields(partial=True),
        json_fields() + 0.2 * json_text(),
        json_fields() + 0.2 * tags("think"),
    )
    for rewards, data in product(json_rewards, (rows, odd, objects)):
        found = check(rewards, Dataset.from_list(data))
        assert not [fault for one in found for fault in one.faults], (rewards, found)
    assert [one.faults for one in check(boxed(), Dataset.from_list(rows)) if one.faults]
