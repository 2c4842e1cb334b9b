"""Right and wrong completions in the form that the rewards ask for, and their scores."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain, combinations
from types import SimpleNamespace
from typing import Any, TypeAlias

from ..answers.solutions import list_solutions, read_gold, read_object, read_objects, write_canonically
from ..errors import SOLUTION_COLUMNS
from ..expressions import Reward, leave_out_witnesses, score_known_groups
from ..function_rewards import FunctionReward, find_code, find_functions
from ..scores import Score
from ..texts import completion_text
from ..traits import ContradictoryForms, Form


BOX = Form()  # the form of rewards that declare none: a box after a working
WORKING = "First the question is read again, and then every step is worked out and looked over. "
NO_ANSWER = "I do not know."
LARGE = 64_000  # number of characters of a long text
ROUNDING = 1e-9  # largest difference between scores that counts as equal
NEXT = "\x1e"  # between several answers, each of which is written in the form
SPELLED = "right answers, as they are written"  # what a row has after a search. No column that a reward reads has such a name.
Rows: TypeAlias = Sequence[Mapping[str, Any]]
Tokenize: TypeAlias = Callable[[str], list[int]]  # returns the token ids of a text


# --- what the rewards say of right answers ----------------------------------------------------------------------------
def find_outcomes(rewards: Reward) -> list[FunctionReward]:
    """Return the functions that say which completions are right. Those of weight 0 do so only if there are no others."""
    trained = [function for function in find_functions(leave_out_witnesses(rewards)) if function.is_outcome]
    return trained or [function for function in find_functions(rewards) if function.is_outcome]


def find_answer_column(rewards: Reward, names: Iterable[str] = ()) -> str:
    """Return the column with the right answers, which outcomes or else own functions read: `solution` or another usual one."""
    outcomes = find_outcomes(rewards)
    columns = {column for one in outcomes for column in (one.readers or one.columns | list_mentioned(one, names))}
    if not outcomes:
        own = [one for one in find_functions(leave_out_witnesses(rewards)) if one.factory.is_foreign]
        columns = {column for one in own for column in list_read_columns(one, names)}
    usual = [name for name in SOLUTION_COLUMNS if name in columns]
    return columns.pop() if len(columns) == 1 else [*usual, "solution"][0]


def is_guess(rewards: Reward, names: Iterable[str] = ()) -> bool:
    """Whether neither a trait nor its name says that the column with the right answers contains these."""
    return not find_outcomes(rewards) and find_answer_column(rewards, names) not in SOLUTION_COLUMNS


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


def has_solution(rewards: Reward, rows: Rows) -> bool:
    """Whether any reward reads the column with the right answers, or writes a right completion for one of the rows."""
    if is_self_solving(rewards):
        return any(collect_endings(rewards, row) for row in rows)
    if SPELLED in rows[0]:
        return any(row[SPELLED] for row in rows)
    names = {name for row in rows for name in row}
    column = find_answer_column(rewards, names)
    functions = [*find_functions(rewards)]
    return any(column in one.columns or column in names & list_read_columns(one, names) for one in functions)


# --- completions ------------------------------------------------------------------------------------------------------
def merge_forms(rewards: Reward, row: Mapping[str, Any], found: Form = BOX) -> Form:
    """Return the form that earns all rewards of a row in full, with what was `found` where they declare nothing."""
    functions = [*find_functions(rewards, paid_only=True, row=row)]
    for one, other in combinations(functions, 2):
        try:
            one.form.merge(other.form)
        except ContradictoryForms as error:
            raise ContradictoryForms(
                f"No completion can earn both '{one.name}' and '{other.name}': {error}. Change or remove one of them."
            ) from None
    form = reduce(Form.merge, [one.form for one in functions], Form())
    if form.answer and found.answer:
        form, found = replace(form, answer=""), replace(found, answer=f"{found.answer}\n{form.answer}")
    return form.merge(found)


def write_completion(form: Form, working: str, final: str, count: Callable[[str], int]) -> str:
    """Return a completion of this form. If the form has a length, the working is extended to reach it."""
    if any(word.casefold() in working.casefold() for word in form.without):
        working = ""
    if form.bare and not (form.tags or form.words or form.length):
        return final.replace(WORKING, working)
    working = " ".join([working.strip(), *form.words]).strip() or "."
    text = form.wrap(working, final)
    target, unit = form.length or (0, "tokens")
    size = {"tokens": count, "words": count_words, "chars": len}[unit]
    if target and size(text) > target:
        working, text = ".", form.wrap(".", final)
    while target and size(text) < target and len(working) < LARGE:
        working += " so" * max(1, (target - size(text)) // 6)
        text = form.wrap(working, final)
    return text


def count_words(text: str) -> int:
    return len(text.split())


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
    form, endings = merge_forms(rewards, row, form), collect_endings(rewards, row)
    solutions = list_known_solutions(rewards, row)
    if not solutions:
        return write_completion(form, WORKING, "\n".join(endings) if endings else NO_ANSWER, count)
    solution = next((one for one in solutions if read_gold(one)), solutions[0])
    gold = solution if SPELLED in row else write_gold(rewards, solution)
    working = solution.rpartition("####")[0] if isinstance(solution, str) and "####" in solution else WORKING
    answers = map(form.write_answer, gold.split(NEXT))
    return write_completion(form, working, "\n".join([*endings, *answers]), count)


def write_value(value: Any) -> str:
    chat = value if isinstance(value, list) else []
    if isinstance(value, str) or (chat and all(isinstance(one, Mapping) and "role" in one for one in chat)):
        return completion_text(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def write_gold(rewards: Reward, solution: Any) -> str:
    """Return a solution as a model would write it: 22 for "The answer is 22", and an object as JSON."""
    readers = [one for each in find_functions(rewards) if each.is_outcome for one in each.readers.values()]
    found = read_object(solution) if isinstance(solution, Mapping) or read_objects in readers else None
    if found is not None:
        return json.dumps(found, ensure_ascii=False)
    gold = read_gold(solution) or str(solution)
    return write_canonically(gold) if readers else gold


def swap_completions(rewards: Reward, rows: Rows, texts: list[str]) -> list[str]:
    """Return for each row the completion of the next row that has none of its right answers."""
    following = (chain(range(place + 1, len(rows)), range(place)) for place in range(len(rows)))
    column, is_one = find_answer_column(rewards, *rows[:1]), is_self_solving(rewards)
    answers = [row.get(SPELLED) or ([row.get(column)] if is_one else list_solutions(row.get(column))) for row in rows]
    return [
        next((texts[other] for other in others if not any(one in mine for one in answers[other])), NO_ANSWER)
        for mine, others in zip(answers, following, strict=True)
    ]


def write_pairs(rewards: Reward, rows: Rows, tokens: Tokenize = split_words, form: Form = BOX) -> list[list[str]]:
    right = [honest(rewards, row, lambda text: len(tokens(text)), form) for row in rows]
    return [[*pair] for pair in zip(right, swap_completions(rewards, rows, right), strict=True)]


# --- scores -----------------------------------------------------------------------------------------------------------
def score_groups(
    rewards: Reward, rows: Rows, groups: Sequence[Iterable[str]], tokens: Tokenize
) -> tuple[list[list[Score]], list[float]]:
    """Return the scores of each row's group by the terms and in total, and the milliseconds of each term for a completion."""
    examples = [(row, text) for row, group in zip(rows, groups, strict=True) for text in group]
    columns: dict[str, Any] = {
        name: [row[name] for row, _ in examples] for name in rows[0] if name not in ("prompt", "completion", SPELLED)
    }
    columns |= {
        "prompts": [row.get("prompt") for row, _ in examples],
        "completions": [
            [{"role": "assistant", "content": text}] if isinstance(row.get("prompt"), list) else text
            for row, text in examples
        ],
        "completion_ids": [tokens(text) for _, text in examples],
        "trainer_state": SimpleNamespace(global_step=0, max_steps=1, epoch=0.0),
    }
    places = [place for place, group in enumerate(groups) for _ in group]
    by_term, milliseconds = [], []
    for term in rewards.rewards:
        start = time.perf_counter()
        by_term.append(score_known_groups(term, columns, places))
        milliseconds.append(1000 * (time.perf_counter() - start) / len(examples))
    return [[*each, rewards.total(each)] for each in zip(*by_term, strict=True)], milliseconds


def score_totals(
    rewards: Reward, rows: Rows, groups: list[list[str]], tokens: Tokenize = split_words
) -> list[list[Score]]:
    totals = iter([scores[-1] for scores in score_groups(rewards, rows, groups, tokens)[0]])
    return [[next(totals) for _ in group] for group in groups]
