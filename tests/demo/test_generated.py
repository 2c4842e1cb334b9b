"""Datasets that reasoning-gym generates."""

import pytest

from helpers.marks import needs_generators
from trl_grpo_rewards import gym
from trl_grpo_rewards.cli.datasets import generate_problems, load_problems, read_options
from trl_grpo_rewards.demo import generated, reasoning
from trl_grpo_rewards.programs.inside.gym_rules import read_task


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(generated, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="not installed. Install it: pip install 'trl_grpo_rewards\\[gym\\]'"):
        load_problems("reasoning_gym:countdown")


@pytest.mark.parametrize(
    "text, options",
    [
        (None, {}),
        ("size=1000", {"size": 1000}),
        ("size=10, seed=7,level=hard,share=0.5,shuffle=false", {"size": 10, "seed": 7, "level": "hard", "share": 0.5, "shuffle": False}),
    ],
)  # fmt: skip
def test_options_are_read_from_one_text(text, options):
    assert read_options(text) == options


@pytest.mark.parametrize("text", ["size", "=3", "size=3,,"])
def test_what_is_no_option_is_refused(text):
    with pytest.raises(
        ValueError, match="must be options with values.*Write, for example, --dataset_config size=1000,seed=7"
    ):
        read_options(text)


@needs_generators
def test_problems_are_disjoint_and_keep_their_options():
    train, test = load_problems(
        "reasoning_gym:chain_sum,gcd", config="size=20,seed=3", test_size=8, system_prompt="Be brief."
    )
    assert (len(train), len(test)) == (40, 8)
    asked = [[row["prompt"][-1]["content"] for row in part] for part in (train, test)]
    assert {*asked[0]}.isdisjoint(asked[1])
    assert train[0]["prompt"][0] == {"role": "system", "content": "Be brief."}
    names = [read_task(row["entry"])["metadata"]["source_dataset"] for row in train]
    assert names == ["chain_sum"] * 20 + ["gcd"] * 20
    assert (
        load_problems("reasoning_gym:chain_sum", config="size=20,seed=3", test_size=0)[0]["entry"]
        == train["entry"][:20]
    )
    own = reasoning("decimal_arithmetic", size=1, max_num_decimal_places=3)[0]
    assert read_task(own["entry"])["config"] == {"max_num_decimal_places": 3}
    answer = f"<answer>{read_task(own['entry'])['answer']}</answer>"
    assert gym()(completions=[answer], entry=[own["entry"]]) == [1.0]


@needs_generators
@pytest.mark.parametrize(
    "name, options, message",
    [
        ("nope", {}, "no generator 'nope' for single tasks; it has 105, such as .*Choose one"),
        ("countdwn", {}, "such as 'countdown'"),
        ("composite", {}, "no generator 'composite' for single tasks"),
        ("countdown", {"level": 1}, "no option 'level'; its options are min_numbers, .*Choose one of them"),
        (
            "countdown",
            {"min_numbers": 9},
            "cannot work with .*min_numbers=9: max_numbers must be >= min_numbers. Change",
        ),
        ("countdown", {"size": "many"}, "must have a size of at least 1; got size='many'"),
        ("countdown", {"size": 0}, "must have a size of at least 1; got size=0. Write --dataset_config size=1000"),
    ],
)
def test_what_cannot_be_generated_is_said_with_a_way_out(name, options, message):
    with pytest.raises(ValueError, match=message):
        reasoning(name, **options)


@needs_generators
def test_a_generator_with_few_tasks_cannot_be_evaluated():
    with pytest.raises(
        ValueError, match="tasks that are not trained on, but coin_flip generated none within 2.*--eval_prompts to 0"
    ):
        generate_problems(["coin_flip"], {"size": 500, "min_trials": 3, "max_trials": 3}, 2)
