"""The bundled tasks: splits, seeds, and that what they ask for can be done and is checked."""

import pytest

from trl_grpo_rewards import code, demo, instructions
from trl_grpo_rewards.demo.tasks import (
    NUMBERS,
    SUBJECTS,
    TASKS,
    describe_task,
    is_in_split,
    write_program,
    write_tests,
)


@pytest.mark.parametrize("make", [demo.arithmetic, demo.programs, demo.requests])
def test_seeds_and_splits(make):
    assert make()[:] == make(seed=0)[:] != make(seed=1)[:]
    train, test = ({str(prompt) for prompt in make(split)["prompt"]} for split in ("train", "test"))
    assert train.isdisjoint(test) and len(test) >= 10
    with pytest.raises(ValueError, match="has no split 'validation'; it has 'train' and 'test'"):
        make("validation")


def pay(programs, tests):
    return code()(completions=[f"```python\n{one}\n```" for one in programs], tests=tests)


@pytest.mark.slow
def test_solutions_pass_and_mistakes_fail():
    problems = [(task, number) for task in TASKS for number in NUMBERS]
    tests = [write_tests(*one) for one in problems]
    assert pay([write_program(task.expression, number) for task, number in problems], tests) == [1.0] * len(problems)
    assert pay([write_program(task.mistake, number) for task, number in problems], tests) == [0.0] * len(problems)


def test_the_number_is_filled_in_and_another_one_fails():
    assert [describe_task(task, 3)[12:-1] for task in TASKS[2:5]] == [
        "3 minus x", "x times 3", "x divided by 3, rounded down"
    ]  # fmt: skip
    assert write_program("max([x] * n, n)", 4) == "def f(x):\n    return max([x] * 4, 4)"
    for number in (3, 6):
        programs = [write_program(task.expression, number) for task in TASKS]
        assert sum(pay(programs, [write_tests(task, number + 1) for task in TASKS])) == 0


def write_answer(row: dict) -> str:
    """An answer that meets the constraints of a row."""
    given = dict(zip(row["instruction_id_list"], row["kwargs"], strict=True))
    counts = given.get("length_constraints:number_words") or {"relation": None}
    words = (given.get("keywords:existence") or {}).get("keywords") or []
    short = counts["relation"] == "less than"
    body = " ".join(words) + (" it is" if short else " it is good and we like it" * 5)
    if "detectable_format:number_bullet_lists" in given:
        body = f"* {body}\n* it\n* we"
    title = "<<Note>>\n" if "detectable_format:title" in given else ""
    end = (given.get("startend:end_checker") or {}).get("end_phrase") or ""
    return f"{title}{body}.\n{end}".strip()


def test_every_request_has_two_constraints_that_can_be_met_together():
    data = demo.requests("train", size=400)
    columns = {name: data[name] for name in ("instruction_id_list", "kwargs")}
    assert {len({*names}) for names in data["instruction_id_list"]} == {2}
    assert len({name for names in data["instruction_id_list"] for name in names}) == 7
    assert instructions()(completions=[*map(write_answer, data)], prompts=data["prompt"], **columns) == [1.0] * 400
    assert not any(instructions()(completions=["It, the"] * 400, prompts=data["prompt"], **columns))
    held_out = [subject for subject in SUBJECTS if is_in_split(subject, "test")]
    assert not any(subject in str(prompt) for prompt in data["prompt"] for subject in held_out)
    assert 0.15 < len(held_out) / len(SUBJECTS) < 0.3
