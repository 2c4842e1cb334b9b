"""Two ranks on gloo: whole groups for grouped rewards, and the trainer whatever is dead where."""

import re
import signal
import subprocess
import sys
import time

import pytest

from helpers.paths import SCRIPTS
from helpers.processes import build_environment, find_free_port
from helpers.ranks import launch_on_two_ranks, read_ranks, run_on_two_ranks
from helpers.runs import read_contents


JUDGED = ["judged", "judged_by_rows"]
TOGETHER = [
    *(
        "whole_groups",
        "gate_open_on_one_rank",
        "dead_patterns",
        "drops",
        "metric_means",
        "resampled",
        "recorded",
        "resumed_without_parts",
        "witnessed",
    ),
    *("criteria_of_rows", "programs", *JUDGED),
]


@pytest.fixture(scope="module")
def seen(tmp_path_factory, chat_server):
    """What each rank saw in each of these scenarios, and the most requests to the judge that were under way at once."""
    folder = tmp_path_factory.mktemp("ranks")
    for scenario in JUDGED:
        (folder / scenario).mkdir()
        (folder / scenario / "port").write_text(chat_server.root.rpartition(":")[2])
    chat_server(latency=0.02)
    return run_on_two_ranks(TOGETHER, folder) | {"most": chat_server.most}


@pytest.mark.slow
def test_ranks_score_by_the_criteria_of_their_rows_as_a_call_does(seen):
    one, other = seen["criteria_of_rows"]
    assert one == other
    for run in (one["GRPOTrainer"], one["FilteredGRPOTrainer"]):
        for name, (logged, called) in run.items():
            assert logged == [pytest.approx(score) for score in called] and len({*logged}) > 1, name


@pytest.mark.slow
def test_what_is_logged_of_micro_batches_is_the_mean_over_both_ranks(seen):
    one, other = seen["metric_means"]
    assert one == other and max(one["differences"]) <= 1e-6
    assert all("entropy" in names and any("clip" in name for name in names) for names in one["names"])


@pytest.mark.slow
def test_both_ranks_compare_the_totals_and_the_terms_of_weight_0_of_all_rows(seen):
    one, other = seen["witnessed"]
    assert one["compared"] == other["compared"] and [*one["compared"]] == ["relative", "compared"]
    assert all([len(scores) for _, _, scores in steps] == [12] * 3 for steps in one["compared"].values())
    assert all(len({*one["shares"][start : start + 4]}) == 1 for start in range(0, len(one["shares"]), 4))
    assert all(0 < asked <= 3 for asked in one["asked"])


@pytest.mark.slow
def test_ranks_see_whole_groups_in_both_trainers(seen):
    ranks = seen["whole_groups"]
    for trainer in ("GRPOTrainer", "FilteredGRPOTrainer"):
        one, other = (rank[trainer] for rank in ranks)
        assert one["texts"] == other["texts"] and one["rewards"] == other["rewards"] and one["extra"] == other["extra"]
        groups = [one["texts"][start : start + 4] for start in (0, 4, 8)]

        # relative: plain, with one whole group a call, on exactly one rank
        calls = [call for rank in (one, other) for call in rank["seen"]]
        whole = [texts for _, _, texts in calls if len(texts) == 4]
        assert len(whole) == 6 and all(group in whole for group in groups)  # two steps of three groups
        assert {solution for prompt, solution, _ in calls} == {
            str(sum(map(int, re.findall(r"\d+", prompt)))) for prompt, _, _ in calls
        }
        assert one["rewards"]["relative"] == [max(map(len, g)) - len(text) for g in groups for text in g]
        assert one["extra"]["relative/members"] == [4] * 12

        # compared: async, two in one sum, of which the second is done first
        assert one["rewards"]["compared"] == one["rewards"]["quick"]
        assert all(sorted(one["rewards"]["compared"][start : start + 4])[0] == 0 for start in (0, 4, 8))
        assert any(score > 0 for score in one["rewards"]["compared"])

        # gated: only the open rows of each group
        for start, group in zip((0, 4, 8), groups, strict=True):
            scores = one["rewards"]["gated"][start : start + 4]
            members = one["extra"]["gated/members"][start : start + 4]
            opened = [text for text, score in zip(group, scores, strict=True) if score >= 0]
            assert members == [len(opened) if score >= 0 else None for score in scores]
            assert [score for score in scores if score >= 0] == [max(map(len, opened)) - len(t) for t in opened]

        # routed: grouped over grouped, behind a route and a clip
        for start in (0, 4, 8):
            best = max(one["rewards"]["compared"][start : start + 4])
            scores = [0.5 * (score == best) for score in one["rewards"]["compared"][start : start + 4]]
            assert one["rewards"]["routed"][start : start + 4] == scores

        # in evaluation: six prompts, each whole, none twice
        calls = [call for rank in (one, other) for call in rank["seen in evaluation"] if len(call[2]) == 4]
        assert len(calls) == len({prompt for prompt, _, _ in calls}) == 6
        mean = sum(max(map(len, texts)) - len(text) for _, _, texts in calls for text in texts) / 24
        assert one["evaluated"] == other["evaluated"] == pytest.approx(mean, abs=1e-4)


