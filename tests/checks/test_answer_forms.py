"""Functions of the user's own that want the answer in a form that nobody declared."""

import asyncio
import json
import re

import pytest
from datasets import Dataset

from helpers.checks import find_faults, make_problems
from trl_grpo_rewards import boxed, reward, tags
from trl_grpo_rewards.checks import Form, assert_not_gameable, check, honest
from trl_grpo_rewards.checks.trials import find_answers


NUMBERS = [str(11 * place % 97 + 3) for place in range(24)]
CITIES = ["Paris", "Rome", "New York", "Oslo", "Bern", "Lima", "Kyiv", "Accra"]
R1 = "Reply as <think> your reasoning </think> <answer> your answer </answer>."
XML = "Respond in this format:\n<reasoning>\n...\n</reasoning>\n<answer>\n...\n</answer>"


def last(pattern: str, text: str) -> str | None:
    found = re.findall(pattern, text, re.DOTALL)
    return found[-1].strip() if found else None


def read_json(text: str):
    try:
        return json.loads(text)
    except ValueError:
        return None


@reward
def bare(completion: str, solution: str) -> float:
    return float(completion.strip() == solution)


@reward
def optional(completion: str, answer: str | None = None) -> float:
    return float(answer is not None and completion.strip() == answer)


@reward
def bare_integer(completion: str, solution: int) -> float:
    return float(completion.strip() == str(solution))


@reward
def last_line(completion: str, solution: str) -> float:
    return float(completion.strip().splitlines()[-1:] == [solution])


@reward
def in_element(completion: str, solution: str) -> float:
    return float(last("<answer>([^<]*)</answer>", completion) == solution)


@reward
def in_only_element(completion: str, solution: str) -> float:
    match = re.fullmatch(r"\s*<answer>([^<>]*)</answer>\s*", completion)
    return float(match is not None and match[1].strip() == solution)


@reward
def after_hashes(completion: str, answer: str) -> float:
    return float(completion.rpartition("####")[1:] == ("####", f" {answer.split('####')[-1].strip()}"))


@reward
def after_answer(completion: str, solution: str) -> float:
    return float(last(r"Answer: (.*)$", completion) == solution)


@reward
def after_verdict(completion: str, label: str) -> float:
    return float(last(r"VERDICT: (\w+)$", completion) == label)


@reward
def in_json(completion: str, solution: str) -> float:
    found = read_json(completion)
    return float(isinstance(found, dict) and str(found.get("answer")) == solution)


@reward
def in_json_of_the_prompt(completion: str, solution: int) -> float:
    found = read_json(completion)
    return float(isinstance(found, dict) and {*found} == {"why", "total"} and found["total"] == solution)


@reward
def in_json_block(completion: str, solution: str) -> float:
    found = read_json(last("```json(.*?)```", completion) or "")
    return float(isinstance(found, dict) and str(found.get("answer")) == solution)


@reward
def fields(completion: str, reply_fields: str) -> float:
    """Partly paid for an object, so that not even a wrong form earns nothing."""
    found, wanted = read_json(completion), json.loads(reply_fields)
    if not isinstance(found, dict):
        return 0.1 * ("{" in completion)
    return 0.2 + 0.8 * sum(found.get(key) == value for key, value in wanted.items()) / len(wanted)


@reward
def same_labels(completion: str, solution: list[str]) -> float:
    found = read_json(completion)
    return float(isinstance(found, list) and sorted(map(str, found)) == sorted(solution))


@reward
def in_sentence(completion: str, solution: str) -> float:
    return float(completion.strip() == f"The answer is {solution}.")


@reward
def in_sentence_of_the_prompt(completion: str, solution: str) -> float:
    return float(completion.strip() == f"The capital is {solution}, of course.")


@reward
def after_thinking(completion: str, solution: str) -> float:
    return float(re.fullmatch(rf"<think>.+</think>\s*{re.escape(solution)}", completion, re.DOTALL) is not None)


