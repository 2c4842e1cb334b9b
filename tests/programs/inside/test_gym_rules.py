"""Tasks survive JSON, and answers are evaluated as values. The rules themselves are tested through the reward."""

import builtins
import json
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.programs.inside.gym_rules import evaluate, pack, read_task, reply_to, restore, write_task


KEYS = st.text(max_size=3) | st.integers(0, 3) | st.tuples(st.integers(0, 3))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner, max_size=3),
)


@given(VALUES)
def test_a_value_survives_json_with_its_tuples_and_keys(value):
    back = json.loads(json.dumps(pack(value)), object_hook=restore)
    assert back == value and repr(back) == repr(value)


@pytest.mark.parametrize(
    "text", ["", "[1]", "{}", '{"answer": "1"}', '{"answer": "1", "metadata": {}}', '{"metadata": {"source_dataset": "a"}}']
)  # fmt: skip
def test_what_is_no_task_is_refused(text):
    with pytest.raises(ValueError):
        read_task(text)


@pytest.mark.parametrize(
    "source, namespaces, value",
    [
        ("[[1, 0], [0, 1]]", [], [[1, 0], [0, 1]]),
        ("['a', 'b']", [], ["a", "b"]),
        ("0x1f << 2", [], 124),
        ("Integer(2) * x + max(1, 2)", [{"Integer": int}, {"x": 3}], 8),
        ("Symbol('x')", [{"Symbol": str.upper}], "X"),
    ],
)
def test_values_are_evaluated(source, namespaces, value):
    assert evaluate(source, *namespaces) == value


@pytest.mark.parametrize(
    "source, namespaces",
    [
        ("oracle_answer", []),
        ("entry['answer']", []),
        ("print(1)", []),
        ("[c for c in 'ab']", []),
        ("(lambda: 1)()", []),
        ("''.join(['a'])", []),
        ("__import__('os')", [{"Integer": int}]),
        ("getattr(x, Symbol('y'))", [{"Symbol": str}, {"x": 1}]),
        ("x.real", [{}, {"x": 1}]),
        ("sympify('1')", [{"sympify": int}]),
        ("sympify(f'{1}')", [{"sympify": int}]),
        ("Symbol(sympify('1'))", [{"sympify": int, "Symbol": str}]),
        ("eval(Symbol('1'))", [{"Symbol": str, "eval": eval}]),
    ],
)
def test_code_is_not_evaluated(source, namespaces):
    with pytest.raises(ValueError, match="an answer must not"):
        evaluate(source, *namespaces)


class Fragile:
    """A generator whose rule reads only numbers."""

    def __init__(self, config):
        self.config = config

    def score_answer(self, answer, entry):
        return float(int(answer) == int(entry["answer"])) * self.config.weight


@pytest.fixture
def generator(monkeypatch):
    made = {"fragile": (Fragile, lambda weight=1.0: SimpleNamespace(weight=weight))}
    monkeypatch.setitem(sys.modules, "reasoning_gym", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "reasoning_gym.factory", SimpleNamespace(DATASETS=made))
    return lambda answer, **more: write_task({"answer": answer, "metadata": {"source_dataset": "fragile"}, **more})


def test_an_answer_on_which_the_rule_raises_is_wrong_if_the_rule_can_score_the_task(generator):
    assert reply_to(generator("4"), "4") == {"score": 1.0}
    assert reply_to(generator("4"), "four") == {"score": 0.0}
    assert reply_to(generator("four"), "4") == {
        "problem": "ValueError: invalid literal for int() with base 10: 'four'"
    }
    assert "problem" in reply_to(generator(None), "4")


def test_options_of_the_generator_reach_the_rule(generator):
    assert reply_to(generator("4", config={"weight": 0.5}), "4") == {"score": 0.5}
    assert "not finite" in reply_to(generator("4", config={"weight": float("inf")}), "4")["problem"]
    assert "KeyError" in reply_to(write_task({"answer": "4", "metadata": {"source_dataset": "gone"}}), "4")["problem"]


def test_this_process_keeps_its_own_eval():
    assert builtins.eval("len('ab')") == 2
