"""Which model a judge asks, and how."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..options import thaw


MIN_SECRET = 8
"""Minimum length of a key that is a secret, in characters. Servers without keys get placeholders, such as `1`."""


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
    def endpoint(self) -> tuple[str | None, str]:
        """The server and its model."""
        return self.server_url, self.model

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

    def hide_key_in_texts(self, value: Any) -> Any:
        """Return a JSON value without the key in its texts. A short key is a placeholder, and may occur in any reply."""
        if isinstance(value, str):
            return self.hide_key(value) if len(self.key) >= MIN_SECRET else value
        if isinstance(value, list):
            return [self.hide_key_in_texts(item) for item in value]
        return (
            {name: self.hide_key_in_texts(item) for name, item in value.items()} if isinstance(value, dict) else value
        )

    def hide_key(self, text: str) -> str:
        return text.replace(self.key, "...") if os.environ.get(self.api_key_env, "").strip() else text