@reward(batched=True)
def thought(completions: list, solution: list[str], **columns: list) -> list[float]:
    texts = [completion[-1]["content"] for completion in completions]
    found = [re.fullmatch(r"<think>(.*?)</think>\s*<answer>([^<>]*)</answer>", text, re.DOTALL) for text in texts]
    return [float(one is not None and one[2].strip() == right) for one, right in zip(found, solution, strict=True)]


@reward
def correct(completion: str, answer: str) -> float:
    return 2.0 * (last("<answer>([^<]*)</answer>", completion) == answer)


@reward
def strict_format(completion: str) -> float:
    return 0.5 * bool(re.match("^<reasoning>\n.*?\n</reasoning>\n<answer>\n.*?\n</answer>\n$", completion))


@reward
def soft_format(completion: str) -> float:
    return 0.5 * bool(re.match(r"<reasoning>[^<]*</reasoning>\s*<answer>[^<]*</answer>", completion))


@reward
def letter(completion: str, target: str) -> float:
    return float(last(r"\(([A-D])\)$", completion) == target)


@reward
def first_option(completion: str, target: str) -> float:
    match = re.search(r"correct (?:option|answer) is:? \(?([A-D])\b", completion)
    return float(match is not None and match[1] == target)


@reward
def in_brackets(completion: str, solution: str) -> float:
    return float(last(r"\[OUT\](.*?)\[/OUT\]", completion) == solution)


@reward(batched=True, asks=False)
async def awaited_alone(completions: list[str], solution: list[str]) -> list[float]:
    await asyncio.sleep(0)
    return [float(text == right) for text, right in zip(completions, solution, strict=True)]


@reward
def judged_alone(completion: str, solution: str) -> float | None:
    """Nothing can be said of a completion without the element."""
    found = last("<final>([^<]*)</final>", completion)
    return None if found is None else 2.0 * (found == solution) - 1.0


@reward(outcome=True)
def nearly(completion: str, gold: float, tolerance: float) -> float:
    found = last(r"Answer: (-?[\d.]+)$", completion)
    return float(found is not None and abs(float(found) - gold) <= tolerance)


@reward
def signed(completion: str, solution: str) -> float:
    return float(re.search(r"~(\w[\w ]*)~ Bye$", completion) is not None and f"~{solution}~" in completion)


@reward
def brief(completion: str, max_words: int) -> float:
    return float(len(completion.split()) <= max_words)


@reward
def near_length(completion: str, max_words: int) -> float:
    return max(0.0, 1 - abs(len(completion.split()) - max_words) / max_words)


@reward
def repeats_word(completion: str, keyword: str) -> float:
    return float(keyword in completion)


def make_rows(column: str, values: list, prompt: str = "Which one?", **more: list) -> Dataset:
    prompts = [f"({place}) {prompt}" for place in range(len(values))]
    return Dataset.from_dict({"prompt": prompts, column: values, **more})


def make_chat(data: Dataset, system: str) -> Dataset:
    return data.map(
        lambda row: {"messages": [{"role": "system", "content": system}, {"role": "user", "content": row["prompt"]}]},
        remove_columns="prompt",
    ).rename_column("messages", "prompt")


LETTERS = [*"ABCDBDAC"]
OBJECTS = [json.dumps({"city": city, "age": age}) for age, city in enumerate(CITIES)]
SUMS = [f"So it is {number}.\n#### {number}" for number in NUMBERS]

