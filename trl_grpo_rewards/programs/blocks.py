"""Finds the program in a completion: the last fenced block of code."""

import re


FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([^`\r\n]*)\r?")

PYTHON = frozenset({"python", "python3", "py", "py3"})
"""Names of Python, in lower case."""

MAX_PROGRAM_CHARS = 200_000
"""Maximum length of a program, in characters. Longer blocks count as missing. Contests usually allow 64 KB."""


def find_program(text: str) -> str | None:
    """
    Return the last closed block in Python or, if there is none, the last closed block without a language.

    Blocks in other languages are ignored. If the last block is never closed, the text was cut off and has no program. A
    fence inside a program ends its block, as in Markdown. The text is read once. Programs that are too long are None.
    """
    blocks, fence, named, lines = dict[bool, str](), "", "", list[str]()
    for line in text.split("\n"):
        mark = FENCE.fullmatch(line)
        if not fence:
            if mark:
                fence, named, lines = mark[1], read_language(mark[2]), []
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            if not named or named in PYTHON:
                blocks[named in PYTHON] = "\n".join(lines) + "\n"
            fence = ""
        else:
            lines.append(line)
    program = None if fence else blocks.get(True, blocks.get(False))
    return program if program is not None and len(program) <= MAX_PROGRAM_CHARS else None


def read_language(info: str) -> str:
    """Return the language that the text after an opening fence names, in lower case."""
    words = info.strip("{} \t").split()
    return words[0].lstrip(".").lower() if words else ""
