"""What is wrong with a job: with its dataset, the columns that its rewards read, and the options that depend on these.

A fault is an error that was not raised. The trainer raises the first one, a check collects all of them, and a command,
which knows its own options, says how to correct it there. A doubt is a sentence: the job can run.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from .batch import HOOKS
from .dataset_rows import get_column_type, iterate_column
from .errors import MissingColumn, list_needed, name_callable, shorten_repr, suggest_parameter
from .expressions import Reward, Sum, leave_out_witnesses
from .function_rewards import FunctionReward
from .options import format_annotation, has_type
from .traits import ReadColumn


PASSED = ("prompts", "completions", "completion_ids", *HOOKS)  # names that TRL itself passes, and no column can have
PROMPT_COLUMNS = ("prompt", "question", "problem", "instruction", "messages", "conversations")  # the usual names
ROLES = ("system", "developer", "user", "assistant", "tool")  # those that chat templates know
LARGEST_CELL = 1_000_000  # largest number of characters of a prompt or a solution, which is about that of a long book
FEW_PROMPTS = 10  # number of prompts below which `train` holds out none, as a tenth of them is less than one
CHECKED_PROMPTS = 100  # largest number of prompts that are looked at
SHOWN_SHARE = 0.9  # share of prompts that contain their solution from which on it is a warning
SHOWN_END_SHARE = 0.1  # the same for prompts that end with it, as a few do by chance, such as "What is 0 + 7"
AFTER = r"(?![\w]|\.\d)"  # what follows a word or a number in a text
END = r"[\s.)\]}*$\"']*\Z"  # what follows it at the end of a text, but not a question, which does not tell its answer
DECIMAL_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+,\d+|\d+,(?!\d{3}$)\d+)")
PLACE = "0123456789"  # the content of a message with which a chat template is tried
REMOVE = "Remove such rows: dataset.filter(...), or name the column that contains the prompts."


# --- faults -----------------------------------------------------------------------------------------------------------
def find_faults(dataset: Any, rewards: Reward, args: Any = None, solution: str | None = None) -> list[ValueError]:
    """Return the faults of a job. Those of columns, and then texts that are far too long, would cause all others."""
    functions = rewards.functions
    if faults := [*find_column_faults(dataset, functions)]:
        return faults
    columns = ["prompt", solution] if solution else ["prompt"]
    if faults := [*find_large_cells(dataset, *columns)]:
        return faults
    sizes = find_size_faults(dataset, args) if args is not None else ()
    return [*find_function_faults(dataset, functions, args), *find_prompt_faults(dataset), *sizes]


def find_column_faults(
    dataset: Any, functions: Iterable[FunctionReward], *, needs_prompts: bool | None = None, is_complete: bool = True
) -> Iterator[ValueError]:
    """Yield the faults of the number of rows and of columns. Environments may give prompts, and rollouts add columns."""
    if hasattr(dataset, "__len__") and len(dataset) == 0:
        yield ValueError("The dataset must have at least one row; it is empty. Check how it was loaded or filtered.")
    if not (columns := getattr(dataset, "column_names", None)):  # a stream may not know them
        return
    if taken := [name for name in columns if name in PASSED]:
        yield from map(describe_taken_name, taken)
        return
    if "prompt" not in columns:
        yield from find_missing_prompts(columns, needs_prompts)
    if is_complete:
        yield from find_missing_columns(columns, functions)


def describe_taken_name(name: str) -> ValueError:
    return ValueError(
        f"A column must not have a name that TRL passes to rewards itself, but the dataset has the column '{name}'. "
        f"Rename it: dataset.rename_column('{name}', 'my_{name}')."
    )


def find_missing_prompts(columns: Iterable[str], are_needed: bool | None) -> Iterator[ValueError]:
    """Yield the fault of a dataset without the column of prompts. By default, it is one if another column may have them."""
    usual = [name for name in PROMPT_COLUMNS if name in columns]
    if are_needed or (are_needed is None and usual):
        old = repr(usual[0]) if usual else "..."
        yield ValueError(
            f"The trainer needs the column 'prompt'; the dataset has {', '.join(map(repr, sorted(columns)))}. Rename the "
            f"column that contains the prompts: dataset.rename_column({old}, 'prompt')."
        )


def find_missing_columns(columns: Sequence[str], functions: Iterable[FunctionReward]) -> Iterator[ValueError]:
    """Yield a fault for each column that a function needs, or reads by an option, and that is missing."""
    for function in functions:
        needed = function.own_columns.union({*function.readers} - {*function.column_of.values()})
        for column in sorted(needed.difference(columns)):
            yield function.describe_missing(column, columns)


def find_parameter_faults(dataset: Any, functions: Iterable[Callable]) -> Iterator[ValueError]:
    """Yield a fault for each parameter of plain functions for which TRL has neither a column nor a value of its own."""
    columns = getattr(dataset, "column_names", None) or ()
    passed = {*columns, *PASSED, "environments"} - {"prompt", "completion"}
    for function in functions if columns else ():
        for name in list_needed(function):
            if name not in passed:
                yield MissingColumn(
                    name_callable(function), name, columns, remedy=suggest_parameter(name, [*columns, *PASSED])
                )


def find_large_cells(dataset: Any, *columns: str) -> Iterator[ValueError]:
    """Yield a fault for each of the columns with a text that is far too long. To read it would seem to never end."""
    for column in dict.fromkeys(name for name in columns if name in dataset.column_names):
        sizes = [len(str(value)) for value in iterate_column(dataset, column)]
        largest = max(sizes, default=0)
        if largest > LARGEST_CELL:
            row = sizes.index(largest) + 1
            yield ValueError(
                f"A prompt or a solution must have at most {LARGEST_CELL:,} characters, but row {row:,} of the column "
                f"'{column}' has {largest:,}. Correct how the dataset was made, or remove such rows."
            )


def find_function_faults(dataset: Any, functions: Iterable[FunctionReward], args: Any) -> Iterator[ValueError]:
    """Yield faults of values that do not fit the annotation of a parameter, and of lengths that no completion can reach."""
    longest = getattr(args, "max_completion_length", None) or math.inf
    for function in functions:
        yield from find_type_faults(dataset, function)
        yield from find_length_faults(function, longest)


def find_type_faults(dataset: Any, function: FunctionReward) -> Iterator[ValueError]:
    annotations = {function.column_of.get(one.name): one.annotation for one in function.factory.data}
    for column in sorted(function.own_columns):
        annotation = annotations.get(column, Any)
        if function.factory.kind == "batch":
            annotation = get_args(annotation)[0] if get_origin(annotation) is list else Any
        value = next((value for value in dataset[column][:100] if value is not None), None)
        if value is not None and not has_type(value, annotation):
            yield ValueError(
                f"Reward '{function.name}' reads the column '{column}' as {format_annotation(annotation)}, but the "
                f"dataset contains {get_column_type(dataset, column)}, such as {value!r}. Convert the column with "
                f"dataset.map(...), or change the annotation in the reward function."
            )


def find_length_faults(function: FunctionReward, longest: float) -> Iterator[ValueError]:
    """Yield a fault for each length in tokens that is above that of the longest completion."""
    for name, tokens in (function.ask_trait("lengths") or {}).items():
        if tokens > longest:
            yield ValueError(
                f"Reward '{function.name}' has {name}={tokens}, but completions end at max_completion_length={longest}. "
                f"Set {name} to at most {longest}, or max_completion_length to {tokens}."
            )


def find_prompt_faults(dataset: Any, column: str = "prompt") -> Iterator[ValueError]:
    """Yield the fault of prompts that no model can be asked. It shows the most frequent kind."""
    if not hasattr(dataset, "__len__") or column not in dataset.column_names:
        return
    has_images = not {"image", "images"}.isdisjoint(dataset.column_names)
    problems = [describe_bad_prompt(prompt, has_images) for prompt in iterate_column(dataset, column)]
    for problem, count in Counter(filter(None, problems)).most_common(1):
        expected, found, remedy = problem
        row = problems.index(problem)
        yield ValueError(
            f"{expected}, but {count:,} of {len(problems):,} rows of the column '{column}' {found}, such as row {row + 1:,}: "
            f"{shorten_repr(dataset[row][column])}. {remedy.replace('COLUMN', repr(column))}"
        )


def describe_bad_prompt(prompt: Any, has_images: bool = False) -> tuple[str, str, str] | None:
    """Return what is expected of a prompt, what is found instead, and what to do; or None for a prompt that can be asked."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    if not isinstance(messages, list):
        kind = "nothing" if prompt is None else f"a value of the type {type(prompt).__name__}"
        return "A prompt must be a text or a list of messages", f"contain {kind}", REMOVE
    problems = map(describe_bad_message, messages)
    return next(filter(None, problems), None) or describe_bad_messages(messages, has_images)


