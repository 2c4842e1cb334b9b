"""The table of groups in trackers. A small module takes the place of a tracker that is not installed."""

import sys
from types import ModuleType

import pytest

from helpers.runs import train_and_read
from trl_grpo_rewards import boxed, tags
from trl_grpo_rewards.training.group_table import MAX_GROUPS, GroupTable, show_completion


class Tracker(ModuleType):
    """The two names of wandb and trackio that tables need."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.run, self.logged = object(), []

    def Table(self, dataframe):
        return dataframe

    def log(self, values):
        self.logged.append(values)


@pytest.fixture
def trackers(monkeypatch):
    found = {name: Tracker(name) for name in ("wandb", "trackio")}
    for name, tracker in found.items():
        monkeypatch.setitem(sys.modules, name, tracker)
    return found


def reports_to(trackers, monkeypatch):
    """Lets a run report to the trackers for its table only: the callbacks of transformers need the real ones."""
    real = GroupTable.__init__

    def init(self, args):
        real(self, args)
        self.trackers = [*trackers]

    monkeypatch.setattr(GroupTable, "__init__", init)


def test_each_log_has_a_table_with_a_row_for_each_completion(config, problems, trackers, monkeypatch):
    reports_to(trackers, monkeypatch)
    size, prompts = 4, 6
    _, lines = train_and_read(
        config, problems, boxed() + tags("think"), max_steps=2, per_device_train_batch_size=size * prompts
    )
    assert trackers["wandb"].logged[0].keys() == {"groups"} and len(trackers["trackio"].logged) == 2
    for step, values in enumerate(trackers["wandb"].logged, start=1):
        table = values["groups"]
        assert [*table.columns] == [
            "step", "group", "outcome", "prompt", "completion", "boxed", "tags", "total", "advantage", "tokens"
        ]  # fmt: skip
        wanted = [line for line in lines if line["step"] == step][:MAX_GROUPS]
        assert [*table["total"]] == [total for line in wanted for total in line["total"]]
        assert [*table["completion"]] == [one[0]["content"] for line in wanted for one in line["completions"]]
        assert len(table) == MAX_GROUPS * size and len(wanted) < prompts


def test_a_run_of_wandb_that_has_not_begun_gets_no_table(config, problems, trackers, monkeypatch):
    reports_to(trackers, monkeypatch)
    trackers["wandb"].run = None
    train_and_read(config, problems, boxed(), max_steps=1)
    assert trackers["wandb"].logged == [] and len(trackers["trackio"].logged) == 1


def test_weights_and_biases_takes_the_table(config, problems, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    train_and_read(config, problems, boxed(), max_steps=2, report_to=["wandb"], run_name="table")
    wandb.finish()
    tables = [*tmp_path.glob("wandb/offline-*/files/media/table/*.table.json")]
    assert len(tables) == 2 and all(file.name.startswith("groups_") for file in tables)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"report_to": ["wandb", "tensorboard"]}, ["wandb"]),
        ({"report_to": ["trackio", "wandb"]}, ["wandb", "trackio"]),
        ({"report_to": "none"}, []),
        ({"report_to": ["wandb"], "log_completions": True}, []),  # TRL logs a table
        ({"report_to": ["wandb"], "group_records_text": False}, []),
        ({"report_to": ["wandb"], "group_records": False}, []),
    ],
)
def test_where_there_is_a_table(config, options, expected):
    assert GroupTable(config(**options)).trackers == expected


def test_all_turns_of_a_completion_are_shown():
    assert show_completion([{"role": "assistant", "content": "4"}]) == "4" == show_completion("4")
    turns = [{"role": "assistant", "tool_calls": [{"name": "add"}]}, {"role": "tool", "content": "é"}]
    assert '"add"' in show_completion(turns) and "é" in show_completion(turns)
