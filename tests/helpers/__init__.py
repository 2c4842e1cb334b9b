"""What tests share: small runs, references for TRL's gradients, servers, and programs that tests start."""

import pytest


pytest.register_assert_rewrite(
    *(f"helpers.{module}" for module in ("gradients", "passes", "processes", "ranks", "vision_training"))
)
