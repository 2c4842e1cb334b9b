"""Selective drawing: prompts whose next group is likely to teach something, and none forgotten."""

import random

import numpy as np
import pytest
from datasets import Dataset

from helpers.made_prompts import ask, make_prompts
from trl_grpo_rewards.training.priors import build_foresight
from trl_grpo_rewards.training.prompt_stream import PromptStream
from trl_grpo_rewards.training.selective_stream import MAX_SKIPS, SelectiveStream


def test_more_groups_are_live_and_as_many_as_predicted():
    rates = np.random.default_rng(1).beta(0.3, 0.3, 512).clip(1e-6, 1 - 1e-6)
    plain = np.mean(1 - rates**8 - (1 - rates) ** 8)
    seen = list(ask(SelectiveStream(512, 0, True, 8), rates, 320))[64:]
    live, asked = np.ravel([live for *_, live in seen]), rates[np.ravel([rows for rows, *_ in seen])]
    predicted = np.array([one.live for _, predicted, _ in seen for one in predicted])
    expected = np.array([one.pass_rate for _, predicted, _ in seen for one in predicted])
    assert live.mean() > plain + 0.15
    for fifth in np.array_split(np.argsort(predicted), 5):
        assert abs(live[fifth].mean() - predicted[fifth].mean()) < 0.05
    for fifth in np.array_split(np.argsort(expected), 5):
        assert abs(asked[fifth].mean() - expected[fifth].mean()) < 0.02


def test_pass_rates_that_change_at_once_are_followed():
    stream, rates = SelectiveStream(64, 0, True, 8), np.random.default_rng(0).beta(0.3, 0.3, 64).clip(0.001, 0.999)
    for now, batches in ((rates, 64), (1 - rates, 24)):
        list(ask(stream, now, batches))
    assert np.mean([abs(stream.predict(row).pass_rate - 1 + rates[row]) for row in range(64)]) < 0.2


def test_prompts_that_are_drawn_often_do_not_count_for_more_in_what_is_expected_of_others():
    """Three prompts of four are mostly skipped, since they are hardly ever solved. The first prompt is never scored."""
    stream, rates, rng = (
        SelectiveStream(256, 0, True, 8),
        np.tile([0.5, 0.05, 0.05, 0.05], 64),
        np.random.default_rng(0),
    )
    expected = []
    for _ in range(250):
        rows = stream.draw(16)
        stream.learn(rows, rng.binomial(8, rates[rows]).tolist(), [8 * (row > 0) for row in rows])
        expected.append(stream.predict(0).pass_rate)
    assert abs(np.mean(expected[100:]) - rates[1:].mean()) < 0.06


def test_groups_whose_completions_always_agree_are_soon_expected_to_be_dead():
    """Pass rates alone cannot show this, since half of the groups are right."""
    stream, rng = SelectiveStream(64, 0, True, 8), np.random.default_rng(0)
    for _ in range(40):
        rows = stream.draw(16)
        stream.learn(rows, (8 * rng.integers(2, size=16)).tolist(), [8] * 16)
    assert np.mean([stream.predict(row).live for row in range(64)]) < 0.1


@pytest.mark.parametrize("gain", [0.01, 0.02, 0.03])
def test_as_many_groups_are_live_as_predicted_while_the_model_learns(gain):
    rates = np.random.default_rng(1).beta(0.3, 0.3, 512).clip(1e-6, 1 - 1e-6)
    seen = list(ask(SelectiveStream(512, 0, True, 8), rates, 320, gain=gain))
    for part in (seen[32:128], seen[128:]):  # from the second epoch on
        predicted = np.mean([one.live for _, predicted, _ in part for one in predicted])
        assert abs(np.mean([live for *_, live in part]) - predicted) < 0.05


