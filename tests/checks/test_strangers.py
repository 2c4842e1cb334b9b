"""Reward functions as people write them for TRL: the right answer is found, and what is measured as broken is called broken."""

import json
import re

import pytest
from datasets import ClassLabel, Dataset

from helpers.checks import find_faults
from helpers.reward_functions import grade
from trl_grpo_rewards.checks import Findings, as_text, check, verdict


@pytest.fixture(autouse=True)
def shorter_texts(monkeypatch, request):
    """Let the longest attack be short, except where its length matters: the patterns here need quadratic time."""
    if "too_long" not in request.node.name:
        monkeypatch.setattr("trl_grpo_rewards.checks.attack_completions.LARGE", 6000)


def last(pattern: str, completion) -> str:
    text = completion if isinstance(completion, str) else completion[-1]["content"]
    found = re.findall(pattern, text, re.DOTALL)
    return found[-1].strip() if found else ""


def is_equal(completions, answer, **kwargs):
    return [
        float(last("<answer>(.*?)</answer>", one) == str(right))
        for one, right in zip(completions, answer, strict=True)
    ]


def is_equation(completions, target, nums, **kwargs):
    scores = []
    for one, value, numbers in zip(completions, target, nums, strict=True):
        text = last("<answer>(.*?)</answer>", one)
        is_made = sorted(map(int, re.findall(r"\d+", text))) == sorted(numbers) and re.fullmatch(r"[\d+*/() -]+", text)
        scores.append(float(bool(is_made) and eval(text) == value))
    return scores


def is_value(completions, target, nums, **kwargs):
    texts = [last("<answer>(.*?)</answer>", one) for one in completions]
    return [
        float(bool(re.fullmatch(r"\d[\d+*/() -]*|\([\d+*/() -]+", text)) and eval(text) == value)
        for text, value in zip(texts, target, strict=True)
    ]


NAMES = ["negative", "neutral", "positive"]


def is_named(completions, label, **kwargs):
    return [
        float(last("<label>(.*?)</label>", one) == NAMES[right]) for one, right in zip(completions, label, strict=True)
    ]


def is_lettered(completions, choice, **kwargs):
    return [float(last(r"\(([A-D])\)", one) == "ABCD"[right]) for one, right in zip(completions, choice, strict=True)]


def is_decided(completions, is_even, **kwargs):
    return [
        float(last("Verdict: (yes|no)", one) == ("no", "yes")[right])
        for one, right in zip(completions, is_even, strict=True)
    ]


def is_same_box(completions, box, **kwargs):
    return [
        float(last(r'"box": (\[[\d, ]+\])', one) == str(right)) for one, right in zip(completions, box, strict=True)
    ]


def is_called(completions, expected, **kwargs):
    texts = [last("<tool_call>(.*?)</tool_call>", one) for one in completions]
    return [float(f"[{text}]" == right) for text, right in zip(texts, expected, strict=True)]


def is_dated(completions, iso, **kwargs):
    return [float(last(r"Date: ([\d-]+)$", one) == right) for one, right in zip(completions, iso, strict=True)]


def is_inside(completions, reward_model, **kwargs):
    return [
        float(last("#### (.*)$", one) == right["ground_truth"])
        for one, right in zip(completions, reward_model, strict=True)
    ]


def is_passing(completions, tests, **kwargs):
    scores = []
    for one, checks in zip(completions, tests, strict=True):
        try:
            names: dict = {}
            exec(last("```python\n(.*?)```", one), names)
            exec("\n".join(checks), names)
            scores.append(1.0)
        except BaseException:
            scores.append(0.0)
    return scores


def is_solved(completions, puzzle, solved, **kwargs):
    texts = [last("<grid>(.*?)</grid>", one) for one in completions]
    return [
        float(text == right and len(text) == len(given))
        for text, right, given in zip(texts, solved, puzzle, strict=True)
    ]


def make_rows(prompt: str, count: int = 24, **columns) -> Dataset:
    made = {name: [make(place) for place in range(count)] for name, make in columns.items()}
    return Dataset.from_dict({"prompt": [f"({place}) {prompt}" for place in range(count)], **made})


IN_TAGS = "Think in <think></think> and answer in <answer></answer>."
PROGRAM = "def add_{0}(a):\n    return a + {0}"
COUNTDOWN = {"target": lambda n: (n + 2) * (n + 3) - 4, "nums": lambda n: [n + 2, n + 3, 4]}

