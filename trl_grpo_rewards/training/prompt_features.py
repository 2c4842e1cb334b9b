"""What a dataset says about a prompt before it is sampled: words, lengths, columns and a given pass rate."""

import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import xor
from typing import Any

import datasets
import numpy as np

from .placement import pick_evenly


BIAS, GIVEN, LACKING = range(3)
"""The first features: 1 for every prompt, the log-odds of its given pass rate, and whether it has none."""

MAX_FEATURES = 256
"""Maximum number of features. Each one but the given pass rate takes one bit per prompt."""

SAMPLE = 2048
"""Number of prompts in which words are counted, in order to know which ones are frequent."""

MIN_PROMPTS = 3
"""Minimum number of prompts in the sample that have a feature. Rarer features do not help to predict other prompts."""

READ_AHEAD = 256
"""Number of prompts that are read at a time."""

MAX_CHARACTERS = 2000
"""Number of characters at the start and at the end of a text that are read."""

TOKEN = re.compile(r"[a-zß-öø-ÿα-ωа-яё]+|\d+|\S")
"""A word in a script with letters, a number, or any other character."""

PRIOR_NAME = "selective_prior"
"""What the given pass rate is called among the columns."""

Feature = tuple[str, str, str | float]
"""A column, a kind, and a value: a word or the whole value that occurs, or a number that is exceeded."""


