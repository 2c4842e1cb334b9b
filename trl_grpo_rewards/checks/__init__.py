"""Before the GPU hours are spent: will these rewards, this dataset and this configuration do what is meant?

Seconds, and no model weights. `attacks` and `assert_not_gameable` are for the tests of your own rewards.
"""

from ..text.forms import Form
from ..traits import Reading
from .all_checks import check
from .example_completions import attacks, honest
from .findings import Findings, as_text, verdict
from .trials import assert_not_gameable


__all__ = ["Findings", "Form", "Reading", "as_text", "assert_not_gameable", "attacks", "check", "honest", "verdict"]
