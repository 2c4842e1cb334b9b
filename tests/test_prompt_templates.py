"""A template for the prompts of a dataset: what the model reads, what is recorded and what is refused."""

import json
import re
from pathlib import Path

import pytest
from datasets import Dataset

from helpers.runs import read_records, train_and_read
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, boxed, demo
from trl_grpo_rewards.checks import check
from trl_grpo_rewards.prompt_templates import fill_template
from trl_grpo_rewards.records.runs import list_facts


WORKED = 'What is 1 + 1? {"sum": \\boxed{2}}\n{prompt} Then?'


def read_prompt(record) -> str:
    return record["prompt"] if isinstance(record["prompt"], str) else record["prompt"][-1]["content"]


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("is_chat", [False, True])
def test_the_model_reads_each_prompt_in_the_template_and_nothing_else_of_it_changes(
    config, problems, is_chat, is_stream
):
    questions = {row["prompt"][0]["content"] for row in problems}
    texts = problems if is_chat else problems.map(lambda row: {"prompt": row["prompt"][0]["content"]})
    data = texts.to_iterable_dataset() if is_stream else texts
    trainer, records = train_and_read(config, data, boxed(), prompt_template=WORKED)
    before, after = WORKED.split("{prompt}")
    for record in records:
        prompt = read_prompt(record)
        assert prompt.startswith(before) and prompt.endswith(after)
        assert prompt[len(before) : -len(after)] in questions
        assert prompt in record.get("model_input", prompt)
    run = json.loads(Path(trainer.args.output_dir, "run.json").read_text())
    assert run["options"]["prompt_template"] == WORKED


def test_held_out_prompts_are_in_the_template_too(config, problems):
    trainer = FilteredGRPOTrainer(
        demo.MODEL,
        boxed(),
        args=config(prompt_template="Say {prompt}", per_device_eval_batch_size=4),
        train_dataset=problems,
        eval_dataset={"one": problems.select(range(2)), "two": problems.select(range(1))},
    )
    for part in trainer.eval_dataset.values():
        assert all(row["prompt"][0]["content"].startswith("Say What is") for row in part)


def test_in_a_conversation_it_is_the_last_text_of_the_user():
    picture = {"type": "image", "text": None}
    asked = {"role": "user", "content": [{"type": "text", "text": "a {x} {prompt}"}, picture]}
    chat = [
        {"role": "system", "content": [{"type": "text", "text": "s"}]},
        {"role": "user", "content": [{"type": "text", "text": "first"}]},
        asked,
        {"role": "assistant", "content": [{"type": "text", "text": "so"}]},
    ]
    (row,) = fill_template(Dataset.from_list([{"prompt": chat, "other": 1}]), "[{prompt}] {{}} [{prompt}]")
    parts = [message["content"][0]["text"] for message in row["prompt"]]
    assert parts == ["s", "first", "[a {x} {prompt}] {{}} [a {x} {prompt}]", "so"] and row["other"] == 1
    assert [part["type"] for part in row["prompt"][2]["content"]] == ["text", "image"]


def test_check_measures_prompts_in_the_template(problems, config):
    from transformers import AutoConfig, AutoTokenizer

    tokenizer, shape = (kind.from_pretrained(demo.MODEL) for kind in (AutoTokenizer, AutoConfig))

    def find(template):
        findings = check(
            boxed(evaluated=True), problems, config(prompt_template=template), tokenizer, model_config=shape
        )
        return [text for one in findings for text in [*one.faults, *one.warnings]]

    assert find(None) == find("Now: {prompt}")
    assert any("tokens" in text for text in find(f"{'2' * 5000} {{prompt}}"))


@pytest.mark.parametrize("template", ["Mail:", "{Prompt}", "{question}", ""])
def test_a_template_without_a_place_is_refused_at_once(command, tmp_path, template):
    said = "prompt_template must contain {prompt}, where the prompt of each row stands; got " + repr(template)
    with pytest.raises(ValueError, match=re.escape(said)):
        FilteredGRPOConfig(str(tmp_path), use_cpu=True, bf16=False, prompt_template=template)
    result = command("train", f"--prompt_template={template}")
    assert result.returncode == 2 and result.stderr.startswith(f"error: {said}") and not result.stdout


def test_prompts_that_a_template_cannot_fill_are_refused_with_what_to_do(config, problems):
    picture = Dataset.from_list([{"prompt": [{"role": "user", "content": [{"type": "image"}]}]}])
    with pytest.raises(
        ValueError, match="fills the last text of the user, but the prompt .* has none. Add one, or leave"
    ):
        fill_template(picture, "{prompt}!")
    made = problems.with_transform(lambda batch: batch)
    for use in (
        lambda: FilteredGRPOTrainer("no/model", boxed(), config(prompt_template="{prompt}!"), made),
        lambda: check(boxed(), made, config(prompt_template="{prompt}!")),
    ):
        with pytest.raises(
            ValueError, match="come from a transform. Put the prompts into the template in the transform"
        ):
            use()


def test_the_command_trains_with_a_template_and_its_report_names_it(command, tmp_path):
    options = [
        "--model_name_or_path",
        demo.MODEL,
        "--dataset_name",
        "demo.arithmetic",
        "--max_completion_length",
        "12",
    ]
    options += ["--per_device_train_batch_size", "16", "--eval_prompts", "2", "--max_steps", "1", "--no_check"]
    result = command("train", *options, "--prompt_template", "What is 2 + 2? 4.\n{prompt}", "--output_dir", "run")
    assert result.returncode == 0, result.stderr
    assert "The groups are in" not in result.stdout and "The report is in run/report.html." in result.stdout
    assert all(
        read_prompt(record).startswith("What is 2 + 2? 4.\nWhat is") for record in read_records(tmp_path / "run")
    )
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert list_facts(run)["Prompt template"] == "What is 2 + 2? 4.\n{prompt}"
    assert run["options"]["per_device_eval_batch_size"] == 32


@pytest.mark.parametrize(
    "line, size",
    [
        ([], 32), (["--num_generations", "6", "--per_device_train_batch_size", "12"], 30),
        (["--num_generations_eval", "2"], 32), (["--per_device_eval_batch_size", "8"], 8),
        (["--num_generations", "64", "--per_device_train_batch_size", "64"], 64),
    ],
)  # fmt: skip
def test_an_evaluation_fills_its_batches_with_whole_groups_unless_their_size_is_chosen(tmp_path, line, size):
    from trl_grpo_rewards.cli.job_options import read_job

    _, training, _ = read_job(["--output_dir", str(tmp_path), "--eval_strategy", "steps", *line], "train")
    assert training.per_device_eval_batch_size == size
