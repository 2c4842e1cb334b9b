"""The README and the pages as a user reads them: their Python and their commands run, and their tables name what there is."""

import re
import shlex
import subprocess
import sys
from dataclasses import fields
from types import SimpleNamespace

import pytest
from trl import GRPOConfig

import trl_grpo_rewards
from helpers.paths import ROOT, SCRIPTS
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, boxed, demo, reward
from trl_grpo_rewards.cli.job_options import read_job
from trl_grpo_rewards.cli.main import main, read_line
from trl_grpo_rewards.function_rewards import RewardFactory
from trl_grpo_rewards.records import read_records
from trl_grpo_rewards.registry import REGISTRY


sys.path.append(str(SCRIPTS))
from run_pages import PAGES as RUN_PAGES  # noqa: E402
from run_pages import WORDS, read_steps  # noqa: E402


PAGES = {page.name: page.read_text() for page in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]}

UPSTREAM = {page.name: page.read_text() for page in sorted((ROOT / "docs" / "upstream").glob("*.md"))}

EXAMPLES = [
    pytest.param(example, id=f"{name}-{place}")
    for name, text in {**PAGES, **UPSTREAM}.items()
    for place, example in enumerate(re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE))
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_run(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = dict(REGISTRY)
    try:
        exec(compile(example, "example", "exec"), {"__name__": "readme", "reward": reward})
    finally:
        REGISTRY.clear()
        REGISTRY.update(before)


@pytest.mark.filterwarnings("ignore")  # of what OpenEnv imports
def test_the_rubric_for_openenv_pays_what_its_expression_pays():
    pytest.importorskip("openenv.core.rubrics", reason="openenv is not installed")
    found = re.search(r"```python notest\n(from openenv.*?)^```$", PAGES["coming_from.md"], re.DOTALL | re.MULTILINE)
    names = {}
    exec(compile(found[1], "example", "exec"), names)
    rubric, action = names["Answered"](), SimpleNamespace(message=r"<think>2 + 2</think>\boxed{4}")
    paid = [rubric(action, SimpleNamespace(metadata={"solution": solution})) for solution in ("5", None, "4")]
    assert paid == [0.0, 0.0, 1.0] and rubric.last_score == 1.0


COMMANDS = [
    pytest.param(*found, id=f"{name}-{place}")
    for name, text in PAGES.items()
    for place, found in enumerate(
        re.findall(
            rf"(?:^trl-grpo-rewards|-m trl_grpo_rewards\.cli) ([\w-]+)({WORDS})",
            "\n".join(re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL)).replace("\\\n", ""),
            flags=re.MULTILINE,
        )
    )
]


