"""Damaged records: every reader skips them, names them, and reads all others."""

import contextlib
import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.made_runs import story, written
from trl_grpo_rewards import tags
from trl_grpo_rewards.cli.score import describe_scores
from trl_grpo_rewards.records.fields import OPTIONAL, REQUIRED, ROWS, is_record
from trl_grpo_rewards.records.files import find_record_files, read_groups, read_records
from trl_grpo_rewards.records.rescoring import Tally, rescore
from trl_grpo_rewards.report.pages import write_page
from trl_grpo_rewards.training.prompts import read_pass_rates


GROUPS = 4
ODD = [
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
    read_pass_rates(str(folder))
    if places:
        json.dumps(describe_scores(tally, None), allow_nan=False)
    if places:
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
    assert caplog.text.count(named) >= 4  # each reader says so


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
    names = [*REQUIRED, *OPTIONAL, *ROWS, "prompt", "completions", "std"]
    odd = [{**whole, name: value} for name in names for value in ODD]
    size = len(whole["total"])
    odd += [{**whole, name: [value] * size} for name in ROWS for value in ODD]
    odd += [{**whole, name: {"boxed": value}} for name in ("rewards", "weights", "columns") for value in ODD]
    odd += [{**whole, "rewards": {"boxed": [value] * size}} for value in ODD]
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
