"""A run without its groups: its description, its log and what that says about tokens, and logs of TRL's own trainer."""

import json
import os
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.made_runs import story, written
from helpers.reward_functions import half_dead
from helpers.trl_logs import entry as log_entry
from helpers.trl_logs import evaluation, saved
from trl_grpo_rewards import FilteredGRPOTrainer, demo
from trl_grpo_rewards.records.costs import describe_savings, sum_tokens
from trl_grpo_rewards.records.runs import (
    LOG_FILE,
    RUN_FILE,
    LogWriter,
    find_run,
    find_weights,
    list_differences,
    list_facts,
    list_log_files,
    list_seeds,
    read_log,
    read_run,
    write_run,
)


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
    file = tmp_path / "out" / "groups" / "0001-0001.jsonl"
    file.parent.mkdir()
    file.touch()
    for source in (tmp_path / "out", tmp_path / "out" / "groups", file, str(file)):
        assert read_run(source) == RUN
    assert read_run(tmp_path) is None
    assert [path.name for path in (tmp_path / "out").iterdir() if path.is_file()] == [RUN_FILE]


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


def test_runs_that_differ_only_in_their_seed_belong_together():
    def run(seed, **options):
        return RUN | {"started": str(seed), "options": {"seed": seed, "output_dir": f"runs/{seed}", **options}}

    assert list_seeds([run(0), run(1, beta=0.1), run(1), run(2, beta=0.1), run(2), run(3, beta=0.1)]) == [
        [0, 2, 4],
        [1, 3, 5],
    ]
    assert list_seeds([run(0), run(0, data_seed=1), run(0, data_seed=2)]) == [[0, 1, 2]]
    assert list_seeds([run(0), run(1), run(1), RUN | {"model": "another"}]) == []
    assert list_seeds([{}, {}, {}]) == []


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


def test_what_is_no_description_is_none(tmp_path):
    file = tmp_path / RUN_FILE
    another = '{"name": "of another program"}'
    for text in ('{"rewards": ', "[1]", another, '{"rewards": "boxed()", "versions": ["1"]}', "[" * 100_000):
        file.write_text(text)
        assert read_run(tmp_path) is None
    file.unlink()
    os.mkfifo(file)
    assert read_run(tmp_path) is None
    file.unlink()
    file.symlink_to("/dev/zero")
    assert read_run(tmp_path) is None


def test_what_cannot_be_written_is_said_once_and_ends_no_run(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    write_run(tmp_path / "file", RUN)
    writer = LogWriter(tmp_path / "file" / "out")
    writer.start([])
    writer.write({"step": 1})
    assert caplog.text.count("The description of the run cannot be written to") == 1
    assert caplog.text.count("The log of the run cannot be written to") == 1
    write_run(tmp_path, {**RUN, "options": {(1, 2): 3}})
    assert caplog.text.count("Training continues") == 3 and read_run(tmp_path) is None
    writer = LogWriter(tmp_path)
    writer.start([{"step": 1}])
    writer.write({"step": 2, (1, 2): 3})
    writer.write({"step": 3})
    with (tmp_path / LOG_FILE).open("a") as file:
        file.write("[" * 100_000 + "\n")
    assert read_log(tmp_path) == [{"step": 1}, {"step": 3}] and caplog.text.count("Training continues") == 4


def test_entries_are_read_as_they_are_written(tmp_path):
    writer = LogWriter(tmp_path / "out")
    writer.start([{"step": 0, "eval_reward": 0.5}])
    assert read_log(tmp_path / "out") == [{"step": 0, "eval_reward": 0.5}]
    writer.write({"step": 5, "entropy": float("nan"), "odd": object})
    (tmp_path / "out" / "groups").mkdir()
    assert [entry["step"] for entry in read_log(tmp_path / "out" / "groups")] == [0, 5]


def test_a_run_that_starts_again_replaces_the_log(tmp_path):
    first = LogWriter(tmp_path)
    first.start([])
    for step in (5, 10, 15):
        first.write({"step": step})
    resumed = LogWriter(tmp_path)
    resumed.start([{"step": 5}, {"step": 10}])
    resumed.write({"step": 12})
    assert [entry["step"] for entry in read_log(tmp_path)] == [5, 10, 12]
    assert [file.name for file in tmp_path.iterdir()] == [LOG_FILE]


def test_odd_and_torn_lines_are_left_out_and_a_torn_one_is_written_over(tmp_path):
    writer = LogWriter(tmp_path)
    writer.start([{"step": 1}])
    with (tmp_path / LOG_FILE).open("a") as file:
        file.write('{"step": 2, "entr')
    assert read_log(tmp_path) == [{"step": 1}]
    writer.write({"step": 3})
    assert read_log(tmp_path) == [{"step": 1}, {"step": 3}]
    (tmp_path / LOG_FILE).write_text('[1]\n"step"\n{"reward": 1}\n{"step": "x"}\n{"step": -1}\n{"step": 4}\n\n')
    assert read_log(tmp_path) == [{"step": 4}]
    (tmp_path / LOG_FILE).write_bytes(b"\xff\xfe{")
    assert read_log(tmp_path) == []


def test_a_run_of_an_earlier_version_has_the_log_of_its_last_checkpoint(tmp_path):
    for step in (9, 10):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "trainer_state.json").write_text(json.dumps({"log_history": [{"step": step}]}))
    (tmp_path / "checkpoint-best").mkdir()
    (tmp_path / "checkpoint-best" / "trainer_state.json").write_text("[]")
    assert read_log(tmp_path) == [{"step": 10}]
    (tmp_path / "trainer_state.json").write_text('{"log_history": [{"step": 11}]}')
    assert read_log(tmp_path) == [{"step": 11}]
    (tmp_path / "trainer_state.json").write_text('{"log_history": 3}')
    assert read_log(tmp_path) == [{"step": 10}]
    assert list_log_files(tmp_path / "nowhere") == [] == read_log(tmp_path / "nowhere")


