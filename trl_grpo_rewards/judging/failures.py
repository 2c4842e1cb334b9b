"""Failures of a judge: the first one is shown, and too many in a batch stop the run."""

import logging

from .grading_prompts import GradingPrompt
from .gradings import Grading
from .settings import Settings


logger = logging.getLogger(__name__)

CHECK_AFTER = 200
"""Number of finished calls after which the failures are checked, even if the batch continues: under AsyncGRPO, calls
never stop arriving."""

DEFAULT_ADVICE = "Check that the server responds and resume the run, or raise retries, timeout or max_failures."
"""What to do about an error that has no advice of its own."""

FAILED_ONCE: set[Settings] = set()
"""Settings whose last batch had a single failure that `max_failures` does not allow. A second one stops the run."""

WARNED: set[Settings] = set()
"""Settings for which a failure has been shown."""


class FailureCounter:
    """
    Counts the calls of one server's batches and their failures.

    Args:
        settings ([`Settings`]):
            The settings of the server.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.expected = self.done = self.failed = 0
        self.last_failure = Grading()

    def add(self, prompts: dict[str, GradingPrompt], gradings: dict[str, Grading]) -> None:
        """
        Count the gradings of these prompts, and check the batch once all of its calls have finished.

        Raises:
            `RuntimeError`: more than `max_failures` of the batch failed. A single failure is tolerated, unless the
                previous batch had one as well.
        """
        for key, grading in gradings.items():
            self.done += 1
            if grading.error is not None:
                self.failed, self.last_failure = self.failed + 1, grading
                self._warn_once(prompts[key], grading)
        if self.done >= min(self.expected, CHECK_AFTER):  # otherwise, other calls of the batch are in flight
            self._check()

    def _warn_once(self, prompt: GradingPrompt, grading: Grading) -> None:
        if self.settings in WARNED:
            return
        WARNED.add(self.settings)
        logger.warning(
            f"The judge {self.settings.model!r} gave no verdict, so the score is None (shown once): {grading.error}. "
            f"The graded text was {prompt.texts[-1][1][:300]!r}. {grading.advice}".rstrip()
        )

    def _check(self) -> None:
        done, failed = self.done, self.failed
        self.expected, self.done, self.failed = self.expected - done, 0, 0
        if failed <= self.settings.max_failures * done:
            FAILED_ONCE.discard(self.settings)
        elif failed == 1 and self.settings not in FAILED_ONCE:
            FAILED_ONCE.add(self.settings)
        else:
            raise RuntimeError(
                f"The judge {self.settings.model!r} gave no verdict in {failed} of {done} calls of a batch, which is more "
                f"than max_failures={self.settings.max_failures} allows. The last error was: {self.last_failure.error}. "
                f"{self.last_failure.advice or DEFAULT_ADVICE}"
            )
