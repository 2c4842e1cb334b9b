"""A reward of a package of its own."""

from trl_grpo_rewards import reward


@reward
def polite(completion: str, *, word: str = "please") -> float:
    return float(word in completion)