@pytest.mark.slow
def test_ranks_without_an_open_row_take_part(seen):
    ranks = seen["gate_open_on_one_rank"]
    assert [rank["seen"] for rank in ranks] == [4, 0]  # two of three groups belong to rank 0, for two steps
    assert ranks[0]["scores"] == ranks[1]["scores"]
    assert [score == -1.0 for score in ranks[0]["scores"]] == [False] * 4 + [True] * 4 + [False] * 4


@pytest.mark.slow
def test_ranks_stop_together_when_a_grouped_reward_raises_on_one(tmp_path):
    start = time.monotonic()
    assert launch_on_two_ranks(["failing"], tmp_path) == [1, 1]
    assert time.monotonic() - start < 60
    one, other = read_ranks(tmp_path / "failing")
    assert (other["type"], other["text"]) == ("RuntimeError", "out of order")
    assert other["notes"] == ["(raised in the reward best_of(compared(), fail_on=1))"]
    assert one["text"].startswith(
        "A reward failed on rank 1: RuntimeError: out of order (raised in the reward best_of"
    )


@pytest.mark.slow
def test_ranks_end_with_one_model_whatever_is_dead_where(seen):
    for rank in seen["dead_patterns"]:
        assert rank["equal"] == [True] * 12


@pytest.mark.slow
def test_ranks_gradient_of_drop_is_that_of_the_live_groups_alone(seen):
    for rank in seen["drops"]:
        assert len(rank["differences"]) == 3 and max(rank["differences"]) <= 1e-6


@pytest.mark.slow
def test_ranks_resample_together(seen):
    one, other = seen["resampled"]
    assert one == other and one["equal"] and one["computed"] == [12.0] * 4 and one["used"] == [6]
    assert min(one["rounds"]) >= 1 and one["taken"] > 0
    assert 4 * 3 < len(one["outcomes"]) <= 4 * 3 + one["taken"] and {count for *_, count in one["outcomes"]} == {4}
    live = [step for step, outcome, _ in one["outcomes"] if outcome == "live"]
    assert all(live.count(step) >= 3 for step in (1, 2, 3, 4))


@pytest.mark.slow
def test_ranks_refuse_a_checkpoint_together_and_the_first_one_warns_of_a_random_state(seen):
    first, second = seen["resumed_without_parts"]
    (said,) = first["said"]
    assert "it has no rng_state_1.pth, so other completions are sampled" in said and second["said"] == []
    (refused,) = first["errors"]
    assert (
        "it has no optimizer.pt, which save_only_model leaves out. Resume '" in refused and "checkpoint-2'" in refused
    )
    assert second["errors"] == [refused]


@pytest.mark.slow
def test_ranks_send_records_to_the_rank_that_writes_them_and_keep_nothing(seen):
    one, other = seen["recorded"]
    lines = one.pop("lines")
    assert [(step, group) for step, group, *_ in lines] == [(step, group) for step in (1, 2) for group in (0, 1, 2)]
    assert all(len(texts) == 4 and texts == decoded for *_, texts, decoded in lines)
    for step in (1, 2):  # groups straddle the ranks, and so do their duplicates
        share = sum(duplicates for at, _, duplicates, *_ in lines if at == step) / 12
        assert one["on"]["duplicates"][step - 1] == other["on"]["duplicates"][step - 1] == pytest.approx(share)
    assert sum(one["on"]["duplicates"]) > 0
    for run in (rank[name] for rank in (one, other) for name in ("on", "off", "lost")):
        assert run["held"] == 0 and not run["has_ids"]
    assert other["on"]["size"] == other["off"]["size"] == other["lost"]["size"] < one["on"]["size"]
    assert one["off"]["size"] == other["off"]["size"] and one["off"]["to_main"] == other["off"]["to_main"] == 0
    assert one["on"]["to_main"] == other["on"]["to_main"] == 2  # once in each step
    assert one["lost"]["kept"] and not one["on"]["kept"]


