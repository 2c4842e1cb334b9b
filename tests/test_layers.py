"""Folders import only from layers below and from folders in them, and no two modules import each other."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import trl_grpo_rewards


PACKAGE = Path(trl_grpo_rewards.__file__).parent
TESTS = Path(__file__).parent
LAYERS = [
    {"answers.mathematics"},
    {"answers.mathematics.kinds"},
    {"answers.mathematics.grammar"},  # the table of all kinds
    {"algebra"},  # the modules at the top of the package
    {"answers", "judging", "tools", "records", "constraints"},
    {"sandbox", "diagnosis"},
    {"sandbox.programs"},
    {"rewards", "report", "checks", "training", "demo"},
    {"cli"},
]
WINGS = {"answers": 6, "sandbox": 8}
"""Folders that could be packages of their own, and how many names each may import from the rest."""

LAYER_OF = {name: level for level, names in enumerate(LAYERS) for name in names}
MODULES = {
    ".".join(file.relative_to(PACKAGE).with_suffix("").parts): file
    for file in PACKAGE.rglob("*.py")
    if file.name != "__init__.py"
}


def imports(module: str) -> set[str]:
    """Return the modules of the package that a module imports, also inside functions and for type checkers only."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            parent = [*module.split(".")[: -node.level], *(node.module or "").split(".")]
            base = ".".join(filter(None, parent))
            found |= {name for alias in node.names if (name := f"{base}.{alias.name}".lstrip(".")) in MODULES}
            found |= {base} & {*MODULES}
    return found


def layer_of(module: str) -> int:
    """Return the layer of a module, which is that of its folder if it has none of its own."""
    while module not in LAYER_OF:
        module = module.rpartition(".")[0] or "algebra"
    return LAYER_OF[module]


def test_imports_go_down():
    graph = {module: imports(module) for module in MODULES}
    assert sum(map(len, graph.values())) > 150
    upward = [
        (module, other)
        for module, others in graph.items()
        for other in others
        if layer_of(other) > layer_of(module)
        or (layer_of(other) == layer_of(module) and not other.startswith(module.rpartition(".")[0]))
    ]
    assert not upward
    assert [*TopologicalSorter(graph).static_order()]  # raises CycleError


@pytest.mark.parametrize("wing", WINGS)
def test_a_wing_imports_few_names_from_the_rest(wing):
    found = set()
    for module, file in MODULES.items():
        for node in ast.walk(ast.parse(file.read_text())) if module.startswith(f"{wing}.") else ():
            if isinstance(node, ast.ImportFrom) and node.level > module.count("."):
                source = ".".join([*module.split(".")[: -node.level], node.module or ""])
                found |= {f"{source}.{alias.name}" for alias in node.names if not source.startswith(wing)}
    assert 0 < len(found) <= WINGS[wing], sorted(found)


def test_no_module_has_the_name_of_a_public_function():
    public = {name for name in trl_grpo_rewards.__all__ if not name[0].isupper()}
    assert public.isdisjoint(module.split(".")[-1] for module in MODULES)
