"""Datasets from folders and files, and what is said of those that cannot be read."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from datasets import Dataset, DatasetDict

from trl_grpo_rewards import boxed
from trl_grpo_rewards.cli.job_data import load_problems as load_job
from trl_grpo_rewards.cli.job_options import JobArguments


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
    written = "must be options with values.*Write, for example, --dataset_config size="
    unknown = "takes the options size, seed, kinds; got length. Change --dataset_config"
    for text, said in [("size", written), ("=3", written), ("size=3,,", written), ("length=3", unknown)]:
        with pytest.raises(ValueError, match=said):
            load_problems("demo.arithmetic", dataset_config=text)


def test_files_become_conversations_with_a_solution(jsonl):
    columns = {"prompt_column": "question", "solution_column": "answer"}
    train, test = load_problems("json", data_files=[jsonl], **columns, eval_prompts=2, system_prompt="Be brief.")
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
        ({"name": "gone.jsonl"}, "The file 'gone.jsonl' does not exist in .* Correct --dataset_name"),
        ({"name": "problem.jsonl"}, "Did you mean --dataset_name problems.jsonl. The file 'problem.jsonl' does not exist in "),
        ({"name": "mixed"}, "files of one kind, but 'mixed' has 'a.jsonl' and 'b.csv', and .* such as --data_files mixed/a.jsonl"),
        ({"name": "broken.jsonl"}, "The files broken.jsonl cannot be read as json: line 1 of broken.jsonl is not JSON: .* Correct the files"),
        ({"name": "null.jsonl"}, "A line of a JSON file must be an object, but null.jsonl begins with 'null'. Correct the file"),
        ({"data_files": ["null.jsonl"]}, "A line of a JSON file must be an object, but null.jsonl begins with 'null'. Correct the file"),
        ({"name": "deep.jsonl"}, "The files deep.jsonl cannot be read as json: line 1 of deep.jsonl is nested too deeply: .* Correct the files"),
        ({"name": "rows.dat"}, "known by its ending, but 'rows.dat' has none of .csv, .tsv, .* Save it in one of these formats, or correct its ending"),
        ({"name": None, "dataset_config": "main"}, "must be options with values, joined by commas; got 'main'. .* For another dataset, set --dataset_name"),
        ({"data_files": ["missing.jsonl"]}, "The file 'missing.jsonl' does not exist in .* Correct --data_files"),
        ({"data_files": ["empty.jsonl"]}, "empty.jsonl has no rows. Add prompts"),
        ({"prompt_column": "prompt"}, "no column 'prompt' to read prompts from; the dataset has 'question', 'answer'. Name the column: --prompt_column question"),
        ({"solution_column": "question"}, "no column 'question' to read solutions from; the dataset has .*Name the column: --solution_column answer"),
        ({"solution_column": "gold"}, "no column 'gold' to read solutions from; the dataset has .*Name the column: --solution_column answer"),
        ({"data_files": ["renamed.jsonl"], "solution_column": "gold"}, "the dataset has 'question', 'reply'. Name the column: --solution_column reply"),
        ({"dataset_train_split": "training"}, "has no split 'training'; it has 'train'. Choose one of them: --dataset_train_split train"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_a_way_out(jsonl, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    Path("broken.jsonl").write_text('{"question": "a"\n')
    Path("empty.jsonl").write_text("")
    Path("null.jsonl").write_text("\n null \n")
    Path("deep.jsonl").write_text('{"question": ' + "[" * 5000 + "]" * 5000 + "}")
    Path("mixed").mkdir()
    for name in ("a.jsonl", "b.csv", "dataset_infos.json"):
        Path("mixed", name).write_text("{}")
    Path("rows.dat").write_text("question;answer")
    Path("renamed.jsonl").write_text('{"question": "a", "reply": "1"}\n' * 9)
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


@pytest.mark.parametrize("columns, solution", [({}, "4"), ({"solution": "four"}, "four")], ids=["none", "its own"])
def test_the_command_that_leaves_out_the_last_message_writes_a_file_to_train_on(
    tmp_path, monkeypatch, columns, solution
):
    monkeypatch.chdir(tmp_path)
    rows = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]
    Path("chat.jsonl").write_text(json.dumps({"messages": rows, **columns}) + "\n")
    with pytest.raises(ValueError) as caught:
        load_problems("chat.jsonl", prompt_column="messages")
    said = re.search(r'In a shell, run python (-c ".*"), and train with --dataset_name (\S+)[.]$', str(caught.value))
    subprocess.run([sys.executable, *shlex.split(said[1])], check=True, capture_output=True)
    train, _ = load_problems(said[2], prompt_column="messages")
    assert train[0] == {"prompt": rows[:1], "solution": solution}


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


def test_at_most_a_tenth_of_the_rows_is_held_out_and_a_batch_is_left(tmp_path):
    sizes = {(1, 0): None, (9, 0): None, (10, 0): 1, (65, 0): 6, (640, 0): 64, (5000, 0): 64}
    sizes |= {(34, 0): 3, (34, 31): 3, (34, 32): 2, (34, 34): None, (34, 40): None}
    for (rows, least), held_out in sizes.items():
        file = tmp_path / f"{rows}.jsonl"
        file.write_text("".join(f'{{"prompt": "{number} + 0?", "solution": "{number}"}}\n' for number in range(rows)))
        train, test = load_problems(str(file), least_rows=least)
        assert len(train) == rows - (held_out or 0) and (test and len(test)) == held_out, (rows, least)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
def test_a_file_is_read_by_its_ending_with_its_own_separator(tmp_path, name, separator):
    file = tmp_path / name
    lines = [f'"What is {number} + 1, really?"{separator}{number + 1}' for number in range(20)]
    file.write_text("\n".join([f"question{separator}answer", *lines]))
    columns = {"prompt_column": "question", "solution_column": "answer", "eval_prompts": 0}
    train, _ = load_problems(str(file), **columns)
    assert [*load_problems(None, data_files=[str(file)], **columns)[0]] == [*train]
    assert train["solution"][3] == 4 and train["prompt"][3] == "What is 3 + 1, really?"


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a.csv", b"prompt,solution\nTom has 3, Ann 10. How many?,13\n" * 2, "the 2 fields of its first line, but line 2 of a.csv has 3. Put texts that contain ',' in double quotes"),
        ("a.csv", b"prompt;solution\na;1\nb\n\"c; d\";1\ne; f;1\n", "line 5 of a.csv has 3. Put texts that contain ';'"),
        ("a.csv", b"prompt\n2, 3?\n", "the one field of its first line, but line 2 of a.csv has 2. Put .* or name all columns"),
        ("a.csv", b"prompt,solution\n", "has no rows. Add prompts"),
        ("a.csv", b"", "a.csv has no rows. Add prompts"),
        ("a.csv", b"prompt,solution\ngr\xfc\xdfe,1\n", "a.csv has another encoding. Save it as UTF-8"),
        ("a.jsonl", '{"prompt": "a", "solution": "1"}\n'.encode("utf-16"), "a.jsonl has another encoding. Save it as UTF-8"),
        ("a.jsonl", '{"prompt": "Où?", "solution": "1"}\n'.encode("latin-1"), "a.jsonl has another encoding. Save it as UTF-8"),
        ("a.jsonl", '{"prompt": "a", "solution": "où"}\n'.encode("latin-1"), "a.jsonl has another encoding. Save it as UTF-8"),
        ("a.jsonl", b"PAR1\x15\x04\x15", "a.jsonl is parquet. Rename it to a.parquet"),
        ("a.csv", b"\x1f\x8b\x08\x00", "a.csv is gz. Rename it to a.csv.gz"),
        ("a.json", b'{"data": [{"prompt": "a", "solution": "1"}]}', "the column 'data' contains .*'prompt', 'solution'. Save what"),
        ("a.json", b'{"version": 1, "data": [{"prompt": "a", "solution": "1"}]}', "the column 'data' contains .*'prompt', 'solution'. Save"),
        ("a.jsonl", b'{"data": {"prompt": "a", "solution": "1"}}\n' * 3, "the column 'data' contains .*'prompt', 'solution'. Save"),
        ("a.jsonl", b'{"prompt": "a", "solution": "1"}\n{"prompt": "b", "solution": "%s"}\n' % (b"1" * 1_000_001), "row 2 of the column 'solution' has 1,000,001"),
        ("a.csv", b"id,email,reply\n1,Dear all,b\n", r"no column 'prompt' .* and no column 'solution' .* Name the columns: --prompt_column email --solution_column NAME\.$"),
        ("a.csv", b"id,question,answer\n1,a b,2\n", "Name the columns: --prompt_column question --solution_column answer"),
        ("a.csv", b"id,solution\n1,2\n", "Name the column: --prompt_column NAME"),
        ("a.jsonl", b'{" question": "a b", "solution": "1"}\n', "Name the column: --prompt_column ' question'"),
        ("a.jsonl", b'{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "solution": 1}\n', "--prompt_column messages. A prompt must end before the answer"),
    ],
)  # fmt: skip
def test_a_file_in_another_form_is_refused_with_a_remedy(tmp_path, monkeypatch, capfd, name, content, message):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_problems(name, eval_prompts=0, needed={"solution"})
    assert capfd.readouterr().err == ""  # datasets logs errors of its own, and shows bars


@pytest.mark.parametrize(
    "content, solution",
    [
        *((f"{start}prompt,solution\nf,    return 1\n\ng,    return 2\n", "    return 1") for start in ("", "\n", "\n\n", "\ufeff")),
        ('prompt, solution\n"2 + 2, really?", 4\n', "4"), ("\nprompt, solution\n2+2, 4\n", "4"), ("\nprompt;solution\n2+2;4\n", "4"),
    ],
)  # fmt: skip
def test_spaces_in_values_stay_and_those_before_quotes_and_empty_lines_are_no_part_of_a_value(
    tmp_path, content, solution
):
    (tmp_path / "a.csv").write_text(content)
    assert str(load_problems(str(tmp_path / "a.csv"), eval_prompts=0)[0]["solution"][0]) == solution
