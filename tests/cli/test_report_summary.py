"""The summary of a run: what the page says, within one screen."""

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


def test_a_run_without_warnings(data, tmp_path):
    shown = summarize_report(describe_report([data], tmp_path / "report.html"))
    assert shown.splitlines() == [
        "run\\x1b[2J     start    end", "Live groups   100.0%  28.1%", "Total reward   0.500  0.500", "",
        "1,280 groups of 8 in steps 1 to 40",
        "start and end: the means over the first and the last tenth of the steps", "", "No warnings.",
        f"The report is in {tmp_path / 'report.html'}.",
    ]  # fmt: skip
    found = json.loads(json.dumps(describe_report([data], tmp_path / "report.html"), allow_nan=False))
    (found,) = found["runs"]
    assert found["expression"] == "boxed()" and found["changes"][0]["end"] == 0.28125 and found["warnings"] == []


@pytest.mark.parametrize("warnings", [1, 3, 40])
def test_warnings_fit_a_screen(data, tmp_path, warnings):
    data |= {"anomalies": [{"title": f"Number {n}", "details": "It was constant. " * 12} for n in range(warnings)]}
    shown = summarize_report(describe_report([data], tmp_path / "report.html")).splitlines()
    assert len(shown) <= 23 and all(len(line) <= 80 for line in shown[:-1])
    assert shown[-2] == f"{warnings} warning{'s' * (warnings > 1)}."
    starts = sum(line.startswith("warning: ") for line in shown)
    assert (starts == warnings) == ("... and more: the report" not in shown) == (warnings < 40)


def test_a_short_run_is_said_to_be_short(data, tmp_path):
    run = describe_report([data | {"checked": False, "facts": []}], tmp_path / "report.html")
    shown = summarize_report(run)
    assert run["runs"][0]["expression"] is None and "No warnings; the run is too short for most checks." in shown
    assert "\nstart and end: the means over the first and the last step\n" in shown


def test_several_runs_are_compared_by_their_ends(data, tmp_path):
    other = data | {"name": "runs/with/a/long/path", "changes": data["changes"][:1], "groups": 1}
    other |= {"anomalies": [{"title": "It fell", "details": "Look."}]}
    shown = summarize_report(describe_report([data, other], tmp_path / "comparison.html")).splitlines()
    assert shown == [
        "                              Groups x    Live   Total",
        "at the end             Steps      size  groups  reward",
        "run\\x1b[2J              1-40    1280x8   28.1%   0.500",
        "runs/with/a/long/path   1-40       1x8   28.1%       -", "",
        "at the end: the means over the last tenth of the steps", "",
        "warning of runs/with/a/long/path: It fell. Look.", "", "1 warning.",
        f"The report is in {tmp_path / 'comparison.html'}.",
    ]  # fmt: skip


@pytest.mark.parametrize("runs", [2, 5, 6, 12, 40])
@pytest.mark.parametrize("warnings", [0, 1])
@pytest.mark.parametrize("name", ["run-{}", "runs/of/a/long/study-of-group-sizes-{}"])
def test_many_runs_fit_a_screen_and_what_does_not_is_said(data, tmp_path, runs, warnings, name):
    values = ["Live groups", "Mean of boxed", "Total reward", "Tokens per completion", "Truncated"]
    data |= {"changes": [{"what": what, "share": what == "Truncated", "values": [0.5, 111.25]} for what in values]}
    data |= {"anomalies": [{"title": "It fell", "details": "Look. " * 40}] * warnings}
    several = [data | {"name": name.format(place), "groups": 1000 + place} for place in range(runs)]
    shown = summarize_report(describe_report(several, tmp_path / "comparison.html")).splitlines()
    assert len(shown) <= 23 and all(len(line) <= 80 for line in shown[:-1])
    listed = [place for place in range(runs) if any(f" {1000 + place}x8 " in line for line in shown)]
    assert listed == list(range(len(listed))) and len(listed) >= min(runs, 9)
    rest = runs - len(listed)
    assert (f"... and {rest} more run{'s' * (rest > 1)}: the report" in shown) == (rest > 0)
    starts = [at for at, line in enumerate(shown) if "x8 " in line]
    for place, (start, end) in enumerate(zip(starts, [*starts[1:], starts[-1] + 4], strict=True)):
        parts = [line.split("  ")[0] for line in shown[start:end]]
        assert "".join(parts).startswith(name.format(place)) or parts[0].endswith(f"-{place}")
    heads = "\n".join(shown[:2])
    assert all(heads.count(word) == 1 for value in values for word in value.split())


def test_values_for_which_a_screen_is_too_narrow_are_named(data, tmp_path):
    names = [f"a_long_name_of_an_outcome_{place}" for place in range(8)]
    several = [
        data | {"changes": [{"what": f"Mean of {name}", "share": False, "values": [0.0, 1.0]}]} for name in names
    ]
    shown = summarize_report(describe_report(several, tmp_path / "comparison.html"))
    assert all(len(line) <= 80 for line in shown.splitlines()[:-1]) and "..." not in shown
    (hidden,) = [part for part in shown.split("\n\n") if "not shown, but in the report: " in part]
    heads = shown[: shown.index("1280x8")]
    assert heads.count("Mean") + hidden.count("Mean of") == len(names) and hidden.count("Mean of") == 4


def test_short_runs_have_another_end(data, tmp_path):
    short = data | {"name": "short", "checked": False}
    shown = summarize_report(describe_report([short, short], tmp_path / "comparison.html"))
    assert "at the end: the means over the last step\n" in shown
    shown = summarize_report(describe_report([data, short], tmp_path / "comparison.html"))
    assert "tenth of the steps, or the last step of a\n  run with fewer than 20 steps\n" in shown
