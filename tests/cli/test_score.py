"""`trl-grpo-rewards score` as a user runs it: on the records of a run, on TRL's table, on lines of JSON."""

import json
import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from rich.cells import cell_len

import trl_grpo_rewards
from helpers.local_http import run_local_server
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, keywords, length, reward, schedule, tags
from trl_grpo_rewards.cli.score import describe_scores, summarize_scores
from trl_grpo_rewards.records.files import Group
from trl_grpo_rewards.records.rescoring import Tally, rescore


@pytest.fixture
def score(command):
    def run(*arguments, fails=False):
        done = command("score", *arguments)
        assert (done.returncode != 0) == fails, done.stderr[-3000:]
        return done.stderr.strip().splitlines()[-1] if fails else done.stdout

    return run


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def answers(tmp_path):
    """Two groups of three, counted by hand: one is right alone, then two of three."""
    given = [("2 + 2?", "4", ["4", "5", "6"]), ("1 + 1?", "2", [r"2\text{ km}", "2", "3"])]
    rows = [
        {"prompt": prompt, "completion": rf"So \boxed{{{text}}}", "solution": solution}
        for prompt, solution, texts in given
        for text in texts
    ]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_scores_are_counted(answers, score):
    shown = score("boxed() + 0.5 * keywords(all=('So',))", "answers.jsonl", "--out", "scored.jsonl")
    table = {line.split()[0]: line.split() for line in shown.splitlines()[:4]}
    assert table["boxed"][1:3] == ["0.500", "0.0%"] and table["boxed"][3:7] == ["0:", "50.0%,", "1:", "50.0%"]
    assert table["keywords"][1:3] == ["1.000", "0.0%"] and "2 groups; 0.0% would be dead" in shown
    surprising = shown.split("within their group:\n")[1].splitlines()
    assert len(surprising) == 7 and surprising[0].split() == ["1.5", "2", "+", "2?", "|", "So", r"\boxed{4}"]
    rows = lines_of(answers / "scored.jsonl")
    assert [row["total"] for row in rows] == [1.5, 0.5, 0.5, 1.5, 1.5, 0.5]
    assert rows[3] == {
        "prompt": "1 + 1?", "completion": r"So \boxed{2\text{ km}}", "solution": "2", "total": 1.5,
        "rewards": {"boxed": 1.0, "keywords": 1.0},
    }  # fmt: skip


