"""The template that each prompt of a dataset is put into."""

from collections.abc import Callable, Sequence
from typing import Any

from .dataset_rows import TransformedRows, quiet_datasets


PROMPT_PLACE = "{prompt}"
EXAMPLE = f"Mail: {PROMPT_PLACE} JSON:"


def check_prompt_template(template: str | None) -> None:
    if template is not None and PROMPT_PLACE not in template:
        raise ValueError(
            f"prompt_template must contain {PROMPT_PLACE}, where the prompt of each row stands; got {template!r}. Write, for "
            f"example, {EXAMPLE!r}."
        )


def fill_template(dataset: Any, template: str | None) -> Any:
    """Return a dataset, or several of them by name, whose prompts are in the template. Without one, it is not changed."""
    if template is None or dataset is None:
        return dataset
    if isinstance(dataset, dict):
        return {name: fill_template(part, template) for name, part in dataset.items()}
    if isinstance(dataset, TransformedRows) or (getattr(dataset, "format", None) or {}).get("type") == "custom":
        raise ValueError(
            "prompt_template fills prompts that are stored, but the rows of the dataset come from a transform. Put the "
            "prompts into the template in the transform, and leave out prompt_template."
        )
    if "prompt" not in (dataset.column_names or ["prompt"]):  # which is said later, with its remedy
        return dataset

    def fill(prompts: list[Any]) -> dict[str, list[Any]]:
        return {"prompt": [fill_prompt(prompt, template) for prompt in prompts]}

    with quiet_datasets():
        return dataset.map(fill, input_columns=["prompt"], batched=True)


def fill_prompt(prompt: Any, template: str) -> Any:
    """Return a prompt in the template. In a conversation, only the last text of the user is put into it."""
    if isinstance(prompt, str):
        return template.replace(PROMPT_PLACE, prompt)
    if isinstance(prompt, Sequence):
        return replace_last(prompt, is_asked_in_text, lambda message: fill_message(message, template))
    return prompt  # which is said later


def fill_message(message: dict[str, Any], template: str) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": template.replace(PROMPT_PLACE, content)}
    parts = replace_last(
        content, is_text_part, lambda part: {**part, "text": template.replace(PROMPT_PLACE, part["text"])}
    )
    return {**message, "content": parts}


def is_asked_in_text(message: dict[str, Any]) -> bool:
    content = message["content"]
    return message["role"] == "user" and (isinstance(content, str) or any(map(is_text_part, content)))


def is_text_part(part: dict[str, Any]) -> bool:
    return part["type"] == "text"


def replace_last(values: Sequence[Any], is_meant: Callable[[Any], bool], change: Callable[[Any], Any]) -> list[Any]:
    places = [place for place, value in enumerate(values) if is_meant(value)]
    if not places:
        raise ValueError(
            f"prompt_template fills the last text of the user, but the prompt {values!r} has none. Add one, or leave out "
            f"prompt_template."
        )
    return [change(value) if place == places[-1] else value for place, value in enumerate(values)]
