"""Finds the program in a completion: the last fenced block of code."""

import re


FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([^`\r\n]*)\r?")

ALIASES = {
    "python": ("python3", "py", "py3"),
    "bash": ("sh", "shell"),
    "cpp": ("c++", "cc", "cxx"),
    "csharp": ("c#", "cs"),
    "go": ("golang",),
    "julia": ("jl",),
    "kotlin_script": ("kotlin", "kt", "kts"),
    "nodejs": ("javascript", "js", "node"),
    "perl": ("pl",),
    "ruby": ("rb",),
    "rust": ("rs",),
    "typescript": ("ts",),
}
"""Other names of languages, in lower case. The keys are the names that Sandbox Fusion has for them."""

MAX_PROGRAM_CHARS = 200_000
"""Maximum length of a program, in characters. Longer blocks count as missing. Contests usually allow 64 KB."""


def find_program(text: str, language: str = "python") -> str | None:
    """
    Return the last closed block in a language or, if there is none, the last closed block without a language.

    Blocks in other languages are ignored. If the last block is never closed, the text was cut off and has no program. A
    fence inside a program ends its block, as in Markdown. The text is read once. Programs that are too long are None.
    """
    names, blocks = list_names(language), dict[bool, str]()
    fence, named, lines = "", "", list[str]()
    for line in text.split("\n"):
        mark = FENCE.fullmatch(line)
        if not fence:
            if mark:
                fence, named, lines = mark[1], read_language(mark[2]), []
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            if not named or named in names:
                blocks[named in names] = "\n".join(lines) + "\n"
            fence = ""
        else:
            lines.append(line)
    program = None if fence else blocks.get(True, blocks.get(False))
    return program if program is not None and len(program) <= MAX_PROGRAM_CHARS else None


def list_names(language: str) -> frozenset[str]:
    """Return the names of a language, in lower case."""
    return frozenset({language.lower(), *ALIASES.get(language, ())})


def read_language(info: str) -> str:
    """Return the language that the text after an opening fence names, in lower case."""
    words = info.strip("{} \t").split()
    return words[0].lstrip(".").lower() if words else ""
