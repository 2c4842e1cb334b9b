"""The notebook runs from top to bottom in a kernel of its own, with fewer steps, and shows what its text says."""

import json

import pytest

from helpers.paths import TESTS


NOTEBOOK = TESTS.parent / "examples" / "from_reward_to_report.ipynb"


def read_cells() -> list[dict]:
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def test_the_notebook_is_stored_without_outputs():
    """Outputs would be claims that no test repeats, with paths and times of one machine."""
    code = [cell for cell in read_cells() if cell["cell_type"] == "code"]
    assert code and all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    for cell in code:
        compile("".join(cell["source"]), NOTEBOOK.name, "exec")
    assert NOTEBOOK.read_text(encoding="utf-8").endswith("}\n")


@pytest.mark.slow
def test_the_notebook_runs(tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    parameters = next(cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ()))
    parameters.source += "\nMAX_STEPS = 3"
    nbclient.NotebookClient(notebook, timeout=80, resources={"metadata": {"path": str(tmp_path)}}).execute()

    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = {place: show(cell) for place, cell in enumerate(code)}
    assert "boxed(name=&#x27;accuracy&#x27;) + 0.2 * shows_working()" in shown[1]
    assert shown[2].count("<tr>") == 6 and ">1.2</code>" in shown[2]
    assert "fault: The attack 'question restated'" in shown[3] and "1 fault found." in shown[3]
    assert "No fault found." in shown[4]
    assert "groups/dead" in shown[6] and " -> " in shown[6]
    assert "What is " in shown[7] and shown[7].count("<tr>") == 9  # a group of 8 under its titles
    assert "runs/notebook/report.html" in shown[8]
    assert (tmp_path / "runs" / "notebook" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def show(cell) -> str:
    """Return what a cell prints and shows."""
    return "".join(
        one.get("text", "") + one.get("data", {}).get("text/html", one.get("data", {}).get("text/plain", ""))
        for one in cell.outputs
    )
