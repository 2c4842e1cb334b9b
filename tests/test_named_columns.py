"""Any dataset column that a reward reads can be another one, by its name: `boxed(solution="answer")`."""

import inspect
import pickle
import re
from typing import Annotated, Any

import pytest
from datasets import Dataset

from helpers.checks import find_faults
from trl_grpo_rewards import Column, FilteredGRPOTrainer, Reward, boxed, clip, column, gate, length, parse, reward
from trl_grpo_rewards.checks import Form, Reading, assert_not_gameable, attacks, check
from trl_grpo_rewards.checks.completions import honest
from trl_grpo_rewards.registry import REGISTRY


BLOCK = "```python\nprint(1)\n```"
TESTS = [{"inputs": [""], "outputs": ["1"]}, {"inputs": [""], "outputs": ["2"]}]
ROWS = {
    "boxed": (r"\boxed{4}", ["4", "5"]),
    "answer": ("It is 4.\n#### 4", ["4", "5"]),
    "exact": ("Paris", ["Paris", "Rome"]),
    "choice": ("The answer is B.", ["B", "C"]),
    "json_fields": ('{"a": 1}', ['{"a": 1}', '{"a": 2}']),
    "overlap": ("a red fox", ["the red fox", "nothing"]),
    "code": (BLOCK, TESTS),
    "instructions": ("a, b", [["punctuation:no_comma"], ["words:vowel"]]),
}
"""For each reward that reads a column: a completion, and two values of the column with different scores."""

ASKED = ("judge", "ranking")
"""Rewards that send the column to a server."""


@reward(
    outcome=True,
    check=lambda title: {"nowhere": 1}.get(title) and 1 / 0,
    columns=lambda more: {more} if more else set(),
    form=lambda title: Form(words=(f"from {title}",)),
    worthless=lambda title: {f"of {title}": title},
    reads={"title": lambda values: [Reading("whole", f"{value}") for value in values]},
)
def entitled(completion: str, title: str, size: int = 1, *, more: str | None = None, factor: float = 1.0) -> float:
    return factor * size * (title in completion)


@reward(batched=True)
def greedy(completions: list, title: list, **columns) -> list[float]:
    columns.pop("log_extra"), columns.pop("log_metric")
    return [float(len(columns))] * len(completions)


@reward
def named_alike(completion: str, name: str) -> float:
    return float(name in completion)


@reward
def higher(completion: str, solution: str, *, than: Annotated[float, Reward]) -> float:
    return float(solution) - than


def test_the_examples_are_all_rewards_that_read_a_column():
    ours = {name: one for name, one in REGISTRY.items() if one.__module__.startswith("trl_grpo_rewards.")}
    assert {name for name, factory in ours.items() if factory.column_parameters} == {*ROWS, *ASKED}


@pytest.mark.parametrize("name", [*ROWS, "entitled"])
def test_naming_a_column_is_renaming_it(name):
    completion, values = ROWS.get(name, ("red", ["red", "blue"]))
    usual = {"entitled": "title", "code": "tests", "instructions": "instruction_id_list"}.get(name, "solution")
    factory = REGISTRY[name]
    named = factory(**{usual: "target"})
    call = {"prompts": ["What?"] * 2, "completions": [completion] * 2, "completion_ids": [[1]] * 2, "extra": [1, 2]}
    renamed = factory()(**call, **{usual: values})
    assert renamed[0] != renamed[1] and named.columns == {"target"} and factory().columns == {usual}
    assert named(**call, target=values, **{usual: values[::-1]}) == renamed  # the usual column is not read
    inner = gate(clip(named, high=2), by=named, at_least=-9)
    assert inner.columns == {"target"} and inner(**call, target=values) == renamed


