"""Expected pass rates of prompts before they are sampled, from a column, an earlier run or a table."""

import logging
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..records.fields import hash_prompt
from ..records.pass_rates import PassRate, check_rate, read_pass_rates
from ..records.readable import make_readable
from .foresight import Foresight
from .prompt_features import PromptFeatures


logger = logging.getLogger(__name__)

COLUMN_SAMPLES = 8
"""Number of completions that a pass rate in a column counts as. It limits how close to 0 or 1 the rate can be."""


def build_foresight(dataset: Any, prior: str | None, columns: list[str] | None) -> Foresight:
    """
    Return a predictor of pass rates for the prompts of a dataset.

    Args:
        dataset (`Dataset`):
            Contains the prompts.
        prior (`str`, *optional*):
            What is known about the prompts, as in `selective_prior`.
        columns (`list[str]`, *optional*):
            The columns to predict from, as in `selective_columns`.

    Raises:
        `ValueError`: a column does not exist, or the pass rates cannot be read.
        `FileNotFoundError`: the folder of an earlier run has no records.
    """
    known = getattr(dataset, "column_names", None) or []
    for column in columns or ():
        if column not in known:
            raise ValueError(
                f"selective_columns={columns} must be columns of the dataset, but the dataset has "
                f"{', '.join(map(repr, sorted(known)))}. Correct the name {column!r}."
            )
    given = None if prior is None else read_given(prior, dataset, known)
    return Foresight(PromptFeatures(dataset, ["prompt"] if columns is None else columns, given))


def read_given(prior: str, dataset: Any, columns: list[str]) -> np.ndarray:
    """
    Return the log-odds of the expected pass rate of each prompt. NaN stands for a prompt without one.

    Args:
        prior (`str`):
            A column of the dataset, the output directory of an earlier run, or a table of pass rates.
        dataset (`Dataset`):
            Contains the prompts.
        columns (`list[str]`):
            The columns of the dataset.
    """
    if prior in columns:
        rates = [
            None if rate is None else check_rate(rate, f"Row {row} of the column {prior!r}")
            for row, rate in enumerate(dataset.with_format(None)[prior])
        ]
        found = [None if rate is None else PassRate(rate * COLUMN_SAMPLES, COLUMN_SAMPLES) for rate in rates]
        if not any(found):
            raise ValueError(
                f"selective_prior={prior!r} must have pass rates, but all {len(rates):,} values of the column are None. "
                f"Choose another column, or write a table with trl-grpo-rewards pass-rates."
            )
    elif Path(prior).exists():
        known = read_pass_rates(prior)
        found = [known.get(hash_prompt(make_readable(prompt))) for prompt in dataset["prompt"]]
        if not any(found):
            raise ValueError(
                f"selective_prior='{prior}' must have pass rates of the dataset's prompts, but none of "
                f"its {len(known):,} prompts is in the dataset. Check that both have the same system prompt and the same format."
            )
        if sum(map(bool, found)) < len(found) / 2:
            logger.warning(
                f"Only {sum(map(bool, found)):,} of {len(found):,} prompts have a pass rate in selective_prior={prior!r}. "
                f"For the others, nothing is known before training."
            )
    else:
        raise ValueError(
            f"selective_prior={prior!r} must be a column of the dataset, the output folder of a run or a table of pass "
            f"rates, but there is no such file, and the columns are {', '.join(map(repr, sorted(columns)))}. Correct the "
            f"name, or write a table with trl-grpo-rewards pass-rates."
        )
    return np.array([math.nan if rate is None else to_log_odds(rate) for rate in found])


def to_log_odds(rate: PassRate) -> float:
    """Return the log-odds of a pass rate, with half a completion more on each side."""
    return math.log((rate.right + 0.5) / (rate.samples - rate.right + 0.5))
