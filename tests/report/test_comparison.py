"""Which of two runs is better, what they cost, and which solutions a run doubts."""

import json
import random

import pytest

from helpers.made_runs import record, story, with_log, written
from helpers.runs import small_config
from helpers.trl_logs import entry, evaluation, saved
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo
from trl_grpo_rewards.records.held_out import HELD_OUT_FILE, read_held_out
from trl_grpo_rewards.records.runs import LogWriter
from trl_grpo_rewards.report.pages import write_page
from trl_grpo_rewards.report.summaries import Summary


def compare(tmp_path, *sources):
    return write_page(sources, tmp_path / "page.html")[1]["comparison"]


def save_problems(folder, step, means):
    with (folder / HELD_OUT_FILE).open("a") as file:
        file.write(json.dumps({"step": step, "problems": means}) + "\n")


def test_runs_are_compared_problem_by_problem_where_both_have_them(tmp_path):
    rng = random.Random(0)
    one, other = with_log(tmp_path / "one", steps=20), with_log(tmp_path / "other", steps=21)
    easy = {f"problem {place}": rng.choice([0.0, 0.25, 0.75, 1.0]) for place in range(64)}
    save_problems(one, 20, easy)
    save_problems(other, 10, dict.fromkeys(easy, 0.0))  # before the last one
    save_problems(other, 20, {problem: min(mean + 0.125, 1.0) for problem, mean in easy.items()} | {"another": 0.0})
    save_problems(other, 90, dict.fromkeys(easy, 0.0))  # of an earlier run in this folder
    told = compare(tmp_path, one, other)
    assert told.startswith(
        "other is better than one: on the same 64 held-out problems, its boxed is higher by 0.10 ± 0.01 (95 % interval)."
    )
    assert (
        "It took 2 more seconds (1.05 times as many) and " in told
        and "more generated tokens (1.05 times as many)." in told
    )
    assert compare(tmp_path, other, one).startswith("one is worse than other: on the same")


def test_without_problems_in_common_the_last_evaluations_are_compared(tmp_path):
    logs = [[evaluation(0, 0.2), *map(entry, range(1, 21)), evaluation(20, right)] for right in (0.5, 0.9)]
    one, other = (saved(tmp_path / str(place), log) for place, log in enumerate(logs))
    assert compare(tmp_path, one, other).startswith("1 is ")
    assert "held-out problems, which may differ" in compare(tmp_path, one, other)
    told = compare(tmp_path, *(saved(tmp_path / name, [*map(entry, range(1, 21))]) for name in "ab"))
    assert told.startswith("b is about as good as a: at the end of training, its total reward is lower by 0.00 ± ")
    assert "(95 % interval), which may be chance." in told


def test_runs_with_different_outcomes_are_not_compared(tmp_path):
    one = written(tmp_path / "one", story(steps=2))
    other = written(tmp_path / "other", ((step, record({"accuracy": [0, 1]})) for step in (1, 2)))
    assert compare(tmp_path, one, other).startswith("other and one have different outcome rewards")


def test_a_trainer_records_the_score_of_each_held_out_problem(tmp_path):
    options = {"max_steps": 2, "eval_strategy": "steps", "eval_steps": 2, "per_device_eval_batch_size": 8}
    args = small_config(tmp_path, num_generations_eval=4, **options)
    data = [demo.arithmetic(split, size=size) for split, size in (("train", 16), ("test", 4))]
    trainer = FilteredGRPOTrainer(demo.MODEL, boxed(), args=args, train_dataset=data[0], eval_dataset=data[1])
    trainer.train()
    *_, means = read_held_out(args.output_dir, 2)
    logged = next(one["eval_rewards/boxed/mean"] for one in trainer.state.log_history if "eval_reward" in one)
    assert len(means) == 4 and sum(means.values()) / 4 == pytest.approx(logged)


