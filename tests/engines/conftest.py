"""Print a table at the end with the outcome, the time and the measurements of each test."""

import os
from collections import Counter
from pathlib import Path


def pytest_terminal_summary(terminalreporter):
    stats, seconds = terminalreporter.stats, Counter()
    for report in (one for reports in stats.values() for one in reports if hasattr(one, "duration")):
        seconds[report.nodeid] += report.duration  # includes the setup of fixtures that this test uses first
    lines = []
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in stats.get(outcome, []):
            name = report.nodeid.split("::")[-1].removeprefix("test_")
            lines.append(
                f"{outcome:8} {name:72} {seconds[report.nodeid]:4.0f} s  {said(report, outcome)[:160]}".strip()
            )
    table = "\n".join(sorted(lines)) + "\n"
    terminalreporter.section("what ran")
    terminalreporter.write(table)
    if place := os.environ.get("ENGINE_TEST_TABLE"):
        with Path(place).open("a") as file:
            file.write(table)


def said(report, outcome: str) -> str:
    """Return the measurements of a test that passed, or the reason why it did not pass."""
    if outcome == "passed":
        return ", ".join(f"{name} {value}" for name, value in report.user_properties)
    if outcome == "skipped":
        return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return str(report.longrepr).strip().split("\n")[-1]
