"""The package from outside: what it exports, what importing it costs, and that nothing stands in two places."""

import contextlib
import io
import json
import os
import subprocess
import sys
import traceback
from functools import partial

import pytest
from datasets import Dataset

import trl_grpo_rewards
from helpers.every_reward import WITH_OPTIONS
from helpers.processes import FRESH, run_in_spawned_child
from trl_grpo_rewards import boxed, demo, parse
from trl_grpo_rewards.checks import as_text, check
from trl_grpo_rewards.cli.main import main
from trl_grpo_rewards.registry import REGISTRY


def test_the_exported_members_are_the_public_names():
    assert len(trl_grpo_rewards.__all__) == len({*trl_grpo_rewards.__all__})
    ours = {name for name, maker in REGISTRY.items() if maker.__module__.startswith("trl_grpo_rewards.rewards.")}
    assert ours <= {*trl_grpo_rewards.__all__}
    for name in trl_grpo_rewards.__all__:
        assert getattr(trl_grpo_rewards, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'nothing_alike'"):
        _ = trl_grpo_rewards.nothing_alike


FOLDERS = ["", ".rewards", ".tools", ".answers", ".judging", ".records", ".checks", ".report", ".demo"]
IMPORTS = """
import importlib, pkgutil, sys
import trl_grpo_rewards as ours

ours.parse('gate(tags("a"), by=boxed)')
print(*sys.modules)
for folder in sys.argv[1:]:
    package = importlib.import_module(f"trl_grpo_rewards{folder}")
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if not module.ispkg and not module.name.endswith(("__main__", "judging.client")):
            importlib.import_module(module.name)
            print(module.name, *sys.modules)
"""


def test_only_what_trains_loads_torch_or_trl():
    command = [sys.executable, "-c", IMPORTS, *FOLDERS]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    of_package, *of_modules = map(str.split, lines)
    heavy = {"torch", "trl", "transformers", "datasets"}
    assert {*heavy, "numpy", "sympy", "math_verify"}.isdisjoint(of_package)
    assert "trl_grpo_rewards.rewards.answers" in of_package and len(of_modules) > 50
    assert [line[0] for line in of_modules if not heavy.isdisjoint(line[1:])] == []


WITHOUT = """
import importlib, pkgutil, sys
import trl


class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(sys.argv[1]):
            raise ModuleNotFoundError(f"No module named {name!r}")


trl.GRPOTrainer  # which may load these modules
for name in [name for name in sys.modules if name.startswith(sys.argv[1])]:
    sys.modules[name] = None
sys.meta_path.insert(0, Blocked())
import trl_grpo_rewards as ours

print(ours.FilteredGRPOTrainer.__name__)
for module in pkgutil.walk_packages(ours.__path__, "trl_grpo_rewards."):
    if not module.name.endswith(("__main__", ".client")) and ".inside" not in module.name:
        importlib.import_module(module.name)
        print(module.name)
"""


def import_without(module):
    return subprocess.run([sys.executable, "-c", WITHOUT, module], capture_output=True, text=True)


@pytest.mark.slow
def test_nothing_needs_what_trl_calls_experimental():
    run = import_without("trl.experimental")
    assert run.returncode == 0, run.stderr
    name, *modules = run.stdout.split()
    assert name == "FilteredGRPOTrainer" and len(modules) > 100


@pytest.mark.slow
def test_a_module_that_trl_has_moved_is_named():
    run = import_without("trl.trainer.utils")
    assert "requires the module trl.trainer.utils, which trl " in run.stderr.splitlines()[-1]


OPTIONAL = {  # what is not needed by a plain installation, and the rewards that need it
    "argcomplete": set(),
    "jsonschema_rs": {"json_text"},
    "langdetect": set(),  # single constraints of `instructions` need it
    "openai": {"appeal", "judge", "ranking"},
    "peft": set(),
    "syllapy": set(),
    "tensorboard": set(),
    "wandb": set(),
}


EXPRESSIONS = [
    *(line for line in WITH_OPTIONS.strip().splitlines()),
    "boxed() + exact()", "code()", "instructions()", "json_fields()", "tool_calls()",
    "judge(model='m', rubric='Is it good?')", "ranking(model='m', rubric='Is it good?')",
    "appeal(boxed(), to=judge(model='m', rubric='Is it good?'))",
]  # fmt: skip
RESULTS = {"prompt": [f"{n} + {n}?" for n in range(20)], "result": [str(2 * n) for n in range(20)]}
PROMPTS = ["--dataset_name", "prompts.jsonl", "--rewards", "length(target=20)"]
JOBS = [
    ["check", "--dataset_name", "mails.csv", "--prompt_column", "mail", "--rewards", "json_fields(solution='fields')"],
    ["check", *PROMPTS],
    ["train", *PROMPTS, "--model_name_or_path", demo.MODEL, *"--max_steps 1 --use_cpu --bf16 false".split()],
]


def use_without(package, folder, queue):
    """Put the rewards that need a package into the queue, the output of jobs without it, and what `check` says."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package] + [package]:
        sys.modules[name] = None
    os.chdir(folder)
    needing = set()
    for expression in EXPRESSIONS:
        try:
            parse(expression)
        except ImportError:
            needing.add(expression.partition("(")[0])
    said = [run_job(partial(main, job)) for job in JOBS]
    rewards, dataset = boxed(solution="result", evaluated=True), Dataset.from_dict(RESULTS)
    queue.put((needing, [*said, run_job(lambda: print(as_text(check(rewards, dataset))))]))


def run_job(job):
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            job()
        except SystemExit as exit:
            print("exit status", exit.code)
        except Exception:
            traceback.print_exc(file=output)
    return output.getvalue()


@pytest.mark.parametrize("package", OPTIONAL)
def test_no_optional_package_is_needed_by_what_does_not_use_it(package, tmp_path):
    mails = [f'"Two for Ann{n}, please.","{{""name"": ""Ann{n}"", ""tickets"": 2}}"\n' for n in range(20)]
    (tmp_path / "mails.csv").write_text("".join(["mail,fields\n", *mails]))
    prompts = [json.dumps({"prompt": f"Tell me about {n} dogs."}) + "\n" for n in range(20)]
    (tmp_path / "prompts.jsonl").write_text("".join(prompts))
    needing, said = run_in_spawned_child(use_without, package, tmp_path, context=FRESH)
    assert needing == OPTIONAL[package]
    assert [text for text in said if "Traceback" in text or package in text] == []
    assert "No fault found." in said[0] and "form alone earns the full reward" in said[1] and "1/1" in said[2]
    assert "boxed(solution='result') fits" in said[3] and "No fault found." in said[3]


def test_a_misspelt_name_is_told_what_may_be_meant_unless_it_is_that_of_a_module():
    """`from trl_grpo_rewards import records` asks the package for the name first, and `records` is like `reward`."""
    for name, meant in {"boxd": "boxed", "gates": "gate", "FilteredGRPOTrainr": "FilteredGRPOTrainer"}.items():
        with pytest.raises(ImportError, match=f"trl_grpo_rewards has no '{name}'. Did you mean '{meant}'?"):
            getattr(trl_grpo_rewards, name)
    asked = "import trl_grpo_rewards as t; print([hasattr(t, name) for name in ('records', 'report', 'options', '__wrapped__')])"
    found = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    assert found.stdout == "[False, False, True, False]\n"
