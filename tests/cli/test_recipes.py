"""The bundled recipes, in which every option exists and every expression builds, and the checkpoints that a job resumes."""

import json
import re

import pytest
import yaml
from accelerate.commands.config.config_args import load_config_from_file

from helpers.processes import Forked
from trl_grpo_rewards import demo, parse
from trl_grpo_rewards.cli.job_files import RECIPE_FOLDER, RECIPES, check_output, choose_checkpoint
from trl_grpo_rewards.cli.job_options import read_job
from trl_grpo_rewards.cli.main import load_options, main, read_line


def read(arguments, command="train"):
    return read_job(read_line(command, arguments)[1], command)


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_recipe_is_read_by_its_name_and_as_a_file(name):
    job, training, model = read(["--config", name, "--seed", "7"])
    for key, value in yaml.safe_load(RECIPES[name].read_text()).items():
        owner = next(part for part in (job, training, model) if hasattr(part, key))
        assert key == "report_to" or getattr(owner, key) == value
    assert training.seed == 7
    assert str(parse(job.rewards)) == job.rewards
    assert vars(read([f"--config={RECIPES[name]}"], "check")[0]).items() >= vars(job).items()


@pytest.mark.parametrize("path", sorted(RECIPE_FOLDER.glob("accelerate_*.yaml")), ids=lambda path: path.stem)
def test_a_launch_configuration_is_read_by_accelerate(path):
    config = load_config_from_file(str(path))
    assert config.num_processes == 8 * config.num_machines
    assert config.distributed_type == {1: "MULTI_GPU", 2: "DEEPSPEED"}[config.num_machines]


DEFAULT = [], "prompt"
MODEL = ["--model_name_or_path", demo.MODEL]
WITH_ANSWERS = {
    "gsm8k": "question",
    "gsm8k_vllm": "question",
    "judged": "question",
    "math_7b": "problem",
    "concise": "problem",
}


@pytest.mark.parametrize(
    "options, question",
    [DEFAULT, *((["--config", name, "--dataset_config="], column) for name, column in WITH_ANSWERS.items())],
    ids=["default", *WITH_ANSWERS],
)
def test_the_default_reward_and_those_of_recipes_pass_the_default_check(options, question, command, tmp_path):
    rows = [{question: f"What is {n} + {n}?", "solution": str(2 * n), "answer": str(2 * n)} for n in range(10, 40)]
    rows = [{**row, "level": "Level 1"} for row in rows]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = json.loads(command("check", *options, "--dataset_name", "sums.jsonl", *MODEL, "--json").stdout)
    assert found["attacks"] and [fault for fault in found["faults"] if "localhost:8000" not in fault] == []


def test_without_arguments_it_is_the_bundled_task():
    job, training, model = read([])
    assert job.dataset_name is model.model_name_or_path is None
    assert (training.max_steps, training.output_dir) == (60, "runs/addition")
    job, training, model = read(["--model_name_or_path=some/model", "--output_dir", "out"])
    assert (training.max_steps, training.learning_rate) == (-1, 1e-6)  # TRL's defaults


@pytest.mark.parametrize("named", ["[a]", "a"])
def test_modules_are_named_together_or_one_by_one_and_replace_those_of_a_recipe(tmp_path, named):
    (tmp_path / "recipe.yaml").write_text(f"import_modules: {named}\n")
    recipe = ["--config", str(tmp_path / "recipe.yaml")]
    for given, modules in (
        (["--trust"], ["a"]),
        (["--import", "b", "c"], ["b", "c"]),
        (["--import", "b", "--import", "c"], ["b", "c"]),
    ):
        assert read([*recipe, *given, "--seed", "7"])[0].import_modules == modules


@pytest.mark.parametrize(
    "recipe, does, remedy",
    [
        ("import_modules: [evil]", "imports evil", "--import evil"),
        ("import_modules: evil", "imports evil", "--import evil"),
        ("rewards: code(backend='evil:Box')", "runs programs with backend='evil:Box'", "--trust"),
        (r"rewards: 2 * code(backend='\x65vil' ':Box')", "runs programs with backend='evil:Box'", "--trust"),
        ("rewards: code(False, 2.0, 1024, 10000, 'evil:Box')", "runs programs with backend='evil:Box'", "--trust"),
        ("trust_remote_code: true", "sets trust_remote_code", "--trust"),
        ("model_init_kwargs: {trust_remote_code: true}", "sets trust_remote_code", "--trust"),
        (r"""model_init_kwargs: '{"trust_remote\u005fcode": true}'""", "sets trust_remote_code", "--trust"),
        ("model_init_kwargs: {allow_all_kernels: true}", "sets allow_all_kernels", "--trust"),
        ("env: {A: 1, B: 2}\nimport_modules: [evil]\ntrust: true", "imports evil and sets the environment variables A, B", "--trust"),
    ],
)  # fmt: skip
def test_a_recipe_acts_only_as_far_as_the_command_line_allows(recipe, does, remedy, tmp_path, monkeypatch, command):
    (tmp_path / "evil.py").write_text("open('imported', 'w').close()\n")
    (tmp_path / "it.yaml").write_text(recipe)
    run = command("check", "--config", "it.yaml", "--trust", "false")
    assert (run.returncode, run.stderr) == (
        2,
        f"error: The recipe 'it.yaml' {does}, which acts only if the command line allows it. If you know the recipe, add {remedy}.\n",
    )
    assert not (tmp_path / "imported").exists()
    monkeypatch.setenv("A", "0")
    monkeypatch.setenv("B", "0")
    job, training, model = read(["--config", str(tmp_path / "it.yaml"), *remedy.split()], "check")
    assert "import_modules" not in recipe or job.import_modules == ["evil"]


