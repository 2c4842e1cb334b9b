"""A job's command line is judged before torch is imported, by a table that TRL's parser has written."""

import json
import shlex
import subprocess
import sys

import pytest

import trl_grpo_rewards.cli.main as command_line
from trl_grpo_rewards.cli.console import TEXTS
from trl_grpo_rewards.cli.job_options import JobParser
from trl_grpo_rewards.cli.main import DESCRIPTIONS, build_job_parser, load_options


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """A folder with the table, for this process and those that it starts."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        load_options("train")
        yield folder


MISTAKES = [
    *((f"train {line}", said) for line, said in [
        ("--config gsm8", "Did you mean --config gsm8k? --config must be a YAML file or the name of a recipe; got 'gsm8'"),
        ("--config wrong.yaml", "'--max_step=2' in the recipe is not an option. Did you mean --max_steps?"),
        ("--config typed.yaml", "--learning_rate: it must be a number of at least 0; got 'fast'. trl-grpo-rewards train --help lists the options."),
        ("--config tab.yaml", "The recipe 'tab.yaml' is not valid YAML: line 1 has a tab: 'max_steps:\\t2'. Use spaces."),
        ("--config colon.yaml", "The recipe 'colon.yaml' is not valid YAML: line 1 has a colon in a value: 'system_prompt: Answer: a box'. Put the value in quotes."),
        ("--config indented.yaml", "The recipe 'indented.yaml' is not valid YAML: line 2 is indented: 'seed: 1'. Begin each option at the start of its line."),
        ("--config mine.yaml", "The recipe 'mine.yaml' imports mine, which acts only if the command line allows it. If you know the recipe, add --import mine. The dataset 'rows.csv' needs --model_name_or_path, because"),
        ("--dataset_name rows.csv", "The dataset 'rows.csv' needs --model_name_or_path, because the bundled models know only their own"),
        (r"--dataset_name 'C:\data\rows.csv'", r"The file 'C:\data\rows.csv' does not exist in "),
        (r"--config 'C:\a.yaml'", r"--config must be a YAML file or the name of a recipe; got 'C:\a.yaml'. The recipes are"),
        ("--output_dir rows.csv", "The output directory 'rows.csv' cannot be used, because nothing can be written to 'rows.csv': Not a directory. Choose another --output_dir."),
        ("--output_dir rows.csv/run", "The output directory 'rows.csv/run' cannot be used, because nothing can be written to '/"),
        ("--output_dir /proc/runs", "The output directory '/proc/runs' cannot be used, because nothing can be written to '/proc': No such file or directory. Choose another"),
        ("--config torn.yaml", "The recipe 'torn.yaml' is not valid YAML: while parsing a flow sequence in"),
        ("--config", "--config: expected one argument. trl-grpo-rewards train --help lists the options."),
        ("--config gsm8k --rewards boxd()", "There is no reward 'boxd'. Did you mean 'boxed'?"),
        ("--max-steps 2.5", "--max_steps: it must be a whole number; got '2.5'. trl-grpo-rewards train --help lists the options."),
        ("--packing maybe", "--packing: it must be one of true, false, yes, no, t, f, y, n, 1, 0; got 'maybe'. "),
        ("--report_to wandbb", "--report_to: it cannot be 'wandbb'. Did you mean wandb"),
        ("--data_files none.jsonl", "The file 'none.jsonl' does not exist in "),
        ("--dataset_name demo.arithmetik", "Did you mean --dataset_name demo.arithmetic? This package has no dataset 'demo.ari"),
        ("--output_dir used", "The output directory 'used' contains an earlier run, which a new run would overwrite."),
        ("--import ./mine.py", "There is no module './mine.py' in "),
        ("--temperature 0", "--temperature: it must be a number above 0; got '0'. trl-grpo-rewards train --help lists the options."),
        ("--beta -1", "--beta: it must be a number of at least 0; got '-1'."),
        ("--eval_prompts -1", "--eval_prompts: it must be a whole number of at least 0; got '-1'."),
        ("--learning_rate inf", "--learning_rate: it must be a number of at least 0; got 'inf'."),
        ("--num_generations many", "--num_generations: it must be a whole number above 0; got 'many'."),
        ("--num_generations 7", "The 256 completions of a generation cannot be split into groups of 7 (num_generations). Set --num_generations to 2 or 4 or 8 or 16 or 32 or 64 or 128 or 256, or --per_device_train_batch_size to 259."),
        ("--per_device_train_batch_size 2 --num_generations 8", "The 2 completions of a generation cannot be split into groups of 8 (num_generations). Set --num_generations to 2, or --per_device_train_batch_size to 8."),
        ("--generation_batch_size 10", "The 10 completions of a generation cannot be split into groups of 8 (num_generations). Set --num_generations to 2 or 5 or 10."),
        ("--load_in_4bit", "--load_in_4bit needs the package bitsandbytes, which is not installed. Run pip install bitsandbytes, or leave"),
        ("--report_to swanlab", "--report_to swanlab needs the package swanlab, which is not installed. Run pip install swanlab, or leave"),
        ("--loss_type grppo", "--loss_type: it cannot be 'grppo'. Did you mean grpo"),
        ("--unscored=no", "--unscored: it must be one of term, row; got 'no'. trl-grpo-rewards train --help lists"),
        ("--max_stepz 2", "'--max_stepz' on the command line is not an option. Did you mean --max_steps?"),
        ("--reward boxed()", "'--reward' on the command line is not an option. Did you mean --rewards?"),
        ("--json", "'--json' on the command line is not an option. trl-grpo-rewards train --help lists the options."),
        (""" "boxed() + tags('a')" """, """"boxed() + tags('a')" on the command line is not an option. Write the option before it, such as --rewards, and"""),
        ("--rewards judge()", "Reward 'judge': missing a required argument: 'model'. Its options are model, rubric, "),
        ("--rewards boxed(partal=1)", "Reward 'boxed' has no option 'partal'; its options are partial=0.0, tolerance=None, "),
    ]),
    ("check --dataset_name gone.jsonl", "The file 'gone.jsonl' does not exist in "),
    ("check --rewards boxed() + tags()", "'+' on the command line is not an option. Write the option before it, such as --rewards, and put"),
    ("trian", "Command: invalid choice: 'trian' (choose from 'train', 'check', 'score', 'report')."),
]  # fmt: skip

COMMANDS = """
import json, sys, time
from trl_grpo_rewards.cli.main import main
started, found = time.process_time(), []
for line in json.load(sys.stdin):
    try:
        print("--", file=sys.stderr)
        before = time.process_time()
        main(line)
    except SystemExit as end:
        heavy = sorted({"torch", "trl", "transformers", "datasets"} & {*sys.modules})
        found.append([end.code or 0, heavy, started + time.process_time() - before])
