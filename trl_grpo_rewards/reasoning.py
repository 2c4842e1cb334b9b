"""The marks that models put around their reasoning, and the text outside of them."""

REASONING_MARKS = (
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "reasoning", "thought", "scratchpad")),
    ("[THINK]", "[/THINK]"),
    ("<|channel|>analysis", "<|channel|>final"),
)


def strip_reasoning(text: str) -> str:
    """
    Return the text after the reasoning, or before it if nothing follows. A mark that is never closed hides the rest.

    The reasoning may begin without a mark, because chat templates open it.
    """
    if "<" not in text and "[" not in text:  # no mark, as in most texts
        return text
    for start, end in REASONING_MARKS:
        before, closed, text = text.rpartition(end)
        if closed and not text.strip() and start in before:
            text = before
        text = text.partition(start)[0].removeprefix("<|message|>")
    return text
