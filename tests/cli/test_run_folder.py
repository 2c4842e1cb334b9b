"""What keeps a run from being overwritten, and which checkpoints it is resumed from."""

import json
import re

import pytest

from trl_grpo_rewards.cli.job_files import check_output, choose_checkpoint


def test_only_auto_starts_anew_without_a_checkpoint(tmp_path):
    assert choose_checkpoint(tmp_path, None) is None and choose_checkpoint(tmp_path, "mine") == "mine"
    assert choose_checkpoint(tmp_path, "auto") is None and choose_checkpoint(tmp_path, "true") == "true"


@pytest.mark.parametrize("state", [None, "", '{"epoch": 0.5, "log_his'])
def test_a_checkpoint_that_is_not_complete_is_refused(tmp_path, state):
    for name, text in (("best", json.dumps({"global_step": 5})), ("1", state)):
        folder = tmp_path / f"checkpoint-{name}"
        folder.mkdir()
        for part in ("optimizer.pt", "scheduler.pt") if name == "best" else ():
            (folder / part).touch()
        if text is not None:
            (folder / "trainer_state.json").write_text(text)
    lacks = "is not a complete checkpoint: it has no trainer_state.json, which is written last. The complete checkpoints of "
    for resume in (str(tmp_path / "checkpoint-1"), "true"):
        said = f"'{resume}' {lacks}'{tmp_path}': {tmp_path / 'checkpoint-best'}. Pass --resume_from_checkpoint auto"
        with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
            check_output(tmp_path, resume)