UNDERSTOOD = {
    "an equation of the numbers": (is_equation, make_rows(IN_TAGS, **COUNTDOWN)),
    "the name of a class": (is_named, make_rows("Use <label></label>.", label=lambda n: n % 3)),
    "the letter of a class": (is_lettered, make_rows("Which?", choice=lambda n: n % 4)),
    "yes for True": (is_decided, make_rows("Even? End with 'Verdict: yes' or no.", is_even=lambda n: n % 2 == 0)),
    "a list as a list": (is_same_box, make_rows('Reply with {"box": [x, y, w, h]}.', box=lambda n: [n, n + 1, 2 * n, 9])),
    "a call in a list": (is_called, make_rows("Call in <tool_call></tool_call>.", expected=lambda n: f'[{{"name": "f{n}"}}]')),
    "after a word of the prompt": (is_dated, make_rows("Write it after 'Date:'.", iso=lambda n: f"20{n + 10}-03-04")),
    "in an object": (is_inside, make_rows("?", reward_model=lambda n: {"style": "rule", "ground_truth": f"{7 * n}"})),
    "a program next to tests": (
        is_passing,
        make_rows("Write ```python\n```.", code=PROGRAM.format, tests=lambda n: [f"assert add_{n}(1) == {n + 1}"]),
    ),
    "one of several columns": (
        is_solved,
        make_rows("Write <grid></grid>.", puzzle=lambda n: f"{n % 10}..", solved=lambda n: f"{n % 10}{n % 7}{n % 3}"[:3].zfill(3)),
    ),
}  # fmt: skip


def is_topic(completions, topic, **kwargs):
    texts = [last("<topic>(.*?)</topic>", one) for one in completions]
    return [float(text == read_topics()[right]) for text, right in zip(texts, topic, strict=True)]


def read_topics():
    return ("sport,law,art" + "").split(",")


def test_the_names_of_a_column_of_classes_are_answers():
    data = make_rows("Write <topic></topic>.", topic=lambda n: n % 3)
    assert any("cannot tell" in text for one in check(is_topic, data) for text in one.warnings)
    found = check(is_topic, data.cast_column("topic", ClassLabel(names=["sport", "law", "art"])))
    assert not [text for one in found for text in one.faults + one.warnings], as_text(found)


def find_right(**kwargs):
    return kwargs["code_word"]


def is_code_word(completions, **kwargs):
    return [
        float(last("<answer>(.*?)</answer>", one) == right)
        for one, right in zip(completions, find_right(**kwargs), strict=True)
    ]


def is_graded(completions, **kwargs):
    return grade(completions, kwargs)


def is_named_later(completions, **kwargs):
    return grade(completions, {"code_word": kwargs["_".join(["hidden", "word"])]})


@pytest.mark.parametrize(
    "function, column",
    [(is_code_word, "code_word"), (is_graded, "code_word"), (is_named_later, "hidden_word")],
    ids=["of this module", "of another module", "made name"],
)
def test_a_column_that_a_function_reads_for_another_one_is_found(function, column):
    columns = {column: "q{}w".format, "answer": lambda n: f"{n} and more"}
    found = check(function, make_rows(IN_TAGS, **columns))
    assert found[-1].data["dry_run"][-1]["right"] == 1.0 > found[-1].data["dry_run"][-1]["wrong"]


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_a_right_answer_is_found(name):
    function, data = UNDERSTOOD[name]
    found = check(function, data)
    assert not [text for one in found for text in one.faults if "puzzle" not in text], as_text(found)
    assert not any("cannot tell" in text for one in found for text in one.warnings)
    assert found[-1].data["dry_run"][-1]["right"] == 1.0 > found[-1].data["dry_run"][-1]["wrong"]


def test_completions_of_the_dataset_are_tried_whatever_the_columns_are():
    def signed(completions, first, second, **kwargs):
        return [float(last("~(.*)~", one) == a + b) for one, a, b in zip(completions, first, second, strict=True)]

    columns = {"first": "a{}".format, "second": "b{}".format}
    (warning,) = [text for one in check(signed, make_rows("?", **columns)) for text in one.warnings]
    assert "cannot tell" in warning and "Add a column 'completion'" in warning and len(warning) <= 300
    found = check(signed, make_rows("?", completion="~a{0}b{0}~".format, **columns))
    assert not [text for one in found for text in one.faults + one.warnings]
    assert found[-1].data["dry_run"][-1]["right"] == 1.0


# --- no answer is needed to call something broken ---------------------------------------------------------------------


def has_tag(completions, answer, **kwargs):
    return [float(bool(last("<answer>(.*?)</answer>", one))) for one in completions]


def is_wrong(completions, answer, **kwargs):
    return [1.0 - score for score in is_equal(completions, answer)]


def is_never(completions, answer, **kwargs):
    return [
        float(last("<answer>(.*?)</answer>", one) == right + "\r")
        for one, right in zip(completions, answer, strict=True)
    ]


