"""Rubrics of rows: one rule reads every shape, what cannot be read is named, and the score is HealthBench's."""

import json
import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.judging.rubrics import (
    Criterion,
    UnreadableRubric,
    read_rubric,
    read_rubrics,
    score_verdicts,
    split_items,
)


WORDS = st.lists(st.sampled_from(["names", "the dose", "warns", "of falls", "is short"]), min_size=2, max_size=5)
SENTENCES = WORDS.map(" ".join)
POINTS = st.integers(-10, 10).map(float)
RUBRICS = st.lists(st.tuples(SENTENCES, POINTS), min_size=1, max_size=30).filter(
    lambda pairs: any(points > 0 for _, points in pairs)
)


def read(value) -> list[tuple[str, float]]:
    return [(one.text, one.points) for one in read_rubric(value)]


@given(RUBRICS)
def test_a_rubric_is_the_same_in_every_shape(pairs):
    health = [{"criterion": text, "points": points, "tags": {"axis": "accuracy"}} for text, points in pairs]
    shapes = [
        health,
        {"rubrics": health},
        {"ground_truth": "", "criteria": health, "tags": ["one", "two"]},
        {"anything": health},
        [{"criterion": text, "points": points, "tags": ["axis:accuracy"], "id": 7} for text, points in pairs],
        [{"label": "harm", "description": text, "weight": points} for text, points in pairs],
        [{"text": text, "points": f"{points:+g}", "required": None, "more": None} for text, points in pairs],
        [[text, points] for text, points in pairs],
        [(text, numpy.float32(points)) for text, points in pairs],
        numpy.array(health, dtype=object),
        [None, *health],
    ]  # fmt: skip
    shapes += [*map(json.dumps, shapes[:5]), {"rubrics": json.dumps(health)}, [*map(json.dumps, health)]]
    assert [read(shape) for shape in shapes] == [pairs] * len(shapes)


@given(st.lists(SENTENCES, min_size=2, max_size=30))
def test_sentences_are_the_same_in_every_shape(sentences):
    numbered = "\n".join(f"{number}. {text} [Hard Rule]" for number, text in enumerate(sentences, 1))
    plain = [(text, 1.0) for text in sentences]
    shapes = [sentences, {"rubric": sentences}, "\n".join(f"- {text}" for text in sentences), "\n\n".join(sentences)]
    shapes += [json.dumps(sentences), [{"criterion": text} for text in sentences]]
    assert [read(shape) for shape in shapes] == [plain] * len(shapes)
    assert read(numbered) == read({"rubric": numbered}) == [(f"{text} [Hard Rule]", 1.0) for text in sentences]


def test_criteria_by_name_are_those_of_a_constant_rubric():
    value = {"clear": ["Can it be followed?", 2.0], "polite": 1, "brief": "Is it short?", "left out": None}
    assert read(value) == [("clear: Can it be followed?", 2.0), ("polite", 1.0), ("brief: Is it short?", 1.0)]
    assert read({"clear": {"description": "It is clear.", "weight": 2}}) == [("It is clear.", 2.0)]


def test_a_title_stays_with_its_description_and_required_is_read():
    value = [
        {"title": "Names dose", "description": "Essential Criteria: Names it.", "weight": 5, "required": True},
        {"title": "Rest", "description": "Pitfall Criteria: Recommends rest.", "weight": -1, "required": False},
    ]
    first, second = read_rubric(value)
    assert (first.text, first.points, first.is_required) == ("Names dose: Essential Criteria: Names it.", 5.0, True)
    assert (second.text, second.points, second.is_required) == ("Pitfall Criteria: Recommends rest.", -1.0, False)


def test_names_of_fields_are_read_in_any_case_and_a_text_in_a_dict_or_a_fence():
    value = {"Rubric": [{"Criterion": "It is short.", "Points": 3, "Required": True}]}
    for one in (
        value, f"```json\n{json.dumps(value)}\n```", f"```\n{json.dumps(value)}```\n", {"x": json.dumps(value)},
    ):  # fmt: skip
        (criterion,) = read_rubric(one)
        assert (criterion.text, criterion.points, criterion.is_required) == ("It is short.", 3.0, True)
    for one in (
        {"anything": "1. It is short.\n2. It is clear."},
        {"Rubrics": "- It is short.\n- It is clear.", "id": 3},
    ):
        assert read(one) == [("It is short.", 1.0), ("It is clear.", 1.0)]


def test_numbers_in_a_sentence_are_no_points():
    sentences = [
        "Says that x = (-5).", "Names 3 points of view.", "5 reasons are given.", "Is 5 points ahead of it", "x > -5",
    ]  # fmt: skip
    assert read(sentences) == [(text, 1.0) for text in sentences]


def test_a_sentence_may_begin_with_a_bracket():
    sentences = ["[Hard Rule] It is short.", "{name} is filled in.", "[1] is cited.", "(a) is answered."]
    assert read(sentences) == read("\n".join(sentences)) == [(text, 1.0) for text in sentences]


def test_a_heading_is_part_of_each_of_its_items():
    text = "It must not:\n(at all)\n- lie\n  about dates\n- be rude\n\n## In form\n1) short\n2) Words, such as:\n   * plain"
    assert split_items(text) == [
        "It must not: (at all) lie about dates",
        "It must not: (at all) be rude",
        "## In form short",
        "Words, such as: plain",
    ]
    assert split_items("It is short:\nin words\nin lines") == ["It is short: in words", "It is short: in lines"]


