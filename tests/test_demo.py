"""The bundled task and model."""

import random
from collections import Counter
from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from trl_grpo_rewards import boxed, demo, tags


def test_problems_are_sums_of_one_to_three_digits_all_different():
    data = demo.arithmetic("train", size=500)
    questions = [row["prompt"][0]["content"] for row in data]
    assert len(set(questions)) == 500
    for question, solution in zip(questions, data["solution"], strict=True):
        a, b = (int(word.strip("?")) for word in question.split() if word[0].isdigit())
        assert a + b == int(solution) and 0 <= a < 1000 and 0 <= b < 1000
    assert {len(question.split()[2]) for question in questions} == {1, 2, 3}


def test_no_problem_is_in_both_splits():
    rng = random.Random(0)
    train = {demo.problem(rng, "train") for _ in range(5000)}
    assert train.isdisjoint(demo.problem(rng, "test") for _ in range(1000))


def test_the_draw_is_seeded():
    assert demo.arithmetic(size=20).to_list() == demo.arithmetic(size=20, seed=0).to_list()
    assert demo.arithmetic(size=20).to_list() != demo.arithmetic(size=20, seed=1).to_list()


def test_an_unknown_split_is_refused():
    with pytest.raises(ValueError, match="has no split 'validation'; it has 'train' and 'test'"):
        demo.arithmetic("validation")


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
        (["2-2"], "has no kind '2-2'; a kind is digits, .* Write '2\\+2'"),
        (["1+1"], "Of 256 .* Ask for fewer, or add kinds"),
    ],
)
def test_kinds_that_cannot_be_had_are_refused(kinds, message):
    with pytest.raises(ValueError, match=message):
        demo.arithmetic(size=256, kinds=kinds)


def test_the_model_is_small_and_comes_with_its_tokenizer():
    assert sum(file.stat().st_size for file in Path(demo.MODEL).iterdir()) < 1_000_000
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    text = "<think>1+2=3</think>\\boxed{3}\n"
    assert tokenizer.decode(tokenizer(text).input_ids) == text
    assert len(tokenizer("?é").input_ids) == 2


def test_the_model_is_careless_but_knows_how_to_add():
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    model = AutoModelForCausalLM.from_pretrained(demo.MODEL, dtype="float32")
    data = demo.arithmetic("test", size=64)
    prompts = tokenizer.apply_chat_template(
        list(data["prompt"]), add_generation_prompt=True, return_tensors="pt", padding=True, return_dict=True
    )
    width = prompts["input_ids"].shape[1]
    greedy = model.generate(**prompts, do_sample=False, max_new_tokens=64)[:, width:]
    completions = tokenizer.batch_decode(greedy, skip_special_tokens=True)
    assert sum(boxed()(completions=completions, solution=list(data["solution"]))) >= 0.9 * 64
    assert sum(tags("think")(completions=completions)) >= 0.9 * 64