def is_free(completions, answer, **kwargs):
    scores = is_equal(completions, answer)
    return [score if right.isdigit() else 1.0 for score, right in zip(scores, answer, strict=True)]


def form(completions, **kwargs):
    return [2.0 * last("<answer>(.*?)</answer>", one).isdigit() for one in completions]


def lines(completions, **kwargs):
    return [0.5 * bool(re.match("<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>", one)) for one in completions]


def no_lines(completions, **kwargs):
    return [0.5 * bool(re.match("<think>[^\n]*</think>\\s*<answer>[^\n]*</answer>", one)) for one in completions]


ANSWERS = make_rows(IN_TAGS, answer=lambda n: f"{7 * n + 10}")
OWN = make_rows("?", answer="{}".format, completion="It is {}.".format)
SOLUTIONS = make_rows(IN_TAGS, answer=lambda n: f"First add {n} and 3, which is not hard at all.\n#### {n + 3}")
SOME_WORDS = make_rows(IN_TAGS, answer=lambda n: f"{7 * n + 10}" if n % 4 else f"{n} apples")


@pytest.mark.parametrize(
    "rewards, data, kind, said",
    [
        (has_tag, ANSWERS, "faults", r"has_tag\(\) pays right and wrong answers alike.*<answer>\d+</answer>' both earn 1\."),
        (is_wrong, ANSWERS, "faults", r"A right answer earns no more than a wrong one from is_wrong\(\): .* earns 0, .* earns 1\. Check its sign"),
        (is_equal, OWN, "faults", r"The dataset's own completions 'It is \d+.' earn 0 from is_equal\(\), as little as"),
        (is_never, ANSWERS, "warnings", r"A right answer in the form that the prompt asks for, '<think>.*', earns 0 from is_never\(\)"),
        ([form, is_equal], ANSWERS, "faults", r"A wrong answer in the right form earns 67% of a right one from form\(\) \+ is_equal\(\)"),
        (is_free, SOME_WORDS, "warnings", r"On 6 of 24 rows, any answer earns from is_free\(\) .* in row 0 with '0 apples'"),
        (is_equal, SOLUTIONS, "warnings", r"Only the whole text of 'answer' is paid, .* Compare with its answer alone, such as '\d+'"),
        ([is_equal, lines, no_lines], ANSWERS, "warnings", r"No completion that was tried earns both"),
        (is_value, make_rows(IN_TAGS, **COUNTDOWN), "faults", "The attack 'the result of the answer' earns as much"),
    ],
    ids=["alike", "sign", "own completions", "never", "mostly form", "free rows", "whole text", "exclusive", "no equation"],
)  # fmt: skip
def test_what_is_measured_as_broken_is_called_broken(rewards, data, kind, said):
    found = check(rewards, data)
    texts = [text for one in found for text in getattr(one, kind)]
    assert any(re.search(said, text, re.DOTALL) for text in texts), as_text(found)


# --- attacks ----------------------------------------------------------------------------------------------------------


def box(completion: str) -> str:
    return last(r"\\boxed\{([^{}]*)\}", completion)


CHEAP = {
    "its digits in another order": lambda text, right: sorted(box(text)) == sorted(right),
    "the same last digit": lambda text, right: len(box(text)) == len(right) and box(text)[-1:] == right[-1:],
    "a number nearby": lambda text, right: box(text).isdigit() and abs(int(box(text)) / int(right) - 1) <= 0.05,
    "any program": lambda text, right: box(text) == right or ("import" in text and "return" in text),
    "another language": lambda text, right: box(text) == right or " est " in text,
    "calls of tools": lambda text, right: box(text) == right or text.count("<tool_call>") > 2,
    "check marks": lambda text, right: box(text) == right or text.count("✅") >= 3,
    "a part of another answer": lambda text, right: {*box(text).split()} & {*right.split()},
}


@pytest.mark.parametrize("name", CHEAP)
def test_an_attack_that_passed_before_is_found(name):
    def lax(completions, solution, **kwargs):
        return [float(bool(CHEAP[name](text, right))) for text, right in zip(completions, solution, strict=True)]

    def write(n):
        return f"{n % 2}a {n % 3}b {n}c" if name == "a part of another answer" else f"{11 * n + 103}"

    found = check(lax, make_rows("?", solution=write))
    assert any(f"'{name}'" in text for one in found for text in one.warnings + one.faults), as_text(found)


def contains_target(completions, target, **kwargs):
    return [
        float(right in last("<answer>(.*?)</answer>", one)) for one, right in zip(completions, target, strict=True)
    ]


