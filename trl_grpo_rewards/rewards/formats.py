"""Rewards for the form of a completion."""

import re

from ..registry import reward


NAME = re.compile(r"[\w.-]+")


def check_tags(names: tuple[str, ...]) -> None:
    if not names or len({*names}) < len(names) or not all(map(NAME.fullmatch, names)):
        raise ValueError(
            f"tags() has the names {', '.join(map(repr, names)) or 'none'}. "
            f"Give it one or more different names, without brackets: tags('think', 'answer')."
        )


@reward(check=check_tags)
def tags(completion: str, *names: str, prefilled: bool = False, partial: bool = False) -> float:
    """
    1 if the completion consists of these tags: in this order, once each, none of them empty; else 0.

    Only white space may stand before, between and after them. After a single tag any text may follow:
    `<think>...</think>` and then the answer. The text is read once, so a hostile one costs no more than its length.

    Args:
        *names (`str`):
            Names of the tags, without brackets.
        prefilled (`bool`, *optional*, defaults to `False`):
            The chat template has opened the first tag already, so that the completion begins inside it.
        partial (`bool`, *optional*, defaults to `False`):
            Pay an equal share for each tag that is right: there once, closed, not empty, and next to its neighbours.

    Example:

    ```python
    >>> from trl_grpo_rewards import tags

    >>> tags("think")(completions=["<think>2 + 2</think>4", "<think></think>4", "4"])
    [1.0, 0.0, 0.0]
    >>> tags("think", "answer", partial=True)(completions=["<think>2 + 2</think>So <answer>4</answer>"])
    [0.5]

    ```
    """
    text = f"<{names[0]}>{completion}" if prefilled else completion
    right, end = 0, 0
    for name in names:
        opening, closing = f"<{name}>", f"</{name}>"
        start, stop = text.find(opening), text.find(closing)
        if text.count(opening) == text.count(closing) == 1 and start < stop:
            before, inside, after = text[end:start], text[start + len(opening) : stop], text[stop + len(closing) :]
            alone = (
                start >= end and before.strip() == "" and (name != names[-1] or len(names) == 1 or not after.strip())
            )
            right += alone and inside.strip() != ""
            end = max(end, stop + len(closing))
    return right / len(names) if partial else float(right == len(names))
