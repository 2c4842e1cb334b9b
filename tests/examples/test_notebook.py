"""The notebooks run from top to bottom in a kernel of their own, with fewer steps, and show what their texts say."""

import json

import pytest

from helpers.paths import TESTS
from trl_grpo_rewards import demo


EXAMPLES = TESTS.parent / "examples"


@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda file: file.stem)
def test_notebooks_are_stored_without_outputs(notebook):
    """Outputs would be claims that no test repeats, with paths and times of one machine."""
    text = notebook.read_text(encoding="utf-8")
    code = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert code and all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    for cell in code:
        if "install" not in cell["metadata"].get("tags", ()):
            compile("".join(cell["source"]), notebook.name, "exec")
    assert text.endswith("}\n")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a notebook with other parameters and without the installation. Return what each of its cells shows."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def run(name: str, parameters: str) -> list[str]:
        notebook = nbformat.read(EXAMPLES / name, as_version=4)
        tags = [cell.metadata.get("tags", ()) for cell in notebook.cells]
        notebook.cells = [cell for cell, own in zip(notebook.cells, tags, strict=True) if "install" not in own]
        next(
            cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ())
        ).source += f"\n{parameters}"
        nbclient.NotebookClient(notebook, timeout=80, resources={"metadata": {"path": str(tmp_path)}}).execute()
        return [show(cell) for cell in notebook.cells if cell.cell_type == "code"]

    return run


@pytest.mark.slow
def test_the_notebook_from_a_reward_to_a_report_runs(run, tmp_path):
    shown = run("from_reward_to_report.ipynb", "MAX_STEPS = 3")
    assert "boxed(name=&#x27;accuracy&#x27;) + 0.2 * shows_working()" in shown[1]
    assert shown[2].count("<tr>") == 6 and ">1.2</code>" in shown[2]
    assert "fault: The attack 'question restated'" in shown[3] and "1 fault found." in shown[3]
    assert "No fault found." in shown[4]
    assert "groups/dead" in shown[6] and " -> " in shown[6]
    assert "What is " in shown[7] and shown[7].count("<tr>") == 9  # a group of 8 under its titles
    assert "runs/notebook/report.html" in shown[8]
    assert (tmp_path / "runs" / "notebook" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.slow
def test_the_notebook_for_a_gpu_runs(run, tmp_path):
    pytest.importorskip("peft")
    rows = [
        {"question": row["prompt"][-1]["content"], "answer": f"Adding.\n#### {row['solution']}"}
        for row in demo.arithmetic(size=32)
    ]
    (tmp_path / "problems.jsonl").write_text("\n".join(map(json.dumps, rows)))
    shown = run(
        "real_model_on_a_gpu.ipynb",
        f"MODEL, MAX_STEPS, DATASET = {demo.MODEL!r}, 2, {{'path': 'json', 'data_files': 'problems.jsonl'}}",
    )
    assert "No fault found." in shown[2] and "eval_rewards/boxed/mean" in shown[3]
    assert "tokens computed" in shown[4] and "runs/gpu/report.html" in shown[5]
    assert (tmp_path / "runs/gpu/report.html").exists()


def show(cell) -> str:
    """Return what a cell prints and shows."""
    return "".join(
        one.get("text", "") + one.get("data", {}).get("text/html", one.get("data", {}).get("text/plain", ""))
        for one in cell.outputs
    )
