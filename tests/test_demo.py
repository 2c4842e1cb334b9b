"""The bundled task and model."""

import random
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
