"""Command lines that no job can have are refused in one sentence, before torch is imported."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from trl_grpo_rewards.cli.option_values import RANGES, Range, list_possible_values, suggest_values
from trl_grpo_rewards.cli.read_ahead import list_options


OPTIONS = {option.name: option for options in list_options("train").values() for option in options}


MISTAKES = [
    *((f"train {line}", said) for line, said in [
        ("--config gsm8", "Did you mean --config gsm8k? --config must be a YAML file or the name of a recipe; there is"),
        ("--config wrong.yaml", "'--max_stepz' in the recipe is not an option. Did you mean --max_steps?"),
        ("--config typed.yaml", "--learning_rate must be a number; got 'fast'. Write, for example, --learning_rate 1e-06."),
        ("--config gsm8k --rewards boxd()", "There is no reward 'boxd'. Did you mean 'boxed'?"),
        ("--learning_rate fast", "--learning_rate must be a number; got 'fast'. Write, for example, --learning_rate 1e-06."),
        ("--max_steps 2.5", "--max_steps must be a whole number; got '2.5'. Write, for example, --max_steps 1."),
        ("--packing maybe", "--packing must be true or false; got 'maybe'. Write --packing true."),
        ("--report_to wandbb", "Did you mean --report_to wandb? --report_to cannot be 'wandbb'."),
        ("--data_files none.jsonl", "--data_files must name files; there is no file 'none.jsonl' in "),
        ("--dataset_name none.jsonl", "There is no file 'none.jsonl' in "),
        ("--dataset_name demo.arithmetik", "Did you mean --dataset_name demo.arithmetic? There is no dataset 'demo.ari"),
        ("--dataset_name reasoning_gym:countdown", "--dataset_name reasoning_gym:... was removed: examples/reasoning_gym"),
        ("--model_name_or_path ./nomodel", "--model_name_or_path must be the folder of a model or its name on the hub; "),
        ("--output_dir used", "The output directory 'used' contains an earlier run, which a new run would overwrite."),
        ("--import ./mine.py", "--import must be followed by the name of a module, as in an import statement; got './mi"),
        ("--gradient_accumulation_steps 0", "--gradient_accumulation_steps must be at least 1; got 0. Write, for example"),
        ("--per_device_train_batch_size 0", "--per_device_train_batch_size must be at least 1; got 0. Write, for example"),
        ("--num_generations 1", "--num_generations must be at least 2; got 1. Write, for example, --num_generations 8."),
        ("--temperature -1", "--temperature must be above 0; got -1. Write, for example, --temperature 1.0."),
        ("--temperature 0", "--temperature must be above 0; got 0. Write, for example, --temperature 1.0."),
        ("--bad_golds 5", "--bad_golds must be from 0 to 1; got 5. Write, for example, --bad_golds 0.05."),
        ("--beta nan", "--beta must be at least 0; got nan. Write, for example, --beta 0.0."),
        ("--loss_type grppo", "Did you mean --loss_type grpo? --loss_type cannot be 'grppo'."),
        ("--attn_implementation flsh", "Did you mean --attn_implementation flash_attention_"),
        ("--zero_variance skipp", "Did you mean --zero_variance skip? --zero_variance cannot be 'skipp'."),
        ("--lr_scheduler_type cosin", "Did you mean --lr_scheduler_type cosine or "),
        ("--optim adamww", "Did you mean --optim adamw_torch or adamw_torch_fused or "),
        ("--unscored zzz", "--unscored must be one of term, row; got 'zzz'. Choose one of these."),
        ("--rewards judge()", "Reward 'judge': missing a required argument: 'model'. Its options are model, rubric, "),
        ("--max_stepz 2", "'--max_stepz' on the command line is not an option. Did you mean --max_steps?"),
        ("--json", "'--json' on the command line is not an option. trl-grpo-rewards train --help lists the options."),
        ("--reward boxed()", "Ambiguous option: --reward could match --rewards, "),
        ("more", "'more' on the command line is not an option. If it is part of a value with spaces, put the whole value in quotes."),
        ("a" * 300, f"{'a' * 300!r} on the command line is not an option. If it is part of a value with spaces, put the whole value in quotes."),
        (""" "boxed() + tags('a')" """, """"boxed() + tags('a')" on the command line is not an option. Write --rewards "boxed() + tags('a')"."""),
        (""" 'boxed() + tags("a")' """, """'boxed() + tags("a")' on the command line is not an option. Write --rewards 'boxed() + tags("a")'."""),
        ("'my (new).csv.gz'", "'my (new).csv.gz' on the command line is not an option. Write --dataset_name \"my (new).csv"),
        ("demo.requests", "'demo.requests' on the command line is not an option. Write --dataset_name demo.requests."),
        ("openai/gsm8k", "'openai/gsm8k' on the command line is not an option. Write --dataset_name openai/gsm8k."),
        ("addition", "'addition' on the command line is not an option. Write --config addition."),
        ("mine.yaml", "'mine.yaml' on the command line is not an option. Write --config mine.yaml."),
        ("--config rows.csv", "A recipe must be a YAML file, but 'rows.csv' is a dataset. Write --dataset_name rows"),
        ("--config modules.yaml", "'import' in the recipe is not an option. Write import_modules."),
        ("--config torn.yaml", "The recipe 'torn.yaml' is not valid YAML: while parsing a flow sequence in"),
        ("--config", "--config must be followed by a YAML file or a recipe: addition, code, concise, "),
        ("""--rewards "boxed() + tagz('think')" """, "There is no reward 'tagz'. Did you mean 'tags'? To use a function of your own,"),
        ("--rewards boxed(partal=1)", "Reward 'boxed' has no option 'partal'; its options are partial=0.0, tolerance=None, "),
        ("--unscored=no", "--unscored must be one of term, row; got 'no'. Choose one of these."),
    ]),
    ("check --rewards boxd()", "There is no reward 'boxd'. Did you mean 'boxed'? "),
    ("check --dataset_name gone.jsonl", "There is no file 'gone.jsonl' in "),
    ("check gone.jsonl", "'gone.jsonl' on the command line is not an option. Write --dataset_name gone.jsonl."),
    ("check --rewards boxed() + tags()", "'+' on the command line is not an option. If it is part of a value with spaces, put the whole value in quotes."),
    ("check used", "'used' on the command line is not an option. Write --dataset_name used."),
    ("trian", "There is no command 'trian'. Did you mean 'train'? The commands are train, check, "),
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


def run_all(lines: list[list[str]], folder: Path) -> tuple[list[tuple[int, list[str], float, str]], str]:
    """
    Run commands in one process. Returns the exit code of each, the large modules that it loads, its CPU time as if it
    were alone, and what it said; and the output of all.
    """
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        cwd=folder,
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "found").read_text())
    return [(*one, text) for one, text in zip(found, done.stderr.split("--\n")[1:], strict=True)], done.stdout


def test_what_cannot_work_is_one_sentence_in_a_second_before_torch_is_imported(tmp_path):
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "run.json").write_text("{}")
    texts = {
        "wrong": "max_stepz: 2\n",
        "typed": "learning_rate: fast\n",
        "modules": "import: mine\n",
        "torn": "rewards: [boxed()\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "mine.py").write_text("")
    found, output = run_all([shlex.split(line) for line, _ in MISTAKES], tmp_path)
    assert output == ""
    for (line, expected), (code, heavy, seconds, said) in zip(MISTAKES, found, strict=True):
        assert said.startswith(f"error: {expected}") and said.endswith((".\n", "?\n")) and said.count("\n") == 1, line
        assert (code, heavy) == (2, []) and seconds < 2, line  # importing torch takes 7


def test_help_loads_no_torch(tmp_path):
    asked = ["train --help", "check --help-all", "report --help", "score --help", "--help"]
    assert [one[:2] for one in run_all([*map(str.split, asked)], tmp_path)[0]] == [(0, [])] * len(asked)


@pytest.mark.parametrize(
    "line",
    [
        "--attn_implementation kernels-community/flash-attn2", "--attn_implementation paged|sdpa",
        "--learning_rate 1e-5 --top_k 0 --max_steps -1", "--report_to none --optim adamw_torch --packing NO",
        "--dataset_name some/dataset --data_files data/train.jsonl", "--data_files https://example.com/a.jsonl",
        "--data_files *.jsonl", "--dataset_name demo.arithmetic --model_name_or_path some/model",
    ],
)  # fmt: skip
def test_a_value_that_may_work_is_left_to_the_job(monkeypatch, command, line):
    monkeypatch.setattr("trl_grpo_rewards.cli.check.main", lambda arguments: None)
    done = command("check", *line.split())
    assert (done.stdout, done.stderr) == ("", "")


def test_all_options_with_a_range_are_declared_and_their_defaults_are_in_it():
    assert {*RANGES} < {*OPTIONS}
    assert all(float(OPTIONS[name].default) in range for name, range in RANGES.items() if OPTIONS[name].default)
    assert [*map(str, (Range(1), Range(0, 1), Range(0, is_above=True)))] == ["at least 1", "from 0 to 1", "above 0"]


def test_values_are_those_that_the_sources_declare():
    from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
    from transformers.trainer_utils import SchedulerType
    from transformers.training_args import OptimizerNames

    assert [*list_possible_values(OPTIONS["optim"])] == [one.value for one in OptimizerNames]
    assert [*list_possible_values(OPTIONS["lr_scheduler_type"])] == [one.value for one in SchedulerType]
    assert {*list_possible_values(OPTIONS["report_to"])} == {*INTEGRATION_TO_CALLBACK, "all", "none"}
    assert {*ALL_ATTENTION_FUNCTIONS} <= {*list_possible_values(OPTIONS["attn_implementation"])}
    assert "dapo" in list_possible_values(OPTIONS["loss_type"]) and not list_possible_values(OPTIONS["output_dir"])


def test_a_suggestion_begins_like_the_text():
    assert suggest_values("cosin", ["linear", "cosine", "polynomial"]) == ["cosine"]
    assert suggest_values("x", ["linear", "cosine"]) == []