def test_no_spelling_of_an_option_gets_past_the_question_for_trust(tmp_path, capsys, monkeypatch):
    """Each spelling of an option either is its full name, for which trust is judged, or is refused before anything acts."""
    (tmp_path / "evil.py").write_text("open('imported', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    options = [one for command in ("check", "train") for one in load_options(command)]
    names = {one["name"] for one in options}
    aliases = {spelling.lstrip("-") for one in options for spelling in one["spellings"]} - names
    assert {"import", "no_packing"} <= aliases and {"import_modules", "trust_remote_code"} <= names
    for name in ["import_modules", "trust", "trust_remote_code", *aliases]:
        aliases |= {name.replace("_", "-"), name[:-1], name.upper(), f"--{name}", f"{name}=evil.", f" {name}"}
    for alias in aliases - names:
        (tmp_path / "it.yaml").write_text(f"{json.dumps(alias)}: evil\n")
        assert main_status(["check", "--config", "it.yaml", "--trust"]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "imported").exists()


def main_status(arguments):
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    return exit.value.code


def test_an_alias_in_a_recipe_imports_nothing(tmp_path):
    (tmp_path / "evil.py").write_text("open('imported', 'w').close()\n")
    (tmp_path / "it.yaml").write_text("import: evil\n")
    run = Forked("check", "--config", "it.yaml", cwd=tmp_path).wait()
    assert not (tmp_path / "imported").exists()
    assert (run.returncode, run.stderr) == (
        2,
        "error: '--import' in the recipe is not an option. Write import_modules.\n",
    )


@pytest.mark.parametrize(
    "recipe", ["<<: {import_modules: [evil]}", "a: &a evil\nimport_modules: *a", "import_modules: !!seq [evil]"]
)
def test_yaml_hides_no_option_from_the_question_for_trust(recipe, tmp_path, command):
    (tmp_path / "evil.py").write_text("open('imported', 'w').close()\n")
    (tmp_path / "it.yaml").write_text(recipe)
    run = command("check", "--config", "it.yaml")
    assert run.returncode == 2 and not (tmp_path / "imported").exists()


@pytest.mark.parametrize(
    "recipe, problem", [("[" * 20_000, "recursion depth"), (f"seed: {'9' * 5000}", "Exceeds the limit")]
)
def test_a_recipe_that_cannot_be_read_is_one_sentence(recipe, problem, tmp_path, command):
    (tmp_path / "it.yaml").write_text(recipe)
    run = command("check", "--config", "it.yaml")
    assert run.returncode == 2 and problem in run.stderr and run.stderr.count("\n") == 1


@pytest.mark.parametrize("name", [name for name in sorted(RECIPES) if name.startswith("smollm2")])
def test_the_recipes_of_a_small_model_pass_the_check_without_it(name, tmp_path, capsys):
    rows = tmp_path / "problems.jsonl"
    rows.write_text(
        "".join(json.dumps({"question": f"What is {n} + 1?", "answer": f"#### {n + 1}"}) + "\n" for n in range(40))
    )
    own = ["--dataset_name", "json", "--data_files", str(rows)] if name.endswith("gsm8k") else []
    with pytest.raises(SystemExit, match="0"):
        main(["check", "--config", name, "--model_name_or_path", demo.MODEL, *own])
    assert capsys.readouterr().out.rstrip().split("\n\n")[-1].startswith("No fault found")


def test_only_auto_starts_anew_without_a_checkpoint(tmp_path):
    assert choose_checkpoint(tmp_path, None) is None and choose_checkpoint(tmp_path, "mine") == "mine"
    assert choose_checkpoint(tmp_path, "auto") is None and choose_checkpoint(tmp_path, "true") == "true"


@pytest.mark.parametrize("state", [None, "", '{"epoch": 0.5, "log_his'])
def test_a_checkpoint_that_is_not_complete_is_refused(tmp_path, state):
    for name, text in (("best", json.dumps({"global_step": 5})), ("1", state)):
        folder = tmp_path / f"checkpoint-{name}"
        folder.mkdir()
        for part in ("optimizer.pt", "scheduler.pt") if name == "best" else ():
            (folder / part).touch()
        if text is not None:
            (folder / "trainer_state.json").write_text(text)
    lacks = "is not a complete checkpoint: it has no trainer_state.json, which is written last. The complete checkpoints of "
    for resume in (str(tmp_path / "checkpoint-1"), "true"):
        said = f"'{resume}' {lacks}'{tmp_path}': {tmp_path / 'checkpoint-best'}. Pass --resume_from_checkpoint auto"
        with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
            check_output(tmp_path, resume)
