"""Files with problems: what they are read as, and what is said of those that cannot be."""

from pathlib import Path

import pytest

from trl_grpo_rewards.cli.datasets import load_problems as load_job
from trl_grpo_rewards.cli.job import JobArguments


def load_problems(name, *, least_rows=0, needed=(), **options):
    return load_job(JobArguments(dataset_name=name, **options), least_rows=least_rows, needed=needed)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
def test_a_file_is_read_by_its_ending_with_its_own_separator(tmp_path, name, separator):
    file = tmp_path / name
    lines = [f'"What is {number} + 1, really?"{separator}{number + 1}' for number in range(20)]
    file.write_text("\n".join([f"question{separator}answer", *lines]))
    columns = {"prompt_column": "question", "solution_column": "answer", "eval_prompts": 0}
    train, _ = load_problems(str(file), **columns)
    assert [*load_problems(None, data_files=[str(file)], **columns)[0]] == [*train]
    assert train["solution"][3] == 4 and train["prompt"][3][0]["content"] == "What is 3 + 1, really?"


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
        ("a.jsonl", b'{"prompt": [{"role": "user", "content": "%s"}]}\n' % (b"a" * 1_000_001), "row 1 of the column 'prompt' has 1,000,0"),
        ("a.csv", b"id,email,reply\n1,Dear all,b\n", r"no column 'prompt' .* and no column 'solution' .* Name the columns: --prompt_column email --solution_column NAME\.$"),
        ("a.csv", b"id,question,answer\n1,a b,2\n", "Name the columns: --prompt_column question --solution_column answer"),
        ("a.csv", b"id,solution\n1,2\n", "Name the column: --prompt_column NAME"),
        ("a.jsonl", b'{" question": "a b", "solution": "1"}\n', "Name the column: --prompt_column ' question'"),
        ("a.jsonl", b'{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "solution": 1}\n', "--prompt_column messages. A prompt must end before the answer"),
        ("a.jsonl", b'{"prompt": ["a"], "solution": "1"}\n' * 3, "have a list with a value of the type str"),
    ],
)  # fmt: skip
def test_a_file_in_another_form_is_refused_with_a_remedy(tmp_path, monkeypatch, capfd, name, content, message):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_problems(name, eval_prompts=0, needed={"solution"})
    assert capfd.readouterr().err == ""  # datasets logs errors of its own, and shows bars


@pytest.mark.parametrize("start", ["", "\n", "\n\n", "\ufeff"])
def test_empty_first_lines_and_spaces_in_values_are_read_as_they_are(tmp_path, start):
    (tmp_path / "a.csv").write_text(f"{start}prompt,solution\nf,    return 1\n\ng,    return 2\n")
    assert load_problems(str(tmp_path / "a.csv"), eval_prompts=0)[0]["solution"] == ["    return 1", "    return 2"]


@pytest.mark.parametrize(
    "content, solution",
    [
        ('prompt, solution\n"2 + 2, really?", 4\n', "4"), ("\nprompt, solution\n2+2, 4\n", "4"), ("\nprompt;solution\n2+2;4\n", "4"),
    ],
)  # fmt: skip
def test_spaces_before_quotes_and_empty_lines_are_no_part_of_a_value(tmp_path, content, solution):
    (tmp_path / "a.csv").write_text(content)
    assert str(load_problems(str(tmp_path / "a.csv"), eval_prompts=0)[0]["solution"][0]) == solution
