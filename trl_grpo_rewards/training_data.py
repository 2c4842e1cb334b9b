"""What a dataset must contain for training: prompts, columns with names of their own, and enough rows."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from .batch import HOOKS


PASSED = ("prompts", "completions", "completion_ids", *HOOKS)
"""Names under which TRL itself passes values to reward functions, so that a column cannot have them."""

ROLES = ("system", "developer", "user", "assistant", "tool")
"""Roles of messages that chat templates know."""

PROMPT_COLUMNS = ("prompt", "question", "problem", "instruction", "messages", "conversations")
"""Common names of the column with the question. An error message suggests the one that the dataset has."""

REMEDIES = {
    "DataFrame": "Convert it: Dataset.from_pandas(frame).",
    "list": "Convert it: Dataset.from_list(rows).",
    "dict": "Convert its columns: Dataset.from_dict(columns).",
    "DatasetDict": "Choose a split, such as dataset['train'].",
    "IterableDatasetDict": "Choose a split, such as dataset['train'].",
    "IterableDataset": "Load it without streaming, or convert some rows: Dataset.from_list([*dataset.take(500)]).",
}
"""What to do with a value that is no dataset, by the name of its type."""

LARGEST_CELL = 1_000_000
"""Largest number of characters of a prompt or a solution, which is about that of a long book."""

COMPARED_ROWS = 1000
"""Number of rows in which prompts and solutions are compared."""

PLACE = "0123456789"
"""The content of a message with which a chat template is tried."""

DROP_LAST = "Leave out the last message of each row: dataset.map(lambda row: {COLUMN: row[COLUMN][:-1]})."
"""What to do with prompts that contain the answer. The name of the column takes the place of COLUMN."""


FOREIGN_FORMATS = ("numpy", "pandas", "polars", "arrow")
"""Formats of a dataset whose rows TRL cannot read."""


class TransformedRows:
    """A dataset with a transform as its rows are. It may have other columns than are stored, and is read row by row."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.features: dict[str, Any] = dict(dataset[0])
        self.column_names = [*self.features]

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, place: Any) -> Any:
        return [row[place] for row in self.dataset] if isinstance(place, str) else self.dataset[place]

    def select(self, places: Any) -> "TransformedRows":
        return TransformedRows(self.dataset.select(places))

    def select_columns(self, names: Any) -> "TransformedRows":
        return self

    def iter(self, batch_size: int) -> Iterator[dict[str, list[Any]]]:
        yield from (self.dataset[start : start + batch_size] for start in range(0, len(self), batch_size))


def describe_no_dataset(value: Any) -> str:
    """Return what to say of a value that is no dataset."""
    kind = type(value).__name__
    load = "Load the file: load_dataset('json', data_files=..., split='train')."
    return f"The dataset must be a datasets.Dataset, but is a {kind}. {REMEDIES.get(kind, load)}"


def show_rows(dataset: Any) -> Any:
    """Return a dataset whose columns are those of its rows, unless these have a format that TRL cannot read."""
    kind = (getattr(dataset, "format", None) or {}).get("type")
    if kind in FOREIGN_FORMATS:
        raise ValueError(
            f"TRL reads rows of Python values, but the dataset has the format {kind!r}. Remove it: "
            f"dataset.with_format(None)."
        )
    return TransformedRows(dataset) if kind == "custom" and len(dataset) else dataset


def mark_text(rows: list[dict[str, Any]]) -> None:
    """Let TRL take rows without an image as text, which it does if `images` is an empty list, but not if it is None."""
    images = [row[name] for row in rows for name in ("image", "images") if name in row]
    if images and all(one is None or (isinstance(one, list) and not one) for one in images):
        for row in rows:
            row["images"] = []


def find_bad_columns(columns: list[str]) -> Iterator[str]:
    """Yield the faults of the names of columns: TRL's own, and several names in one."""
    for name in columns:
        if name in PASSED:
            yield (
                f"A column must not have a name that TRL passes to rewards itself, but the dataset has the column "
                f"'{name}'. Rename it: dataset.rename_column('{name}', 'my_{name}')."
            )
        separator = next((one for one in (";", "\t", "|") if one in name), "")
        if separator and len(columns) == 1:
            yield (
                f"Each column must have one name, but the only column is {name!r}, so the file was read with the wrong "
                f"separator. Load it again: load_dataset('csv', data_files=..., sep={separator!r})."
            )


