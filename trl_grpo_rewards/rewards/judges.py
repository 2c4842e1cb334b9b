"""Rewards for which another model grades completions."""

import logging
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields
from statistics import fmean
from typing import Any, Literal

from ..batch import completion_text, prompt_text
from ..judging import grading_prompts, verdicts
from ..judging.grading_prompts import Rubric
from ..judging.gradings import Grading
from ..judging.settings import Settings
from ..judging.shared_clients import SharedClient, check_client, check_reachable, connect
from ..options import freeze
from ..registry import reward
from ..scores import Score


__all__ = ["judge", "ranking"]


logger = logging.getLogger(__name__)

BATCH_COUNTS: "Counter[tuple[Settings, Rubric]]" = Counter()
"""Number of batches that each judge has graded, to find those that get a canary."""


def build_settings(options: Mapping[str, Any]) -> Settings:
    """Build the settings from the options with the same names."""
    return Settings(**{field.name: freeze(options[field.name], field.name) for field in fields(Settings)})


def check_judge(rubric: Any, scale: tuple[float, float], canaries: int = 0, **options: Any) -> None:
    check_client()
    settings = build_settings(options)
    reserved = {"messages", "model", "stream", "response_format"} & {*(settings.request or ())}
    has_url = re.match("https?://.", settings.base_url or "http://_") is not None
    has_key_name = re.fullmatch(r"[A-Za-z_]\w{0,60}", settings.api_key_env) is not None
    for is_valid, given, remedy in (
        (settings.model.strip(), f"model={settings.model!r}", "Set it to the model's name on the server"),
        (has_url, f"base_url={settings.base_url!r}", "It must begin with http:// or https://"),
        # the value may be the key itself, so it must not be shown
        (has_key_name, "this api_key_env", "Set it to the name of the environment variable that holds the key"),
        (
            not reserved,
            f"request={settings.request!r}",
            f"Leave out {', '.join(sorted(reserved))}, which the judge sets",
        ),
        (canaries >= 0, f"canaries={canaries}", "Set it to a number of batches, or to 0"),
        (settings.cache != "", "cache=''", "Set it to a folder, or leave it out"),
        (
            is_rubric(rubric),
            f"rubric={rubric!r}",
            "Set it to a sentence, or to {'name': ('What to look at?', weight)}",
        ),
        (scale[0] < scale[1], f"scale={scale}", "Set it to the worst and the best score: scale=(0, 10)"),
        (settings.max_concurrency >= 1, f"max_concurrency={settings.max_concurrency}", "Set it to at least 1"),
        (settings.timeout > 0, f"timeout={settings.timeout}", "Set it to more than 0 seconds"),
        (settings.batch_timeout > 0, f"batch_timeout={settings.batch_timeout}", "Set it to more than 0 seconds"),
        (settings.retries >= 0, f"retries={settings.retries}", "Set it to at least 0"),
        (0 <= settings.max_failures <= 1, f"max_failures={settings.max_failures}", "Set it to a share from 0 to 1"),
    ):
        if not is_valid:
            raise ValueError(f"A judge cannot use {given}. {remedy}.")


def check_server(**options: Any) -> None:
    check_reachable(build_settings(options))


def is_rubric(rubric: Any) -> bool:
    """Return whether the rubric is a sentence, or has criteria that are all valid."""
    if isinstance(rubric, str):
        return rubric.strip() != ""
    return len(rubric) > 0 and all(
        isinstance(name, str) and name.strip() and is_criterion(criterion) for name, criterion in rubric.items()
    )


def is_criterion(criterion: Any) -> bool:
    """Return whether a criterion is a sentence, a positive weight, or a tuple of both."""
    parts = grading_prompts.split_criterion(criterion)
    sentences = [part for part in parts if isinstance(part, str) and part.strip()]
    weights = [part for part in parts if isinstance(part, (int, float)) and not isinstance(part, bool) and part > 0]
    return 0 < len(parts) == len(sentences) + len(weights) and max(len(sentences), len(weights)) == 1


