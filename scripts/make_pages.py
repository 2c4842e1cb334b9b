"""Write the pages of the documentation site to build/pages. They come from docs/ and from docstrings.

pip install -e ".[docs]"
python scripts/make_pages.py && zensical serve            # or zensical build --strict
python scripts/make_pages.py FOLDER                       # writes them elsewhere
"""

import argparse
import ast
import contextlib
import inspect
import io
import json
import os
import posixpath
import re
import shutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from docstrings import escape_math, render_docstring, split_summary
from list_rewards import format_function, list_rewards
from signatures import describe_function, find_definition, format_call

from trl_grpo_rewards.cli import main as cli
from trl_grpo_rewards.function_rewards import RewardFactory


ROOT = Path(__file__).parents[1]

PUBLIC = (ROOT / "docs" / "writing.md").read_text().split("## Public names")[1]

MODULES = {
    module: re.findall(r"`(\w+)`", names)
    for module, names in re.findall(r"^\| `([\w.]+)` \| (.+) \|$", PUBLIC, re.MULTILINE)
}
"""The public names of each module that are not rewards, in the order of the table that lists them."""

FOREIGN = {
    "GRPOTrainer": "https://huggingface.co/docs/trl/grpo_trainer#trl.GRPOTrainer",
    "GRPOConfig": "https://huggingface.co/docs/trl/grpo_trainer#trl.GRPOConfig",
    "Dataset": "https://huggingface.co/docs/datasets/package_reference/main_classes#datasets.Dataset",
}
"""Where names of other packages are described."""

GUIDES = {
    "answers": "answers.md",
    "appeals": "judges.md",
    "constraints": "judges.md",
    "judges": "judges.md",
    "programs": "programs.md",
    "tasks": "programs.md",
    "tools": "agents.md",
}
"""The page that says more about the rewards of a topic. The others are described in general."""

REQUIRED = {"solution", "completion_ids", "environments", "messages"}
"""Data of a reward function that a caller must pass, in addition to prompts and completions."""

PRIVATE = {"list_alone", "score"}  # methods of `Reward` that only this package calls


def list_targets() -> dict[str, str]:
    """Return the page and anchor of every public name."""
    targets = {name: f"reference/{module}.md#{name}" for module, names in MODULES.items() for name in names}
    return {**FOREIGN, **targets, **{factory.__name__: f"rewards/{factory.__name__}.md" for factory in list_rewards()}}


def make_linker(page: str) -> Callable[[str], str]:
    """Return a function that turns a name into a link from the page, or into code if no page describes the name."""
    targets = list_targets()

    def link(name: str) -> str:
        short = name.lstrip("~").split(".")[-1]
        target = targets.get(short, "")
        if not target or target.split("#")[0] == page and "#" not in target:
            return f"`{short}`"
        return f"[`{short}`]({target if '://' in target else posixpath.relpath(target, posixpath.dirname(page))})"

    return link


def describe_members(node: ast.ClassDef, own: type, link: Callable[[str], str]) -> str:
    """Describe the public methods and properties that a class adds to its base classes."""
    text = ""
    for member in node.body:
        if not isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) or member.name.startswith("_"):
            continue
        replaced = any(hasattr(base, member.name) for base in own.__mro__[1:])
        documentation = ast.get_docstring(member)
        if documentation and not replaced and member.name not in PRIVATE:
            text += f"### `{node.name}.{member.name}`\n\n{describe_function(member)}"
            text += render_docstring(documentation, link)
    return text


def find_text_below(module: ModuleType, name: str) -> str:
    """Return the text below the assignment of a constant, in the module or in one that it imports the constant from."""
    modules = [module, *(value for value in vars(module).values() if isinstance(value, ModuleType))]
    for body in (
        ast.parse(inspect.getsource(one)).body for one in modules if one.__name__.startswith(module.__name__)
    ):
        for node, after in zip(body, body[1:], strict=False):
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if target and ast.unparse(target) == name and isinstance(after, ast.Expr):
                return inspect.cleandoc(ast.literal_eval(after.value))
    raise LookupError(f"{module.__name__}.{name} has no docstring.")


