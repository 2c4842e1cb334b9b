"""Rewards for the right answer."""

import re
from collections.abc import Callable
from typing import Any, Literal

from ..batch import completion_text, prompt_text
from ..registry import reward
from ..text.forms import Form
from ..verify import pool
from ..verify.boxes import boxed_answer, final_part, stated_answer
from ..verify.equality import Terms, restated
from ..verify.golds import read_gold
from ..verify.latex import plain, tidy
from ..verify.solutions import read_solutions


__all__ = ["answer", "boxed", "choice", "exact"]


Units = Literal["ignore", "must_match"]


def check_terms(tolerance: float | None) -> None:
    if tolerance is not None and tolerance < 0:
        raise ValueError(f"A reward has tolerance={tolerance}, and it is a distance. Give it a number from 0.")


@reward(batched=True, check=check_terms, outcome=True, reads={"solution": read_solutions})
def boxed(
    completions: list,
    solution: list[Any],
    log_metric: Callable[[str, float], None],
    prompts: list | None = None,
    *,
    partial: float = 0.0,
    tolerance: float | None = None,
    box: Literal["last", "only", "first"] = "last",
    units: Units = "ignore",
    evaluated: bool = False,
) -> list[float | None]:
    r"""
    1 if the boxed answer is right, `partial` if it is wrong, 0 without a box; None if the solution cannot be read.

    The answer is the content of the last `\boxed{}` (or `\fbox{}`, or `\boxed 7`) after the reasoning; a box inside
    `<think>` or one that is never closed is none, and an empty one is a wrong answer. It is compared with the column
    `solution`, which may hold numbers, truth values, bare LaTeX, `$...$`, `\boxed{...}` or GSM8K's `... #### 72`: as
    text, as numbers, as lists of them, and where that does not settle it by
    [math-verify](https://github.com/huggingface/Math-Verify). That runs in processes of its own: an answer that takes
    it longer than two seconds is wrong, and none can hang a run. Logs `boxed/timeouts`, `boxed/unreadable_gold` and
    `boxed/worker_restarts`, counts per batch.

    Args:
        partial (`float`, *optional*, defaults to `0.0`):
            Score of a boxed answer that is wrong. `boxed(partial=0.5) + 0.5 * boxed(name="correct")` pays 0 without a
            box, 0.5 for a wrong one and 1.5 for the right one.
        tolerance (`float`, *optional*):
            Two numbers are equal where they differ by no more than this, or by no more than this times the larger of
            them. Without it they must be equal.
        box (`str`, *optional*, defaults to `"last"`):
            Which box counts; with `"only"`, an answer of several boxes is none.
        units (`str`, *optional*, defaults to `"ignore"`):
            `"ignore"` compares the values: `18 dollars` is `18`, and `50\%` is both `50` and `0.5`. With
            `"must_match"`, a solution with a unit needs an answer with the same one, written in any usual way but not
            converted, and `50\%` is `0.5` alone.
        evaluated (`bool`, *optional*, defaults to `False`):
            The answer must be worked out, unless the solution is not: sums and products of numbers, powers and roots
            with a rational value, integrals, and an expression that stands in the prompt are wrong. Fractions and
            powers of ten are numbers.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed

    >>> completions = [r"\boxed{\frac{1}{2}}", r"Thus \boxed{0.5}.", r"\boxed{2}", "0.5"]
    >>> boxed()(completions=completions, solution=[r"\frac12"] * 4)
    [1.0, 1.0, 0.0, 0.0]
    >>> boxed(partial=0.1)(completions=completions, solution=[r"\frac12"] * 4)
    [1.0, 1.0, 0.1, 0.0]
    >>> boxed(evaluated=True)(completions=[r"\boxed{12 \times 6}", r"\boxed{72}"], solution=[72, 72])
    [0.0, 1.0]

    ```
    """
    answers = [boxed_answer(final_part(completion_text(completion)), box) for completion in completions]
    return judged(answers, solution, prompts, log_metric, partial, Terms(tolerance, units, evaluated))


@reward(batched=True, check=check_terms, outcome=True, reads={"solution": read_solutions})
def answer(
    completions: list,
    solution: list[Any],
    log_metric: Callable[[str, float], None],
    prompts: list | None = None,
    *,
    partial: float = 0.0,
    tolerance: float | None = None,
    units: Units = "ignore",
    evaluated: bool = False,
) -> list[float | None]:
    r"""
    1 if the final answer is right, boxed or not, `partial` if it is wrong, 0 without one; None as for [`boxed`].

    The answer is what the text after the reasoning gives, by the first of these that it has: a last `\boxed{}`, the
    line after a last `####`, a last `<answer>...</answer>`, a last statement such as "the answer is 72." or
    "Answer: $72$", or the whole of it where it is one line. It is judged as [`boxed`] does, with the same options.

    Args:
        partial (`float`, *optional*, defaults to `0.0`):
            Score of an answer that is wrong.
        tolerance (`float`, *optional*):
            As in [`boxed`].
        units (`str`, *optional*, defaults to `"ignore"`):
            As in [`boxed`].
        evaluated (`bool`, *optional*, defaults to `False`):
            As in [`boxed`].

    Example:

    ```python
    >>> from trl_grpo_rewards import answer

    >>> completions = ["<think>48 + 24</think> 72", "48 + 24 = 72\n#### 72", "So the answer is $72$.", "I give up."]
    >>> answer()(completions=completions, solution=["72"] * 4)
    [1.0, 1.0, 1.0, 0.0]

    ```
    """
    answers = [stated_answer(final_part(completion_text(completion))) for completion in completions]
    return judged(answers, solution, prompts, log_metric, partial, Terms(tolerance, units, evaluated))


