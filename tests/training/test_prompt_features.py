"""What is read of a prompt: words, lengths and columns, each in one bit."""

import math
import subprocess
import sys
import time

import numpy as np
import pytest
from datasets import Dataset

from helpers.made_prompts import make_prompts
from trl_grpo_rewards.training.prompt_features import BIAS, GIVEN, LACKING, MAX_FEATURES, PromptFeatures, split_words


def count_of(features, row, column, kind, value):
    return features.get(row)[features.places[column, kind, value]]


def test_words_lengths_and_columns_are_read():
    texts = [f"Add {n} and {n}." if n % 2 else f"Multiply {n} by a much longer thing {n}." for n in range(40)]
    data = Dataset.from_dict({"prompt": texts, "level": [*range(40)], "topic": ["a", "b", None, "c"] * 10})
    features = PromptFeatures(data, ["prompt", "level", "topic"])
    kinds = {(column, kind) for column, kind, _ in features.places}
    assert kinds >= {("prompt", "word"), ("level", "number"), ("topic", "value")}
    assert not any("7" in str(value) for _, kind, value in features.places if kind == "word")  # digits count as 0
    edges = [value for column, kind, value in features.places if (column, kind) == ("level", "number")]
    for row in (0, 13, 39):
        assert [count_of(features, row, "level", "number", edge) for edge in edges] == [row > edge for edge in edges]
        assert count_of(features, row, "topic", "value", "'b'") == (row % 4 == 1)
    assert features.get(0)[BIAS] == 1


@pytest.mark.parametrize("gap", [None, math.nan])
def test_a_column_of_numbers_or_texts_may_have_gaps(gap):
    levels, topics = ([gap, *map(float, range(39))], [None, *["long topic", "short"] * 20][:40])
    data = Dataset.from_dict({"prompt": ["a"] * 40, "level": levels, "topic": topics})
    features = PromptFeatures(data, ["level", "topic"])
    edges = [value for column, kind, value in features.places if (column, kind) == ("level", "number")]
    assert len(edges) == 9 and ("topic", "length", 5.0) in features.places
    for row in (0, 1, 20, 39):
        assert [count_of(features, row, "level", "number", edge) for edge in edges] == [
            row - 1 > edge for edge in edges
        ]
    rare = Dataset.from_dict({"level": [*[gap] * 10, *map(float, range(30))]})
    features = PromptFeatures(rare, ["level"])
    assert [count_of(features, row, "level", "value", "None") for row in (0, 9, 10, 39)] == [1, 1, 0, 0]


def test_of_words_that_always_occur_together_one_is_kept():
    data = Dataset.from_dict({"prompt": ["ann has many coins", "bob runs"] * 20})
    assert len(PromptFeatures(data, ["prompt"]).places) == 1


def test_given_rates_and_their_lack():
    data = Dataset.from_dict({"prompt": ["a", "b"]})
    features = PromptFeatures(data, [], np.array([0.5, np.nan]))
    assert features.get(0)[[GIVEN, LACKING]].tolist() == [0.5, 0] and features.get(1)[[GIVEN, LACKING]].tolist() == [
        0,
        1,
    ]


@pytest.mark.parametrize(
    "prompts",
    [
        [[{"role": "user", "content": f"question {n}"}] for n in range(20)],
        [[{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": f"x{n}"}]}] for n in range(20)],
        ["", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"), "\0", "ß" * 10_000] * 5,
    ],
)
def test_every_form_of_prompts_is_read(prompts):
    features = PromptFeatures(Dataset.from_dict({"prompt": prompts}), ["prompt"])
    for row in range(len(prompts)):
        assert set(features.get(row)[1:]) <= {0.0, 1.0}


def test_columns_of_any_type_are_read():
    columns = {"empty": [None] * 30, "flag": [True, False] * 15, "list": [[1], [2, 3]] * 15}
    columns |= {"nan": [float("nan"), 1.0] * 15, "large": [1e300, -5.0] * 15}
    data = Dataset.from_dict({"prompt": ["p"] * 30, **columns})
    features = PromptFeatures(data, ["prompt", *columns])
    assert not (features.get(0) == features.get(1)).all()


def test_a_long_text_costs_as_much_as_a_short_one():
    start = time.perf_counter()
    assert len(list(split_words("word " * 1_000_000))) < 2000
    assert time.perf_counter() - start < 1


@pytest.mark.slow
def test_features_are_few_and_the_same_in_every_process():
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from helpers.made_prompts import make_prompts\n"
        "from trl_grpo_rewards.training.prompt_features import PromptFeatures\n"
        "features = PromptFeatures(make_prompts('wording', 300)[0], ['prompt', 'level'])\n"
        "print(list(features.places), features.get(7).tolist())"
    )
    from helpers.paths import TESTS

    found = {
        subprocess.run([sys.executable, "-c", program, str(TESTS)], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(found) == 1
    features = PromptFeatures(make_prompts("wording", 3000)[0], ["prompt", "level"])
    assert len(features.get(0)) <= MAX_FEATURES and features.bits.nbytes == 32 * 3000
