"""Runs programs on a Sandbox Fusion server: `code(backend="fusion_sandbox:FusionSandbox")`.

Start the server (https://github.com/bytedance/SandboxFusion), set FUSION_URL to its URL, and copy this file to a folder where
Python finds it. The server decides how well programs are locked in. Tested against a scripted server only.
"""

import asyncio
import json
import os
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from trl_grpo_rewards.sandbox.protocol import WAITING, Limits, RunResult, SandboxFailed


class FusionSandbox:
    url = os.environ.get("FUSION_URL", "http://localhost:8080")
    concurrency = 64  # requests at once
    margin = 60.0  # seconds that a reply may take in addition, because runs wait for each other

    def __init__(self):
        self.threads = ThreadPoolExecutor(self.concurrency)

    async def run(self, program, inputs, limits):
        for text in inputs:
            yield await asyncio.wrap_future(self.threads.submit(self.run_once, program, text, limits))

    def run_once(self, program, text, limits):
        body = {"code": program, "stdin": text, "language": "python"}
        body |= {"run_timeout": limits.seconds, "memory_limit_MB": limits.memory_mb}
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/run_code", json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=WAITING * limits.seconds + self.margin) as response:
                return self.read_reply(json.load(response), limits)
        except Exception as error:  # of the connection, the server, or its reply: the program gets None, never 0
            raise SandboxFailed(f"{self.url} gave no result: {type(error).__name__}: {error}") from None

    def read_reply(self, reply, limits):
        """Read a reply strictly: what has another form is an error."""
        result, is_known = reply["run_result"], reply["status"] in ("Success", "Failed")
        output, errors = result["stdout"] or "", result["stderr"] or ""
        if is_known and result["status"] == "TimeLimitExceeded":
            status = "timed_out"
        elif is_known and result["status"] == "Finished" and isinstance(result["return_code"], int):
            is_flooded = len(output.encode(errors="replace")) > limits.output_bytes
            status = "flooded" if is_flooded else "crashed" if result["return_code"] else "finished"
        else:
            raise ValueError(f"unknown reply {str(reply)[:300]}")
        return RunResult(status, output[: limits.output_bytes], errors[-4000:])

    def check_ready(self):
        try:
            self.run_once("", "", Limits())
        except SandboxFailed as error:
            raise ValueError(f"{error}. Start a Sandbox Fusion server, and set FUSION_URL to its URL.") from None

    async def close(self):
        self.threads.shutdown(wait=False, cancel_futures=True)