HEALTHY = {
    "bare": (bare(), make_problems(*NUMBERS)),
    "bare text": (bare(), make_problems(*CITIES)),
    "a column that may be missing": (optional(), make_rows("answer", CITIES)),
    "bare integer": (bare_integer(), make_problems(*map(int, NUMBERS))),
    "last line": (last_line(), make_problems(*NUMBERS)),
    "element": (in_element(), make_problems(*NUMBERS)),
    "nothing but an element": (in_only_element(), make_problems(*NUMBERS)),
    "hashes": (after_hashes(), make_rows("answer", SUMS)),
    "Answer:": (after_answer(), make_problems(*CITIES)),
    "a mark that the prompt names": (
        after_verdict(), make_rows("label", ["spam", "ham"] * 4, "Spam or ham? End with VERDICT: <label>."),
    ),
    "JSON": (in_json(), make_problems(*NUMBERS)),
    "JSON of a text": (in_json(), make_problems(*CITIES, 'say "no"', r"\frac{1}{2}")),
    "JSON with keys that the prompt names": (
        in_json_of_the_prompt(), make_rows("solution", [*range(8)], 'Reply with {"why": "...", "total": 0}.'),
    ),
    "a block of JSON": (in_json_block(), make_problems(*NUMBERS)),
    "an object, partly paid": (fields(), make_rows("reply_fields", OBJECTS)),
    "a list in JSON": (same_labels(), make_rows("solution", [["a", "b"], ["c"], ["a"], ["b", "d"]])),
    "sentence": (in_sentence(), make_problems(*NUMBERS)),
    "a sentence that the prompt quotes": (
        in_sentence_of_the_prompt(), make_rows("solution", CITIES, "Say 'The capital is X, of course.'"),
    ),
    "after thinking": (after_thinking(), make_problems(*NUMBERS)),
    "thought and answer in a chat": (thought(), make_chat(make_problems(*NUMBERS), R1)),
    "the usual script for GSM8K": (
        correct() + soft_format() + strict_format(), make_chat(make_rows("answer", NUMBERS), XML),
    ),
    "element next to tags of this package": (in_element() + 0.2 * tags("think"), make_problems(*NUMBERS)),
    "element next to a box": (in_element() + boxed(evaluated=True), make_problems(*NUMBERS)),
    "two forms": (in_element() + 0.5 * after_answer(), make_problems(*NUMBERS)),
    "the first letter": (first_option(), make_rows("target", LETTERS, "A, B, C or D?")),
    "brackets that the prompt shows": (
        in_brackets(),
        make_rows("solution", CITIES, "Write [OUT]city[/OUT]."),
    ),
    "letter": (letter(), make_rows("target", LETTERS, "A, B, C or D?")),
    "async": (awaited_alone(), make_problems(*CITIES)),
    "None without the element that the prompt shows": (
        judged_alone(), make_rows("solution", NUMBERS, "End with <final>your number</final>."),
    ),
    "several columns": (
        nearly(), make_rows("gold", [*map(float, NUMBERS)], tolerance=[0.01] * len(NUMBERS)),
    ),
    "completions of the dataset": (
        signed(), make_rows("solution", CITIES, completion=[f"Well. ~{city}~ Bye" for city in CITIES]),
    ),
}  # fmt: skip
"""Rewards without a fault, whose form can be found, with a dataset for each."""


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_reward_is_paid_in_its_own_form(name):
    rewards, data = HEALTHY[name]
    found = check(rewards, data)
    assert not [text for one in found for text in one.faults + one.warnings]
    right, wrong = (found[-1].data["dry_run"][-1][kind] for kind in ("right", "wrong"))
    assert right == pytest.approx(3.0 if "script" in name else sum(rewards.weights)) and wrong < right


@reward
def encoded(completion: str, solution: str) -> float:
    """Wants a form that nobody guesses, and pays a little for what is not it."""
    return float(completion == f"=={solution[::-1]}==") or 0.1 * ("{" in completion) or 0.2 * ("<think>" in completion)


@reward
def encoded_in_another_column(completion: str, reversed_city: str) -> float:
    return 2.0 * (completion == f"=={reversed_city[::-1]}==") - 1.0


