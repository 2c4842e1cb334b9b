"""Checks of rewards, dataset and configuration before training. They take seconds and need no model weights."""

from ..traits import Findings, Form, Reading
from .all_checks import as_text, check, verdict
from .attack_completions import attacks
from .completions import honest
from .gameability import assert_not_gameable


__all__ = ["Findings", "Form", "Reading", "as_text", "assert_not_gameable", "attacks", "check", "honest", "verdict"]
