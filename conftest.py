"""Examples of docstrings run as tests."""

import pytest

from trl_grpo_rewards.registry import REGISTRY


collect_ignore = ["trl_grpo_rewards/training/async_grpo.py"]  # its import raises an error


@pytest.fixture(autouse=True)
def without_rewards_of_examples(request):
    """The rewards that an example of a docstring registers are gone after it."""
    before = dict(REGISTRY)
    yield
    if isinstance(request.node, pytest.DoctestItem):
        REGISTRY.clear()
        REGISTRY.update(before)
