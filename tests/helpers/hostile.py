"""Judge every row of a file in one context: `python hostile.py {main,thread,asyncio,child} FILE`. Prints what came out."""

import asyncio
import gzip
import json
import multiprocessing
import sys
import threading
import time

from trl_grpo_rewards import boxed, reward


@reward
async def one_async(completion: str) -> float:
    await asyncio.sleep(0)
    return 0.0


def judge_all(path, score):
    with gzip.open(path, "rt") as file:
        rows = [json.loads(line) for line in file]
    scores, seconds = [], []
    for row in [*rows, {"completion": r"\boxed{\sqrt{49}}", "gold": "7"}]:
        start = time.monotonic()
        scores.append(score(completions=[row["completion"]], solution=[row["gold"]])[0])
        seconds.append(time.monotonic() - start)
    print(json.dumps({"scores": scores, "seconds": seconds}), flush=True)


def in_a_thread(path):
    thread = threading.Thread(target=judge_all, args=(path, boxed()))
    thread.start()
    thread.join()


def in_an_event_loop(path):
    both = boxed() + one_async()  # an async sum is judged in the loop's thread
    judge_all(path, both)


def in_a_spawned_child(path):
    child = multiprocessing.get_context("spawn").Process(target=in_a_thread, args=(path,))
    child.start()
    child.join()


CONTEXTS = {
    "main": lambda path: judge_all(path, boxed()),
    "thread": in_a_thread,
    "asyncio": in_an_event_loop,
    "child": in_a_spawned_child,
}

if __name__ == "__main__":
    CONTEXTS[sys.argv[1]](sys.argv[2])
