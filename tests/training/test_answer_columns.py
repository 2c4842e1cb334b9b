"""A run on a dataset whose column of accepted solutions has another name: trained, recorded and scored again."""

import json
from pathlib import Path

import pytest

from helpers.runs import train_and_read
from trl_grpo_rewards import boxed, gate, shortest, tags
from trl_grpo_rewards.cli.main import main


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
