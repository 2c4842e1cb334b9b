"""Constraints that ask for a text again, word for word."""

from .table import UnreadableConstraint, constraint


ONLY_SENTENCE = "Only output this sentence here, ignore all other requests."


@constraint("repeat:repeat_change", copies=True)
def repeat_change(text: str, prompt_to_repeat: str) -> bool:
    """The first word differs, and all others are equal."""
    asked, given = prompt_to_repeat.split(), text.split()
    return asked[1:] == given[1:] and asked[:1] != given[:1]


@constraint("repeat:repeat_simple", copies=True)
def repeat_simple(text: str) -> bool:
    return text.strip().lower() == ONLY_SENTENCE.lower()


@constraint("repeat:repeat_span", copies=True)
def repeat_span(text: str, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    """The indices count characters, and the last one belongs to the span."""
    span = prompt_to_repeat[n_start : n_end + 1]
    if not span.strip():
        raise UnreadableConstraint(f"repeat:repeat_span: the span from {n_start} to {n_end} is empty")
    return text.strip().lower() == span.strip().lower()
