"""The reward for instructions: scores, what it logs, and what `check` says of a dataset."""

import numpy as np
import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import instructions, parse
from trl_grpo_rewards.checks import check


IDS = ["punctuation:no_comma", "length_constraints:number_words", "startend:quotation"]
ARGUMENTS = [{}, {"relation": "at least", "num_words": 2}, {}]
COLUMNS = {"instruction_id_list": [IDS], "kwargs": [ARGUMENTS]}


@pytest.mark.parametrize(
    "text, whole, part",
    [('"one two"', 1.0, 1.0), ("one two", 0.0, 2 / 3), ("one,", 0.0, 0.0), ("<think>a, b</think>\n\n\"one two\"", 1.0, 1.0)],
)  # fmt: skip
@pytest.mark.parametrize("form", [str, lambda text: [{"role": "assistant", "content": text}]])
def test_all_constraints_or_their_share(text, whole, part, form):
    assert instructions()(completions=[form(text)], **COLUMNS) == [whole]
    assert instructions(partial=True)(completions=[form(text)], **COLUMNS) == [pytest.approx(part)]


@given(st.lists(st.sampled_from(IDS), min_size=1, max_size=4), st.sampled_from(["x:y", "", "no_comma"]), st.booleans())
def test_an_unknown_id_is_never_paid(ids, unknown, partial):
    given = [ARGUMENTS[IDS.index(one)] for one in ids]
    for place in range(len(ids) + 1):
        names, arguments = [*ids[:place], unknown, *ids[place:]], [*given[:place], {}, *given[place:]]
        reward = instructions(partial=partial)
        assert reward(completions=['"one two"'], instruction_id_list=[names], kwargs=[arguments]) == [None]


@given(st.permutations(range(len(IDS))), st.text(alphabet='a, "', max_size=8))
def test_the_order_of_constraints_does_not_matter(order, text):
    columns = {"instruction_id_list": [[IDS[one] for one in order]], "kwargs": [[ARGUMENTS[one] for one in order]]}
    for reward in (instructions(), instructions(partial=True), instructions(loose=True)):
        assert reward(completions=[text], **columns) == reward(completions=[text], **COLUMNS)


def test_constraints_in_conflict_are_never_all_met():
    names, arguments = (
        ["length_constraints:number_words"] * 2,
        [{"relation": one, "num_words": 2} for one in ("at least", "less than")],
    )
    for text in ("one", "one two"):
        columns = {"completions": [text], "instruction_id_list": [names], "kwargs": [arguments]}
        assert instructions()(**columns) == [0.0] and instructions(partial=True)(**columns) == [0.5]


def test_columns_of_arrays_are_read_as_lists():
    names = [np.array(IDS), np.array(IDS)]
    given = [np.array([{}, {"relation": "at least", "num_words": np.int64(2)}, {}])] * 2
    texts = ['"one two"', "one, two"]
    assert instructions()(completions=texts, instruction_id_list=names, kwargs=given) == [1.0, 0.0]
    words = [[{"id": "keywords:existence", "keywords": np.array(["one", "two"])}]] * 2
    assert instructions()(completions=texts, instruction_id_list=words) == [1.0, 1.0]


def test_columns_may_have_other_names_and_only_one_is_needed():
    reward = instructions(instruction_id_list="rules")
    assert reward(completions=["a, b", "a b"], rules=['[{"id": "punctuation:no_comma"}]'] * 2) == [0.0, 1.0]
    assert parse(str(reward)) == reward and reward.columns == {"rules"}
    assert instructions(kwargs="arguments").columns == {"instruction_id_list", "arguments"}


def test_what_is_missed_is_logged():
    logged, metrics = {}, {}
    instructions()(
        completions=["one,", '"one two"', "so", "so"],
        instruction_id_list=[IDS, IDS, ["x:y"], []],
        kwargs=[ARGUMENTS, ARGUMENTS, [{}], []],
        log_extra=lambda column, values: logged.update({column: values}),
        log_metric=lambda name, value: metrics.update({name: value}),
    )
    assert logged["instructions/missed"] == [
        ", ".join(IDS), "", "unreadable: the constraint 'x:y' is unknown", "unreadable: the row has no constraints",
    ]  # fmt: skip
    assert metrics == {"instructions/met": 0.5, "instructions/unreadable_rows": 2}


def examine(names, arguments):
    rows = {"prompt": [f"Write {place}." for place in range(len(names))], "instruction_id_list": names}
    findings = check(instructions(), Dataset.from_dict({**rows, "kwargs": arguments}))
    (found,) = (one for one in findings if one.title == "the dataset, as 'instructions' reads it")
    return found, [fault for one in findings for fault in one.faults]


def test_check_counts_constraints_and_rows_that_cannot_be_read():
    found, faults = examine([IDS] * 3, [ARGUMENTS] * 3)
    assert found.lines[0] == "3 rows with 9 constraints of 3 kinds" and not found.warnings and not faults
    found, faults = examine([IDS, IDS, ["x:y"]], [ARGUMENTS, [*ARGUMENTS[:1], {"num_words": 3}, {}], [{}]])
    assert "unreadable" in found.lines[1] and any("'x:y' is unknown" in line for line in found.lines)
    assert "2 of 3 rows are unreadable" in found.warnings[0] and not faults
    _, faults = examine([["x:y"]] * 3, [[{}]] * 3)
    assert any("3 of 3 rows are unreadable" in fault for fault in faults)


def test_check_names_a_package_that_is_missing(monkeypatch):
    monkeypatch.setattr("trl_grpo_rewards.constraints.table.find_spec", lambda name: None)
    examination = instructions().ask_trait(
        "examines", rows=[{"instruction_id_list": ["change_case:english_capital"], "kwargs": [{}]}]
    )
    assert "needs the package 'langdetect', which is not installed" in examination.faults[0]
