"""The program of a completion: which block counts, and texts that only look like one."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.programs.blocks import MAX_PROGRAM_CHARS, find_program


@pytest.mark.parametrize(
    "text",
    [
        "```python\nx = 1\n```", "```py\nx = 1\n```", "``` Python3 \nx = 1\n```  ", "```{.python}\nx = 1\n```",
        "```python title=a.py\nx = 1\n```", "```\nx = 1\n```", "~~~python\nx = 1\n~~~", "````python\nx = 1\n````",
        "First:\n```python\ny = 2\n```\nBetter:\n```python\nx = 1\n```",
        "```python\nx = 1\n```\nIt prints\n```\n5\n```", "```python\nx = 1\n```\nRun it:\n```bash\npython a.py\n```",
        "```bash\npip install x\n```\n```\nx = 1\n```", "So:\r\n```python\r\nx = 1\n```\r\nDone.",
        "1. Like this:\n   ```python\nx = 1\n   ```",
    ],
)  # fmt: skip
def test_the_last_block_of_python_is_the_program(text):
    assert find_program(text) == "x = 1\n"


@pytest.mark.parametrize(
    "text",
    [
        "", "x = 1", "`x = 1`", "```x = 1```", "```python\nx = 1", "```python\nx = 1\n```\nBetter:\n```python\nx = 2",
        "```javascript\nx = 1\n```", "```python\nx = 1\n~~~", "````python\nx = 1\n```",
        "```python\n" + "x" * (MAX_PROGRAM_CHARS + 1) + "\n```",
    ],
)  # fmt: skip
def test_what_is_not_a_closed_block_has_no_program(text):
    assert find_program(text) is None


def test_an_empty_block_is_a_program_that_does_nothing():
    assert find_program("```python\n```") == "\n"


@given(st.text("ab \n\t\\'\"é\ud800", max_size=200))
def test_a_program_is_returned_as_it_was_written(program):
    assert find_program(f"So:\n```python\n{program}\n```\nDone.") == f"{program}\n"


@given(st.text("`~ \npython{}.", max_size=200))
def test_no_text_is_an_error(text):
    assert find_program(text) is None or isinstance(find_program(text), str)


@pytest.mark.parametrize("unit", ["`", "```\n", "~~~\n```\n", "```python\n", "``` ", "\n", "````\n```\n"])
def test_a_hostile_megabyte_costs_no_more_than_its_length(unit):
    start = time.thread_time()
    find_program(unit * (1_000_000 // len(unit)))
    assert time.thread_time() - start < 3.0