def describe_bad_messages(messages: list[Any], has_images: bool) -> tuple[str, str, str] | None:
    """Return what is wrong with a list of messages, each of which is right by itself."""
    questions = [message["content"] for message in messages if message["role"] == "user"]
    if not questions:
        remedy = "Put the question into a message with the role 'user', or remove such rows."
        return "A prompt must have a message of the user", "have none", remedy
    texts = [question.strip() if isinstance(question, str) else question for question in questions]
    if not has_images and not any(texts):
        return "A prompt must not be empty", "contain no text", REMOVE
    if messages[-1]["role"] == "assistant":
        remedy = "Leave out the last message of each row: dataset.map(lambda row: {COLUMN: row[COLUMN][:-1]})."
        return "A prompt must end before the answer", "end with a message of the assistant", remedy
    return None


def describe_bad_message(message: Any) -> tuple[str, str, str] | None:
    expected = "Each message of a prompt must be a dictionary with 'role' and 'content'"
    if not isinstance(message, Mapping):
        found = f"have a list with a value of the type {type(message).__name__}"
        return expected, found, "Store the text alone, or as a message: [{'role': 'user', 'content': text}]."
    keys = [name for name, value in message.items() if value is not None]
    is_call = message.get("role") == "assistant" and message.get("tool_calls")
    if not {"role", "role" if is_call else "content"}.issubset(keys):
        remedy = "Rename the keys, such as 'from' to 'role' and 'value' to 'content', or remove such rows."
        return expected, f"have a message with {', '.join(map(repr, keys)) or 'no values'}", remedy
    if message["role"] not in ROLES:
        expected = f"The role of a message must be {', '.join(ROLES[:-1])} or {ROLES[-1]}"
        return expected, f"have the role {message['role']!r}", "Rename it, for example to 'user'."
    return None


