"""Rewards for which another model grades completions."""

import random
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from statistics import fmean
from typing import Annotated, Any, Literal

from annotated_types import Ge

from ..judging.graders import GradedRow, Grader, ScaleGrader, grade_row, read_graders
from ..judging.rubrics import UnreadableRubric, read_rubrics
from ..judging.settings import Settings, build_settings, check_judge, check_server, list_columns
from ..judging.verdicts import Grading, GradingPrompt, is_trivial
from ..options import Column, PositiveFloat, PositiveInt, Share, freeze
from ..registry import reward
from ..scores import LogExtra, LogMetric, Score
from ..texts import completion_text, conversation_text, prompt_text, strip_reasoning


__all__ = ["judge", "ranking"]
Graders = Sequence[Grader | UnreadableRubric]  # of each row, or what is wrong with its rubric


@reward(batched=True, check=check_judge, columns=list_columns, ready=check_server, reads={"rubric": read_rubrics})
async def judge(
    completions: list,
    log_metric: LogMetric,
    log_extra: LogExtra,
    prompts: list | None = None,
    solution: list | None = None,
    *,
    model: str,
    rubric: str | dict[str, Any] | Column,
    base_url: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    scale: tuple[float, float] = (0.0, 10.0),
    reference: bool = False,
    reasoning: bool = False,
    request: dict[str, Any] | None = None,
    max_concurrency: PositiveInt = 64,
    timeout: PositiveFloat = 60.0,
    batch_timeout: PositiveFloat = 600.0,
    retries: Annotated[int, Ge(0)] = 2,
    max_failures: Share = 0.2,
    cache: str | None = None,
    separate: bool = False,
) -> list[Score]:
    """
    Score that another model gives by a rubric, from 0 (worst) to 1 (best); None if it gave no valid score.

    With `rubric=column("rubric")`, each row has criteria of its own. The judge says whether each criterion is met. The
    score is the sum of the points met, divided by the sum of the positive points, and limited to the range from 0 to 1.

    Each distinct completion takes one call to a server with OpenAI's chat protocol: vLLM, TGI, llama.cpp,
    `transformers serve`, or a hosted one. The judge sees the last question (with a column, the whole conversation) and
    the last answer, without its reasoning, between random marks that the answer cannot predict. It replies with
    structured output, or with JSON if the server does not support that. The reply is read strictly: it must contain a
    number within the scale, or one verdict on each criterion. Completions with nothing after their reasoning, those without
    a letter, digit or symbol, and phrases such as "Thought process:", get 0 without a call.

    Logs for each batch `judge/calls`, `judge/cached`, `judge/failures`, `judge/latency` (mean seconds per call),
    `judge/tokens_in`, `judge/tokens_out` and `judge/criteria/<name>` (the mean of each criterion). Logs the column
    `judge/reason` in the table of completions.

    Args:
        model (`str`):
            Name of the model on the server.
        rubric (`str`, `dict` or [`column`]):
            What to grade by: a sentence, or criteria by name, each with a sentence, a weight or both, as in
            `{"clear": ("Can it be followed?", 2.0), "polite": 1.0}`. The score is the weighted mean of the criteria. Or a
            column with criteria for each row: sentences, or dicts with `points` or `weight`, which are negative for
            faults, and `required`, with which the score is 0 if the criterion is not met.
        base_url (`str`, *optional*):
            URL of the server, up to `/v1`. Defaults to the environment variable `OPENAI_BASE_URL`, or to OpenAI's server.
        api_key_env (`str`, *optional*, defaults to `"OPENAI_API_KEY"`):
            Environment variable with the API key. It can be unset if the server needs no key.
        scale (`tuple[float, float]`, *optional*, defaults to `(0, 10)`):
            The worst and the best score that the judge may give.
        reference (`bool`, *optional*, defaults to `False`):
            Show the judge the column `solution` as the right answer.
        reasoning (`bool`, *optional*, defaults to `False`):
            Show the judge the reasoning, too.
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
        separate (`bool`, *optional*, defaults to `False`):
            Send one request for each criterion of a column, in place of one for all.

    Raises:
        `RuntimeError`: more calls of a batch failed than `max_failures` allows. The message quotes the server.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, column, gate, judge

    >>> clear = judge(model="Qwen/Qwen3-8B", rubric="Is it easy to follow?", base_url="http://localhost:8000/v1")
    >>> gate(clear, by=boxed())  # only right answers are sent
    gate(judge(model='Qwen/Qwen3-8B', rubric='Is it easy to follow?', base_url='http://localhost:8000/v1'), by=boxed())
    >>> judge(model="Qwen/Qwen3-8B", rubric=column("rubric"))  # each row has its own criteria
    judge(model='Qwen/Qwen3-8B', rubric=column('rubric'))

    ```
    """
    settings = build_settings(locals())  # the options are local variables
    texts = [*map(completion_text, completions)]
    answers = [*map(strip_reasoning, texts)]
    is_constant = isinstance(rubric, (str, Mapping))
    show = prompt_text if is_constant else conversation_text  # criteria of a row are about all of its conversation
    questions = [show(prompt) for prompt in prompts or [""] * len(answers)]
    references = read_references(solution, reference, len(answers))
    graders = choose_graders(rubric, scale, separate, len(answers), log_metric)
    shown = texts if reasoning else answers
    prompts_of: list[list[Any]] = [[] for _ in graders]
    for row, grader in enumerate(graders):
        if isinstance(grader, Grader) and not is_trivial(answers[row]):
            prompts_of[row] = [*grader.build_prompts(questions[row], shown[row], references[row])]
    gradings = iter(await ask_judge(settings, [*chain.from_iterable(prompts_of)], log_metric))
    rows = [
        grade_row(grader, [*islice(gradings, len(asked))]) for grader, asked in zip(graders, prompts_of, strict=True)
    ]
    log_rows(rows, is_constant, log_metric, log_extra)
    return [row.score for row in rows]


