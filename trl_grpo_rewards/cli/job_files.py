"""The files of a job: its recipe, its data, and the folder of its run. Loads no torch or TRL."""

import contextlib
import csv
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ..demo import CODER, MODEL, arithmetic, mails, programs, requests
from ..files import choose_last_checkpoint, describe_fault, list_checkpoints


if TYPE_CHECKING:
    from datasets import Dataset
    from yaml import MarkedYAMLError

RECIPE_FOLDER = Path(__file__).with_name("recipes")
# Files of the bundled recipes by name. `addition` is the default job: the bundled model on the bundled task. `code`
# has another bundled model and task.
RECIPES = {file.stem: file for file in RECIPE_FOLDER.glob("*.yaml") if not file.stem.startswith("accelerate")}
DEFAULT_RECIPE = "addition"  # the recipe of a command line that names no recipe, model or dataset

BUNDLED: "dict[str, Callable[..., Dataset]]" = {  # functions that return the bundled datasets, by the names of these
    "demo.arithmetic": arithmetic,
    "demo.programs": programs,
    "demo.requests": requests,
    "demo.mails": mails,
}
BUNDLED_MODELS = {None: MODEL, "demo.arithmetic": MODEL, "demo.programs": CODER}  # by dataset

# The format of the files with each ending.
FORMATS = {"csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "parquet": "parquet", "arrow": "arrow"}
SIGNATURES = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\x1f\x8b": "gz"}  # how files with the wrong ending begin
RUNS_CODE = ("trust_remote_code", "allow_all_kernels")  # settings with which transformers runs code from a hub
FROM_WEIGHTS = "start a new run from its weights, in another --output_dir."  # a checkpoint is not complete


def find_recipe(name: str) -> Path:
    if Path(name).is_file():
        return Path(name)
    if name in RECIPES:
        return RECIPES[name]
    close = get_close_matches(name, RECIPES, n=1)
    raise ValueError(
        f"{f'Did you mean --config {close[0]}? ' if close else ''}--config must be a YAML file or the name of a recipe; "
        f"got '{name}'. The recipes are {', '.join(sorted(RECIPES))}. Choose one of them, or give the path of a file that "
        f"exists."
    )


def refuse(faults: Sequence[ValueError]) -> None:
    """Raise one error with all faults, if there are any."""
    if faults:
        raise ValueError(" ".join(map(str, faults)))


def find_lacking_trust(name: str | None, recipe: Mapping[str, Any], line: Mapping[str, Any]) -> Iterator[ValueError]:
    """Yield the fault of a recipe that does more than set options, unless the rest of the command line allows it."""
    if "trust" in line:
        return
    modules = [] if "import_modules" in line else list_modules(recipe)
    imports = [f"imports {', '.join(modules)}"] if modules else []
    others = [f"sets {setting}" for setting in RUNS_CODE if sets(recipe, setting)]
    if variables := recipe.get("env"):
        others.append(f"sets the environment variables {', '.join(map(str, variables))}")
    if imports or others:
        yield ask_for_trust(name, imports + others, "--trust" if others else f"--import {' '.join(modules)}")


def choose_model(model: str | None, dataset: str | None) -> str | None:
    return model or BUNDLED_MODELS.get(dataset)


def find_lacking_model(model: str | None, dataset: str | None, files: Sequence[str] | None) -> Iterator[ValueError]:
    """Yield the fault of a job that names no model for a dataset without a bundled one."""
    if choose_model(model, dataset) is None:
        yield ValueError(
            f"The dataset '{', '.join(files or [str(dataset)])}' needs --model_name_or_path, because the bundled models know "
            f"only their own tasks. To try a bundled model, set it to {MODEL}."
        )


def list_modules(recipe: Mapping[str, Any]) -> list[str]:
    modules = recipe.get("import_modules") or []
    return [*map(str, [modules] if isinstance(modules, str) else modules)]


def sets(recipe: Mapping[str, Any], setting: str) -> bool:
    """Whether a recipe has a setting, as an option that is on, or within the value of another one."""
    return any(setting in (option if value else "") + write_out(value) for option, value in recipe.items())


def write_out(value: Any) -> str:
    """Return the value of an option as text. JSON, which TRL reads, is written without its escapes."""
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        return str(json.loads(value))
    return str(value)


def ask_for_trust(name: str | None, actions: Sequence[str], remedy: str = "--trust") -> ValueError:
    return ValueError(
        f"The recipe '{name}' {' and '.join(actions)}, which acts only if the command line allows it. If you know the "
        f"recipe, add {remedy}."
    )


def read_recipe(name: str | None) -> dict[str, Any]:
    if name is None:
        return {}
    import yaml

    file = find_recipe(name)
    try:
        text = file.read_text(encoding="utf-8")
        options = yaml.safe_load(text)
        if not isinstance(options, dict):
            raise yaml.YAMLError("it has no options such as max_steps: 100")
    except yaml.MarkedYAMLError as error:
        raise ValueError(f"The recipe '{name}' is not valid YAML: {describe_yaml_fault(error, text)}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise ValueError(f"The recipe '{name}' is not valid YAML: {problem}. Correct it.") from None
    return {str(option): value for option, value in options.items()}


def describe_yaml_fault(error: "MarkedYAMLError", text: str) -> str:
    """Return what is wrong in a line of a recipe, and what to do. YAML's own messages do not explain the usual faults."""
    problem = str(error.problem)
    if error.problem_mark is None:
        return f"{problem}. Correct it."
    number = error.problem_mark.line
    line = text.splitlines()[number : number + 1]
    shown = "".join(line).strip()
    if "'\\t'" in problem:
        return f"line {number + 1} has a tab: {shown!r}. Use spaces."
    if problem.startswith("mapping values"):
        if ": " in "".join(line)[: error.problem_mark.column]:
            return f"line {number + 1} has a colon in a value: {shown!r}. Put the value in quotes."
        return f"line {number + 1} is indented: {shown!r}. Begin each option at the start of its line."
    return f"{' '.join(str(error).split())}. Correct it."


def find_ending(name: str) -> str:
    return Path(name.removesuffix(".gz")).suffix[1:].lower()


def name_format(name: str | None, data_files: Sequence[str] | None) -> tuple[str | None, Sequence[str] | None]:
    """Return the format of files as the name of their dataset, if the name is a file, or is missing next to files."""
    if name is None or name in FORMATS:
        check_data_files(data_files or ())
    files = data_files
    if name is not None:
        check_name(name)
        if not data_files:
            check_data_folder(name)
        files = None
        if Path(name).is_file():
            files = [name]
    if files:
        return (find_file_format(files[0]), files)
    return (name, data_files)


def check_name(name: str) -> None:
    """Raise an error if a name that is not on this machine is a misspelled one, or that of a file."""
    if name in BUNDLED or (name and Path(name).exists()):
        return
    if "/" not in name and (close := get_close_matches(name, BUNDLED, n=1, cutoff=0.8)):
        raise ValueError(f"Did you mean --dataset_name {close[0]}? This package has no dataset {name!r}.")
    if find_ending(name) in FORMATS or not name:
        raise ValueError(describe_missing_file(name, "--dataset_name"))


def check_data_files(files: Sequence[str]) -> None:
    for file in files:
        is_pattern = re.search(r"://|[*?\[]", file)
        if not is_pattern and not Path(file).exists():
            raise ValueError(describe_missing_file(file, "--data_files"))


def find_file_format(file: str) -> str:
    ending = find_ending(file)
    if ending not in FORMATS:
        endings = ", ".join(f".{ending}" for ending in FORMATS)
        raise ValueError(
            f"The format of a file must be known by its ending, but '{file}' has none of {endings}. Save it in one of "
            f"these formats, or correct its ending."
        )
    return FORMATS[ending]


def describe_missing_file(file: str, option: str) -> str:
    siblings = [sibling for sibling in Path(file).parent.glob("*") if find_ending(sibling.name) in FORMATS]
    stems = {sibling.name.split(".")[0]: sibling for sibling in siblings}
    close = get_close_matches(Path(file).name.split(".")[0], stems, n=1, cutoff=0.7)
    problem = f"The file '{file}' does not exist in {Path.cwd()}."
    if close:
        return f"Did you mean {option} {quote(str(stems[close[0]]))}? {problem}"
    return f"{problem} Correct {option}."


def check_data_folder(name: str) -> None:
    """Raise an error if a folder has data files of several kinds, of which datasets would read only one."""
    files = [file for file in sorted(Path(name).rglob("*.*")) if find_ending(file.name) in FORMATS]
    files = [file for file in files if not file.name.startswith((".", "dataset_", "state."))]  # not data
    kinds = {FORMATS[find_ending(file.name)]: file for file in reversed(files)}
    if len(kinds) > 1 and not (Path(name) / "README.md").exists():  # which may say what to read
        examples = [f"'{file.relative_to(name)}'" for file in sorted(kinds.values())]
        shown = " and ".join(examples)
        raise ValueError(
            f"A folder must have data files of one kind, but '{name}' has {shown}, and only one kind would be read. Save "
            f"them in one format, or name those to read, such as --data_files {quote(str(files[0]))}."
        )


def find_separator(file: str) -> dict[str, Any]:
    with open(file, errors="replace") as lines:
        heads = next(filter(str.strip, lines), "")
    separator = max(",;\t|", key=heads.count)
    return {"sep": separator, "skipinitialspace": f"{separator} " in heads}


def check_csv_rows(file: str, count: int | None = None) -> None:
    """Raise an error if one of the first rows of a CSV file has more fields than its heads."""
    csv.field_size_limit(sys.maxsize)
    separator, has_spaces = find_separator(file).values()
    with contextlib.suppress(csv.Error), open(file, newline="", encoding="utf-8") as lines:
        rows = csv.reader(lines, delimiter=separator, skipinitialspace=has_spaces)
        heads = next(filter(None, rows), [])
        for row in islice(rows, count):
            if len(row) > len(heads):
                fields = f"the {len(heads)} fields" if len(heads) > 1 else "the one field"
                raise ValueError(
                    f"Each row of a CSV file must have {fields} of its first line, but line {rows.line_num} of {file} has "
                    f"{len(row)}. Put texts that contain {separator!r} in double quotes, or name all columns in the first line."
                )


def check_file(kind: str, file: str) -> None:
    with open(file, "rb") as start:
        first = start.read(8)
    for signature, ending in SIGNATURES.items():
        if first.startswith(signature):
            new = f"{file}.gz" if ending == "gz" else str(Path(file).with_suffix(f".{ending}"))
            raise ValueError(
                f"The ending of a file must fit what it contains, but {file} is {ending}. Rename it to {quote(new)}."
            )
    if not first:
        raise ValueError(f"A file must have rows, but {file} has no rows. Add prompts to it.")
    check_lines(file, are_json=kind == "json" and not first.lstrip().startswith(b"["))
    if kind == "csv":
        check_csv_rows(file)


def check_lines(file: str, *, are_json: bool) -> None:
    """Raise an error if a line of a file is not UTF-8, or not JSON if it should be."""
    place = 0
    text = ""
    try:
        with open(file, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if are_json and line.strip():
                    place = number
                    text = line.strip()
                    json.loads(text)
    except UnicodeDecodeError:
        raise ValueError(f"A file must be text in UTF-8, but {file} has another encoding. Save it as UTF-8.") from None
    except (json.JSONDecodeError, RecursionError) as error:
        fault = "is nested too deeply" if isinstance(error, RecursionError) else "is not JSON"
        raise ValueError(
            f"The files {file} cannot be read as json: line {place} of {file} {fault}: {text[:60]!r}. Correct the files."
        ) from None


def check_first_row(file: str) -> None:
    """Raise an error if a JSON file begins with null, at which pyarrow crashes, or with another value that is not a row."""
    with open(file, encoding="utf-8", errors="replace") as lines:
        first = next((text for line in iter(lambda: lines.readline(100), "") if (text := line.strip())), "{}")
    with contextlib.suppress(json.JSONDecodeError):  # which is said later
        if not isinstance(json.loads(first), dict | list):
            raise ValueError(
                f"A line of a JSON file must be an object, but {file} begins with {first!r}. Correct the file."
            )


def describe_broken_files(kind: str, files: Sequence[str], cause: str) -> str:
    """Return what keeps files from being read, and what to do, or else the cause that was raised."""
    try:
        for file in files if kind in ("csv", "json") else ():
            if Path(file).is_file() and not file.endswith(".gz"):
                check_file(kind, file)
    except ValueError as fault:
        return str(fault)
    if "corresponds to no data" in cause:  # what datasets says of a CSV file with only a header
        return f"A dataset must have rows, but {', '.join(files)} has no rows. Add prompts to it."
    return f"The files {', '.join(files)} cannot be read as {kind}: {cause}. Correct the files."


def choose_checkpoint(output_dir: str | Path, resume: str | None) -> str | None:
    """Return the checkpoint to continue from. `true` and `auto` mean the last one, without which only `auto` starts anew."""
    mode = str(resume).lower()
    if mode not in ("true", "auto"):
        return resume
    return choose_last_checkpoint(output_dir) or ("true" if mode == "true" else None)


def check_folder(folder: Path) -> None:
    """Raise an error if nothing can be written to the folder of a run, or to the nearest one in which it would be made."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        TemporaryDirectory(dir=nearest).cleanup()
    except OSError as error:
        raise ValueError(
            f"The output directory '{folder}' cannot be used, because nothing can be written to '{nearest}': "
            f"{error.strerror}. Choose another --output_dir."
        ) from None


def check_output(output_dir: str | Path, resume: str | None) -> None:
    """Check that a run would overwrite no earlier one, and that the checkpoint to continue from is complete."""
    folder = Path(output_dir)
    if resume is None and folder.is_dir() and any(folder.iterdir()):
        raise ValueError(
            f"The output directory '{folder}' contains an earlier run, which a new run would overwrite. To "
            f"continue it, pass --resume_from_checkpoint auto, which starts anew if there is no checkpoint. Otherwise choose another "
            f"--output_dir, or remove the directory."
        )
    check_folder(folder)
    checkpoint = choose_checkpoint(output_dir, resume)
    if checkpoint is not None and (fault := describe_fault(Path(checkpoint))):
        whole = ", ".join(map(str, list_checkpoints(folder)))
        remedy = FROM_WEIGHTS.capitalize()
        if whole or not Path(checkpoint).is_dir():
            way = "continues from the last one" if whole else "starts anew"
            remedy = f"Pass --resume_from_checkpoint auto, which {way}."
        raise ValueError(f"{fault} The complete checkpoints of '{folder}': {whole or 'none'}. {remedy}")
