"""The program of a completion: which block counts, and texts that only look like one."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from trl_grpo_rewards.sandbox.programs.blocks import MAX_PROGRAM_CHARS, find_program
from trl_grpo_rewards.sandbox.programs.cases import CallCase, OutputCase, RowTests
from trl_grpo_rewards.texts import REASONING_MARKS


@pytest.mark.parametrize(
    "text",
    [
        "```python\nx = 1\n```", "```py\nx = 1\n```", "``` Python3 \nx = 1\n```  ", "```{.python}\nx = 1\n```",
        "```python title=a.py\nx = 1\n```", "```\nx = 1\n```", "~~~python\nx = 1\n~~~", "````python\nx = 1\n````",
        "First:\n```python\ny = 2\n```\nBetter:\n```python\nx = 1\n```",
        "```python\nx = 1\n```\nIt prints\n```\n5\n```", "```python\nx = 1\n```\nRun it:\n```bash\npython a.py\n```",
        "```bash\npip install x\n```\n```\nx = 1\n```", "So:\r\n```python\r\nx = 1\n```\r\nDone.",
        "1. Like this:\n   ```python\nx = 1\n   ```", "1. So:\n\n        ```py\n        x = 1\n        ```",
        "1. So:\n\t```py\n\tx = 1\n\t```", "- ```py\n  y = 2\n\nOr:\n```py\nx = 1\n   ```",
        "> ```py\n> y = 2\n\n```py\nx = 1\n```", ">```py\n>x = 1\n>```",
        *(f"```{info}\nx = 1\n```" for info in ("python3.11", "python:a.py", "ipython", "{python}", "{.py .a}")),
        *(f"```py\nx = 1\n```{mark}" for mark in ("</s>", "</answer> </s>", "<|im_end|>", "<｜end▁of｜>")),
        *(f"{mark}```py\nx = 1\n```" for mark in ("<answer>", "final<|message|>", "<|channel|>final<|message|>")),
        *(f"{start}```\ny = 2\n{end}\n```\nx = 1\n```" for start, end in REASONING_MARKS),
        "I think\n```py\ny = 2\n</think>\n```py\nx = 1\n```", "```py\nx = 1\n```\n<think>```py\ny = 2\n```</think>",
    ],
)  # fmt: skip
def test_the_last_block_of_python_is_the_program(text):
    assert find_program(text) == "x = 1\n"


@pytest.mark.parametrize(
    "text",
    [
        "", "x = 1", "`x = 1`", "```x = 1```", "```python\nx = 1", "```python\nx = 1\n```\nBetter:\n```python\nx = 2",
        *(f"```{info}\nx = 1\n```" for info in ("javascript", "pycon", "python-repl", "pyx", "py2")),
        "```py\nx = 1\n``` It is 1.", "<think>```py\nx = 1\n```", "```py\nx = 1\n```</think>\0000\0",
        "```py\nx = 1\n```\n```\n</think>\n```c\ny\n```", "```python\nx = 1\n~~~", "````python\nx = 1\n```",
        "```python\n" + "x" * (MAX_PROGRAM_CHARS + 1) + "\n```",
    ],
)  # fmt: skip
def test_what_is_not_a_closed_block_has_no_program(text):
    assert find_program(text) is None


@given(
    st.lists(st.sampled_from(["> ", "- ", "1. ", "12) "]), max_size=6), st.sampled_from(["", "  "]), st.text("a# '\n")
)
def test_a_block_in_lists_and_quotes_is_the_one_of_commonmark(containers, indent, program):
    lines = [f"{indent}{line}" for line in ["```python", *program.split("\n"), "```"]]
    for first in reversed(containers):
        others = first if first == "> " else " " * len(first)
        lines = [first + lines[0], *(others + line for line in lines[1:])]
    (block,) = (one for one in MarkdownIt().parse("\n".join(lines)) if one.type == "fence")
    assert find_program("\n".join(lines)) == block.content


def test_an_empty_block_is_a_program_that_does_nothing():
    assert find_program("```python\n```") == "\n"


@given(st.text("ab \n\t\\'\"é\ud800", max_size=200))
@example('s = "<think>"\nt = """\n</think>\n</answer>\n"""')
@example('s = "</think>"\ndef f():\n    """\n    ```python\n    f()\n    ```\n    """')
def test_a_program_is_returned_as_it_was_written(program):
    assert find_program(f"So:\n```python\n{program}\n```\nDone.") == f"{program}\n"


@given(st.text("`~ \npython{}.", max_size=200))
def test_no_text_is_an_error(text):
    assert find_program(text) is None or isinstance(find_program(text), str)


@pytest.mark.parametrize(
    "unit",
    [
        "`", "```\n", "~~~\n```\n", "```python\n", "``` ", "\n", "````\n```\n", "> ```\n", "- ", "<a>```", "<",
        "  ```py\n```py\n", "```py\n</think>\n", "```\ndef f(:#:#", f"{'> ' * 99}```\n", f"{' ' * 99}```x\n",
    ],
)  # fmt: skip
def test_a_hostile_text_costs_no_more_than_its_length(unit):
    start = time.thread_time()
    find_program(unit * (200_000 // len(unit)) + "\n```\n", RowTests((CallCase("f", "[]", ()),)))
    assert time.thread_time() - start < 2.0


READING = [
    "print(int(input()))", "import sys\nprint(sys.stdin.read())", "from sys import stdin\nfor line in stdin: print(line)",
    "import sys\nread = sys.stdin.readline\nprint(read())", "print(open(0).read())", "import os\nprint(os.read(0, 9))",
    "import fileinput\nfor line in fileinput.input(): print(line)", "def main():\n    n = int(input())\nmain()",
    "print(*map(int, iter(input, '')))", "data = open('/dev/stdin').read()\nprint(data)",
]  # fmt: skip
EXAMPLES = [
    "# Example: input() is 3\nprint(solve('3'))", "assert solve('3') == 3", ">>> solve('3')\n3", "echo 3 | python main.py < input",
    "3\n1 2 3", "import io, sys\nsys.stdin = io.StringIO('3')\nmain()", "input = '3'\nprint(solve(input))", "main()",
    "print('call input()')", "def solve(input): ...", "input = lambda: '3'\nprint(solve(input()))", "class T:\n    stdin = 3",
]  # fmt: skip


@pytest.mark.parametrize("mark", ["python", ""])
def test_a_block_that_reads_is_the_program_where_the_tests_have_an_input(mark):
    tests, silent = (RowTests((OutputCase(given, "3"), OutputCase("", "3"))) for given in ("3\n", " \n"))
    for program in READING:
        for other in EXAMPLES:
            blocks = [f"```python\n{program}\n```", f"```{mark}\n{other}\n```"]
            for text in ("\n".join(blocks), "\n".join(reversed(blocks))):
                assert find_program(text, tests) == f"{program}\n"
                assert find_program(text, silent) == find_program(text)
    several = "".join(f"```python\n{program}\n```\n" for program in READING)
    assert find_program(several, tests) == f"{READING[-1]}\n"
    assert find_program("```python\nprint(6)\n```", tests) == "print(6)\n"


@pytest.mark.parametrize(
    "unit", ["a;", "a,", "input(", "'", "if input:\n", "-", "lambda input:", "input+", "[", "\\\n"]
)
def test_a_hostile_block_is_read_within_its_length(unit):
    block = "```python\n" + unit * (190_000 // len(unit)) + "\ninput()\n```\n"
    start = time.thread_time()
    find_program(2 * block, RowTests((OutputCase("3", "3"),)))
    assert time.thread_time() - start < 8.0
