"""The report of a run of TRL's own trainer, from its log and its tables of completions."""

import json
import math
import os
import shutil

import pyarrow
import pytest
from pyarrow import parquet
from trl import GRPOConfig, GRPOTrainer

from helpers.browser import read_packed
from helpers.made_logs import ramp, simulate
from helpers.runs import small_config
from helpers.trl_logs import entry, evaluation, saved
from trl_grpo_rewards import boxed, demo
from trl_grpo_rewards.report.pages import write_page


def save_table(folder, step, completions, **columns):
    (folder / "completions").mkdir(exist_ok=True)
    rows = {"step": [step] * len(completions), "prompt": ["2 + 3?"] * len(completions), "completion": completions}
    parquet.write_table(pyarrow.table(rows | columns), folder / "completions" / f"completions_{step:05d}.parquet")


def describe(source, tmp_path):
    (run,) = write_page(source, tmp_path / "page.html")
    return run


# --- a run of TRL's trainer -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Four steps by TRL's own trainer, with two evaluations."""

    def brief(completions, **columns):
        return [1 - len(one[0]["content"]) / 60 for one in completions]

    options = {"max_steps": 4, "eval_strategy": "steps", "eval_steps": 2, "save_strategy": "steps", "save_steps": 2}
    options |= {"log_completions": True, "num_completions_to_print": 1, "max_completion_length": 32}
    args = small_config(tmp_path_factory.mktemp("trl"), GRPOConfig, reward_weights=[1.0, 0.25], **options)
    data = [demo.arithmetic(split, size=size) for split, size in (("train", 64), ("test", 2))]
    trainer = GRPOTrainer(demo.MODEL, [brief, boxed()], args=args, train_dataset=data[0], eval_dataset=data[1])
    trainer.train()
    return args.output_dir, trainer.state.log_history


def test_a_run_of_trl_has_its_log_and_the_groups_of_its_tables(trained, tmp_path, caplog):
    folder, log = trained
    run = describe(folder, tmp_path)
    steps = [one for one in log if "reward" in one]
    assert run["points"]["mean"] == pytest.approx([one["reward"] for one in steps], rel=1e-3)
    assert run["points"]["length"] == pytest.approx([one["completions/mean_length"] for one in steps], rel=1e-3)
    assert run["points"]["spread"][1::2] == [None, None]  # evaluations have overwritten these tables
    assert run["groups"] == 4 and run["size"] == 4 and run["outcome"] == "brief"
    assert dict(run["weights"]) == {"brief": 1.0, "boxed": 0.25}
    assert run["progress"] == {"last": 4, "planned": 4, "ended": True} and "GRPOTrainer" in run["advice"]
    assert run["held_out"][0]["problems"] == 2 and run["verdict"][0].startswith("On 2 held-out problems, brief ")
    for source in (f"{folder}/checkpoint-4", f"{folder}/checkpoint-4/trainer_state.json", f"{folder}/completions"):
        assert describe(source, tmp_path) == run
    assert describe(f"{folder}/checkpoint-2", tmp_path)["progress"] == {"last": 2, "planned": 4, "ended": False}
    assert not caplog.records


@pytest.mark.parametrize("width", [1280, 390])
def test_its_page_is_sound_with_tables_and_without(browser, trained, tmp_path, width):
    browser.open(trained[0], width).assert_sound()
    assert browser.text("#table .open") and browser.text("#kinds h2") and browser.text("#signal h2")
    browser.focus(".open", "\ue007")
    assert "boxed × 0.25" in browser.text("#group article")[0]
    shutil.copytree(f"{trained[0]}/checkpoint-4", tmp_path / "checkpoint-4")
    browser.open(tmp_path, width).assert_sound()
    assert browser.text("#lead h2")[0] == "Total reward" and not browser.count("#kinds, #signal, #tokens")
    assert browser.text("#groups") == [""] and browser.text("#frac_reward_zero_std, #entropy h3")[0] == "Entropy"
    assert browser.text("#advice code") == ["from trl_grpo_rewards import FilteredGRPOTrainer as GRPOTrainer"]
    browser.open([tmp_path, saved(tmp_path / "other", [entry(step) for step in range(1, 5)])], width).assert_sound()
    assert browser.text("#lead h2")[0] == "Total reward" and "nothing to draw" not in browser.text("main")[0]


# --- logs and tables ------------------------------------------------------------------------------------------------