def list_columns(reference: bool, solution: str) -> set[str]:
    return {solution} if reference else set()


@reward(batched=True, check=check_judge, columns=list_columns, ready=check_server)
async def judge(
    completions: list,
    log_metric: Callable[[str, float], None],
    log_extra: Callable[[str, list], None],
    prompts: list | None = None,
    solution: list | None = None,
    *,
    model: str,
    rubric: str | dict[str, Any],
    base_url: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    scale: tuple[float, float] = (0.0, 10.0),
    reference: bool = False,
    request: dict[str, Any] | None = None,
    max_concurrency: int = 64,
    timeout: float = 60.0,
    batch_timeout: float = 600.0,
    retries: int = 2,
    max_failures: float = 0.2,
    cache: str | None = None,
    canaries: int = 0,
) -> list[float | None]:
    """
    Score that another model gives by a rubric, from 0 (worst) to 1 (best); None if it gave no valid score.

    Each distinct completion takes one call to a server with OpenAI's chat protocol: vLLM, TGI, llama.cpp,
    `transformers serve`, or a hosted one. The judge sees the last question and the last answer, including its
    reasoning, between random marks that the answer cannot predict. It replies with structured output, or with JSON if
    the server does not support that. The reply is read strictly: it must contain a number within the scale.
    Completions without a letter, digit or symbol, and phrases such as "Thought process:", get 0 without a call.

    Logs for each batch `judge/calls`, `judge/cached`, `judge/failures`, `judge/latency` (mean seconds per call),
    `judge/tokens_in`, `judge/tokens_out` and `judge/criteria/<name>` (the mean of each criterion). Logs the column
    `judge/reason` in the table of completions.

    Args:
        model (`str`):
            Name of the model on the server.
        rubric (`str` or `dict`):
            What to grade by: a sentence, or criteria by name, each with a sentence, a weight or both, as in
            `{"clear": ("Can it be followed?", 2.0), "polite": 1.0}`. The score is the weighted mean of the criteria.
        base_url (`str`, *optional*):
            URL of the server, up to `/v1`. Defaults to the environment variable `OPENAI_BASE_URL`, or to OpenAI's server.
        api_key_env (`str`, *optional*, defaults to `"OPENAI_API_KEY"`):
            Environment variable with the API key. It can be unset if the server needs no key.
        scale (`tuple[float, float]`, *optional*, defaults to `(0, 10)`):
            The worst and the best score that the judge may give.
        reference (`bool`, *optional*, defaults to `False`):
            Show the judge the column `solution` as the right answer.
        request (`dict`, *optional*):
            More fields of the request, such as `{"max_tokens": 16384}`. By default, the temperature is 0, and a reply
            has at most 4096 tokens, including the judge's reasoning. If the context is too short for this limit, the
            request is sent without it. A value of None removes a field, such as `{"temperature": None}` for models
            that do not accept one.
        max_concurrency (`int`, *optional*, defaults to `64`):
            Maximum number of concurrent calls of this judge. It is divided evenly between the ranks, with at least one
            call per rank.
        timeout (`float`, *optional*, defaults to `60.0`):
            Time limit of one call, in seconds, from sending the request to the complete reply.
        batch_timeout (`float`, *optional*, defaults to `600.0`):
            Time limit of all calls of a batch, in seconds.
        retries (`int`, *optional*, defaults to `2`):
            How often a call is repeated after a timeout, a broken connection, or the statuses 408, 409, 429 and 5xx. The
            pauses grow and are jittered, unless the server asks for a specific pause that the client allows.
        max_failures (`float`, *optional*, defaults to `0.2`):
            Share of the calls of a batch that may fail after all retries. The run stops if more fail. A single failed
            call does not stop it, unless a call of the next batch fails, too.
        cache (`str`, *optional*):
            Folder for verdicts, so that the same request is not sent again. Several processes can share it.
        canaries (`int`, *optional*, defaults to `0`):
            Once in this many batches, the judge also grades a text that only flatters it; 0 means never. The score is
            logged as `judge/canary`. A score of 0.5 or more logs a warning.

    Raises:
        `RuntimeError`: more calls of a batch failed than `max_failures` allows. The message quotes the server.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, gate, judge

    >>> clear = judge(model="Qwen/Qwen3-8B", rubric="Is it easy to follow?", base_url="http://localhost:8000/v1")
    >>> gate(clear, by=boxed())  # only right answers are sent
    gate(judge(model='Qwen/Qwen3-8B', rubric='Is it easy to follow?', base_url='http://localhost:8000/v1'), by=boxed())

    ```
    """
    settings = build_settings(locals())  # the options are local variables
    rules = Rubric(freeze(rubric, "rubric"), scale)
    answers = [completion_text(completion) for completion in completions]
    questions = [prompt_text(prompt) for prompt in prompts or [""] * len(answers)]
    references = read_references(solution, reference, len(answers))
    rows = [row for row, answer in enumerate(answers) if not grading_prompts.is_trivial(answer)]
    requests = [
        grading_prompts.build_grading_prompt(rules, questions[row], answers[row], references[row]) for row in rows
    ]
    async with connect(settings) as server:
        gradings = await server.ask(requests, lambda verdict: verdicts.read_grade(verdict, rules))
        if gradings and canaries and is_canary_due(settings, rules, canaries):
            await grade_canary(server, rules, questions[rows[0]], references[rows[0]], log_metric)
    log_costs(gradings, log_metric)
    scores: list[Score] = [0.0] * len(answers)
    reasons = ["nothing to grade"] * len(answers)
    for row, grading in zip(rows, gradings, strict=True):
        scores[row], reasons[row] = grading.value and grading.value[0], describe_grading(grading)
    for name in rules.weights:
        if grades := [grading.value[1][name] for grading in gradings if grading.error is None]:
            log_metric(f"criteria/{name}", fmean(grades))
    log_extra("reason", reasons)
    return scores


