"""Datasets from folders and files, and what is said of those that cannot be read."""

import json
import logging
import re
from pathlib import Path

import pytest
from datasets import Dataset, DatasetDict

from trl_grpo_rewards import boxed
from trl_grpo_rewards.cli.datasets import load_problems as load_job
from trl_grpo_rewards.cli.datasets import read_options
from trl_grpo_rewards.cli.job import JobArguments


def load_problems(name, *, least_rows=0, needed=(), **options):
    return load_job(JobArguments(dataset_name=name, **options), least_rows=least_rows, needed=needed)


ROWS = [{"question": f"What is {n} + 1?", "answer": f"{n} + 1 = {n + 1}\n#### {n + 1}"} for n in range(20)]


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "problems.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    return str(path)


def test_without_a_name_it_is_the_bundled_task():
    train, test = load_problems(None, eval_prompts=8)
    assert (len(train), len(test)) == (2048, 8)
    assert {row["prompt"][0]["content"] for row in train}.isdisjoint(row["prompt"][0]["content"] for row in test)
    assert load_problems(None, eval_prompts=0)[1] is None


def test_a_bundled_dataset_is_made_by_its_name_and_options():
    train, test = load_problems("demo.arithmetic", dataset_config='size=150,kinds=["1+1","1*1"]', eval_prompts=8)
    assert (len(train), len(test)) == (150, 8)
    questions = [{row["prompt"][0]["content"] for row in part} for part in (train, test)]
    assert questions[0].isdisjoint(questions[1])
    assert all(re.fullmatch(r"What is \d [+*] \d\?", one) for one in questions[0] | questions[1])
    train, test = load_problems("demo.requests", dataset_config="size=30", eval_prompts=4, system_prompt="Be brief.")
    assert (len(train), len(test)) == (30, 4) and len(train[0]["prompt"]) == 2
    assert len(load_problems("demo.programs", eval_prompts=4)[1]) == 4
    with pytest.raises(ValueError, match="takes the options size, seed, kinds; got length. Change --dataset_config"):
        load_problems("demo.arithmetic", dataset_config="length=3")


@pytest.mark.parametrize(
    "text, options",
    [
        (None, {}),
        ("size=1000", {"size": 1000}),
        ("size=10, seed=7,level=hard,share=0.5,shuffle=false", {"size": 10, "seed": 7, "level": "hard", "share": 0.5, "shuffle": False}),
    ],
)  # fmt: skip
def test_options_are_read_from_one_text(text, options):
    assert read_options(text) == options


@pytest.mark.parametrize("text", ["size", "=3", "size=3,,"])
def test_what_is_no_option_is_refused(text):
    with pytest.raises(
        ValueError, match="must be options with values.*Write, for example, --dataset_config size=1000,seed=7"
    ):
        read_options(text)


def test_files_become_conversations_with_a_solution(jsonl):
    columns = {"prompt_column": "question", "solution_column": "answer"}
    train, test = load_problems("json", data_files=[jsonl], **columns, eval_prompts=2, system_prompt="Be brief.")
    assert [*load_problems("json", data_files=jsonl, **columns, eval_prompts=2)[0]["solution"]] == [*train["solution"]]
    assert (len(train), len(test)) == (18, 2) and train.column_names == ["prompt", "solution"]
    row = train[0]
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    assert row["prompt"][0]["content"] == "Be brief."
    number = int(re.search(r"\d+", row["prompt"][1]["content"]).group())
    assert boxed()(completions=[f"\\boxed{{{number + 1}}}"], solution=[row["solution"]]) == [1.0]


def test_a_test_split_is_used_where_there_is_one(tmp_path):
    data = DatasetDict(train=Dataset.from_list(ROWS), test=Dataset.from_list(ROWS[:6]))
    data.save_to_disk(str(tmp_path / "saved"))
    train, test = load_problems(str(tmp_path / "saved"), prompt_column="question", eval_prompts=4)
    assert (len(train), len(test)) == (20, 4) and train.column_names == ["prompt", "answer"]
    whole, none = load_problems(str(tmp_path / "saved"), prompt_column="question", eval_prompts=0)
    assert len(whole) == 20 and none is None


def test_a_folder_of_files_and_conversations_are_read_as_they_are(tmp_path):
    asked = [{"prompt": [{"role": "user", "content": "2 + 2?"}], "prompt_id": n, "solution": n} for n in range(3)]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, asked)))
    train, _ = load_problems(str(tmp_path), eval_prompts=0)
    assert train.to_list() == asked
    train, _ = load_problems(str(tmp_path), eval_prompts=0, system_prompt="S", solution_column="prompt_id")
    assert train[2] == {"prompt": [{"role": "system", "content": "S"}, *asked[2]["prompt"]], "solution": 2}