def find_dataset_faults(dataset: Any, args: Any = None, solution: str | None = None) -> Iterator[str]:
    """Yield the faults of a dataset's prompts, of the column that rewards take for the solution, and of its size."""
    if "prompt" in dataset.column_names:
        fault = find_bad_prompts(dataset) or find_copied_prompts(dataset, solution)
        yield from [fault] if fault is not None else []
    elif usual := [name for name in PROMPT_COLUMNS if name in dataset.column_names]:
        yield describe_missing_prompts(dataset.column_names, usual[0])
    if args is not None and args.generation_batch_size:
        try:
            check_dataset_size(args, dataset)
        except ValueError as error:
            yield str(error)


def find_large_cells(dataset: Any, *columns: str) -> Iterator[str]:
    """Yield a fault for each of the columns with a text that is far too long. To read it would seem to never end."""
    for column in dict.fromkeys(name for name in columns if name in dataset.column_names):
        batches = dataset.select_columns(column).iter(batch_size=1000)
        sizes = [len(str(value)) for batch in batches for value in batch[column]]
        if (largest := max(sizes, default=0)) > LARGEST_CELL:
            yield (
                f"A prompt or a solution must have at most {LARGEST_CELL:,} characters, but row {sizes.index(largest) + 1:,} "
                f"of the column '{column}' has {largest:,}. Correct how the dataset was made, or remove such rows."
            )


def find_copied_prompts(dataset: Any, column: str | None) -> str | None:
    """Return a fault if a column repeats the prompts, which can be asked, in most rows, or None."""
    if column not in dataset.column_names:
        return None
    rows = dataset.select_columns(["prompt", column])[:COMPARED_ROWS]
    asked = [one if isinstance(one, str) else one[-1]["content"] for one in rows["prompt"]]
    copied = [prompt for prompt, solution in zip(asked, rows[column], strict=True) if prompt == solution]
    if len(copied) <= len(asked) / 2:
        return None
    return (
        f"The column '{column}' must contain solutions, but in {len(copied):,} of {len(asked):,} rows it repeats the prompt, "
        f"such as {shorten_repr(copied[0])}. Name the column that contains the solutions."
    )


def describe_missing_prompts(columns: list[str], similar: str | None = None) -> str:
    """Return the fault of a dataset without the column `prompt`, with the column that may be renamed."""
    return (
        f"The trainer needs the column 'prompt'; the dataset has {', '.join(map(repr, columns))}. Rename the column that "
        f"contains the prompts: dataset.rename_column({repr(similar) if similar else '...'}, 'prompt')."
    )


def find_bad_prompts(dataset: Any, column: str = "prompt") -> str | None:
    """Return the fault of the prompts that no model can be asked, or None. It shows the most frequent kind."""
    has_images = not {"image", "images"}.isdisjoint(dataset.column_names)
    counts: Counter[tuple[str, str, str]] = Counter()
    first: dict[tuple[str, str, str], tuple[int, Any]] = {}
    place = 0
    for batch in dataset.select_columns(column).iter(batch_size=1000):
        for prompt in batch[column]:
            if (problem := describe_bad_prompt(prompt, has_images)) is not None:
                counts[problem] += 1
                first.setdefault(problem, (place, prompt))
            place += 1
    if not counts:
        return None
    ((expected, found, remedy), count), *_ = counts.most_common(1)
    row, prompt = first[expected, found, remedy]
    return (
        f"{expected}, but {count:,} of {place:,} rows of the column '{column}' {found}, such as row {row + 1:,}: "
        f"{shorten_repr(prompt)}. {remedy.replace('COLUMN', repr(column))}"
    )