def is_canary_due(settings: Settings, rules: Rubric, canaries: int) -> bool:
    BATCH_COUNTS[settings, rules] += 1
    return BATCH_COUNTS[settings, rules] % canaries == 0


async def grade_canary(
    server: SharedClient,
    rules: Rubric,
    question: str,
    reference: str | None,
    log_metric: Callable[[str, float], None],
) -> None:
    """Grade an answer that is bad by any rubric, and warn if the judge likes it."""
    request = grading_prompts.build_grading_prompt(rules, question, grading_prompts.CANARY, reference)
    (grading,) = await server.ask([request], lambda verdict: verdicts.read_grade(verdict, rules), counts=False)
    if grading.error is not None:
        return
    score, _ = grading.value
    log_metric("canary", score)
    if score >= 0.5:
        logger.warning(
            f"The judge {server.settings.model!r} gave {score:.2f} of 1 to flattery in place of an answer. Its reason was: "
            f"{grading.reason[:300]!r}. The model may learn to flatter. Use a stronger judge, or score only answers that "
            f"pass a rule: gate(judge(...), by=...)."
        )


@reward(grouped=True, check=check_judge, columns=list_columns, ready=check_server)
async def ranking(
    prompt: str,
    completions: list[str],
    log_metric: Callable[[str, float], None],
    log_extra: Callable[[str, list], None],
    solution: Any = None,
    *,
    model: str,
    rubric: str,
    swaps: Literal[1, 2] = 1,
    base_url: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    scale: tuple[float, float] = (0.0, 10.0),
    reference: bool = False,
    request: dict[str, Any] | None = None,
    max_concurrency: int = 64,
    timeout: float = 60.0,
    batch_timeout: float = 600.0,
    retries: int = 2,
    max_failures: float = 0.2,
    cache: str | None = None,
) -> list[float | None]:
    """
    Score that another model gives when it compares a group's completions, from 0 to 1; None if it gave no valid score.

    Models compare better than they grade, and a group needs only one call. The judge sees all completions of a prompt at
    once, in a random order and without duplicates, and scores each of them. Requests and logs are as in [`judge`], but
    values are logged for each group, and TRL shows the mean over groups. Empty completions get 0 and are not shown to the
    judge. The idea is from [RULER](https://art.openpipe.ai/fundamentals/ruler).

    Args:
        model (`str`):
            Name of the model on the server.
        rubric (`str`):
            What to grade by: a sentence.
        swaps (`int`, *optional*, defaults to `1`):
            With 2, each group is also graded in reverse order, and the scores are averaged. `ranking/agreement` is 1
            minus the mean difference between the two. If one of the two calls fails, the scores are None.
        base_url, api_key_env, scale, reference, request, max_concurrency, timeout, batch_timeout, retries, max_failures, cache:
            As in [`judge`].

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, ranking

    >>> boxed() + 0.5 * ranking(model="Qwen/Qwen3-8B", rubric="Which is easiest to follow?", swaps=2)
    boxed() + 0.5 * ranking(model='Qwen/Qwen3-8B', rubric='Which is easiest to follow?', swaps=2)

    ```
    """
    settings = build_settings(locals())  # the options are local variables
    rules = Rubric(rubric, scale)
    (shown_reference,) = read_references([solution], reference, 1)
    different = [text for text in dict.fromkeys(completions) if not grading_prompts.is_trivial(text)]
    orders = choose_orders(different, swaps) if different else []
    requests = [grading_prompts.build_ranking_prompt(rules, prompt, order, shown_reference) for order in orders]
    async with connect(settings) as server:
        gradings = await server.ask(requests, lambda verdict: verdicts.read_ranking(verdict, rules, len(different)))
    log_costs(gradings, log_metric)
    reason = " | ".join(map(describe_grading, gradings))
    log_extra("reason", [reason if text in different else "nothing to grade" for text in completions])
    if any(grading.error is not None for grading in gradings):  # one order alone has a bias that the second cancels
        return [None if text in different else 0.0 for text in completions]
    scores_of = [dict(zip(order, grading.value, strict=True)) for order, grading in zip(orders, gradings, strict=True)]
    if len(scores_of) == 2:
        log_metric("agreement", 1 - fmean(abs(scores_of[0][text] - scores_of[1][text]) for text in different))
    return [fmean(scores[text] for scores in scores_of) if text in different else 0.0 for text in completions]


