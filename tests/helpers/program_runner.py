"""Runs programs in the jail for a test, as the user that the test chose: `python program_runner.py SIZE`.

Reads lines of JSON with `program`, `inputs` and `limits`, and writes a line with the results. It imports only the local back
end, so that any interpreter can run it.
"""

import asyncio
import dataclasses
import json
import os
import sys
import types
from pathlib import Path


package = types.ModuleType("trl_grpo_rewards")
package.__path__ = [str(Path(__file__).parents[2] / "trl_grpo_rewards")]
sys.modules[package.__name__] = package

from trl_grpo_rewards.sandbox.local import LocalSandbox  # noqa: E402
from trl_grpo_rewards.sandbox.protocol import Limits  # noqa: E402


async def run(sandbox: LocalSandbox, request: dict) -> list[dict]:
    limits = Limits(**request["limits"])
    if "second" in request:
        return [*map(dataclasses.asdict, await sandbox.run_joined(request["program"], request["second"], limits))]
    return [dataclasses.asdict(one) async for one in sandbox.run(request["program"], request["inputs"], limits)]


def main() -> None:
    sandbox = LocalSandbox(int(sys.argv[1]))
    for worker in sandbox.workers:
        worker.start()
    answer(
        {
            "tier": sandbox.find_tier()[0],
            "trainer": os.getpid(),
            "workers": [worker.process.pid for worker in sandbox.workers],
        }
    )
    for line in sys.stdin:
        try:
            answer(asyncio.run(run(sandbox, json.loads(line))))
        except Exception as error:
            answer({"error": f"{type(error).__name__}: {error}"})
    sandbox.stop()


def answer(message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