@pytest.mark.slow
def test_ranks_run_the_same_programs(seen):
    one, other = seen["programs"]
    assert one["rewards"] == other["rewards"]
    assert len(one["rewards"]) == 24 and 0 < sum(one["rewards"]) < 24
    assert all(entry["code/failures"] == 0 for entry in one["logs"]) and len(one["logs"]) == 2
    assert one["logged"] == [True]


@pytest.mark.slow
def test_ranks_ask_judges_about_whole_groups(seen):
    one, other = seen["judged"]
    assert seen["most"] <= 64 + 4
    for trainer in ("GRPOTrainer", "FilteredGRPOTrainer"):
        assert one[trainer] == other[trainer]
        run = one[trainer]
        groups = [run["texts"][start : start + 4] for start in (0, 4, 8)]
        # the server scores a text by its length, those that are equal alike, and each group in one call
        assert run["rewards"]["ranking"] == [pytest.approx(len(text) % 11 / 10) for group in groups for text in group]
        assert run["rewards"]["judge"] == run["rewards"]["kind"] == [pytest.approx(0.2)] * 12
        assert run["reasons"] == ["by length"] * 12 and run["calls"][2] == 1
        halves = [len({*run["texts"][start : start + 6]}) for start in (0, 6)]
        assert run["calls"][:2] == [pytest.approx(sum(halves) / 2)] * 2


@pytest.mark.slow
def test_ranks_hide_the_same_criteria_from_a_group(seen):
    one, other = seen["judged_by_rows"]
    assert one == other and one["unreadable"] == [0, 0]
    groups = [one["verdicts"][start : start + 4] for start in range(0, len(one["verdicts"]), 4)]
    assert len(groups) in (3, 6) and all(text for group in groups for text in group)
    asked = [{re.sub("not met|met", "", text) for text in group} for group in groups]  # the second straddles the ranks
    assert all(len(texts) == 1 and texts.copy().pop().count("\n") == 3 for texts in asked)
    assert len({*map(frozenset, asked)}) == len(groups)
    for text, score in zip(one["verdicts"], one["scores"], strict=True):
        points = [(bool(negated), int(value)) for negated, value in re.findall(r"(not )?met \(\+(\d+)\)", text)]
        met = sum(value for negated, value in points if not negated)
        assert score == pytest.approx(met / sum(value for _, value in points))


KILLED = {"resumed_selective": (3, 15), "resumed_later": (3, 7), "resumed_with_surplus": (4, 8)}
"""Scenarios, and the steps of their first and last checkpoints."""


@pytest.mark.slow
def test_ranks_that_are_killed_resume_with_the_same_prompts(tmp_path):
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    whole.mkdir()
    parted.mkdir()
    wanted = run_on_two_ranks([*KILLED], whole)
    for scenario, (first, _) in KILLED.items():
        own = parted / scenario
        own.mkdir()
        (own / "kill").touch()
        assert launch_on_two_ranks([scenario], parted) == [-signal.SIGKILL] * 2 and not (own / "0.json").exists()
        assert [folder.name for folder in own.glob("checkpoint-*")] == [f"checkpoint-{first}"]
        (own / "kill").unlink()
    assert run_on_two_ranks([*KILLED], parted) == wanted
    for scenario, (first, last) in KILLED.items():
        one, other = wanted[scenario]
        assert one == other and (parted / scenario / f"checkpoint-{last}").exists()
        assert one["prompts"].get("position", 0) > 0 or scenario == "resumed_later"
        assert scenario != "resumed_with_surplus" or one["carried"][first] > 0
        assert read_contents(parted / scenario) == read_contents(whole / scenario)


@pytest.mark.slow
def test_ranks_train_the_bundled_task_by_the_script(tmp_path):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port"]
    script = [str(SCRIPTS / "train.py"), "--max_steps", "1", "--eval_prompts", "4", "--no_check", "--import", "census"]
    (tmp_path / "census.py").write_text(
        "import torch.distributed as dist\nfrom trl_grpo_rewards import reward\n\n@reward\n"
        "def ranks(completion):\n    return float(dist.get_world_size())\n"
    )
    rewards = [
        "--rewards",
        "boxed(evaluated=True, name='accuracy') + ranks()",
        "--per_device_train_batch_size",
        "8",
        "--max_completion_length",
        "24",
    ]
    command, options = [*launcher, str(find_free_port()), *script, *rewards], {"capture_output": True, "text": True}
    run = subprocess.run(command, cwd=tmp_path, env=build_environment(), timeout=600, **options)
    assert run.returncode == 0, run.stderr[-4000:]
    assert run.stdout.count("held-out problems") == 1
    assert re.search(r"^ranks +2.000 +2.000 ", run.stdout, re.MULTILINE)
    assert (tmp_path / "runs/addition/model.safetensors").exists()
