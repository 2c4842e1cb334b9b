"""Which values the options of a job can have, as far as their names and their source say it. Loads no torch or TRL."""

import contextlib
import math
import re
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from .declared_options import DeclaredOption, read_keys, read_members


class Range(NamedTuple):
    """The numbers that an option can have."""

    low: float
    high: float = math.inf
    is_above: bool = False

    def __contains__(self, value: object) -> bool:
        return (
            isinstance(value, float) and self.low <= value <= self.high and not (self.is_above and value == self.low)
        )

    def __str__(self) -> str:
        if self.high < math.inf:
            return f"from {self.low:g} to {self.high:g}"
        return f"{'above' if self.is_above else 'at least'} {self.low:g}"


RANGES = {
    **dict.fromkeys(
        (
            "per_device_train_batch_size",
            "per_device_eval_batch_size",
            "gradient_accumulation_steps",
            "generation_batch_size",
            "steps_per_generation",
            "num_generations_eval",
            "num_iterations",
            "max_completion_length",
        ),
        Range(1),
    ),
    "num_generations": Range(2),  # a group of one has no advantage
    **dict.fromkeys(("beta", "learning_rate", "eval_prompts", "max_resample_rounds"), Range(0)),
    "temperature": Range(0, is_above=True),
    "bad_golds": Range(0, 1),
}
"""The numbers without which no job can work. TRL finds most of the others only when the model is loaded."""

KEYS = {
    "report_to": ("transformers.integrations.integration_utils", "INTEGRATION_TO_CALLBACK", ("all", "none")),
    "attn_implementation": ("transformers.modeling_utils", "_global_mapping", ("eager",)),
}
"""Options whose values are the keys of a dict: its module and name, and the other values. A path with a slash is on the hub."""

LEAST_SIMILARITY = 0.6
"""Smallest similarity of a wrong value to the start of one that is suggested for it. It is the default of `difflib`."""

TRUTHS = ("true", "false", "yes", "no", "t", "f", "y", "n", "1", "0")
"""The values of a switch that the parser of transformers accepts."""


def check_values(settings: Mapping[str, Any], options: Iterable[DeclaredOption]) -> None:
    """Check the values that are set on the command line or in the recipe."""
    for option in options:
        value = settings.get(option.name)
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                check_value(option, one)


def check_value(option: DeclaredOption, value: Any) -> None:
    name, number = option.name, re.match(r"(?:list\[)?(int|float)\]?( \| None)?$", option.annotation)
    if number:
        check_number(option, value, is_whole=number[1] == "int")
    elif option.is_switch and str(value).lower() not in TRUTHS:
        raise ValueError(f"--{name} must be true or false; got {value!r}. Write --{name} true.")
    elif (
        (values := list_possible_values(option))
        and str(value).removeprefix("paged|") not in values
        and "/" not in str(value)
    ):
        if close := suggest_values(str(value), values):
            raise ValueError(f"Did you mean --{name} {' or '.join(close)}? --{name} cannot be {value!r}.")
        raise ValueError(f"--{name} must be one of {', '.join(values)}; got {value!r}. Choose one of these.")


def check_number(option: DeclaredOption, value: Any, *, is_whole: bool) -> None:
    name, number = option.name, parse_number_option(value, is_whole)
    remedy = f"Write, for example, --{name} {1 if option.default in (None, -1) else option.default}."
    if number is None:
        raise ValueError(f"--{name} must be a {'whole ' * is_whole}number; got {value!r}. {remedy}")
    if name in RANGES and number not in RANGES[name]:
        raise ValueError(f"--{name} must be {RANGES[name]}; got {value}. {remedy}")
    if name == "max_steps" and number < 1 and number != option.default:
        raise ValueError(
            f"--max_steps must be at least 1; got {value}. To train for --num_train_epochs, leave it out."
        )


def list_possible_values(option: DeclaredOption, **_: Any) -> list[str]:
    """Return the values that an option can have, or nothing if any text may be right. argcomplete passes more arguments."""
    if option.choices:
        return [*map(str, option.choices)]
    if named := re.search("Supported values are (.*?)\\.", str(option.metadata.get("help"))):
        return re.findall(r"'(\w+)'", named[1])
    with contextlib.suppress(LookupError):
        if enumeration := re.match(r"(\w+) \| str$", option.annotation):
            return read_members(option.module, enumeration[1])
        if option.name in KEYS:
            module, name, others = KEYS[option.name]
            return [*others, *read_keys(module, name)]
    return []


def suggest_values(text: str, values: Iterable[str]) -> list[str]:
    """Return up to three values that begin most like a text, if any is similar to it."""
    similarities = {value: SequenceMatcher(None, text, value[: len(text)]).ratio() for value in values}
    best = max(similarities.values())
    return [value for value, one in similarities.items() if one == best][:3] if best >= LEAST_SIMILARITY else []


def parse_number_option(value: Any, is_whole: bool) -> float | None:
    """Return a number of the command line, where it is text, or of a recipe. None if it is not a number."""
    try:
        number = float(value)
        return None if is_whole and (number % 1 or (isinstance(value, str) and not int(value) == number)) else number
    except (TypeError, ValueError):
        return None
