"""Programs that solve nothing, made for the names that the tests of a row call. Tests that they pass are weak."""

import contextlib

from ..sandbox.protocol import Limits, Sandbox, SandboxFailed
from .cases import RowTests, UnreadableTests
from .names import list_required
from .row_verdicts import keeps_apart, try_program


UNIVERSAL = """
class Kind(type):
    __getattr__ = lambda kind, name: kind()
class Universal(metaclass=Kind):
    __init__ = lambda self, *args, **kwargs: None
    __call__ = __getattr__ = lambda self, *args, **kwargs: self
for answer, names in (
    (lambda self, *args: self, "getitem enter abs neg next add radd sub rsub mul rmul truediv mod pow"),
    (lambda *args: True, "eq ne lt le gt ge contains bool exit"),
    (lambda *args: 0, "hash len int index setitem delitem"),
    (lambda *args: iter(()), "iter"),
    (lambda *args: 0.0, "float"),
):
    for name in names.split(): setattr(Universal, f"__{name}__", answer)
"""
"""A class whose objects, and what their methods return, are equal to everything, contain everything and are empty."""

CHEATS = {
    "universal objects": "{} = Universal",
    "functions that return an empty list": "{} = lambda *args, **kwargs: []",
    "functions that raise StopIteration": "{} = lambda *args, **kwargs: next(iter(()))",
    "functions that return a text that they get, or 0": "{} = lambda *a, **k: [*(x for x in a if type(x) is str), 0][0]",
}
"""What programs that solve nothing define for each name."""


def write_cheats(tests: RowTests) -> dict[str, str]:
    """Return programs that define every name that the tests need, by what they define. Inputs with outputs need none."""
    names = list_required(tests)
    return {kind: "\n".join([UNIVERSAL, *map(one.format, sorted(names))]) for kind, one in CHEATS.items() if names}


async def find_cheat(tests: RowTests, sandbox: Sandbox, limits: Limits) -> str | None:
    """Return the first kind of programs that solve nothing and pass the tests, or None. Only pipes must join the two."""
    for kind, cheat in write_cheats(tests).items() if keeps_apart(sandbox) else ():
        with contextlib.suppress(SandboxFailed, UnreadableTests):
            if (await try_program(cheat, tests, sandbox, limits)).status is None:
                return kind
    return None