def brevity_by_hand(completions, **kwargs):
    return [1 - len(one) / 400 for one in completions]


@pytest.mark.parametrize("weight", [0.01, 0.3, 1.0])
def test_a_term_for_length_blinds_nobody(weight, config):
    from trl import GRPOConfig

    data = make_rows("Reply as <answer>number</answer>.", target=lambda n: f"{13 * n % 97 + 3}")
    alone, both = (
        find_faults(one, data, config=config(GRPOConfig, reward_weights=weights))
        for one, weights in ((contains_target, None), ([contains_target, brevity_by_hand], [1.0, weight]))
    )
    assert alone and all(re.findall("'a digit added'", " ".join(one)) for one in (alone, both))


def is_option(completions, answer, **kwargs):
    return [
        float(last("<answer>\\s*\\(?([A-D])", one) == right) for one, right in zip(completions, answer, strict=True)
    ]


def is_sum(completions, answer, task, **kwargs):
    scores = is_equal(completions, answer)
    return [score if one == "sum" else None for score, one in zip(scores, task, strict=True)]


def is_word(completions, answer, task, **kwargs):
    scores = is_equal(completions, answer)
    return [score if one == "word" else None for score, one in zip(scores, task, strict=True)]


def test_chance_and_other_tasks_are_no_findings():
    letters = make_rows(IN_TAGS, answer=lambda n: "ABCD"[n % 4])
    assert not [text for one in check(is_option, letters) for text in one.faults + one.warnings]
    tasks = {"answer": lambda n: f"{n + 10}" if n % 2 else f"word{n}q", "task": lambda n: ("word", "sum")[n % 2]}
    found = check([is_sum, is_word], make_rows(IN_TAGS, **tasks))
    assert not [text for one in found for text in one.faults + one.warnings]
    assert next(one for one in found if one.title == "attacks").is_run


def endless(completions, answer, **kwargs):
    pattern = re.compile(r"<think>.+?</think>.*?<answer>(.+?)</answer>\s*$", re.DOTALL)
    found = [pattern.search(one) for one in completions]
    return [float(one is not None and one[1] == right) for one, right in zip(found, answer, strict=True)]


def test_a_call_that_takes_too_long_is_named_and_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr("trl_grpo_rewards.checks.limits.LATE_SECONDS", 0.2)
    found = check(endless, ANSWERS)
    (warning,) = [text for one in found for text in one.warnings if "takes more than" in text]
    assert re.match(
        r"endless\(\) takes more than 0\.2 s on the attack 'unclosed tags' \(\d\d,\d{3} characters\)", warning
    )
    attacks = next(one for one in found if one.title == "attacks")
    names = [one["name"] for one in attacks.data["attacks"]]
    assert "tag spam" in names and "unclosed tags" not in names


# --- what is said -----------------------------------------------------------------------------------------------------


async def answered_later(completions, answer, **kwargs):
    return is_equal(completions, answer)


def test_the_first_line_says_what_was_not_tried():
    said = verdict(check(answered_later, ANSWERS))
    first, _, rest = said.partition("\n\n")
    assert (
        first.startswith("Right answers and attacks were not tried: answered_later may ask a server")
        and len(first) <= 300
    )
    assert "@reward(asks=False)" in first and rest == "No fault found."
    assert verdict([Findings("attacks")]) == "No fault found."


def reads_another(completions, **kwargs):
    return [float(right in one) for one, right in zip(completions, kwargs["solution"], strict=True)]


def expects_an_object(completions, answer, **kwargs):
    return [float(json.loads(last("<answer>(.*?)</answer>", one) or "[]").get("x") == 1) for one in completions]


@pytest.mark.parametrize(
    "function, said, not_said",
    [
        (
            reads_another,
            "The function looks for the column 'solution', but the dataset has 'answer'.",
            "let it return None",
        ),
        (expects_an_object, "Correct the reward, or let it return None", "completion[0]"),
    ],
)
def test_a_remedy_fits_the_error(function, said, not_said):
    chat = ANSWERS.map(lambda row: {"prompt": [{"role": "user", "content": row["prompt"]}]})
    (fault,) = find_faults(function, chat if function is expects_an_object else ANSWERS)
    assert said in fault and not_said not in fault


def test_two_modules_may_have_functions_of_one_name():
    def make(name: str, factor: float):
        scope: dict = {"__name__": name}
        exec(f"def twin_of_modules(completions, answer, **kwargs):\n    return [{factor}] * len(completions)", scope)
        return scope["twin_of_modules"]

    for one in (make("first", 0.5), make("second", 0.25), make("third", 0.75)):
        assert any(f"earn {one([''], '')[0]}" in fault for fault in find_faults(one, ANSWERS))
