"""Tables in text files, for tests of many short texts."""

from helpers.paths import TESTS


def read_tables(file: str) -> dict[str, list[list[str]]]:
    """Return the rows of each table. `=== name` begins one, ` # ` separates fields, and ¶ is the end of a line in a field."""
    tables: dict[str, list[list[str]]] = {}
    for line in (TESTS / file).read_text(encoding="utf-8").split("\n")[1:]:
        if line.startswith("=== "):
            rows = tables.setdefault(line.removeprefix("=== "), [])
        elif line:
            rows.append([field.replace("¶", "\n") for field in line.split(" # ")])
    return tables
