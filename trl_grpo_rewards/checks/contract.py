"""Check that rewards, dataset, configuration and chat template fit together."""

import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from heapq import nlargest
from typing import TYPE_CHECKING, Any, get_args, get_origin

from ..expressions import Reward, Sum, leave_out_witnesses
from ..function_rewards import FunctionReward, find_functions
from ..options import FrozenDict, format_annotation, has_type
from ..texts import conversation_text
from ..training_data import (
    describe_unused_template,
    find_bad_columns,
    find_dataset_faults,
    find_large_cells,
    list_order_warnings,
    shorten_repr,
)
from .findings import Findings
from .honest_completions import find_answer_column, is_guess, list_read_columns
from .row_shapes import suggest_for


if TYPE_CHECKING:
    from datasets import Dataset
    from trl import GRPOConfig


TEMPLATE = "chat template"  # title of the check of the chat template
INPUTS = "prompts, as the model reads them"  # title of the check of lengths and images
MEASURED_PROMPTS = 32  # number of prompts, the longest ones, whose tokens are counted
LONG_TOKEN = 16  # number of characters for each token of the limit after which a text is cut, as hardly any token has
LEAST_ROWS = 20  # number of rows from which on one solution for all of them is a warning, and no chance


def check_contract(
    rewards: Reward, dataset: "Dataset", config: "GRPOConfig | None" = None, tokenizer: Any = None
) -> Findings:
    """Check prompts, dataset columns, their types, lengths in tokens, weights, and whether the rewards can be pickled."""
    found = Findings("rewards, dataset and configuration")
    if len(dataset) == 0:
        found.faults.append(
            "The dataset must have at least one row; it is empty. Check how it was loaded or filtered."
        )
        return found
    answers = (
        "solution" if is_guess(rewards, dataset.column_names) else find_answer_column(rewards, dataset.column_names)
    )
    if bad := [*find_bad_columns(dataset.column_names), *find_large_cells(dataset, "prompt", answers)]:
        found.faults += bad  # the other faults would only follow from these
        return found
    repetitions = list_repetition_warnings(dataset, answers)
    misfits: list[str] = []
    for reward in find_functions(rewards):
        misfits += [*find_column_faults(reward, dataset), *find_length_faults(reward, config)]
    has_solutions = any(one.column_of.get("solution") == answers for one in find_functions(rewards))
    found.faults += [*misfits, *find_dataset_faults(dataset, config, answers if has_solutions else None)]
    unused = describe_unused_template(dataset, tokenizer)
    found.warnings += [unused] if unused else []
    found.warnings += list_order_warnings(dataset) if "prompt" in dataset.column_names else []
    needed = sorted(rewards.columns)
    kinds = ", ".join(f"{name} ({get_column_type(dataset, name)})" for name in needed if name in dataset.column_names)
    found.lines.append(f"{rewards}")
    found.lines.append(f"{len(dataset):,} prompts; columns that the rewards read: {kinds or 'none'}")
    suggestion, column = suggest_for(dataset)
    found.lines.append(suggestion)
    read = rewards.columns.union(*(list_read_columns(one, dataset.column_names) for one in find_functions(rewards)))
    is_judged = any(reward.is_outcome or reward.asks for reward in find_functions(rewards))
    if column and column not in read and not (is_judged and rewards.columns.issubset(dataset.column_names)):
        found.warnings.append(f"No reward reads the column '{column}'. {suggestion}")
    found.warnings += [*list_misspelt_warnings(rewards, dataset), *list_length_warnings(leave_out_witnesses(rewards))]
    found.warnings += repetitions
    found.warnings += [*list_weight_warnings(rewards, config), *list_pickle_warnings(rewards)]
    if config is not None and config.num_generations < 2:
        found.faults.append(
            f"num_generations must be at least 2, because GRPO learns from the differences within a group; got "
            f"{config.num_generations}. Set it to 2 or more."
        )
    return found


def get_column_type(dataset: "Dataset", column: str) -> str:
    feature = dataset.features[column]
    return getattr(feature, "dtype", None) or type(feature).__name__.lower()


