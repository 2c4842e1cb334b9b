"""Back ends by name."""

import sys

import pytest

from trl_grpo_rewards.sandbox.backends import is_backend, open_sandbox
from trl_grpo_rewards.sandbox.fusion import SandboxFusion
from trl_grpo_rewards.sandbox.local import get_local_sandbox


class Own:
    """A back end of a user."""


def find(backend, python=None):
    return open_sandbox(backend, python, retries=1, max_concurrency=2)


def test_names():
    names = {"local": True, "http://x": True, "https://x:1/y": True, "a:B": True, "a.b_c:D": True}
    names |= {
        "": False,
        "docker": False,
        "http://": False,
        "a.b": False,
        "a:b:c": False,
        "a b:C": False,
        "LOCAL": False,
    }
    assert {name: is_backend(name) for name in names} == names


def test_the_local_back_end_is_shared():
    assert find("local") is find("local") is get_local_sandbox()
    assert find("local", sys.executable) is get_local_sandbox()


def test_a_server_and_an_own_back_end_are_opened_anew():
    server = find("http://localhost:1/")
    assert isinstance(server, SandboxFusion) and (server.url, server.retries) == ("http://localhost:1", 1)
    assert isinstance(find(f"{__name__}:Own"), Own)
    for missing in (f"{__name__}:None_", "no_such_module:Own"):
        with pytest.raises(ValueError, match="must be a class that can be imported"):
            find(missing)
