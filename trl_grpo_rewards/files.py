"""Files of runs: those that are written whole, checkpoints that a run is resumed from, and versions. Loads no torch or TRL."""

import contextlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO, TextIO


# Files that `save_only_model` leaves out, and the patterns of all names under which transformers saves them.
CHECKPOINT_FILES = {"optimizer.pt": ("optimizer*", "rank*-optimizer.pt"), "scheduler.pt": ("scheduler.pt",)}
DEEPSPEED = "global_step*"  # the folder in which DeepSpeed saves the same

# Minor versions of TRL: the oldest one that is supported, and the newest one that this package was tested with
OLDEST_SUPPORTED = (1, 14)
NEWEST_TESTED = (1, 16)
INSTALL_TRL = "pip install 'trl>={}.{},<{}.{}'".format(*OLDEST_SUPPORTED, NEWEST_TESTED[0], NEWEST_TESTED[1] + 1)


def find_version(package: str) -> str:
    """Return the version of a package, or "unknown" if it is not installed, as a clone on PYTHONPATH."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def read_trl_version() -> tuple[int, ...]:
    """Return the numbers of TRL's version. There are none for a clone on PYTHONPATH."""
    return tuple(map(int, re.findall(r"\d+", find_version("trl"))[:3]))


def check_trl_version() -> None:
    """Raise an error if TRL is too old. Call this before TRL is imported, which fails with another error."""
    installed = read_trl_version()
    if installed and installed < OLDEST_SUPPORTED:
        oldest, newest = (".".join(map(str, version)) for version in (OLDEST_SUPPORTED, NEWEST_TESTED))
        raise ImportError(
            f"trl_grpo_rewards {find_version('trl_grpo_rewards')} works with trl {oldest} to {newest}, but trl "
            f"{find_version('trl')} is installed. Run {INSTALL_TRL}."
        )


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[TextIO]:
    """Open a new file for UTF-8. When it is complete, it takes the place of another file, or of a link, with this name."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with unfinished.open("x", encoding="utf-8", newline="\n") as file:
            yield file
        os.replace(unfinished, path)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename == str(unfinished):
            error.filename = str(path)
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise


def open_to_append(path: Path) -> BinaryIO:
    """Open a file at its end. Raises `OSError` if it is a link, where the system can tell."""
    no_follow = getattr(os, "O_NOFOLLOW", 0)
    return open(path, "ab", opener=lambda name, flags: os.open(name, flags | no_follow, 0o666))


def describe_fault(checkpoint: Path, has_deepspeed: bool = True) -> str | None:
    """Return what a checkpoint lacks to be resumed, or None. A killed run may leave the start of one."""
    missing = [name for name, patterns in CHECKPOINT_FILES.items() if not has_any(checkpoint, patterns)]
    reason = "which save_only_model leaves out"
    if has_any(checkpoint, [DEEPSPEED]):
        reason = "which only a run with DeepSpeed can do without"
        if has_deepspeed:
            missing = []
    if read_trainer_state(checkpoint) is None:
        missing = ["trainer_state.json"]
        reason = "which is written last"
    if not missing:
        return None
    return f"'{checkpoint}' is not a complete checkpoint: it has no {' and no '.join(missing)}, {reason}."


def has_any(folder: Path, patterns: Iterable[str]) -> bool:
    return any(any(folder.glob(pattern)) for pattern in patterns)


def is_complete(checkpoint: Path) -> bool:
    return describe_fault(checkpoint) is None


def list_checkpoints(output_dir: str | Path) -> list[Path]:
    return sorted(filter(is_complete, Path(output_dir).glob("checkpoint-*")))


def find_last_checkpoint(output_dir: str | Path, test: Callable[[Path], Any] = is_complete) -> str | None:
    """Return the newest checkpoint of a run that passes a test. By default, it is complete."""
    folders = Path(output_dir).glob("checkpoint-*")
    numbered = [folder for folder in folders if re.fullmatch(r"checkpoint-\d+", folder.name)]
    newest_first = sorted(numbered, key=number_step, reverse=True)
    return next((str(folder) for folder in newest_first if test(folder)), None)


def number_step(checkpoint: Path) -> int:
    return int(checkpoint.name.split("-")[1])


def choose_last_checkpoint(output_dir: str | Path) -> str | None:
    """Return the newest complete checkpoint of a run, else the newest one with a trainer state."""
    return find_last_checkpoint(output_dir) or find_last_checkpoint(output_dir, read_trainer_state)


def read_trainer_state(checkpoint: Path) -> dict[str, Any] | None:
    try:
        state = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return state if isinstance(state, dict) else None
