"""Prompts whose pass rates are known: some follow from their wording, some from a column, some from nothing."""

import numpy as np
from datasets import Dataset


WORDS = [a + b for a in "bdfgklmnprstv" for b in ("a", "e", "i", "o", "u")]


def make_prompts(by: str, size: int = 512, seed: int = 0) -> tuple[Dataset, np.ndarray]:
    """
    Return prompts and their pass rates.

    `by` is what the rates depend on: `"wording"` (one of twelve), `"level"` (a column of numbers) or `"nothing"`.
    """
    rng = np.random.default_rng(seed)
    wordings = rng.choice(WORDS, (12, 6))
    kinds, levels = rng.integers(12, size=size), rng.integers(10, size=size)
    effects = rng.normal(0, 2.5, 12)
    odds = {"wording": effects[kinds], "level": 4.0 - 0.9 * levels, "nothing": rng.normal(0, 2.5, size)}[by]
    rates = 1 / (1 + np.exp(-odds - rng.normal(0, 0.5, size)))
    if by != "wording":
        wordings = rng.choice(WORDS, (size, 6))
        kinds = np.arange(size)
    texts = [" ".join([*wordings[kind], *rng.choice(WORDS, 3), str(rng.integers(1000))]) for kind in kinds]
    prompts = [[{"role": "user", "content": text}] for text in texts]
    return Dataset.from_dict({"prompt": prompts, "level": levels.tolist()}), rates


def ask(stream, rates, batches, size=16, group=8, seed=0, gain=0.0):
    """
    Draw and answer prompts of these pass rates, whose odds grow by `gain` from batch to batch. Yield the rows of each
    batch, the predictions, and which groups were live.
    """
    rng = np.random.default_rng(seed)
    for batch in range(batches):
        rows = stream.draw(size)
        predicted = [stream.predict(row) for row in rows]
        odds = np.array([rates[row] / (1 - rates[row]) for row in rows]) * np.exp(gain * batch)
        right = rng.binomial(group, odds / (1 + odds))
        stream.learn(rows, right.tolist(), [group] * size)
        yield rows, predicted, (right > 0) & (right < group)
