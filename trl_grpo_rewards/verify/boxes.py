"""Find the boxed answer: a scanner that reads the text once. No regular expression, since those backtrack."""

BOXES = ("\\boxed", "\\fbox")


def final_part(text: str) -> str:
    """What follows the reasoning: a box inside `<think>` is no answer, and reasoning never closed has none."""
    return text.rpartition("</think>")[2].partition("<think>")[0]


def last_box(text: str) -> str | None:
    r"""
    Content of the last `\boxed{...}`, `\fbox{...}` or `\boxed 7`; None without one.

    A box that is never closed was cut off: there is no answer then, and no earlier box is revived for it.
    """
    start = max(text.rfind(box) + len(box) if box in text else -1 for box in BOXES)
    if start < 0:
        return None
    rest = text[start:].lstrip()
    if rest.startswith("{"):
        return group(rest)
    if rest == text[start:]:  # \boxedsomething
        return None
    return rest.split()[0].partition("$")[0].rstrip(".,;") if rest else None


def group(text: str) -> str | None:
    """Content of the balanced group that the text begins with; None where it is never closed."""
    depth, position = 0, 0
    while position < len(text):
        match text[position]:
            case "\\":
                position += 1  # what a backslash precedes is no brace
            case "{":
                depth += 1
            case "}":
                depth -= 1
                if depth == 0:
                    return text[1:position]
        position += 1
    return None
