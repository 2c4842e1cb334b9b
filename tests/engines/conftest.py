"""At the end, a table of what ran, for how long, and what was measured."""

import os
from pathlib import Path


def pytest_terminal_summary(terminalreporter):
    lines = []
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            measured = ", ".join(f"{name} {value}" for name, value in report.user_properties)
            said = measured if outcome == "passed" else str(getattr(report, "longrepr", "")).strip().split("\n")[-1]
            name = report.nodeid.split("::")[-1].removeprefix("test_")
            lines.append(f"{outcome:8}{report.duration:6.0f} s  {name:70}{said[:160]}")
    table = "\n".join(sorted(lines)) + "\n"
    terminalreporter.section("what ran")
    terminalreporter.write(table)
    if place := os.environ.get("ENGINE_TEST_TABLE"):
        with Path(place).open("a") as file:
            file.write(table)
