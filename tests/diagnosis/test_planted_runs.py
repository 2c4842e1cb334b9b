"""A few of the short real runs of `scripts/measure_warnings.py`. All of them are run by hand."""

import pytest

from helpers.paths import SCRIPTS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "warnings"),
    [
        ("first-unpaid-tiny-ours-103", ["unpaid"]),
        ("first-never_right-tiny-trl-104", ["dead"]),
        ("first-high_rate-tiny-ours-105", ["broken"]),
        ("first-healthy-tiny-trl-12", []),
    ],
)
def test_a_planted_fault_is_named_and_a_healthy_run_is_quiet(name, warnings, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import measure_warnings

    measure_warnings.run_all(tmp_path, "first", name)
    (plan,) = [one for one in measure_warnings.PLANS if one.name == name]
    judged = measure_warnings.judge_run(plan, tmp_path / name)
    assert judged.steps == 60 and judged.last[:1] == warnings
    assert (judged.delay or 0) <= measure_warnings.SOON
    assert ("1 healthy runs, 60 steps" in measure_warnings.write_tables([judged])) is not bool(warnings)
