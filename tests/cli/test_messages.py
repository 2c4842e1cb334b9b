"""What goes wrong on a command line is one sentence with a remedy, on standard error, without a traceback."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


REWARDS = """
from trl_grpo_rewards import reward

@reward
def broken(completion):
    return 1 / (len(completion) - len(completion))

@reward
def fragile(completion, trainer_state):
    return {}[trainer_state.global_step] if trainer_state.max_steps > 1 else 0.0
"""


@pytest.fixture
def problems(tmp_path):
    rows = "".join(f'{{"question": "What is {n} + 1?", "final_answer": "{n + 1}"}}\n' for n in range(16))
    (tmp_path / "p.jsonl").write_text(rows)
    (tmp_path / "my_rewards.py").write_text(REWARDS)
    return ["--dataset_name", "json", "--data_files", "p.jsonl", "--prompt_column", "question", "--eval_prompts", "0"]


def last_line(done, code: int = 2) -> str:
    assert done.returncode == code and "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


def test_the_remedy_for_a_column_is_an_option_unless_the_reward_names_it(command, problems):
    job = ["train", *problems, "--model_name_or_path", "no/model", "--output_dir", "out"]
    fitting = "boxed(solution='final_answer')"
    for rewards, column, remedy in [
        ("boxed()", "solution", "Name the column: --solution_column final_answer."),
        ("boxed(solution='gold')", "gold", f"Name it: {fitting}. Each row has a number or formula as the answer: {fitting} fits."),
    ]:  # fmt: skip
        lacking = f"error: Reward 'boxed' needs the column '{column}'; found 'final_answer', 'prompt'. {remedy}"
        assert last_line(command(*job, "--rewards", rewards)) == lacking
        assert not Path("out").exists()


UNKNOWN = "NAME. No column is known to have answers. To compare completions without answers: ranking(model='MODEL', rubric='Which is best?') fits."


@pytest.mark.parametrize(
    "row, name",
    [
        ({"fields": '{"order": 3}'}, "fields. Each row has objects in JSON as the answer: json_fields() then fits."),
        ({"id": 7, "fields": {"order": 3}}, "fields. Each row has objects in JSON as the answer: json_fields() then fits."),
        ({"result": "4"}, "result. Each row has a number or formula as the answer: boxed() then fits."),
        ({"id": 7, "result": "4"}, UNKNOWN),
        ({}, "NAME. Each row has a prompt without an answer: ranking(model='MODEL', rubric='Which is best?') fits."),
    ],
)  # fmt: skip
def test_an_answer_in_a_column_with_an_unusual_name_is_found_by_its_values(command, tmp_path, row, name):
    rows = "".join(json.dumps({"mail": f"Order {n} is late.", **row}) + "\n" for n in range(16))
    (tmp_path / "mails.jsonl").write_text(rows)
    said = last_line(command("check", "--dataset_name", "mails.jsonl", "--prompt_column", "mail"))
    assert said.endswith(f". Name the column: --solution_column {name}")


ENDS = "from trl_grpo_rewards import reward\n@reward\ndef same_end(completion, gold):\n    return completion.endswith(gold)\n"
PLAIN = "An expression contains the plain function 'plainly' instead of a reward. Put @reward above it, and call it: plainly()."
LACKING = "Reward 'code' needs the column 'tests'; found 'solution'. Add it to the dataset, or name another one: code(tests=...)."


@pytest.mark.parametrize(
    "module, line, said",
    [
        ("import missing_one\n", "score boxed() rows.jsonl --import MINE", r"The module 'MINE' cannot be imported: ModuleNotFoundError: No module named 'missing_one' \(.*MINE.py, line 1\)\. Correct.*"),
        ("\nraise KeyError('a')\n", "score boxed() rows.jsonl --import MINE", r"The module 'MINE' cannot be imported: KeyError: 'a' \(.*MINE.py, line 2\)\. Correct.*"),
        ("\n\ndef f(:\n", "score boxed() rows.jsonl --import MINE", r"The module 'MINE' cannot be imported: SyntaxError: invalid syntax \(.*MINE.py, line 3\)\. Correct.*"),
        ("def plainly(completion):\n    return 1.0\n", "check --rewards plainly() --import MINE", re.escape(PLAIN)),
        (ENDS, "check --dataset_name rows.jsonl --rewards same_end() --solution_column gold --import MINE", ".*--solution_column gold renamed it to 'solution'. Name it: same_end\\(gold='solution'\\)."),
        (ENDS, "check --dataset_name rows.jsonl --rewards same_end() --prompt_column gold --import MINE", ".*--prompt_column gold renamed it to 'prompt'. In a function of your own, rename the parameter."),
        ("", "score boxed()+code() scored.jsonl", re.escape(LACKING)),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_users_files_is_one_sentence(command, request, tmp_path, module, line, said):
    name = f"mine_{abs(hash(request.node.name))}"  # a module is imported once
    (tmp_path / f"{name}.py").write_text(module)
    (tmp_path / "rows.jsonl").write_text('{"prompt": "2 + 2?", "completion": "4", "gold": "4"}\n' * 20)
    (tmp_path / "scored.jsonl").write_text('{"prompt": "2 + 2?", "completion": "4", "solution": "4"}\n')
    message = last_line(command(*line.replace("MINE", name).split()))
    assert re.fullmatch(f"error: {said.replace('MINE', name)}", message), message


TEXTS = "def taken(completions, **columns):\n    return [len(text.strip()) for text in completions]\n"
MESSAGES = "from trl_grpo_rewards import reward\n@reward\ndef taken(completion):\n    return completion[0]['content'] == '4'\n"


@pytest.mark.parametrize(
    "module, said",
    [
        (
            TEXTS,
            "'strip' ({}, line 2). A completion is a list of messages here: its text is completion[0]['content'].",
        ),
        (
            "import json\nfrom trl_grpo_rewards import reward\n@reward\ndef taken(completion):\n    return json.loads('[4]').get('name')\n",
            "'get' ({}, line 5). Correct the reward, or let it return None for what it cannot judge.",
        ),
        (MESSAGES, "indices must be integers, not 'str' ({}, line 4). A completion is a text here. For messages, put"),
    ],
)
def test_a_function_that_takes_messages_for_texts_is_told_so_with_its_own_line(command, tmp_path, module, said):
    file = tmp_path / f"taken_{len(module)}.py"  # a module is imported once
    file.write_text(module)
    (fault,) = json.loads(command("check", "--rewards", "taken()", "--import", file.stem, "--json").stdout)["faults"]
    assert said.format(file) in fault


@pytest.mark.parametrize(
    "judge, said",
    [
        ("judge(model='m', rubric='Good?')", "no base_url, and the environment has no OPENAI_API_KEY. Set OPENAI_API"),
        ("judge(model='m', rubric='Good?', base_url='http://127.0.0.1:9/v1')", "asks the server http://127.0.0.1:9/v1, which cannot be reached: .*refused. Start the server, or correct"),
    ],
)  # fmt: skip
def test_a_judge_without_key_or_server_is_a_fault(command, monkeypatch, judge, said):
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    done = command("train", "--rewards", f"boxed(evaluated=True) + {judge}", "--output_dir", "out")
    assert done.returncode == 1 and "Traceback" not in done.stderr and not Path("out").exists()
    assert re.search(f"fault: The judge 'm' .*{said}.* 1 fault found\\.", " ".join(done.stdout.split()))


@pytest.mark.slow
def test_a_reward_that_raises_is_one_sentence(command, problems, tmp_path):
    small = ["--per_device_train_batch_size", 32, "--max_steps", 2, "--eval_prompts", 0, "--output_dir", "out"]
    later = ["--import", "my_rewards", "--rewards", "boxed(evaluated=True) + fragile()"]
    trained = last_line(command("train", *later, *small), code=1)
    assert re.match(r"Reward fragile\(\) raised KeyError: 0 \(.*my_rewards.py, line 10\)", trained)
    (tmp_path / "my_rewards.py").rename(tmp_path / "mine_scored.py")  # a module is imported once
    (tmp_path / "rows.jsonl").write_text('{"prompt": "2 + 2?", "completion": "4", "solution": "4"}\n')
    scored = last_line(command("score", "broken()", "rows.jsonl", "--import", "mine_scored"), code=1)
    raised = r"Reward broken\(\) raised ZeroDivisionError: division by zero \(.*mine_scored.py, line 6\). Correct the"
    assert re.match(raised, scored)


def test_text_that_the_output_cannot_hold_is_escaped(tmp_path):
    rows = '{"prompt": "1 + 1?", "completion": "\\\\boxed{2} 漢", "solution": "2"}\n{"prompt": "1 + 1?", "completion": "3", "solution": "2"}\n'
    (tmp_path / "rows.jsonl").write_text(rows, encoding="utf-8")
    started = [sys.executable, "-m", "trl_grpo_rewards.cli", "score", "boxed()", "rows.jsonl"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(started, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and r"\boxed{2} \u6f22" in done.stdout


@pytest.mark.parametrize(
    "line, said",
    [
        ("--model_name_or_path .", "The tokenizer of the model '.' cannot be loaded: "),
        ("--model_name_or_path a/b/c", "The tokenizer of the model 'a/b/c' cannot be loaded: "),
        ("--num_generations 7", "The 256 completions of a generation cannot be split into groups of 7"),
        ("--beta 0.1 --zero_variance skip", "zero_variance='skip' leaves groups of equal rewards out of the update, but the KL term"),
        ("--eval_strategy steps --metric_for_best_model accuracy --eval_prompts 1", "metric_for_best_model must be a metric of the evaluation; got 'accuracy'. Set it to one of eval_rewards/accuracy/mean, ev"),
        ("--resume_from_checkpoint true", "'true' is not a complete checkpoint: it has no trainer_state.json, which is written last. The complete checkpoints of 'out': none. Pass"),
        ("--dataset-name json --data_files p.jsonl", "The dataset 'p.jsonl' needs --model_name_or_path, because"),
        ("--dataset_streaming", "'--dataset_streaming' on the command line is not an option. A command reads"),
        ("--import nothing_here", "There is no module 'nothing_here' in "),
    ],
)  # fmt: skip
def test_what_fails_late_in_trl_is_said_early(command, problems, line, said):
    assert last_line(command("train", "--output_dir", "out", *line.split())).startswith(f"error: {said}")
    assert not Path("out").exists()


def test_an_interrupt_is_one_line(command, monkeypatch):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("trl_grpo_rewards.cli.report.main", interrupt)
    done = command("report", "out")
    assert done.returncode == 130 and done.stderr == "\ntrl-grpo-rewards report was interrupted.\n"
