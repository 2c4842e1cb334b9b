"""Rewards that ask another model."""

import logging
import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

from ..batch import completion_text, prompt_text
from ..expressions import missing_column
from ..judging import grading_prompts, verdicts
from ..judging.grading_prompts import Rubric
from ..judging.servers import Answer, Server, Settings, check_client, connected
from ..options import freeze
from ..registry import reward


__all__ = ["judge", "ranking"]


logger = logging.getLogger(__name__)

BATCHES: "Counter[tuple[Settings, Rubric]]" = Counter()
"""Batches that each judge has seen, to know when a canary is due."""


def check_judge(
    model: str,
    rubric: str | dict[str, Any],
    scale: tuple[float, float],
    max_concurrency: int,
    timeout: float,
    batch_timeout: float,
    retries: int,
    max_failures: float,
    base_url: str | None,
    api_key_env: str,
    request: dict[str, Any] | None,
    cache: str | None,
    canaries: int = 0,
) -> None:
    check_client()
    ours = {"messages", "model", "stream", "response_format"} & {*(request or ())}
    for what, wrong, right in (
        (f"model={model!r}", not model.strip(), "Name the model as the server knows it"),
        (
            f"base_url={base_url!r}",
            not re.match("https?://.", base_url or "http://_"),
            "Begin it with http:// or https://",
        ),
        # it may be the key itself, which is not to be seen
        (
            "an api_key_env that is no name",
            not re.fullmatch(r"[A-Za-z_]\w{0,60}", api_key_env),
            "Name the environment variable that holds the key",
        ),
        (f"request={request!r}", ours, f"Leave out {', '.join(sorted(ours))}, which the judge sets itself"),
        (f"canaries={canaries}", canaries < 0, "Give it a number of batches, or 0"),
        (f"cache={cache!r}", cache == "", "Name a folder, or leave it out"),
        (f"rubric={rubric!r}", not is_rubric(rubric), "Write a sentence, or {'name': ('What to look at?', weight)}"),
        (f"scale={scale}", not scale[0] < scale[1], "Give it the worst and the best score: scale=(0, 10)"),
        (f"max_concurrency={max_concurrency}", max_concurrency < 1, "Give it a number from 1"),
        (f"timeout={timeout}, batch_timeout={batch_timeout}", min(timeout, batch_timeout) <= 0, "Give them seconds"),
        (f"retries={retries}", retries < 0, "Give it a number from 0"),
        (f"max_failures={max_failures}", not 0 <= max_failures <= 1, "Give it a share from 0 to 1"),
    ):
        if wrong:
            raise ValueError(f"A judge has {what}, with which it cannot work. {right}.")


def is_rubric(rubric: Any) -> bool:
    """Whether it is a sentence, or criteria of which each has a sentence, a positive weight, or both."""
    if isinstance(rubric, str):
        return rubric.strip() != ""
    kinds = [sorted(type(part).__name__ for part in grading_prompts.parts(given)) for given in rubric.values()]
    return (
        len(kinds) > 0
        and all(isinstance(name, str) and name.strip() for name in rubric)
        and all(
            part.strip() for given in rubric.values() for part in grading_prompts.parts(given) if isinstance(part, str)
        )
        and all(kind in (["str"], ["int"], ["float"], ["int", "str"], ["float", "str"]) for kind in kinds)
        and all(weight > 0 for weight in Rubric(rubric, (0, 1)).weights.values())
    )


def with_reference(reference: bool) -> set[str]:
    return {"solution"} if reference else set()


