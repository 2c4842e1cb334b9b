"""The bundled programming task: its solutions pass, its mistakes fail, and its model makes them."""

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from trl_grpo_rewards import code, demo
from trl_grpo_rewards.demo.programming import NUMBERS, TASKS, describe_task, write_program, write_tests


def pay(programs, tests):
    return code()(completions=[f"```python\n{one}\n```" for one in programs], tests=tests)


@pytest.mark.slow
def test_solutions_pass_and_mistakes_fail():
    problems = [(task, number) for task in TASKS for number in NUMBERS]
    tests = [write_tests(*one) for one in problems]
    assert pay([write_program(task.expression, number) for task, number in problems], tests) == [1.0] * len(problems)
    assert pay([write_program(task.mistake, number) for task, number in problems], tests) == [0.0] * len(problems)


def test_another_number_fails():
    for number in (3, 6):
        programs = [write_program(task.expression, number) for task in TASKS]
        assert sum(pay(programs, [write_tests(task, number + 1) for task in TASKS])) == 0


def test_the_number_is_filled_in():
    assert [describe_task(task, 3)[12:-1] for task in TASKS[:5]] == [
        "x plus 3",
        "x minus 3",
        "3 minus x",
        "x times 3",
        "x divided by 3, rounded down",
    ]
    assert write_program("[x] * n", 4) == "def f(x):\n    return [x] * 4"
    assert write_program("max(x, n)", 4).endswith("max(x, 4)")


def test_the_splits():
    train, test = ([str(row["prompt"]) for row in demo.programs(split)] for split in ("train", "test"))
    assert len({*train, *test}) == len(train) + len(test) == len(TASKS) * len(NUMBERS) and len(test) >= 10
    assert demo.programs(seed=1)["tests"] != demo.programs()["tests"]
    with pytest.raises(ValueError, match="has no split 'dev'"):
        demo.programs("dev")


def test_the_model_is_careless_but_knows_how_to_program():
    tokenizer = AutoTokenizer.from_pretrained(demo.CODER)
    model = AutoModelForCausalLM.from_pretrained(demo.CODER, dtype="float32")
    data = demo.programs("test")
    prompts = tokenizer.apply_chat_template(
        list(data["prompt"]), add_generation_prompt=True, return_tensors="pt", padding=True, return_dict=True
    )
    width = prompts["input_ids"].shape[1]
    greedy = model.generate(**prompts, do_sample=False, max_new_tokens=64)[:, width:]
    completions = tokenizer.batch_decode(greedy, skip_special_tokens=True)
    scores = code()(completions=completions, tests=list(data["tests"]))
    assert sum(scores) >= 0.8 * len(scores), completions
