"""Honest, correct completions in the form that the rewards ask for."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from ..errors import SOLUTION_COLUMNS
from ..expressions import Reward, leave_out_witnesses
from ..forms import Form
from ..function_rewards import FunctionReward, find_code, find_functions
from ..verify.solutions import list_solutions, read_gold, write_canonically
from .completion_forms import BOX, NO_ANSWER, WORKING, count_words, merge_forms, write_completion


def find_answer_column(rewards: Reward, names: Iterable[str] = ()) -> str:
    """Return the column with the right answers, which outcomes or else own functions read: `solution` or another usual one."""
    outcomes = find_outcomes(rewards)
    columns = {column for one in outcomes for column in (one.readers or one.columns | list_mentioned(one, names))}
    if not outcomes:
        own = [one for one in find_functions(leave_out_witnesses(rewards)) if one.factory.is_foreign]
        columns = {column for one in own for column in list_read_columns(one, names)}
    usual = [name for name in SOLUTION_COLUMNS if name in columns]
    return columns.pop() if len(columns) == 1 else [*usual, "solution"][0]


def list_read_columns(function: FunctionReward, names: Iterable[str] = ()) -> set[str]:
    """Return the columns that a function needs, and those for solutions, or of the dataset, that it takes if they exist."""
    taken = {name for name in function.column_of.values() if name in SOLUTION_COLUMNS}
    return {*function.own_columns} | taken | list_mentioned(function, names)


def list_mentioned(function: FunctionReward, names: Iterable[str]) -> set[str]:
    """Return the columns of the dataset that a function which takes all of them has as texts in its code."""
    code = getattr(find_code(function.factory.function), "__code__", None) if function.factory.takes_kwargs else None
    return {*names} & {*list_texts(code)} - {"prompt", "completion"}


def list_texts(code: Any) -> Iterator[str]:
    for value in getattr(code, "co_consts", ()):
        yield from [value] if isinstance(value, str) else list_texts(value)


def is_guess(rewards: Reward, names: Iterable[str] = ()) -> bool:
    """Whether neither a trait nor its name says that the column with the right answers contains these."""
    return not find_outcomes(rewards) and find_answer_column(rewards, names) not in SOLUTION_COLUMNS


def is_self_solving(rewards: Reward) -> bool:
    """Whether all outcome rewards write the end of a right completion themselves, because no column contains it."""
    outcomes = find_outcomes(rewards)
    return bool(outcomes) and all(function.factory.traits.solves for function in outcomes)


def has_solution(rewards: Reward, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether any reward reads the column with the right answers, or writes a right completion for one of the rows."""
    if is_self_solving(rewards):
        return any(collect_endings(rewards, row) for row in rows)
    names = {name for row in rows for name in row}
    column = find_answer_column(rewards, names)
    functions = [*find_functions(rewards)]
    return any(column in one.columns or column in names & list_read_columns(one, names) for one in functions)


def honest(
    rewards: Reward, row: Mapping[str, Any], count: Callable[[str], int] = count_words, form: Form = BOX
) -> str:
    """
    Return a correct completion of the form that the rewards ask for.

    It is the row's `completion`, or made from its right answer: from the column that outcome rewards read, or else from
    `solution`. `count` returns the number of tokens of a text. `form` says what the rewards do not declare.
    """
    if "completion" in row:
        return str(row["completion"])
    form, endings = merge_forms(rewards, row, form), collect_endings(rewards, row)
    solutions = list_known_solutions(rewards, row)
    if not solutions:
        return write_completion(form, WORKING, "\n".join(endings) if endings else NO_ANSWER, count)
    solution = next((one for one in solutions if read_gold(one)), solutions[0])
    gold = read_gold(solution) or str(solution)
    if any(function.is_outcome and function.readers for function in find_functions(rewards)):
        gold = write_canonically(gold)  # as a model would write it: 22 for "The answer is 22"
    working = solution.rpartition("####")[0] if isinstance(solution, str) and "####" in solution else WORKING
    return write_completion(form, working, "\n".join([*endings, form.write_answer(gold)]), count)


def swap_completions(rewards: Reward, rows: Sequence[Mapping[str, Any]], texts: list[str]) -> list[str]:
    """Return for each row the completion of the next row that has none of its right answers."""
    following = (chain(range(place + 1, len(rows)), range(place)) for place in range(len(rows)))
    column, is_one = find_answer_column(rewards, *rows[:1]), is_self_solving(rewards)
    answers = [[row.get(column)] if is_one else list_solutions(row.get(column)) for row in rows]
    return [
        next((texts[other] for other in others if not any(one in mine for one in answers[other])), NO_ANSWER)
        for mine, others in zip(answers, following, strict=True)
    ]


def list_known_solutions(rewards: Reward, row: Mapping[str, Any]) -> list[Any]:
    """Return the accepted solutions in the column with the right answers, without those that are None."""
    solutions = [] if is_self_solving(rewards) else list_solutions(row.get(find_answer_column(rewards, row)))
    return [one for one in solutions if one is not None]


def find_outcomes(rewards: Reward) -> list[FunctionReward]:
    """Return the functions that say which completions are right. Those of weight 0 do so only if there are no others."""
    trained = [function for function in find_functions(leave_out_witnesses(rewards)) if function.is_outcome]
    return trained or [function for function in find_functions(rewards) if function.is_outcome]


def collect_endings(rewards: Reward, row: Mapping[str, Any]) -> list[str]:
    """Return the endings of a right completion that outcome rewards declare, such as tool calls."""
    endings = [function.solve(row) for function in dict.fromkeys(find_outcomes(rewards))]
    return [ending for ending in endings if ending is not None]