def test_memory_does_not_grow_with_the_number_of_groups(tmp_path, command):
    def measure(groups):
        rows = ({"prompt": str(row), "completion": "x" * 40_000} for row in range(groups))
        (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        tracemalloc.start()
        new = "keywords(all=('y',))"
        shown = command("score", new, tmp_path / "texts.jsonl", "--against", f"0.5 * {new}")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert shown.returncode == 0, shown.stderr
        return peak

    measure(1)  # what is loaded once
    assert measure(640) < 1.5 * measure(256)


def test_the_difference_is_counted_both_ways(answers, score):
    new = "boxed(partial=0.25) - 0.75 * keywords(all=('km',))"
    shown = score(new, "answers.jsonl", "--against", "boxed()")
    assert "2 groups; 0.0% would be dead, and 0.0% under the old rewards\n" in shown
    assert "6 rows; 2 earn the same, 3 more, 1 less\n" in shown
    more, less = shown.split("earn more:\n")[1].split("\n\nrows that earn less:\n")
    assert len(more.splitlines()) == 2 and all(line.strip().startswith("0 -> 0.25  ") for line in more.splitlines())
    less, hint = less.split("\n\n")
    assert less.split() == ["1", "->", "0.25", "1", "+", "1?", "|", "So", r"\boxed{2\text{", "km}}"]
    assert hint == "--details shows the table and all examples in full.\n"


@pytest.mark.slow
def test_a_run_is_scored_again_from_its_folder_alone(config, problems, server, tmp_path, score, capsys, monkeypatch):
    (tmp_path / "mine_to_repeat.py").write_text(
        "from trl_grpo_rewards import reward\n\n@reward\ndef wordy(completion, *, most: int = 9):\n"
        "    return float(len(completion) > most)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from mine_to_repeat import wordy

    judge = schedule(server(score=3).judge(cache=str(tmp_path / "verdicts")), steps=((0, 0.0), (3, 0.9)))
    rewards = (
        boxed(evaluated=True) - 0.1 * wordy(most=7) + 0.1 * length(20) + 0.3 * tags("think", partial=True) + judge
    )
    args = config(max_steps=3, log_completions=True)
    trainer = FilteredGRPOTrainer(demo.MODEL, rewards, args=args, train_dataset=problems)
    trainer.train()
    asked, folder = server.calls, trainer.args.output_dir
    assert json.loads(Path(folder, "run.json").read_text())["modules"] == ["mine_to_repeat"]
    capsys.readouterr()  # the tables of the run
    command = [sys.executable, "-m", "trl_grpo_rewards.cli", "score", folder, "--details", "--trust"]
    command += ["--import", "mine_to_repeat"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)  # nothing is imported
    rows = {line.split()[0]: line.split()[-2] for line in run.stdout.splitlines()[1:6]}
    assert rows == dict.fromkeys(["boxed", "wordy", "length", "tags", "judge"], "100.0%"), run.stderr  # as recorded
    assert "6 groups" in run.stdout and server.calls == asked
    # the same rows from TRL's own table, which has no columns of the dataset
    table = next(Path(folder, "completions").glob("*_00003.parquet"))
    assert "2 groups" in score("tags('think')", table)
    assert "needs the column 'solution'" in score("boxed()", table, fails=True)


def test_a_group_is_a_prompt_whatever_else_differs(tmp_path, command):
    """Columns of TRL's table, such as the advantage, differ within a group; and a file may be scored in its place."""
    rows = [
        {"step": 1, "prompt": "q", "completion": text, "advantage": place // 2}
        for place, text in enumerate(["a b c d", "e f g h"] * 2)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n\n" for row in [*rows, {**rows[0], "step": 2}]))
    run = command("score", "distinct()", "rows.jsonl", "--out", "rows.jsonl")
    assert run.returncode == 0 and "2 groups" in run.stdout
    assert [row["total"] for row in lines_of(tmp_path / "rows.jsonl")] == [0.0, 0.0, 0.0, 0.0, 1.0]
    again = command("score", "distinct()", "rows.jsonl")
    assert again.returncode == 0 and "2 groups" in again.stdout and len(list(tmp_path.iterdir())) == 1


def test_what_cannot_be_scored_is_said_in_a_line(answers, command):
    (answers / "other.txt").write_text("text")
    (answers / "asked.jsonl").write_text('{"prompt": "2 + 2?", "solution": "4"}')
    (answers / "torn.jsonl").write_text('{"completion": "4"}\n{"comp')
    (answers / "groups").mkdir()
    (answers / "groups" / "0001-0001.jsonl").write_text("records of a run")
    for line, code, said in [
        ("boxd() answers.jsonl", 2, "error: There is no reward 'boxd'.*Did you mean 'boxed'"),
        ("boxed() nowhere", 2, "error: There are no group records in 'nowhere' .*Pass the output_dir"),
        ("boxed() torn.jsonl", 2, "error: Line 2 of 'torn.jsonl' is '.\"comp', which is not JSON. Write one row on"),
        ("boxed()", 2, "error: Without rewards, .* 'boxed..' has no run.json that can be read. Give rewards first, and then the"),
        ("boxed() answers.jsonl --out ../", 2, "error: --out must be a new file, but '../?' is a folder or has group records."),
        ("boxed() answers.jsonl --out groups/0001-0001.jsonl", 2, "error: --out must be a new file, but 'groups.* has group"),
        ("boxed() answers.jsonl --out no/out", 2, "error: 'no/out' cannot be used: No such file or directory. Choose another path"),
        ("boxed() answers.jsonl --out /proc/x.jsonl", 2, "error: '/proc/x.jsonl.*' cannot be used: .*. Choose another path."),
        ("", 2, "error: The following arguments are required: completions. trl-grpo-rewards score --help lists the"),
        ("boxed() answers.jsonl --detials", 2, "error: '--detials' on the .* Did you mean --details?"),
        ("boxed() answers.jsonl --nope", 2, "error: '--nope' on the .* trl-grpo-rewards score --help lists"),
        ("boxed() asked.jsonl", 2, "error: 'asked.jsonl' has no 'completion', but 'prompt', 'solution'. Pass"),
        ("boxed() other.txt", 2, "error: Line 1 of 'other.txt' is 'text', which is not JSON"),
        ("answers.jsonl", 2, "error: Without rewards, the rewards of the run are used, but 'answers.jsonl' has no run.json that"),
        ("answers.jsonl boxed()", 2, "error: The rewards come first, then the completions, but 'answers.jsonl' is a file or folder. Write: trl-grpo-rewards score 'boxed..' answers.jsonl."),
        ("cites() answers.jsonl --import nothing", 2, "error: There is no module 'nothing'"),
        ("cites() answers.jsonl --import mine.py", 2, "error: There is no module 'mine.py' in .* such as --import my_rewards for"),
        ("length(5) answers.jsonl", 1, "ValueError: length.. with unit='tokens' needs .* Pass them, or use unit='words'"),
    ]:  # fmt: skip
        run = command("score", *line.split())
        assert run.returncode == code and re.match(said, run.stderr), line


@pytest.mark.parametrize("place", [0, 2])
def test_modules_are_imported_wherever_the_command_line_names_them(answers, command, place):
    names = [f"first_{place}", f"second_{place}"]
    for name in names:
        text = f"from trl_grpo_rewards import reward\n\n@reward\ndef {name}(completion):\n    return 1.0\n"
        (answers / f"{name}.py").write_text(text)
    arguments = [f"{names[0]}() + {names[1]}()", "answers.jsonl"]
    arguments[place:place] = ["--import", names[0], "--import", names[1]]
    run = command("score", *arguments)
    assert run.returncode == 0 and f"{names[1]}  1.000" in run.stdout


def describe_run(folder, rewards, modules=()):
    (folder / "run.json").write_text(json.dumps({"rewards": rewards, "modules": [*modules], "is_expression": True}))


def test_a_run_imports_no_module_that_the_command_does_not_name(answers, command):
    module = "open('imported', 'w').close()\nfrom trl_grpo_rewards import reward\n@reward\ndef evil(completion):\n    return 1.0\n"
    (answers / "evil_rewards.py").write_text(module)
    describe_run(answers, "evil()", ["evil_rewards"])
    for given in (
        ["answers.jsonl"],
        ["boxed() + evil()", "answers.jsonl"],
        ["boxed()", "answers.jsonl", "--against", "evil()"],
    ):
        run = command("score", *given)
        assert run.returncode == 2 and run.stderr.endswith("other modules: add --import evil_rewards.\n")
        assert "There is no reward 'evil'" in run.stderr and not (answers / "imported").exists()
    assert command("score", "answers.jsonl", "--import", "evil_rewards").returncode == 0
    assert (answers / "imported").exists()


@pytest.mark.parametrize("wrap", ["boxed() + 0.5 * {}", "gate({}, by=boxed())"])
def test_a_run_asks_no_server_unless_the_command_says_so(answers, command, wrap, monkeypatch):
    monkeypatch.setenv("PRIVATE_SECRET", "a-private-secret")
    reply = {"choices": [{"message": {"content": '{"reason": "ok", "score": 5}'}, "finish_reason": "stop"}]}
    with run_local_server(lambda connection: connection.send(reply)) as server:
        judge = f"judge(model='m', rubric='r', base_url='{server.url}', api_key_env='PRIVATE_SECRET')"
        describe_run(answers, wrap.format(judge))
        run = command("score", "answers.jsonl")
        assert run.returncode == 2 and not server.requests
        named = f"judge asks {server.url} with the key in PRIVATE_SECRET."
        assert named in run.stderr and "Add --trust if you know them" in run.stderr
        run = command("score", "answers.jsonl", "--trust")
        assert run.returncode == 0 and server.requests and run.stderr.startswith(f"{named}\n"), run.stderr
        given = command("score", wrap.format(judge), "answers.jsonl")  # the command names it
        assert given.returncode == 0 and given.stderr.startswith(f"{named}\n")


@pytest.mark.parametrize("option", ["backend='evil_sandbox:Box'", "packages=('evil_package',)"])
def test_a_run_starts_no_program_that_it_names(answers, command, option):
    for name in ("evil_sandbox.py", "evil_package.py"):
        (answers / name).write_text("open('imported', 'w')\n")
    describe_run(answers, f"code({option})")
    run = command("score", "answers.jsonl")
    assert run.returncode == 2 and not (answers / "imported").exists() and run.stderr.startswith("error: ")


def test_arguments_are_printed_without_control_characters(answers, command):
    name = "a\x1b[31m\x07\x9b\u202eb"
    for arguments in (["score", "boxed()", name], ["report", name], ["score", "boxed()", "x", "--import", name]):
        run = command(*arguments)
        assert run.returncode == 2 and "\\x1b[31m\\x07\\x9b\\u202eb" in run.stderr
        assert not {*run.stderr} & {*name} - {*"a[31mb"}


def test_a_file_in_the_working_directory_replaces_no_module(answers):
    """The command as it is installed, which does not have the working directory on its path."""
    for name in ("regex", "openai", "math_verify"):
        (answers / f"{name}.py").write_text("open('imported', 'w').close()\n")
    (answers / "mine.py").write_text("")
    arguments = ["score", "keywords(all=('4',))", "answers.jsonl", "--import", "mine"]
    code = f"from trl_grpo_rewards.cli.main import main; main({arguments!r})"
    environment = {**os.environ, "PYTHONPATH": str(Path(trl_grpo_rewards.__file__).parents[1])}
    run = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=answers, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0 and not (answers / "imported").exists(), run.stderr


# --- the summary


HOSTILE = "\x1b[2J\x1b[31mred\u202e <b>\n\n日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語 7"


@reward
def last_number(completion: str) -> float | None:
    return None if completion.endswith("-") else float(completion.split()[-1])


def group(*texts, **recorded) -> Group:
    return Group({"completions": [*texts], "prompts": ["q " * 60] * len(texts)}, None, recorded)


def tally_of(rewards, *groups) -> Tally:
    tally = Tally()
    for one in rescore(rewards, groups):
        tally.add(one)
    return tally


def summarize(tally, has_details=False) -> str:
    return summarize_scores(describe_scores(tally), has_details=has_details)


def test_a_reward_is_described_by_numbers_counted_by_hand():
    tally = tally_of(
        last_number(), group("1", "1", last_number=[1.0, 1.0]), group("0.1", "-", "4", last_number=[0.1, None, 3.0])
    )
    found = describe_scores(tally)
    (one, total) = found["rewards"]
    assert (found["groups"], found["dead_groups"], found["rows"], found["difference"]) == (2, 1, 5, None)
    assert one["mean"] == pytest.approx(1.525) and one["unscored"] == 1 and one["as_recorded"] == 0.6
    assert one["shares"] == [
        {"score": 0.1, "share": 0.25},
        {"score": 1.0, "share": 0.5},
        {"score": 4.0, "share": 0.25},
    ]
    assert one["quartiles"] == [0.1, 1.0, 1.0, 1.0, 4.0] and one["milliseconds"]["p50"] > 0
    assert total["name"] == "total" and total["milliseconds"] is total["as_recorded"] is None
    line = summarize(tally).splitlines()[1]
    assert line.split()[:3] == ["last_number", "1.525", "20.0%"] and "60.0%" in line
    assert "2 groups; 50.0% would be dead" in summarize(tally)


def test_rewards_without_a_score_are_null_in_json():
    found = describe_scores(tally_of(last_number(), group("-", "-")))
    assert json.loads(json.dumps(found, allow_nan=False))["rewards"][0]["mean"] is None
    assert found["rewards"][0]["quartiles"] is None and found["surprising"] == []
    assert "  -  100.0%" in summarize(tally_of(last_number(), group("-", "-")))


def test_the_summary_fits_a_screen_whatever_was_written():
    rewards = last_number() + keywords(any=("7",), name="a_reward_with_a_long_name")
    groups = [group(HOSTILE, f"x {place}", "y 8", "z 9") for place in range(20)]
    tally = Tally()
    for new, old in zip(rescore(rewards, groups), rescore(0.5 * last_number(name="old"), groups), strict=True):
        tally.add(new, old)
    shown = summarize(tally)
    assert all(cell_len(line) <= 80 for line in shown.splitlines()) and len(shown.splitlines()) <= 30
    assert "\x1b" not in shown and "\u202e" not in shown
    assert "rows that earn more:" in shown and "largest outliers" in shown
    assert summarize(tally, True).count("q q q") > shown.count("q q q")
    found = describe_scores(tally)["difference"]
    assert found["equal"] + found["more"] + found["less"] == 80 and found["examples"][0]["completion"] == HOSTILE