def find_size_faults(dataset: Any, args: Any) -> Iterator[ValueError]:
    """Yield a fault of a dataset that fills no generation batch of all ranks: TRL leaves out an incomplete one."""
    prompts = (getattr(args, "generation_batch_size", None) or 0) // args.num_generations
    if hasattr(dataset, "__len__") and len(dataset) < prompts:
        yield ValueError(
            f"train_dataset must have at least the {prompts} prompts of one generation batch (generation_batch_size="
            f"{args.generation_batch_size} / num_generations={args.num_generations}, on all ranks together); it has "
            f"{len(dataset)}, so no step would be trained. Add prompts, or lower per_device_train_batch_size "
            f"({args.per_device_train_batch_size}) or steps_per_generation ({args.steps_per_generation}), which is "
            f"gradient_accumulation_steps by default."
        )


# --- doubts -----------------------------------------------------------------------------------------------------------
def find_doubts(
    dataset: Any, rewards: Reward, args: Any = None, tokenizer: Any = None, solution: str = "solution"
) -> Iterator[str]:
    """Yield what may be intended, but usually is not. The dataset has no fault of its columns."""
    yield from find_unused_template(dataset, tokenizer)
    if "prompt" in dataset.column_names:
        yield from find_late_system_messages(dataset)
        yield from find_repeated_rows(dataset, solution)
        yield from find_few_prompts(dataset, args)
    yield from find_misspelt_columns(dataset, rewards)
    yield from find_ungated_lengths(leave_out_witnesses(rewards))
    yield from find_other_weights(rewards, args)


