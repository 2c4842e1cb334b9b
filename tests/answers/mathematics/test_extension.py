r"""
One line in one file is enough for a new unit, function, word or sign.

The tests write the lines into a copy of the package.
"""

import importlib
import shutil
from pathlib import Path

import pytest

from helpers.values import is_equal
from trl_grpo_rewards.answers import mathematics


UNIT = ("units.txt", "kelvin+ K", "furlong fur | furlong furlongs |")
FUNCTION = ("functions.py", "FUNCTIONS =", '"versin": Function(lambda number: 1 - CONTEXT.cos(number), "vers"),')
WORD = ("words.toml", '"negation" =', "bogus")
INFIX = ("grammar.py", "INFIXES:", r'"\\ominus": (operation("\\ominus", SUM, "-"),),')
PREFIX = ("grammar.py", "PREFIXES:", r'"\\natural": expressions.read_minus,')
BRACKET = ("tokens.py", "BRACKETS =", r'"\\llbracket": {"\\rrbracket"},')


@pytest.fixture
def extend(tmp_path, monkeypatch):
    """Return a function that writes lines into a copy of the package and returns what compares two texts with it."""

    def write(*lines):
        name = f"mathematics_{tmp_path.name}"
        shutil.copytree(Path(mathematics.__file__).parent, tmp_path / name)
        for path, start, line in lines:
            file = tmp_path / name / path
            old = file.read_text().splitlines()
            (place,) = (number for number, one in enumerate(old) if one.strip().startswith(start))
            file.write_text("\n".join([*old[: place + 1], line, *old[place + 1 :]]))
        monkeypatch.syspath_prepend(tmp_path)
        modules = [importlib.import_module(f"{name}.{one}") for one in ("grammar", "kinds", "matching")]
        grammar, kinds, matching = modules
        return lambda gold, answer: kinds.compare_values(*map(grammar.read, (gold, answer)), matching.AnswerRules())

    return write


LINES = [
    (UNIT, r"5\text{ furlongs}", [r"5\text{ fur}", "5 furlong", "5 fur"], ["5 feet", r"6\text{ fur}"]),
    (FUNCTION, r"1-\cos x", [r"\versin x", r"\operatorname{versin}(x)", r"\vers x"], [r"\versin 2x"]),
    (WORD, "5", ["5 apples"], ["5 bogus"]),
    (INFIX, "3", [r"5\ominus 2", r"5 \ominus 2 \cdot 1"], [r"2\ominus 5"]),
    (BRACKET, "(2, 3)", [r"(\llbracket 1+1\rrbracket, 3)"], [r"(\llbracket 1+2\rrbracket, 3)"]),
    (PREFIX, "-3", [r"\natural 3"], ["3", r"\natural 5"]),
]


def test_one_line_is_enough(extend):
    extended = extend(*(line for line, *_ in LINES))
    for line, gold, right, wrong in LINES:
        verdicts = [[bool(judge(gold, answer)) for answer in right + wrong] for judge in (extended, is_equal)]
        assert verdicts[0] == [True] * len(right) + [False] * len(wrong) != verdicts[1], line