def test_no_prompt_is_forgotten():
    """Nothing is skipped more than nine times in a row, even if no group was ever live."""
    stream, counts = SelectiveStream(256, 0, True, 8), np.zeros(256)
    for rows, _, _ in ask(stream, [0.0] * 256, 200):
        assert stream.passed_over.max() <= MAX_SKIPS
        np.add.at(counts, rows, 1)
    passes = stream.position / 256
    assert passes > 50 and counts.min() >= passes // (MAX_SKIPS + 1) - 2


def test_the_first_pass_is_the_order_itself_and_unscored_prompts_stay_unknown():
    stream, plain = SelectiveStream(64, 7, True, 4), PromptStream(64, 7)
    for _ in range(4):
        rows = stream.draw(16)
        assert rows == plain.draw(16) and stream.skipped == 0.0
        stream.learn(rows, [0] * 16, [0] * 16)
    assert sorted(stream.draw(64)) == list(range(64))


@pytest.mark.slow
def test_its_memory_is_small():
    data = Dataset.from_dict({"prompt": [*map(str, range(200_000))], "rate": [0.5] * 200_000})
    stream = open_stream(data, prior="rate")
    stream.learn(stream.draw(32), [4] * 32, [8] * 32)
    parts = [*vars(stream).values(), *vars(stream.foresight).values(), *vars(stream.foresight.features).values()]
    assert sum(part.nbytes for part in parts if hasattr(part, "nbytes")) <= 90 * 200_000


def test_it_goes_on_where_it_was(tmp_path):
    rates = [random.Random(row).random() ** 3 for row in range(48)]

    def drawn(stream, start, end, stop=None):
        rows = []
        for place, batch in enumerate(stream.draw_batches(6, 8)):
            if place >= start:  # what was trained on before is skipped, as a trainer that resumes does
                rows.append(batch)
                stream.learn(batch, [round(8 * rates[row]) for row in batch], [8] * 8)
            if place + 1 == stop:
                stream.save(tmp_path, at_end=False)
                break
        return rows

    whole = SelectiveStream(48, 0, True, 8)
    first, second, third = (drawn(whole, 0, 6) for _ in range(3))
    parted = SelectiveStream(48, 0, True, 8)
    assert drawn(parted, 0, 6) == first and drawn(parted, 0, 6, stop=4) == second[:4]
    again = SelectiveStream(48, 0, True, 8)
    again.load(tmp_path)
    assert drawn(again, 4, 6) == second[4:] and drawn(again, 0, 6) == third


def open_stream(data, **options):
    return SelectiveStream(len(data), 0, True, 8, build_foresight(data, options.get("prior"), options.get("columns")))


def measure(seen):
    """Return the predicted and the observed live groups, with whether each prompt was new."""
    predicted = [one for _, some, _ in seen for one in some]
    live = np.ravel([some for *_, some in seen])
    return np.array([one.live for one in predicted]), live, np.array([one.is_new for one in predicted])


@pytest.mark.parametrize("by, columns, gain", [("wording", None, 0.08), ("level", ["prompt", "level"], 0.1)])
def test_prompts_that_were_never_asked_are_drawn_by_what_their_likes_taught(by, columns, gain):
    data, rates = make_prompts(by, 2048)
    plain = np.mean(1 - rates**8 - (1 - rates) ** 8)
    seen = list(ask(open_stream(data, columns=columns), rates, 128))  # an epoch has as many batches
    predicted, live, is_new = measure(seen[8:])
    assert live.mean() > plain + gain and is_new.mean() > 0.5
    for part in (slice(None), is_new, ~is_new):
        assert abs(live[part].mean() - predicted[part].mean()) < 0.05
    for fifth in np.array_split(np.argsort(predicted), 5):
        assert abs(live[fifth].mean() - predicted[fifth].mean()) < 0.08


def test_where_nothing_can_be_foreseen_the_first_epoch_is_the_order_itself():
    data, rates = make_prompts("nothing", 1024)
    stream, plain = open_stream(data), PromptStream(1024, 0)
    for rows, predicted, _ in ask(stream, rates, 64):
        assert rows == plain.draw(16) and not any(one.is_foreseen for one in predicted)
    assert stream.foresight.source == "pool"


