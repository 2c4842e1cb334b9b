"""Worthless completions in the form that the rewards ask for: attacks, which no reward should pay for."""

import codecs
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from math import ceil
from pathlib import Path
from typing import Any

from ..answers.mathematics.evaluation import evaluate_exactly
from ..answers.mathematics.grammar import read
from ..answers.solutions import read_gold
from ..expressions import Reward
from ..function_rewards import find_functions
from ..texts import prompt_text
from ..traits import LARGE, WORKING, Form, count_words
from .completions import BOX, SPELLED, list_known_solutions, merge_forms


PROBE = "0.918273645"  # an answer that no dataset contains
ABSURD = "-918273645"
ABSURD_WORD = "Zyxwvuts"
WORDS = "Amber Birch Copper Dover Ember Falcon Granite Harbor Island Jasper Kestrel Linden Maple Nectar Onyx Pepper"
EXPRESSION = re.compile(r"\$([^$]{1,200})\$|([\d(][\d\s+\-*/×·÷^().]{0,200}[+\-*/×·÷^][\d\s+\-*/×·÷^().]{0,200}[\d)])")
NUMBER = re.compile(r"-?\d+(\.\d+)?")
PARTS = re.compile(r"\w+|\W+")
LETTER = re.compile(r"[^\W\d_]")
LAST_LETTER = re.compile("(?<=.)([a-z])(?=[^a-z]*$)", re.DOTALL)
EQUATION = re.compile(r"[\d\s+*/().-]*\d\)* [+*-] [\d\s+*/().-]+")
SAYABLE = re.compile(r"[$\\\w][\w .,'%$:/+*^\\{}-]{0,60}")  # what a sentence can deny, and not a program or an object
TEXTS: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("attacks.toml").read_text(encoding="utf-8")
)  # those that are the same for each row, and the kinds of all
# The kind of each attack. Those that rewards declare are informed ones, which may earn a part.
KINDS = {name: kind for kind, names in TEXTS["kinds"].items() for name in names}
FORMLESS = TEXTS["kinds"]["formless"]  # no reward should pay for them
RUN_ON = TEXTS["kinds"]["near"][-1]  # as base models write that were shown examples


def attacks(
    rewards: Reward,
    row: Mapping[str, Any],
    count: Callable[[str], int] = count_words,
    form: Form = BOX,
    others: Sequence[str] = (),
) -> dict[str, str]:
    r"""
    Return completions that should earn nothing, by the name of the attack.

    If they contain the right answer, it is one of several, or denied. Those in [`FORMLESS`] also have a bad form.

    Args:
        rewards ([`Reward`]):
            Expression of rewards.
        row (`dict`):
            A row of the dataset, with `prompt` and optionally `solution`.
        count (`Callable`, *optional*):
            Returns the number of tokens of a text. By default it counts words.
        form ([`Form`], *optional*):
            What the rewards do not declare of their form.
        others (`list[str]`, *optional*):
            Right answers of other rows, to guess.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, tags
    >>> from trl_grpo_rewards.checks import attacks

    >>> made = attacks(boxed() + tags("think"), {"prompt": "What is 3 + 4?", "solution": "7"})
    >>> made["empty tags"], made["question restated"][-13:]
    ('<think></think>', '\\boxed{3 + 4}')

    ```
    """
    known = list_known_solutions(rewards, row)
    golds = [gold for gold in (known if SPELLED in row else map(read_gold, known)) if gold is not None]
    others = [other for other in others if other not in golds]
    form = merge_forms(rewards, row, form)
    made = write_attacks(form, golds, prompt_text(row.get("prompt")), count, others)
    return {name: made[name] for name in KINDS if name in made} | collect_worthless(rewards)


def write_attacks(
    form: Form, golds: Sequence[str], question: str, count: Callable[[str], int], others: Sequence[str]
) -> dict[str, str]:
    """Return the attacks on a row by their names. Some cannot be made on every row."""
    gold = "".join(golds[:1])
    wrong = make_wrong_answer(golds, form.choices)
    guesses = list_guesses(golds, wrong, others)

    def write(final: str, working: str = WORKING) -> str:
        return form.write(working, final, count)

    def answer(*answers: str, working: str = WORKING) -> str:
        return write(" ".join(map(form.write_answer, answers)), working)

    said = TEXTS["said"]
    if form.bare and form.answer:
        said = {name: form.write_answer(text) for name, text in said.items()}
    answers = {
        "a wrong answer": wrong,
        "an empty answer": "",
        "many answers in a box": ", ".join(guesses),
        "every choice": ", ".join(form.choices) or None,
        "question restated": find_expression(question),
        **vary_number(gold),
        **vary_text(gold, others),
    }
    between = {
        "right between wrong answers": answer(guesses[0], gold, guesses[-1]),
        RUN_ON: f"{answer(wrong)}\n\nQ: What is it then?\nA: {answer(gold)}",
    }
    return {
        **write_tags(form),
        **{name: text * times for name, (text, times) in TEXTS["repeated"].items()},
        **{name: write(text) for name, text in {**said, **TEXTS["written"]}.items()},
        **{name: answer(text) for name, text in answers.items() if text not in (None, gold)},
        **(between if golds else {}),
        "padding": answer(wrong, working=WORKING * 200),
        "many boxes": answer(*guesses),
        "prompt echoed": question,
    }


