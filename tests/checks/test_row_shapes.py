"""One table says which reward fits which rows: the check suggests from it, and the page shows a row of each shape."""

import re

import pytest
from datasets import Dataset, Features, Image, Value

from helpers.paths import ROOT
from trl_grpo_rewards import answer, boxed, code, demo, judge, parse, reward, tags
from trl_grpo_rewards.checks import check
from trl_grpo_rewards.checks.row_shapes import SHAPES, suggest_for, suggest_reward


PAGE = (ROOT / "docs" / "rewards.md").read_text()
TABLE = dict(re.findall(r"^\| ([^|]+) \| `([^`]+)` \|", PAGE, flags=re.MULTILINE))
BLOCKS = dict(re.findall(r"^### (.+?)\n.*?```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE))
MIXED = "rows of several kinds"
"""A shape that the table does not have, because nobody can tell which value of which column wants which reward."""


@reward
def reads_a_place(completion: str, place: str) -> float:
    return float(place in completion)


def plain(expression):
    """An expression without what the page sets for clarity."""
    return str(parse(expression.replace("partial=False", "")))


def test_the_page_has_every_shape():
    assert {*TABLE} == {shape.name for shape in SHAPES} | {MIXED}
    assert {title.lower() for title in BLOCKS} == {name.lower() for name in TABLE}


@pytest.mark.parametrize("title", BLOCKS)
def test_a_row_of_the_page_is_scored_and_suggests_its_reward(title):
    names = {}
    exec(BLOCKS[title], names)
    if "scores" in names:
        right, wrong = names["scores"]
        assert right > wrong
    else:
        assert names["rewards"].asks
    if title.lower() != MIXED:
        shape, _, expression = suggest_reward([names["row"]])
        assert shape.name == title[0].lower() + title[1:]
        assert plain(expression) == plain(TABLE[shape.name])


@pytest.mark.parametrize(
    "row, expression",
    [
        ({"answer": "48 / 2 = 24\n#### 24"}, "boxed(solution='answer')"),
        ({"solution": ["1", "one whole", "0.5"]}, "exact()"), ({"solution": ["0.5", r"\frac12"]}, "boxed()"),
        ({"label": 3}, "boxed(solution='label')"),
        ({"test": "def check(f):\n    assert f(1) == 2", "entry_point": "f"}, "code(tests='test')"),
        ({"test": "a sentence", "answer": "B"}, "choice(solution='answer')"),
        ({"input_output": '{"inputs": ["1"], "outputs": ["2"]}'}, "code(tests='input_output')"),
        ({"entry": "a diary", "answer": "B"}, "choice(solution='answer')"),
        ({"tool_calls": None, "solution": "4"}, "boxed()"), ({"answer": None, "solution": "4"}, "boxed()"),
        ({"answer": "J"}, "choice(letters='ABCDEFGHIJ', solution='answer')"),
        ({"instruction_id_list": '["punctuation:no_comma"]', "kwargs": "[{}]"}, "instructions()"),
        ({"instruction_id_list": [{"id": "punctuation:no_comma"}]}, "instructions()"),
        ({"rubric": "1. It is short.\n2. It is kind."}, "judge(model='MODEL', rubric=column('rubric'))"),
        ({"rubric": "Is it short?", "answer": "B"}, "choice(solution='answer')"),
        ({"answers": [], "answer": "B"}, "choice(solution='answer')"),
    ],
)  # fmt: skip
def test_columns_are_told_by_their_values(row, expression):
    assert suggest_reward([row])[2] == expression


def test_one_value_that_does_not_fit_decides():
    letters = [{"solution": letter} for letter in "ABCD"]
    assert suggest_reward(letters)[2] == "choice()"
    assert suggest_reward([*letters, {"solution": "Paris"}])[2] == "exact()"
    assert suggest_reward([*letters, {"solution": None}])[2] == "choice()"


def test_some_rows_may_accept_one_text_only():
    rows = [{"golden_answers": ["Shakespeare", "William Shakespeare"]}, {"golden_answers": ["Paris"]}]
    assert suggest_reward(rows)[2] == "exact(solution='golden_answers')"


@pytest.mark.parametrize(
    "rewards, row, expression",
    [
        ("json_fields(solution='fields')", {"fields": '{"name": "Ann"}'}, "json_fields(solution='fields')"),
        ("boxed(solution='result')", {"result": "4"}, "boxed(solution='result')"),
        ("exact(solution='result')", {"result": "4"}, "boxed(solution='result')"),
        ("code(tests='checks')", {"checks": ["assert f(1) == 2"]}, "code(tests='checks')"),
        (
            "tool_calls(expected='wanted')",
            {"wanted": '[{"name": "f", "arguments": {}}]'},
            "tool_calls(expected='wanted')",
        ),
        ('boxed(solution="it\'s")', {"it's": "4"}, 'boxed(solution="it\'s")'),
        ("reads_a_place()", {"place": "Paris"}, "exact(solution='place')"),
        ("boxed() + length(20)", {"place": "Paris"}, "ranking(model='MODEL', rubric='Which is best?')"),
        ("boxed(solution='result')", {"result": "4", "answer": "B"}, "choice(solution='answer')"),
    ],
)
def test_columns_with_other_names_are_told_by_the_rewards_that_read_them(rewards, row, expression):
    dataset = Dataset.from_list([{"prompt": "p", **row}] * 3)
    assert suggest_for(dataset, parse(rewards))[0].endswith(f": {expression} fits.")


def test_the_check_suggests_and_warns_where_nothing_reads_the_answer():
    data = demo.arithmetic(size=8)
    assert suggest_for(data) == ("Each row has a number or formula as the answer: boxed() fits.", "solution")
    for rewards, warned in (
        (boxed(), False), (answer() + tags("think"), False), (tags("think"), True), (code(), True),
    ):  # fmt: skip
        found = check(rewards, data)[0]
        assert suggest_for(data)[0] in found.lines
        assert ("No reward reads the column 'solution'." in " ".join(found.warnings)) == warned
    asked = check(judge(model="m", rubric="Is it good?"), data)[0]
    assert not asked.warnings  # on purpose, perhaps: a judge says what is right
    assert not check(tags("think"), Dataset.from_list([{"prompt": "Write a poem."}] * 4))[0].warnings


def test_rows_with_columns_of_other_names_have_a_shape():
    messages = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]
    assert suggest_for(Dataset.from_list([{"messages": messages}] * 3))[1] == ""


def test_other_columns_are_not_read():
    broken = {"bytes": b"no image", "path": None}
    features = Features({"prompt": Value("string"), "solution": Value("string"), "image": Image()})
    data = Dataset.from_dict({"prompt": ["?"] * 3, "solution": ["B"] * 3, "image": [broken] * 3}, features=features)
    with pytest.raises(Exception, match="cannot identify image"):
        data[0]
    assert suggest_for(data)[0].endswith(": choice() fits.")
