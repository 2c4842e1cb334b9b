"""Before the GPU hours are spent: will these rewards, this dataset and this configuration do what is meant?

Seconds, and no model weights. `attacks` and `assert_not_gameable` are for the tests of your own rewards.
"""

from .findings import Findings, as_text, verdict
from .overview import check
from .texts import attacks, honest
from .trials import assert_not_gameable


__all__ = ["Findings", "as_text", "assert_not_gameable", "attacks", "check", "honest", "verdict"]
