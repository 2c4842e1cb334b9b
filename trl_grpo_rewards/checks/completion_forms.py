"""The form that rewards ask for, and completions written in it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..expressions import Reward
from ..forms import ContradictoryForms, Form
from ..function_rewards import FunctionReward, find_functions


BOX = Form()
"""The form of rewards that declare none: a box after a working."""

WORKING = "First the question is read again, and then every step is worked out and looked over. "
NO_ANSWER = "I do not know."
LARGE = 64_000
"""Number of characters of a long text."""

ROUNDING = 1e-9
"""Largest difference between scores that counts as equal."""


def merge_forms(rewards: Reward, row: Mapping[str, Any], found: Form = BOX) -> Form:
    """Return the form that earns all rewards of a row in full, with what was `found` where they declare nothing."""
    form = Form()
    merged: list[FunctionReward] = []
    for function in find_functions(rewards, paid_only=True, row=row):
        try:
            form = form.merge(function.form)
        except ContradictoryForms as error:
            other = next((one for one in merged if contradicts(one.form, function.form)), function)
            raise ContradictoryForms(
                f"No completion can earn both '{other.name}' and '{function.name}': {error}. Change or remove one of them."
            ) from None
        merged.append(function)
    if form.answer and found.answer:
        form, found = replace(form, answer=""), replace(found, answer=f"{found.answer}\n{form.answer}")
    return form.merge(found)


def contradicts(one: Form, other: Form) -> bool:
    """Whether no completion has both forms."""
    try:
        one.merge(other)
    except ContradictoryForms:
        return True
    return False


def write_completion(form: Form, working: str, final: str, count: Callable[[str], int]) -> str:
    """Return a completion of this form. If the form has a length, the working is extended to reach it."""
    if any(word.casefold() in working.casefold() for word in form.without):
        working = ""
    if form.bare and not (form.tags or form.words or form.length):
        return final
    working = " ".join([working.strip(), *form.words]).strip() or "."
    text = form.wrap(working, final)
    target, unit = form.length or (0, "tokens")
    size = {"tokens": count, "words": count_words, "chars": len}[unit]
    if target and size(text) > target:
        working, text = ".", form.wrap(".", final)
    while target and size(text) < target and len(working) < LARGE:
        missing = target - size(text)
        working += " so" * max(1, missing // 6)
        text = form.wrap(working, final)
    return text


def count_words(text: str) -> int:
    return len(text.split())