def test_the_facts_say_where_the_seconds_went(tmp_path):
    folder = written(tmp_path, story(steps=4))
    values = {
        "reward": 1.0,
        "step_time": 10.0,
        "groups/seconds_generation": 5.0,
        "groups/seconds_scoring": 1.0,
        "groups/dead": 0.5,
    }
    tokens = {
        "groups/tokens_needed": 40,
        "groups/tokens_computed": 50,
        "groups/tokens_padded": 100,
        "groups/tokens_skipped": 30,
    }
    LogWriter(folder).start([{"step": step, **values, **tokens} for step in (2, 4)])
    (run,) = write_page(folder, tmp_path / "page.html")
    assert dict(run["facts"])["Time"] == (
        "40 s in all steps: generation 50%, scoring 10%, update 40%. 10 s of generation (50%) were spent on groups that were dead."
        " At the same speed, the tokens that were left out would have taken 16 s."
    )


# --- doubtful solutions


def answered(step, prompt, solution, answers):
    texts = [f"\\boxed{{{answer}}}" for answer in answers]
    one = record({"boxed": [float(answer == solution) for answer in answers]}, prompt=prompt, completions=texts)
    return step, one | {"columns": {"solution": solution}}


def test_solutions_against_which_completions_agree_are_shown_first(tmp_path):
    stepped = [
        answered(1, "2 + 3", "6", "4575"), answered(2, "2 + 3", "6", "5555"),  # a wrong solution
        answered(1, "2 + 4", "6", "6566"), answered(2, "2 + 4", "6", "6666"),
        answered(1, "7 + 8", "15", "1234"), answered(2, "7 + 8", "15", "4321"),  # too hard
        answered(1, "1 + 1", "2", "3333"), answered(2, "1 + 1", "2", "2222"),  # learned
        answered(2, "5 + 5", "10", "9999"),  # sampled once
        (2, {**record({"boxed": [0.0] * 4}, completions=["It is 7."] * 4), "columns": {"solution": "7"}}),  # not in the form
    ]  # fmt: skip
    (run,) = write_page(written(tmp_path, sorted(stepped, key=lambda pair: pair[0])), tmp_path / "page.html")
    (doubt,) = run["doubts"]
    assert (doubt["prompt"], doubt["solution"], doubt["answer"]) == ("2 + 3", "6", "5")
    assert doubt["trend"] == [0.5, 1.0] and doubt["share"] == 0.75


@pytest.mark.slow
def test_swapped_solutions_of_a_run_are_found(tmp_path):
    rows = demo.arithmetic(size=128, seed=5).to_list()
    swapped = random.Random(7).sample(range(128), 13)
    solutions = [rows[place]["solution"] for place in swapped]
    for place, solution in zip(swapped, [*solutions[1:], solutions[0]], strict=True):
        rows[place]["solution"] = solution
    dataset = demo.arithmetic(size=128).from_list(rows)
    options = {"per_device_train_batch_size": 128, "num_generations": 8, "max_completion_length": 48, "max_steps": 60}
    args = small_config(
        tmp_path, learning_rate=5e-4, max_grad_norm=1.0, lr_scheduler_type="constant", seed=11, **options
    )
    FilteredGRPOTrainer(demo.MODEL, boxed(evaluated=True), args=args, train_dataset=dataset).train()
    (run,) = write_page(args.output_dir, tmp_path / "page.html")
    found = {doubt["prompt"] for doubt in run["doubts"]}
    wrong = {rows[place]["prompt"][0]["content"] for place in swapped}
    assert len(found & wrong) >= 0.8 * len(found) and len(found & wrong) >= 0.5 * len(wrong)


def test_a_change_on_the_same_problems_has_the_interval_of_their_differences(tmp_path):
    """The log alone has the spread of single completions, with which a change of many problems may seem to be chance."""
    rng = random.Random(1)
    log = [evaluation(0, 0.29), *map(entry, range(1, 21)), evaluation(20, 0.39)]
    before = {f"problem {place}": rng.uniform(0, 0.6) for place in range(64)}
    after = {problem: mean + rng.uniform(0.0, 0.2) for problem, mean in before.items()}

    def tell(name, last):
        folder = saved(tmp_path / name, log)
        save_problems(folder, 0, before)
        save_problems(folder, last, after)
        return " ".join(Summary(folder).describe()["verdict"])

    assert "held-out problems, the total reward rose from 0.54 to 0.64." in tell("paired", 20)
    assert "the total reward went from 0.54 to 0.64, which may be chance." in tell(
        "later", 30
    )  # another run's, in this folder
