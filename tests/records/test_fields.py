"""The fields of a record: what is kept of completions, values of any type as JSON, and what is damaged."""

import contextlib
import datetime
import enum
import json
import math
import re
import time

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from PIL import Image

from helpers.made_runs import story, written
from trl_grpo_rewards import tags
from trl_grpo_rewards.cli.score import describe_scores
from trl_grpo_rewards.records.fields import (
    CHECKS,
    MAX_NESTING,
    REQUIRED,
    ROW_CHECKS,
    Completion,
    copy_as_json,
    describe_completions,
    describe_groups,
    drop_infinite,
    hash_prompt,
    is_record,
    make_readable,
    summarize_totals,
    unpack_ids,
)
from trl_grpo_rewards.records.files import find_record_files, read_groups, read_records
from trl_grpo_rewards.records.rescoring import Tally, rescore
from trl_grpo_rewards.report.pages import write_page


NAN = float("nan")


# --- what is kept of completions ------------------------------------------------------------------------------------


def complete(row, content="text", ids=(5, 1), logged=None, prompt=None, model_input=""):
    prompt = row["prompt"] if prompt is None else prompt
    facts = {"lengths": len(ids), "bold": False}
    return Completion(row, prompt, content, [*ids], facts, logged or {}, model_input)


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
    (record,) = describe(complete({"prompt": "a"}, logged={"note": "x", "none": None}), complete({"prompt": "a"}))
    assert record["logged"] == {"note": ["x", None]}


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


def test_the_input_of_the_model_is_kept_if_it_says_more_than_the_prompt():
    (record,) = describe(complete({"prompt": "a"}, model_input="<s>user: a"))
    assert record["model_input"] == "<s>user: a" and is_record({"step": 1, "group": 0, "rewards": {}, **record})
    for options, model_input in (({}, "a"), ({}, ""), ({"has_text": False}, "<s>user: a")):
        (record,) = describe(complete({"prompt": "a"}, model_input=model_input), **options)
        assert "model_input" not in record


def test_what_json_cannot_hold_is_left_out_of_columns_and_named_in_prompts():
    image = Image.new("RGB", (2, 2))
    prompt = [{"role": "user", "content": [{"type": "image", "image": image}, {"type": "text", "text": "?"}]}]
    row = {"prompt": prompt, "image": image, "pair": (1, 2), "share": NAN, "names": {1: "a"}, "n": None}
    (record,) = describe(complete(row))
    assert record["columns"] == {"n": None}
    assert record["prompt"][0]["content"] == [{"type": "image", "image": "<Image>"}, {"type": "text", "text": "?"}]
    assert json.loads(json.dumps(record, allow_nan=False)) == record


@pytest.mark.parametrize(
    "totals, mean, std, spread",
    [([1.0, 0.0, 1.0, 0.0], 0.5, 0.5, 1.0), ([2.0, None, 0.0], 1.0, 1.0, 2.0), ([None, None], None, None, None)],
)
def test_totals_are_summed_up_over_those_that_are_known(totals, mean, std, spread):
    assert summarize_totals(totals) == {"total": totals, "mean": mean, "std": std, "spread": spread}


def test_columns_that_differ_within_a_group_are_kept_row_by_row():
    rows = [{"prompt": "a", **row} for row in ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 1})]
    for order, values in ((rows, [2, 3, None]), (rows[::-1], [None, 3, 2])):
        (record,) = describe(*map(complete, order))
        assert record["columns"] == {"a": 1} and record["row_columns"] == {"b": values}


def test_what_json_cannot_hold_becomes_none_at_any_depth():
    assert drop_infinite([1.0, NAN, [None, NAN, [-math.inf]]]) == [1.0, None, [None, None, [None]]]


def test_the_hash_of_a_prompt_is_the_same_in_every_run():
    assert hash_prompt("2 + 2?") == "c8b1ddca44974f9c" and len(hash_prompt([])) == 16
    message = {"role": "user", "content": "2 + 2?"}
    assert hash_prompt([message]) == hash_prompt([dict(reversed(message.items()))]) != hash_prompt("2 + 2?")


# --- values of any type ---------------------------------------------------------------------------------------------


class Hostile:
    """An object that no method can be asked about."""

    def __getattribute__(self, name):
        raise RuntimeError(name)

    __repr__ = __str__ = __eq__ = __hash__ = __len__ = __iter__ = __bool__ = __getattribute__


def make_hostile(kind: type) -> type:
    names = (
        "__getattribute__", "__repr__", "__str__", "__eq__", "__len__", "__iter__", "items", "__int__", "__float__",
    )  # fmt: skip
    return type(f"Hostile{kind.__name__}", (kind,), dict.fromkeys(names, Hostile.__getattribute__))


class Colour(enum.IntEnum):
    RED = 1


