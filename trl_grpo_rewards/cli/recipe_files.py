"""The bundled recipes, which are YAML files with options. Loads no torch or TRL."""

from pathlib import Path


RECIPE_FOLDER = Path(__file__).with_name("recipes")

RECIPES = {file.stem: file for file in RECIPE_FOLDER.glob("*.yaml") if not file.stem.startswith("accelerate")}
"""Files of the bundled recipes by name. `addition` is the default job: the bundled model on the bundled task.
`code` has another bundled model and task."""


def split_config(argument: str) -> list[str]:
    """Split `--config=FILE` into two arguments, which is the only form that TRL's parser reads."""
    return argument.split("=", 1) if argument.startswith("--config=") else [argument]


def find_recipe(name: str) -> Path:
    """
    Return a file of options, or the bundled recipe of this name.

    Raises:
        `ValueError`: there is neither.
    """
    if not Path(name).is_file() and name not in RECIPES:
        raise ValueError(
            f"--config must be a YAML file or the name of a recipe; there is no file {name!r}, and the recipes are "
            f"{', '.join(sorted(RECIPES))}. Choose one of these, or give the path of a file."
        )
    return Path(name) if Path(name).is_file() else RECIPES[name]
