"""What a run knows about itself: in its folder, in its model card, and in its report."""

import json
from pathlib import Path

from helpers.reward_functions import all_dead
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, parse, reward, tags
from trl_grpo_rewards.records.runs import read_run
from trl_grpo_rewards.report import write_report
from trl_grpo_rewards.training.run_description import complete_card, describe_dataset, hide_secrets


@reward
def curt(completion: str, *, most: int = 9) -> float:
    return float(len(completion) <= most)


def test_a_run_can_be_told_from_its_folder(config, problems):
    rewards = boxed(evaluated=True, name="accuracy") + 0.5 * tags("think") - 0.1 * curt(most=7)
    args = config(learning_rate=1e-4, hub_token="secret", save_strategy="steps", save_steps=1)
    held_out = problems.select(range(8))
    trainer = FilteredGRPOTrainer(demo.MODEL, rewards, args=args, train_dataset=problems, eval_dataset=held_out)
    assert not Path(args.output_dir, "run.json").exists()  # written when training begins
    trainer.train()
    run = read_run(args.output_dir)
    assert parse(run["rewards"]) == rewards and run["is_expression"]
    assert run["modules"] == [__name__] and run["model"] == demo.MODEL
    assert run["dataset"]["name"] == "trl_grpo_rewards.demo.arithmetic" and run["dataset"]["rows"] == 64
    assert run["held_out"] == {"": 8}
    assert run["options"]["learning_rate"] == 1e-4 and run["options"]["zero_variance"] == "auto"
    assert run["versions"].keys() >= {"trl_grpo_rewards", "trl", "torch"} and run["first_step"] == 1
    assert "secret" not in Path(args.output_dir, "run.json").read_text()
    card = Path(args.output_dir, "README.md").read_text()
    for text in (
        f"| Rewards | `{rewards}` |",
        f"| Model | `{demo.MODEL}` |",
        "arithmetic, 64 rows",
        "trl_grpo_rewards 0.",
    ):
        assert text in card
    assert "None" not in card and Path(args.output_dir, "checkpoint-1").is_dir()
    page = write_report(args.output_dir, Path(args.output_dir, "report.html")).read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    facts = dict(data["runs"][0]["facts"])
    assert facts["Rewards"] == str(rewards) and facts["Model"] == demo.MODEL


def test_functions_that_are_not_ours_are_told_by_name(config, problems):
    args = config(reward_weights=[1.0, 0.5])
    trainer = FilteredGRPOTrainer(demo.MODEL, [boxed(), all_dead], args=args, train_dataset=problems)
    assert trainer.run["rewards"] == "1 * boxed + 0.5 * all_dead" and not trainer.run["is_expression"]


def test_a_dataset_tells_what_it_knows():
    assert describe_dataset(None) is None
    assert describe_dataset(iter(()))["rows"] is None


def test_a_card_without_the_usual_headings_gets_the_facts_at_its_end(tmp_path):
    (tmp_path / "README.md").write_text("# Mine")
    complete_card(tmp_path / "README.md", {"rewards": "a | `b`\nc", "model": "m"}, [])
    assert (tmp_path / "README.md").read_text() == (
        "# Mine\n## Training\n\n| | |\n|---|---|\n| Rewards | `a \\| 'b' c` |\n| Model | `m` |\n\n"
    )


def test_secrets_in_nested_options_are_hidden():
    options = {
        "token": "hf_1",
        "dtype": "auto",
        "device_map": {"": 0},
        "more": [{"API_KEY": "sk", "key": None, "n": 1}],
    }
    assert hide_secrets(options) == {
        "token": "<TOKEN>", "dtype": "auto", "device_map": {"": 0}, "more": [{"API_KEY": "<API_KEY>", "key": None, "n": 1}]
    }  # fmt: skip
