"""Numbers that an option cannot be."""

import pytest

from trl_grpo_rewards import appeal, boxed, parse
from trl_grpo_rewards.registry import REGISTRY


OUTSIDE = {
    "answer": {"tolerance": (-1,)},
    "appeal": {"budget": (-0.1, 1.5)},
    "boxed": {"tolerance": (-1,)},
    "code": {"timeout": (0,), "memory_mb": (1,), "output_bytes": (0,), "batch_timeout": (0,), "max_failures": (2,)},
    "cosine": {"max_tokens": (0,)},
    "distinct": {"ngram": (0,)},
    "judge": {
        "max_concurrency": (0,), "timeout": (0,), "batch_timeout": (0,), "retries": (-1,), "max_failures": (1.5,),
        "canaries": (-1,), "dropout": (-0.1, 1.0),
    },
    "pattern": {"at_least": (0,), "timeout": (0.0,)},
    "ranking": {"timeout": (0,), "retries": (-1,)},
    "repetition": {"ngram": (0,)},
    "tool_errors": {"limit": (0,)},
    "truncated": {"max_tokens": (0,), "penalty": (0.0, -1)},
}  # fmt: skip
NEEDED = {
    "appeal": {"reward": boxed(), "to": boxed()}, "cosine": {"by": boxed(), "max_tokens": 9}, "pattern": {"regex": "a"},
    "judge": {"model": "m", "rubric": "Is it?"}, "ranking": {"model": "m", "rubric": "Is it?"}, "truncated": {"max_tokens": 9},
}  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_number_outside_the_range_of_an_option_is_refused(name):
    for option, values in OUTSIDE[name].items():
        for value in values:
            with pytest.raises(ValueError, match=f"'{option}' of '{name}' must be .*; got {value}. Choose such"):
                REGISTRY[name](**{**NEEDED.get(name, {}), option: value})


def test_the_ends_of_a_share_are_in_it():
    assert parse("appeal(boxed(), to=boxed(), budget=0)") == appeal(boxed(), to=boxed(), budget=0.0)
    assert appeal(boxed(), to=boxed(), budget=1) == appeal(boxed(), to=boxed())
