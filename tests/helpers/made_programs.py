"""Programs and tests that are made of pieces: each program has right and wrong functions, each test uses some of them."""

import random

from helpers.corpora import read_corpus


FUNCTIONS, PIECES = {}, {}
"""Ways to write each name, and pieces of tests for it. The first way is right; some of the others are, too."""

for entry in read_corpus("programs/made_programs.txt"):
    (FUNCTIONS if entry.marks == ["function"] else PIECES).setdefault(entry.name, []).append(entry.program)

HEAD = "import math, sys, unittest\nimport pytest\ncase = unittest.TestCase()\ndef same(x, y):\n    assert x == y\n"


def make_pair(rng: random.Random) -> tuple[str, list[str]]:
    """Return a program, and the pieces of tests for it."""
    names = rng.sample([*FUNCTIONS], rng.randint(1, 3))
    program = "\n".join(rng.choice(FUNCTIONS[name]) if rng.random() < 0.5 else FUNCTIONS[name][0] for name in names)
    pieces = [piece for name in names for piece in rng.sample(PIECES[name], rng.randint(1, min(4, len(PIECES[name]))))]
    rng.shuffle(pieces)
    return program, pieces


def join(pieces: list[str]) -> str:
    """Return the code of tests."""
    return HEAD + "\n".join(pieces) + "\n"
