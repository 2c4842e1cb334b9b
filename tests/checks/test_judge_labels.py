"""The errors of a judge by labels of people, as `scripts/try_judge.py --labels` measures them."""

import json
import random
import subprocess
import sys
from itertools import pairwise

import pytest

from helpers.paths import SCRIPTS
from trl_grpo_rewards import column, judge, reward


sys.path.append(str(SCRIPTS))
from judge_labels import Rate, describe_errors, find_judge, measure_errors, read_rows  # noqa: E402


FALSE_PAY, FALSE_REFUSAL, RIGHT = 0.15, 0.08, 0.6
"""How often the made judge is wrong, and the share of completions that people accept."""


@reward
async def made(completion: str) -> float | None:
    """Says what the completion says that it says."""
    return None if completion == "none" else float(completion)


def draw_rows(rng, count):
    """Return labelled rows with the verdict of the made judge as their completion."""
    rows = []
    for _ in range(count):
        label = rng.random() < RIGHT
        is_wrong = rng.random() < (FALSE_REFUSAL if label else FALSE_PAY)
        rows.append({"prompt": "?", "completion": f"{float(label != is_wrong)}", "label": label})
    return rows


def test_the_intervals_cover_the_errors_of_a_made_judge_in_92_of_100_draws():
    true = [1 - RIGHT * FALSE_REFUSAL - (1 - RIGHT) * FALSE_PAY, FALSE_PAY, FALSE_REFUSAL]
    covered = [0, 0, 0]
    rng = random.Random(0)
    for _ in range(100):
        *rates, unjudged = measure_errors(made(), draw_rows(rng, 120))["made"]
        for place, (rate, share) in enumerate(zip(rates, true, strict=True)):
            low, high = rate.find_interval()
            covered[place] += low <= share <= high
        assert unjudged == 0
    assert min(covered) >= 92, covered


@pytest.mark.parametrize(
    "hits, count, low, high", [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (90, 100, 0.8256, 0.9448)]
)
def test_the_interval_is_that_of_wilson(hits, count, low, high):
    assert Rate(hits, count).find_interval() == pytest.approx((low, high), abs=1e-4)


def test_more_labels_make_the_interval_narrow_and_the_number_for_five_points_does():
    needed = {share: Rate(int(100 * share), 100).count_needed() for share in (0.5, 0.1, 0.0)}
    assert needed == {0.5: 381, 0.1: 141, 0.0: 35}
    for share, count in needed.items():
        low, high = Rate(round(share * count), count).find_interval()
        assert high - low == pytest.approx(0.1, abs=0.004) or share == 0.0
    widths = [high - low for low, high in (Rate(count // 4, count).find_interval() for count in (8, 80, 800))]
    assert all(more > less for more, less in pairwise(widths))


def test_rows_without_a_score_are_left_out_and_told():
    rows = [
        {"completion": text, "label": label} for text, label in (("1", 1), ("0", True), ("1", 0.2), ("none", False))
    ]
    errors = measure_errors(made(), rows)
    assert errors["made"] == (Rate(1, 3), Rate(1, 1), Rate(1, 2), 1)
    said = describe_errors(errors)
    assert "agreement      0.33 (0.06 to 0.79) of 3" in said and "1 rows got no score" in said


def test_each_criterion_has_its_own_errors(server):
    server(score=5)  # the judge gives the first criterion 5, and the second one 6
    graded = server.judge(rubric={"clear": "Is it clear?", "brief": "Is it brief?"}, scale=(0, 11))
    rows = [{"completion": f"#{n}# text", "label": {"clear": n > 1, "brief": n > 1}} for n in range(4)]
    errors = measure_errors(graded, rows)
    assert errors["clear"] == (Rate(2, 4), Rate(0, 2), Rate(2, 2), 0)
    assert errors["brief"] == (Rate(2, 4), Rate(2, 2), Rate(0, 2), 0)


def test_the_criteria_of_a_row_have_a_list_of_labels(server):
    graded = server.judge(rubric=column("rubric"))  # a criterion is met by an answer with its last word
    rubric = ["Says red", "Says blue"]
    rows = [
        {"completion": "#1# red", "label": [True, False], "rubric": rubric},
        {"completion": "#2# red", "label": [False, True], "rubric": rubric},
    ]
    errors = measure_errors(graded, rows)
    assert errors["1"] == (Rate(1, 2), Rate(1, 1), Rate(0, 1), 0)
    assert errors["2"] == (Rate(1, 2), Rate(0, 1), Rate(1, 1), 0)


def test_the_script_prints_the_errors(server, tmp_path):
    server(score=7)
    file = tmp_path / "rows.jsonl"
    file.write_text(
        "".join(json.dumps({"prompt": "?", "completion": f"#{n}#", "label": n > 0}) + "\n" for n in range(5))
    )
    graded = f"judge(model='m', rubric='r', base_url='{server.base_url}')"
    command = [sys.executable, str(SCRIPTS / "try_judge.py"), "--rewards", graded, "--labels", str(file)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "agreement      0.80 (0.38 to 0.96) of 5" in run.stdout
    assert "false pay      1.00 (0.21 to 1.00) of 1 that people refuse" in run.stdout
    assert "±5 points need" in run.stdout


@pytest.mark.parametrize(
    "lines, said",
    [('{"completion": "a"}', "line 1 has 'completion'. Add 'label'"), ("", "is empty. Label some completions")],
)
def test_a_file_that_has_no_labels_is_refused(tmp_path, lines, said):
    (tmp_path / "rows.jsonl").write_text(lines)
    with pytest.raises(ValueError, match=said):
        read_rows(tmp_path / "rows.jsonl")


def test_one_judge_is_needed():
    assert find_judge(made() + 0 * judge(model="m", rubric="r")) == made()
    with pytest.raises(ValueError, match="exactly one judge of single completions; found none"):
        find_judge(reward(len_of)())


def len_of(completions, **kwargs):
    return [float(len(str(one))) for one in completions]