def format_value(value: Any) -> str:
    return str(value).replace("typing.", "")


def describe(module: ModuleType, name: str, link: Callable[[str], str]) -> str:
    """Describe a public name that is not a reward."""
    value, heading = getattr(module, name), f"## `{name}` {{ #{name} }}\n\n"
    if not inspect.isfunction(value) and not inspect.isclass(value):
        shown = "" if isinstance(value, str) else f"```python\n{name} = {format_value(value)}\n```\n\n"
        return heading + shown + render_docstring(find_text_below(module, name), link)
    node = find_definition(value)
    if not isinstance(node, ast.ClassDef):
        return heading + describe_function(node) + render_docstring(inspect.getdoc(value) or "", link)
    build = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
    call = format_call(name, build[0].args) if build else ""
    return heading + call + render_docstring(ast.get_docstring(node) or "", link) + describe_members(node, value, link)


def describe_module(name: str) -> str:
    module, link, rewards = (
        import_module(name),
        make_linker(f"reference/{name}.md"),
        [f.__name__ for f in list_rewards()],
    )
    text = f"# `{name}`\n\n" + "".join(describe(module, one, link) for one in MODULES[name] if one not in rewards)
    if name == "trl_grpo_rewards":
        text += "The [rewards](../rewards.md) are names of this module, too. Each has a page.\n"
    return text


def describe_reward(factory: RewardFactory) -> str:
    """Return the page of a reward: what it pays, how it is called, what it reads, its options and its examples."""
    name = factory.__name__
    summary, details = split_summary(inspect.getdoc(factory) or "")
    node = ast.parse(format_function(name, factory)).body[0]
    facts = {
        "Import": f"`from trl_grpo_rewards import {name}`",
        "Needs": ", ".join(
            f"`{one.name}`" for one in factory.data if one.name in REQUIRED and one.default is one.empty
        ),
        "Compares": "the completions of one group, on any number of ranks" if factory.kind == "group" else "",
        "Outcome": "it says which completions are right" if factory.traits.get("outcome") is True else "",
        "Asynchronous": "a trainer awaits it; elsewhere, `await` its scores" if factory.is_async else "",
    }
    link = make_linker(f"rewards/{name}.md")
    return "".join(
        [
            f"# {name}\n\n{render_docstring(summary, link)}",
            describe_function(node),
            "".join(f"- **{fact}:** {text}\n" for fact, text in facts.items() if text) + "\n",
            render_docstring(details, link, level=2),
            f"`docs/{GUIDES.get(factory.__module__.split('.')[-1], 'writing.md')}` and `docs/rewards.md` say more.\n",
        ]
    )


