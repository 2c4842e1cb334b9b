"""The summary of a run: what the page says, in tables that fit a screen."""

import json

import pytest

from trl_grpo_rewards.cli.report import describe_report, summarize_report


@pytest.fixture
def data():
    """The data of a page, as far as the summary reads it."""
    return {
        "name": "run\x1b[2J",
        "facts": [["Rewards", "boxed()"], ["Model", "m"]],
        "size": 8,
        "groups": 1280,
        "steps": [1, 40],
        "checked": True,
        "changes": [
            {"what": "Live groups", "share": True, "values": [1.0, 0.28125]},
            {"what": "Total reward", "share": False, "values": [0.5]},
        ],
        "anomalies": [],
        "advice": "",
    }


def show(*runs):
    return summarize_report(describe_report(runs, "report.html")).splitlines()


def test_a_run_without_warnings(data):
    assert show(data) == [
        "run\\x1b[2J     start    end", "Live groups   100.0%  28.1%", "Total reward   0.500  0.500", "",
        "1,280 groups of 8 in steps 1 to 40",
        "start and end: the means over the first and the last tenth of the steps", "", "No warnings.",
        "The report is in report.html.",
    ]  # fmt: skip
    (found,) = json.loads(json.dumps(describe_report([data], "report.html"), allow_nan=False))["runs"]
    assert found["expression"] == "boxed()" and found["changes"][0]["end"] == 0.28125 and found["warnings"] == []


@pytest.mark.parametrize("warnings", [1, 3, 40])
def test_warnings_fit_a_screen(data, warnings):
    data |= {"anomalies": [{"title": f"Number {n}", "details": "It was constant. " * 12} for n in range(warnings)]}
    shown = show(data)
    assert len(shown) <= 30 and all(len(line) <= 80 for line in shown)
    assert shown[-2] == f"{warnings} warning{'s' * (warnings > 1)}."
    starts = sum(line.startswith("warning: ") for line in shown)
    assert starts == min(warnings, 5) and ("... and 35 more: the report" in shown) == (warnings == 40)


def test_a_short_run_is_said_to_be_short_and_a_run_without_records_what_adds_them(data):
    shown = show(data | {"checked": False, "facts": [], "advice": "use ours"})
    assert "No warnings; the run is too short for most checks." in shown
    assert "start and end: the means over the first and the last step" in shown
    assert shown[-2] == "With group records, the report also shows every group: use ours."


def test_several_runs_are_compared_by_their_ends(data):
    other = data | {"name": "runs/with/a/path/that/is/so/long/that/it/takes/a/line", "changes": data["changes"][:1]}
    other |= {"anomalies": [{"title": "It fell", "details": "Look."}], "checked": False, "groups": 1}
    assert show(data, other) == [
        f"{'Groups x    Live   Total':>80}", f"{'at the end':47}  Steps      size  groups  reward",
        f"{'run' + chr(92) + 'x1b[2J':47}   1-40    1280x8   28.1%   0.500",
        ".../a/path/that/is/so/long/that/it/takes/a/line   1-40       1x8   28.1%       -", "",
        "at the end: the means over the last tenth of the steps, or the last step of a",
        "  short run", "",
        "warning of runs/with/a/path/that/is/so/long/that/it/takes/a/line: It fell. Look.", "",
        "1 warning; some runs are too short for most checks.", "The report is in report.html.",
    ]  # fmt: skip


def test_values_for_which_a_screen_is_too_narrow_are_named(data):
    names = [f"a_long_name_of_an_outcome_{place}" for place in range(8)]
    runs = [data | {"changes": [{"what": f"Mean of {name}", "share": False, "values": [0.0, 1.0]}]} for name in names]
    *table, _ = "\n".join(show(*runs)).split("not shown, but in the report: ")
    shown = "\n".join(show(*runs))
    assert all(len(line) <= 80 for line in shown.splitlines()) and "..." not in shown
    assert 0 < table[0].count("Mean") < 8 and shown.count("Mean") == 8