def judged(
    answers: list[str | None],
    solution: list[Any],
    prompts: list | None,
    log_metric: Callable[[str, float], None],
    partial: float,
    terms: Terms,
) -> list[float | None]:
    golds = [read_gold(value) for value in solution]
    rows = [row for row in range(len(golds)) if golds[row] is not None and answers[row] is not None]
    restarts = pool.restarts()
    judgements = pool.judge([(golds[row], answers[row]) for row in rows], terms)
    scores = [None if gold is None else 0.0 for gold in golds]
    for row, judgement in zip(rows, judgements, strict=True):
        equal = judgement.equal
        if equal and terms.evaluated and prompts and plain(tidy(golds[row])) != plain(tidy(answers[row])):
            equal = not restated(answers[row], prompt_text(prompts[row]))
        scores[row] = equal if equal is None else 1.0 if equal else partial
    log_metric("timeouts", sum(judgement.fault == "timeout" for judgement in judgements))
    log_metric("unreadable_gold", golds.count(None) + sum(judgement.fault == "gold" for judgement in judgements))
    log_metric("worker_restarts", pool.restarts() - restarts)
    return scores


@reward(outcome=True)
def exact(completion: str, solution: Any, *, case: bool = False) -> float | None:
    """
    1 if the final answer is the solution as a text, else 0; None if the solution is empty.

    The answer is found as by [`answer`], or is all that follows the reasoning. Spacing, a full stop at the end, bold
    print and LaTeX fonts do not count.

    Args:
        case (`bool`, *optional*, defaults to `False`):
            Whether capitals must agree.

    Example:

    ```python
    >>> from trl_grpo_rewards import exact

    >>> exact()(completions=["<think>France...</think>\\nparis", "The answer is **Paris**.", "Lyon"], solution=["Paris"] * 3)
    [1.0, 1.0, 0.0]

    ```
    """
    gold = read_gold(solution)
    if gold is None:
        return None
    gold = plain(tidy(gold))
    part = final_part(completion)
    given = plain(tidy(stated_answer(part) or part))
    return float(given == gold if case else given.casefold() == gold.casefold())


def check_choice(letters: str) -> None:
    if not letters.isalpha() or not letters.isupper() or len({*letters}) < len(letters) or len(letters) < 2:
        raise ValueError(f"choice() has letters={letters!r}. Give it two or more different capitals: choice('ABCD').")


@reward(check=check_choice, outcome=True, form=lambda letters: Form(choices=letters))
def choice(completion: str, solution: Any, *, letters: str = "ABCDE") -> float | None:
    r"""
    1 if the final answer is the letter of the solution, else 0; None if the solution names none of the letters.

    The answer is found as by [`answer`]. It may be the letter in any usual dress (`B`, `(b)`, `\text{(B)}`, `B) 42`,
    "option B"); one that names several letters ("A or B") is none.

    Args:
        letters (`str`, *optional*, defaults to `"ABCDE"`):
            The letters to choose from, as capitals.

    Example:

    ```python
    >>> from trl_grpo_rewards import choice

    >>> completions = [r"\boxed{\text{B}}", "The answer is (B) 42 km.", "A or B", "C"]
    >>> choice()(completions=completions, solution=["B"] * 4)
    [1.0, 1.0, 0.0, 0.0]

    ```
    """
    gold = chosen(str(solution), letters)
    given = stated_answer(final_part(completion))
    return None if gold is None else float(given is not None and chosen(given, letters) == gold)


def chosen(text: str, letters: str) -> str | None:
    """The letter that a short text chooses; None where it is none or several."""
    text = plain(tidy(text)).replace("*", "").strip()
    alone = re.fullmatch(r"(?:(?i:option|choice)\s)?\W*([^\W\d_])\W*", text)
    if alone:
        text = alone[1].upper()
    letter = rf"(?<![\w\\'])([{letters}])(?![\w'])"
    labelled = re.match(rf"(?:(?i:option|choice)\s*)?(?:[(\[]{letter}\s*[)\]]|{letter}\s*[).:]+)", text)
    if labelled and not re.search(
        rf"^\s*[,/&]?\s*(?:(?:or|and)\b)?\s*[(\[]{letter}|^\s*(?:or|and|[,/&])\s*{letter}|{letter}[)\].:]",
        text[labelled.end() :],
    ):
        return labelled[1] or labelled[2]
    reasoned = re.match(
        rf"(?:(?i:option|choice)\s*)?[(\[]?{letter}[)\]]?(?:,? ?(?:because|since|not)\b| is (?:correct|right)\b)",
        text,
    )
    if reasoned:
        return reasoned[1]
    if re.search(r"(?i)\b(?:not|wrong|incorrect|false|but|except|neither|none|cannot)\b|n't\b", text):
        return None
    article = r"(?!(?<=[AI])\s(?!or\b|and\b|nor\b|is\b|because\b)[a-z])"
    named = {*re.findall(f"{letter}{article}", text)}
    return named.pop() if len(named) == 1 else None
