"""The notebooks run from top to bottom in a kernel, one after the other, with fewer steps, and show what their texts say."""

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


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the cells of each notebook show. They run in one kernel, with other parameters and without the installation."""
    nbformat, nbclient, _ = map(pytest.importorskip, ("nbformat", "nbclient", "peft"))
    folder = tmp_path_factory.mktemp("notebooks")
    rows = [
        {"question": row["prompt"][-1]["content"], "answer": f"Adding.\n#### {row['solution']}"}
        for row in demo.arithmetic(size=32)
    ]
    (folder / "problems.jsonl").write_text("\n".join(map(json.dumps, rows)))
    files = "{'path': 'json', 'data_files': 'problems.jsonl'}"
    cells = {}
    for name, parameters in {
        "from_reward_to_report": "MAX_STEPS = 2",
        "real_model_on_a_gpu": f"MODEL, MAX_STEPS, DATASET = {demo.MODEL!r}, 1, {files}",
    }.items():
        notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
        cells[name] = [cell for cell in notebook.cells if "install" not in cell.metadata.get("tags", ())]
        own = next(cell for cell in cells[name] if "parameters" in cell.metadata.get("tags", ()))
        own.source = f"%reset -f\n{own.source}\n{parameters}"
    notebook.cells = [cell for own in cells.values() for cell in own]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        patch.setenv("HF_HUB_OFFLINE", "1")
        nbclient.NotebookClient(notebook, timeout=80, resources={"metadata": {"path": str(folder)}}).execute()
    pages = [page.read_text(encoding="utf-8") for page in sorted(folder.glob("runs/*/report.html"))]
    assert len(pages) == 2 and all(page.startswith("<!doctype html>") for page in pages)
    return {name: [show(cell) for cell in own if cell.cell_type == "code"] for name, own in cells.items()}


@pytest.mark.slow
def test_the_notebook_from_a_reward_to_a_report_runs(shown):
    shown = shown["from_reward_to_report"]
    assert "boxed(name='accuracy') + 0.2 * shows_working()" in shown[1]
    assert shown[2].count("<tr>") == 5 and "<td>1.2</td>" in shown[2]
    assert "fault: The attack 'question restated'" in shown[3] and "1 fault found." in shown[3]
    assert "No fault found." in shown[4]
    assert "groups/dead" in shown[6] and " -> " in shown[6]
    assert "What is " in shown[7] and shown[7].count("<tr>") == 8  # a group of 8
    assert "runs/notebook/report.html" in shown[8]


@pytest.mark.slow
def test_the_notebook_for_a_gpu_runs(shown):
    shown = shown["real_model_on_a_gpu"]
    assert "No fault found." in shown[2] and "eval_rewards/boxed/mean" in shown[3]
    assert "tokens computed" in shown[4] and "runs/gpu/report.html" in shown[5]


def show(cell) -> str:
    """Return what a cell prints and shows."""
    return "".join(
        one.get("text", "") + one.get("data", {}).get("text/html", one.get("data", {}).get("text/plain", ""))
        for one in cell.outputs
    )
