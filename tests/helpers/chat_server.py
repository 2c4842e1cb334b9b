"""A server that speaks OpenAI's chat protocol and does what it is told: slow, out of order, refusing, or gullible.

    python chat_server.py PORT

POST /script sets what to do and forgets what was seen; GET /seen tells what was asked. Texts to grade are known by a
number between two `#`.
"""

import asyncio
import json
import random
import re
import sys

import requests
from aiohttp import web

from trl_grpo_rewards import judge


SCRIPT: dict = {}
SEEN: dict = {}


async def script(request):
    SCRIPT.clear()
    SCRIPT.update(await request.json())
    SEEN.clear()
    SEEN.update(calls=0, flying=0, most=0, messages=[], models=[], keys=[], formats=[], bodies=[], times={})
    return web.json_response({})


async def seen(request):
    return web.json_response(SEEN)


def outside(message: str) -> str:
    """What stands outside the fence."""
    mark = re.search(r"two lines with the mark (\w+)\.", message)[1]
    return re.sub(rf"<([\w ]+) {mark}>\n.*?\n</\1 {mark}>\n", "", message, flags=re.DOTALL).replace(mark, "MARK")


def content(message: str) -> str:
    """The reply: by the script, or one that obeys whatever stands outside the fence."""
    if SCRIPT.get("echo"):
        return fenced(message, "answer")
    if "reply" in SCRIPT:
        return SCRIPT["reply"].replace("KEY", SEEN["keys"][-1])
    asked = outside(message)
    told = re.search(r'"score": *10|highest score|perfect|10/10|\[\[10\]\]', asked)
    score = 10 if told else SCRIPT.get("score", 2)
    if '"scores"' in asked:
        mark = re.search(r"the mark (\w+)\.", message)[1]
        texts = re.findall(rf"<answer (\d+) {mark}>\n(.*?)\n</answer", message, re.DOTALL)
        scores = {number: len(text) % 11 for number, text in texts}
        if SCRIPT.get("first is best"):
            scores = {number: 10 - int(number) for number, _ in texts}
        return json.dumps({"reason": "by length", "scores": scores})
    if '"verdicts"' in asked:
        return json.dumps({"reason": "by the last word", "verdicts": verdicts(message, bool(told))})
    if '"criteria"' in asked:
        names = re.search(r'"criteria": \{(.*?)\}', asked)[1]
        named = {name: score + place for place, name in enumerate(re.findall(r'"(\w+)"', names))}
        return json.dumps({"reason": "each", "criteria": named, "score": score})
    return json.dumps({"reason": "so so", "score": score})


def fenced(message: str, label: str) -> str:
    """The text that stands in the fence of this name."""
    mark = re.search(r"two lines with the mark (\w+)\.", message)[1]
    return re.search(rf"<{label} {mark}>\n(.*?)\n</{label} {mark}>\n", message, re.DOTALL)[1]


def verdicts(message: str, told: bool) -> dict[str, bool]:
    """A criterion is met by an answer with its last word. `left out` has the numbers that are forgotten."""
    answer = fenced(message, "answer")
    listed = re.findall(r"^(\d+)\. .*?(\w+)\W*$", fenced(message, "criteria"), re.MULTILINE)
    return {number: told or word in answer for number, word in listed if number not in SCRIPT.get("left out", ())}


def limit_of(body: dict) -> int | None:
    return body.get("max_tokens") or body.get("max_completion_tokens")


def refusal(body: dict) -> dict | None:
    """What a server says that does not know a field, or has no room for so many tokens, in the words of known ones."""
    for name in SCRIPT.get("refuses", ()):
        if name in body and SCRIPT.get("pydantic"):
            return {"detail": [{"type": "extra_forbidden", "loc": ["body", name], "input": body}]}
        if name in body:
            said = f"Unsupported parameter: '{name}' is not supported with this model."
            return {"error": {"message": said, "param": name, "code": "unsupported_parameter"}}
    words, context = len(body["messages"][-1]["content"].split()), SCRIPT.get("context")
    if context and words + (limit_of(body) or 1) > context:
        said = (
            f"This model's maximum context length is {context} tokens. However, you requested {limit_of(body) or 0} "
            f"output tokens and your prompt contains {words} input tokens. Please reduce the length of the input prompt."
        )
        return {"error": {"message": said, "type": "BadRequestError", "param": "input_tokens", "code": 400}}
    return None


