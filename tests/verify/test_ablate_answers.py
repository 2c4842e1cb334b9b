"""The script that removes rules finds those that no verdict misses, and only those."""

import json
import os
import subprocess
import sys
from textwrap import dedent

import pytest

from helpers.paths import SCRIPTS


MODULES = {
    "mathematics/matching.py": """
        from types import SimpleNamespace


        def AnswerRules(units="may_omit", **others):
            return SimpleNamespace(units=units)
    """,
    "mathematics/units.py": """
        import re

        UNITS = {"m": "meter meters", "kg": "kilogram"}
        DROPPED = {"the", *"a an".split()}
        SIGN = re.compile("never taken apart")


        def find_unit(word: str) -> str | None:
            for unit, words in UNITS.items():
                if word == unit:
                    return unit
                if word in words.split():
                    return unit
            return None


        def drop(words: list[str]) -> list[str]:
            return [word for word in words if word not in DROPPED]


        def never_called(words: list[str]) -> bool:
            return words == []
    """,
    "verify/verification.py": """
        from ..mathematics.units import drop, find_unit


        def settle(gold, answer, rules):
            if rules.units == "must_match" and answer.endswith("meters"):
                return False
            return [*map(find_unit, drop(gold.split()))] == [*map(find_unit, drop(answer.split()))]
    """,
    "verify/solutions.py": "def read_gold(gold):\n    return gold\n",
    "verify/statements.py": "def find_boxed_answer(text):\n    return text\n",
    "texts.py": "def strip_reasoning(text):\n    return text\n",
}
CASES = [
    "T m # the meters", "T a m # m", "F kilogram # m", *(f"F {one} # ?" for one in ("m", "meter", "meters", "kg")),
]  # fmt: skip


def run(*arguments):
    """Run the script in a process of its own: it forks, which test runners with threads must not."""
    command = [sys.executable, SCRIPTS / "ablate_answers.py", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "TRL_GRPO_REWARDS_DATA"}
    return subprocess.run([*map(str, command)], capture_output=True, text=True, env=environment)


@pytest.fixture
def toy(tmp_path):
    """A package that judges units, and cases that need some of its rules."""
    for name, source in MODULES.items():
        (tmp_path / "toy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "toy" / name).write_text(dedent(source))
    (tmp_path / "cases.txt").write_text("".join(f"{case}\n" for case in CASES))
    return ["--package", tmp_path / "toy", "--cases", tmp_path / "cases.txt", "--json", tmp_path / "rules.json"]


def test_the_rules_that_nothing_misses_are_printed(toy):
    result = run(*toy)
    assert result.returncode == 0 and "only cases.txt is judged" in result.stdout
    rules = json.loads(toy[-1].read_text())
    assert {rule["text"] for rule in rules if not any(rule["changes"].values())} == {"an", "never_called()"}
    texts = {rule["text"] for rule in rules}
    assert texts >= {"find_unit()", "drop()", "if word == unit", "'the'", "a", "'m': 'meter meters'"}
    assert "mathematics.units: 2 of" in result.stdout and "never taken apart" not in texts
    only_with_options = next(rule for rule in rules if rule["text"].startswith("if rules.units"))
    assert only_with_options["changes"]["cases"] == 0 < only_with_options["changes"]["other options"]