@pytest.mark.parametrize("name", ASKED)
def test_judges_are_shown_the_named_column(server, name):
    factory = REGISTRY[name]
    call = {"prompts": ["What?"] * 2, "completions": ["one #1#", "two #2#"]}
    server.judge(factory, reference=True, solution="target")(**call, target=["right"] * 2, solution=["no"] * 2)
    server.judge(factory, reference=True)(**call, solution=["right"] * 2)
    named, renamed = server.messages[: len(server.messages) // 2], server.messages[len(server.messages) // 2 :]
    marks = re.compile(r"[0-9a-f]{8,}|\b[A-Z]{6,}\b")
    assert sorted(marks.sub("", text) for text in named) == sorted(marks.sub("", text) for text in renamed)
    assert "right" in named[0] and server.judge(factory, solution="target").columns == {"target"}


def test_a_named_column_is_not_named_for_the_rewards_among_the_options():
    call = {"completions": [r"\boxed{4}"], "solution": ["4"], "target": ["7"]}
    assert higher(boxed(), solution="target")(**call) == [6.0] and higher(boxed())(**call) == [3.0]
    assert higher(boxed(solution="target"))(**call) == [4.0]
    swapped = entitled(title="size", size="title")
    assert swapped(completions=["red"], size=["red"], title=[3]) == [3.0]


def test_a_function_that_takes_all_columns_gets_neither_name_of_the_column():
    assert greedy(title="target")(completions=["a"], target=["a"], title=["b"], more=[1]) == [1.0]
    assert greedy()(completions=["a"], title=["b"], more=[1]) == [1.0]


def test_the_name_is_part_of_the_value_and_of_the_signature():
    assert boxed(solution="answer") != boxed() and str(boxed(solution="solution")) == "boxed()"
    both = boxed() + 0.5 * boxed(solution="answer", name="other")
    call = {"completions": [r"\boxed{4}"], "solution": ["4"], "answer": ["5"]}
    assert both.explain(**call).scores == {"boxed": [1.0], "other": [0.0]}
    assert "solution: str = 'solution'" in str(inspect.signature(boxed))


def test_a_column_called_name_keeps_its_name():
    value = named_alike(name="alike")
    assert value.columns == {"name"} and value.name == "alike" and value(completions=["Ann"], name=["Ann"]) == [1.0]
    with pytest.raises(ValueError, match="'alike' needs the column 'name'; found 'names'. Rename it: dataset.rename"):
        value(completions=["Ann"], names=["Ann"])


def test_traits_get_the_name_of_the_column():
    named = entitled(title="heading")
    assert named.form.words == ("from heading",) and named.ask_trait("worthless") == {"of heading": "heading"}
    assert entitled(title="heading", more="notes").columns == {"heading", "notes"}
    with pytest.raises(ZeroDivisionError):
        entitled(title="nowhere")


MISSING = {
    "boxed()": "boxed(solution='answer')",
    "boxed(solution='gold', name='right')": "boxed(solution='answer')",
    "boxed(tolerance=0.1)": "boxed(..., solution='answer')",
    "gate(tags('think'), by=choice())": "choice(solution='answer')",
    "tool_calls(expected='answers')": "tool_calls(expected='answer')",
}


def test_a_missing_column_is_named_by_its_keyword(config):
    dataset = Dataset.from_dict({"prompt": ["2 + 2?", "2 + 3?"], "answer": ["4", "5"]})
    for rewards, remedy in ((parse(text), remedy) for text, remedy in MISSING.items()):
        (column,) = rewards.columns
        with pytest.raises(ValueError) as called:
            rewards(prompts=["2 + 2?"] * 2, completions=["4", "4"], completion_ids=[[1]] * 2, answer=["4"] * 2)
        with pytest.raises(ValueError) as trained:
            FilteredGRPOTrainer("no/model", rewards, args=config(), train_dataset=dataset)
        for message in (str(called.value), str(trained.value), find_faults(rewards, dataset)[0]):
            assert f"needs the column '{column}'; found 'answer'" in message
            assert message.endswith(f"Name it: {remedy}.")


def test_a_named_column_must_be_there_even_if_the_parameter_has_a_default():
    assert entitled()(completions=["red"], title=["red"]) == [1.0]
    with pytest.raises(ValueError, match="needs the column 'height'; found 'size', 'title'.*or name"):
        entitled(size="height")(completions=["red"], title=["red"], size=[2])


def test_the_checks_read_the_named_column():
    solved = Dataset.from_dict({"prompt": ["2 + 2?", "2 + 3?"], "answer": ["4", "5"], "solution": ["by adding"] * 2})
    found = check(boxed(evaluated=True, solution="answer"), solved)
    assert not [fault for one in found for fault in one.faults]
    assert "values of 'answer', as 'boxed' reads them" in [one.title for one in found]
    assert any("columns that the rewards read: answer (string)" in line for line in found[0].lines)
    broken = solved.map(lambda row: {"answer": ""})
    assert any("reads the column 'answer', but 2 of 2" in one for one in find_faults(boxed(solution="answer"), broken))
    assert honest(boxed(solution="answer"), solved[0]).endswith(r"\boxed{4}")
    assert r"\boxed{17}" in attacks(boxed(solution="answer"), solved[0])["a wrong answer"]
    assert_not_gameable(boxed(solution="answer"))
    mistyped = Dataset.from_dict({"prompt": ["a"], "heading": [1]})
    assert any("reads the column 'heading' as str" in one for one in find_faults(entitled(title="heading"), mistyped))


@reward
def of_row(completion: str, *, limit: Any, factors: tuple = ()) -> float:
    return float(limit) + sum(factors)


@reward(batched=True)
async def of_batch(completions: list, *, limit: int | Column = 0) -> list[float]:
    return [float(limit)] * len(completions) if isinstance(limit, int) else [float(one) for one in limit]


@reward(grouped=True)
def of_group(completions: list[str], *, limit: int | Column = 0) -> list[float]:
    return [float(limit)] * len(completions)


@pytest.mark.parametrize("factory", [of_row, of_batch, of_group])
def test_an_option_is_read_from_each_row(factory):
    call = {"completions": ["a", "b", "c", "d"], "prompts": ["p", "p", "q", "q"], "most": [1, 1, 2, 2]}
    by_row = factory(limit=column("most"))
    assert parse(str(by_row)) == by_row == pickle.loads(pickle.dumps(by_row)) and by_row.columns == {"most"}
    assert by_row(**call) == [1.0, 1.0, 2.0, 2.0] and factory(limit=3)(**call) == [3.0] * 4
    gated = gate(by_row, by=of_row(limit=column("most"), name="by"), at_least=2.0)
    assert gated(**call) == [0.0, 0.0, 2.0, 2.0] and gated.columns == {"most"}
    with pytest.raises(ValueError, match=rf"column 'most'.* Name it: {factory.__name__}\(limit=column\('mast'\)\)"):
        by_row(completions=["a"], mast=[1])


def test_columns_may_stand_inside_options_that_allow_it():
    inside = of_row(limit=1, factors=(column("most"), 2, column("least")))
    assert inside.columns == {"most", "least"}
    assert inside(completions=["a", "b"], most=[1, 2], least=[0, 1]) == [4.0, 6.0]
    with pytest.raises(TypeError, match=r"Option 'target' of 'length' must be of type int; got column\('most'\)"):
        length(target=column("most"))