@reward(batched=True, check=check_judge, columns=with_reference)
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
    The score that another model gives by a rubric, from 0 for the worst to 1 for the best; None where it gave none.

    Every different completion is one call to a server that speaks OpenAI's chat protocol: vLLM, TGI, llama.cpp,
    `transformers serve`, or a hosted one. The judge sees the last question and the last answer to it, reasoning and all,
    behind a fence that the text cannot know, replies by structured output (or in JSON, where the server has none), and
    what it says is read strictly: anything but a number within the scale is no verdict. Completions without a letter,
    digit or sign, and phrases such as "Thought process:", are worth 0 without a call.

    Logs `judge/calls`, `judge/cached`, `judge/failures`, `judge/latency` (mean seconds of a call), `judge/tokens_in`
    and `judge/tokens_out` for each batch, `judge/criteria/<name>`, the mean of each criterion, and the column
    `judge/reason` in the table of completions.

    Args:
        model (`str`):
            Name of the model, as the server knows it.
        rubric (`str` or `dict`):
            What to grade by: a sentence, or criteria by name with a sentence, a weight, or both, as in
            `{"clear": ("Can it be followed?", 2.0), "polite": 1.0}`. Their weighted mean is the score.
        base_url (`str`, *optional*):
            Address of the server, up to `/v1`. Without it, that of `OPENAI_BASE_URL`, or OpenAI's.
        api_key_env (`str`, *optional*, defaults to `"OPENAI_API_KEY"`):
            Environment variable with the key. A server of your own needs none.
        scale (`tuple[float, float]`, *optional*, defaults to `(0, 10)`):
            The worst and the best score that the judge may give.
        reference (`bool`, *optional*, defaults to `False`):
            Show the judge the column `solution` as the right answer.
        request (`dict`, *optional*):
            More fields of the request, such as `{"max_tokens": 16384}`. By default, the temperature is 0 and a reply has
            at most 4096 tokens, including the judge's reasoning; a text that leaves less room in the context is sent
            without this limit. None leaves a field out, as `{"temperature": None}` for models that refuse it.
        max_concurrency (`int`, *optional*, defaults to `64`):
            Calls of this judge in flight at a time, shared evenly by the ranks, each of which has at least one.
        timeout (`float`, *optional*, defaults to `60.0`):
            Seconds for one call, from when it is sent until its reply is there.
        batch_timeout (`float`, *optional*, defaults to `600.0`):
            Seconds to wait for all of a batch.
        retries (`int`, *optional*, defaults to `2`):
            How often a call is made again after a time-out, a broken connection or the statuses 408, 409, 429 and 5xx,
            with growing, jittered pauses, or after the one that the server asks for (up to what the client allows).
        max_failures (`float`, *optional*, defaults to `0.2`):
            Share of the calls of a batch that may fail for good; more than that, and more than one, stops the run.
        cache (`str`, *optional*):
            Folder in which verdicts are kept, by who was asked what; several processes may share it.
        canaries (`int`, *optional*, defaults to `0`):
            In every so many batches, grade flattery in place of an answer, too: `judge/canary` is its score, and one
            from 0.5 is warned about. 0 for never.

    Raises:
        `RuntimeError`: more than `max_failures` of a batch failed; it quotes the server.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, gate, judge

    >>> clear = judge(model="Qwen/Qwen3-8B", rubric="Is it easy to follow?", base_url="http://localhost:8000/v1")
    >>> gate(clear, by=boxed())  # only right answers are sent
    gate(judge(model='Qwen/Qwen3-8B', rubric='Is it easy to follow?', base_url='http://localhost:8000/v1'), by=boxed())

    ```
    """
    settings = Settings(
        model, base_url, api_key_env, freeze(request, "request"), max_concurrency, timeout, batch_timeout, retries,
        max_failures, cache,
    )  # fmt: skip
    rules = Rubric(freeze(rubric, "rubric"), scale)
    answers = [completion_text(completion) for completion in completions]
    questions = [prompt_text(prompt) for prompt in prompts or [""] * len(answers)]
    references = solutions(solution, reference, len(answers))
    rows = [row for row, answer in enumerate(answers) if not grading_prompts.is_trivial(answer)]
    asked = [grading_prompts.graded(rules, questions[row], answers[row], references[row]) for row in rows]
    async with connected(settings) as server:
        given = await server.ask(asked, lambda _, verdict: verdicts.graded(verdict, rules))
        if given and canaries and due(settings, rules, canaries):
            await probe(server, rules, questions[rows[0]], references[rows[0]], log_metric)
    log_costs(given, log_metric)
    scores: list[float | None] = [0.0] * len(answers)
    reasons = ["nothing to grade"] * len(answers)
    for row, answer in zip(rows, given, strict=True):
        scores[row], reasons[row] = answer.value and answer.value[0], told(answer)
    for name in rules.weights:
        if known := [answer.value[1][name] for answer in given if answer.error is None]:
            log_metric(f"criteria/{name}", mean(known))
    log_extra("reason", reasons)
    return scores


def due(settings: Settings, rules: Rubric, canaries: int) -> bool:
    BATCHES[settings, rules] += 1
    return BATCHES[settings, rules] % canaries == 0


async def probe(server: Server, rules: Rubric, question: str, reference: str | None, log_metric: Callable) -> None:
    """Grade what no rubric can like, and tell if the judge does."""
    sheet = grading_prompts.graded(rules, question, grading_prompts.CANARY, reference)
    (answer,) = await server.ask([sheet], lambda _, verdict: verdicts.graded(verdict, rules), counts=False)
    if answer.error is not None:
        return
    score, _ = answer.value
    log_metric("canary", score)
    if score >= 0.5:
        logger.warning(
            f"The judge {server.settings.model!r} gave {score:.2f} of 1 to flattery in place of an answer, for which it "
            f"said: {answer.reason[:300]!r}. What it pays may be talk: take a stronger one, or put it behind a rule: "
            f"gate(judge(...), by=...)."
        )


@reward(grouped=True, check=check_judge, columns=with_reference)
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
    The score that another model gives a completion beside the others of its group, from 0 to 1; None where it gave none.

    Models compare better than they grade, and one call does for a group. The judge sees all completions of a prompt at
    once, in a random order, those that are equal only once, and scores each of them. Otherwise it is asked, and logs,
    as [`judge`], but a group at a time: TRL shows the mean over groups. Empty completions are worth 0 and not shown.
    The idea is that of
    [RULER](https://art.openpipe.ai/fundamentals/ruler).

    Args:
        model (`str`):
            Name of the model, as the server knows it.
        rubric (`str`):
            What to grade by, as a sentence.
        swaps (`int`, *optional*, defaults to `1`):
            With 2, every group is graded twice, in another order, and the scores are averaged; `ranking/agreement` is 1
            less the mean difference between the two. Where one of the two fails, so does the group.
        base_url, api_key_env, scale, reference, request, max_concurrency, timeout, batch_timeout, retries, max_failures, cache:
            As in [`judge`].

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, ranking

    >>> boxed() + 0.5 * ranking(model="Qwen/Qwen3-8B", rubric="Which is easiest to follow?", swaps=2)
    boxed() + 0.5 * ranking(model='Qwen/Qwen3-8B', rubric='Which is easiest to follow?', swaps=2)

    ```
    """
    settings = Settings(
        model, base_url, api_key_env, freeze(request, "request"), max_concurrency, timeout, batch_timeout, retries,
        max_failures, cache,
    )  # fmt: skip
    rules, (shown_as_right,) = Rubric(rubric, scale), solutions([solution], reference, 1)
    different = [text for text in dict.fromkeys(completions) if not grading_prompts.is_trivial(text)]
    orders = shuffled(different, swaps) if different else []
    asked = [grading_prompts.compared(rules, prompt, order, shown_as_right) for order in orders]
    async with connected(settings) as server:
        given = await server.ask(asked, lambda _, verdict: verdicts.compared(verdict, rules, len(different)))
    log_costs(given, log_metric)
    said = " | ".join(map(told, given))
    log_extra("reason", [said if text in different else "nothing to grade" for text in completions])
    if any(answer.error is not None for answer in given):  # one order of two has the bias that two are to cancel
        return [None if text in different else 0.0 for text in completions]
    scored = [dict(zip(order, answer.value, strict=True)) for order, answer in zip(orders, given, strict=True)]
    if len(scored) == 2:
        log_metric("agreement", 1 - mean([abs(scored[0][text] - scored[1][text]) for text in different]))
    return [mean([scores[text] for scores in scored]) if text in different else 0.0 for text in completions]


def shuffled(texts: list[str], swaps: int) -> list[list[str]]:
    """The texts in so many orders: a random one, which is theirs wherever they are compared, and its reverse."""
    order = random.Random(ascii(sorted(texts))).sample(sorted(texts), len(texts))
    return [order, order[::-1]][: swaps if len(texts) > 1 else 1]


def solutions(solution: list | None, reference: bool, count: int) -> list[str | None]:
    """What the judge sees as right."""
    if not reference:
        return [None] * count
    if solution is None:
        raise missing_column("judge", "solution", ())
    return [None if value is None else str(value) for value in solution]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def told(answer: Answer) -> str:
    return answer.reason if answer.error is None else f"no verdict: {answer.error}"


def log_costs(answers: list[Answer], log_metric: Callable[[str, float], None]) -> None:
    """What the calls of a batch took; those shared with another reward are that one's."""
    answers = [*{id(answer): answer for answer in answers}.values()]  # rows that are alike have one
    seconds = [second for answer in answers for second in answer.seconds]
    if seconds:
        log_metric("latency", mean(seconds))
    log_metric("calls", len(seconds))
    for name in ("cached", "tokens_in", "tokens_out"):
        log_metric(name, sum(getattr(answer, name) for answer in answers))
    log_metric("failures", sum(answer.error is not None for answer in answers))
