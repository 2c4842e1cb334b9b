"""Failures of those whom a reward asks, judges and sandboxes: the first is shown, and too many in a batch stop the run."""

import logging
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


logger = logging.getLogger(__name__)
# Number of finished calls after which the failures are checked, even if the batch continues: under AsyncGRPO, calls
# never stop arriving.
CHECK_AFTER = 200
# What to do about an error that has no advice of its own.
DEFAULT_ADVICE = "Check that the server responds and resume the run, or raise retries, timeout or max_failures."
FAILED_ONCE: set[Hashable] = set()  # its last batch had a failure; a second one stops the run
SHOWN_FAILURES: set[Hashable] = set()  # judges whose failure has been shown


@dataclass(frozen=True)
class Failure:
    """A call that failed after all retries."""

    error: str
    text: str  # what was asked about
    advice: str = ""


class FailureCounter:
    """Counts the calls of batches and their failures. Counters of the same server share what was shown and tolerated."""

    def __init__(self, asked: Hashable, complaint: str, max_failures: float) -> None:
        self.asked = asked
        self.complaint = complaint
        self.max_failures = max_failures
        self.expected = self.done = self.failed = 0
        self.last_failure = Failure("", "")

    def add(self, done: int, failures: Sequence[Failure]) -> None:
        """Count finished calls, and stop the run after a batch with too many failures; one alone is tolerated."""
        self.done += done
        for failure in failures:
            self.failed += 1
            self.last_failure = failure
            if self.asked not in SHOWN_FAILURES:
                SHOWN_FAILURES.add(self.asked)
                warning = f"{self.complaint}, so the score is None (shown once): {failure.error}. {failure.text}. "
                logger.warning(f"{warning}{failure.advice}".rstrip())
        if self.done >= min(self.expected, CHECK_AFTER):  # otherwise, other calls of the batch are in flight
            self._check()

    def _check(self) -> None:
        done = self.done
        failed = self.failed
        self.expected -= done
        self.done = self.failed = 0
        if failed <= self.max_failures * done:
            FAILED_ONCE.discard(self.asked)
        elif failed == 1 and self.asked not in FAILED_ONCE:
            FAILED_ONCE.add(self.asked)
        else:
            raise RuntimeError(
                f"{self.complaint} in {failed} of {done} calls of a batch, which is more than "
                f"max_failures={self.max_failures} allows. The last error was: {self.last_failure.error}. "
                f"{self.last_failure.advice or DEFAULT_ADVICE}"
            )