def find_column_faults(reward: FunctionReward, dataset: "Dataset") -> Iterator[str]:
    """Yield the faults of columns that are missing, or whose values do not fit the annotation of the parameter."""
    for column in sorted(reward.own_columns | {*reward.readers}):
        if column in dataset.column_names:
            annotation = get_value_type(reward, column)
            value = next((value for value in dataset[column][:100] if value is not None), None)
            if value is not None and not has_type(value, annotation):
                yield (
                    f"Reward '{reward.name}' reads the column '{column}' as {format_annotation(annotation)}, but the "
                    f"dataset contains {get_column_type(dataset, column)}, such as {value!r}. Convert the column with "
                    f"dataset.map(...), or change the annotation in the reward function."
                )
        else:
            yield str(reward.describe_missing(column, dataset.column_names))


def list_misspelt_warnings(rewards: Reward, dataset: "Dataset") -> Iterator[str]:
    """Yield a warning for each column that is read if it exists, does not, and is like one that no reward reads."""
    unread = {*dataset.column_names} - rewards.columns
    for reward in find_functions(rewards):
        missing = {*reward.column_of.values()} - {*dataset.column_names} - reward.own_columns
        for column in sorted(missing):
            if close := get_close_matches(column, unread, n=1, cutoff=0.8):
                yield (
                    f"Reward '{reward.name}' reads the column '{column}' if there is one, but there is none. Did you mean "
                    f"'{close[0]}'?"
                )


def get_value_type(reward: FunctionReward, column: str) -> Any:
    """Return the type that the reward function declares for one value of a column."""
    parameter = next((name for name, read in reward.column_of.items() if read == column), "")
    annotation = reward.factory.annotations.get(parameter, Any)
    if reward.factory.kind == "batch":
        return get_args(annotation)[0] if get_origin(annotation) is list else Any
    return annotation


def find_length_faults(reward: FunctionReward, config: "GRPOConfig | None") -> Iterator[str]:
    """Yield the faults of lengths in tokens that no completion can reach."""
    longest = getattr(config, "max_completion_length", None)
    for name, tokens in (reward.ask_trait("lengths") or {}).items():
        if longest is not None and tokens > longest:
            yield (
                f"Reward '{reward.name}' has {name}={tokens}, but completions end at max_completion_length={longest}. "
                f"Set {name} to at most {longest}, or max_completion_length to {tokens}."
            )


def list_length_warnings(rewards: Reward) -> list[str]:
    """Return a warning for each length term that no outcome gates, if there is an outcome that could."""
    outcome = next((one for one in find_functions(rewards) if one.is_outcome), None)
    if outcome is None:
        return []
    return [
        f"Reward '{term.name}' pays for length, and no outcome gates it, so wrong answers also earn more for it. Pay it for "
        f"right answers only: gate({term}, by={outcome})."
        for term in dict.fromkeys(find_ungated_lengths(rewards))
    ]


def find_ungated_lengths(reward: Reward, is_gated: bool = False) -> Iterator[FunctionReward]:
    """Yield the length terms that no outcome gates. The terms of a sum do not gate each other."""
    inner = reward.children
    decide = [any(one.is_outcome for one in find_functions(child)) for child in inner]
    if isinstance(reward, FunctionReward) and not is_gated and not any(decide) and is_length_term(reward):
        yield reward
    for place, child in enumerate(inner):
        others = decide[:place] + decide[place + 1 :]
        yield from find_ungated_lengths(child, is_gated or (any(others) and not isinstance(reward, Sum)))


def is_length_term(reward: FunctionReward) -> bool:
    """Whether a reward pays completions of a length, or pays by length those that another reward chooses."""
    return reward.form.length is not None or ("lengths" in reward.factory.traits and bool(reward.children))


