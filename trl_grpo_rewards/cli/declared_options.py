"""The options that dataclasses declare, read from their source. Importing those of TRL takes seconds, reading them takes none."""

import argparse
import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class DeclaredOption:
    """A field of a dataclass, as its module declares it. A default that is computed is None."""

    name: str
    annotation: str
    default: Any
    metadata: dict[str, Any]
    module: str

    @property
    def spellings(self) -> list[str]:
        """All spellings that the parser of transformers accepts. The last one is the one to show."""
        names = [*([f"no_{self.name}"] if self.is_switch and self.default is True else []), self.name]
        spelt = [f"--{text}" for name in names for text in (name.replace("_", "-"), name)]
        return [*dict.fromkeys(spelt), *self.metadata.get("aliases", ())]

    @property
    def is_switch(self) -> bool:
        return self.annotation in ("bool", "bool | None")

    @property
    def choices(self) -> list[Any] | None:
        """The values that the option can have, if its type or its metadata list them."""
        listed = re.match(r"Literal\[(.*?)\]", self.annotation)
        return [*ast.literal_eval(f"[{listed[1]}]")] if listed else self.metadata.get("choices")

    @property
    def nargs(self) -> str | None:
        is_list = re.match(r"(str \| )?list\b", self.annotation)
        usual = "?" if "bool" in self.annotation else "+" if is_list else None
        return self.metadata.get("nargs", usual)

    @property
    def metavar(self) -> str:
        """The placeholder for a value of the option in the help."""
        if choices := ["true", "false"] if self.is_switch else self.choices:
            return f"{{{','.join(map(str, choices))}}}"
        return "NUMBER" if re.match("(int|float)\\b(?!.*str)", self.annotation) else "TEXT"

    @property
    def help(self) -> str:
        """The help, with the default. An option without literal help is hidden."""
        text = self.metadata.get("help", argparse.SUPPRESS)
        is_named = (
            text is argparse.SUPPRESS or "default" in text.lower() or self.default is None or self.default is False
        )
        default = str(self.default).lower() if self.is_switch else str(self.default).replace("%", "%%")
        return text if is_named else f"{text} Default: {default}."


def read_options(module: str, name: str) -> list[DeclaredOption]:
    """Return the fields of a dataclass. Those of its base classes come first."""
    declared: dict[str, DeclaredOption] = {}
    for place, node in find_classes(module, name):
        for line in node.body:
            match line:
                case ast.AnnAssign(target=ast.Name(id=field), annotation=annotation, value=value):
                    keywords = value.keywords if isinstance(value, ast.Call) else []
                    written = {one.arg: one.value for one in keywords}
                    if read_literal(written.get("init")) is False:
                        continue
                    default = written.get("default", None if isinstance(value, ast.Call) else value)
                    metadata = dict(read_items(written.get("metadata")))
                    metadata |= {"help": read_literal(written["help"])} if "help" in written else {}
                    option = DeclaredOption(field, ast.unparse(annotation), read_literal(default), metadata, place)
                    declared[field] = option
    return [*declared.values()]


def find_classes(module: str, name: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield a class and the classes that it inherits from, these first, with their modules."""
    module, found = find_class(module, name)
    for base in reversed(found.bases):
        if isinstance(base, ast.Name):
            yield from find_classes(module, base.id)
    yield module, found


def find_class(module: str, name: str) -> tuple[str, ast.ClassDef]:
    """Return a class with its module. Follow imports into other modules."""
    file = find_source(module)
    tree = parse_file(file)
    found = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name), None)
    if found is not None:
        return module, found
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    for node in imports:  # a lazy module imports its names for type checkers only
        for alias in node.names:
            if (alias.asname or alias.name) == name:
                parts = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
                parts = parts[: len(parts) + 1 - node.level] if node.level else []
                return find_class(".".join([*parts, *filter(None, [node.module])]), alias.name)
    raise LookupError(f"There is no class {name} in {module}.")


def read_members(module: str, name: str) -> list[str]:
    """Return the values of an enumeration of texts."""
    body = find_class(module, name)[1].body
    values = [read_literal(line.value) for line in body if isinstance(line, ast.Assign)]
    return [value for value in values if isinstance(value, str)]


def read_keys(module: str, name: str) -> list[str]:
    """Return the keys of a dict that a module assigns to a name."""
    for node in ast.walk(parse_file(find_source(module))):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=found)], value=ast.Dict(keys=keys))
                | ast.AnnAssign(target=ast.Name(id=found), value=ast.Dict(keys=keys))
            ) if found == name:
                return [text for key in keys if isinstance(text := read_literal(key), str)]
    return []


def find_source(module: str) -> Path:
    top, *inner = module.split(".")
    spec = find_spec(top)  # the spec of an inner module would import the outer one
    if spec is None or not spec.submodule_search_locations:
        raise LookupError(f"There is no package {top}.")
    path = Path(spec.submodule_search_locations[0], *inner)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def parse_file(file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError) as error:
        raise LookupError(f"{file} cannot be read: {error}") from None


def read_items(node: ast.expr | None) -> Iterator[tuple[str, Any]]:
    """Yield the keys and values of a dict. Values that are not literals are left out."""
    match node:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                text = read_literal(key)
                if isinstance(text, str) and (found := read_literal(value)) is not None:
                    yield text, found


def read_literal(node: ast.expr | None) -> Any:
    """Return the value of a literal, or None."""
    try:
        return None if node is None else ast.literal_eval(node)
    except ValueError:
        return None
