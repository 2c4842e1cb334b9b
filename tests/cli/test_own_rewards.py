"""Rewards of a user's own, on a file of the user's own: what the checks say of them before `train` starts."""

import json
import re

import pytest

from trl_grpo_rewards import demo
from trl_grpo_rewards.cli import train


MODULE = r"""
import json
import re

from trl_grpo_rewards import reward


def after_mark_of_answer(completions, solution, **kwargs):
    texts = [completion[0]["content"] for completion in completions]
    return [float(re.findall("Answer: (.*)$", text) == [right]) for text, right in zip(texts, solution)]


@reward
def right_fields(completion, reply_fields):
    try:
        found, right = json.loads(completion), json.loads(reply_fields)
    except ValueError:
        return 0.0
    is_object = isinstance(found, dict)
    share = sum(found.get(key) == value for key, value in right.items()) / len(right) if is_object else 0
    return 0.2 * is_object + 0.8 * share


@reward
def secret(completion, solution):
    return float(completion == f"=={solution[::-1]}==")


def of_texts(completions, solution, **kwargs):
    return [float(re.findall("(.*)$", text) == [right]) for text, right in zip(completions, solution)]


@reward
def of_messages(completion, solution):
    return float(completion[0]["content"] == solution)
"""

NUMBERS = [str(37 * place % 89 + 11) for place in range(24)]
OBJECTS = [json.dumps({"name": f"N{number}", "age": int(number)}) for number in NUMBERS]

UNPAID = (
    r"warning: No right answer that was tried earned more than a wrong one from secret\(\), so these checks cannot tell .* "
    r"say so, as in @reward\(form=lambda: Form\(answer='Answer: \{\}'\)\)"
)


@pytest.mark.parametrize(
    "rewards, column, values, said",
    [
        ("after_mark_of_answer()", "solution", NUMBERS, None),
        ("right_fields()", "reply_fields", OBJECTS, None),
        ("secret()", "solution", NUMBERS, UNPAID),
    ],
)
def test_a_right_reward_is_not_refused_and_what_may_be_wrong_is_said(
    command, tmp_path, monkeypatch, rewards, column, values, said
):
    def reach(*arguments, **options):
        raise ValueError("the trainer is built")

    monkeypatch.setattr(train, "FilteredGRPOTrainer", reach)
    module = f"own_{rewards[:-2].split()[-1]}"  # a module is imported once
    (tmp_path / f"{module}.py").write_text(MODULE)
    rows = [json.dumps({"prompt": f"({place}) How many?", column: value}) for place, value in enumerate(values)]
    (tmp_path / "q.jsonl").write_text("\n".join(rows))
    given = ["--dataset_name", "q.jsonl", "--model_name_or_path", demo.MODEL, "--eval_prompts", "0"]
    done = command("train", *given, "--rewards", rewards, "--import", module)
    assert done.returncode == 2 and "the trainer is built" in done.stderr  # no check has refused
    shown = " ".join(done.stdout.split())
    assert "No fault found." in shown and ("warning: " in shown) == (said is not None)
    assert re.search(said or "", shown), shown


@pytest.mark.parametrize(
    "rewards, line, said",
    [
        ("of_texts()", '"(.*)$"', "got 'list' ({}). A completion is a list of messages here: its text is completion[0]['content']."),
        ("of_messages()", "float(completion[0]", "indices must be integers, not 'str' ({}). A completion is a text here. For messages, put"),
    ],
)  # fmt: skip
def test_a_function_that_takes_messages_for_texts_is_told_so_with_its_own_line(command, tmp_path, rewards, line, said):
    module = tmp_path / f"own_{rewards[:-2]}.py"
    module.write_text(MODULE)
    number = max(place for place, text in enumerate(MODULE.splitlines(), 1) if line in text)
    (fault,) = json.loads(command("check", "--rewards", rewards, "--import", module.stem, "--json").stdout)["faults"]
    assert said.format(f"{module}, line {number}") in fault
