"""Honest programs with tests of many styles, as datasets have them. All of them pass."""

from helpers.paths import TESTS


def read_styles(text: str) -> dict[str, tuple[str, str, str | None]]:
    """Return for each style the program, the tests, and what `check` gets."""
    found = {}
    for head, *lines in [entry.split("\n") for entry in text.strip().removeprefix("=== ").split("\n=== ")]:
        style, _, entry_point = head.partition(" | ")
        program, tests = ([one for one in lines if one.startswith("|") == is_test] for is_test in (False, True))
        found[style] = "\n".join(program), "\n".join(one[2:] for one in tests), entry_point or None
    return found


HONEST = read_styles((TESTS / "programs" / "honest_programs.txt").read_text(encoding="utf-8"))
"""A line that begins with `|` is one of the tests. What `check` gets stands next to the name of the style."""
