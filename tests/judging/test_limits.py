"""The limit of a reply: its names, in the order in which servers are asked, and the advice where it is reached."""

import pytest

from trl_grpo_rewards.judging import limits


WHERE = ("http://localhost:8000/v1", "m")


@pytest.fixture(autouse=True)
def accepted(monkeypatch):
    monkeypatch.setattr(limits, "ACCEPTED_NAMES", {})


def test_a_server_is_asked_by_both_names_and_then_without_a_limit():
    assert limits.list_limit_names(None, WHERE) == ["max_tokens", "max_completion_tokens", None]
    limits.ACCEPTED_NAMES[WHERE] = "max_completion_tokens"
    assert limits.list_limit_names({}, WHERE) == ["max_completion_tokens", None]
    assert limits.list_limit_names({}, ("elsewhere", "m")) == ["max_tokens", "max_completion_tokens", None]


@pytest.mark.parametrize("request_", [{"max_tokens": 5}, {"max_completion_tokens": None}])
def test_a_limit_of_the_user_is_the_only_one(request_):
    assert limits.list_limit_names(request_, WHERE) == [None]


def test_a_refusal_leaves_the_next_name_or_no_limit():
    names = limits.list_limit_names(None, WHERE)
    assert limits.drop_refused_names(names, "Unsupported parameter: 'max_tokens'") == ["max_completion_tokens", None]
    assert limits.drop_refused_names(names, "the maximum context length is 4096 tokens") == [None]
    assert limits.drop_refused_names(names, "response_format is not supported") == []
    assert limits.drop_refused_names([None], "Unsupported parameter: 'max_tokens'") == []


def test_the_advice_names_a_larger_limit_as_the_server_takes_it():
    assert f"request={{'max_tokens': {4 * limits.MAX_TOKENS}}}" in limits.advise(None, WHERE)
    assert "request={'max_completion_tokens': 40000}" in limits.advise({"max_completion_tokens": 10_000}, WHERE)
    limits.ACCEPTED_NAMES[WHERE] = "max_completion_tokens"
    assert "request={'max_completion_tokens': " in limits.advise({}, WHERE)
