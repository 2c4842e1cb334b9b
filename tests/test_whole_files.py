"""Files in folders that others may write to."""

import pytest

from trl_grpo_rewards.judging.shared_clients import VerdictCache
from trl_grpo_rewards.records.files import GroupWriter
from trl_grpo_rewards.records.logs import LogWriter
from trl_grpo_rewards.records.runs import write_run
from trl_grpo_rewards.report import write_report
from trl_grpo_rewards.whole_files import replace_file


RECORD = {"prompt_id": "x", "rewards": {"boxed": [1.0, 0.0]}, "columns": {}}


def write_all(folder):
    """Write every file of a run, its report and a verdict, as often as a run does."""
    log, groups = LogWriter(folder), GroupWriter(folder)
    log.start([{"step": 1}])
    log.write({"step": 2})
    groups.write(1, [RECORD])
    write_run(folder, {"rewards": "boxed()"})
    VerdictCache(str(folder / "cache")).write("abcdef", {"score": 1})
    if any(file.is_file() for file in folder.glob("groups/*.jsonl")):
        write_report(folder, folder / "report.html")


@pytest.mark.parametrize("is_there", [True, False])
def test_nothing_is_written_through_a_link(tmp_path, is_there, caplog):
    (sample := tmp_path / "sample").mkdir()
    write_all(sample)
    names = [file.relative_to(sample) for file in sample.rglob("*") if file.is_file()]
    assert len(names) == 5
    for name in names:
        folder, victim = tmp_path / f"run of {name.name}", tmp_path / f"victim of {name.name}"
        if is_there:
            victim.write_text("mine")
        (folder / name).parent.mkdir(parents=True)
        (folder / name).symlink_to(victim)
        write_all(folder)
        assert victim.read_text() == "mine" if is_there else not victim.exists()
        if name.parent.name == "groups":  # it is not replaced, since others may have written to it
            assert (folder / name).is_symlink() and (is_there or "cannot be written" in caplog.text)
        else:
            assert (folder / name).read_text() == (sample / name).read_text() or name.name == "report.html"


def test_a_file_that_is_not_finished_leaves_the_old_one(tmp_path):
    (file := tmp_path / "page.html").write_text("old")
    with pytest.raises(KeyboardInterrupt), replace_file(file) as new:
        new.write("half of")
        raise KeyboardInterrupt
    assert [one.read_text() for one in tmp_path.iterdir()] == ["old"]
