"""Failures of a judge: which are shown, and which stop the run."""

import pytest

from trl_grpo_rewards import failures
from trl_grpo_rewards.failures import CHECK_AFTER, DEFAULT_ADVICE, Failure, FailureCounter


@pytest.fixture(autouse=True)
def nothing_failed(monkeypatch):
    monkeypatch.setattr(failures, "FAILED_ONCE", set())
    monkeypatch.setattr(failures, "SHOWN_FAILURES", set())


def count(max_failures: float = 0.2, model: str = "m") -> FailureCounter:
    return FailureCounter(model, f"The judge {model!r} gave no verdict", max_failures)


def add(counter: FailureCounter, *errors: str | None, expected: int | None = None, advice: str = "") -> None:
    """Add a batch with these errors; None is a verdict."""
    counter.expected += len(errors) if expected is None else expected
    failures = [Failure(error, "The graded text was 'four'", advice) for error in errors if error is not None]
    counter.add(len(errors), failures)


def test_as_many_failures_as_are_allowed_do_not_stop_the_run():
    counter = count(0.5)
    add(counter, "down", None, "down", None)
    with pytest.raises(RuntimeError) as caught:
        add(counter, "busy", None, "down")
    assert str(caught.value) == (
        "The judge 'm' gave no verdict in 2 of 3 calls of a batch, which is more than max_failures=0.5 allows. "
        f"The last error was: down. {DEFAULT_ADVICE}"
    )
    add(counter, "down", None)  # the next batch is counted by itself
    with pytest.raises(RuntimeError, match="The last error was: cut off. Set a larger limit.$"):
        add(count(), "cut off", "cut off", advice="Set a larger limit.")


def test_one_failure_is_tolerated_and_a_second_one_right_after_is_not():
    counter = count(0.0)
    for errors in (("down",), (None, None), (None, "down"), (None,)):
        add(counter, *errors)
    add(counter, None, "down")
    add(count(0.0, model="other"), "down")
    with pytest.raises(RuntimeError, match="in 1 of 2 calls"):
        add(count(0.0), "down", None)


def test_a_batch_is_judged_when_all_of_its_calls_are_done_or_many():
    counter = count()
    add(counter, "down", expected=4)
    add(counter, "down", expected=0)  # two of four calls, and the others may succeed
    add(counter, None, expected=0)
    with pytest.raises(RuntimeError, match="in 3 of 4 calls"):
        add(counter, "down", expected=0)
    endless = count()  # new calls never stop arriving
    add(endless, *["down"] * (CHECK_AFTER - 1), expected=10 * CHECK_AFTER)
    with pytest.raises(RuntimeError, match=f"in {CHECK_AFTER} of {CHECK_AFTER} calls"):
        add(endless, "down", expected=0)


def test_the_first_failure_of_a_judge_is_shown(caplog):
    for model in ("m", "m", "n"):
        add(count(1.0, model), None, "down", "busy", advice="Wait.")
    first, second = [record.message for record in caplog.records]
    assert first == (
        "The judge 'm' gave no verdict, so the score is None (shown once): down. The graded text was 'four'. Wait."
    )
    assert "The judge 'n'" in second
