"""Whoever asks for what version 0.2 had gets one sentence that says what to use instead. Goes with `removed.py`."""

from trl_grpo_rewards.removed import REMOVED


def test_each_sentence_says_what_to_use_instead():
    for name, sentence in REMOVED.items():
        assert name.split(".")[-1].replace("fusion", "Fusion") in sentence or name == "hf"
        assert sentence.endswith(".") and ": " in sentence and "\n" not in sentence
