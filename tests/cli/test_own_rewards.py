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


def read(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def last(pattern, text):
    return (re.findall(pattern, text) or [""])[-1].strip()


@reward
def tagged(completion, solution):
    return float(last("<answer>(.*?)</answer>", completion) == solution)


def after_mark_of_answer(completions, solution, **kwargs):
    texts = [completion[0]["content"] for completion in completions]
    return [float(last("Answer: (.*)$", text) == right) for text, right in zip(texts, solution)]


@reward
def right_fields(completion, reply_fields):
    found, right = read(completion), read(reply_fields)
    is_object = isinstance(found, dict)
    share = sum(found.get(key) == value for key, value in right.items()) / len(right) if is_object else 0
    return 0.2 * is_object + 0.8 * share


@reward
def correctness(completion, final_answer):
    return float(last(r"\\boxed\{(.+?)\}", completion) == final_answer)


@reward
def secret(completion, solution):
    return float(completion == f"=={solution[::-1]}==")


@reward
def thanks(completion):
    return float("thank you" in completion)


def of_texts(completions, solution, **kwargs):
    return [float(re.findall("(.*)$", text) == [right]) for text, right in zip(completions, solution)]


@reward
def of_messages(completion, solution):
    return float(completion[0]["content"] == solution)
"""

NUMBERS = [str(37 * place % 89 + 11) for place in range(24)]
OBJECTS = [json.dumps({"name": f"N{number}", "age": int(number)}) for number in NUMBERS]
FRACTIONS = [*NUMBERS[:20], *(rf"\frac{{{number}}}{{97}}" for number in NUMBERS[20:])]

UNPAID = (
    r"warning: No right answer that was tried earned more than a wrong one from secret\(\), so these checks cannot tell .* "
    r"was written as '\\\\boxed\{11\}', .*'#### 11', 'Answer: 11', .* "
    r"say so, as in @reward\(form=lambda: Form\(answer='Answer: \{\}'\)\)"
)
ROWS_UNPAID = (
    r"warning: The dataset's own solution earns nothing from correctness\(\) on 4 of the 24 rows that were tried, such as "
    r"'\\\\frac\{\d+\}\{97\}' in row 20, .*\. Correct the reward, or remove such rows\."
)
NEVER = (
    r"warning: Reward 'thanks' gave 0 .* Call it on a completion that should earn more than 0: thanks\(\)\(completions="
    r"\['...'\], prompts=\[\[\{'role': 'user', 'content': '\(0\) How many\?'\}\]\]\)\."
)


@pytest.mark.parametrize(
    "rewards, column, values, said",
    [
        ("tagged()", "solution", NUMBERS, None),
        ("after_mark_of_answer()", "solution", NUMBERS, None),
        ("right_fields()", "reply_fields", OBJECTS, None),
        ("boxed(evaluated=True) + tagged()", "solution", NUMBERS, None),
        ("secret()", "solution", NUMBERS, UNPAID),
        ("correctness()", "final_answer", FRACTIONS, ROWS_UNPAID),
        ("boxed(evaluated=True) + thanks()", "solution", NUMBERS, NEVER),
    ],
)
def test_a_right_reward_is_not_refused_and_what_may_be_wrong_is_said(
    command, tmp_path, request, monkeypatch, rewards, column, values, said
):
    def reach(*arguments):
        raise ValueError("the trainer is built")

    monkeypatch.setattr(train, "build_trainer", reach)
    module = f"own_{abs(hash(request.node.name))}"  # a module is imported once
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
        ("of_texts()", "re.findall", "got 'list' ({}). A completion is a list of messages here: its text is completion[0]['content']."),
        ("of_messages()", "content", "indices must be integers, not 'str' ({}). A completion is a text here. For messages, put"),
    ],
)  # fmt: skip
def test_a_function_that_takes_messages_for_texts_is_told_so_with_its_own_line(command, tmp_path, rewards, line, said):
    module = tmp_path / f"own_{rewards[:-2]}.py"
    module.write_text(MODULE)
    number = max(place for place, text in enumerate(MODULE.splitlines(), 1) if line in text)
    (fault,) = json.loads(command("check", "--rewards", rewards, "--import", module.stem, "--json").stdout)["faults"]
    assert said.format(f"{module}, line {number}") in fault
