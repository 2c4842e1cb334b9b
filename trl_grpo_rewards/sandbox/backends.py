"""Finds the back end that an option names."""

import importlib
import re
import shutil
from collections.abc import Iterable

from .hf import HuggingFaceSandbox
from .local import get_local_sandbox
from .protocol import Sandbox


CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
"""A back end of the user, as `module:Class`."""


def is_backend(backend: str) -> bool:
    """Return whether an option can name a back end."""
    return backend in ("local", "hf") or bool(re.match(r"https?://.", backend) or CLASS.fullmatch(backend))


def open_sandbox(
    backend: str,
    python: str | None,
    retries: int,
    max_concurrency: int,
    modules: Iterable[str] = (),
    packages: Iterable[str] = (),
    language: str = "python",
) -> Sandbox:
    """Return a back end that runs programs in a language, or raise a `ValueError`. The caller closes it."""
    sandbox: Sandbox
    if backend == "local":
        sandbox = get_local_sandbox(python and shutil.which(python), modules, packages)
    elif backend == "hf":
        sandbox = HuggingFaceSandbox(max_concurrency)
    elif CLASS.fullmatch(backend):
        sandbox = open_own(backend)
    else:
        from .fusion import SandboxFusion  # which needs an HTTP client

        sandbox = SandboxFusion(backend, retries, max_concurrency)
    languages: frozenset[str] = getattr(sandbox, "languages", frozenset({"python"}))
    if language not in languages:
        raise ValueError(
            f"The back end {backend!r} must run programs in {language!r}; it runs {', '.join(sorted(languages))}. "
            f"Change language=, or use a back end that runs it, such as a Sandbox Fusion server "
            f"(backend='http://localhost:8080')."
        )
    return sandbox


def open_own(backend: str) -> Sandbox:
    """Return a back end of the user."""
    module, _, name = backend.partition(":")
    try:
        sandbox: Sandbox = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"The back end {backend!r} must be a class that can be imported: {error}. Put its module where Python finds "
            f"it, or correct its name."
        ) from None
    return sandbox
