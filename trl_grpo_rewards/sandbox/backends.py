"""Finds the back end that an option names."""

import importlib
import re
import shutil
from collections.abc import Iterable

from .local import get_local_sandbox
from .protocol import Sandbox


CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
"""A back end of the user, as `module:Class`."""


def is_backend(backend: str) -> bool:
    """Return whether an option can name a back end."""
    return (
        backend in ("local", "hf")
        or re.match(r"https?://.", backend) is not None
        or CLASS.fullmatch(backend) is not None
    )


def open_sandbox(
    backend: str,
    python: str | None,
    retries: int,
    max_concurrency: int,
    modules: Iterable[str] = (),
    packages: Iterable[str] = (),
    language: str = "python",
) -> Sandbox:
    """
    Return a back end that runs programs in a language. The caller closes it.

    Args:
        backend (`str`):
            `"local"`, `"hf"`, the URL of a Sandbox Fusion server, or `"module:Class"`.
        python (`str`, *optional*):
            Interpreter for the local back end.
        retries (`int`):
            How often a server is asked again.
        max_concurrency (`int`):
            Maximum number of concurrent requests to a server.
        modules (`list[str]`, *optional*):
            Modules of this package that a worker of the local back end imports before any run.
        packages (`list[str]`, *optional*):
            Installed packages that programs can import in the local back end.
        language (`str`, *optional*, defaults to `"python"`):
            Language of the programs.

    Raises:
        `ValueError`: the back end does not exist, or it does not run the language.
    """
    sandbox = find_sandbox(backend, python, retries, max_concurrency, modules, packages)
    languages: frozenset[str] = getattr(sandbox, "languages", frozenset({"python"}))
    if language not in languages:
        raise ValueError(
            f"The back end {backend!r} must run programs in {language!r}; it runs {', '.join(sorted(languages))}. "
            f"Change language=, or use a back end that runs it, such as a Sandbox Fusion server "
            f"(backend='http://localhost:8080')."
        )
    return sandbox


def find_sandbox(
    backend: str,
    python: str | None,
    retries: int,
    max_concurrency: int,
    modules: Iterable[str],
    packages: Iterable[str],
) -> Sandbox:
    if backend == "local":
        return get_local_sandbox(python and shutil.which(python), modules, packages)
    if backend == "hf":
        from .hf import HuggingFaceSandbox

        return HuggingFaceSandbox(max_concurrency)
    if not CLASS.fullmatch(backend):
        from .fusion import SandboxFusion

        return SandboxFusion(backend, retries, max_concurrency)
    module, _, name = backend.partition(":")
    try:
        sandbox: Sandbox = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"The back end {backend!r} must be a class that can be imported: {error}. Put its module where Python finds "
            f"it, or correct its name."
        ) from None
    return sandbox
