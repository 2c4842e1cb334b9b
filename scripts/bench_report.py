"""Measure how long it takes to write the report of runs of different lengths, and to open it in a browser.

    python scripts/bench_report.py [--groups 1000 10000 100000]

The records are synthetic: 20 groups per step, each of 8 completions of 1,000 characters, with a pass rate that rises,
and a log entry for each step.
Without chromium and its driver, no page is opened. A page counts as open when all its charts are drawn.
"""

import argparse
import random
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from trl_grpo_rewards.records.fields import pack_ids
from trl_grpo_rewards.records.files import GroupWriter
from trl_grpo_rewards.records.logs import LogWriter
from trl_grpo_rewards.report import write_report
from trl_grpo_rewards.report.training_log import CURVES


GROUPS_PER_STEP, SIZE = 20, 8


def write_records(count: int, folder: Path) -> None:
    rng, writer, log = random.Random(0), GroupWriter(folder), LogWriter(folder)
    log.start([])
    words = [f"w{number}" for number in range(1000)]
    for step in range(1, count // GROUPS_PER_STEP + 1):
        writer.write(step, [make_group(rng, words, step * GROUPS_PER_STEP / count) for _ in range(GROUPS_PER_STEP)])
        log.write({"step": step, **{name: rng.random() for name in CURVES}})


def make_group(rng: random.Random, words: list[str], progress: float) -> dict:
    prompt = rng.randrange(2000)
    right = [float(rng.random() < progress * (0.5 + prompt / 4000)) for _ in range(SIZE)]
    style = [rng.random() for _ in range(SIZE)]
    total = [one + 0.2 * other for one, other in zip(right, style, strict=True)]
    mean = sum(total) / SIZE
    return {
        "prompt_id": f"{prompt:016x}",
        "outcome": "live",
        "outcome_reward": "boxed",
        "rewards": {"boxed": right, "style": style},
        "weights": {"boxed": 1.0, "style": 0.2},
        "total": total,
        "mean": mean,
        "std": statistics.pstdev(total),
        "spread": max(total) - min(total),
        "advantages": [one - mean for one in total],
        "lengths": [rng.randrange(150, 350) for _ in range(SIZE)],
        "truncated": [False] * SIZE,
        "duplicates": 0,
        "columns": {"solution": "7"},
        "prompt": [{"role": "user", "content": f"Problem {prompt}"}],
        "completions": [[{"role": "assistant", "content": " ".join(rng.choices(words, k=200))}] for _ in range(SIZE)],
        "completion_ids": [pack_ids([rng.randrange(50_000) for _ in range(250)]) for _ in range(SIZE)],
    }


def time_opening(page: Path) -> float | None:
    """Return the time in seconds that a new browser takes to open the page: the median of three runs."""
    chromium, service = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not service:
        return None
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    seconds = []
    for _ in range(3):
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(service))
        start = time.perf_counter()
        driver.get(page.as_uri())
        while driver.execute_script("return document.documentElement.dataset.drawn") != "true":
            time.sleep(0.01)
        seconds.append(time.perf_counter() - start)
        driver.quit()
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, nargs="+", default=[1000, 10_000, 100_000])
    print(f"{'groups':>8}  {'records':>9}  {'to write':>9}  {'page':>8}  {'to open':>8}")
    for count in parser.parse_args().groups:
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            write_records(count, folder)
            size = sum(file.stat().st_size for file in folder.rglob("*.jsonl"))
            start = time.perf_counter()
            page = write_report(folder, folder / "report.html")
            seconds = time.perf_counter() - start
            wait = time_opening(page)
            print(
                f"{count:>8,}  {size / 1e6:>6,.0f} MB  {seconds:>7.1f} s  {page.stat().st_size / 1e6:>5.1f} MB  "
                + (f"{wait:>6.2f} s" if wait else f"{'-':>8}"),
                flush=True,
            )


if __name__ == "__main__":
    main()