def show_help(command: str) -> str:
    """Return what a command prints with `--help`."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        cli.main([command, "--help"])
    return shown.getvalue().replace(f"{ROOT}/", "")


def describe_commands() -> str:
    """Return the page of the commands."""
    text = (
        "# Options of the commands\n\n`trl-grpo-rewards COMMAND --help` prints the same, and `--help-all` also the "
        "options of TRL. All commands have the same [exit codes](commands.md#exit-codes).\n\n"
    )
    for command, what in cli.COMMANDS.items():
        usage = show_help(command)
        is_shown = "the job:\n" in text
        usage, *own = usage.split("options:\n  -h, --help ") if is_shown else [usage]
        text += f"## `{command}`: {what.split(';')[0]}\n\n```text\n{usage.strip()}\n```\n\n"
        if own:
            options = re.findall(r"^  --.*\n(?:   .*\n)*", own[0], flags=re.MULTILINE)
            added = "".join(option for option in options if option not in text)
            text += "The options are those of `train`" + (f", and:\n\n```text\n{added}```\n\n" if added else ".\n\n")
    return text


def show_file(file: Path) -> str:
    """Return a file as a section of a page. The title of a notebook is left out."""
    if file.suffix != ".ipynb":
        return f"## `{file.name}`\n\n```{file.suffix[1:]}\n{file.read_text().strip()}\n```\n"
    text = f"## `{file.name}`\n\n"
    for cell in json.loads(file.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            source = f"```python\n{source}\n```"
        else:
            source = re.sub(r"^##", "###", re.sub(r"^# .*", "", source), flags=re.MULTILINE)
        text += f"{source}\n\n"
    return text


def show_files(title: str, intro: str, files: Iterator[Path]) -> str:
    return f"# {title}\n\n{intro}\n\n" + "\n".join(map(show_file, sorted(files)))


def link_files(text: str, folder: str = "") -> str:
    """Turn the paths of files into links between pages, which are relative to a folder such as `../`."""
    titles = {file.name: file.read_text().splitlines()[0].lstrip("# ") for file in (ROOT / "docs").glob("*.md")}
    titles |= {"examples/": "Examples", "CONTRIBUTING.md": "Contributing", "CHANGELOG.md": "Changes"}
    for name in re.findall(r"`(?:docs/)?([\w/]+(?:\.md|/))`", text):
        if name in titles:
            page = name.replace("/", ".md") if name in ("examples/",) else name
            text = re.sub(f"`(docs/)?{name}`", f"[{titles[name]}]({folder}{page.lower()})", text)
    text = re.sub(r"\]\((?:\.\./)?([A-Z]+\.md)", lambda found: f"]({folder}{found[1].lower()}", text)
    return re.sub(r"\]\(docs/", f"]({folder}", text)


def link_rewards(text: str) -> str:
    """Link the reward that begins the row of a table to its page. Its options are left out."""
    link = make_linker("rewards.md")
    return re.sub(r"^\| `(\w+)(?:\(.*\))?` \|", lambda row: f"| {link(row[1])} |", text, flags=re.MULTILINE)


def link_public_names(text: str) -> str:
    """Link the public names, and the modules that they are in, to the pages that describe them."""
    link, (before, table) = make_linker("writing.md"), text.split("## Public names")
    table = re.sub(r"(?<=, |\| )`(\w+)`(?=,| \|$)", lambda name: link(name[1]), table, flags=re.MULTILINE)
    for module in MODULES:
        table = table.replace(f"| `{module}` |", f"| [`{module}`](reference/{module}.md) |")
    return f"{before}## Public names{table}"


def make_pages() -> dict[str, str]:
    """Return the text of every page by its path."""
    pages = {file.name: link_files(file.read_text()) for file in (ROOT / "docs").glob("*.md")}
    pages["rewards.md"] = link_rewards(pages["rewards.md"])
    pages["writing.md"] = link_public_names(pages["writing.md"])
    pages["index.md"] = link_files((ROOT / "README.md").read_text())
    for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY"):
        if (file := ROOT / f"{name}.md").exists():
            pages[f"{name.lower()}.md"] = link_files(file.read_text())
    pages["examples.md"] = show_files(
        "Examples",
        "Short runs to start from.",
        (file for file in (ROOT / "examples").iterdir() if file.suffix in (".py", ".ipynb")),
    )
    pages["recipes.md"] = show_files(
        "Recipes",
        "`trl-grpo-rewards train --config gsm8k` runs a recipe by its name. To change one, save it to a file and pass "
        "the file: `--config my_recipe.yaml`. The two files whose names begin with `accelerate` are for "
        "`accelerate launch --config_file`, as in [Several machines](operations.md#several-machines).",
        (ROOT / "trl_grpo_rewards" / "cli" / "recipes").glob("*.yaml"),
    )
    pages["options.md"] = describe_commands()
    pages |= {f"reference/{name}.md": link_files(describe_module(name), "../") for name in MODULES}
    pages |= {f"rewards/{one.__name__}.md": link_files(describe_reward(one), "../") for one in list_rewards()}
    return {path: escape_math(text) for path, text in pages.items()}


def main(folder: Path) -> None:
    os.environ["COLUMNS"] = "88"  # the width of the help of commands
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("*.md"))
    for path, text in make_pages().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text.replace("```python notest", "```python"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "build" / "pages")
    main(parser.parse_args().folder)
