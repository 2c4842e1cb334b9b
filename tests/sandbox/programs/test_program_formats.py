"""The formats that datasets have, and columns that have none of them."""

import base64
import json
import pickle
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.judged_programs import count_passed
from trl_grpo_rewards.sandbox.programs import formats
from trl_grpo_rewards.sandbox.programs.cases import CallCase, OutputCase
from trl_grpo_rewards.sandbox.programs.formats import COMPANION_COLUMNS, read_tests
from trl_grpo_rewards.sandbox.programs.python_tests import PythonTests, UnreadableTests


def pack(content, protocol=4):
    return base64.b64encode(zlib.compress(pickle.dumps(content, protocol))).decode()


SCRIPT = [OutputCase("1 2\n", "3\n"), OutputCase("3 4\n", "7\n")]
OPEN_R1 = {
    "language": "python",
    "test_cases": [{"input": case.input, "output": case.output, "type": "stdin_stdout"} for case in SCRIPT],
}
PARTS = [[{"input": case.input, "output": case.output, "testtype": "stdin"}] for case in SCRIPT]
APPS = {"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]}
CODE_CONTESTS = {"input": APPS["inputs"], "output": APPS["outputs"]}
CALLS = [CallCase("add", "[1, 2]", (3,), True), CallCase("add", '[[3], "4"]', ([7],), True)]
FUNCTION = {"inputs": ["1\n2", '[3]\n"4"'], "outputs": ["3", "[7]"], "fn_name": "add"}


@pytest.mark.parametrize(
    "value",
    [
        OPEN_R1, {"verification_info": OPEN_R1}, OPEN_R1["test_cases"],
        {**OPEN_R1, "test_cases": json.dumps(OPEN_R1["test_cases"])}, {"test_cases": json.dumps(APPS)}, APPS,
        {**APPS, "fn_name": None}, {**APPS, "checker": "", "generated_checker": None},
        {"input_output": json.dumps(APPS)}, {"unit_tests": APPS}, {"ground_truth": json.dumps(OPEN_R1["test_cases"])},
        {"reward_model": {"ground_truth": json.dumps(APPS), "style": "rule"}},
        [{"input": case.input, "output": case.output, "testtype": "stdin"} for case in SCRIPT],
        [{"input": [case.input], "output": [case.output]} for case in SCRIPT], CODE_CONTESTS,
        {"public_tests": CODE_CONTESTS, "private_tests": {"input": [], "output": []}, "generated_tests": None},
        {"private_tests": {"input": [SCRIPT[1].input], "output": [SCRIPT[1].output]}, "public_tests": {"input": [SCRIPT[0].input], "output": [SCRIPT[0].output]}, },
        {"public_test_cases": json.dumps(PARTS[0]), "private_test_cases": json.dumps(PARTS[1]), "metadata": "{}"},
        {"public_test_cases": json.dumps(PARTS[0]), "private_test_cases": pack(json.dumps(PARTS[1]))},
        {"public_test_cases": None, "private_test_cases": pack(json.dumps(OPEN_R1["test_cases"]), 3)},
    ],
    ids=range(20),
)  # fmt: skip
@pytest.mark.parametrize("write", [lambda value: value, json.dumps, repr], ids=["data", "JSON", "Python"])
def test_inputs_with_outputs(value, write):
    tests = read_tests(write(value))
    assert [*tests.cases] == SCRIPT


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_packed_tests(protocol):
    assert [*read_tests(pack(json.dumps(APPS), protocol)).cases] == SCRIPT


class Harmful:
    def __reduce__(self):
        return print, ("This runs if the pickle is loaded.",)


MEMO_BOMB = base64.b64encode(zlib.compress(b"\x80\x02X\x02\x00\x00\x00[]r\xff\xff\xff\xff.")).decode()


@pytest.mark.parametrize(
    "value, reason",
    [
        (pack(Harmful()), "opcodes"),
        (pack([1, 2, 3]), "opcodes"),
        (pack(b"[]"), "opcodes"),
        (base64.b64encode(zlib.compress(b"cos\nsystem\n.")).decode(), "opcodes GLOBAL, STOP"),
        (pack(("[]", "[]")), "opcodes"),
        (pack("[]")[:-8], "incomplete|padding"),
        (base64.b64encode(zlib.compress(b"[]")).decode(), "cannot be read"),
        ("eJ" + "A" * 100, "cannot be read"),
        (pack("No tests here."), "Python code"),
        (pack("[" + "0" * 2000), "more than 1,000 bytes"),
        (MEMO_BOMB, "an empty list"),
    ],
    ids=range(11),
)
def test_other_packed_texts_are_refused_and_run_nothing(value, reason, capsys, monkeypatch):
    monkeypatch.setattr(formats, "MAX_UNPACKED_BYTES", 1000)
    with pytest.raises(UnreadableTests, match=reason):
        read_tests(value)
    assert not capsys.readouterr().out


def list_calls(**more):
    pairs = zip(FUNCTION["inputs"], FUNCTION["outputs"], strict=True)
    return [{"input": one, "output": other, **more} for one, other in pairs]


@pytest.mark.parametrize(
    "value, companions",
    [
        (FUNCTION, {}), (json.dumps(FUNCTION), None), ({**FUNCTION, "fn_name": None}, {"fn_name": "add"}),
        (list_calls(testtype="functional"), {"metadata": '{"func_name": "add"}'}),
        (list_calls(type="function_call", fn_name="add"), {"fn_name": "other"}),
        (list_calls(type=None, fn_name=None), {"fn_name": "add", "metadata": None}),
        ({"public_test_cases": [{"input": "1\n2", "output": "3", "testtype": "functional"}], "private_test_cases": pack(json.dumps([{"input": '[3]\n"4"', "output": "[7]", "testtype": "functional"}]) ), "metadata": '{"func_name": "add"}'}, {}),
    ],
    ids=range(7),
)  # fmt: skip
def test_calls_with_json_arguments_on_lines(value, companions):
    tests = read_tests(value, companions)
    assert [*tests.cases] == CALLS


def test_a_list_of_arguments_may_have_its_result_in_a_list():
    tests = read_tests({"inputs": [[1, 2], [[3]]], "outputs": [[3], [4, 5]], "fn_name": "f"})
    assert [case.accepted for case in tests.cases] == [([3], 3), ([4, 5],)]
    [case] = read_tests([{"input": [1], "output": "2", "type": "function_call", "fn_name": "f"}]).cases
    assert case.accepted == ("2",)


def test_results_in_python_notation_become_json():
    tests = read_tests("{'inputs': [[(1, 2)]], 'outputs': [{1: (2, None)}], 'fn_name': 'f'}")
    assert tests.cases == (CallCase("f", "[[1, 2]]", ({"1": [2, None]},), True),)


@pytest.mark.parametrize(
    "inputs, outputs, in_place",
    [
        ([[[1, 2, 3], 1]], [[3, 1, 2]], True),
        ([[[1]], [[1, 2]]], [[1], [2, 1]], True),
        ([[[1]], [[1, 1.0]]], [[1], [True, 1]], False),
        ([[[1]], [[2]]], [[3], None], False),
        ([[[1]]], [[[1]]], False),
        ([[]], [3], True),
    ],
    ids=range(6),
)
def test_functions_that_return_none_are_judged_by_their_first_argument_if_they_must_change_it(
    inputs, outputs, in_place
):
    tests = read_tests({"inputs": inputs, "outputs": outputs, "fn_name": "f"})
    assert [case.in_place for case in tests.cases] == [in_place] * len(inputs)
    assert count_passed("def f(*args): pass", tests) < len(inputs)


def test_a_function_that_changes_its_first_argument():
    tests = read_tests({"inputs": [[[1, 2, 3], 1], [[], 0]], "outputs": [[3, 1, 2], []], "fn_name": "rotate"})
    program = "class Solution:\n    def rotate(self, a, k):\n        {}a[-k:] + a[:-k]"
    assert count_passed(program.format("a[:] = "), tests) == 2
    assert count_passed(program.format("return "), tests) == 2
    assert count_passed(program.format("a = "), tests) == 1
    assert count_passed(program.format("a[:] = a[:1] and 1 and "), tests) == 2
    assert count_passed("def rotate(a, k):\n    a[:] = [3, 1, 2]\n    return 0", tests) == 0


def test_blocks_of_python_tests_are_unchanged_and_in_order():
    row = {"test_list": ["assert f(r) == 1  # r", "assert f(s) == 2"], "test_setup_code": "r = s = Node(1)"}
    expected = PythonTests(("r = s = Node(1)", *row["test_list"]))
    assert read_tests(row).cases == (expected,)
    assert read_tests(row["test_list"], {"test_setup_code": row["test_setup_code"]}).cases == (expected,)
    for imports in ("import math", ["import math"]):
        [case] = read_tests({**row, "test_imports": imports}).cases
        assert case.blocks == ("import math", *expected.blocks)
    assert read_tests(["assert f(1) == 2", " "], {"test_setup_code": "", "test_imports": []}).cases[0].blocks == (
        "assert f(1) == 2",
    )


def test_the_fuller_tests_of_a_row_count():
    row = {"test_list": ["assert f(1) == 2"], "test": "assert f(1) == 2\nassert f(2) == 3\n"}
    assert read_tests(row).cases == (PythonTests((row["test"],)),)


def test_what_a_row_says_itself_goes_before_its_companions():
    assert read_tests({**FUNCTION, "language": "python"}, {"language": "cpp", "fn_name": "g"}).cases[0] == CALLS[0]
    assert {"entry_point", "fn_name", "test_setup_code", "generated_checker"} <= {*COMPANION_COLUMNS}


@pytest.mark.parametrize("name", ["checker", "generated_checker"])
@pytest.mark.parametrize("value", [APPS, FUNCTION, "assert f(1) == 2"], ids=["output", "call", "code"])
def test_rows_with_a_checker_of_their_own_are_not_compared(name, value):
    for row, companions in (({"tests": value, name: "import sys"}, {}), (value, {name: "import sys"})):
        with pytest.raises(UnreadableTests, match=f"'{name}' is not run"):
            read_tests(row, companions)


@pytest.mark.parametrize(
    "value, companions, reason",
    [
        (None, {}, "found NoneType"), ("", {}, "found str ''"), ([], {}, "an empty list"),
        ({}, {}, "a dict with nothing"), (3, {}, "found int"), (b"[]", {}, "found bytes"),
        ({"question": "?"}, {}, "a dict with 'question'"), ([[1], [2]], {}, "a list of 2"),
        ([None], {}, "a list of 1"), (["assert f(1) == 2", 3], {}, "a list of 2"),
        ([{"input": "1"}], {}, "a list of 1, which begins with a dict with 'input'"),
        ({"inputs": ["1"], "outputs": []}, {}, "'inputs', 'outputs'"),
        ({"inputs": [], "outputs": []}, {}, "'inputs', 'outputs'"),
        ({"inputs": "1", "outputs": "1"}, {}, "'inputs', 'outputs'"),
        ({"inputs": [[1, 2]], "outputs": ["3"]}, {}, "'fn_name'"),
        ({"inputs": [{"a": 1}], "outputs": ["3"]}, {}, "'fn_name'"),
        ({**APPS, "fn_name": "add"}, {}, r"Arguments of add\(\)"),
        ({"inputs": [3], "outputs": [3], "fn_name": "add"}, {}, r"Arguments of add\(\)"),
        ({"inputs": [[1]], "outputs": [object()], "fn_name": "add"}, {}, "plain data"),
        ("{'inputs': [[1]], 'outputs': [{1}], 'fn_name': 'add'}", {}, "plain data"),
        ({"inputs": ["1"], "outputs": ["[" * 200 + "]" * 200], "fn_name": "add"}, {}, "more than 100 levels"),
        ({**FUNCTION, "fn_name": "add(1) or f"}, {}, "need the name of a function"),
        ({**FUNCTION, "fn_name": 3}, {}, "need the name of a function"),
        ([{"input": "1", "output": "1", "testtype": "functional"}], {}, "'fn_name'"),
        ({**OPEN_R1, "language": "cpp"}, {}, "language='cpp'"), (APPS, {"language": ["python"]}, "language="),
        ('{"inputs": ["1"', {}, "must be JSON"), ("[" * 100_000, {}, "must be JSON"), ("[NaN]", {}, "must be JSON"),
        ("{[]: 1}", {}, "must be JSON"), ("{'a': __import__('os').system('true')}", {}, "must be JSON"),
        ("[1, 2]" * 300_000, {}, "must be JSON"),
        ({"public_tests": CODE_CONTESTS, "private_tests": "none"}, {}, "found str 'none'"),
        ({"public_tests": {"input": [], "output": []}}, {}, "a dict with 'public_tests'"),
        ({"input": ["1", "2"], "output": ["1"]}, {}, "'input', 'output'"), ("No tests here.", {}, "Python code"),
        (["assert f(1) == 2"], {"test_imports": 3}, "found int '3'"),
        (["assert f(1) == 2"], {"entry_point": ["f"]}, "found a list"),
    ],
    ids=range(38),
)  # fmt: skip
def test_other_columns_are_one_error(value, companions, reason):
    with pytest.raises(UnreadableTests, match=reason):
        read_tests(value, companions)


NAMES = (
    "input output inputs outputs fn_name type test_cases test_list test test_imports test_setup_code entry_point metadata "
    "public_tests private_test_cases checker"
).split()
TEXTS = st.sampled_from(
    [*NAMES, "assert f(1) == 2", "def check(c): assert c(1)", "[1]", "{", "stdin", "functional", "", pack("[1]")]
)
COLUMNS = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
)


@given(COLUMNS, COLUMNS)
def test_no_column_is_another_error(value, other):
    for one in (value, json.dumps(value)):
        try:
            assert read_tests(one, {"entry_point": "f", "test_imports": other, "metadata": other}).cases
        except UnreadableTests as error:
            assert str(error).endswith(".")
