"""What the settings of a job show to be impossible before torch is imported."""

import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from math import gcd
from typing import Any


PACKAGES = {  # what an option needs if it is true: the package, and its name on PyPI
    "use_vllm": ("vllm", "vllm"),
    "use_peft": ("peft", "peft"),
    "load_in_4bit": ("bitsandbytes", "bitsandbytes"),
    "load_in_8bit": ("bitsandbytes", "bitsandbytes"),
    "use_liger_kernel": ("liger_kernel", "liger-kernel"),
}
TRACKERS = (
    "clearml",
    "codecarbon",
    "comet_ml",
    "dvclive",
    "mlflow",
    "neptune",
    "swanlab",
    "tensorboard",
    "trackio",
    "wandb",
)
SUBSTITUTES = {"tensorboard": "tensorboardX"}  # packages that do as well
TRUE = ("true", "yes", "t", "y", "1")
MOST_SIZES = 8  # largest number of group sizes that an error lists


def check_packages(settings: Mapping[str, Any]) -> None:
    """Raise an error if an option needs a package that is not installed."""
    for option, package, name in list_packages(settings):
        if find_spec(package) is None and find_spec(SUBSTITUTES.get(package, package)) is None:
            raise ValueError(
                f"{option} needs the package {package}, which is not installed. Run pip install {name}, or leave the option out."
            )


def list_packages(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the options that need a package of their own, the package, and its name on PyPI."""
    for option, names in PACKAGES.items():
        if str(settings.get(option)).lower() in TRUE:
            yield f"--{option}", *names
    trackers = settings.get("report_to") or []
    for tracker in [trackers] if isinstance(trackers, str) else trackers:
        if tracker in TRACKERS:
            yield f"--report_to {tracker}", tracker, tracker.replace("_", "-")


def check_group_size(settings: Mapping[str, Any]) -> None:
    """Raise an error if the completions of a generation cannot be split into groups."""
    size = int(settings["num_generations"])
    rows = int(settings["per_device_train_batch_size"])
    parts = int(settings.get("steps_per_generation") or settings["gradient_accumulation_steps"])
    shared = parts * int(os.environ.get("WORLD_SIZE", "1"))
    completions = int(settings.get("generation_batch_size") or rows * shared)
    if completions % size == 0:
        return
    sizes = [str(divisor) for divisor in range(2, completions + 1) if completions % divisor == 0][:MOST_SIZES]
    step = size // gcd(size, shared)
    remedies = [f"--num_generations to {' or '.join(sizes)}"] if sizes else []
    if not settings.get("generation_batch_size"):
        remedies.append(f"--per_device_train_batch_size to {step * (rows // step + 1)}")
    raise ValueError(
        f"The {completions} completions of a generation cannot be split into groups of {size} (num_generations). "
        f"Set {', or '.join(remedies)}."
    )
