"""Which words are verbs."""

from trl_grpo_rewards.constraints.sentences import is_verb


def test_forms_of_verbs_and_other_words():
    assert all(map(is_verb, ["write", "writes", "writing", "stopped", "tries", "making", "whirring", "is"]))
    assert not any(map(is_verb, ["", "s", "the", "nothing", "king", "red", "during", "poem", "i"]))
