"""Two ranks: rows that move, images on one of them, widths that differ, and machines without a shared disk."""

import pytest

from helpers.ranks import run_on_two_ranks


SCRIPT = "two_ranks_of_rows"


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What each rank saw in each of these scenarios."""
    scenarios = ("spread", "images", "images_resampled", "widths", "micro_batches")
    return run_on_two_ranks(scenarios, tmp_path_factory.mktemp("ranks"), SCRIPT)


@pytest.fixture(scope="module")
def seen_on_machines(tmp_path_factory):
    """What two machines without a shared disk saw. The last scenario leaves their streams apart."""
    scenarios = ("machines", "machine_without_files", "streams_apart")
    return run_on_two_ranks(scenarios, tmp_path_factory.mktemp("machines"), SCRIPT, machines=2)


@pytest.mark.slow
def test_images_on_one_rank_only_have_the_gradient_of_trl(seen):
    for rank in seen["images"]:
        assert len(rank["skip"]) == 7
        assert max(rank["skip"].values()) <= 1e-6 and rank["drop"] <= 1e-6


@pytest.mark.slow
def test_images_are_resampled_on_two_ranks(seen):
    one, other = seen["images_resampled"]
    assert one == other and all(max(rounds) > 0 for rounds in one["rounds"].values())


@pytest.mark.slow
def test_gradient_with_the_correction_of_vllm_where_ranks_differ_in_width(seen):
    ranks = seen["widths"]
    for rank in ranks:
        assert len(rank["differences"]) == 4 and max(rank["differences"]) <= 1e-6
    assert sum(rank["quiet"] for rank in ranks) == ranks[0]["live"]


@pytest.mark.slow
def test_gradient_takes_no_micro_batch_without_a_live_row_on_two_ranks(seen):
    for rank in seen["micro_batches"]:
        assert rank["difference"] <= 1e-6
        assert rank["calls"] <= sum(max(1, int(kept)) for kept in rank["live"]) and rank["calls"] < 6 * 8 / 2


@pytest.mark.slow
def test_machines_without_a_shared_disk_resume_with_whole_groups(seen_on_machines):
    one, other = seen_on_machines["machines"]
    assert one == other and one["calls"] >= 3 and one["mixed"] == []
    assert one["saved"]


@pytest.mark.slow
def test_a_machine_without_the_place_among_the_prompts_ends_the_run(seen_on_machines):
    for machine in seen_on_machines["machine_without_files"]:
        assert "All ranks must draw the same prompts" in machine["error"]
        assert "on rank 1. If the machines do not share a disk, train with save_on_each_node=True" in machine["error"]


@pytest.mark.slow
def test_streams_that_come_apart_end_the_run(seen_on_machines):
    for rank in seen_on_machines["streams_apart"]:
        assert "All ranks must draw the same prompts" in rank["error"] and rank["step"] < 6


@pytest.mark.slow
def test_only_the_rows_that_have_to_move_do(seen):
    one, other = seen["spread"]
    assert 0 < one["sent"] <= 32 and other["sent"] == 0  # the longest rows move, so fewer than the half of 64
    assert (
        abs(one["tokens"] - other["tokens"]) < one["shortest"] < one["tokens"] / 100
    )  # no other row could even it out
    assert sorted(one["ids"] + other["ids"]) == [*range(96), *range(1000, 1032)]
    for rank in (one, other):
        assert rank["peak"] <= 1.5 * rank["own"]
