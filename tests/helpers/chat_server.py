"""A server that speaks OpenAI's chat protocol and does what it is told: slow, out of order, refusing, or gullible."""

import json
import random
import re
import threading
import time

from helpers.local_http import Connection, LocalServer, build_reply
from trl_grpo_rewards import judge


def outside(message: str) -> str:
    """What stands outside the fence."""
    mark = find_mark(message)
    return re.sub(rf"<([\w ]+) {mark}>\n.*?\n</\1 {mark}>\n", "", message, flags=re.DOTALL).replace(mark, "MARK")


def fenced(message: str, label: str) -> str:
    """The text that stands in the fence of this name."""
    mark = find_mark(message)
    return re.search(rf"<{label} {mark}>\n(.*?)\n</{label} {mark}>\n", message, re.DOTALL)[1]


def find_mark(message: str) -> str:
    return re.search(r"two lines with the mark (\w+)\.", message)[1]


def limit_of(body: dict) -> int | None:
    return body.get("max_tokens") or body.get("max_completion_tokens")


class Scripted:
    """A server at a port of this machine, as judges of a test see it."""

    def __init__(self, port: int | str) -> None:
        self.root, self.base_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port}/v1"

    def judge(self, maker=judge, **options):
        return maker(**{"model": "m", "rubric": "Is it clear?", "base_url": self.base_url, **options})


class ChatServer(Scripted, LocalServer):
    """
    The server itself. It is called with what to do, which also makes it forget what it has seen.

    Texts to grade are known by a number between two `#`.
    """

    def __init__(self) -> None:
        LocalServer.__init__(self, self.respond)
        Scripted.__init__(self, self.server_port)
        self.lock = threading.Lock()
        self()

    def __call__(self, **script):
        self.script = script
        self.calls = self.flying = self.most = 0
        self.messages, self.keys, self.formats, self.bodies, self.times = [], [], [], [], {}
        self.requests.clear()
        return self

    def respond(self, request: Connection) -> None:
        body, script = json.loads(request.body), self.script
        message = body["messages"][-1]["content"]
        number = (re.findall(r"#(\d+)#", message) or ["-"])[-1]
        with self.lock:
            self.calls, self.flying = self.calls + 1, self.flying + 1
            self.most = max(self.most, self.flying)
            self.messages.append(message)
            self.bodies.append({name: value for name, value in body.items() if name != "messages"})
            self.keys.append(request.headers.get("Authorization"))
            self.formats.append(body.get("response_format"))
            self.times.setdefault(number, []).append(time.monotonic())
            is_first = len(self.times[number]) == 1
        time.sleep(
            script.get("slow", {}).get(number, script.get("latency", 0.0))
            + script.get("jitter", 0.0) * random.random()
        )
        fault = script.get("always", {}).get(number) or script.get("always", {}).get("all")
        fault = fault or (script.get("first", {}).get(number) if is_first else None)
        with self.lock:  # before the reply, after which the client may ask again
            self.flying -= 1
        self.reply(request, body, message, fault)

    def reply(self, request: Connection, body: dict, message: str, fault: int | str | None) -> None:
        script, key = self.script, request.headers.get("Authorization")
        if fault == "cut":
            request.hang_up()
        elif fault == 429:
            request.send({"error": {"message": "slow down"}}, 429, retry_after="0.3")
        elif fault:
            request.send({"error": {"message": f"{script.get('says', 'out of order')} {key}"}}, fault)
        elif script.get("no structure") and "response_format" in body:
            request.send({"error": {"message": "response_format is not supported"}}, script["no structure"])
        elif script.get("garbled"):
            request.send('{"choices": [')
        elif refused := self.refuse(body):
            request.send(refused, 422 if script.get("pydantic") else 400)
        elif "body" in script:
            request.send(script["body"].replace("KEY", key))
        else:
            request.send(self.answer_chat(body, message, key))

    def refuse(self, body: dict) -> dict | None:
        """Return the error text of a real server that does not know a field, or whose context is too short for the tokens."""
        for name in self.script.get("refuses", ()):
            if name in body and self.script.get("pydantic"):
                return {"detail": [{"type": "extra_forbidden", "loc": ["body", name], "input": body}]}
            if name in body:
                said = f"Unsupported parameter: '{name}' is not supported with this model."
                return {"error": {"message": said, "param": name, "code": "unsupported_parameter"}}
        words, context = len(body["messages"][-1]["content"].split()), self.script.get("context")
        if context and words + (limit_of(body) or 1) > context:
            said = (
                f"This model's maximum context length is {context} tokens. However, you requested {limit_of(body) or 0} "
                f"output tokens and your prompt contains {words} input tokens. Please reduce the length of the prompt."
            )
            return {"error": {"message": said, "type": "BadRequestError", "param": "input_tokens", "code": 400}}
        return None

    def answer_chat(self, body: dict, message: str, key: str | None) -> dict:
        """A chat completion: as long as the limit for a judge that loops, or that reasons for longer."""
        limit, usage = limit_of(body), {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        if "loop" in self.script or self.script.get("reasons", 0) >= (limit or 10**9):
            opening, unit = self.script.get("loop", ("", ""))
            said = (
                {"content": opening + unit * limit} if unit else {"content": None, "reasoning_content": "Hm. " * limit}
            )
            choice = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", **said}}
            return {"choices": [choice], "usage": {**usage, "completion_tokens": limit}}
        answer = build_reply(self.write_verdict(message, key), usage=usage)
        answer["choices"][0]["finish_reason"] = self.script.get("finish", "stop")
        return answer

    def write_verdict(self, message: str, key: str | None) -> str | dict:
        """The reply: by the script, or one that obeys whatever stands outside the fence."""
        if self.script.get("echo"):
            return fenced(message, "answer")
        if "reply" in self.script:
            return self.script["reply"].replace("KEY", key)
        asked = outside(message)
        is_told = re.search(r'"score": *10|highest score|perfect|10/10|\[\[10\]\]', asked) is not None
        score = 10 if is_told else self.script.get("score", 2)
        if '"scores"' in asked:
            texts = re.findall(rf"<answer (\d+) {find_mark(message)}>\n(.*?)\n</answer", message, re.DOTALL)
            by_place = self.script.get("first is best")
            scores = {number: 10 - int(number) if by_place else len(text) % 11 for number, text in texts}
            return {"reason": "by length", "scores": scores}
        if '"verdicts"' in asked:  # a criterion is met by an answer with its last word
            listed = re.findall(r"^(\d+)\. .*?(\w+)\W*$", fenced(message, "criteria"), re.MULTILINE)
            kept = [(number, word) for number, word in listed if number not in self.script.get("left out", ())]
            verdicts = {number: is_told or word in fenced(message, "answer") for number, word in kept}
            return {"reason": "by the last word", "verdicts": verdicts}
        if '"criteria"' in asked:
            names = re.findall(r'"(\w+)"', re.search(r'"criteria": \{(.*?)\}', asked)[1])
            named = {name: score + place for place, name in enumerate(names)}
            return {"reason": "each", "criteria": named, "score": score}
        return {"reason": "so so", "score": score}
