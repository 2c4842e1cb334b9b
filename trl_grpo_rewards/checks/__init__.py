"""Checks of rewards, dataset and configuration before training. They take seconds and need no model weights.

`attacks` and `assert_not_gameable` are for the test suite of your own rewards.
"""

from ..traits import Findings, Form, Reading
from .all_checks import as_text, check, verdict
from .completions import honest
from .gameability import assert_not_gameable
from .worthless import attacks


__all__ = ["Findings", "Form", "Reading", "as_text", "assert_not_gameable", "attacks", "check", "honest", "verdict"]
