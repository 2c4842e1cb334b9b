"""Runs programs on machines of Hugging Face Jobs: `code(backend="hf_sandbox:JobsSandbox")`, with a copy of this file.

It needs `hf auth login` with an account that may use Jobs, which are billed. The machines of a batch end with it. Runs share a
kernel, and can use the network. Tested with the client of huggingface_hub 2.4 against a scripted server only.
"""

import asyncio
import contextlib
import io
import math
from concurrent.futures import ThreadPoolExecutor

from huggingface_hub import SandboxPool, whoami

from trl_grpo_rewards.sandbox.protocol import WAITING, RunResult, SandboxFailed


class JobsSandbox:
    machines, runs = 8, 8  # the machines of a batch, and the concurrent runs on each
    command = "ulimit -v {}; ulimit -S -t {}; ulimit -H -t {}; exec python3 -B -X utf8 program.py"

    def __init__(self):
        self.threads, self.pool = ThreadPoolExecutor(self.machines * self.runs), None

    async def run(self, program, inputs, limits):
        if self.pool is None:
            self.pool = self.threads.submit(SandboxPool, sandboxes_per_host=self.runs, warm_up=self.machines)
        for text in inputs:
            yield await asyncio.wrap_future(self.threads.submit(self.run_once, program, text, limits))

    def run_once(self, program, text, limits):
        def keep(stream, piece):
            if stream.tell() + len(piece) > limits.output_bytes:
                raise OverflowError
            stream.write(piece)

        output, errors, seconds = io.StringIO(), io.StringIO(), math.ceil(limits.seconds)
        command = self.command.format(limits.memory_mb * 1024, seconds, seconds + 1)
        streams = {"on_stdout": lambda piece: keep(output, piece), "on_stderr": lambda piece: keep(errors, piece)}
        try:
            with self.pool.result().create(env={"PYTHONHASHSEED": "0"}) as sandbox:
                sandbox.files.write("program.py", program)
                done = sandbox.run(command, stdin=text, timeout=WAITING * limits.seconds, check=False, **streams)
            if done.exit_code is None and done.signal is None and not done.timed_out:
                raise ValueError("the server does not say how the program ended")
            late = done.timed_out or done.signal == 24  # SIGXCPU on Linux
            status = "timed_out" if late else "finished" if done.exit_code == 0 else "crashed"
        except OverflowError:
            status = "flooded"
        except Exception as error:  # of the connection, the server, or the account: the program gets None, never 0
            raise SandboxFailed(f"Hugging Face Jobs gave no result: {type(error).__name__}: {error}") from None
        return RunResult(status, output.getvalue()[: limits.output_bytes], errors.getvalue()[-4000:])

    def check_ready(self):
        whoami()  # raises an error that says how to log in

    async def close(self):
        self.threads.shutdown(wait=False, cancel_futures=True)
        with contextlib.suppress(Exception):  # no machine has started, or the log names those that could not be ended
            await asyncio.to_thread(lambda: self.pool.result().close())
