"""The checkpoints in the output directory of a run: which are complete, and whether a run may start there. Loads no torch."""

import json
import re
from pathlib import Path
from typing import Any


def choose_checkpoint(output_dir: str | Path, resume: str | None) -> str | None:
    """Return the checkpoint to continue from. `true` and `auto` mean the last one, without which only `auto` starts anew."""
    mode = str(resume).lower()
    if mode not in ("true", "auto"):
        return resume
    return find_last_checkpoint(output_dir) or ("true" if mode == "true" else None)


def check_output(output_dir: str | Path, resume: str | None) -> None:
    """
    Check that a run would not overwrite an earlier one, and that the checkpoint to continue from is complete.

    Raises:
        `ValueError`: there is an earlier run, or the checkpoint is not complete.
    """
    folder, checkpoint = Path(output_dir), choose_checkpoint(output_dir, resume)
    if resume is None and folder.is_dir() and any(folder.iterdir()):
        raise ValueError(
            f"The output directory {str(folder)!r} contains an earlier run, which a new run would overwrite. To "
            f"continue it, pass --resume_from_checkpoint auto, which starts anew if there is no checkpoint. Otherwise choose another "
            f"--output_dir, or remove the directory."
        )
    if checkpoint is not None and not is_complete(Path(checkpoint)):
        complete = [str(folder) for folder in list_checkpoints(output_dir)]
        has = f"the complete checkpoints {', '.join(complete)}" if complete else "no complete checkpoint"
        said = "" if checkpoint == "true" else f"{checkpoint!r} is not a complete checkpoint. "
        raise ValueError(
            f"{said}{str(folder)!r} contains {has}. {'Choose one of these, or pass' if complete else 'Pass'} "
            f"--resume_from_checkpoint auto, which {'continues from the last one' if complete else 'starts anew'}."
        )


def describe_finished(checkpoint: str | None, max_steps: int, epochs: float) -> str | None:
    """Return a sentence if a checkpoint has all steps of a run, or all epochs without `max_steps`. None if it has not."""
    state = read_state(Path(checkpoint)) if checkpoint else None
    if not state:
        return None
    step = state.get("global_step") or 0
    if step < max_steps if max_steps > 0 else (state.get("epoch") or 0) < epochs:
        return None
    goal = f"--max_steps above {step}" if max_steps > 0 else f"--num_train_epochs above {epochs:g}"
    return f"The run is finished at step {step}; its last checkpoint is {checkpoint}. To go on, raise {goal}."


def find_last_checkpoint(output_dir: str | Path) -> str | None:
    """Return the newest complete checkpoint of a run."""
    numbered = [one for one in list_checkpoints(output_dir) if re.fullmatch(r"checkpoint-\d+", one.name)]
    return str(max(numbered, key=lambda folder: int(folder.name.split("-")[1]))) if numbered else None


def list_checkpoints(output_dir: str | Path) -> list[Path]:
    """Return the complete checkpoints of a run."""
    return sorted(filter(is_complete, Path(output_dir).glob("checkpoint-*")))


def is_complete(checkpoint: Path) -> bool:
    """Whether a checkpoint has its trainer state, which is written last. A killed run may leave the start of it."""
    return read_state(checkpoint) is not None


def read_state(checkpoint: Path) -> dict[str, Any] | None:
    """Return the trainer state of a checkpoint, or None if it cannot be read."""
    try:
        state = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return state if isinstance(state, dict) else None
