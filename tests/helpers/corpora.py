"""Programs that tests try, from text files: honest ones, cheats, and attacks on the machine that runs them.

A line `=== name | marks` begins an entry. Lines that begin with `|` are the tests of a program, and all others the program. An
entry that is marked as `part` goes before the programs that have its name as a mark; `same` is the program of the entry before.
"""

from typing import NamedTuple

from helpers.paths import TESTS


class Entry(NamedTuple):
    name: str
    marks: list[str]
    program: str
    tests: str


def read_corpus(file: str) -> list[Entry]:
    """Return the entries of a text file. A program with characters that a file cannot hold is escaped."""
    text, found, parts = (TESTS / file).read_text(encoding="utf-8"), [], {}
    for head, *lines in (entry.split("\n") for entry in text.strip().removeprefix("=== ").split("\n=== ")):
        name, _, marks = head.partition(" | ")
        program, tests = ([one for one in lines if one.startswith("|") == is_test] for is_test in (False, True))
        source = "\n".join([*(parts[word] for word in marks.split() if word in parts), *program])
        if "same" in marks.split():
            source = found[-1].program
        if marks == "escaped":
            source = source.encode().decode("unicode_escape")
        if marks == "part":
            parts[name] = source
        found.append(Entry(name, marks.split(), source, "\n".join(one[2:] for one in tests)))
    return found


def select(entries: list[Entry], mark: str = "", without: str = "part") -> dict[str, str]:
    """Return the programs with a mark, and without another one, by their names."""
    chosen = [one for one in entries if (not mark or mark in one.marks) and without not in one.marks]
    return {one.name: one.program for one in chosen if "part" not in one.marks}


HONEST = {
    one.name: (one.program, one.tests, *(one.marks or [None]))
    for one in read_corpus("sandbox/programs/honest_programs.txt")
}
"""Honest programs with tests of many styles, as datasets have them, and what `check` gets. Nearly all of them pass."""

VERDICTS = read_corpus("sandbox/programs/verdicts.txt")
"""Programs with tests that are `paid` or `unpaid`. Where `python` is marked, Python itself says so, too; `bad` tests are at fault."""

CHEATS = select(read_corpus("sandbox/programs/cheats.txt"))
"""Programs that try to pass tests of `double` without solving them."""

DIALOGUE = read_corpus("sandbox/programs/pipe_cheats.txt")
"""Programs that attack the dialogue with tests of `add`: forged ones take over the descriptors, and others return, raise or
define what should pass a test. Entries that are marked as `tests` are tests. No program passes any of them."""

ATTACKS = read_corpus("sandbox/attack_programs.txt")
"""Programs that attack the machine. Each prints HARM if it believes that it has succeeded.

A program gets `W`, a dict with what it may attack: a folder that everyone may write, ports, and processes of its user. Those
marked as `real` do harm without a jail, to the witnesses only; `suicide` tries to end as if somebody else had killed it.
"""