@pytest.mark.parametrize(
    "options, message",
    [
        ({"name": "no/such/folder"}, "The dataset 'no/such/folder' cannot be read: .* Give the name of a dataset on the hub"),
        ({"name": "gone.jsonl"}, "There is no file 'gone.jsonl' in .* Correct --dataset_name"),
        ({"name": "problem.jsonl"}, "Did you mean --dataset_name problems.jsonl. There is no file 'problem.jsonl' in "),
        ({"name": "mixed"}, "files of one kind, but 'mixed' has 'a.jsonl' and 'b.csv', and .* such as --data_files mixed/a.jsonl"),
        ({"name": "broken.jsonl"}, "The files broken.jsonl cannot be read as json: line 1 of broken.jsonl is not JSON: .* Correct the files"),
        ({"name": "rows.dat"}, "known by its ending, but 'rows.dat' has none of .csv, .tsv, .* Save it in one of these formats, or correct its ending"),
        ({"name": None, "dataset_config": "main"}, "dataset_config=main needs a dataset_name, but none is set. Set --dataset_name to the dataset"),
        ({"data_files": ["missing.jsonl"]}, "There is no file 'missing.jsonl' in .* Correct --data_files"),
        ({"data_files": ["broken.jsonl"]}, "The files broken.jsonl cannot be read as json: "),
        ({"data_files": ["empty.jsonl"]}, "empty.jsonl has no rows. Add prompts"),
        ({"prompt_column": "prompt"}, "no column 'prompt' to read prompts from; the dataset has 'question', 'answer'. Name the column: --prompt_column question"),
        ({"solution_column": "question"}, "must be in two columns, but both are read from 'question'. Set --solution_column to another column; the dataset has 'question', 'answer'"),
        ({"solution_column": "gold"}, "no column 'gold' to read solutions from; the dataset has .*Name the column: --solution_column answer"),
        ({"data_files": ["renamed.jsonl"], "solution_column": "gold"}, "the dataset has 'question', 'reply'. Name the column: --solution_column reply"),
        ({"dataset_train_split": "training"}, "has no split 'training'; it has 'train'. Choose one of them: --dataset_train_split train"),
        ({"eval_prompts": -1}, "eval_prompts must be at least 0; got -1"),
        ({"data_files": ["null.jsonl"]}, "must be a text or a list of messages, but .* rows of the column 'question' contain nothing, such as row .*: None. Remove such rows"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_a_way_out(jsonl, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    Path("broken.jsonl").write_text('{"question": "a"\n')
    Path("empty.jsonl").write_text("")
    Path("mixed").mkdir()
    for name in ("a.jsonl", "b.csv", "dataset_infos.json"):
        Path("mixed", name).write_text("{}")
    Path("rows.dat").write_text("question;answer")
    Path("renamed.jsonl").write_text('{"question": "a", "reply": "1"}\n' * 9)
    Path("null.jsonl").write_text('{"question": "a"}\n{"question": null}\n' * 9)
    given = {"name": "json", "data_files": [jsonl], "prompt_column": "question", "eval_prompts": 4, **options}
    given["data_files"] = None if "name" in options else given["data_files"]
    with pytest.raises(ValueError, match=message) as caught:
        load_problems(given.pop("name"), **given)
    assert "\n" not in str(caught.value)


def test_an_answer_at_the_end_of_messages_is_found_in_the_column_of_the_file(tmp_path):
    rows = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]
    (tmp_path / "a.jsonl").write_text(json.dumps({"messages": rows}))
    with pytest.raises(ValueError, match=r"column 'messages' end with.* \{'messages': row\['messages'\]\[:-1\]\}"):
        load_problems(str(tmp_path / "a.jsonl"), prompt_column="messages")


def test_a_bad_row_has_the_number_that_it_has_in_the_file(tmp_path):
    rows = [{"prompt": f"{number} + 0?"} for number in range(30)]
    rows[19]["prompt"] = ""
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(ValueError, match="but 1 of 30 rows of the column 'prompt' .*such as row 20: ''"):
        load_problems(str(tmp_path / "a.jsonl"))


def test_a_bad_row_of_a_split_is_found_if_the_split_is_used(tmp_path):
    data = DatasetDict(train=Dataset.from_list(ROWS), test=Dataset.from_list([*ROWS, {"question": "", "answer": "1"}]))
    data.save_to_disk(str(tmp_path / "saved"))
    assert len(load_problems(str(tmp_path / "saved"), prompt_column="question", eval_prompts=0)[0]) == 20
    with pytest.raises(ValueError, match="The split 'test' cannot be used. A prompt must .* such as row 21"):
        load_problems(str(tmp_path / "saved"), prompt_column="question")


def test_what_datasets_warns_of_is_shown(monkeypatch, caplog):
    def load(*names, **options):
        logging.getLogger("datasets.load").warning("Using the latest cached version")
        return Dataset.from_list(ROWS)

    monkeypatch.setattr("trl_grpo_rewards.cli.datasets.load_dataset", load)
    monkeypatch.setattr(logging.getLogger("datasets"), "propagate", True)
    load_problems("someone/problems", prompt_column="question")
    assert "latest cached version" in caplog.text


def test_at_most_a_tenth_of_the_rows_is_held_out_and_a_batch_is_left(tmp_path):
    sizes = {(1, 0): None, (9, 0): None, (10, 0): 1, (65, 0): 6, (640, 0): 64, (5000, 0): 64}
    sizes |= {(34, 0): 3, (34, 31): 3, (34, 32): 2, (34, 34): None, (34, 40): None}
    for (rows, least), held_out in sizes.items():
        file = tmp_path / f"{rows}.jsonl"
        file.write_text("".join(f'{{"prompt": "{number} + 0?", "solution": "{number}"}}\n' for number in range(rows)))
        train, test = load_problems(str(file), least_rows=least)
        assert len(train) == rows - (held_out or 0) and (test and len(test)) == held_out, (rows, least)