def nest(levels: int, wrap=lambda value: [value]):
    value = 1
    for _ in range(levels):
        value = wrap(value)
    return value


def make_cycle() -> list:
    cycle = [1, {}]
    cycle[1]["self"] = (cycle, cycle)
    return cycle


def make_doubled(levels: int) -> list:
    value: list = []
    for _ in range(levels):
        value = [value, value]
    return value


ODD = {
    "cycle": make_cycle(), "doubled": make_doubled(90), "doubled deep": make_doubled(5_000), "lists": nest(100_000),
    "dicts": nest(5_000, lambda value: {"a": value}), "large texts": [["x" * 9_999_999] * 999], "huge": 10**400,
    "deep key": {nest(5_000, lambda value: (value,)): 1}, "negative": -(10**5_000), "larger": 10**100_000, "NaN": NAN,
    "infinity": math.inf, "bytes": b"\xff", "array of bytes": bytearray(b"a"), "date": datetime.date(2026, 1, 1),
    "keys": {(1, 2): 1, None: 2, True: 3, 1.5: 4, b"a": 5, frozenset(): 6}, "set": {1, 2}, "range": range(3),
    "iterator": iter([]), "class": object, "hostile": Hostile(), "hostile text": make_hostile(str)("a"),
    "hostile int": make_hostile(int)(1), "hostile float": make_hostile(float)(1), "hostile list": make_hostile(list)([1]),
    "hostile dict": make_hostile(dict)(a=1), "hostile tuple": make_hostile(tuple)([1]), "surrogate": "\ud800",
    "pair": "\ud83d\ude00", "in a key": {"\udfff": "\ud800\udfff"}, "enum": Colour.RED, "float64": np.float64(0.5),
    "float32": np.float32(0.5), "array": np.arange(3), "str_": np.str_("a"), "complex": 1j, "ellipsis": ...,
    "method": [].append,
}  # fmt: skip
LARGE = {"cycle", "doubled", "doubled deep", "large texts"}  # they take seconds
DRAWN = [name for name in ODD if name not in LARGE and not name.startswith("hostile")]  # hypothesis looks into them
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.binary(), st.dates(), st.complex_numbers(),
    st.text(st.characters(exclude_categories=())),
    st.sampled_from(DRAWN).map(lambda name: ODD[name]),
)  # fmt: skip
KEYS = st.one_of(
    st.none(), st.integers(), st.floats(), st.binary(), st.tuples(st.integers(), st.text()),
    st.text(st.characters(exclude_categories=())),
)  # fmt: skip


def nest_any(inner):
    return st.lists(inner) | st.dictionaries(KEYS, inner) | st.tuples(inner, inner)


ANYTHING = st.recursive(LEAVES, nest_any, max_leaves=20)


def is_readable(value) -> bool:
    start = time.process_time()
    readable = make_readable(value)
    seconds = time.process_time() - start  # the largest value takes less than one, on an idle machine
    again = json.loads(json.dumps(readable, allow_nan=False))
    is_valid_text = bool(json.dumps(readable, ensure_ascii=False).encode())  # without halves of surrogate pairs
    return (
        seconds < 10 and is_valid_text and again == readable == make_readable(readable) and copy_as_json(readable)[1]
    )


@pytest.mark.parametrize("name", ODD)
def test_odd_values_become_json_that_reads_the_same(name):
    assert is_readable(ODD[name]) is True


@given(ANYTHING)
def test_anything_becomes_json_that_reads_the_same(value):
    assert is_readable(value) is True


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), nest_any, max_leaves=20))
def test_what_is_the_same_is_known(value):
    """The value is compared by its texts, which tell 1 from True and 1.0, and NaN is not the same."""
    try:
        is_same = repr(json.loads(json.dumps(value, allow_nan=False))) == repr(value)
    except (TypeError, ValueError):
        is_same = False
    assert copy_as_json(value)[1] is is_same and (not is_same or make_readable(value) == value)


def test_what_cannot_be_held_is_replaced_where_it_stands():
    assert make_readable({"a": [NAN, (1, b"x")], "b": 1}) == {"a": ["NaN", [1, "<bytes>"]], "b": 1}
    assert make_readable({(1, "a"): Hostile(), 2: "\ud800!", None: 10**999}) == {
        '[1, "a"]': "<Hostile>", "2": "\\ud800!", "null": "<int>",
    }  # fmt: skip
    assert make_readable(nest(MAX_NESTING + 5)) == nest(MAX_NESTING, lambda value: [value if value != 1 else "<list>"])


# --- damaged records ------------------------------------------------------------------------------------------------


GROUPS = 4
ODD_FIELDS = [
    None, True, 0, 5, -1.5, 10**400, 1e300, float("nan"), float("inf"), "x", "\ud800", [], [None], [[1]], {}, {"a": 1},
    {"a": None}, {"a": 10**400}, {"a": [1]}, {"a": {"b": []}},
]  # fmt: skip