def find_unused_template(dataset: Any, tokenizer: Any) -> Iterator[str]:
    """Yield what keeps the chat template of a tokenizer from being applied, and what to do."""
    columns = getattr(dataset, "column_names", None) or ()
    if not getattr(tokenizer, "chat_template", None) or "prompt" not in columns or not hasattr(dataset, "__len__"):
        return
    prompt = None
    if len(dataset):
        prompt = dataset[0]["prompt"]
    if isinstance(prompt, str) and not is_rendered(prompt, tokenizer):
        yield (
            "A chat model expects messages, but the prompts are texts, to which its chat template is not applied. For such "
            "a model, store messages: dataset.map(lambda row: {'prompt': [{'role': 'user', 'content': row['prompt']}]})."
        )


def is_rendered(prompt: str, tokenizer: Any) -> bool:
    """Whether a prompt has a part of the chat template, or the template cannot be applied to a single message."""
    try:
        text = tokenizer.apply_chat_template([{"role": "user", "content": PLACE}], tokenize=False)
    except Exception:  # a template raises errors of any type
        return True
    parts = map(str.strip, text.split(PLACE))
    return any(part in prompt for part in parts if part)


def find_late_system_messages(dataset: Any) -> Iterator[str]:
    """Yield a doubt about prompts that end with a message of the system."""
    ends = [prompt[-1] for prompt in iterate_column(dataset, "prompt") if isinstance(prompt, list) and prompt]
    late = [end for end in ends if isinstance(end, Mapping) and end.get("role") in ("system", "developer")]
    if late:
        yield (
            f"A prompt usually ends with the question, but {len(late):,} of {len(dataset):,} end with a message of the system, "
            f"such as {shorten_repr(late[0].get('content'))}. Put it in front of the question, unless it is meant to come last."
        )


def find_repeated_rows(dataset: Any, column: str) -> Iterator[str]:
    """Yield a doubt about rows that repeat a prompt and its solution, which is in `column`."""
    if column not in dataset.column_names:
        return
    names = dict.fromkeys(["prompt", column])
    columns = [map(repr, iterate_column(dataset, name)) for name in names]
    different = {*zip(*columns, strict=True)}
    if repeated := len(dataset) - len(different):
        yield (
            f"Each prompt should occur once, but {repeated:,} of {len(dataset):,} rows repeat the prompt and the {column} of "
            f"an earlier row. If they are not repeated on purpose, remove them."
        )


def find_leaks(prompts: Sequence[str], values: Sequence[str | None], column: str) -> Iterator[str]:
    """Yield a warning if nearly all prompts contain their own solutions, but few contain others, or if some end with them."""
    if not prompts:  # an environment gives them
        return
    known = [(text, value) for text, value in zip(prompts, values, strict=True) if value]
    first = known[:CHECKED_PROMPTS]
    shown = [text for text, value in first if has_word(text, value)]
    following = [*first[1:], *first[:1]]
    others = [text for (text, _), (_, value) in zip(first, following, strict=True) if has_word(text, value)]
    ends = [text for text, value in known if has_word(text, value.strip(), END)]
    remedy = "A model can copy it. If the prompts should not show it, remove it from them."
    if len(first) > 1 and len(shown) >= SHOWN_SHARE * len(first) and len(others) <= len(first) / 2:
        yield f"Nearly every prompt contains its {column}, such as {shorten_repr(shown[0])}. {remedy}"
    elif len(ends) > max(1, SHOWN_END_SHARE * len(prompts)):
        yield f"{len(ends):,} of {len(prompts):,} prompts end with their {column}, such as {shorten_repr(ends[0])}. {remedy}"


def has_word(text: str, word: str, end: str = AFTER) -> bool:
    """Whether a text contains a word, not as a part of another word or number."""
    is_in = bool(word) and word in text  # it is quick to ask, and most texts contain no solution
    return is_in and re.search(rf"(?<![\w.,-]){re.escape(word)}{end}", text) is not None


