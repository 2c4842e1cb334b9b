"""The settings of a judge: the fields of its requests, its server and its key."""

import pickle

import pytest

from helpers.judging import build_settings
from trl_grpo_rewards.options import freeze


def test_the_server_is_that_of_the_option_or_of_the_environment(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert build_settings(None).endpoint == (None, "m")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    assert build_settings(None).endpoint == ("http://elsewhere/v1", "m")
    assert build_settings("http://here/v1").endpoint == ("http://here/v1", "m")


def test_a_key_is_needed_only_by_the_server_of_openai(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    assert build_settings("http://here/v1", api_key_env="JUDGE_KEY").key == "none"
    with pytest.raises(ValueError) as caught:
        _ = build_settings(None, api_key_env="JUDGE_KEY").key
    assert str(caught.value) == (
        "The judge 'm' needs a base_url or a key for OpenAI's server. It has no base_url, and the environment has no "
        "JUDGE_KEY. Set JUDGE_KEY, or set base_url to your own server: base_url='http://localhost:8000/v1'."
    )
    monkeypatch.setenv("JUDGE_KEY", " \n")
    with pytest.raises(ValueError, match="Set JUDGE_KEY"):
        _ = build_settings(None, api_key_env="JUDGE_KEY").key
    monkeypatch.setenv("JUDGE_KEY", " sk-1\n")
    assert build_settings(None, api_key_env="JUDGE_KEY").key == "sk-1"


@pytest.mark.parametrize("key", ["sk 1", "sk\n1", "sk\x7f", "sk-ä", "sk–1"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(monkeypatch, key):
    monkeypatch.setenv("JUDGE_KEY", key)
    with pytest.raises(ValueError, match="The key in JUDGE_KEY must consist of .* Copy the key again") as caught:
        _ = build_settings(api_key_env="JUDGE_KEY").key
    assert "sk" not in str(caught.value)


def test_the_key_is_hidden_in_texts(monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", " sk-1 ")
    settings = build_settings(api_key_env="JUDGE_KEY")
    assert settings.hide_key("Bearer sk-1, sk-1!") == "Bearer ..., ...!" and settings.hide_key("none") == "none"
    monkeypatch.setenv("JUDGE_KEY", " ")
    assert settings.hide_key("none of them") == "none of them"


def test_equal_settings_share_a_server_and_hold_no_key(monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", "sk-1")
    one = build_settings(api_key_env="JUDGE_KEY", request=freeze({"stop": ["a"]}, "request"))
    again = pickle.loads(pickle.dumps(one))
    assert one == again and hash(one) == hash(again) and one != build_settings(api_key_env="JUDGE_KEY")
    assert "sk-1" not in repr(one) and b"sk-1" not in pickle.dumps(one)
