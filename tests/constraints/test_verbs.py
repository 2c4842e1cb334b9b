"""Which words are verbs."""

import pytest

from trl_grpo_rewards.constraints.verbs import is_verb


@pytest.mark.parametrize("word", ["write", "writes", "writing", "stopped", "tries", "making", "whirring", "is"])
def test_forms_of_verbs(word):
    assert is_verb(word)


@pytest.mark.parametrize("word", ["", "s", "the", "nothing", "king", "red", "during", "poem", "i"])
def test_other_words(word):
    assert not is_verb(word)