class PromptFeatures:
    """
    The features of the prompts of a dataset. They are read when they are first needed, and take 34 bytes per prompt.

    The features of a text are its words and characters, pairs of neighbouring ones, with a 0 for each digit, and its
    length. The feature of another column is its value, up to the first 100 characters, or that it has none. A number or
    length has one feature for each decile that it exceeds. Of several features that divide a sample of prompts in the same way, only one is kept. Of the others,
    those that divide the sample most evenly are preferred.

    Args:
        dataset (`datasets.Dataset`):
            The dataset.
        columns (`list[str]`):
            The columns to read. The first one is usually the prompt.
        given (`numpy.ndarray`, *optional*):
            Log-odds of the pass rate of each prompt, NaN where it is not known.
    """

    def __init__(self, dataset: datasets.Dataset, columns: Sequence[str], given: np.ndarray | None = None) -> None:
        known = getattr(dataset, "column_names", None) or []
        self.columns = [name for name in columns if name in known]
        self.dataset = dataset.with_format(None).select_columns(self.columns) if self.columns else dataset
        self.given = None if given is None else given.astype(np.float16)
        self.bits = np.zeros((len(dataset), MAX_FEATURES // 8 if self.columns else 0), np.uint8)
        self.edges: dict[tuple[str, str], Sequence[float]] = {}
        self.mean_count = 0.0  # number of features that a prompt has on average
        self.places: dict[Feature, int] = self._choose_features() if self.columns else {}
        self.names = [column for column, _, _ in self.places]

    def get(self, row: int, find_next: Callable[[], Iterable[int]] = tuple) -> np.ndarray:
        """
        Return the features of a prompt, of shape (3 + features,).

        `find_next` returns the prompts whose features are needed soon, so that they are read at the same time.
        """
        if self.columns and not self.bits[row, 0]:
            self._read([row, *(other for other in find_next() if other != row and not self.bits[other, 0])])
        features = np.zeros(3 + len(self.places))
        features[3:] = np.unpackbits(self.bits[row])[3 : len(features)]
        log_odds = math.nan if self.given is None else float(self.given[row])
        features[:3] = (1.0, 0.0, 1.0) if math.isnan(log_odds) else (1.0, log_odds, 0.0)
        return features

    def compute_checksum(self) -> int:
        """Return a checksum of the chosen features and the given pass rates."""
        return zlib.crc32(repr(list(self.places)).encode() + (b"" if self.given is None else self.given.tobytes()))

    def _choose_features(self) -> dict[Feature, int]:
        """Return the features to use with their place among the bits."""
        rows = pick_evenly(min(len(self.dataset), SAMPLE), len(self.dataset))
        batch = self.dataset[rows]
        for name in self.columns:
            for kind, numbers in describe_numbers(name, batch[name]).items():
                self.edges[name, kind] = np.unique(np.quantile(numbers, np.arange(1, 10) / 10)).tolist()
        counts: dict[Feature, int] = {}
        signatures: dict[Feature, int] = {}
        marks = np.random.default_rng(0).integers(1 << 62, size=len(rows)).tolist()
        for mark, values in zip(marks, zip(*(batch[name] for name in self.columns), strict=True), strict=True):
            for feature in self._find_features(values):
                counts[feature] = counts.get(feature, 0) + 1
                signatures[feature] = signatures.get(feature, 0) ^ mark
        everywhere = reduce(xor, marks, 0)  # a feature and its absence say the same
        different = {min(mark, mark ^ everywhere): one for one, mark in reversed(signatures.items())}.values()
        useful = [one for one in different if MIN_PROMPTS <= counts[one] <= len(rows) - MIN_PROMPTS]
        useful.sort(key=lambda one: (one[1] == "word", abs(2 * counts[one] - len(rows)), str(one)))
        chosen = useful[: MAX_FEATURES - 3]
        self.mean_count = sum(counts[one] for one in chosen) / len(rows)
        return {feature: place for place, feature in enumerate(chosen, start=3)}

    def _read(self, rows: list[int]) -> None:
        batch = self.dataset[rows]
        bits = np.zeros((len(rows), MAX_FEATURES), bool)
        bits[:, BIAS] = True
        for mine, values in zip(bits, zip(*(batch[name] for name in self.columns), strict=True), strict=True):
            mine[[self.places[one] for one in self._find_features(values) if one in self.places]] = True
        self.bits[rows] = np.packbits(bits, axis=1)

    def _find_features(self, values: Iterable[Any]) -> dict[Feature, None]:
        """Return the features of a prompt, given its columns."""
        found: dict[Feature, None] = {}
        for name, value in zip(self.columns, values, strict=True):
            for kind, numbers in describe_numbers(name, [value]).items():
                edges = self.edges.get((name, kind), ())
                found |= {(name, kind, edge): None for number in numbers for edge in edges if number > edge}
            if name != "prompt" and ((name, "number") not in self.edges or is_missing(value)):
                found[name, "value", "None" if is_missing(value) else f"{value!r:.100}"] = None
            if name == "prompt" or isinstance(value, str):
                found |= {(name, "word", word): None for word in split_words(read_text(value))}
        return found


def describe_numbers(name: str, values: Sequence[Any]) -> dict[str, list[float]]:
    """Return the values of a column if they are numbers, or the lengths of its texts. Missing values are left out."""
    values = [value for value in values if name == "prompt" or not is_missing(value)]
    if name == "prompt" or (values and all(isinstance(value, str) for value in values)):
        return {"length": [float(len(read_text(value))) for value in values]}
    is_number = values and all(isinstance(value, (int, float)) for value in values)
    return {"number": [float(value) for value in values]} if is_number else {}


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or infinite."""
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def split_words(text: str) -> Iterator[str]:
    """Yield the words and characters of a text and all pairs of neighbours, with a 0 for each digit."""
    if len(text) > 2 * MAX_CHARACTERS:
        text = f"{text[:MAX_CHARACTERS]} {text[-MAX_CHARACTERS:]}"
    before = ""
    for word in TOKEN.findall(text.lower()):
        word = "0" * len(word) if word.isdigit() else word
        yield word
        yield f"{before} {word}"
        before = word


def read_text(value: Any) -> str:
    """Return the text of a prompt, which is a text, a list of messages or a list of parts of one message."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return read_text(value.get("content") or value.get("text"))
    return "\n".join(map(read_text, value)) if isinstance(value, (list, tuple)) else ""
