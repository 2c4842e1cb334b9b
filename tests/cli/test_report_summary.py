"""The summary of a run: what the page says, within one screen."""

import json

import pytest

from trl_grpo_rewards.cli.report_summary import describe, summarize


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
    }


def test_a_run_without_warnings(data, tmp_path):
    shown = summarize(describe([data], tmp_path / "report.html"))
    assert shown.splitlines() == [
        "run\\x1b[2J     start    end",
        "Live groups   100.0%  28.1%",
        "Total reward   0.500  0.500",
        "",
        "1,280 groups of 8 in steps 1 to 40",
        "",
        "No warnings.",
        f"The report is in {tmp_path / 'report.html'}.",
    ]
    found = json.loads(json.dumps(describe([data], tmp_path / "report.html"), allow_nan=False))
    (found,) = found["runs"]
    assert found["expression"] == "boxed()" and found["changes"][0]["end"] == 0.28125 and found["warnings"] == []


@pytest.mark.parametrize("warnings", [1, 3, 40])
def test_warnings_fit_a_screen(data, tmp_path, warnings):
    data |= {"anomalies": [{"title": f"Number {n}", "details": "It was constant. " * 12} for n in range(warnings)]}
    shown = summarize(describe([data], tmp_path / "report.html")).splitlines()
    assert len(shown) <= 23 and all(len(line) <= 80 for line in shown[:-1])
    assert shown[-2] == f"{warnings} warning{'s' * (warnings > 1)}."
    starts = sum(line.startswith("warning: ") for line in shown)
    assert starts == warnings if warnings < 40 else f"... and {warnings - starts} more: the report" in shown


def test_a_short_run_is_said_to_be_short(data, tmp_path):
    run = describe([data | {"checked": False, "facts": []}], tmp_path / "report.html")
    assert run["runs"][0]["expression"] is None and "No warnings; the run is too short for most of them." in summarize(
        run
    )


def test_several_runs_are_compared_by_their_ends(data, tmp_path):
    other = data | {"name": "runs/with/a/long/path", "changes": data["changes"][:1], "groups": 1}
    other |= {"anomalies": [{"title": "It fell", "details": "Look."}]}
    shown = summarize(describe([data, other], tmp_path / "comparison.html")).splitlines()
    assert shown == [
        "at the end    run\\x1b[2J  ...h/a/long/path",
        "Live groups        28.1%             28.1%",
        "Total reward       0.500                 -",
        "",
        "run\\x1b[2J: 1,280 groups of 8 in steps 1 to 40",
        "runs/with/a/long/path: 1 group of 8 in steps 1 to 40",
        "",
        "warning of runs/with/a/long/path: It fell. Look.",
        "",
        "1 warning.",
        f"The report is in {tmp_path / 'comparison.html'}.",
    ]


def test_five_runs_fit_a_screen(data, tmp_path):
    runs = [data | {"name": f"runs/of/a/long/study-{place}"} for place in range(5)]
    shown = summarize(describe(runs, tmp_path / "comparison.html")).splitlines()
    assert len(shown) <= 23 and all(len(line) <= 80 for line in shown[:-1])
    assert shown[0].split()[3:] == [f"...tudy-{place}" for place in range(5)]