def find_decimal_commas(values: Sequence[Any], column: str, threshold: float) -> Iterator[str]:
    """Yield a doubt if more than a share of the values look like numbers with a decimal comma."""
    commas = [value for value in values if isinstance(value, str) and DECIMAL_COMMA.fullmatch(value.strip())]
    if len(commas) > threshold * len(values):
        yield (
            f"{len(commas):,} of {len(values):,} values of '{column}' look like numbers with a decimal comma, such as "
            f"{commas[0]!r}, but a comma separates thousands or the items of a list. If they are numbers, write a point."
        )


def find_few_prompts(dataset: Any, args: Any) -> Iterator[str]:
    """Yield a doubt about a dataset to train on, which comes with args, that a model can learn by heart."""
    if args is not None and len(dataset) < FEW_PROMPTS:
        yield (
            f"A model can learn the answers of a few prompts by heart, and the dataset has {len(dataset)}, too few to hold one "
            f"out. Add prompts: a model needs some hundred of them to learn a skill."
        )


def find_misspelt_columns(dataset: Any, rewards: Reward) -> Iterator[str]:
    """Yield a doubt for each column that is read if it exists, does not, and is like one that no reward reads."""
    unread = {*dataset.column_names} - rewards.columns
    for reward in rewards.functions:
        missing = {*reward.column_of.values()} - {*dataset.column_names} - reward.own_columns
        for column in sorted(missing):
            if close := get_close_matches(column, unread, n=1, cutoff=0.8):
                yield (
                    f"Reward '{reward.name}' reads the column '{column}' if there is one, but there is none. Did you mean "
                    f"'{close[0]}'?"
                )


def find_ungated_lengths(rewards: Reward) -> Iterator[str]:
    """Yield a doubt for each length term that no outcome gates, if there is an outcome that could."""
    outcome = next((one for one in rewards.functions if one.is_outcome), None)
    for term in dict.fromkeys(list_ungated(rewards)) if outcome is not None else ():
        yield (
            f"Reward '{term.name}' pays for length, and no outcome gates it, so wrong answers also earn more for it. Pay it "
            f"for right answers only: gate({term}, by={outcome})."
        )


def list_ungated(reward: Reward, is_gated: bool = False) -> Iterator[FunctionReward]:
    """Yield the length terms that no outcome gates. The terms of a sum do not gate each other."""
    decide = [any(function.is_outcome for function in child.functions) for child in reward.children]
    if isinstance(reward, FunctionReward) and not is_gated and not any(decide) and pays_for_length(reward):
        yield reward
    for place, child in enumerate(reward.children):
        others = decide[:place] + decide[place + 1 :]
        yield from list_ungated(child, is_gated or (any(others) and not isinstance(reward, Sum)))


def pays_for_length(reward: FunctionReward) -> bool:
    """Whether a reward pays completions of a length, or pays by length those that another reward chooses."""
    chooses_by_length = "lengths" in reward.factory.traits and reward.children
    return bool(reward.form.length is not None or chooses_by_length)


def find_other_weights(rewards: Reward, args: Any) -> Iterator[str]:
    """Yield a doubt if args of TRL's own trainer, which gets functions and weights apart, have other weights."""
    weights = getattr(args, "reward_weights", rewards.weights)  # the args of AsyncGRPOTrainer have none
    if not hasattr(args, "unscored") and (weights or [1.0] * len(rewards.weights)) != rewards.weights:
        found = "args have no reward_weights" if weights is None else f"args have reward_weights={weights}"
        yield (
            f"The terms have the weights {rewards.weights}, but {found}, so TRL's own trainer weighs the functions in "
            f"rewards.rewards otherwise. Set reward_weights=rewards.weights, or pass the sum as one function: "
            f"reward_funcs=rewards."
        )


def find_readers(rewards: Iterable[Reward]) -> dict[tuple[str, ReadColumn], str]:
    """Return the columns with the functions that read them, and the name of the first reward that does so."""
    readers: dict[tuple[str, ReadColumn], str] = {}
    for function in (function for reward in rewards for function in reward.functions):
        for reader in function.readers.items():
            readers.setdefault(reader, function.name)
    return readers
