"""`trl-grpo-rewards check --selftest`: whether the checks find broken rewards, and call no healthy one faulty."""

import re
from typing import NamedTuple

from datasets import Dataset

from ..checks import check
from ..checks.contract import check_readiness
from ..demo.labelled_rewards import DATA, LABELLED
from .output import FAULTY, FINE, format_table, measure_screen, print_json


LEAST_FOUND = 0.9
"""Smallest share of the broken rewards that must be found."""


class Result(NamedTuple):
    """What the checks make of a labelled reward: found, missed, quiet, warned, a false alarm, or not run."""

    reward: str
    data: str
    is_broken: bool
    result: str
    finding: str


def try_labelled() -> list[Result]:
    """Check each labelled reward with its data."""
    results = []
    for name, said, rewards, data in LABELLED:
        is_ready = not check_readiness(rewards).faults
        found = check(rewards, Dataset.from_dict(DATA[data])) if is_ready else []
        faults, warnings = ([text for one in found for text in getattr(one, kind)] for kind in ("faults", "warnings"))
        meant = [text for text in faults + warnings if re.search(said, text)]
        result = "false alarm" if faults else "warned" if warnings else "quiet"
        result = "not run" if not is_ready else result if not said else "found" if meant else "missed"
        results.append(Result(name, data, bool(said), result, (meant or [""])[0]))
    return results


def show_results(results: list[Result], *, is_json: bool) -> int:
    """Print what the checks make of labelled rewards. Return the exit code."""
    broken, healthy = ([one.result for one in results if one.is_broken is kind] for kind in (True, False))
    missed, alarms = broken.count("missed"), healthy.count("false alarm")
    if is_json:
        print_json({"selftest": [one._asdict() for one in results]})
    else:
        rows = [[one.reward, one.data, "broken" if one.is_broken else "healthy", one.result] for one in results]
        print(format_table([["reward", "data", "it is", "result"], *rows], "<<<<", measure_screen()[0]))
        print(
            f"\n{broken.count('found')} of {len(broken)} broken rewards found, {missed} missed; {alarms} of {len(healthy)} "
            f"healthy rewards called faulty, {healthy.count('warned')} with a warning."
        )
    return FAULTY if alarms or missed > (1 - LEAST_FOUND) * len(broken) else FINE