def read_all(folder) -> list[tuple[int, int]]:
    """Read the records as all readers do, and return their places."""
    places = [(record["step"], record["group"]) for record in read_records(folder)]
    tally = Tally()
    for scored in rescore(tags("think"), read_groups(folder)):
        tally.add(scored)
    assert tally.groups == len(places)
    if places:
        json.dumps(describe_scores(tally), allow_nan=False)
        assert write_page(folder, folder / "page.html")[0]["groups"] == len(places)
    return places


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = written(tmp_path_factory.mktemp("run"), story(steps=GROUPS, each=1))
    (file,) = find_record_files(folder)
    return folder, file, file.read_bytes().splitlines(keepends=True)


def rewrite(run, place: int, line: bytes):
    folder, file, lines = run
    file.write_bytes(b"".join([*lines[:place], line, *lines[place + 1 :]]))
    return folder


@pytest.mark.parametrize("place", [0, 2, GROUPS - 1])
@pytest.mark.parametrize(
    "damage",
    {
        "a lost quote": lambda line: line.replace(b'"rewards', b"rewards"),
        "zeros": lambda line: line[:90] + bytes(60) + line[150:],
        "not a text": lambda line: line.replace(b"boxed", b"\xff\xfe"),
        "a list": lambda line: b"[" + line[:-1] + b"]\n",
        "too deep": lambda line: line[:-2] + b', "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
        "no token ids": lambda line: re.sub(rb'"completion_ids": \[[^]]*', rb'"completion_ids": [1, 2', line),
    }.items(),
    ids=lambda one: one[0],
)
def test_a_damaged_record_is_skipped_counted_and_named(run, caplog, place, damage):
    line = damage[1](run[2][place])
    folder = rewrite(run, place, line)
    assert read_all(folder) == [(step, 0) for step in range(1, GROUPS + 1) if step != place + 1]
    offset = sum(map(len, run[2][:place]))
    named = f"1 line(s) of {str(folder)!r} are not complete records and are skipped: byte {offset} of {str(run[1])!r}."
    assert caplog.text.count(named) >= 3  # each reader says so


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_no_damage_costs_more_than_its_record(run, data):
    line = bytearray(run[2][1])
    start = line.index(b'"prompt_id"')
    for place in data.draw(st.lists(st.integers(start, len(line) - 3), min_size=1, max_size=3)):
        line[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte not in b"\n"))
    assert {(1, 0), (3, 0), (4, 0)} <= {*read_all(rewrite(run, 1, bytes(line)))}


def test_fields_of_any_type_cost_no_more_than_their_records(tmp_path):
    ((_, whole),) = story(steps=1, each=1)
    names = [*CHECKS, *ROW_CHECKS]
    odd = [{**whole, name: value} for name in names for value in ODD_FIELDS]
    size = len(whole["total"])
    odd += [{**whole, name: [value] * size} for name in ROW_CHECKS for value in ODD_FIELDS]
    odd += [{**whole, name: {"boxed": value}} for name in ("rewards", "weights", "columns") for value in ODD_FIELDS]
    odd += [{**whole, "rewards": {"boxed": [value] * size}} for value in ODD_FIELDS]
    for name in {*whole} & {*names}:
        lacking = {"step": 1, "group": 0, **{other: value for other, value in whole.items() if other != name}}
        assert is_record(lacking) == (name not in (*REQUIRED, "prompt", "completions"))
    written(tmp_path, enumerate([whole, *odd, whole], start=1))
    steps = [step for step, _ in read_all(tmp_path)]
    assert {1, len(odd) + 2} <= {*steps} and len(steps) < len(odd) / 2


def test_a_whole_record_has_the_shape_and_lines_may_end_as_on_windows(run):
    folder, file, lines = run
    assert all(is_record(json.loads(line)) for line in lines) and not is_record([])
    file.write_bytes(b"".join(lines).replace(b"\n", b"\r\n"))
    assert len(read_all(folder)) == GROUPS


def test_only_files_that_a_run_wrote_are_read(run):
    folder, file, lines = run
    file.write_bytes(b"".join(lines))
    strays = ["old-backup.jsonl", "0001-0001 (copy).jsonl", "1-1.jsonl", "0009-x.jsonl", "-.jsonl"]
    for name in strays:
        file.with_name(name).write_bytes(b"x\n")
    try:
        assert find_record_files(folder) == [file] and len(read_all(folder)) == GROUPS
        written(folder, story(steps=1, each=1))
        assert find_record_files(folder) == [file, file.with_name("0002-0001.jsonl")]
    finally:
        for name in [*strays, "0002-0001.jsonl"]:
            with contextlib.suppress(FileNotFoundError):
                file.with_name(name).unlink()