@pytest.mark.parametrize("gain", [0.0, 0.02])
@pytest.mark.parametrize("by", ["wording", "nothing"])
def test_as_many_groups_are_live_as_predicted_in_every_epoch(by, gain):
    data, rates = make_prompts(by, 512, seed=3)
    seen = list(ask(open_stream(data), rates.clip(0.001, 0.999), 128, gain=gain))
    for start in range(0, 128, 32):
        predicted, live, _ = measure(seen[start : start + 32])
        assert abs(live.mean() - predicted.mean()) < 0.05 + 0.02  # of 512 groups, two standard deviations of the mean


def test_the_first_epoch_of_a_model_that_learns_fast_is_foreseen():
    """A run of 60 batches in which a model goes from a quarter of right answers to nine tenths."""
    data, rates = make_prompts("nothing", 2048, seed=1)
    odds = np.log(rates / (1 - rates)).clip(-6, 6) - 2
    seen = list(ask(open_stream(data), 1 / (1 + np.exp(-odds)), 60, gain=0.06))
    for start in range(0, 60, 20):
        predicted, live, _ = measure(seen[start : start + 20])
        assert abs(live.mean() - predicted.mean()) < 0.05


def test_a_good_prior_is_used_from_the_first_batch_on():
    data, rates = make_prompts("nothing", 1024)
    data = data.add_column("rate", rates.tolist())
    predicted, live, is_new = measure([*ask(open_stream(data, prior="rate", columns=[]), rates, 32)])
    plain = np.mean(1 - rates**8 - (1 - rates) ** 8)
    assert is_new.mean() > 0.9 and live.mean() > plain + 0.15 and live[:64].mean() > plain + 0.1
    assert abs(live.mean() - predicted.mean()) < 0.05


def test_a_wrong_prior_is_outweighed_by_what_is_seen():
    """After 128 groups the prior is no longer used, and after four groups a prompt's own rate counts for more."""
    data, rates = make_prompts("nothing", 1024)
    wrong = data.add_column("rate", np.random.default_rng(5).permutation(rates).tolist())
    stream = open_stream(wrong, prior="rate", columns=[])
    batches = ask(stream, rates, 64)
    assert stream.foresight.source == "given"
    first = [next(batches) for _ in range(8)]
    assert stream.foresight.source == "pool"
    predicted, live, _ = measure(list(batches))
    assert abs(measure(first)[1].mean() - live.mean()) < 0.15  # a wrong prior does little harm
    assert abs(live.mean() - predicted.mean()) < 0.05
    one = open_stream(data.add_column("rate", (1 - rates).tolist()), prior="rate", columns=[])
    row = int(np.argmin(rates))  # never solved, and said to be solved always
    assert one.predict(row).pass_rate > 0.6
    for _ in range(4):
        one.learn([row], [0], [8])
    assert one.predict(row).pass_rate < 0.2


def test_what_was_learned_across_prompts_is_in_the_checkpoint(tmp_path):
    data, rates = make_prompts("wording", 256)
    whole, parted = open_stream(data), open_stream(data)
    first = [rows for rows, *_ in ask(whole, rates, 12)]
    assert [rows for rows, *_ in ask(parted, rates, 12)] == first and whole.foresight.source == "features"
    parted.save(tmp_path, at_end=True)
    again = open_stream(data)
    again.load(tmp_path)
    assert [rows for rows, *_ in ask(again, rates, 12, seed=1)] == [rows for rows, *_ in ask(whole, rates, 12, seed=1)]
    assert again.compute_fingerprint()[0] == whole.compute_fingerprint()[0]
    expected, found = whole.foresight.get_state(), again.foresight.get_state()
    assert all((found[name] == value).all() for name, value in expected.items())
    with pytest.raises(ValueError, match="resumed with the same selective_prior and selective_columns"):
        open_stream(data, columns=[]).load(tmp_path)
