"""Texts for constraints, which are in files of `tests/constraints/`, and what they are paid."""

import ast

from helpers.paths import TESTS
from trl_grpo_rewards import instructions


def read_texts(name: str) -> dict[str, tuple]:
    """Return the arguments and the texts of each constraint in a file."""
    lines = (TESTS / "constraints" / name).read_text().splitlines()[1:]
    return {name: ast.literal_eval(values) for name, values in (line.split(": ", 1) for line in lines)}


def pay(name: str, arguments: dict, text: str, **options) -> float | None:
    (score,) = instructions(**options)(completions=[text], instruction_id_list=[[name]], kwargs=[[arguments]])
    return score