def entry(step, **tokens):
    return {"step": step, **{f"groups/tokens_{name}": value for name, value in tokens.items()}}


def test_shares_are_of_the_tokens_of_trl_in_all_passes():
    passes = {"needed_without_gradient": 20, "computed_without_gradient": 25, "padded_without_gradient": 100}
    log = [entry(1, needed=20, computed=25, padded=100, skipped=50, **passes, skipped_without_gradient=50)]
    assert sum_tokens(log) == pytest.approx([0.2, 0.25, 0.5])
    for is_once, needed in ((True, "needed, each prompt once"), (False, "needed")):
        assert describe_savings(log, is_once) == (
            f"The passes over the model computed 25% of the tokens of TRL's batches; 20% were {needed}. Skipping dead groups "
            "saved 50%, and packing 25%."
        )
    assert "once" in list_facts({"version": 2}, log)["Tokens"] and "once" not in list_facts({}, log)["Tokens"]


def test_an_entry_stands_for_all_steps_since_the_previous_one():
    log = [entry(1, needed=50, computed=100, padded=100, skipped=0), {"step": 2, "loss": 1.0}]
    log.append(entry(10, needed=50, computed=50, padded=100, skipped=0))
    assert sum_tokens(log)[1] == pytest.approx((1 + 9 * 0.5) / 10)


numbers = st.none() | st.text(max_size=2) | st.floats(allow_nan=True) | st.integers(-5, 10**6)


@given(
    st.lists(st.builds(entry, st.integers(0, 100), needed=numbers, computed=numbers, padded=numbers, skipped=numbers))
)
def test_a_log_of_any_shape_is_read(log):
    found = describe_savings(log, True)
    assert not found or found.startswith("The passes")
    assert sum_tokens([{"step": 1}]) == [] and describe_savings([], True) == ""


def test_a_run_says_what_it_saved(config, problems):
    args = config(max_steps=4, gradient_accumulation_steps=2, num_iterations=2)
    trainer = FilteredGRPOTrainer(demo.MODEL, half_dead, args=args, train_dataset=problems)
    trainer.train()
    log = read_log(args.output_dir)
    needed, computed, skipped = found = sum_tokens(log)
    assert found == sum_tokens(trainer.state.log_history)
    assert 0 < needed <= computed < 1 and skipped > 0 and computed + skipped < 1
    assert list_facts(trainer.run, log)["Tokens"] == describe_savings(log, True)


@pytest.mark.parametrize(
    ("change", "weights"),
    [
        ({}, {"correct": 1.0, "style": 0.5}),
        ({"weight": 1.0}, {"correct": 1.0, "style": 1.0}),
        ({"weight": 0.0}, {"correct": 1.0, "style": 0.0}),
        ({"style": 0.0}, {"correct": 1.0, "style": 1.0}),  # any weight would do
        ({"right": 0.0}, {"correct": 1.0, "style": 0.5}),
        ({"right": 0.0, "style": 0.0}, {"correct": 1.0, "style": 1.0}),
        ({"right": 0.5}, {}),  # as many weights as entries would do
        ({"reward": 1.0}, {}),
        ({"rewards/style/mean": None}, {}),
    ],
)  # fmt: skip
def test_weights_are_known_if_nothing_else_gives_the_totals(change, weights):
    log = [log_entry(step, **{"right": step % 3 / 4, "style": step % 2 / 2, **change}) for step in range(1, 9)]
    log = log if change != {"right": 0.5} else log[:1]
    assert find_weights([evaluation(0, 0.5), *log]) == weights


def test_a_run_is_read_from_its_records_if_it_has_any(tmp_path):
    written(tmp_path / "a", story(steps=1))
    state = saved(tmp_path / "a" / "checkpoint-1", [log_entry(1)]) / "trainer_state.json"
    assert [find_run(source) for source in (state, state.parent, tmp_path / "a" / "groups")] == [
        tmp_path / "a", tmp_path / "a", tmp_path / "a" / "groups"
    ]  # fmt: skip
    other = saved(tmp_path / "b" / "checkpoint-1", [log_entry(1)])
    assert find_run(other) == other and find_run(tmp_path / "b") == tmp_path / "b"
