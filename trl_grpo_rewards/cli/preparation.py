"""What a run needs of its machine, before anything large loads: a folder, packages and cores."""

import contextlib
import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

import torch
from transformers.integrations import get_available_reporting_integrations
from trl import ModelConfig

from ..cores import count_cores
from ..training.config import FilteredGRPOConfig


FLASH_ATTENTION = {
    "flash_attention_2": ("flash_attn", "flash_attn"),
    "flash_attention_3": ("flash_attn_interface", "flash_attn_3"),
    "flash_attention_4": ("flash_attn", "flash_attn_4"),
}
"""The module and the package of each version of FlashAttention."""


def check_writable(folder: Path) -> None:
    """Check that files can be written to a folder, or to the folder that would be created."""
    created = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ValueError(
            f"The output directory '{folder}' cannot be written: {'it is a file' if folder.is_file() else error.strerror}. "
            f"Choose another --output_dir."
        ) from None
    finally:
        with contextlib.suppress(OSError):
            for one in created:
                one.rmdir()


def check_packages(training: FilteredGRPOConfig, model: ModelConfig) -> None:
    """Check that the packages and keys that options need are there."""
    needed = {
        "use_peft": (model.use_peft, "peft"),
        "load_in_4bit": (model.load_in_4bit, "bitsandbytes"),
        "load_in_8bit": (model.load_in_8bit, "bitsandbytes"),
        "use_vllm": (training.use_vllm, "vllm"),
        "use_liger_kernel": (training.use_liger_kernel, "liger_kernel"),
    }
    missing = {option: package for option, (is_set, package) in needed.items() if is_set and not find_spec(package)}
    module, package = FLASH_ATTENTION.get(str(model.attn_implementation), ("kernels", ""))
    if not find_spec(module) and not find_spec("kernels") and package:  # kernels brings its own
        missing[f"attn_implementation {model.attn_implementation}"] = package
    trackers = {*training.report_to} - {*get_available_reporting_integrations()}
    missing |= {f"report_to {tracker}": tracker for tracker in trackers}
    for option, package in missing.items():
        raise ImportError(
            f"--{option} needs the package {package}, which is not installed. Install it with pip install "
            f"{package.replace('_', '-')}, or leave out the option."
        )
    if "wandb" in training.report_to and training.process_index == 0 and not has_wandb_key():
        raise ValueError(
            "--report_to wandb needs a key, and none is configured. Run wandb login, set WANDB_API_KEY, or set "
            "WANDB_MODE=offline to keep the run on this machine."
        )


def has_wandb_key() -> bool:
    """Whether wandb can log in, or need not."""
    import wandb

    return wandb.setup().settings.mode not in ("online", "run") or bool(wandb.login(prompt=False, verify=False))


def use_all_cores(training: FilteredGRPOConfig) -> None:
    """Share the cores among the processes of this machine. Launchers leave one core to each process on a CPU."""
    is_launched = "ACCELERATE_MIXED_PRECISION" in os.environ or "TORCHELASTIC_RUN_ID" in os.environ
    if training.device.type == "cpu" and is_launched and torch.get_num_threads() == 1:
        torch.set_num_threads(max(1, count_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))
