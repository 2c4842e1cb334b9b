"""Check that rewards, dataset, configuration, model and chat template fit together, and that rewards can read all values."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from heapq import nlargest
from typing import Any

from pandas import DataFrame

from ..expressions import Reward
from ..faults import find_doubts, find_faults, find_readers, get_column_type, iterate_column, shorten_repr
from ..function_rewards import find_functions
from ..options import FrozenDict
from ..texts import conversation_text, prompt_text
from ..traits import Findings, ReadColumn, Reading
from .completions import find_answer_column, is_guess, list_read_columns
from .row_shapes import suggest_for


UNREAD = "No reward reads the column '{}'."
SHOWN_VALUES = 3  # largest number of values that are shown of each kind that can be read
TITLES = {  # of values that are not read as a whole
    "not at all": "unreadable",
    "in part": "read in part",
    "several": "with several answers",
    "any of several": "with several solutions, any of which is right",
}
MISSING = ("nan", "<NA>", "NaT")  # what pandas writes as text for a missing value
DECIMAL_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+,\d+|\d+,(?!\d{3}$)\d+)")
CHECKED_PROMPTS = 100  # largest number of prompts that are looked at
SHOWN_SHARE = 0.9  # share of prompts that contain their solution from which on it is a warning
SHOWN_END_SHARE = 0.1  # the same for prompts that end with it, as a few do by chance, such as "What is 0 + 7"
AFTER = r"(?![\w]|\.\d)"  # what follows a word or a number in a text
END = r"[\s.)\]}*$\"']*\Z"  # what follows it at the end of a text, but not a question, which does not tell its answer
MEASURED_PROMPTS = 32  # number of prompts, the longest ones, whose tokens are counted
LONG_TOKEN = 16  # number of characters for each token of the limit after which a text is cut, as hardly any token has


def check_contract(rewards: Reward, dataset: Any, config: Any = None, tokenizer: Any = None) -> Findings:
    """Check prompts, dataset columns, their types, lengths in tokens, and weights."""
    names, functions = dataset.column_names, [*find_functions(rewards)]
    solution = "solution" if is_guess(rewards, names) else find_answer_column(rewards, names)
    faults = [str(fault) for fault in find_faults(dataset, rewards, config, solution)]
    found = Findings("rewards, dataset and configuration", faults=faults)
    if not len(dataset):
        return found
    kinds = [f"{name} ({get_column_type(dataset, name)})" for name in sorted(rewards.columns) if name in names]
    suggestion, column = suggest_for(dataset, rewards)
    columns = ", ".join(kinds) or "none"
    found.lines += [f"{rewards}", f"{len(dataset):,} prompts; columns that the rewards read: {columns}", suggestion]
    read = rewards.columns.union(*(list_read_columns(one, names) for one in functions))
    is_judged = any(one.is_outcome or one.asks for one in functions) and rewards.columns.issubset(names)
    if column and column not in read and not is_judged:
        found.warnings.append(f"{UNREAD.format(column)} {suggestion}")
    found.warnings += find_doubts(dataset, rewards, config, tokenizer, solution)
    return found


def check_readiness(rewards: Reward) -> Findings:
    """Check that nothing keeps the rewards from working on this machine, such as a missing key."""
    found = Findings("what the rewards need on this machine")
    for reward in find_functions(rewards):
        try:
            fact = reward.ask_trait("ready")
            found.lines.extend([f"{reward}: {fact}"] if fact else [])
        except (ImportError, OSError, ValueError) as error:
            found.faults.append(str(error))
    return found


def check_template(rewards: Reward, dataset: Any, tokenizer: Any, options: dict | None = None) -> Findings:
    """Check that the chat template opens no tag that a reward looks for in the completion, or it is 0 for the whole run."""
    found = Findings("chat template")
    prompt = dataset[0]["prompt"]
    if isinstance(prompt, str):
        found.lines.append("prompts are text, so no template is applied")
        rendered = prompt
    elif not getattr(tokenizer, "chat_template", None):
        found.faults.append(
            "Prompts are messages, but the tokenizer has no chat template to render them. "
            "Use a chat model, set chat_template_path, or store the prompts as text."
        )
        return found
    else:
        rendered = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, tokenize=False, **options or {})
    found.lines.append(f"a prompt ends with {rendered[-60:]!r}")
    for reward in [one for one in find_functions(rewards) if one.form.tags]:
        opening = f"<{reward.form.tags[0]}>"
        is_open = rendered.rstrip().endswith(opening)
        if is_open == reward.form.prefilled:
            continue
        expected = f"the chat template to end the prompt with {opening}, but it ends with {rendered[-30:]!r}"
        if is_open:
            expected = f"{opening} in the completion, but the chat template ends the prompt with it. The reward would stay at 0"
        write = f"{reward.factory.__name__}() so that its form has prefilled={is_open}"
        if "prefilled" in reward.options:
            write = str(replace(reward, options=FrozenDict({**reward.options, "prefilled": is_open})))
        found.faults.append(f"Reward '{reward.name}' expects {expected}. Write {write}.")
    return found


def check_model_inputs(dataset: Any, tokenizer: Any, model: Any, args: Any = None) -> Findings:
    """Check that the longest prompts fit into the positions of a model of this configuration, and that it reads images."""
    from transformers.models.auto import modeling_auto  # slow to import

    found, kind = Findings("prompts, as the model reads them"), model.model_type
    reads_text = kind in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES  # other models are not known
    reads_text &= kind not in modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    for name in {"image", "images"} & {*dataset.column_names} if reads_text else ():
        values = dataset.select(range(min(MEASURED_PROMPTS, len(dataset))))[name]
        if any(value is not None and not (isinstance(value, list) and not value) for value in values):
            found.faults.append(
                f"TRL passes the column '{name}' to the model as images, but this model reads only text. Remove or rename "
                f"the column, or choose a model that reads images."
            )
    shape = model.get_text_config()
    scaling = getattr(shape, "rope_parameters", None) or getattr(shape, "rope_scaling", None) or {}
    limit = (getattr(shape, "max_position_embeddings", None) or 0) * (scaling.get("factor") or 1)
    if not limit or "prompt" not in dataset.column_names:
        return found
    texts = [*map(conversation_text, iterate_column(dataset, "prompt"))]
    longest = nlargest(MEASURED_PROMPTS, range(len(texts)), key=lambda row: len(texts[row].encode(errors="replace")))
    cut = [texts[row][: int(LONG_TOKEN * limit)] for row in longest]
    counts = [len(ids) for ids in tokenizer(cut, add_special_tokens=False, verbose=False)["input_ids"]]
    tokens, row = max(zip(counts, longest, strict=True))
    shown = f"{tokens:,} tokens, that of row {row + 1:,} of those to train on: {shorten_repr(texts[row])}"
    found.lines.append(f"the longest prompt has {shown}")
    completion = getattr(args, "max_completion_length", None) or 0
    if tokens + completion > limit:
        (found.faults if tokens > limit else found.warnings).append(
            f"The model reads at most {limit:,.0f} tokens, with a completion of up to max_completion_length={completion}, but "
            f"the longest prompt has at least {shown}. Shorten or remove such prompts, or choose a model with a longer context."
        )
    return found


def check_readings(rewards: Reward, dataset: Any, threshold: float = 0.05) -> list[Findings]:
    """Count the values that a reward with the trait `reads` cannot read, reads in part, or reads as several answers."""
    readers = {reader: name for reader, name in find_readers([rewards]).items() if reader[0] in dataset.column_names}
    has_prompts = "prompt" in dataset.column_names  # else an environment gives them
    prompts = [prompt_text(prompt) for prompt in iterate_column(dataset, "prompt")] if readers and has_prompts else []
    return [
        check_column([*iterate_column(dataset, column)], prompts, column, name, read, threshold)
        for (column, read), name in readers.items()
    ]


def check_examinations(rewards: Reward, dataset: Any) -> list[Findings]:
    functions = dict.fromkeys(one for one in find_functions(rewards) if "examines" in one.factory.traits)
    rows = [dict(row) for row in dataset] if functions else []
    examined = ((one.name, one.ask_trait("examines", rows=rows)) for one in functions)
    return [replace(found, title=f"the dataset, as '{name}' reads it") for name, found in examined if found]


def check_column(
    values: list[Any], prompts: list[str], column: str, reward: str, read: ReadColumn, threshold: float
) -> Findings:
    readings = get_readings(values, read)
    read_values = [reading.value for reading in readings]
    frame = DataFrame(readings, columns=Reading._fields, dtype=object)
    frame["prompt"] = prompts or range(len(values))
    is_doubted = frame.groupby("prompt")["value"].transform("nunique", dropna=False) > 1
    contradictory = [*frame.index[is_doubted]]
    rows, notes = (
        defaultdict(list, {one: [*places] for one, places in frame.groupby(name, sort=False).groups.items()})
        for name in ("kind", "note")
    )
    found = Findings(
        f"values of '{column}', as '{reward}' reads them", [f"{len(values):,} read, {len({*read_values}):,} different"]
    )
    shown = {title: rows[kind] for kind, title in TITLES.items() if rows[kind] or kind != "any of several"}
    for title, examples in {**shown, "that differ for the same prompt": contradictory, **notes}.items():
        found.lines.append(f"{len(examples) / len(values):7.2%} {title}")
        most = len(values) if title in ("unreadable", "read in part") else SHOWN_VALUES
        found.lines += [f"          {shorten_repr(values[row])}" for row in examples[:most]]
    bad = rows["not at all"] + rows["in part"]
    if len(bad) > threshold * len(values):
        remedy = (
            f"A model writes only the answer, so no completion would be right. Store only the "
            f"answer{suggest_answer(values[bad[0]])}, or remove such rows."
        )
        if isinstance(values[bad[0]], dict) or str(values[bad[0]]).startswith('{"'):
            remedy = f"To compare the fields of objects, write json_fields({f'solution={column!r}' * (column != 'solution')})."
        if values[bad[0]] in (None, ""):
            remedy = "Without a solution, no completion can be judged. Remove such rows."
        elif rows["not at all"][:1] == bad[:1] and (note := readings[bad[0]].note):
            remedy = f"This one is {note}. Correct such rows, or remove them."
        place = f", the value of the prompt {shorten_repr(prompts[bad[0]])}" if prompts else ""
        found.faults.append(
            f"Reward '{reward}' reads the column '{column}', but {len(bad):,} of {len(values):,} values cannot be read "
            f"as a whole, such as {shorten_repr(values[bad[0]])}{place}. {remedy}"
        )
    elif bad:
        found.warnings.append(
            f"{len(bad):,} of {len(values):,} values of '{column}' cannot be read as a whole, such as "
            f"{shorten_repr(values[bad[0]])}. Their completions get no score or a wrong one. Correct or remove such rows."
        )
    if contradictory:
        found.warnings.append(
            f"{len(contradictory):,} rows have the prompt of another row but a different {column}. Correct or remove them."
        )
    commas = [value for value in values if isinstance(value, str) and DECIMAL_COMMA.fullmatch(value.strip())]
    if len(commas) > threshold * len(values):
        found.warnings.append(
            f"{len(commas):,} of {len(values):,} values of '{column}' look like numbers with a decimal comma, such as "
            f"{commas[0]!r}, but a comma separates thousands or the items of a list. If they are numbers, write a point."
        )
    if prompts:
        found.warnings += list_leaks(prompts, [value or "" for value in read_values], column)
    return found


def list_leaks(prompts: list[str], values: list[str], column: str) -> Iterator[str]:
    """Yield a warning if nearly all prompts contain their own solutions, but few contain others, or if some end with them."""
    known = [(text, value) for text, value in zip(prompts, values, strict=True) if value]
    first = known[:CHECKED_PROMPTS]
    shown = [text for text, value in first if has_word(text, value)]
    others = [
        text for (text, _), (_, value) in zip(first, [*first[1:], *first[:1]], strict=True) if has_word(text, value)
    ]
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


def get_readings(values: list[Any], read: ReadColumn) -> list[Reading]:
    missing = Reading("not at all", None, "what pandas writes for a missing value")
    return [missing if value in MISSING else one for value, one in zip(values, read(values), strict=True)]


def leave_out_unreadable(rewards: Reward, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for column, read in find_readers([rewards]):
        readings = get_readings([row.get(column) for row in rows], read)
        rows = [row for row, one in zip(rows, readings, strict=True) if one.kind not in ("not at all", "in part")]
    return rows


def suggest_answer(value: Any) -> str:
    words = re.findall(r"\d+(?:[.,]\d+)*|[^\W\d_]+", value) if isinstance(value, str) else []
    numbers = [word for word in words if word[0].isdigit()]
    return f", such as {(numbers or words)[-1]!r} for this row" if words else ""