UNKNOWN = {
    "a form of its own": (encoded(), make_problems(*CITIES)),
    "next to a term for form": (encoded() + 0.5 * soft_format(), make_problems(*CITIES)),
    "next to an outcome": (boxed(evaluated=True) + 0.5 * encoded(), make_problems(*NUMBERS)),
    "another column": (encoded_in_another_column(), make_rows("reversed_city", CITIES)),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_form_that_is_not_found_is_a_warning_with_what_was_tried_and_what_to_write(name):
    rewards, data = UNKNOWN[name]
    found = check(rewards, data)
    assert not [fault for one in found for fault in one.faults]
    (warning,) = [text for one in found for text in one.warnings if "No right answer that was tried" in text]
    value = next(iter(data[0][name] for name in data.column_names if name != "prompt"))
    assert f"The value {value!r} of '{data.column_names[1]}' was written as '\\\\boxed{{{value}}}', " in warning
    assert f"'#### {value}', " in warning and "@reward(form=lambda: Form(answer='Answer: {}'))" in warning


@pytest.mark.parametrize(
    "rewards, column, values",
    [
        (brief(), "max_words", [50] * 24),
        (brief(), "max_words", [2] * 8),
        (near_length(), "max_words", [5, 20, 50, 70]),
        (repeats_word(), "keyword", CITIES),
    ],
    ids=["an option", "an option that nothing meets", "options of rows", "a word to mention"],
)
def test_what_a_column_contains_that_is_taken_for_the_solution_is_no_fault(rewards, column, values):
    assert not find_faults(rewards, make_rows(column, values))


def test_a_column_that_may_be_missing_and_is_causes_no_fault():
    assert not find_faults(optional(), make_rows("theme", CITIES))


@reward
def in_any_element(completion: str, solution: str) -> float:
    """A hole: one of many answers may be right."""
    return float(solution in re.findall("<answer>([^<]*)</answer>", completion))


@reward
def in_json_or_perfect(completion: str, solution: str) -> float:
    return in_json.function(completion, solution) or float("perfect" in completion)


@reward
def encoded_or_perfect(completion: str, solution: str) -> float:
    return max(encoded.function(completion, solution), float("perfect" in completion))


@reward
def opposite(completion: str, solution: str) -> float:
    return 1 - in_element.function(completion, solution)


@reward
def the_same(completion: str, solution: str) -> float:
    return 0.7


@pytest.mark.parametrize(
    "rewards, said",
    [
        (in_any_element(), "The attack 'many boxes' is paid"),
        (in_json_or_perfect(), "The attack 'flattery' is paid"),
        (opposite(), "a right answer earns 0.000, which is no more than a wrong one earns (1.000)"),
        (the_same(), "a right answer earns 0.700, which is no more than a wrong one earns (0.700)"),
    ],
    ids=str,
)
def test_a_fault_is_found_in_the_form_that_the_reward_wants(rewards, said):
    assert any(said in fault for fault in find_faults(rewards, make_problems(*NUMBERS)))


def test_an_attack_that_earns_more_than_all_that_was_tried_is_a_warning():
    found = check(encoded_or_perfect(), make_problems(*CITIES))
    (warning,) = [text for one in found for text in one.warnings if "more than each right completion" in text]
    assert "The attack 'flattery" in warning and "earns 1.000 under encoded_or_perfect()" in warning
    assert not [text for one in check(encoded(), make_problems(*CITIES)) for text in one.warnings if "attack" in text]


@reward(form=lambda: Form(answer="=={}==", bare=True))
def declared(completion: str, solution: str) -> float:
    return float(completion == f"=={solution}==")


def test_a_form_that_is_declared_is_used_and_nothing_else_tried():
    assert_not_gameable(declared())
    assert honest(declared(), {"prompt": "?", "solution": "7"}) == "==7=="
    assert find_answers(declared(), [*make_problems(*NUMBERS)]).form == Form()


def test_the_tests_of_a_reward_of_ones_own_find_its_form_too():
    assert_not_gameable(in_element() + 0.1 * tags("think"))
    with pytest.raises(AssertionError, match="many boxes on 3 of 3 rows"):
        assert_not_gameable(in_any_element())
    assert_not_gameable(
        encoded(), [{"prompt": "?", "solution": city, "completion": f"=={city[::-1]}=="} for city in CITIES]
    )