SAID = {"criterion": "It is short."}


@pytest.mark.parametrize(
    "value, problem",
    [
        (None, "no criteria"), ([], "no criteria"), ([None], "no criteria"), (" \n ", "no criteria"),
        ({"rubrics": []}, "no criteria"), (5, "neither a list nor a dict nor a text"),
        (["It is short.", " \n\t"], "no words"), (["It is short.", "\u200b\u2060"], "no words"),
        ([{"criterion": None, "points": 3}], "no words"), ([["It is short."], [3]], "no words"),
        ([3], "neither a sentence nor a dict"), ([{**SAID, "points": "five"}], "not one finite number"),
        ([{**SAID, "points": ""}], "not one finite number"), ([{**SAID, "points": True}], "not one finite number"),
        ([{**SAID, "points": [3]}], "not one finite number"), ([{**SAID, "points": math.nan}], "not one finite number"),
        ([{**SAID, "points": 10**400}], "not one finite number"), ([["It is short.", 3, 4]], "not one finite number"),
        ({"clear": True}, "not one finite number"), ([{**SAID, "points": 0}], "positive points"),
        ([{**SAID, "points": -1}, {**SAID, "points": -3}], "positive points"),
        ([{**SAID, "points": 1e308}, {**SAID, "points": 1e308}], "positive points"),
        ([{**SAID, "value": -3}], "not called 'points' or 'weight'"),
        ([{**SAID, "required": 1, "points": 2}], "'required' is not true or false"),
        ({"must": ["a b", "c d"], "may": ["e f", "g h"]}, "several lists or dicts"),
        ({"rubrics": ["a b", "c d"], "rubric": ["e f", "g h"]}, "several lists or dicts"),
        ({"rubrics": ["a b", "c d"], "weights": [5, -3]}, "list of numbers is next to the criteria"),
        (["(-5) Recommends rest."], "points in its words"),
        ("- [+5] Names a dose\n- [-3] Recommends rest", "points in its words"),
        ("1. Names a dose (5 points)\n2. Recommends rest (-3 points)", "points in its words"),
        (["Names a dose, 5 pts."], "points in its words"),
        (["5 points: names a dose", "-2: recommends rest"], "points in its words"),
        ("| criterion | points |\n|---|---|\n| Recommends rest | -3 |", "no words"),
        ("| Recommends rest | -3 |", "points in its words"),
        ('```json\n[{"criterion": "It is sho\n```', "looks like JSON, but is not"),
        ("[{'criterion': 'It is short.'}]", "looks like JSON, but is not"),
        ('[{"criterion": "It is short.", "points": 3', "looks like JSON, but is not"),
        ('{"points": 3, "points": -3, "criterion": "It is short."}', "looks like JSON, but is not"),
        (['{"criterion": "It is sho'], "looks like JSON, but is not"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"), ("[" * 900 + "1" + "]" * 900, "no words"),
        (["It is short.", [*range(10**5)]], "no words"),
        ('{"rubrics":' * 50_000 + "1" + "}" * 50_000, "nested too deeply"),
    ],
)  # fmt: skip
def test_what_is_no_rubric_is_named(value, problem):
    with pytest.raises(UnreadableRubric, match=problem) as caught:
        read_rubric(value)
    assert len(str(caught.value)) < 300
    (reading,) = read_rubrics([value])
    assert reading.kind == "not at all" and reading.note == f"unreadable because {caught.value.problem}"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | SENTENCES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["criterion", "points", "required", "rubrics", "tags", "a"]), inner, max_size=4
        )
    ),
)


@given(JSON_VALUES)
def test_any_value_is_a_rubric_that_can_be_scored_or_none(value):
    (reading,) = read_rubrics([value])
    try:
        criteria = read_rubric(value)
    except UnreadableRubric:
        assert reading.kind == "not at all"
        return
    assert reading.kind == "whole" and reading.note.startswith("read as ")
    assert all("\n" not in one.text and one.text.strip() and math.isfinite(one.points) for one in criteria)
    assert score_verdicts(criteria, [one.points > 0 or one.is_required and one.points == 0 for one in criteria]) == 1.0


@given(RUBRICS, st.randoms())
def test_the_score_is_that_of_healthbench_within_0_and_1(pairs, draw):
    met = [draw.random() < 0.5 for _ in pairs]
    earned = sum(points for (_, points), is_met in zip(pairs, met, strict=True) if is_met)
    possible = sum(points for _, points in pairs if points > 0)
    criteria = [Criterion(*pair) for pair in pairs]
    assert score_verdicts(criteria, met) == pytest.approx(min(max(earned / possible, 0.0), 1.0))


def test_a_required_criterion_decides_alone():
    wanted, fault, other = Criterion("a", 1.0, True), Criterion("b", -1.0, True), Criterion("c", 98.0)
    scores = [score_verdicts([wanted, fault, other], met) for met in ((1, 0, 0), (0, 0, 1), (1, 1, 1), (1, 0, 1))]
    assert scores == [pytest.approx(1 / 99), 0.0, 0.0, 1.0]
    gate = Criterion("a", 0.0, True)
    assert [score_verdicts([gate, other], (met, True)) for met in (False, True)] == [0.0, 1.0]