def test_a_log_is_enough_for_a_verdict_and_for_warnings(tmp_path, command):
    run = describe(saved(tmp_path / "tens", [entry(step) for step in range(10, 61, 10)]), tmp_path)
    assert run["points"]["steps"] == [[step - 9, step] for step in range(10, 61, 10)] and run["ends"][-1] == [51, 60]
    assert run["needed"] == [6, 10] and not run["checked"]
    run = describe(saved(tmp_path / "fives", [entry(step) for step in range(5, 61, 5)]), tmp_path)
    assert run["checked"] and run["ends"][-1] == [46, 60]
    log = [entry(step, right=0.25 + step / 200, style=0.5) for step in range(1, 61)]
    run = describe(saved(tmp_path / "run", [evaluation(0, 0.2), *log, evaluation(60, 0.6)]), tmp_path)
    assert run["verdict"] == ["On 100 held-out problems, the total reward rose from 0.45 to 0.85."]
    assert [one["what"] for one in run["changes"][:3]] == ["Total reward", "correct (training)", "style (training)"]
    assert not run["anomalies"] and "Steps do not get slower." in run["passed"]
    for one in log:
        one |= {"rewards/correct/mean": 0.0, "rewards/correct/std": 0.0, "rewards/style/mean": None}
    run = describe(saved(tmp_path / "dead", log), tmp_path)
    assert [one["title"] for one in run["anomalies"]] == ["style gives no score", "correct is constant"]
    assert "With group records, the report also shows every group" in command("report", tmp_path / "dead").stdout


SAID = {
    "unpaid": "accuracy and format paid 0 to every completion in steps 1–5; all of the difference comes from short: the model "
    "learns short only.",
    "cut_off": "100% of the completions in steps 1–5 were cut off at 256 tokens. Raise max_completion_length",
    "dead": "No group was live in steps 1–5, so nothing was learned: all were 'failed'.",
    "no_gradient": "The gradient was 0 in steps 1–5, although",
}
"""What a page and the command say after five steps, where newcomers read "No warnings"."""


@pytest.mark.parametrize("situation", SAID)
def test_facts_of_a_short_run_come_first(situation, tmp_path, command):
    folder = saved(tmp_path / "run", simulate(situation, steps=5, dead=ramp(situation == "dead", situation == "dead")))
    run, said = describe(folder, tmp_path), " ".join(command("report", folder).stdout.split())
    (warning,) = run["anomalies"]
    assert run["verdict"][0] == f"Warning: {warning['title']}." and warning["details"].startswith(SAID[situation])
    assert SAID[situation] in said and "1 warning; the run is too short for most checks." in said


def test_a_table_is_read_once_and_what_is_odd_is_left_out(tmp_path, caplog):
    saved(tmp_path, [entry(step, right=step / 8) for step in range(1, 6)])
    scores = {
        "correct": [1.0, None, 0.0, None],
        "style": [1.0, 1.0, math.nan, None],
        "advantage": [1.0, 0.0, -1.0, 0.0],
    }
    for step in (1, 2, 9):  # step 2 trains on the same completions again, and step 9 is not in the log
        save_table(tmp_path, step, ["5", "5", "", "no"], note=[b"\xff", b"", b"", b""], **scores)
    (tmp_path / "completions" / "completions_00003.parquet").write_bytes(b"PAR1")
    os.mkfifo(tmp_path / "completions" / "completions_00005.parquet")
    save_table(tmp_path, 4, ["5", "6"])  # without scores
    run = describe(tmp_path, tmp_path)
    assert run["groups"] == 1 and caplog.text.count("The report leaves it out") == 1
    ((group,),) = json.loads(read_packed(tmp_path / "page.html", "records"))
    assert group["total"] == [1.5, 0.5, 0.0, None] and group["duplicates"] == 2 and group["outcome"] == "live"


def test_a_newest_checkpoint_that_is_cut_off_gives_way_to_an_older_one(tmp_path):
    saved(tmp_path / "checkpoint-60", '{"log_history": [')
    saved(tmp_path / "checkpoint-40", [entry(step) for step in range(1, 41)], global_step=40)
    assert describe(tmp_path, tmp_path)["progress"] == {"last": 40, "planned": 60, "ended": False}


ODD = {
    "one step": [entry(1)],
    "huge": [entry(step, **{"reward": 1e308, "rewards/correct/mean": 1e300}) for step in range(1, 31)],
    "step 0": [entry(0), entry(1)],
    "not finite": [entry(step, **dict.fromkeys(["reward", "grad_norm", "kl"], value)) for step, value in enumerate([math.nan, math.inf, 1.0] * 8, 1)],
    "nothing known": [dict.fromkeys(entry(1), math.nan) | {"step": step} for step in range(1, 30)],
    "other values": [entry(1), None, 3, {"step": "x"}, *(entry(step, **{"reward": "high", "rewards/style/mean": [1]}) for step in (2, 3))],
    "two sets": [evaluation(0, 0.2, "eval_easy_"), evaluation(0, 0.1, "eval_hard_"), *map(entry, range(1, 61)), evaluation(60, 0.8, "eval_easy_"), evaluation(60, 0.2, "eval_hard_")],
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_odd_log_has_a_page(name, browser, tmp_path):
    browser.open(saved(tmp_path, ODD[name]), 390).assert_sound()
    if name == "two sets":
        verdict = browser.text("#verdict")[0]
        assert verdict.startswith("On 100 held-out problems of easy, the total reward rose from")
        assert " On 100 held-out problems of hard, the total reward " in verdict
