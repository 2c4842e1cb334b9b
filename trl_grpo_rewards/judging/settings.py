"""Which model a judge asks, and how: the options of rewards that ask one, and what they must be."""

import importlib.util
import os
import re
import socket
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..options import Column, freeze, has_type, thaw
from .rubrics import split_criterion


MIN_SECRET = 8  # characters of a key that is a secret; servers without keys get placeholders, such as `1`


@dataclass(frozen=True)
class Settings:
    """The options of [`judge`] with the same names."""

    model: str
    base_url: str | None
    api_key_env: str
    request: Mapping[str, Any] | None
    max_concurrency: int
    timeout: float
    batch_timeout: float
    retries: int
    max_failures: float
    cache: str | None

    @property
    def request_fields(self) -> dict[str, Any]:
        """Fields of a request, except for the model, the message and the default limit. None removes a field."""
        fields = {"temperature": 0, **thaw(self.request or {})}
        return {name: value for name, value in fields.items() if value is not None}

    @property
    def server_url(self) -> str | None:
        return self.base_url or os.environ.get("OPENAI_BASE_URL")

    @property
    def key(self) -> str:
        """The API key, or `ValueError`: OpenAI's server needs one and none is set, or it cannot be sent."""
        key = os.environ.get(self.api_key_env, "").strip()
        if not key and not self.server_url:
            raise ValueError(
                f"The judge {self.model!r} needs a base_url or a key for OpenAI's server. It has no base_url, and "
                f"the environment has no {self.api_key_env}. Set {self.api_key_env}, or set base_url to your own server: "
                f"base_url='http://localhost:8000/v1'."
            )
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError(
                f"The key in {self.api_key_env} must consist of ASCII letters, digits and signs, without spaces. It has "
                f"other characters, which cannot be sent. Copy the key again."
            )
        return key or "none"  # the client requires a key even if the server does not

    def hide_key(self, text: str) -> str:
        """Return a text without the key, unless this is a placeholder, which may occur in any text."""
        if len(self.key) >= MIN_SECRET:
            return text.replace(self.key, "...")
        return text

    def hide_key_in_fields(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {name: self.hide_key(value) if isinstance(value, str) else value for name, value in fields.items()}


SCALE = (0.0, 10.0)  # by default
RUBRICS = "a sentence, to {'name': ('What to look at?', weight)}, or to column('rubric')"  # in the words of an error
CONNECT_SECONDS = 5.0  # time limit of the attempt to reach a server before training


def build_settings(options: Mapping[str, Any]) -> Settings:
    frozen = {field.name: freeze(options[field.name], field.name) for field in fields(Settings)}
    return Settings(**frozen)


def check_judge(rubric: Any, scale: tuple[float, float], separate: bool = False, **options: Any) -> None:
    if importlib.util.find_spec("openai") is None:
        raise ImportError(
            "A judge needs the openai client, which is not installed. "
            "Install it: pip install 'trl_grpo_rewards[judge]'."
        )
    settings = build_settings(options)
    url = settings.base_url or "http://_"
    is_column = isinstance(rubric, Column)
    by_rubric = f"with rubric={rubric!r}"
    reserved = sorted({"messages", "model", "stream", "response_format"} & {*(settings.request or ())})
    is_name = re.fullmatch(r"[A-Za-z_]\w{0,60}", settings.api_key_env)  # otherwise, it may be the key itself
    for is_valid, option, remedy in (
        (settings.model.strip(), f"model={settings.model!r}", "Set it to the model's name on the server"),
        (re.match("https?://.", url), f"base_url={url!r}", "It must begin with http:// or https://"),
        (is_name, "this api_key_env", "Set it to the name of the environment variable that holds the key"),
        (not reserved, f"request={settings.request!r}", f"Leave out {', '.join(reserved)}, which the judge sets"),
        (settings.cache != "", "cache=''", "Set it to a folder, or leave it out"),
        (is_column or is_rubric(rubric), f"rubric={rubric!r}", f"Set it to {RUBRICS}"),
        (
            is_column or not separate,
            f"separate=True {by_rubric}",
            "Leave it out, or set the rubric to column('rubric')",
        ),
        (not is_column or scale == SCALE, f"scale={scale} {by_rubric}", "Leave it out: a criterion is met or not"),
        (scale[0] < scale[1], f"scale={scale}", "Set it to the worst and the best score: scale=(0, 10)"),
    ):
        if not is_valid:
            raise ValueError(f"A judge cannot use {option}. {remedy}.")


def is_rubric(rubric: str | Mapping[Any, Any]) -> bool:
    if isinstance(rubric, str):
        return rubric.strip() != ""
    named = all(isinstance(name, str) and name.strip() for name in rubric)
    if not named:
        return False
    if len(rubric) <= 0:
        return False
    return all(map(is_criterion, rubric.values()))


def is_criterion(criterion: Any) -> bool:
    """Return whether a criterion is a sentence, a positive weight, or a tuple of both."""
    words, weights = split_criterion(criterion)
    are_positive = all(has_type(weight, float) and weight > 0 for weight in weights)
    are_valid = are_positive and all(word.strip() for word in words)
    if not are_valid:
        return False
    return max(len(words), len(weights)) == 1


def check_server(**options: Any) -> None:
    """Check that a judge has a key if it needs one, and that its server accepts connections. Nothing is asked."""
    settings = build_settings(options)
    url = settings.server_url
    if settings.key and url is None or urllib.request.getproxies():  # behind a proxy, connections say nothing
        return
    parts = urllib.parse.urlsplit(str(url))
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname, port), timeout=CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"The judge {settings.model!r} asks the server {url}, which cannot be reached: {error}. Start the server, or "
            f"correct base_url."
        ) from None


def list_columns(reference: bool, solution: str) -> set[str]:
    return {solution} if reference else set()
