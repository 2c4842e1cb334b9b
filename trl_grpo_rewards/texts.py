"""The text of prompts and completions in both formats of TRL, without the reasoning of models, and as strict JSON."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias


Message: TypeAlias = Mapping[str, Any]  # a message in the conversational format, with a `role` and a `content`


def content_text(content: str | Iterable[str | Message] | None) -> str:
    """Return the text of a message's content. In a list of parts, only text parts count."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    try:
        return "".join(part if isinstance(part, str) else part.get("text") or "" for part in content)
    except (TypeError, AttributeError):
        raise wrong_type("The content of a message", content, "a text or a list of parts") from None


def list_messages(what: str, value: Any, role: str) -> list[Message]:
    """Return the messages of a prompt or a completion in either of TRL's formats. A text is one message of this role."""
    if value is None or isinstance(value, str):
        return [{"role": role, "content": value}]
    messages = [value] if isinstance(value, Mapping) else value
    if not isinstance(messages, Sequence) or not all(isinstance(message, Mapping) for message in messages):
        raise wrong_type(what, value, "a text or a list of messages")
    return [*messages]


def wrong_type(what: str, value: Any, expected: str) -> TypeError:
    example = '[{"role": "assistant", "content": "4"}]'
    return TypeError(f"{what} must be {expected}; got {value!r:.100}. Pass a text, or messages such as {example}.")


def completion_messages(completion: str | Message | Sequence[Message] | None) -> list[Message]:
    return list_messages("A completion", completion, "assistant")


def completion_text(completion: str | Message | Sequence[Message] | None) -> str:
    """
    Return the text of a completion in either of TRL's formats. Of several messages, the assistant's last one counts.

    Marks of a chat template that end a turn are left out at the end.
    """
    if isinstance(completion, str):
        return strip_end_marks(completion)
    replies = [one for one in completion_messages(completion) if one.get("role", "assistant") == "assistant"]
    if replies:
        return strip_end_marks(content_text(replies[-1].get("content")))
    return ""


END_MARKS = tuple(
    "<|im_end|> <|eot_id|> <|endoftext|> <|end_of_text|> <|end|> <|return|> <|eom_id|> <|end_of_turn|> <end_of_turn> "
    "<turn|> <｜end▁of▁sentence｜> <|endofassistant|> <eos> <pad> <|pad|> </s> [EOS]".split()
)


def strip_end_marks(text: str) -> str:
    if not text.rstrip().endswith((">", "]")):  # as all of them end
        return text
    end = len(text)
    while text.endswith(END_MARKS, 0, end) or text[max(0, end - 1) : end].isspace():
        end -= next((len(one) for one in END_MARKS if text.endswith(one, 0, end)), 1)
    if text[end:].strip():
        return text[:end]
    return text


def prompt_text(prompt: str | Sequence[Message] | None) -> str:
    """Return the text of a prompt in either of TRL's formats. Of several messages, the user's last one counts."""
    messages = list_messages("A prompt", prompt, "user")
    questions = [message for message in messages if message.get("role") == "user"] or messages[-1:]
    if questions:
        return content_text(questions[-1].get("content"))
    return ""


def conversation_text(prompt: str | Sequence[Message] | None) -> str:
    """Return the text of a prompt with all of its messages, each after its role, or the one message alone."""
    messages = list_messages("A prompt", prompt, "user")
    texts = [content_text(one.get("content")) for one in messages]
    named = [f"{one.get('role', 'user')}: {text}" for one, text in zip(messages, texts, strict=True)]
    return "\n\n".join(named if len(texts) > 1 else texts)


REASONING_MARKS = (
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "reasoning", "thought", "scratchpad")),
    ("[THINK]", "[/THINK]"),
    ("<|channel|>analysis", "<|channel|>final"),
)
REASONING_TAG = re.compile("|".join(re.escape(mark) for marks in REASONING_MARKS for mark in marks if mark[0] == "<"))


def strip_reasoning(text: str) -> str:
    """Return the text after the reasoning, or before it if nothing follows. A mark that is never closed hides the rest."""
    if REASONING_TAG.search(text) is None and "THINK]" not in text:  # as in most texts
        return text
    for start, end in REASONING_MARKS:
        before, closed, text = text.rpartition(end)
        if closed and not text.strip() and start in before:
            text = before
        text = text.partition(start)[0].removeprefix("<|message|>")
    return text


MAX_LEVELS = 500  # nesting depth of lists and objects; Python's own limit depends on its version


def read_json(text: str) -> Any:
    """Parse a text as strict JSON, which excludes NaN and duplicate names in an object."""
    value = json.loads(
        text, object_pairs_hook=reject_duplicates, parse_constant=parse_finite, parse_float=parse_finite
    )
    level = [value]
    for _ in range(MAX_LEVELS + 1):
        level = [one for one in level if isinstance(one, (dict, list))]
        if not level:
            return value
        level = [item for one in level for item in (one.values() if isinstance(one, dict) else one)]
    raise RecursionError(f"more than {MAX_LEVELS} levels")


def reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict; raise a `ValueError` if a name occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def parse_finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError("a number is not finite")
    return number