def shorten_repr(value: Any) -> str:
    """Return a value as Python writes it, without the middle of a long one."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:60]} ... {text[-35:]}"


def describe_bad_prompt(prompt: Any, has_images: bool = False) -> tuple[str, str, str] | None:
    """Return what is expected of a prompt, what is found instead, and what to do; or None for a prompt that can be asked."""
    remove = "Remove such rows: dataset.filter(...), or name the column that contains the prompts."
    if isinstance(prompt, str):
        return None if prompt.strip() else ("A prompt must not be empty", "contain no text", remove)
    if not isinstance(prompt, list):
        kind = "contain nothing" if prompt is None else f"contain a value of the type {type(prompt).__name__}"
        return "A prompt must be a text or a list of messages", kind, remove
    if not prompt:
        return "A prompt must have at least one message", "have no messages", remove
    for message in prompt:
        if (problem := describe_bad_message(message)) is not None:
            return problem
    questions = [message["content"] for message in prompt if message["role"] == "user"]
    if not questions:
        return (
            "A prompt must have a message of the user",
            "have none",
            "Put the question into a message with the role 'user'.",
        )
    if not has_images and not any(one.strip() if isinstance(one, str) else one for one in questions):
        return "The user's message must not be empty", "contain no text", remove
    if prompt[-1]["role"] == "assistant":
        return "A prompt must end before the answer", "end with a message of the assistant", DROP_LAST
    return None


def list_order_warnings(dataset: Any) -> list[str]:
    """Return a warning if prompts end with a message of the system, after the question."""
    ends = [one[-1] for one in dataset["prompt"][:] if isinstance(one, list) and one and isinstance(one[-1], Mapping)]
    late = [shorten_repr(one.get("content")) for one in ends if one.get("role") in ("system", "developer")]
    return [
        f"A prompt usually ends with the question, but {len(late):,} of {len(dataset):,} end with a message of the system, "
        f"such as {shown}. Put it in front of the question, unless it is meant to come last."
        for shown in late[:1]
    ]


def describe_bad_message(message: Any) -> tuple[str, str, str] | None:
    """Return what is expected of a message, what is found instead, and what to do; or None for a message in order."""
    expected = "Each message of a prompt must be a dictionary with 'role' and 'content'"
    if not isinstance(message, Mapping):
        return (
            expected,
            f"have a list with a value of the type {type(message).__name__}",
            "Store the text alone, or as a message: [{'role': 'user', 'content': text}].",
        )
    keys = [name for name, value in message.items() if value is not None]
    calls = message.get("role") == "assistant" and message.get("tool_calls")
    missing = [name for name in ("role", "content") if name not in keys and not (name == "content" and calls)]
    if missing:
        remedy = "Rename the keys, or remove such rows."
        if {"from", "value"}.issubset(keys):
            remedy = (
                "Rename 'from' to 'role' and 'value' to 'content', and the roles human to user and gpt to assistant."
            )
        return expected, f"have a message with {', '.join(map(repr, keys)) or 'no values'}", remedy
    if message["role"] not in ROLES:
        return (
            f"The role of a message must be {', '.join(ROLES[:-1])} or {ROLES[-1]}",
            f"have the role {message['role']!r}",
            "Rename it, for example to 'user'.",
        )
    if not calls and not isinstance(message["content"], (str, list)):
        kind = type(message["content"]).__name__
        return (
            "The content of a message must be a text or a list of parts",
            f"have a value of the type {kind}",
            "Store it as a text.",
        )
    return None


def describe_unused_template(dataset: Any, tokenizer: Any) -> str | None:
    """Return what keeps the chat template of a tokenizer from being applied, and what to do, or None."""
    columns = getattr(dataset, "column_names", None) or ()
    if not getattr(tokenizer, "chat_template", None) or "prompt" not in columns or not hasattr(dataset, "__len__"):
        return None
    prompt = dataset[0]["prompt"] if len(dataset) else None
    if not isinstance(prompt, str):
        return None
    try:
        text = tokenizer.apply_chat_template([{"role": "user", "content": PLACE}], tokenize=False)
    except Exception:  # a template raises errors of any type
        return None
    parts = map(str.strip, text.split(PLACE))
    if any(part and part in prompt for part in parts):  # it has been rendered already
        return None
    return (
        "A chat model expects messages, but the prompts are texts, to which its chat template is not applied. For such a "
        "model, store messages: dataset.map(lambda row: {'prompt': [{'role': 'user', 'content': row['prompt']}]})."
    )


def check_dataset_size(args: Any, dataset: Any) -> None:
    """Check that a dataset fills a generation batch of all ranks: TRL leaves out an incomplete one, and would not train."""
    assert args.generation_batch_size is not None
    prompts = args.generation_batch_size // args.num_generations
    if hasattr(dataset, "__len__") and len(dataset) < prompts:
        raise ValueError(
            f"train_dataset must have at least the {prompts} prompts of one generation batch (generation_batch_size="
            f"{args.generation_batch_size} / num_generations={args.num_generations}, on all ranks together); it has "
            f"{len(dataset)}, so no step would be trained. Add prompts, or lower per_device_train_batch_size "
            f"({args.per_device_train_batch_size}) or steps_per_generation ({args.steps_per_generation}), which is "
            f"gradient_accumulation_steps by default."
        )
