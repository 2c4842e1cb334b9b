"""The formats that datasets have, and columns that have none of them."""

import base64
import json
import pickle
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.programs.cases import CallCase, OutputCase, UnreadableTests
from trl_grpo_rewards.programs.formats import COMPANION_COLUMNS, read_tests


SCRIPT = [OutputCase("1 2\n", "3\n"), OutputCase("3 4\n", "7\n")]
OPEN_R1 = {
    "language": "python",
    "test_cases": [{"input": case.input, "output": case.output, "type": "stdin_stdout"} for case in SCRIPT],
}
APPS = {"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]}
CALLS = [
    CallCase("add(*arguments)", (3,), "[1, 2]", as_json=True),
    CallCase("add(*arguments)", ([7],), '[[3], "4"]', as_json=True),
]
LIVE_CODE_BENCH = {"inputs": ["1\n2", '[3]\n"4"'], "outputs": ["3", "[7]"], "fn_name": "add"}


@pytest.mark.parametrize(
    "value",
    [
        OPEN_R1,
        {"verification_info": OPEN_R1},
        OPEN_R1["test_cases"],
        {**OPEN_R1, "test_cases": json.dumps(OPEN_R1["test_cases"])},
        {"test_cases": json.dumps(APPS)},
        APPS,
        {**APPS, "fn_name": None},
        {"input_output": json.dumps(APPS)},
        {"unit_tests": APPS},
        {"ground_truth": json.dumps(OPEN_R1["test_cases"])},
        [{"input": case.input, "output": case.output, "testtype": "stdin"} for case in SCRIPT],
        [{"input": [case.input], "output": [case.output]} for case in SCRIPT],
    ],
    ids=range(12),
)
@pytest.mark.parametrize("write", [lambda value: value, json.dumps, repr], ids=["data", "JSON", "Python"])
def test_inputs_with_outputs(value, write):
    tests = read_tests(write(value))
    assert [*tests.cases] == SCRIPT and not tests.setup and str(tests) == "2 inputs with their outputs"


@pytest.mark.parametrize(
    "value, companions",
    [
        (LIVE_CODE_BENCH, {}),
        (json.dumps(LIVE_CODE_BENCH), None),
        ({**LIVE_CODE_BENCH, "fn_name": None}, {"fn_name": "add"}),
        (
            [
                {"input": one, "output": other, "testtype": "functional"}
                for one, other in zip(LIVE_CODE_BENCH["inputs"], LIVE_CODE_BENCH["outputs"], strict=True)
            ],
            {"metadata": '{"func_name": "add"}'},
        ),
        (
            [
                {"input": one, "output": other, "type": "function_call", "fn_name": "add"}
                for one, other in zip(LIVE_CODE_BENCH["inputs"], LIVE_CODE_BENCH["outputs"], strict=True)
            ],
            {"fn_name": "other"},
        ),
        (
            [
                {"input": one, "output": other, "type": None, "fn_name": None}
                for one, other in zip(LIVE_CODE_BENCH["inputs"], LIVE_CODE_BENCH["outputs"], strict=True)
            ],
            {"fn_name": "add", "metadata": None},
        ),
    ],
    ids=range(6),
)
def test_calls_with_json_arguments_on_lines(value, companions):
    tests = read_tests(value, companions)
    assert [*tests.cases] == CALLS and "Solution().add" in tests.setup and str(tests) == "2 calls"


def test_a_list_of_arguments_may_have_its_result_in_a_list():
    tests = read_tests({"inputs": [[1, 2], [[3]]], "outputs": [[3], [4, 5]], "fn_name": "f"})
    assert [case.accepted for case in tests.cases] == [([3], 3), ([4, 5],)]
    assert read_tests([{"input": [1], "output": "2", "type": "function_call", "fn_name": "f"}]).cases[0].accepted == (
        "2",
    )


def test_asserts_of_mbpp():
    row = {"test_list": ["assert f(r) == 1", "assert f(s) == 2"], "test_setup_code": "r = Node(1)\ns = Node(2)"}
    expected = read_tests(row)
    assert [case.call for case in expected.cases] == ["f(r)", "f(s)"] and "Node(1)" in expected.setup
    assert read_tests(row["test_list"], {"test_setup_code": row["test_setup_code"]}) == expected
    imports = {"test_imports": ["import math"]}
    assert read_tests(["assert f(math.pi) == 2"], imports).setup == "import math"
    assert read_tests(["assert f(math.pi) == 2"], {"test_imports": "import math"}).setup == "import math"


def test_check_functions_of_human_eval():
    row = {"test": "def check(candidate):\n    assert candidate(1) == 2\n", "entry_point": "f"}
    tests = read_tests(row)
    assert tests == read_tests(row["test"], {"entry_point": "f"}) == read_tests(json.dumps(row))
    assert str(tests) == "1 call" and tests.setup == "candidate = f" and tests.weak_asserts == 0


def test_weak_tests_are_counted():
    assert str(read_tests(["assert f(1) != 2", "assert f(2) > 1", "assert f(3) == 3"])) == "1 call, 2 weak tests"


def test_what_a_row_says_itself_goes_before_its_companions():
    assert (
        read_tests({**LIVE_CODE_BENCH, "language": "python"}, {"language": "cpp", "fn_name": "g"}).cases[0] == CALLS[0]
    )
    assert {"entry_point", "fn_name", "test_setup_code"} <= {*COMPANION_COLUMNS}


SECRET_PICKLE = base64.b64encode(zlib.compress(pickle.dumps(json.dumps(OPEN_R1["test_cases"])))).decode()


@pytest.mark.parametrize(
    "value, companions, reason",
    [
        (None, {}, "found NoneType"),
        ("", {}, "found str ''"),
        ([], {}, "an empty list"),
        ({}, {}, "a dict with nothing"),
        (3, {}, "found int"),
        (b"[]", {}, "found bytes"),
        ({"question": "?"}, {}, "a dict with 'question'"),
        ([[1], [2]], {}, "a list of 2"),
        ([None], {}, "a list of 1"),
        (["assert f(1) == 2", 3], {}, "a list of 2"),
        ([{"input": "1"}], {}, "a dict with 'input'"),
        ({"inputs": ["1"], "outputs": []}, {}, "'inputs', 'outputs'"),
        ({"inputs": [], "outputs": []}, {}, "'inputs', 'outputs'"),
        ({"inputs": "1", "outputs": "1"}, {}, "'inputs', 'outputs'"),
        ({"inputs": [[1, 2]], "outputs": ["3"]}, {}, "'fn_name'"),
        ({"inputs": [{"a": 1}], "outputs": ["3"]}, {}, "'fn_name'"),
        ({**APPS, "fn_name": "add"}, {}, r"Arguments of add\(\)"),
        ({"inputs": [3], "outputs": [3], "fn_name": "add"}, {}, r"Arguments of add\(\)"),
        ({"inputs": [[1]], "outputs": [object()], "fn_name": "add"}, {}, "plain data"),
        ({"inputs": ["1"], "outputs": ["[" * 200 + "]" * 200], "fn_name": "add"}, {}, "at most 100 levels"),
        ({**LIVE_CODE_BENCH, "fn_name": "add(1) or f"}, {}, "need the name of a function"),
        ({**LIVE_CODE_BENCH, "fn_name": 3}, {}, "need the name of a function"),
        ([{"input": "1", "output": "1", "testtype": "functional"}], {}, "'fn_name'"),
        ({**OPEN_R1, "language": "cpp"}, {}, "language='cpp'"),
        (APPS, {"language": ["python"]}, "language="),
        ('{"inputs": ["1"', {}, "must be JSON"),
        ("[" * 100_000, {}, "must be JSON"),
        ("[NaN]", {}, "must be JSON"),
        ("{'a': __import__('os').system('true')}", {}, "must be JSON"),
        ("[1, 2]" * 300_000, {}, "must be JSON"),
        (SECRET_PICKLE, {}, "cannot be read|found none"),
        ("No tests here.", {}, "cannot be read"),
    ],
    ids=range(32),
)
def test_other_columns_are_one_error(value, companions, reason):
    with pytest.raises(UnreadableTests, match=reason):
        read_tests(value, companions)


NAMES = [
    "input",
    "output",
    "inputs",
    "outputs",
    "fn_name",
    "type",
    "test_cases",
    "test_list",
    "test",
    "entry_point",
    "metadata",
]
TEXTS = st.sampled_from(
    [*NAMES, "assert f(1) == 2", "def check(c): assert c(1)", "[1]", "{", "stdin", "functional", ""]
)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    )
)
def test_no_column_is_another_error(value):
    for one in (value, json.dumps(value)):
        try:
            assert read_tests(one, {"entry_point": "f"}).cases
        except UnreadableTests as error:
            assert str(error).endswith(".")
