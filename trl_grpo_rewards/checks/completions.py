"""Right and wrong completions in the form that the rewards ask for, and their scores."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import SimpleNamespace
from typing import Any, TypeAlias

from ..answers.solutions import list_solutions, read_gold, read_object, read_objects, write_canonically
from ..expressions import Reward, score_known_groups
from ..function_rewards import find_answer_column, find_functions, find_outcomes, merge_declared_forms
from ..scores import Score
from ..texts import completion_text
from ..traits import WORKING, Form, count_words


BOX = Form()  # the form of rewards that declare none: a box after a working
NO_ANSWER = "I do not know."
ROUNDING = 1e-9  # largest difference between scores that counts as equal
NEXT = "\x1e"  # separates the parts of an answer that are each written in the form, such as several calls of tools
SPELLED = "right answers, as they are written"  # what a row has after a search. No column that a reward reads has such a name.
Rows: TypeAlias = Sequence[Mapping[str, Any]]
Tokenize: TypeAlias = Callable[[str], list[int]]  # returns the token ids of a text


# --- what the rewards say of right answers ----------------------------------------------------------------------------
def is_self_solving(rewards: Reward) -> bool:
    """Whether all outcome rewards write the end of a right completion themselves, because no column contains it."""
    outcomes = find_outcomes(rewards)
    return bool(outcomes) and all("solves" in function.factory.traits for function in outcomes)


def collect_endings(rewards: Reward, row: Mapping[str, Any]) -> list[str]:
    """Return the endings of a right completion that outcome rewards declare, such as tool calls."""
    endings = [function.ask_trait("solves", row=row) for function in dict.fromkeys(find_outcomes(rewards))]
    return [ending for ending in endings if ending is not None]


def list_known_solutions(rewards: Reward, row: Mapping[str, Any]) -> list[Any]:
    if SPELLED in row:
        return [*row[SPELLED]]
    solutions = [] if is_self_solving(rewards) else list_solutions(row.get(find_answer_column(rewards, row)))
    return [one for one in solutions if one is not None]


# --- completions ------------------------------------------------------------------------------------------------------
def merge_forms(rewards: Reward, row: Mapping[str, Any], found: Form = BOX) -> Form:
    """Return the form that earns all rewards of a row in full, with what was `found` where they declare nothing."""
    declared = merge_declared_forms(rewards, row)
    if declared.answer and found.answer:
        found = replace(found, answer=f"{found.answer}\n{declared.answer}")
        declared = replace(declared, answer="")
    return declared.merge(found)


def split_words(text: str) -> list[int]:
    """Return one made-up token id for each word, for use without a tokenizer."""
    return [*range(count_words(text))]


def honest(
    rewards: Reward, row: Mapping[str, Any], count: Callable[[str], int] = count_words, form: Form = BOX
) -> str:
    """
    Return a correct completion of the form that the rewards ask for.

    It is the row's `completion`, or made from its right answer: from the column that outcome rewards read, or else from
    `solution`. `count` returns the number of tokens of a text. `form` says what the rewards do not declare.
    """
    if "completion" in row:
        return write_value(row["completion"])
    form = merge_forms(rewards, row, form)
    finals = collect_endings(rewards, row)
    working = ""
    if solutions := list_known_solutions(rewards, row):
        solution = next(filter(read_gold, solutions), solutions[0])
        gold = solution if SPELLED in row else write_gold(rewards, solution)
        finals += map(form.write_answer, gold.split(NEXT))
        working = solution.rpartition("####")[0] if isinstance(solution, str) else ""
    return form.write(working or WORKING, "\n".join(finals) or NO_ANSWER, count)


def write_json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def write_value(value: Any) -> str:
    is_chat = isinstance(value, list) and all(isinstance(part, Mapping) and "role" in part for part in value)
    return completion_text(value) if is_chat or isinstance(value, str) else write_json(value)


def write_gold(rewards: Reward, solution: Any) -> str:
    """Return a solution as a model would write it: 22 for "The answer is 22", and an object as JSON."""
    readers = [one for each in find_functions(rewards) if each.is_outcome for one in each.readers.values()]
    found = read_object(solution) if isinstance(solution, Mapping) or read_objects in readers else None
    if found is not None:
        return write_json(found)
    gold = read_gold(solution) or str(solution)
    return write_canonically(gold) if readers else gold


def swap_completions(rewards: Reward, rows: Rows, texts: list[str]) -> list[str]:
    """Return for each row the completion of the next row that has none of its right answers."""
    column = find_answer_column(rewards, rows[0])
    answers = [row.get(SPELLED) or list_solutions(row.get(column)) for row in rows]
    swapped = []
    for place, mine in enumerate(answers):
        others = [*range(place + 1, len(rows)), *range(place)]
        different = (texts[other] for other in others if not any(one in mine for one in answers[other]))
        swapped.append(next(different, NO_ANSWER))
    return swapped


def write_pairs(rewards: Reward, rows: Rows, tokens: Tokenize = split_words, form: Form = BOX) -> list[list[str]]:
    right = [honest(rewards, row, lambda text: len(tokens(text)), form) for row in rows]
    return [[*pair] for pair in zip(right, swap_completions(rewards, rows, right), strict=True)]


# --- scores -----------------------------------------------------------------------------------------------------------
def score_groups(
    rewards: Reward, rows: Rows, groups: Sequence[Sequence[str]], tokens: Tokenize
) -> tuple[list[list[Score]], list[float]]:
    """Return the scores of all completions by the terms and in total, and the milliseconds of each term for one of them."""
    places = [place for place, group in enumerate(groups) for _ in group]
    columns = make_columns(rows, places, [*chain(*groups)], tokens)
    scores = []
    milliseconds = list[float]()
    for term in rewards.rewards:
        start = time.perf_counter()
        scores.append(score_known_groups(term, columns, places))
        milliseconds.append(1000 * (time.perf_counter() - start) / len(places))
    return [[*each, rewards.total(each)] for each in zip(*scores, strict=True)], milliseconds


def make_columns(rows: Rows, places: Sequence[int], texts: Sequence[str], tokens: Tokenize) -> dict[str, Any]:
    """Return what TRL passes to a reward function for completions of the rows at these places."""
    names = [name for name in rows[0] if name not in ("prompt", "completion", SPELLED)]
    columns: dict[str, Any] = {name: [rows[place][name] for place in places] for name in names}
    columns["prompts"] = [rows[place].get("prompt") for place in places]
    columns["completions"] = [
        [{"role": "assistant", "content": text}] if isinstance(prompt, list) else text
        for prompt, text in zip(columns["prompts"], texts, strict=True)
    ]
    columns["completion_ids"] = [*map(tokens, texts)]
    columns["trainer_state"] = SimpleNamespace(global_step=0, max_steps=1, epoch=0.0)
    return columns
