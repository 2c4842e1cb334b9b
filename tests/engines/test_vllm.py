"""vLLM on a CPU: in the process of the trainer, and as a judge."""

import importlib.util
import math
import sys
import time
import urllib.error
import urllib.request

import pytest


if importlib.util.find_spec("vllm") is None:
    pytest.skip("vllm is not installed", allow_module_level=True)

from runs import LIMIT, Runs, free_port, started, tail  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402

from trl_grpo_rewards import demo, judge, ranking  # noqa: E402


ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_SGL_KERNEL": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_TARGET_DEVICE": "cpu",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
}
SERVED = ["--max-model-len", 2048, "--max-num-seqs", 16, "--gpu-memory-utilization", 0.2]


def is_up(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The address of a `vllm serve` process with the bundled model."""
    port, log = free_port(), tmp_path_factory.mktemp("server") / "log.txt"
    vllm = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", demo.MODEL, *SERVED]
    with started([*vllm, "--host", "127.0.0.1", "--port", port], log, **ENVIRONMENT) as process:
        url, end = f"http://127.0.0.1:{port}", time.monotonic() + LIMIT
        while not is_up(url):
            assert process.poll() is None and time.monotonic() < end, tail(log)
            time.sleep(1)
        yield url


@pytest.fixture(scope="session")
def colocated(tmp_path_factory):
    runs = Runs(tmp_path_factory.mktemp("colocated"), [sys.executable], ranks=1, **ENVIRONMENT)
    for name in ("trl-vllm", "skip-vllm", "resample-vllm"):  # a process can hold one vLLM engine only
        runs.launch(name)
    return runs


def test_skip_has_the_losses_of_trl_with_vllm_colocated(colocated):
    assert colocated.metric("skip-vllm", "groups/dead") == [0.5, 0.75, 1.0, 0.75, 0.0]
    assert colocated.asked("skip-vllm") == colocated.asked("trl-vllm")
    for metric in ("loss", "grad_norm"):
        ours, theirs = (colocated.metric(f"{run}-vllm", metric) for run in ("skip", "trl"))
        print(metric, f"{max(abs(a - b) for a, b in zip(ours, theirs, strict=True)):.1e} apart")
        assert ours == pytest.approx(theirs, rel=1e-3, abs=1e-6) and len(ours) == 5
    assert sum(colocated.metric("skip-vllm", "groups/rows_computed")) < 16 * 5


def test_drop_with_resampling_runs_with_vllm_colocated(colocated):
    rounds, kept = (colocated.metric("resample-vllm", f"groups/{name}") for name in ("resample_rounds", "rows_kept"))
    assert len(rounds) == 4 and max(rounds) >= 1 and min(kept) > 0
    assert all(map(math.isfinite, colocated.metric("resample-vllm", "loss")))


@pytest.fixture(scope="session")
def short():
    """Request fields that make the bundled model end its reply soon, because it writes no white space."""
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    biases = {'"': 100, ",": 50, "}": 50, " ": -100, "\n": -100}
    return {"logit_bias": {str(tokenizer.convert_tokens_to_ids(text)): bias for text, bias in biases.items()}}


def asked(maker, server, count=8, **options):
    """Call a judge on `count` completions, four per prompt. Return scores, metrics and logged columns."""
    problems = demo.arithmetic("test", size=count // 4)["prompt"]
    texts = [f"<think>{number}</think>\\boxed{{{number}}}" for number in range(count)]
    metrics, columns = {}, {}
    scores = maker(model=demo.MODEL, base_url=f"{server}/v1", max_failures=1.0, timeout=200, **options)(
        prompts=[problem for problem in problems for _ in range(4)],
        completions=[[{"role": "assistant", "content": text}] for text in texts],
        log_metric=lambda name, value: metrics.update({name: value}),
        log_extra=lambda name, values: columns.update({name: values}),
    )
    return scores, metrics, columns


RUBRICS = ["Is it right?", {"right": ("Is it right?", 2.0), "brief": 1.0}]


@pytest.mark.parametrize("rubric", RUBRICS, ids=["sentence", "criteria"])
def test_a_judge_gives_verdicts_by_structured_output(server, short, rubric):
    scores, metrics, columns = asked(judge, server, rubric=rubric, request=short)
    assert len(scores) == 8 and None not in scores, columns["judge/reason"]
    assert all(0 <= score <= 1 for score in scores)
    assert metrics["judge/failures"] == 0 and metrics["judge/calls"] >= 8
    print("scores", [round(score, 2) for score in scores])


@pytest.mark.parametrize("swaps", [1, 2])
def test_a_ranking_gives_verdicts_by_structured_output(server, short, swaps):
    scores, metrics, columns = asked(ranking, server, count=4, rubric="Which is best?", swaps=swaps, request=short)
    assert len(scores) == 4 and None not in scores, columns["ranking/reason"]
    assert all(0 <= score <= 1 for score in scores)
    assert metrics["ranking/failures"] == 0
    print("scores", [round(score, 2) for score in scores])


@pytest.mark.parametrize("request_", [{"max_tokens": 48}, {"temperature": 1.0}], ids=["cut off", "at random"])
@pytest.mark.parametrize("maker", [judge, ranking])
def test_a_reply_without_a_verdict_scores_none_and_says_why(server, maker, request_):
    """The bundled model repeats itself in the reason, or writes a score outside the scale."""
    scores, metrics, columns = asked(maker, server, count=4, rubric="Is it right?", request=request_)
    name = maker.__name__
    for score, reason in zip(scores, columns[f"{name}/reason"], strict=True):
        assert reason.startswith("no verdict: ") if score is None else 0 <= score <= 1
    assert (metrics[f"{name}/failures"] > 0) == (None in scores)
    if "max_tokens" in request_:
        assert scores == [None] * 4
