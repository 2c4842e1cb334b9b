"""Back ends by name, and the languages that they run."""

import re
import sys

import pytest

from trl_grpo_rewards import code
from trl_grpo_rewards.sandbox.backends import is_backend, open_sandbox
from trl_grpo_rewards.sandbox.fusion import SandboxFusion
from trl_grpo_rewards.sandbox.local import get_local_sandbox


class Own:
    """A back end of a user."""


class Rustic:
    """A back end of a user, for another language."""

    languages = frozenset({"rust", "zig"})


def find(backend, python=None, language="python"):
    return open_sandbox(backend, python, retries=1, max_concurrency=2, language=language)


def test_names():
    names = {"local": True, "hf": True, "http://x": True, "https://x:1/y": True, "a:B": True, "a.b_c:D": True}
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


def test_a_back_end_runs_the_languages_that_it_names():
    assert isinstance(find("http://localhost:1", language="cpp"), SandboxFusion)
    assert isinstance(find(f"{__name__}:Rustic", language="zig"), Rustic)
    for backend, language, runs in [
        ("local", "cpp", "python"),
        ("hf", "cpp", "python"),
        (f"{__name__}:Own", "cpp", "python"),
        (f"{__name__}:Rustic", "python", "rust, zig"),
        ("http://localhost:1", "c++", "R, bash, cpp"),
    ]:
        with pytest.raises(ValueError, match=f"must run programs in '{re.escape(language)}'; it runs {runs}.* Change"):
            find(backend, language=language)


def test_nothing_is_run_in_a_language_that_the_back_end_does_not_run():
    with pytest.raises(ValueError, match="The back end 'local' must run programs in 'cpp'"):
        code(language="cpp")(completions=["```cpp\n```"], tests=[{"inputs": ["1"], "outputs": ["1"]}])
    with pytest.raises(ValueError, match="code.. cannot use language=' '"):
        code(language=" ")
