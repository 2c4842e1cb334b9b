"""Rewards for the right answer."""

from itertools import zip_longest
from typing import Annotated, Any, Literal, TypeAlias

from annotated_types import Ge

from ..answers.mathematics.matching import AnswerRules
from ..answers.mathematics.tokens import spell_symbols
from ..answers.own_words import find_own_words
from ..answers.solutions import choose_best, list_solutions, read_gold, read_object, read_objects, read_solutions
from ..answers.statements import OUTER_MARKS, find_boxed_answer, find_stated_answer, strip_outer_marks
from ..answers.verification import Verification, find_letter, is_restated, verify_pairs
from ..options import requires
from ..registry import reward
from ..scores import LogMetric, Score
from ..texts import completion_text, prompt_text, strip_reasoning
from ..traits import Form
from ..visible import see


__all__ = ["answer", "boxed", "choice", "exact", "json_fields"]
Units = Literal["may_omit", "ignore", "must_match"]
Tolerance: TypeAlias = Annotated[float, Ge(0)] | None


@reward(batched=True, outcome=True, form=lambda: Form(answer=r"\boxed{{}}"), reads={"solution": read_solutions})
def boxed(
    completions: list[Any],
    solution: list[Any],
    log_metric: LogMetric,
    prompts: list[Any] | None = None,
    *,
    partial: float = 0.0,
    tolerance: Tolerance = None,
    box: Literal["last", "only", "first"] = "last",
    units: Units = "may_omit",
    evaluated: bool = False,
) -> list[Score]:
    r"""
    1 if the boxed answer is right, `partial` if it is wrong, 0 without a box; None if the solution cannot be read.

    The answer is the content of the last `\boxed{}` (or `\fbox{}`, or `\boxed 7`) after the reasoning. Boxes joined by
    a comma, "and" or "or" are read as one list: `\boxed{1}` and `\boxed{2}` answer `1, 2`. A box inside `<think>` and
    a box that is never closed do not count. The answer is compared with the column `solution`, or with another one:
    `boxed(solution="answer")`. It may contain numbers, truth values, bare LaTeX, `$...$`, `\boxed{...}`, a statement
    such as `Answer: 72` or GSM8K's `... #### 72`. A list of these in the column is a list of accepted solutions: an
    answer that equals one of them is right. A list that is itself the solution must be a text, such as `1, 2`. The
    solution and the answer are read into values, and the values are compared: numbers exactly, expressions at several
    points, sets and inequalities as sets of numbers. For texts that cannot be read,
    [math-verify](https://github.com/huggingface/Math-Verify) gives a second opinion in a separate process. If this
    takes longer than two seconds, the answer counts as wrong, so no answer can hang a run. A solution cannot be read
    if its own text would not be right. Logs `boxed/timeouts`, `boxed/unreadable_gold` and `boxed/second_opinions` as
    counts per batch.

    Args:
        partial (`float`, *optional*, defaults to `0.0`):
            Score of a boxed answer that is wrong. For example, `boxed(partial=0.5) + 0.5 * boxed(name="correct")` pays 0
            without a box, 0.5 for a wrong answer and 1.5 for the right one.
        tolerance (`float`, *optional*):
            Maximum difference, absolute or relative to the larger number, at which two numbers count as equal. By
            default, they must be exactly equal.
        box (`str`, *optional*, defaults to `"last"`):
            Which box counts: `"last"`, `"first"` or `"only"`. With `"only"`, several boxes count as no box.
        units (`str`, *optional*, defaults to `"may_omit"`):
            With `"may_omit"`, the answer may omit the unit of the solution. If both have a unit, it must be the same,
            in any usual spelling; units are not converted. `18` and `18 dollars` answer `18 dollars`, and `18 meters`
            does not. With `"ignore"`, only the values count. With `"must_match"`, a solution with a unit needs an
            answer with the same unit. `50\%` equals `0.5`, and also `50` unless units must match.
        evaluated (`bool`, *optional*, defaults to `False`):
            Whether the answer must be worked out. If so, sums and products of numbers, powers and roots with a
            rational value, integrals, and expressions copied from the prompt are wrong. This does not apply if the
            solution itself is not worked out. Fractions and powers of ten count as numbers.

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
    answers = [find_boxed_answer(find_own_words(completion_text(completion)), box) for completion in completions]
    return verify_accepted(answers, solution, prompts, log_metric, partial, AnswerRules(tolerance, units, evaluated))


@reward(batched=True, outcome=True, reads={"solution": read_solutions})
def answer(
    completions: list[Any],
    solution: list[Any],
    log_metric: LogMetric,
    prompts: list[Any] | None = None,
    *,
    partial: float = 0.0,
    tolerance: Tolerance = None,
    units: Units = "may_omit",
    evaluated: bool = False,
) -> list[Score]:
    r"""
    1 if the final answer is right, boxed or not, `partial` if it is wrong, 0 without an answer; None as in [`boxed`].

    The answer is taken from the text after the reasoning. The last of these counts: a `\boxed{}`, the line after `####`,
    an `<answer>...</answer>`, a last line such as "A: 72", and a statement such as "the answer is 72.", "72 is the
    answer.", "Answer: $72$" or "La respuesta es 72.", in 27 languages. Next to a box or another mark, a statement counts
    only if a value follows it. A remark after a number is ignored, as in "72, all told" or "72 (48 + 24)". Without
    any of these, a text of a single line is the answer. The answer is compared as in [`boxed`].

    Args:
        partial (`float`, *optional*, defaults to `0.0`):
            Score of a wrong answer.
        tolerance, units, evaluated:
            As in [`boxed`].

    Example:

    ```python
    >>> from trl_grpo_rewards import answer

    >>> completions = ["<think>48 + 24</think> 72", "48 + 24 = 72\n#### 72", "So the answer is $72$.", "I give up."]
    >>> answer()(completions=completions, solution=["72"] * 4)
    [1.0, 1.0, 1.0, 0.0]

    ```
    """
    answers = [find_stated_answer(find_own_words(completion_text(completion))) for completion in completions]
    return verify_accepted(answers, solution, prompts, log_metric, partial, AnswerRules(tolerance, units, evaluated))


def verify_accepted(
    answers: list[str | None],
    solution: list[Any],
    prompts: list[Any] | None,
    log_metric: LogMetric,
    partial: float,
    rules: AnswerRules,
) -> list[Score]:
    """Return the scores of answers, each by the best of its accepted solutions."""
    pairs = [(row, read_gold(gold)) for row, value in enumerate(solution) for gold in list_solutions(value)]
    verifications = verify_pairs([(gold, answers[row]) for row, gold in pairs], rules)
    questions = prompts if rules.evaluated else None
    scores: list[list[Score]] = [[] for _ in answers]
    for (row, gold), (equal, _, _) in zip(pairs, verifications, strict=True):
        if equal and questions and is_copied(answers[row], gold, questions[row]):
            equal = False
        scores[row].append(1.0 if equal else pay_unequal(equal, answers[row], partial))
    log_verifications(verifications, log_metric)
    return [*map(choose_best, scores)]


def log_verifications(verifications: list[Verification], log_metric: LogMetric) -> None:
    faults = [verification.fault for verification in verifications]
    log_metric("timeouts", faults.count("timeout"))
    log_metric("unreadable_gold", faults.count("gold"))
    log_metric("second_opinions", sum(verification.asked for verification in verifications))


def is_copied(answer: str | None, gold: str | None, prompt: Any) -> bool:
    """Return whether an answer that is written unlike the solution is copied from the prompt."""
    if not answer or not gold or spell_symbols(gold) == spell_symbols(answer):
        return False
    return is_restated(answer, prompt_text(prompt))


def pay_unequal(equal: bool | None, answer: str | None, partial: float) -> Score:
    if equal is None:
        return None
    return 0.0 if answer is None else partial


@reward(outcome=True)
def exact(completion: str, solution: Any, *, case: bool = False) -> Score:
    """
    1 if the final answer equals the solution as text, else 0; None if the solution is empty.

    The answer is found as in [`answer`]. If there is none, the whole text after the reasoning is compared. Spacing,
    quotes, bold type, LaTeX fonts and closing marks are ignored. A list in the column contains accepted solutions, as in
    [`boxed`].

    Args:
        case (`bool`, *optional*, defaults to `False`):
            Whether upper and lower case must match.

    Example:

    ```python
    >>> from trl_grpo_rewards import exact

    >>> exact()(completions=["<think>France...</think>\\nparis", "The answer is **Paris**.", "Lyon"], solution=["Paris"] * 3)
    [1.0, 1.0, 0.0]

    ```
    """
    text = find_own_words(completion)
    fold = str if case else str.casefold
    stated = fold(spell_barely(find_stated_answer(text) or text))
    golds = map(read_gold, list_solutions(solution))
    return choose_best([None if gold is None else float(stated == fold(spell_barely(gold))) for gold in golds])


def spell_barely(text: str) -> str:
    """Return a text in one spelling, without the marks around it."""
    spelled = spell_symbols(see(text).replace("\\&", "&"))
    return strip_outer_marks(spelled.strip(OUTER_MARKS)).strip(OUTER_MARKS) or spelled


def are_different_capitals(letters: str) -> bool:
    if not letters.isalpha() or not letters.isupper():
        return False
    return len({*letters}) == len(letters) > 1


@reward(
    check=requires(
        "choice() requires two or more different capital letters",
        are_different_capitals,
        "Write choice('ABCD').",
    ),
    outcome=True,
    form=lambda letters: Form(choices=letters),
)
def choice(completion: str, solution: Any, *, letters: str = "ABCDE") -> Score:
    r"""
    1 if the final answer is the letter of the solution, else 0; None if the solution names none of the letters.

    The answer is found as in [`answer`]. It may be the letter in any usual notation (`B`, `(b)`, `\text{(B)}`, `B) 42`,
    "option B"). An answer that names several letters ("A or B") is wrong. A list in the column contains accepted
    solutions, as in [`boxed`].

    Args:
        letters (`str`, *optional*, defaults to `"ABCDE"`):
            Capital letters to choose from.

    Example:

    ```python
    >>> from trl_grpo_rewards import choice

    >>> completions = [r"\boxed{\text{B}}", "The answer is (B) 42 km.", "A or B", "C"]
    >>> choice()(completions=completions, solution=["B"] * 4)
    [1.0, 1.0, 0.0, 0.0]

    ```
    """
    stated = find_stated_answer(find_own_words(completion))
    chosen = None if stated is None else find_letter(stated, letters)
    golds = [find_letter(str(value), letters) for value in list_solutions(solution)]
    return choose_best([None if gold is None else float(chosen == gold) for gold in golds])


MISSING_FIELD = object()
VALID = 0.1  # what `json_fields(partial=True)` pays for an object without a right field


def share_right(gold: Any, given: Any, absent: Any = MISSING_FIELD) -> float:
    """Return the share of a value that is right. Each field of an object and each item of a list has an equal part in it."""
    if isinstance(gold, str) and isinstance(given, str):
        return float(spell_barely(gold).casefold() == spell_barely(given).casefold())
    pairs = pair_parts(gold, given, absent)
    if pairs is None:
        return float(isinstance(gold, bool) == isinstance(given, bool) and gold == given)
    if pairs:
        return sum(share_right(*pair, absent) for pair in pairs) / len(pairs)
    return 1.0


def pair_parts(gold: Any, given: Any, absent: Any) -> list[tuple[Any, Any]] | None:
    """Return the fields of two objects or the items of two lists side by side, or None of any other values."""
    if isinstance(gold, dict) and isinstance(given, dict):
        pairs = [(gold.get(name, absent), given.get(name, absent)) for name in {**gold, **given}]
        return [pair for pair in pairs if pair != (absent, absent)]
    if isinstance(gold, list) and isinstance(given, list):
        return [*zip_longest(gold, given, fillvalue=MISSING_FIELD)]
    return None


@reward(outcome=True, form=lambda: Form(answer="{}", bare=True), reads={"solution": read_objects})
def json_fields(completion: str, solution: Any, *, partial: bool = False) -> Score:
    """
    1 if the completion is a JSON object with the fields of the solution, else 0; None if the solution is not an object.

    The whole text after the reasoning must be a JSON object, which may stand in a code fence. JSON is read strictly, as
    in [`json_text`]. Numbers are compared as numbers, and texts as in [`exact`]: spacing, case and closing marks do not
    matter. Nested objects are compared field by field, and lists item by item, in order. The order of fields does not
    matter, and a field that the solution does not have is wrong. The column `solution` contains JSON as text, or objects.
    In a column of objects, a field that is null is the same as a missing one, because libraries that read tables fill in
    nulls. A list in the column contains accepted solutions, as in [`boxed`].

    Args:
        partial (`bool`, *optional*, defaults to `False`):
            Whether to pay 0.1 for any JSON object, and the rest by the share of fields that are right, among those of the
            solution and of the completion. A nested object counts as one field, and pays the share of its own fields.

    Example:

    ```python
    >>> from trl_grpo_rewards import json_fields

    >>> completions = ['{"name": "ann", "age": 41.0}', '```json\\n{"age": 41}\\n```', "Ann is 41."]
    >>> json_fields()(completions=completions, solution=['{"name": "Ann", "age": 41}'] * 3)
    [1.0, 0.0, 0.0]
    >>> json_fields(partial=True)(completions=completions, solution=['{"name": "Ann", "age": 41}'] * 3)
    [1.0, 0.55, 0.0]

    ```
    """
    given = read_object(completion) or read_object(strip_reasoning(completion))  # a text in it may have such marks
    return choose_best([score_object(given, value, partial) for value in list_solutions(solution)])


def score_object(given: dict[str, Any] | None, solution: Any, partial: bool) -> Score:
    gold = read_object(solution)
    if gold is None:
        return None
    if given is None:
        return 0.0
    share = share_right(gold, given, absent=MISSING_FIELD if isinstance(solution, str) else None)
    if partial:
        return VALID + (1 - VALID) * share
    return float(share == 1)
