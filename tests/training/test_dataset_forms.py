"""Datasets as they are: without prompts, shuffled, with unused columns removed, with columns that a rollout adds."""

import json
from pathlib import Path

import datasets
import pytest

from helpers.agents import Solved
from helpers.reward_functions import half_dead
from helpers.runs import get_metric, roll_out, train_and_read
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, gate, length, reward, shortest, tags
from trl_grpo_rewards.checks import check
from trl_grpo_rewards.cli.main import main
from trl_grpo_rewards.records.fields import hash_prompt
from trl_grpo_rewards.records.files import read_records


def test_a_dataset_of_environments_needs_no_prompts_and_their_reward_can_be_the_outcome(config):
    trainer = FilteredGRPOTrainer(
        demo.MODEL,
        0.5 * length(4, unit="words"),
        args=config(outcome_reward="Solved", zero_variance="drop", zero_variance_by="outcome"),
        train_dataset=datasets.Dataset.from_dict({"environment": ["sums"] * 16}),
        environment_factory={"sums": Solved},
    )
    trainer.train()
    record, *_ = read_records(trainer.args.output_dir)
    assert record["outcome_reward"] == "Solved" and record["outcome"] == "solved"
    assert record["rewards"]["Solved"] == [1.0] * 4 and record["weights"] == {"length": 0.5, "Solved": 1.0}


def store_solution(rows):
    return {"prompt": rows["asked"], "solution": rows["stored"]}


TRANSFORMS = {
    "keeps the columns": ({}, lambda rows: {name: rows[name] for name in ("prompt", "solution")}),
    "makes the columns": ({"prompt": "asked", "solution": "stored"}, store_solution),
}


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_a_dataset_with_a_transform_has_the_columns_of_its_rows(config, problems, kind):
    names, transform = TRANSFORMS[kind]
    data = problems.rename_columns(names) if names else problems
    data = data.with_transform(transform)
    assert not [fault for one in check(boxed(evaluated=True), data) for fault in one.faults]
    args = config(max_steps=1)
    trainer = FilteredGRPOTrainer(
        demo.MODEL, boxed(), args=args, train_dataset=data, eval_dataset={"held": data.select(range(8))}
    )
    trainer.train()
    assert trainer.run["dataset"]["columns"] == ["prompt", "solution"]
    trainer.evaluate()
    assert 0 <= trainer.state.log_history[-1]["eval_reward"] <= 1
    record, *_ = read_records(args.output_dir)
    assert record["columns"]["solution"] in problems["solution"]


def test_all_rows_of_a_dataset_with_a_transform_count(config):
    data = demo.arithmetic(size=160).with_transform(lambda rows: {**rows})
    found, *_ = check(boxed(), data, config(per_device_train_batch_size=320, num_generations=2))
    assert not found.faults and any(line.startswith("160 prompts") for line in found.lines)


@pytest.mark.parametrize("kind", ["numpy", "pandas", "arrow"])
def test_a_format_that_trl_cannot_read_is_refused(config, problems, kind):
    for rejects in (
        lambda data: check(boxed(), data),
        lambda data: FilteredGRPOTrainer(demo.MODEL, boxed(), args=config(), train_dataset=data),
    ):
        with pytest.raises(ValueError, match=rf"has the format '{kind}'. Remove it: dataset.with_format\(None\)"):
            rejects(problems.with_format(kind))


@pytest.mark.slow
def test_resampling_leaves_the_dataset_as_it_is_and_goes_with_removed_columns(config, problems):
    """A shuffled or filtered dataset is a list of indices: adding a column would write all of its rows anew."""
    shuffled = problems.shuffle(seed=1).filter(lambda row: "1" in row["prompt"][0]["content"]).select(range(8))
    assert shuffled._indices is not None
    args = config(zero_variance="drop", max_resample_rounds=2, remove_unused_columns=True, max_steps=3)
    trainer = FilteredGRPOTrainer(demo.MODEL, half_dead, args=args, train_dataset=shuffled)
    trainer.train()
    assert trainer.train_dataset is shuffled and max(get_metric(trainer, "resample_rounds")) > 0
    records, known = [*read_records(args.output_dir)], {hash_prompt(row["prompt"]) for row in shuffled}
    asked = [(one["step"], one["prompt_id"]) for one in records]
    assert len({*asked}) == len(asked) and {prompt for _, prompt in asked} <= known
    assert all(one["columns"].keys() <= {"solution"} for one in records)


@reward(batched=True)
def variety_of(said: list[int]) -> list[float]:
    """How many different tokens there are, as the rollout function says it."""
    return [count / 16 for count in said]


def test_a_reward_may_read_what_a_rollout_function_returns(config, problems):
    args = config()
    trainer = FilteredGRPOTrainer(
        demo.MODEL, variety_of() + boxed(), args=args, train_dataset=problems, rollout_func=roll_out
    )
    trainer.train()
    scores = list(trainer._logs["rewards"]["variety_of"])
    assert scores == [len({*ids}) / 16 for record in read_records(args.output_dir) for ids in record["completion_ids"]]


# --- accepted solutions in a column of another name


REWARDS = boxed(solution="answer") + 0.2 * gate(shortest(boxed(solution="answer")), by=tags("think"), at_least=0)


def accept_lists(problems):
    """Return the problems with lists of solutions in the column `answer`, and something else in `solution`."""
    rows = [
        {"prompt": row["prompt"], "answer": [row["solution"], "none"], "solution": "see answer"} for row in problems
    ]
    return type(problems).from_list(rows)


def test_a_run_records_and_scores_the_lists_of_a_named_column(config, problems, capsys):
    options = {"max_steps": 2, "max_completion_length": 64, "seed": 5}
    trainer, named = train_and_read(config, accept_lists(problems), REWARDS, **options)
    plain = boxed() + 0.2 * gate(shortest(boxed()), by=tags("think"), at_least=0)
    assert {score for one in named for score in one["rewards"]["boxed"]} == {0.0, 1.0}
    for record in named:
        right = str(sum(map(int, record["prompt"][-1]["content"][8:-1].split(" + "))))
        assert record["columns"] == {"answer": [right, "none"], "solution": "see answer"}
        given = {name: record[name] for name in ("completions", "completion_ids")} | {"solution": [right] * 4}
        for term in plain.rewards:
            assert record["rewards"][term.name] == pytest.approx(term(prompts=["?"] * 4, **given))
    out = Path(trainer.args.output_dir)
    assert json.loads((out / "run.json").read_text())["rewards"] == str(REWARDS)
    capsys.readouterr()
    main(["score", str(out), "--json"])
    scored = json.loads(capsys.readouterr().out)
    assert scored["expression"] == str(REWARDS)
    main(["score", "boxed(solution='answer')", str(out), "--out", str(out / "scored.jsonl")])
    again = [json.loads(line) for line in (out / "scored.jsonl").read_text().splitlines()]
    assert [one["rewards"]["boxed"] for one in again] == [score for one in named for score in one["rewards"]["boxed"]]
