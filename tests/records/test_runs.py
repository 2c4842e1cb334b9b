"""The description of a run, next to its records."""

import json
import logging
from itertools import product

from trl_grpo_rewards.records.runs import RUN_FILE, list_differences, list_facts, read_run, write_run


RUN = {
    "rewards": "boxed()",
    "model": "org/model",
    "dataset": {"name": "org/data", "config": "main", "split": "train", "rows": 1234},
    "options": {"learning_rate": 1e-6, "seed": 0},
    "job": {"system_prompt": None},
    "versions": {"trl": "1.16.0", "torch": "2.13.0"},
}


def test_a_run_is_found_from_its_folder_its_groups_and_each_file(tmp_path):
    write_run(tmp_path / "out", RUN)
    (tmp_path / "out" / "groups").mkdir()
    file = tmp_path / "out" / "groups" / "0001-0001.jsonl"
    file.write_text("")
    for source in (tmp_path / "out", tmp_path / "out" / "groups", file, str(file)):
        assert read_run(source) == RUN
    assert read_run(tmp_path) is None
    assert [path.name for path in (tmp_path / "out").iterdir() if path.is_file()] == [RUN_FILE]


def test_a_torn_description_is_none(tmp_path):
    for text in ('{"rewards": ', "[1]", '{"name": "of another program"}', '{"rewards": "boxed()", "versions": ["1"]}'):
        (tmp_path / RUN_FILE).write_text(text)
        assert read_run(tmp_path) is None


def test_a_disk_that_cannot_be_written_is_said_and_no_error(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        write_run(tmp_path / "file", RUN)
    assert "The description of the run cannot be written to" in caplog.text


def test_the_facts_of_a_run_leave_out_what_is_not_known():
    assert list_facts(RUN) == {
        "Rewards": "boxed()", "Model": "org/model", "Dataset": "org/data main train, 1,234 rows",
        "Learning rate": "1e-06", "Seed": "0", "Versions": "trl 1.16.0, torch 2.13.0",
    }  # fmt: skip
    assert list_facts({}) == {} and list_facts(json.loads('{"dataset": null, "options": null}')) == {}


def test_what_differs_between_runs_is_listed_and_nothing_else():
    options = {"seed": 1, "beta": 0.0, "output_dir": "a", "scale_rewards": "group"}
    other = RUN | {"rewards": "answer()", "started": "later", "options": options | {"beta": 0.1, "output_dir": "b"}}
    assert list_differences([RUN | {"started": "now", "options": options}, other]) == [
        ("Rewards", ["boxed()", "answer()"]),
        ("beta", ["0.0", "0.1"]),
    ]
    assert list_differences([RUN, RUN]) == [] == list_differences([RUN])
    assert ("Model", ["org/model", "–"]) in list_differences([RUN, {}])


def test_a_description_of_any_shape_is_read_or_ignored(tmp_path):
    places = ["model", "dataset", "options", "job", "versions", "started", "modules", "is_expression"]
    for value, place in product([None, 5, -0.5, True, "many", [], [1], {}, {"a": {"b": [1]}}], places):
        (tmp_path / RUN_FILE).write_text(json.dumps({**RUN, place: value}))
        run = read_run(tmp_path)
        assert run is None or (list_facts(run) and list_differences([run, RUN]) is not None), (place, value)
        for part in ("dataset", "options", "job", "versions"):
            for name in RUN[part]:
                facts = list_facts({**RUN, part: {**RUN[part], name: value}})
                assert all(isinstance(text, str) for text in facts.values()), (part, name, value)


def test_a_description_that_is_nested_deeply_is_ignored(tmp_path):
    (tmp_path / RUN_FILE).write_text("[" * 100_000)
    assert read_run(tmp_path) is None


def test_a_description_that_json_cannot_hold_ends_no_run(tmp_path, caplog):
    write_run(tmp_path, {**RUN, "options": {(1, 2): 3}})
    assert "Training continues" in caplog.text and read_run(tmp_path) is None
