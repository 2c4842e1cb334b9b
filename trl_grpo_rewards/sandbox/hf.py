"""A back end on rented machines: `SandboxPool` of huggingface_hub, which uses Hugging Face Jobs. It works on every system.

It was tested with the real client of huggingface_hub 2.4 against a scripted server, not against the real service.

Each run has a sandbox of its own on one of the batch's machines: a user, a home folder, and Landlock rules. If a machine
lacks Landlock, its server goes on without it, and programs can leave each other files in `/tmp`. A program that breaks out
of its user can see the inputs of other runs of the batch, but not what is expected of them. `Sandbox.create`, with a machine
for each run, is not used: it takes six seconds for a run, and its programs are root next to the server that is sent the
user's token.
"""

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from .protocol import WAITING, Limits, RunResult, SandboxFailed, SandboxMissing, Status


if TYPE_CHECKING:
    from huggingface_hub import Sandbox, SandboxCommandResult, SandboxPool

logger = logging.getLogger(__name__)

RUNS_PER_MACHINE = 8
"""
Number of concurrent runs on a machine, which has two cores. If all of them compute, each gets a quarter of a core, and still
reaches its limit of CPU time before its limit of wall time, which is [`WAITING`] times as long.
"""

COMMAND = (
    "ulimit -v {memory} 2>/dev/null; ulimit -S -t {soft}; ulimit -H -t {hard}; exec python3 -B -X utf8 program.py"
)
"""The command of a run. The server's own limit of memory, 2048 MB, stays where `memory_mb` is higher."""

ENVIRONMENT = {"PYTHONHASHSEED": "0"}
"""Variables of a run. Sets have the same order in every run."""

SIGXCPU = 24
"""The signal at the soft limit of CPU time on Linux. `signal.SIGXCPU` does not exist on Windows."""


class Flooded(Exception):
    """Raised when a program writes more than it may."""


class Output:
    """What a program writes to one of its streams, up to a number of bytes."""

    def __init__(self, limit: int) -> None:
        self.rest, self.pieces = limit, list[str]()

    def add(self, piece: str) -> None:
        self.pieces.append(piece)
        self.rest -= len(piece.encode(errors="replace"))
        if self.rest < 0:
            raise Flooded

    def __str__(self) -> str:
        return "".join(self.pieces)


class HuggingFaceSandbox:
    """
    Machines for one batch, one for each [`RUNS_PER_MACHINE`] concurrent runs. They start with the first run, in about six
    seconds, and end when the back end is closed or, if this process is killed, after ten minutes without work.
    """

    def __init__(self, concurrency: int = 64) -> None:
        self.machines = math.ceil(concurrency / RUNS_PER_MACHINE)
        self.threads = ThreadPoolExecutor(concurrency, thread_name_prefix="hf-sandbox")
        self.pool: Future[SandboxPool] | None = None
        self.is_closed = False

    async def run(self, program: str, inputs: Sequence[str], limits: Limits) -> AsyncGenerator[RunResult, None]:
        if self.pool is None:
            self.pool = self.threads.submit(start_machines, self.machines)
        source = program.encode(errors="surrogatepass")
        for text in inputs:
            yield await asyncio.wrap_future(self.threads.submit(self.run_once, self.pool, source, text, limits))

    def run_once(self, starting: "Future[SandboxPool]", program: bytes, text: str, limits: Limits) -> RunResult:
        """Run a program with one input, in a new sandbox."""
        try:
            sandbox = starting.result().create(env=ENVIRONMENT)
            try:
                sandbox.files.write("program.py", program)
                return run_program(sandbox, text, limits)
            finally:
                if not self.is_closed:  # else its machine has been ended with it
                    sandbox.kill()
        except Exception as error:  # of the connection, the server, or the account
            raise SandboxFailed(f"Hugging Face Jobs gave no result: {type(error).__name__}: {error}") from None

    def check_ready(self) -> None:
        """Check that the user is logged in. No machine is rented."""
        import huggingface_hub

        if not hasattr(huggingface_hub, "SandboxPool"):
            raise SandboxMissing(
                f"The back end 'hf' needs SandboxPool of huggingface_hub; version {huggingface_hub.__version__} does not "
                f"have it. Run `pip install --upgrade huggingface_hub`, or name another back end."
            )
        if huggingface_hub.get_token() is None:
            raise ValueError(
                "The back end 'hf' needs a Hugging Face account that may use Jobs; you are not logged in. Run "
                "`hf auth login`, or set the variable HF_TOKEN."
            )
        try:
            huggingface_hub.whoami()
        except Exception as error:  # of the connection, or the server refuses the token
            raise ValueError(
                f"The back end 'hf' needs a Hugging Face account that may use Jobs; the server did not accept the token: "
                f"{str(error).rstrip('. ')}. Check the connection, and run `hf auth login`."
            ) from None

    async def close(self) -> None:
        """End the machines, and with them what still runs on them."""
        self.is_closed = True
        self.threads.shutdown(wait=False, cancel_futures=True)
        if self.pool is not None:
            await asyncio.to_thread(end_machines, self.pool)


def start_machines(number: int) -> "SandboxPool":
    from huggingface_hub import SandboxPool

    return SandboxPool(sandboxes_per_host=RUNS_PER_MACHINE, warm_up=number)


def end_machines(starting: "Future[SandboxPool]") -> None:
    try:
        pool = starting.result()
    except Exception:  # the runs have reported it, and huggingface_hub has ended what had started
        return
    try:
        pool.close()
    except Exception as error:
        logger.warning("A rented machine could not be ended. It ends by itself after ten minutes: %s", error)


def run_program(sandbox: "Sandbox", text: str, limits: Limits) -> RunResult:
    output, errors = Output(limits.output_bytes), Output(limits.output_bytes)
    seconds = math.ceil(limits.seconds)
    try:
        done = sandbox.run(
            COMMAND.format(memory=limits.memory_mb * 1024, soft=seconds, hard=seconds + 1),
            stdin=text.encode(errors="replace").decode(),
            timeout=WAITING * limits.seconds,
            on_stdout=output.add,
            on_stderr=errors.add,
            check=False,
        )
        status = read_status(done)
    except Flooded:
        status = "flooded"
    return RunResult(status, str(output)[: limits.output_bytes], str(errors)[-4000:])


def read_status(done: "SandboxCommandResult") -> Status:
    if done.timed_out or done.signal == SIGXCPU:
        return "timed_out"
    if not isinstance(done.exit_code, int) and not isinstance(done.signal, int):
        raise SandboxFailed(f"the server does not say how the program ended: {done!r}")
    return "finished" if done.exit_code == 0 else "crashed"
