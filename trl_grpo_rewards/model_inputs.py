"""What a model reads of a job's prompts: what its chat template makes of them, and whether they fit into it."""

from dataclasses import replace
from heapq import nlargest
from typing import Any

from .dataset_rows import iterate_column
from .errors import shorten_repr
from .expressions import Reward
from .function_rewards import find_functions
from .options import FrozenDict
from .texts import conversation_text
from .traits import Findings


MEASURED_PROMPTS = 32  # number of prompts, the longest ones, whose tokens are counted
LONG_TOKEN = 16  # number of characters for each token of the limit after which a text is cut, as hardly any token has


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