@pytest.mark.parametrize("command, options", COMMANDS)
def test_the_options_of_the_commands_exist(command, options, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in re.findall(r"--dataset_name (\w+\.csv)", options):
        (tmp_path / file).touch()
    if command in ("train", "check"):
        job, training, _ = read_job(read_line(command, shlex.split(options, comments=True))[1], command)
        assert job.rewards and training.output_dir
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help-all" if command in ("train", "check") else "--help"])
    assert {*re.findall(r" (--\w+)", options)} <= {*re.findall(r"--\w+", capsys.readouterr().out)}


def test_the_skill_runs_from_top_to_bottom_and_is_found_at_the_root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = next(ROOT.glob(".agents/skills/*/SKILL.md")).read_text()
    assert text == next((ROOT / "trl_grpo_rewards").glob(".agents/skills/*/SKILL.md")).read_text()
    assert text.count("\n") <= 150 and text.startswith("---\nname: trl-grpo-rewards\ndescription: ")
    examples = re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    short = "\n".join(examples).replace("max_steps=2", "max_steps=2, max_completion_length=16")
    before = dict(REGISTRY)
    try:
        exec(compile(short, "skill", "exec"), {"__name__": "skill"})
    finally:
        REGISTRY.clear()
        REGISTRY.update(before)
    assert {row.strip("()") for row in re.findall(r"\| `(\w+)\(", text)} <= {*trl_grpo_rewards.__all__}


def test_examples_and_commands_are_found():
    assert len(EXAMPLES) >= 20 and len(COMMANDS) >= 25
    assert {command.values[0] for command in COMMANDS} == {"train", "check", "score", "report"}


def test_the_script_that_follows_the_pages_takes_every_step():
    """In a fresh environment, `.ci/run` runs it."""
    steps = {page: read_steps((ROOT / page).read_text()) for page in RUN_PAGES}
    for page, taken in steps.items():
        text = (ROOT / page).read_text()
        assert sum(step.kind == "command" for step in taken) == len(
            re.findall("^(?:\\$ )?(?:trl-grpo-r|accel)", text, re.M)
        )
        assert sum(step.kind != "command" for step in taken) == text.count("```python\n") + ("orders.csv" in text)
    assert [step.name for taken in steps.values() for step in taken if step.name] == [
        "mine.py",
        "my_rewards.py",
        "orders.csv",
    ]
    assert [sum(step.has_fault for step in taken) for taken in steps.values()] == [1, 1]


def test_the_readme_fits_145_lines_and_names_files_that_exist():
    readme = PAGES["README.md"]
    assert readme.count("\n") <= 145
    assert len(re.findall(r"^- \[[^]]+\]\(docs/", readme, flags=re.MULTILINE)) == 5
    named = re.findall(r"`((?:docs|examples|scripts)/[\w./]*|[A-Z]+\.md)", readme)
    assert len(named) > 5 and [path for path in named if not (ROOT / path).exists()] == []


def test_the_code_of_the_pages_fits_the_column_of_the_site():
    """At a width of 1280 pixels, the site shows 86 characters of a line."""
    pages = {name: PAGES[name] for name in ["README.md", *[page.name for page in (ROOT / "docs").glob("*.md")]]}
    blocks = [
        (name, block) for name, text in pages.items() for block in re.findall(r"^```\w.*?^```$", text, re.S | re.M)
    ]
    assert [(name, line) for name, block in blocks for line in block.splitlines() if len(line) > 80] == []


def test_every_example_is_named_where_readers_are():
    files = [file for file in (ROOT / "examples").iterdir() if file.suffix in (".py", ".ipynb")]
    texts = PAGES | {file.name: file.read_text() for file in files}
    unnamed = [
        file.name for file in files if not any(file.stem in text for name, text in texts.items() if name != file.name)
    ]
    assert len(files) > 5 and unnamed == []


def test_the_changed_imports_of_the_quickstart_train_and_check(tmp_path, capsys):
    diff = re.search(r"```diff\n(.*?)```", PAGES["README.md"], flags=re.DOTALL)[1].splitlines()
    assert [line for line in diff if line.startswith("-")] == ["-from trl import GRPOConfig, GRPOTrainer"]
    code = "\n".join(line[1:] for line in diff if not line.startswith("-"))
    for old, new in {
        'load_dataset("trl-lib/DeepMath-103K", split="train")': "demo.arithmetic(size=8)",
        "from datasets import load_dataset": "from trl_grpo_rewards import demo",
        '"Qwen/Qwen2-0.5B-Instruct"': "demo.MODEL",
        'GRPOConfig("runs/mine")': f"GRPOConfig({str(tmp_path)!r}, max_steps=1, max_completion_length=8, use_cpu=True, bf16=False)",
    }.items():
        assert code.count(old) == 1
        code = code.replace(old, new)
    before = dict(REGISTRY)
    try:
        exec(compile(code, "quickstart", "exec"), {})
    finally:  # another test may have a function of this name
        REGISTRY.clear()
        REGISTRY.update(before)
    assert next(read_records(tmp_path)) and "found." in capsys.readouterr().out


@pytest.mark.slow
def test_the_fault_in_the_readme_is_what_a_terminal_prints(command, tmp_path):
    line, fault = re.search(
        r"^\$ trl-grpo-rewards (.*?)\n\.\.\.\n(fault: .*?)\n```", PAGES["README.md"], flags=re.DOTALL | re.MULTILINE
    ).groups()
    module = re.search(r"`mine.py` rewards.*?```python\n(.*?)```", PAGES["README.md"], flags=re.DOTALL)[1]
    (tmp_path / "mine.py").write_text(module)
    run = command(*shlex.split(line.replace("\\\n", "")))
    assert run.returncode == 1 and fault in run.stdout


def test_the_readme_tests_the_package_as_the_checks_do():
    line = 'pip install -e ".[test]" && pytest'
    assert f"\n{line} " in PAGES["README.md"] and f"\n{line}\n" in (ROOT / ".ci" / "run").read_text()


def test_the_links_of_the_pages_lead_somewhere():
    for name, text in PAGES.items():
        for link in re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", text):
            folder = ROOT if (ROOT / name).exists() else ROOT / "docs"
            assert (folder / link).exists(), f"{name} links to {link}"


@pytest.mark.slow
def test_the_tutorial_does_what_it_says(command, tmp_path, monkeypatch):
    def run(line):
        monkeypatch.delitem(sys.modules, "my_rewards", raising=False)  # a process of its own would import it
        return command(*shlex.split(line))

    text = PAGES["tutorial.md"]
    code = re.search(r"Save this as `my_rewards.py`.*?```python\n(.*?)```", text, flags=re.DOTALL)[1]
    (tmp_path / "my_rewards.py").write_text(code)
    checks = re.findall(r"^trl-grpo-rewards (check --import my_rewards (?:.*\\\n)*.*)$", text, flags=re.MULTILINE)
    bad, good = (line.replace("\\\n", "") for line in checks)
    fault = re.search(r"^fault: (.*?)\n```", text, flags=re.DOTALL | re.MULTILINE)[1]
    refused, accepted = run(bad), run(good)
    assert refused.returncode == 1 and " ".join(fault.split()) in " ".join(refused.stdout.split())
    assert accepted.returncode == 0
    trained = run(
        "train --import my_rewards --rewards no_hedging() --max_steps 1 --per_device_train_batch_size 32 --eval_prompts 4 --no_check"
    )
    assert trained.returncode == 0 and (tmp_path / "runs" / "addition" / "report.html").exists()


def test_the_table_of_rewards_and_the_stub_are_current():
    subprocess.run([sys.executable, str(ROOT / "scripts" / "list_rewards.py"), "--check"], check=True)
    rows = re.findall(r"^\| `(\w+)\(.*\)` \| (.+) \|$", PAGES["rewards.md"], flags=re.MULTILINE)
    public = {name for name in trl_grpo_rewards.__all__ if isinstance(getattr(trl_grpo_rewards, name), RewardFactory)}
    assert dict(rows).keys() == public and all(len(paid) < 200 for _, paid in rows)
    assert f"There are {len(public)} rewards" in PAGES["README.md"]


def test_the_table_of_record_fields_is_complete(config, problems):
    args = config(max_steps=1)
    FilteredGRPOTrainer(demo.MODEL, boxed(), args=args, train_dataset=problems).train()
    record = next(read_records(args.output_dir))
    table = PAGES["trainer.md"].split("fields of a record")[1].split("run.json")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| [^|]+ \|$", table, flags=re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"\w+", row)} == record.keys() | {
        "row_columns", "logged", "dataset_prompt_id"
    }  # fmt: skip


def test_the_table_of_options_is_complete():
    added = {field.name: field.default for field in fields(FilteredGRPOConfig)}
    added = {name: added[name] for name in added.keys() - {field.name for field in fields(GRPOConfig)}}
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", PAGES["trainer.md"], flags=re.MULTILINE))
    assert {name: eval(default) for name, default in rows.items()} == added
