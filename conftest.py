"""Examples of docstrings run as tests."""

import pytest

from trl_grpo_rewards.registry import REGISTRY


collect_ignore = [  # importing one raises an error that says what to use instead
    "trl_grpo_rewards/bridges.py",
    "trl_grpo_rewards/training/async_grpo.py",
]


@pytest.fixture(autouse=True)
def without_rewards_of_examples(request):
    """The rewards that an example of a docstring registers are gone after it."""
    before = dict(REGISTRY)
    yield
    if isinstance(request.node, pytest.DoctestItem):
        REGISTRY.clear()
        REGISTRY.update(before)
