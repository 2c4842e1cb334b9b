"""Whether a run may start in its output directory, and which checkpoint it continues from. Loads no torch."""

from pathlib import Path

from ..checkpoints import choose_last_checkpoint, describe_fault, list_checkpoints, read_state


FROM_WEIGHTS = "start a new run from its weights, in another --output_dir."
"""What to do with a checkpoint that is not complete. To start anew in its folder would overwrite it."""


def choose_checkpoint(output_dir: str | Path, resume: str | None) -> str | None:
    """Return the checkpoint to continue from. `true` and `auto` mean the last one, without which only `auto` starts anew."""
    mode = str(resume).lower()
    if mode not in ("true", "auto"):
        return resume
    return choose_last_checkpoint(output_dir) or ("true" if mode == "true" else None)


def check_output(output_dir: str | Path, resume: str | None) -> None:
    """Check that a run would overwrite no earlier one, and that the checkpoint to continue from is complete."""
    folder, checkpoint = Path(output_dir), choose_checkpoint(output_dir, resume)
    if resume is None and folder.is_dir() and any(folder.iterdir()):
        raise ValueError(
            f"The output directory {str(folder)!r} contains an earlier run, which a new run would overwrite. To "
            f"continue it, pass --resume_from_checkpoint auto, which starts anew if there is no checkpoint. Otherwise choose another "
            f"--output_dir, or remove the directory."
        )
    fault = describe_fault(Path(checkpoint)) if checkpoint is not None else None
    if fault:
        complete = [str(folder) for folder in list_checkpoints(output_dir)]
        has = f"the complete checkpoints {', '.join(complete)}" if complete else "no complete checkpoint"
        said = "" if checkpoint == "true" else f"{fault} "
        remedy = f"{'Choose one of these, or pass' if complete else 'Pass'} --resume_from_checkpoint auto, which "
        remedy += f"{'continues from the last one' if complete else 'starts anew'}."
        if not complete and choose_last_checkpoint(output_dir):
            remedy = FROM_WEIGHTS.capitalize()
        raise ValueError(f"{said}{str(folder)!r} contains {has}. {remedy}")


def describe_finished(checkpoint: str | None, max_steps: int, epochs: float) -> str | None:
    """Return a sentence if a checkpoint has all steps of a run, or all epochs without `max_steps`. None if it has not."""
    state = read_state(Path(checkpoint)) if checkpoint else None
    if not checkpoint or not state:
        return None
    step = state.get("global_step") or 0
    if step < max_steps if max_steps > 0 else (state.get("epoch") or 0) < epochs:
        return None
    goal = f"raise --max_steps above {step}." if max_steps > 0 else f"raise --num_train_epochs above {epochs:g}."
    goal = FROM_WEIGHTS if describe_fault(Path(checkpoint)) else goal
    return f"The run is finished at step {step}; its last checkpoint is {checkpoint}. To go on, {goal}"