def write_tags(form: Form) -> dict[str, str]:
    """Return the words and the tags of a form without an answer."""
    names = form.tags or (*dict.fromkeys(re.findall(r"<(\w+)>", form.answer)),) or ("think", "answer")
    opening = "".join(f"<{name}>" for name in names)
    stuffing = {"keyword stuffing": " ".join(form.words * 50)} if form.words else {}
    return stuffing | {
        "empty tags": "".join(f"<{name}></{name}>" for name in names),
        "tag spam": "".join(f"<{name}>x</{name}>" for name in names) * 100,
        "unclosed tags": opening * (LARGE // len(opening)),
    }


def collect_worthless(rewards: Reward) -> dict[str, str]:
    return {
        f"{function.name}: {name}": text
        for function in find_functions(rewards)
        for name, text in (function.ask_trait("worthless") or {}).items()
    }


# --- wrong answers ----------------------------------------------------------------------------------------------------
def list_guesses(golds: Sequence[str], wrong: str, others: Sequence[str]) -> list[str]:
    """Return letters, words or numbers, as the right answer is, with it in the middle. A reward may read `others` alone."""
    gold = "".join(golds[:1])
    kind = [f"{value}" for value in range(100)]
    if re.fullmatch("[A-J]", gold):
        kind = [*"ABCDEFGHIJ"]
    elif re.fullmatch(r"[^\W\d_]{2}[\w .'-]*", gold):
        kind = WORDS.split()
    elif NUMBER.fullmatch(gold):
        others = ()
    guesses = [guess for guess in kind if guess not in (*golds, wrong)]
    half = len(guesses) // 2
    middle = len(others) // 2
    return [*others[:middle], *guesses[:half], *golds[:1], *guesses[half:], wrong, *others[middle:]]


def make_wrong_answer(golds: Sequence[str], choices: str) -> str:
    """Return a choice or a number that is none of the solutions, or a number that no dataset contains."""
    gold = "".join(golds[:1])
    if gold in [*choices]:
        letters = reversed(choices + choices[: choices.index(gold)])
        return next((letter for letter in letters if letter not in golds), PROBE)
    if golds and all(map(NUMBER.fullmatch, golds)):
        return f"{max(map(Decimal, golds)) + 13}"
    values = [evaluate_exactly(value) for value in map(read, golds) if value is not None]
    known = [value for value in values if value is not None and abs(value) < 10**100]  # others are not written out
    return f"{max(known) + 13}" if known else fill_in(PROBE, gold)


def vary_number(gold: str) -> dict[str, str]:
    """Return numbers that are close to a number, or written almost like it, by the attack."""
    if not NUMBER.fullmatch(gold):
        return {}
    number = Decimal(gold)
    step = max(1, ceil(abs(number) / 25)) if number == int(number) else number / 25  # about 4 %
    varied = {"a number nearby": f"{number + step}", "the wrong sign": f"{-number}"}
    if gold.isdigit():
        varied["a digit added"] = f"{gold}1"
    if gold.isdigit() and len(gold) > 1:
        varied["a digit missing"] = gold[:-1]
        varied["the same last digit"] = f"{int(gold[0]) % 9 + 1}{gold[1:]}"
        varied["its digits in another order"] = gold[::-1]
    return varied


def vary_text(gold: str, others: Sequence[str]) -> dict[str, str | None]:
    """Return texts that are like the right answer or made from it, by the attack."""
    is_number = NUMBER.fullmatch(gold) is not None
    varied = {
        "the result of the answer": work_out(gold),
        "a part of another answer": exchange_part(gold, others),
        "one character changed": LAST_LETTER.sub(lambda letter: codecs.encode(letter[0], "rot13"), gold),
    }
    if is_number or len(gold) > 1:  # any letter may be the right one
        varied["an absurd answer"] = fill_in(ABSURD if is_number else ABSURD_WORD, gold)
    if SAYABLE.fullmatch(gold):
        varied["the answer denied"] = f"not {gold}"
    if len(gold) > 4 and gold.isalpha():
        varied["the first letter alone"] = gold[0]
    return varied


def fill_in(value: str, gold: str) -> str:
    """Return a value, or JSON of the shape of the right answer that has it everywhere."""
    try:
        found = json.loads(gold)
    except ValueError:
        return value
    return json.dumps(replace_leaves(found, value)) if isinstance(found, dict | list) else value


def replace_leaves(found: Any, value: str) -> Any:
    if isinstance(found, dict):
        return {key: replace_leaves(inner, value) for key, inner in found.items()}
    if isinstance(found, list):
        return [replace_leaves(inner, value) for inner in found]
    return value if isinstance(found, str) else float(value if NUMBER.fullmatch(value) else ABSURD)


def work_out(gold: str) -> str | None:
    """Return the number that an equation is made for, as in the game countdown."""
    value = read(gold) if EQUATION.fullmatch(gold) else None
    number = None if value is None else evaluate_exactly(value)
    return None if number is None else f"{number}"


def exchange_part(gold: str, others: Sequence[str]) -> str | None:
    """Return an answer with a word of another one that is built alike, the last one that differs."""
    parts = PARTS.findall(gold)
    for other in filter(LETTER.search, others):
        words = PARTS.findall(other)
        different = [place for place, pair in enumerate(zip(parts, words, strict=False)) if len({*pair}) > 1]
        if different and len(words) == len(parts) > 2:
            return "".join([*parts[: different[-1]], *words[different[-1] :]])
    return None


def find_expression(question: str) -> str:
    """Return the longest expression with an operation that the question contains, or else the question itself."""
    found = ["".join(groups).strip() for groups in EXPRESSION.findall(question)]
    return max((one for one in found if re.search(r"[+\-*/×·÷^\\]", one)), key=len, default=question)