def choose_graders(
    rubric: Any, scale: tuple[float, float], separate: bool, count: int, log_metric: LogMetric
) -> Graders:
    """Return a grader for each of `count` rows, or what is wrong with the rubric of a row."""
    if isinstance(rubric, (str, Mapping)):
        return [ScaleGrader(freeze(rubric, "rubric"), scale)] * count
    graders = read_graders(rubric, separate)  # the values of a column
    log_metric("unreadable", sum(isinstance(grader, UnreadableRubric) for grader in graders))
    return graders


def log_rows(rows: list[GradedRow], is_constant: bool, log_metric: LogMetric, log_extra: LogExtra) -> None:
    for name in dict.fromkeys(name for row in rows for name in row.metrics):
        log_metric(name, fmean(row.metrics[name] for row in rows if name in row.metrics))
    log_extra("reason", [row.reason for row in rows])
    if not is_constant:
        log_extra("verdicts", [row.verdicts for row in rows])


async def ask_judge(settings: Settings, prompts: list[GradingPrompt], log_metric: LogMetric) -> list[Grading]:
    from ..judging.client import connect  # which needs the openai client

    async with connect(settings) as server:
        gradings = await server.ask(prompts)
    log_costs(gradings, log_metric)
    return gradings


@reward(grouped=True, check=check_judge, columns=list_columns, ready=check_server)
async def ranking(
    prompt: str,
    completions: list[str],
    log_metric: LogMetric,
    log_extra: LogExtra,
    solution: Any = None,
    *,
    model: str,
    rubric: str,
    swaps: Literal[1, 2] = 1,
    base_url: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    scale: tuple[float, float] = (0.0, 10.0),
    reference: bool = False,
    reasoning: bool = False,
    request: dict[str, Any] | None = None,
    max_concurrency: PositiveInt = 64,
    timeout: PositiveFloat = 60.0,
    batch_timeout: PositiveFloat = 600.0,
    retries: Annotated[int, Ge(0)] = 2,
    max_failures: Share = 0.2,
    cache: str | None = None,
) -> list[Score]:
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
        base_url, api_key_env, scale, reference, reasoning, request, max_concurrency, timeout, batch_timeout, retries, max_failures, cache:
            As in [`judge`].

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, ranking

    >>> boxed() + 0.5 * ranking(model="Qwen/Qwen3-8B", rubric="Which is easiest to follow?", swaps=2)
    boxed() + 0.5 * ranking(model='Qwen/Qwen3-8B', rubric='Which is easiest to follow?', swaps=2)

    ```
    """
    settings = build_settings(locals())  # the options are local variables
    grader = ScaleGrader(rubric, scale)
    (shown_reference,) = read_references([solution], reference, 1)
    graded = list_graded(completions, reasoning)
    different = [text for text in dict.fromkeys(graded) if text is not None]
    orders = choose_orders(different, swaps) if different else []
    requests = [grader.build_ranking(prompt, order, shown_reference) for order in orders]
    gradings = await ask_judge(settings, requests, log_metric)
    reason = " | ".join(map(str, gradings))
    log_extra("reason", ["nothing to grade" if text is None else reason for text in graded])
    scores = average_scores(orders, gradings, log_metric)
    return [0.0 if text is None else scores.get(text) for text in graded]


def list_graded(completions: list[str], reasoning: bool) -> list[str | None]:
    """Return what the judge sees of each completion, or None of those without an answer."""
    answers = [*map(strip_reasoning, completions)]
    shown = completions if reasoning else answers
    return [None if is_trivial(answer) else text for text, answer in zip(shown, answers, strict=True)]


def average_scores(orders: list[list[str]], gradings: list[Grading], log_metric: LogMetric) -> dict[str, float]:
    """Return the mean score of each text, or of none if a call failed: one order has a bias that the other cancels."""
    if not orders or any(grading.error is not None for grading in gradings):
        return {}
    scores_of = []
    for order, grading in zip(orders, gradings, strict=True):
        scores_of.append(dict(zip(order, grading.values.values(), strict=True)))
    if len(scores_of) == 2:
        first, second = scores_of
        log_metric("agreement", 1 - fmean(abs(first[text] - second[text]) for text in first))
    return {text: fmean(scores[text] for scores in scores_of) for text in orders[0]}


def choose_orders(texts: list[str], swaps: int) -> list[list[str]]:
    """Return a random order and, for 2 swaps, its reverse. The same texts always get the same order."""
    order = random.Random(ascii(sorted(texts))).sample(sorted(texts), len(texts))
    return [order, order[::-1]][: swaps if len(texts) > 1 else 1]


def read_references(solution: list[Any] | None, reference: bool, count: int) -> list[str | None]:
    """Return the right answers that the judge sees, or None for each of `count` rows if it sees none."""
    if not reference or solution is None:
        return [None] * count
    return [None if value is None else str(value) for value in solution]


def log_costs(gradings: list[Grading], log_metric: LogMetric) -> None:
    gradings = [*{id(grading): grading for grading in gradings}.values()]  # equal rows share a grading
    seconds = [second for grading in gradings for second in grading.costs.seconds]
    if seconds:
        log_metric("latency", fmean(seconds))
    log_metric("calls", len(seconds))
    for name in ("cached", "tokens_in", "tokens_out"):
        log_metric(name, sum(getattr(grading.costs, name) for grading in gradings))
    log_metric("failures", sum(grading.error is not None for grading in gradings))
