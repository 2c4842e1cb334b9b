"""One call to a judge, where rewards/test_judges.py does not see it: retries after a refusal, counts of tokens, and keys."""

import asyncio
import json

import openai
import pytest

from helpers.judging import build_settings
from helpers.local_http import build_reply, run_local_server
from trl_grpo_rewards.judging import chat_client, limits
from trl_grpo_rewards.judging.chat_client import ChatClient
from trl_grpo_rewards.judging.grading_prompts import Rubric, build_grading_prompt
from trl_grpo_rewards.judging.verdicts import Grading


PROMPT = build_grading_prompt(Rubric("Is it clear?", (0.0, 10.0)), "2 + 2?", "4")
VERDICT = {"reason": "fine", "score": 7}


@pytest.fixture(autouse=True)
def unknown_servers(monkeypatch):
    monkeypatch.setattr(chat_client, "STRUCTURED_OUTPUT", {})
    monkeypatch.setattr(limits, "ACCEPTED_NAMES", {})


def fetch(url: str, times: int = 1, **options) -> list[tuple[dict, Grading]]:
    """Return the verdicts of calls one after another, each with its grading."""

    async def run():
        client = ChatClient(build_settings(url, **options), 2)
        try:
            gradings = [Grading() for _ in range(times)]
            return [(await client.fetch_verdict(PROMPT, grading), grading) for grading in gradings]
        finally:
            await client.close()

    return asyncio.run(run())


def bodies(server) -> list[dict]:
    return [json.loads(request.body) for request in server.requests]


def answer_with(*replies):
    """Answer one request after another; the last reply is given again and again."""

    def answer(request):
        content, status = replies[min(len(request.server.requests), len(replies)) - 1]
        request.send(content, status, retry_after_ms="1")

    return answer


@pytest.mark.parametrize("usage", [None, [], {}, {"prompt_tokens": None, "completion_tokens": "20"}])
def test_tokens_that_are_not_counted_are_none(usage):
    with run_local_server(answer_with((build_reply(VERDICT, usage=usage), 200))) as server:
        ((verdict, grading),) = fetch(server.url)
    assert verdict == VERDICT and (grading.tokens_in, grading.tokens_out) == (0, 0)


def refuse(field: str) -> tuple[dict, int]:
    return {"error": {"message": f"Unsupported parameter: '{field}'"}}, 400


@pytest.mark.parametrize("status, calls", [(401, 1), (403, 1), (400, 2), (422, 2)])
def test_only_a_refusal_of_the_request_itself_is_tried_another_way(status, calls):
    with run_local_server(answer_with(({"error": {"message": "no"}}, status))) as server:
        with pytest.raises(openai.APIStatusError) as caught:
            fetch(server.url)
    assert caught.value.status_code == status and len(server.requests) == calls


def test_retries_are_those_of_the_whole_call():
    busy = {"error": {"message": "busy"}}, 503
    with run_local_server(answer_with(busy, refuse("response_format"), busy)) as server:
        with pytest.raises(openai.InternalServerError):
            fetch(server.url, retries=2)
    assert ["response_format" in body for body in bodies(server)] == [True, True, False, False]


@pytest.mark.parametrize("key", ["1", "none", "sk", "token", "score", "completion_tokens", "assistant"])
def test_a_placeholder_for_a_key_changes_no_reply(monkeypatch, key):
    monkeypatch.setenv("JUDGE_KEY", key)
    reply = build_reply(VERDICT, usage={"prompt_tokens": 11, "completion_tokens": 21})
    with run_local_server(answer_with((reply, 200))) as server:
        ((verdict, grading),) = fetch(server.url, api_key_env="JUDGE_KEY")
    assert verdict == VERDICT and (grading.tokens_in, grading.tokens_out) == (11, 21)