def choose_orders(texts: list[str], swaps: int) -> list[list[str]]:
    """Return a random order and, for 2 swaps, its reverse. The same texts always get the same order."""
    order = random.Random(ascii(sorted(texts))).sample(sorted(texts), len(texts))
    return [order, order[::-1]][: swaps if len(texts) > 1 else 1]


def read_references(solution: list[Any] | None, reference: bool, count: int) -> list[str | None]:
    """Return the right answers that the judge sees, or None for each of `count` rows if it sees none."""
    if not reference or solution is None:
        return [None] * count
    return [None if value is None else str(value) for value in solution]


def describe_grading(grading: Grading) -> str:
    return grading.reason if grading.error is None else f"no verdict: {grading.error}"


def log_costs(gradings: list[Grading], log_metric: Callable[[str, float], None]) -> None:
    """Log what the calls of a batch cost. A call that two rewards share counts for the one that made it."""
    gradings = [*{id(grading): grading for grading in gradings}.values()]  # equal rows share a grading
    seconds = [second for grading in gradings for second in grading.seconds]
    if seconds:
        log_metric("latency", fmean(seconds))
    log_metric("calls", len(seconds))
    for name in ("cached", "tokens_in", "tokens_out"):
        log_metric(name, sum(getattr(grading, name) for grading in gradings))
    log_metric("failures", sum(grading.error is not None for grading in gradings))
