"""The benchmarks of the trainer run, and their token counts hold for any load of the machine."""

import json

import pytest

from helpers.paths import SCRIPTS
from helpers.processes import Forked


@pytest.mark.slow
def test_runs_of_both_trainers_are_compared_on_the_same_rows(tmp_path):
    job = "--cases kl iterations --model tiny --rows 16 --accumulate 8 --mean 20 --cap 64 --steps 1 --pairs 1"
    table = run(
        tmp_path, "bench_trainer.py", *job.split(), "--dead", 0.5, "--generation", "--json", tmp_path / "found.json"
    )
    assert table.count("\n|") == 4
    for case in json.loads((tmp_path / "found.json").read_text())["cases"]:
        (pair,) = case["pairs"]
        if case["case"] == "kl":  # it needs the dead rows too
            assert pair["base"]["needed"] == pair["ours"]["needed"]
        for kind in ("with", "without"):
            theirs, ours = case[f"padding {kind} gradient"]
            assert 1 <= ours < theirs
        assert pair["ours"]["generation"] > 0 and pair["ours"]["step"] > pair["ours"]["update"]


@pytest.mark.slow
def test_the_benchmark_for_a_gpu_writes_its_table_on_a_cpu(tmp_path):
    options = "--rows 16 --mean 20 --cap 64 --shapes tiny --prompt 20"
    printed = run(tmp_path, "bench_gpu.py", *options.split(), "--output_dir", tmp_path)
    table = (tmp_path / "table.md").read_text()
    assert table.strip() in printed and table.count("\n| tiny") == 2
    for case in json.loads((tmp_path / "results.json").read_text())["cases"]:
        (theirs, ours), passes, update = (case[name] for name in ("padding", "passes", "update"))
        assert 0.9 < ours < theirs and 1 <= passes[1] < passes[0] == 4
        assert case["ratio"] == pytest.approx(update[1] / update[0])
        low, high, *_ = case["quartiles"][0]
        assert low <= update[0] <= high
    lengths = (tmp_path / "lengths.json").read_text()
    run(tmp_path, "bench_gpu.py", *options.split(), "--output_dir", tmp_path, "--dead", 0, "--lengths", "lengths.json")
    assert (tmp_path / "lengths.json").read_text() == lengths


@pytest.mark.slow
def test_both_trainers_take_turns_in_a_recipe(tmp_path):
    table = run(tmp_path, "bench_recipes.py", "addition", "--steps", 2, "--set", "max_completion_length=8")
    recipe, *cells = table.splitlines()[-1].strip("| ").split(" | ")
    theirs, ours, ratio, *step = map(float, cells)
    assert recipe == "addition" and ratio == pytest.approx(ours / theirs, rel=0.05) and step[0] > theirs


def run(folder, script, *options):
    done = Forked(SCRIPTS / script, *options, cwd=folder).wait()
    assert done.returncode == 0, done.stderr
    return done.stdout