json.dump(found, open("found", "w"))
"""


def run_all(lines, folder):
    """
    Run commands in one process. Returns the exit code of each, the large modules that it loads, its CPU time as if it
    were alone, and what it said; and the output of all.
    """
    command, given = [sys.executable, "-c", COMMANDS], json.dumps([shlex.split(line) for line in lines])
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "found").read_text())
    return [(*one, text) for one, text in zip(found, done.stderr.split("--\n")[1:], strict=True)], done.stdout


def test_what_cannot_work_is_one_sentence_in_a_second_before_torch_is_imported(tmp_path):
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "run.json").write_text("{}")
    (tmp_path / "rows.csv").write_text("prompt,solution\n")
    texts = {"wrong": "max_step: 2", "typed": "learning_rate: fast", "torn": "rewards: [boxed()"}
    texts |= {
        "tab": "max_steps:\t2",
        "colon": "system_prompt: Answer: a box",
        "indented": "rewards: boxed()\n seed: 1",
    }
    texts["mine"] = "dataset_name: rows.csv\nimport_modules: [mine]"
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(f"{text}\n")
    found, output = run_all([line for line, _ in MISTAKES], tmp_path)
    assert output == ""
    for (line, expected), (code, heavy, seconds, said) in zip(MISTAKES, found, strict=True):
        assert said.startswith(f"error: {expected}") and said.endswith((".\n", "?\n")) and said.count("\n") == 1, said
        assert (code, heavy) == (2, []) and seconds < 1.5, line  # importing torch takes 7


def test_help_loads_no_torch(tmp_path):
    asked = ["train --help", "check --help-all", "report --help", "score --help", "--help"]
    found = run_all(asked, tmp_path)[0]
    assert [one[:2] for one in found] == [(0, [])] * len(asked) and all(one[2] < 1.5 for one in found)


@pytest.mark.parametrize(
    "line",
    [
        "--attn_implementation kernels-community/flash-attn2", "--attn_implementation paged|sdpa",
        "--learning_rate 1e-5 --top_k 0 --max_steps -1", "--report_to none --optim adamw_torch --packing NO",
        "--dataset_name some/dataset --data_files data/*.jsonl", "--data_files https://example.com/a.jsonl",
        "--data_files *.jsonl", "--dataset_name demo.arithmetic --model_name_or_path some/model",
    ],
)  # fmt: skip
def test_a_value_that_may_work_is_left_to_the_job(monkeypatch, command, line):
    monkeypatch.setattr("trl_grpo_rewards.cli.check.main", lambda arguments: None)
    done = command("check", *line.split())
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("command", DESCRIPTIONS)
def test_the_table_has_what_the_parser_of_trl_accepts(command):
    taken, known = (
        {
            one.replace("-", "_"): (action.dest, action.nargs)
            for action in parser._actions
            for one in action.option_strings
        }
        for parser in (JobParser(command), build_job_parser(command, load_options(command)))
    )
    assert known.items() - taken.items() == {("__help_all", ("help_all", 0)), ("__config", ("config", None))}
    assert taken.items() <= known.items()
    choices = {option["name"]: option["choices"] for option in load_options(command)}
    assert "dapo" in choices["loss_type"] and not choices["output_dir"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file, patch: file.unlink(),
        lambda file, patch: file.write_bytes(file.read_bytes()[:-9]),
        lambda file, patch: file.write_text("[]"),
        lambda file, patch: patch.setattr(command_line, "find_version", lambda name: f"{name} 99"),
        lambda file, patch: patch.setattr(command_line.os, "geteuid", lambda: 12345),
    ],
    ids=["none", "cut off", "a list", "other versions", "another owner"],
)  # fmt: skip
def test_a_table_of_another_installation_is_written_anew(cache, command, monkeypatch, spoil):
    spoil(command_line.find_table(), monkeypatch)
    before = {file: file.stat().st_ino for file in cache.rglob("*.*")}
    assert "Did you mean --learning_rate?" in command("train", "--learning_rat3", "1").stderr
    (new,) = [file for file in cache.rglob("*.*") if file.stat().st_ino != before.get(file)]
    assert "--learning_rate" in new.read_text() and [*cache.rglob("*.*")] == [new] == [command_line.find_table()]


def test_without_a_folder_for_the_table_the_command_works(command, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert "Did you mean --max_steps?" in command("train", "--max_stepz", "1").stderr


def test_a_relative_folder_of_caches_is_ignored(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert command_line.find_table().parent == tmp_path / ".cache" / "trl_grpo_rewards"


def test_help_shows_each_of_our_options_once_and_those_of_trl_if_asked(command):
    shown, everything = command("train", "--help").stdout, command("train", "--help-all").stdout
    assert shown.count("\n") < 115 and everything.count("\n") > 900
    for name in ("--rewards", "--dataset_name", "--zero_variance", "--max_resample_rounds"):
        assert everything.count(f"  {name} ") == shown.count(f"  {name} ") == 1
    assert "--dataset-name" not in everything
    assert "  --learning_rate " in everything and "  --learning_rate " not in shown
    for name in TEXTS["most_used"].replace(",", "").replace("and ", "").split():
        assert f"  {name} " in everything and name in shown


COMPLETE = """
import json, os, sys
from trl_grpo_rewards.cli.main import main
for place, line in enumerate(json.load(sys.stdin)):
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": " "}
    if (child := os.fork()) == 0:
        os.environ.update(asked, _ARGCOMPLETE_STDOUT_FILENAME=str(place))
        main()
    os.waitpid(child, 0)
assert "torch" not in sys.modules
"""


def test_a_shell_completes_a_command_line(tmp_path):
    pytest.importorskip("argcomplete")
    lines = {
        "tr": "train",
        "train --zero_v": "--zero_variance --zero_variance_by --zero_variance_tolerance",
        "check --unscored ": "row term", "train --lr_scheduler_type lin": "linear", "train --report_to wan": "wandb",
        "train --config gs": "gsm8k gsm8k_vllm", "score --ag": "--against", "report --o": "--out",
    }  # fmt: skip
    asked = json.dumps([f"trl-grpo-rewards {line}" for line in lines])
    subprocess.run([sys.executable, "-c", COMPLETE], cwd=tmp_path, input=asked, text=True, timeout=300, check=True)
    found = [" ".join(sorted((tmp_path / str(place)).read_text().split())) for place in range(len(lines))]
    assert found == [*lines.values()]