def list_repetition_warnings(dataset: "Dataset", column: str) -> list[str]:
    """Return warnings of rows that repeat another row's prompt and solution, and of one solution for all rows."""
    if not {"prompt", column}.issubset(dataset.column_names):
        return []
    pairs: Counter[tuple[str, str]] = Counter()
    for batch in dataset.select_columns(["prompt", column]).iter(batch_size=1000):
        pairs.update((repr(prompt), repr(value)) for prompt, value in zip(batch["prompt"], batch[column], strict=True))
    solutions = {solution for _, solution in pairs}
    warnings = []
    if repeated := len(dataset) - len(pairs):
        warnings.append(
            f"Each prompt should occur once, but {repeated:,} of {len(dataset):,} rows repeat the prompt and the {column} of "
            f"an earlier row. If they are not repeated on purpose, remove them."
        )
    if len(solutions) == 1 and len(dataset) >= LEAST_ROWS and solutions != {"None"}:
        warnings.append(
            f"The rows should have different solutions, but all {len(dataset):,} have the {column} {solutions.pop()}. A "
            f"model can learn it without reading the prompt. Check how the column was made."
        )
    return warnings


def list_weight_warnings(rewards: Reward, config: "GRPOConfig | None") -> Iterator[str]:
    """Yield a warning if args of TRL's own trainer, which gets functions and weights apart, have other weights."""
    if config is None or hasattr(config, "unscored") or not hasattr(config, "reward_weights"):
        return  # no args, those of our trainer, or those of AsyncGRPOTrainer, which takes one function
    given = config.reward_weights
    if (given or [1.0] * len(rewards.weights)) != rewards.weights:
        found = "args have no reward_weights" if given is None else f"args have reward_weights={given}"
        yield (
            f"The terms have the weights {rewards.weights}, but {found}, so TRL's own trainer weighs the functions in "
            f"rewards.rewards otherwise. Set reward_weights=rewards.weights, or pass the sum as one function: "
            f"reward_funcs=rewards."
        )


def list_pickle_warnings(rewards: Reward) -> Iterator[str]:
    """Yield a warning if pickle does not preserve the rewards."""
    try:
        copy = pickle.loads(written := pickle.dumps(rewards))
        if copy == rewards or pickle.dumps(copy) == written:  # an object of a class without __eq__ equals only itself
            return
        problem = "unpickling returns different rewards"
    except Exception as error:  # classes raise errors of any type
        problem = f"they cannot be pickled: {error}"
    yield (
        f"A trainer that scores in another process, as TRL's AsyncGRPOTrainer does, needs rewards that can be pickled, but "
        f"{problem}. Other trainers do not need it. Define reward functions at the top level of a module."
    )


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


def check_template(rewards: Reward, dataset: "Dataset", tokenizer: Any, options: dict | None = None) -> Findings:
    """Check that the chat template opens no tag that a reward looks for in the completion, or it is 0 for the whole run."""
    found = Findings(TEMPLATE)
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
    for reward in find_functions(rewards):
        if reward.form.tags:
            found.faults += find_template_faults(reward, rendered)
    return found


def check_model_inputs(dataset: "Dataset", tokenizer: Any, model: Any, args: "GRPOConfig | None" = None) -> Findings:
    """Check that the longest prompts fit into the positions of a model of this configuration, and that it reads images."""
    from transformers.models.auto import modeling_auto  # slow to import

    found, kind = Findings(INPUTS), model.model_type
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
    texts = [conversation_text(prompt) for prompt in dataset["prompt"][:]]
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


def find_template_faults(reward: FunctionReward, rendered: str) -> list[str]:
    opening = f"<{reward.form.tags[0]}>"
    is_open = rendered.rstrip().endswith(opening)
    if is_open == reward.form.prefilled:
        return []
    expected = f"the chat template to end the prompt with {opening}, but it ends with {rendered[-30:]!r}"
    if is_open:
        expected = (
            f"{opening} in the completion, but the chat template ends the prompt with it. The reward would stay at 0"
        )
    return [f"Reward '{reward.name}' expects {expected}. Write {suggest_prefilled(reward, is_open)}."]


def suggest_prefilled(reward: FunctionReward, prefilled: bool) -> str:
    """Return the reward with the one option changed that gives its form this `prefilled`, or else what to change."""
    for option, value in reward.options.items():
        if isinstance(value, bool):
            changed = replace(reward, options=FrozenDict({**reward.options, option: not value}))
            if changed.form.prefilled == prefilled:
                return str(changed)
    return f"{reward.factory.__name__}() so that its form has prefilled={prefilled}"
