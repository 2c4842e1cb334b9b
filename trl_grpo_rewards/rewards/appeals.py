"""A reward that asks a second one, usually a judge, where a rule cannot decide."""

import math
from collections.abc import Sequence
from typing import Any

from ..answers.mathematics.grammar import read
from ..answers.solutions import is_numeric, list_solutions, read_gold, strip_label
from ..answers.statements import BOX_COMMAND, find_stated_answer, read_box
from ..batch import Batch
from ..expressions import Reward
from ..function_rewards import find_functions
from ..options import Share
from ..registry import combinator
from ..scores import Score
from ..texts import completion_text, strip_reasoning


__all__ = ["appeal"]


@combinator(outcome=("reward",), unasked="reward")
async def appeal(
    batch: Batch,
    *,
    reward: Reward,
    to: Reward,
    refused: bool = False,
    at_least: float = 1.0,
    budget: Share = 1.0,
) -> list[Score]:
    r"""
    The reward, or the score of `to` if it is None; with `refused`, also if it is at most 0 and `to` finds it right.

    For example, `appeal(boxed(), to=judge(..., reference=True))` asks the judge only about answers whose solution the rule
    cannot read. A rule that reads most solutions refuses few right answers, and a judge also pays some wrong ones. So
    appeals against refusals are worthwhile only if the rule often refuses answers in words, names or formulas. An answer
    that is a plain number is final if an accepted solution is one, too.

    A refused row keeps its score unless `to` gives at least `at_least`, and then gets the score of `to`. If `to` gives
    None, for example because a judge is down, every row keeps its score. Logs `appeal/asked`, `appeal/unanswered`,
    `appeal/overturned` and `appeal/upheld` as counts per batch, and `appeal/wrong_refusals`, the share of answered
    appeals against refusals that were overturned. Logs the column `appeal` in the table of completions. All names begin
    with the name of the reward, as in `boxed/appeal/asked`.

    Args:
        reward (`Reward`):
            The rule, which scores all rows.
        to (`Reward`):
            Scores the rows that appeal.
        refused (`bool`, *optional*, defaults to `False`):
            Whether rows that the rule scores with at most 0 also appeal. Rows that it scores with None come first.
        at_least (`float`, *optional*, defaults to `1.0`):
            Score of `to` that overturns a refusal.
        budget (`float`, *optional*, defaults to `1.0`):
            Largest share of the rows of a call that may appeal, rounded up. The first rows of a batch come first.

    Example:

    ```python
    >>> from trl_grpo_rewards import appeal, boxed, keywords

    >>> ruled = appeal(boxed(), to=keywords(any=("Paris",)))
    >>> ruled(completions=[r"\boxed{4}", r"\boxed{5}", r"\boxed{Paris}"], solution=["4", "4", None])
    [1.0, 0.0, 1.0]

    ```
    """
    scores = await reward.score(batch)
    fates = find_fates(batch, reward, scores, refused)
    waiting = [row for row, fate in enumerate(fates) if fate == "over budget"]
    waiting.sort(key=lambda row: scores[row] is not None)
    asked = sorted(waiting[: math.ceil(budget * batch.size)])
    verdicts = await to.score(batch.select(asked)) if asked else []
    for row, verdict in zip(asked, verdicts, strict=True):
        fates[row] = decide_appeal(scores[row], verdict, at_least)
        if fates[row] in ("decided", "overturned"):
            scores[row] = verdict
    log_fates(batch, fates, len(asked))
    return scores


def find_fates(batch: Batch, reward: Reward, scores: list[Score], refused: bool) -> list[str]:
    """Return for each row "" if its score is final, or what becomes of it if it is not asked about."""
    columns = list_columns_of_rules(batch, reward)
    fates = []
    for row, score in enumerate(scores):
        fate = "over budget"
        if score is not None and (not refused or score > 0):
            fate = ""
        elif score is not None:
            solutions = [gold for column in columns for gold in list_solutions(batch.columns[column][row])]
            if is_between_numbers(batch.columns["completions"][row], solutions):
                fate = "plain numbers"
        fates.append(fate)
    return fates


def list_columns_of_rules(batch: Batch, reward: Reward) -> list[str]:
    rules = [rule for rule in find_functions(reward) if not rule.children]  # others, such as routes, read no solutions
    return sorted({column for rule in rules for column in rule.own_columns} & {*batch.columns})


def decide_appeal(score: Score, verdict: Score, at_least: float) -> str:
    if verdict is None:
        return "unanswered"
    if score is None:
        return "decided"
    return "overturned" if verdict >= at_least else "upheld"


def log_fates(batch: Batch, fates: list[str], asked: int) -> None:
    batch.log_metric("appeal/asked", asked)
    for fate in ("unanswered", "overturned", "upheld"):
        batch.log_metric(f"appeal/{fate}", fates.count(fate))
    if answered := fates.count("overturned") + fates.count("upheld"):
        batch.log_metric("appeal/wrong_refusals", fates.count("overturned") / answered)
    batch.log_extra("appeal", [fate or None for fate in fates])


def is_between_numbers(completion: Any, solutions: Sequence[Any]) -> bool:
    """Return whether one of the solutions is a plain number, and the completion answers with a number."""
    # Which answer the rule has read is not known, so one number is enough: the first or the last in a box, or the stated one.
    # Otherwise a name or a unit, or a text in another place, could buy an appeal for a wrong number.
    golds = [read(gold) for gold in map(read_gold, solutions) if gold is not None]
    if not any(is_numeric(gold) for gold in golds):
        return False
    text = strip_reasoning(completion_text(completion))
    boxes = [*BOX_COMMAND.finditer(text)]
    answers = {read_box(text, box.end())[0] for box in boxes[:1] + boxes[-1:]}
    answers.add(find_stated_answer(text))
    return any(is_numeric(strip_label(read(answer))) for answer in answers if answer)
