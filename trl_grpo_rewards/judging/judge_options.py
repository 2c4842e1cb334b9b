"""Options of the rewards that ask a judge: what they must be, and the settings that they give."""

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..options import Column, freeze
from . import grading_prompts
from .settings import Settings
from .shared_clients import check_client, check_reachable


SCALE = (0.0, 10.0)
"""The default scale of scores."""


def build_settings(options: Mapping[str, Any]) -> Settings:
    """Build the settings from the options with the same names."""
    return Settings(**{field.name: freeze(options[field.name], field.name) for field in fields(Settings)})


def check_judge(
    rubric: Any,
    scale: tuple[float, float],
    canaries: int = 0,
    separate: bool = False,
    dropout: float = 0.0,
    **options: Any,
) -> None:
    check_client()
    settings = build_settings(options)
    reserved = {"messages", "model", "stream", "response_format"} & {*(settings.request or ())}
    has_url = re.match("https?://.", settings.base_url or "http://_") is not None
    has_key_name = re.fullmatch(r"[A-Za-z_]\w{0,60}", settings.api_key_env) is not None
    for is_valid, given, remedy in (
        (settings.model.strip(), f"model={settings.model!r}", "Set it to the model's name on the server"),
        (has_url, f"base_url={settings.base_url!r}", "It must begin with http:// or https://"),
        # the value may be the key itself, so it must not be shown
        (has_key_name, "this api_key_env", "Set it to the name of the environment variable that holds the key"),
        (
            not reserved,
            f"request={settings.request!r}",
            f"Leave out {', '.join(sorted(reserved))}, which the judge sets",
        ),
        (canaries >= 0, f"canaries={canaries}", "Set it to a number of batches, or to 0"),
        (settings.cache != "", "cache=''", "Set it to a folder, or leave it out"),
        (
            is_rubric(rubric),
            f"rubric={rubric!r}",
            "Set it to a sentence, to {'name': ('What to look at?', weight)}, or to column('rubric')",
        ),
        (
            isinstance(rubric, Column) or not (separate or dropout),
            f"{'separate=True' if separate else f'dropout={dropout}'} with rubric={rubric!r}",
            "Leave it out, or set the rubric to column('rubric')",
        ),
        (
            not isinstance(rubric, Column) or scale == SCALE,
            f"scale={scale} with rubric={rubric!r}",
            "Leave it out, because a criterion is met or not",
        ),
        (0 <= dropout < 1, f"dropout={dropout}", "Set it to a share from 0 to less than 1"),
        (scale[0] < scale[1], f"scale={scale}", "Set it to the worst and the best score: scale=(0, 10)"),
        (settings.max_concurrency >= 1, f"max_concurrency={settings.max_concurrency}", "Set it to at least 1"),
        (settings.timeout > 0, f"timeout={settings.timeout}", "Set it to more than 0 seconds"),
        (settings.batch_timeout > 0, f"batch_timeout={settings.batch_timeout}", "Set it to more than 0 seconds"),
        (settings.retries >= 0, f"retries={settings.retries}", "Set it to at least 0"),
        (0 <= settings.max_failures <= 1, f"max_failures={settings.max_failures}", "Set it to a share from 0 to 1"),
    ):
        if not is_valid:
            raise ValueError(f"A judge cannot use {given}. {remedy}.")


def check_server(**options: Any) -> None:
    check_reachable(build_settings(options))


def is_rubric(rubric: Any) -> bool:
    """Return whether the rubric is a column, or a sentence, or has criteria that are all valid."""
    if isinstance(rubric, Column):
        return True
    if isinstance(rubric, str):
        return rubric.strip() != ""
    return len(rubric) > 0 and all(
        isinstance(name, str) and name.strip() and is_criterion(criterion) for name, criterion in rubric.items()
    )


def is_criterion(criterion: Any) -> bool:
    """Return whether a criterion is a sentence, a positive weight, or a tuple of both."""
    parts = grading_prompts.split_criterion(criterion)
    sentences = [part for part in parts if isinstance(part, str) and part.strip()]
    weights = [part for part in parts if isinstance(part, (int, float)) and not isinstance(part, bool) and part > 0]
    return 0 < len(parts) == len(sentences) + len(weights) and max(len(sentences), len(weights)) == 1


def list_columns(reference: bool, solution: str) -> set[str]:
    return {solution} if reference else set()
