"""The bundled recipes, which are YAML files with options. Loads no torch or TRL."""

import ast
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from typing import Any

from .data_files import FORMATS, find_ending


RECIPE_FOLDER = Path(__file__).with_name("recipes")

RECIPES = {file.stem: file for file in RECIPE_FOLDER.glob("*.yaml") if not file.stem.startswith("accelerate")}
"""Files of the bundled recipes by name. `addition` is the default job: the bundled model on the bundled task.
`code` has another bundled model and task."""


DEFAULT_RECIPE = "addition"
"""The recipe of a command line that names no recipe, model or dataset."""


def find_recipe(name: str) -> Path:
    """Return a file of options, or the bundled recipe of this name."""
    if find_ending(name) in FORMATS.keys() - {"json"}:  # YAML contains JSON
        raise ValueError(
            f"A recipe must be a YAML file, but {name!r} is a dataset. Write --dataset_name {quote(name)}."
        )
    if Path(name).is_file():
        return Path(name)
    if name in RECIPES:
        return RECIPES[name]
    if not name:
        raise ValueError(f"--config must be followed by a YAML file or a recipe: {', '.join(sorted(RECIPES))}.")
    close = get_close_matches(name, RECIPES, n=1)
    raise ValueError(
        f"{f'Did you mean --config {close[0]}? ' if close else ''}--config must be a YAML file or the name of a recipe; there "
        f"is no file {name!r}, and the recipes are {', '.join(sorted(RECIPES))}. Choose one of these, or give the path of a "
        f"file."
    )


def list_programs(rewards: str) -> list[str]:
    """Return the options of an expression that name a module, an interpreter or packages."""
    try:
        nodes = [node for node in ast.walk(ast.parse(rewards.strip(), mode="eval")) if isinstance(node, ast.keyword)]
    except (SyntaxError, ValueError, RecursionError):
        return []  # it is refused when it is read
    return [ast.unparse(one) for one in nodes if one.arg in ("backend", "python", "packages")]


def check_trust(name: str, recipe: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise `ValueError` if a recipe does more than set options, unless what is given on the command line allows it."""
    listed = [] if "import_modules" in given else recipe.get("import_modules") or []
    modules = [listed] if isinstance(listed, str) else listed
    does = [f"imports {', '.join(map(str, modules))}"] if modules else []
    if "rewards" not in given and (options := list_programs(str(recipe.get("rewards")))):
        does.append(f"runs programs with {', '.join(options)}")
    if any("trust_remote_code" in (option if value else "") + str(value) for option, value in recipe.items()):
        does.append("sets trust_remote_code")
    if variables := recipe.get("env"):
        does.append(f"sets the environment variables {', '.join(map(str, variables))}")
    if does and "trust" not in given:
        remedy = f"--import {' '.join(map(str, modules))}" if modules and len(does) == 1 else "--trust"
        raise ValueError(
            f"The recipe {name!r} {' and '.join(does)}, which acts only if the command line allows it. If you know the "
            f"recipe, add {remedy}."
        )


def read_recipe(name: str) -> dict[str, Any]:
    """Return the options of a file or of a bundled recipe."""
    import yaml

    file = find_recipe(name)
    try:
        options = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise ValueError(f"The recipe {name!r} is not valid YAML: {problem}. Correct it.") from None
    if not isinstance(options, dict):
        raise ValueError(
            f"The recipe {name!r} must contain options such as max_steps: 100; got {type(options).__name__}. Correct it."
        )
    return {str(option): value for option, value in options.items()}