async def choice_of(body: dict) -> tuple[dict, int]:
    """A choice and its tokens: all that fit in the limit for a judge that loops, or that reasons for longer."""
    message, limit = body["messages"][-1]["content"], limit_of(body)
    if "loop" in SCRIPT or SCRIPT.get("reasons", 0) >= (limit or 10**9):
        await asyncio.sleep(0 if limit else 3600)
        opening, unit = SCRIPT.get("loop", ("", ""))
        said = {"content": opening + unit * limit} if unit else {"content": None, "reasoning_content": "Hm. " * limit}
        return {"index": 0, "finish_reason": "length", "message": {"role": "assistant", **said}}, limit
    said = {"role": "assistant", "content": content(message)}
    return {"index": 0, "finish_reason": SCRIPT.get("finish", "stop"), "message": said}, 10


async def chat(request):
    body = await request.json()
    message = body["messages"][-1]["content"]
    number = (re.findall(r"#(\d+)#", message) or ["-"])[-1]
    SEEN["calls"] += 1
    SEEN["messages"].append(message)
    SEEN["models"].append(body["model"])
    SEEN["bodies"].append({name: value for name, value in body.items() if name != "messages"})
    SEEN["keys"].append(request.headers.get("Authorization"))
    SEEN["formats"].append(body.get("response_format"))
    SEEN["times"].setdefault(number, []).append(asyncio.get_running_loop().time())
    SEEN["flying"] += 1
    SEEN["most"] = max(SEEN["most"], SEEN["flying"])
    try:
        await asyncio.sleep(SCRIPT.get("slow", {}).get(number, SCRIPT.get("latency", 0.0)))
        await asyncio.sleep(SCRIPT.get("jitter", 0.0) * random.random())
        fault = SCRIPT.get("always", {}).get(number) or SCRIPT.get("always", {}).get("all")
        if len(SEEN["times"][number]) == 1:
            fault = fault or SCRIPT.get("first", {}).get(number)
        if fault == "cut":
            request.transport.close()
            return web.Response()
        if fault == 429:
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "0.3"})
        if fault:
            said = SCRIPT.get("says", "out of order")
            return web.json_response(
                {"error": {"message": f"{said} {request.headers['Authorization']}"}}, status=fault
            )
        if SCRIPT.get("no structure") and "response_format" in body:
            said = {"error": {"message": "response_format is not supported"}}
            return web.json_response(said, status=SCRIPT["no structure"])
        if SCRIPT.get("garbled"):
            return web.Response(text='{"choices": [', content_type="application/json")
        if refused := refusal(body):
            return web.json_response(refused, status=422 if SCRIPT.get("pydantic") else 400)
        choice, tokens = await choice_of(body)
        if "drip" in SCRIPT:
            response = web.StreamResponse()
            await response.prepare(request)
            for _ in range(100):
                await response.write(b" ")
                await asyncio.sleep(SCRIPT["drip"])
        if "body" in SCRIPT:
            return web.Response(text=SCRIPT["body"].replace("KEY", SEEN["keys"][-1]), content_type="application/json")
        usage = SCRIPT.get("usage", {"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": 100 + tokens})
        return web.json_response({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage})
    finally:
        SEEN["flying"] -= 1


class Scripted:
    """The server as a test sees it: called with what to do, and asked for what it has seen."""

    def __init__(self, port):
        self.root, self.base_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port}/v1"

    def __call__(self, **script):
        requests.post(f"{self.root}/script", json=script, timeout=5).raise_for_status()
        return self

    def __getattr__(self, name):
        return requests.get(f"{self.root}/seen", timeout=5).json()[name]

    def judge(self, maker=judge, **options):
        return maker(**{"model": "m", "rubric": "Is it clear?", "base_url": self.base_url, **options})


def main(port: int) -> None:
    app = web.Application(client_max_size=64 << 20)
    app.add_routes([web.post("/script", script), web.get("/seen", seen), web.post("/v1/chat/completions", chat)])
    web.run_app(app, host="127.0.0.1", port=port, print=None)


if __name__ == "__main__":
    main(int(sys.argv[1]))
