"""Checks of rewards, dataset and configuration before training. They take seconds and need no model weights.

`attacks` and `assert_not_gameable` are for the test suite of your own rewards.
"""

from ..traits import Examination, Form, Reading
from .all_checks import check
from .completions import honest
from .findings import Findings, as_text, verdict
from .gameability import assert_not_gameable
from .worthless import attacks


__all__ = [
    "Examination",
    "Findings",
    "Form",
    "Reading",
    "as_text",
    "assert_not_gameable",
    "attacks",
    "check",
    "honest",
    "verdict",
]
