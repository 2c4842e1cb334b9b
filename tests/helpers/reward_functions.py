"""Reward functions in TRL's form: some under which a known part of the bundled problems is dead, and one called from elsewhere."""

import re


def first_summand(prompt) -> int:
    return int(prompt[0]["content"].split()[2])


def form(completion) -> float:
    text = completion[0]["content"]
    return 0.6 * ("<" in text) + 0.3 * ("1" in text)


def half_dead(prompts, completions, **kwargs):
    """Groups of even problems are worth 0.7 throughout, which float32 does not represent; others depend on the text."""
    return [
        0.7 if first_summand(prompt) % 2 == 0 else form(completion)
        for prompt, completion in zip(prompts, completions, strict=True)
    ]


def all_dead(prompts, **kwargs):
    return [0.3] * len(prompts)


def live_if_odd(prompts, completions, **kwargs):
    """A problem that starts with an even number is dead. Otherwise, every second completion is right."""
    return [float(first_summand(prompt) % 2 and place % 2) for place, prompt in enumerate(prompts)]


def mostly_dead(prompts, completions, **kwargs):
    """Two problems of three are dead."""
    return [
        0.7 if first_summand(prompt) % 3 else form(completion) + 0.01 * (len(completion[0]["content"]) + index % 4)
        for index, (prompt, completion) in enumerate(zip(prompts, completions, strict=True))
    ]


def one_of_four(prompts, completions, **kwargs):
    """Three problems of four are dead."""
    pairs = zip(prompts, completions, strict=True)
    return [form(completion) if first_summand(prompt) % 4 == 0 else 0.5 for prompt, completion in pairs]


def lengths_of_some(prompts, completions, **kwargs):
    """Problems with an even first summand are dead; in the other groups most scores differ."""
    return [
        0.7 if first_summand(prompt) % 2 == 0 else form(completion) + 0.01 * (index % 4)
        for index, (prompt, completion) in enumerate(zip(prompts, completions, strict=True))
    ]


def grade(completions, columns):
    """Grade in place of a reward function in another module, which passes on all columns and names none."""
    texts = [re.findall("<answer>(.*?)</answer>", text) for text in completions]
    return [float(found[-1:] == [right]) for found, right in zip(texts, columns["code_word"], strict=True)]
